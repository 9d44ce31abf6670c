//! What does a step cost, in flows of 1, 10, 100 and 1,000?
//! Not with others beside it: that is `flows`.

use crate::{
    figure::{Report, Unit, timed},
    workload::{Kept, folder, run_sequences},
};

const QUESTION: &str = "steps";

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("What does a step cost? One flow at a time; the peer commits as often, in a bare loop.");
    for kept in Kept::all() {
        for steps in [1, 10, 100, 1_000] {
            let flows = (200 / steps).max(1);
            let dir = folder()?;
            let app = kept.app(dir.path()).await?;
            let unit = Unit::MicrosEach(flows * steps);
            let figure =
                report.time(unit, async || timed(run_sequences(&app, flows, steps, 1)).await).await?;
            // One commit to start, then one a step; each carries about two events a step.
            let commits = flows * (steps + 1);
            let peer = match kept {
                Kept::Memory => None,
                _ => Some(report.time(unit, async || kept.bare_commits(dir.path(), commits, 2).await).await?),
            };
            let what = format!("{}, a flow of {steps}", kept.name());
            report.print(QUESTION, &what, unit, figure, peer.map(|peer| ("bare commits", peer)));
        }
    }
    Ok(())
}
