//! What every case needs: a database, programs on it that can be killed, and a world in which effects are counted.
//! Not cases.

mod apart;
mod crash;
mod process;
mod tap;
mod world;

use std::{future::Future, sync::Arc, time::Duration};

use loom::{
    App, AppBuilder, ExecutionId, Memory, Registry, WorkerOptions,
    kernel::{Envelope, Event, ParkReport},
    ports::Store,
    sqlite::Sqlite,
};
use postgres::{Postgres, cluster::Cluster};

use apart::Apart;
pub(crate) use crash::around_every_append;
pub(crate) use process::Process;
pub(crate) use tap::{Stop, Tap, Tapped, Write};
pub(crate) use world::World;

/// Long enough for any machine: reached only by what hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A lease that nobody waits long for.
pub(crate) const LEASE: Duration = Duration::from_millis(1_000);

/// A worker that does not keep a test waiting.
pub(crate) fn brisk() -> WorkerOptions {
    WorkerOptions {
        lease: LEASE,
        poll: Duration::from_millis(20),
        linger: Duration::from_millis(5),
        lag: Duration::from_millis(2),
        ..WorkerOptions::default()
    }
}

/// One database, and the world around it.
#[derive(Clone)]
pub(crate) struct Rig {
    data: Data,
    pub(crate) world: World,
}

#[derive(Clone)]
enum Data {
    Memory(Memory),
    Sqlite(Arc<tempfile::TempDir>),
    /// For programs on a clock that the test holds.
    SqliteApart(Arc<tempfile::TempDir>),
    Postgres(&'static Cluster, String),
}

impl Rig {
    pub(crate) fn memory() -> Self {
        Self { data: Data::Memory(Memory::new()), world: World::default() }
    }

    pub(crate) fn sqlite() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        Self { data: Data::Sqlite(dir), world: World::default() }
    }

    pub(crate) fn sqlite_apart() -> Self {
        let dir = Arc::new(tempfile::tempdir().unwrap());
        Self { data: Data::SqliteApart(dir), world: World::default() }
    }

    /// None where Postgres is not installed, which has then been said.
    pub(crate) fn postgres() -> Option<Self> {
        let cluster = Cluster::shared()?;
        Some(Self { data: Data::Postgres(cluster, cluster.fresh()), world: World::default() })
    }

    /// Another, empty database of the same kind, in another world.
    pub(crate) fn another(&self) -> Self {
        match &self.data {
            Data::Memory(_) => Self::memory(),
            Data::Sqlite(_) => Self::sqlite(),
            Data::SqliteApart(_) => Self::sqlite_apart(),
            Data::Postgres(cluster, _) => {
                Self { data: Data::Postgres(cluster, cluster.fresh()), world: World::default() }
            }
        }
    }

    /// The same database, where nothing has happened yet and all doors are shut.
    pub(crate) fn in_another_world(&self) -> Self {
        Self { world: World::default(), ..self.clone() }
    }

    /// The kind of store, in a word: what the cases of one process tell each other apart by.
    pub(crate) fn name(&self) -> &'static str {
        match &self.data {
            Data::Memory(_) => "memory",
            Data::Sqlite(_) | Data::SqliteApart(_) => "sqlite",
            Data::Postgres(..) => "postgres",
        }
    }

    /// The database as another process opens it, through a tap.
    pub(crate) async fn store(&self, tap: &Tap) -> Tapped {
        let inner: Arc<dyn Store> = match &self.data {
            Data::Memory(memory) => Arc::new(memory.clone()),
            Data::Sqlite(dir) => Arc::new(Sqlite::open(dir.path().join("loom.db")).await.unwrap()),
            Data::Postgres(cluster, schema) => {
                Arc::new(Postgres::options().schema(schema).connect(cluster.url()).await.unwrap())
            }
            Data::SqliteApart(dir) => {
                let file = dir.path().join("loom.db");
                Arc::new(Apart::open(async { Sqlite::open(file).await.unwrap() }).await)
            }
        };
        Tapped::new(inner, tap.clone())
    }

    /// A program on it, not yet built.
    pub(crate) async fn builder(&self, registry: Registry, tap: &Tap) -> AppBuilder {
        let builder = App::builder().store(self.store(tap).await).registry(registry);
        builder.provide(self.world.clone()).worker(brisk())
    }

    /// A program on it.
    pub(crate) async fn app(&self, registry: Registry) -> App {
        self.builder(registry, &Tap::default()).await.build().unwrap()
    }
}

