//! From what length of a log on do snapshots pay for a read of its state? In SQLite; the peer folds the whole log.
//! What they cost a flow is a write each, and not asked here.

use std::time::Instant;

use loom::{App, WorkerOptions, sqlite::Sqlite};

use crate::{
    figure::{Report, Unit},
    workload::{folder, sequence},
};

const QUESTION: &str = "snapshots";

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("How long does a read of a state take with a snapshot? The peer folds the whole log.");
    for steps in [600, 2_500, 10_000] {
        let mut spreads = Vec::new();
        let mut events = 0;
        for snapshot_every in [500, 0] {
            let dir = folder()?;
            let store = Sqlite::open(dir.path().join("loom.db")).await?;
            let worker = WorkerOptions { snapshot_every, ..WorkerOptions::default() };
            let app = App::builder().store(store).worker(worker).build()?;
            let started = app.start(sequence(steps)).await?;
            started.result().await?;
            events = app.row(started.id()).await?.next;
            let figure = report
                .time(Unit::Millis, async || {
                    let start = Instant::now();
                    app.state(started.id(), None).await?;
                    Ok(start.elapsed())
                })
                .await?;
            spreads.push(figure);
        }
        let [with, without] = spreads[..] else { continue };
        let log = format!("a log of {events} events");
        report.print(QUESTION, &log, Unit::Millis, with, Some(("whole log", without)));
    }
    Ok(())
}
