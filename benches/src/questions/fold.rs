//! How many events a second does the fold take?
//! Decoding is apart: its peer reads the same events from their stored bytes.

use std::time::Instant;

use loom::kernel::{Envelope, Record, State};

use crate::{
    figure::{Report, Unit},
    workload::{Kept, folder, sequence},
};

const QUESTION: &str = "fold";

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("How many events a second does the fold take? The peer decodes them.");
    let dir = folder()?;
    let app = Kept::Memory.app(dir.path()).await?;
    let started = app.start(sequence(5_000)).await?;
    started.result().await?;
    let log = app.log(started.id(), 0, usize::MAX).await?;
    let records = log.iter().map(Envelope::encode).collect::<Result<Vec<Record>, _>>()?;
    let unit = Unit::PerSecond(log.len() as u64);
    let figure = report
        .time(unit, async || {
            let start = Instant::now();
            State::of(&log)?;
            Ok(start.elapsed())
        })
        .await?;
    let peer = report
        .time(unit, async || {
            let start = Instant::now();
            for record in &records {
                Envelope::decode(started.id(), record)?;
            }
            Ok(start.elapsed())
        })
        .await?;
    report.print(QUESTION, &format!("a log of {} events", log.len()), unit, figure, Some(("decode", peer)));
    Ok(())
}
