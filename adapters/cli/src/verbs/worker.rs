//! `worker`: runs whatever is due, until somebody asks it to stop.
//! Not a daemon: it stays in the foreground, and a supervisor restarts it. `serve` is a worker, too, and has its own file.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use loom_runtime::{
    App, ExecutionId, Status,
    kernel::{Event, ParkReport},
    ports::{ExecutionRow, ListFilter, StoreError},
};
use serde_json::json;

use super::Verbs;
use crate::{
    args::Worker,
    console::Console,
    error::CliError,
    exit::Exit,
    render::{execution::long_history, instant::span, shell::command, text::count},
};

/// How often a worker looks for what has parked.
const LOOK: Duration = Duration::from_millis(500);

/// How often it says what is wrong with its store.
const CAVEATS: Duration = Duration::from_secs(30);

/// At most so many executions are counted at the start.
const COUNTED: usize = 10_000;

/// Parked executions, and how many events they have: it grows when one parks again.
type Parks = BTreeMap<ExecutionId, u64>;

/// What a worker has told of already.
pub(super) struct Seen {
    parked: Parks,
    /// Executions with long runs, and where those begin.
    long: BTreeSet<(ExecutionId, u64)>,
}

impl Verbs<'_> {
    pub(super) async fn worker(&mut self, args: Worker) -> Result<Exit, CliError> {
        let mut seen = self.begin().await?;
        self.watch(&mut seen, std::future::pending()).await?;
        self.stopping(args.grace);
        self.finish(&mut seen, args.grace).await
    }

    /// Begins to work, once the store has shown that it is there.
    pub(super) async fn begin(&mut self) -> Result<Seen, CliError> {
        // A worker asks a store that fails again and again: one that fails at once is more likely a mistake.
        self.app.list(&ListFilter { limit: 1, ..ListFilter::default() }).await?;
        let registry = self.app.registry();
        let (flows, steps) = (registry.flows().count() as u64, registry.steps().count() as u64);
        self.tell(
            &json!({"event": "working", "flows": flows, "steps": steps}),
            &format!("working: {}, {}; Ctrl-C stops", count(flows, "flow"), count(steps, "step")),
        );
        if flows == 0 {
            self.tell(
                &json!({"event": "warning", "message": "no flows are linked in"}),
                "warning: no flows are linked in; `loom::link!` links crates that no code names",
            );
        }
        self.tell_caveats().await;
        self.warn_of_missing_flows().await?;
        let parked = parked(self.app).await?.into_iter().map(|row| (row.id, row.next)).collect();
        let mut long = BTreeSet::new();
        self.tell_long(&[Status::Running, Status::Suspended], &mut long).await;
        self.console.stop.listen();
        self.app.work();
        Ok(Seen { parked, long })
    }

    /// Tells what happens until somebody asks to stop, or what goes on beside it breaks off.
    pub(super) async fn watch(
        &mut self,
        seen: &mut Seen,
        beside: impl Future<Output = CliError>,
    ) -> Result<(), CliError> {
        let mut beside = std::pin::pin!(beside);
        let (mut wait, mut told) = (LOOK, Instant::now());
        loop {
            tokio::select! {
                () = self.console.stop.asked() => return Ok(()),
                broken = &mut beside => return Err(broken),
                () = tokio::time::sleep(wait) => {
                    let began = Instant::now();
                    self.tell_parked(&mut seen.parked).await;
                    self.tell_long(&[Status::Running], &mut seen.long).await;
                    if told.elapsed() >= CAVEATS {
                        self.tell_caveats().await;
                        told = Instant::now();
                    }
                    // Many parked executions are not looked at all the time.
                    wait = LOOK.max(began.elapsed() * 20);
                }
            }
        }
    }

    pub(super) fn stopping(&mut self, grace: Duration) {
        self.tell(
            &json!({"event": "stopping", "grace_ms": grace.as_millis() as u64}),
            &format!("stopping: running steps have {}; again to stop at once", span(grace)),
        );
    }

    /// Lets what runs finish within this time, unless a signal comes meanwhile.
    pub(super) async fn finish(&mut self, seen: &mut Seen, grace: Duration) -> Result<Exit, CliError> {
        let clean = close(self.app, self.console, grace).await;
        if clean {
            self.tell_parked(&mut seen.parked).await;
            self.tell_long(&[Status::Running, Status::Suspended], &mut seen.long).await;
        }
        let left =
            if clean { "stopped" } else { "stopped at once: what ran is taken over when its lease ends" };
        self.tell(&json!({"event": "stopped", "clean": clean}), left);
        Ok(if clean { Exit::Done } else { Exit::Interrupted })
    }

    /// Says what waits here in vain, unless another program works on the same store.
    async fn warn_of_missing_flows(&mut self) -> Result<(), CliError> {
        let statuses = vec![Status::Running, Status::Suspended];
        let limit = COUNTED;
        let rows = self.app.list(&ListFilter { statuses, limit, ..ListFilter::default() }).await?;
        let mut missing = BTreeMap::<_, u64>::new();
        for row in rows.iter().filter(|row| self.lacks_flow(row)) {
            *missing.entry(row.flow.as_str()).or_default() += 1;
        }
        if missing.is_empty() {
            return Ok(());
        }
        let at_least = if rows.len() == COUNTED { "at least " } else { "" };
        let executions = count(missing.values().sum(), "execution");
        let flows: Vec<_> = missing.iter().map(|(flow, many)| format!("`{flow}` ({many})")).collect();
        let message = format!(
            "{at_least}{executions} of flows that this program does not have: {}; a program that has them goes on. If one was \
             renamed: #[flow(name = \"…\")]",
            flows.join(", ")
        );
        self.tell(
            &json!({"event": "warning", "message": message, "unknown_flows": missing}),
            &format!("warning: {message}"),
        );
        Ok(())
    }

    /// Tells that the store is a part, or takes no writes. One that fails is tried again, as the worker itself does.
    async fn tell_caveats(&mut self) {
        for caveat in self.app.store().caveats().await.unwrap_or_default() {
            self.tell(
                &json!({"event": "warning", "message": caveat.to_string()}),
                &format!("warning: {caveat}"),
            );
        }
    }

    /// Tells of executions that parked since the last look, here or in another worker.
    async fn tell_parked(&mut self, seen: &mut Parks) {
        // A store that fails is tried again, as the worker itself does.
        let Ok(rows) = parked(self.app).await else { return };
        let mut now = Parks::new();
        for ExecutionRow { id, flow, next, .. } in rows {
            if seen.get(&id) != Some(&next) {
                let Ok(last) = self.app.log(&id, next.saturating_sub(1), 1).await else { continue };
                if let Some(Event::ExecutionParked(parked)) = last.into_iter().next().map(|last| last.event) {
                    let ParkReport { fault, message, .. } = parked.report;
                    let json = json!({
                        "event": "parked", "execution": id, "flow": flow, "fault": fault, "message": message,
                    });
                    let about = command(&[&self.console.program, "show"], &[id.as_str()], &[]);
                    self.tell(&json, &format!("{id} parked: {fault}: {message}; {about}"));
                }
            }
            now.insert(id, next);
        }
        *seen = now;
    }

    /// Tells of runs that are about to have as many events as they may, each once.
    async fn tell_long(&mut self, statuses: &[Status], told: &mut BTreeSet<(ExecutionId, u64)>) {
        let filter = ListFilter { statuses: statuses.to_vec(), limit: COUNTED, ..ListFilter::default() };
        // As above: a store that fails is tried again.
        let Ok(rows) = self.app.list(&filter).await else { return };
        for row in rows {
            if let Some(long) = long_history(&row, self.app.limits().history)
                && told.insert((row.id.clone(), row.base))
            {
                let message = format!("{} has {long}", row.id);
                self.tell(
                    &json!({"event": "warning", "message": message, "execution": row.id}),
                    &format!("warning: {message}"),
                );
            }
        }
    }

    /// What a worker says is its result for programs, and an aside for people.
    pub(super) fn tell(&mut self, json: &serde_json::Value, text: &str) {
        if self.json {
            self.console.line(&json.to_string());
        } else {
            self.console.say(text);
        }
    }
}

async fn parked(app: &App) -> Result<Vec<ExecutionRow>, StoreError> {
    app.list(&ListFilter { statuses: vec![Status::Parked], ..ListFilter::default() }).await
}

/// Shuts down, cleanly unless a signal comes meanwhile; answers which.
pub(crate) async fn close(app: &App, console: &mut Console, grace: Duration) -> bool {
    tokio::select! {
        // In this order: where nothing runs, no signal is listened to.
        biased;
        () = app.shutdown(grace) => true,
        () = console.stop.asked() => false,
    }
}
