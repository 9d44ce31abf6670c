//! How much memory does a restart take, when 200 executions with logs of 20 MB are due at once?
//! Peak memory of a process of its own, read from `/proc/self/status` where there is one. Not among `all`: it writes 4 GB for
//! each store, and removes them.
//!
//! Why 200 stand for 2,000, and for any number: what a worker holds is bounded in bytes (`WorkerOptions::memory`), and what
//! waits for room holds a row. So the peak at 200 is that at 50, which is printed beside it.

use std::{env, fs, path::Path, process::Command, time::Duration};

use futures_util::stream::{self, StreamExt};
use loom::{App, WorkerOptions, postgres::Postgres, prelude::*, sqlite::Sqlite};

use crate::{
    figure::Report,
    workload::{Kept, folder, server},
};

const QUESTION: &str = "rehydration";
const EXECUTIONS: u64 = 200;
const STEPS: u64 = 200;
const BYTES: usize = 100_000;

/// Text that no store can make smaller by much.
#[step]
async fn page(seed: u64) -> loom::Result<String> {
    let mut random = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut text = String::with_capacity(BYTES);
    while text.len() < BYTES {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        text.push(char::from(b'0' + (random % 75) as u8));
    }
    Ok(text.replace('\\', "/"))
}

/// Writes 20 MB, and waits for somebody.
#[flow]
async fn long(ctx: Ctx, number: u64) -> loom::Result<u64> {
    let mut bytes = 0;
    for n in 0..STEPS {
        bytes += ctx.run(page(number * STEPS + n)).await?.len() as u64;
    }
    let more = ctx.suspend::<u64>("more").await?;
    ctx.run(page(more)).id("last").await?;
    Ok(bytes)
}

pub(crate) async fn answer(report: &mut Report) -> loom::Result<()> {
    report
        .heading("How much memory does a restart take, with logs of 20 MB? At most 1,024 MiB, is the goal.");
    for kept in Kept::all().into_iter().filter(|kept| *kept != Kept::Memory) {
        let dir = folder()?;
        let place = match server().filter(|_| kept == Kept::Postgres) {
            Some(server) => format!("{}#{}", server.url(), server.fresh()),
            None => dir.path().display().to_string(),
        };
        let app = app(&place, false).await?;
        let written = stream::iter(0..EXECUTIONS).map(async |n| suspend(&app, n).await);
        written.buffer_unordered(4).collect::<Vec<_>>().await.into_iter().collect::<loom::Result<()>>()?;
        for (from, to) in [(0, EXECUTIONS / 4), (EXECUTIONS / 4, EXECUTIONS)] {
            for n in from..to {
                app.handle::<long>(&id(n)?).resume("more", &n, "bench").await?;
            }
            let peak = restart(&place, from, to)?;
            report.print_count(QUESTION, &format!("{}, {} due", kept.name(), to - from), peak, "MiB at most");
        }
        app.shutdown(Duration::ZERO).await;
    }
    Ok(())
}

/// The program on a folder for SQLite, or on a server and a schema.
async fn app(place: &str, recover: bool) -> loom::Result<App> {
    let worker = WorkerOptions { recover, ..WorkerOptions::default() };
    let builder = App::builder().worker(worker);
    Ok(match place.split_once('#') {
        Some((url, schema)) => {
            builder.store(Postgres::options().schema(schema).connect(url).await?).build()?
        }
        None => builder.store(Sqlite::open(Path::new(place).join("bench.db")).await?).build()?,
    })
}

fn id(number: u64) -> loom::Result<loom::ExecutionId> {
    Ok(format!("long-{number}").parse()?)
}

async fn suspend(app: &App, number: u64) -> loom::Result<()> {
    app.start(long(number)).id(id(number)?.as_str()).await?.until(&[loom::Status::Suspended]).await?;
    Ok(())
}

/// Answers the peak in MiB of a worker that takes those from `from` to before `to` to their end.
fn restart(place: &str, from: u64, to: u64) -> loom::Result<f64> {
    let mut worker = Command::new(env::current_exe()?);
    let told = worker.arg("restarted").arg(place).args([from.to_string(), to.to_string()]).output()?;
    let said = String::from_utf8_lossy(&told.stdout);
    said.trim().parse().map_err(|_| loom::Error::msg(String::from_utf8_lossy(&told.stderr)))
}

/// The worker of that restart: prints its peak in MiB.
pub(crate) async fn restarted(place: &str, from: u64, to: u64) -> loom::Result<()> {
    let app = app(place, true).await?;
    app.work();
    for number in from..to {
        app.handle::<long>(&id(number)?).result().await?;
    }
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let peak: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or_default();
    println!("{}", peak / 1024.0);
    Ok(())
}
