//! The program that all processes run, and the ways in which a test starts it as a process of its own.
//! Not cases.

use std::{future::Future, process::Command, time::Duration};

use chaos::Process;
use loom::{App, Entry, ExecutionId, Registry, WorkerOptions, kernel::Payload, prelude::*};
use postgres::Postgres;

use crate::ledger::Ledger;

/// Reached only by what hangs.
const PATIENCE: Duration = Duration::from_secs(60);

#[step]
pub(crate) async fn one(world: Res<Ledger>) -> loom::Result<u32> {
    world.write("one");
    world.pass("go-on").await;
    Ok(1)
}

#[step]
pub(crate) async fn two(world: Res<Ledger>) -> loom::Result<u32> {
    world.write("two");
    Ok(2)
}

#[flow]
pub(crate) async fn pausing(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.run(one()).await? + ctx.run(two()).await?)
}

/// SIGKILL to this very process, unless somebody has mended it.
fn die(world: &Ledger) {
    while !world.is_open("mended") {
        let _ = Command::new("kill").args(["-KILL", &std::process::id().to_string()]).status();
    }
}

#[step(retry(attempts = 3, initial = "1ms"))]
pub(crate) async fn killer(world: Res<Ledger>) -> loom::Result<u32> {
    world.write("killer");
    die(&world);
    Ok(3)
}

#[flow]
pub(crate) async fn killing(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(killer()).await
}

#[step]
pub(crate) async fn bomb(world: Res<Ledger>) -> loom::Result<u32> {
    world.write("bomb");
    die(&world);
    Ok(4)
}

#[flow]
pub(crate) async fn bombing(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(bomb()).await
}

#[step]
pub(crate) async fn tell(world: Res<Ledger>, step: StepCx, what: String) -> loom::Result<String> {
    world.write(&format!("{what} to {}", step.execution()));
    Ok(what)
}

#[flow]
pub(crate) async fn receiving(ctx: Ctx) -> loom::Result<String> {
    let received = ctx.suspend::<String>("inbox").await?;
    ctx.run(tell(received)).await
}

#[step]
pub(crate) async fn add(world: Res<Ledger>, step: StepCx, sum: u32, n: u32) -> loom::Result<u32> {
    world.write(&format!("add {} of {}", step.frame(), step.execution()));
    tokio::time::sleep(Duration::from_millis(3)).await;
    Ok(sum + n)
}

#[flow]
pub(crate) async fn adding(ctx: Ctx, to: u32) -> loom::Result<u32> {
    let mut sum = 0;
    for n in 0..to {
        sum = ctx.run(add(sum, n)).await?;
    }
    Ok(sum)
}

/// Exactly these: what is linked beside them has flows of its own.
pub(crate) fn registry() -> Registry {
    Registry::of([
        Entry::flow::<pausing>(),
        Entry::flow::<killing>(),
        Entry::flow::<bombing>(),
        Entry::flow::<receiving>(),
        Entry::flow::<adding>(),
        Entry::step::<one>(),
        Entry::step::<two>(),
        Entry::step::<killer>(),
        Entry::step::<bomb>(),
        Entry::step::<tell>(),
        Entry::step::<add>(),
    ])
}

/// The program, in this process.
pub(crate) async fn open(world: &Ledger) -> App {
    open_with(world, 50).await
}

/// The same, with this limit on take-overs.
async fn open_with(world: &Ledger, takeovers: u32) -> App {
    let worker = WorkerOptions {
        lease: Duration::from_millis(1_000),
        poll: Duration::from_millis(20),
        linger: Duration::from_millis(5),
        takeovers,
        ..WorkerOptions::default()
    };
    let builder = match world.postgres() {
        Some((url, schema)) => {
            App::builder().store(Postgres::options().schema(schema).connect(&url).await.unwrap())
        }
        None => App::builder().store(Sqlite::open(world.database()).await.unwrap()),
    };
    builder.registry(registry()).provide(world.clone()).worker(worker).build().unwrap()
}

/// A case that holds on both stores that processes can share: `sqlite` and `postgres` are its tests.
macro_rules! on_every_store {
    ($($(#[doc = $doc:literal])* async fn $name:ident($dir:ident: TempDir, $world:ident: Ledger) $body:block)+) => {
        $(
            $(#[doc = $doc])*
            mod $name {
                use super::*;

                async fn case($dir: tempfile::TempDir, $world: Ledger) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    let dir = tempfile::tempdir().unwrap();
                    let world = Ledger::new(dir.path());
                    patiently(case(dir, world)).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    let Some(cluster) = Cluster::shared() else { return };
                    let dir = tempfile::tempdir().unwrap();
                    let world = Ledger::new(dir.path());
                    world.keep_on_postgres(cluster.url(), &cluster.fresh());
                    patiently(case(dir, world)).await;
                }
            }
        )+
    };
}
pub(crate) use on_every_store;

/// What a process does; nothing, when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let (Ok(dir), Ok(role)) = (std::env::var("LOOM_DIR"), std::env::var("LOOM_ROLE")) else { return };
    let world = Ledger::new(dir);
    let takeovers = std::env::var("LOOM_TAKEOVERS").map_or(50, |text| text.parse().unwrap());
    let app = open_with(&world, takeovers).await;
    match role.split_once(' ') {
        // Starts a flow under its own name, and stays until it has ended or parked.
        Some(("start", flow)) => {
            let id = app.start_dynamic(flow, Payload::null()).id(flow).await.unwrap();
            let status = app.until(&id, &[loom::Status::Parked]).await.unwrap();
            world.write(&format!("saw {status}"));
        }
        // Takes these up at the same instant as others do, and stays until all have ended.
        Some(("take-up", all)) => {
            let ids: Vec<ExecutionId> = all.split(' ').map(|id| id.parse().unwrap()).collect();
            world.write("ready");
            world.pass("go").await;
            for id in &ids {
                if app.take_up(id).await.unwrap() {
                    world.write(&format!("took {id}"));
                }
            }
            for id in &ids {
                let result = app.handle::<receiving>(id).result().await.unwrap();
                world.write(&format!("saw {result} from {id}"));
            }
        }
        _ => {
            app.work();
            std::future::pending::<()>().await;
        }
    }
}

/// A process of this program; it is gone when this is dropped.
pub(crate) fn start(world: &tempfile::TempDir, role: &str) -> Process {
    start_with(world, role, 50)
}

/// The same, with this limit on take-overs.
pub(crate) fn start_with(world: &tempfile::TempDir, role: &str, takeovers: u32) -> Process {
    let dir = world.path().display().to_string();
    let takeovers = takeovers.to_string();
    Process::spawn(
        "child::child",
        [("LOOM_DIR", dir), ("LOOM_ROLE", role.to_owned()), ("LOOM_TAKEOVERS", takeovers)],
    )
}

/// Runs a case for as long as it takes, but not for ever.
pub(crate) async fn patiently<T>(case: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, case).await.expect("this hangs")
}

pub(crate) async fn told(app: &App, id: &ExecutionId) -> Vec<String> {
    let log = app.log(id, 0, 100_000).await.unwrap();
    let line = |envelope: &loom::kernel::Envelope| match envelope.event.frame() {
        Some(frame) => format!("{} {frame}", envelope.event.kind().name()),
        None => envelope.event.kind().name().to_owned(),
    };
    log.iter().map(line).collect()
}

pub(crate) fn count(told: &[String], what: &str) -> usize {
    told.iter().filter(|line| line.starts_with(what)).count()
}
