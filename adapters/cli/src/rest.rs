//! Running one execution here until it rests: ended, parked, or waiting for more than a moment.
//! Not a worker: nothing else that is due is taken up.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loom_runtime::{
    App, ExecutionId, Status, Timestamp,
    kernel::Envelope,
    ports::{ExecutionRow, Lease},
    view::pending,
};

use crate::{console::Console, error::CliError, render::instant::span};

/// Waits for an instant that is nearer than this are sat out, unless a person is asked meanwhile.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How often a foreign owner's lease is looked at.
const LOOK: Duration = Duration::from_millis(500);

/// How an execution that was run here came to rest.
pub(crate) enum Rest {
    /// It rests as its row says.
    At(Box<ExecutionRow>),
    /// A signal came first.
    Interrupted,
}

/// Runs it until it rests.
pub(crate) async fn rest(
    app: &App,
    id: &ExecutionId,
    console: &mut Console,
    quiet: bool,
) -> Result<Rest, CliError> {
    let now = console.now;
    let bar = bar(console.progress);
    let mut said = false;
    let tell = |lease: &Lease| {
        if !quiet && !std::mem::replace(&mut said, true) {
            let text = waits_for(id, lease, now());
            // Nobody can be told that nobody listens.
            bar.suspend(|| drop(writeln!(console.err, "{text}").and_then(|()| console.err.flush())));
        }
    };
    let watched = async {
        tokio::select! {
            row = until_rest(app, id, now, tell) => row,
            () = show_progress(app, id, &bar) => std::future::pending().await,
        }
    };
    let rest = tokio::select! {
        row = watched => row.map(Box::new).map(Rest::At),
        () = console.stop.asked() => Ok(Rest::Interrupted),
    };
    bar.finish_and_clear();
    rest
}

/// Why nothing happens for now.
fn waits_for(id: &ExecutionId, lease: &Lease, now: Timestamp) -> String {
    let (worker, left) = (&lease.worker, span(lease.until.since(now)));
    format!("{id} waits for the lease of worker {worker}, at most {left} if nobody renews it")
}

async fn until_rest(
    app: &App,
    id: &ExecutionId,
    now: fn() -> Timestamp,
    mut waits: impl FnMut(&Lease),
) -> Result<ExecutionRow, CliError> {
    loop {
        app.take_up(id).await?;
        let row = app.row(id).await?;
        match row.status {
            Status::Running => {
                if let Some(lease) = row.lease.as_ref().filter(|lease| lease.worker != app.worker()) {
                    waits(lease);
                }
                // The time limit is for an owner that has vanished: then the next round takes over.
                let _ = tokio::time::timeout(LOOK, app.until(id, &[Status::Suspended, Status::Parked])).await;
            }
            Status::Suspended => match row.wake_at.map(|at| at.since(now())) {
                Some(wait) if wait < PATIENCE && !asks(app, id).await? => {
                    tokio::time::sleep(wait.max(Duration::from_millis(1))).await;
                }
                _ => return Ok(row),
            },
            Status::Parked | Status::Completed | Status::Failed | Status::Cancelled => return Ok(row),
        }
    }
}

/// Whether a person is asked something.
async fn asks(app: &App, id: &ExecutionId) -> Result<bool, CliError> {
    let (gates, said) = (app.gates(Some(id)).await?, pending(app, id).await?);
    Ok(gates.iter().any(|gate| gate.is_asked(&said)))
}

fn bar(shown: bool) -> ProgressBar {
    if !shown {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar
}

/// Shows how far it is, for as long as it is polled.
async fn show_progress(app: &App, id: &ExecutionId, bar: &ProgressBar) {
    if bar.is_hidden() {
        return std::future::pending().await;
    }
    let mut shown = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        // Nothing depends on this: a store that fails is heard of elsewhere.
        if let Ok(row) = app.row(id).await
            && row.next != shown
            && let Ok(last) = app.log(id, row.next.saturating_sub(1), 1).await
        {
            shown = row.next;
            bar.set_message(message(id, shown, last.last()));
        }
        bar.tick();
    }
}

fn message(id: &ExecutionId, events: u64, last: Option<&Envelope>) -> String {
    let frame = last.and_then(|last| last.event.frame());
    let frame = frame.map(|frame| format!(", {frame}")).unwrap_or_default();
    format!("{id}: {events} events{frame}")
}
