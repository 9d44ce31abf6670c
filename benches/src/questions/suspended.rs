//! How much memory do 10,000 suspended executions hold?
//! Resident memory of this process, read from `/proc/self/status` where there is one.

use futures_util::stream::{self, StreamExt};
use loom::Status;

use crate::{
    figure::Report,
    workload::{Kept, folder, waiting},
};

const QUESTION: &str = "suspended";
const EXECUTIONS: u64 = 10_000;

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report.heading("How much memory do 10,000 suspended executions hold? On SQLite, in this process.");
    let dir = folder()?;
    let app = Kept::Sqlite.app(dir.path()).await?;
    // Warm: pools, caches and the allocator have their size after a first thousand.
    suspend(&app, 1_000).await?;
    let before = resident();
    suspend(&app, EXECUTIONS).await?;
    let held = resident().saturating_sub(before);
    report.print_count(QUESTION, "resident before", before as f64 / 1024.0, "MiB");
    report.print_count(QUESTION, &format!("more with {EXECUTIONS} suspended"), held as f64 / 1024.0, "MiB");
    report.print_count(QUESTION, "each", held as f64 * 1024.0 / EXECUTIONS as f64, "bytes");
    Ok(())
}

async fn suspend(app: &loom::App, count: u64) -> loom::Result<()> {
    let results: Vec<loom::Result<()>> = stream::iter(0..count)
        .map(|number| async move {
            app.start(waiting(number)).await?.until(&[Status::Suspended]).await?;
            Ok(())
        })
        .buffer_unordered(256)
        .collect()
        .await;
    results.into_iter().collect()
}

/// Resident memory in KiB; 0 where the system does not tell.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}
