//! What does a 1,000-wide join cost?
//! The peer is the same number of steps in sequence: a join must not cost more than that per step.

use crate::{
    figure::{Report, Unit, timed},
    workload::{Kept, folder, run_sequences, wide},
};

const QUESTION: &str = "join";

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("What does a wide join cost? The peer runs as many steps in sequence.");
    for kept in Kept::all() {
        for width in [100, 1_000] {
            let dir = folder()?;
            let app = kept.app(dir.path()).await?;
            let figure = report
                .time(Unit::Millis, async || {
                    timed(async {
                        app.start(wide(width)).await?.result().await?;
                        Ok(())
                    })
                    .await
                })
                .await?;
            let peer =
                report.time(Unit::Millis, async || timed(run_sequences(&app, 1, width, 1)).await).await?;
            let what = format!("{}, {width} wide", kept.name());
            report.print(QUESTION, &what, Unit::Millis, figure, Some(("in sequence", peer)));
        }
    }
    Ok(())
}
