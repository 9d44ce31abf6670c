//! How many one-step flows a second, with 1 to 256 at once?
//! The peer is a bare loop of single-row commits: what the disk gives to one who asks once at a time.

use crate::{
    figure::{Report, Unit, timed},
    workload::{Kept, folder, run_sequences},
};

const QUESTION: &str = "flows";

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report
        .heading("How many one-step flows a second? The peer: single commits a second, one after the other.");
    for kept in Kept::all() {
        for at_once in [1, 4, 16, 64, 256] {
            let flows = (at_once * 20).max(200);
            let dir = folder()?;
            let app = kept.app(dir.path()).await?;
            let unit = Unit::PerSecond(flows);
            let figure =
                report.time(unit, async || timed(run_sequences(&app, flows, 1, at_once)).await).await?;
            let peer = match kept {
                Kept::Memory => None,
                _ => {
                    let unit = Unit::PerSecond(200);
                    Some(report.time(unit, async || kept.bare_commits(dir.path(), 200, 1).await).await?)
                }
            };
            let what = format!("{}, {at_once} at once", kept.name());
            report.print(QUESTION, &what, unit, figure, peer.map(|peer| ("bare commits", peer)));
        }
    }
    Ok(())
}