/// Runs a case for as long as it takes, but not for ever.
pub(crate) async fn patiently<T>(case: impl Future<Output = T>) -> T {
    patiently_for(PATIENCE, case).await
}

/// The same for a case that is many.
pub(crate) async fn patiently_for<T>(patience: Duration, case: impl Future<Output = T>) -> T {
    tokio::time::timeout(patience, case).await.expect("this hangs")
}

/// Waits until `holds`, looking again and again.
pub(crate) async fn until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) {
    while !holds().await {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) fn id(text: &str) -> ExecutionId {
    text.parse().unwrap()
}

/// The whole log.
pub(crate) async fn log(app: &App, id: &ExecutionId) -> Vec<Envelope> {
    app.log(id, 0, usize::MAX >> 1).await.unwrap()
}

/// The log in short: each event's kind and frame.
pub(crate) async fn told(app: &App, id: &ExecutionId) -> Vec<String> {
    log(app, id).await.iter().map(|envelope| in_short(&envelope.event)).collect()
}

pub(crate) fn in_short(event: &Event) -> String {
    match (event.frame(), event) {
        (Some(frame), Event::StepStarted(e)) if e.attempt > 1 => {
            format!("{} {frame} attempt {}", event.kind().name(), e.attempt)
        }
        (Some(frame), _) => format!("{} {frame}", event.kind().name()),
        (None, _) => event.kind().name().to_owned(),
    }
}

/// How often a kind is in a log.
pub(crate) fn count(told: &[String], what: &str) -> usize {
    told.iter().filter(|line| line.starts_with(what)).count()
}

/// The report of a parked execution, by public means.
pub(crate) async fn report(app: &App, id: &ExecutionId) -> ParkReport {
    let status = app.until(id, &[loom::Status::Parked]).await.unwrap();
    assert_eq!(status, loom::Status::Parked, "{:?}", app.state(id, None).await.unwrap().outcome);
    app.state(id, None).await.unwrap().parked.expect("a parked execution has a report")
}

/// Exactly these flows and steps.
macro_rules! registry {
    (flows: [$($flow:ty),* $(,)?], steps: [$($step:ty),* $(,)?]) => {
        loom::Registry::of([
            $(loom::Entry::flow::<$flow>(),)*
            $(loom::Entry::step::<$step>(),)*
        ])
    };
}
pub(crate) use registry;

/// The same, but its flows do not say which steps and children they run, so that `build()` does not miss any: a hand-written
/// descriptor, or a call that the macro cannot read.
pub(crate) fn untold(registry: &Registry) -> Registry {
    let flows = registry.flows().map(|flow| {
        let untold = loom::FlowDescriptor { steps: &[], children: &[], ..*flow };
        loom::Entry::Flow(Box::leak(Box::new(untold)))
    });
    Registry::of(flows.chain(registry.steps().map(loom::Entry::Step)))
}

/// A case that holds on every store: `memory`, `sqlite` and `postgres` are its tests.
macro_rules! on_every_store {
    ($($(#[doc = $doc:literal])* async fn $name:ident($rig:ident: Rig) $body:block)+) => {
        $(
            $(#[doc = $doc])*
            mod $name {
                use super::*;

                async fn case($rig: Rig) $body

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn memory() {
                    $crate::support::patiently(case(Rig::memory())).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn sqlite() {
                    $crate::support::patiently(case(Rig::sqlite())).await;
                }

                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn postgres() {
                    if let Some(rig) = Rig::postgres() {
                        $crate::support::patiently(case(rig)).await;
                    }
                }
            }
        )+
    };
}
pub(crate) use on_every_store;

/// The same for a case on a clock that moves by itself whenever everybody waits.
macro_rules! on_both_in_virtual_time {
    ($($(#[doc = $doc:literal])* async fn $name:ident($rig:ident: Rig) $body:block)+) => {
        $(
            $(#[doc = $doc])*
            mod $name {
                use super::*;

                async fn case($rig: Rig) $body

                #[tokio::test(start_paused = true)]
                async fn memory() {
                    case(Rig::memory()).await;
                }

                #[tokio::test(start_paused = true)]
                async fn sqlite() {
                    case(Rig::sqlite_apart()).await;
                }
            }
        )+
    };
}
pub(crate) use on_both_in_virtual_time;
