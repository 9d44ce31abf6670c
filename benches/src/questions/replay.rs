//! How long does a replay of 1,000 and of 10,000 steps take?
//! A replay alone: the log is in memory, nothing is read or written. Its peer is the fold of the same log.

use std::time::Instant;

use loom::{ExecutionId, kernel::State};

use crate::{
    figure::{Report, Unit},
    workload::{Kept, folder, sequence, wide},
};

const QUESTION: &str = "replay";

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("How long does a replay take? The peer folds the same log.");
    let dir = folder()?;
    let app = Kept::Memory.app(dir.path()).await?;
    for (shape, steps) in
        [("in sequence", 1_000), ("in sequence", 10_000), ("side by side", 1_000), ("side by side", 10_000)]
    {
        let id: ExecutionId = match shape {
            "in sequence" => {
                let started = app.start(sequence(steps)).await?;
                started.result().await?;
                started.id().clone()
            }
            _ => {
                let started = app.start(wide(steps)).await?;
                started.result().await?;
                started.id().clone()
            }
        };
        let log = app.log(&id, 0, usize::MAX).await?;
        let unit = Unit::MicrosEach(steps);
        let figure = report
            .time(unit, async || {
                let start = Instant::now();
                loom::replay(app.registry(), &log).map_err(loom::Error::msg)?;
                Ok(start.elapsed())
            })
            .await?;
        let peer = report
            .time(unit, async || {
                let start = Instant::now();
                State::of(&log)?;
                Ok(start.elapsed())
            })
            .await?;
        report.print(QUESTION, &format!("{steps} steps {shape}"), unit, figure, Some(("fold", peer)));
    }
    Ok(())
}
