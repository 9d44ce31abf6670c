//! A rolling deploy: processes of two releases on one server, whose flow has one name and two bodies that do not fit each
//! other's logs. Every execution ends, on the code that it began with.
//! Not each rule by itself: those are in `loom/tests/runtime/migrations.rs`.

use std::{collections::BTreeMap, time::Duration};

use chaos::{Database, Ledger, Process};
use loom::{
    App, Entry, ExecutionId, Flow, Registry, Status, WorkerOptions,
    kernel::{Event, Payload},
    prelude::*,
};
use postgres::cluster::Cluster;

/// How many sales each release begins with.
const SALES: u64 = 25;

/// Which release this process is.
#[derive(Clone)]
struct Release(String);

impl Release {
    fn tells(&self, ledger: &Ledger, step: &StepCx) {
        ledger.write(&format!("{} {} {}", step.execution(), step.frame(), self.0));
    }
}

#[step]
async fn price(step: StepCx, ledger: Res<Ledger>, release: Res<Release>, n: u64) -> loom::Result<u64> {
    release.tells(&ledger, &step);
    Ok(n * 10)
}

#[step]
async fn insure(step: StepCx, ledger: Res<Ledger>, release: Res<Release>, n: u64) -> loom::Result<u64> {
    release.tells(&ledger, &step);
    Ok(n + 1_000)
}

#[step]
async fn pay(step: StepCx, ledger: Res<Ledger>, release: Res<Release>, cost: u64) -> loom::Result<u64> {
    release.tells(&ledger, &step);
    tokio::time::sleep(millis(20)).await;
    Ok(cost)
}

mod first {
    use super::*;
    #[flow(name = "sale")]
    pub(super) async fn sale(ctx: Ctx, n: u64) -> loom::Result<u64> {
        let cost = ctx.run(price(n)).await?;
        ctx.suspend::<bool>("go").await?;
        ctx.run(pay(cost)).await
    }
}

mod second {
    use super::*;
    #[flow(name = "sale")]
    pub(super) async fn sale(ctx: Ctx, n: u64) -> loom::Result<u64> {
        let insured = ctx.run(insure(n)).await?;
        let cost = ctx.run(price(insured)).await?;
        ctx.suspend::<bool>("go").await?;
        ctx.run(pay(cost)).await
    }
}

fn program<F: Flow>() -> Registry {
    Registry::of([Entry::flow::<F>(), Entry::step::<price>(), Entry::step::<insure>(), Entry::step::<pay>()])
}

async fn open(database: &Database, ledger: &Ledger, release: &str) -> App {
    let registry = if release == "first" { program::<first::sale>() } else { program::<second::sale>() };
    let worker =
        WorkerOptions { lease: seconds(1), poll: millis(20), linger: millis(5), ..WorkerOptions::default() };
    let builder = database.builder().await.registry(registry).worker(worker);
    builder.provide(ledger.clone()).provide(Release(release.into())).build().expect("an app")
}

/// What a worker does; nothing, when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    let Some(given) = chaos::given() else { return };
    open(&given.database, &given.ledger, &given.role).await.work();
    std::future::pending::<()>().await;
}

async fn sell(app: &App, release: &str) -> Vec<(ExecutionId, u64)> {
    let mut sold = Vec::new();
    for n in 0..SALES {
        let sale = app.start_dynamic("sale", Payload::encode(&n).expect("a number"));
        sold.push((sale.id(format!("{release}-{n}")).detached().await.expect("started"), n));
    }
    sold
}

async fn until(app: &App, sales: &[(ExecutionId, u64)], holds: impl Fn(Status) -> bool) {
    for (id, _) in sales {
        while !holds(app.row(id).await.expect("a row").status) {
            tokio::time::sleep(millis(10)).await;
        }
    }
}

async fn say_go(app: &App, sales: &[(ExecutionId, u64)]) {
    for (id, _) in sales {
        let gate = format!("{id}/go").parse().expect("an address");
        app.resume(&gate, Payload::encode(&true).expect("a truth"), "ada").await.expect("an answer");
    }
}

/// The releases that did something for a sale.
fn doers(effects: &BTreeMap<String, u32>, sale: &ExecutionId) -> Vec<String> {
    let of = effects.keys().filter_map(|line| line.strip_prefix(&format!("{sale} ")));
    let mut all: Vec<_> = of.filter_map(|line| Some(line.split_once(' ')?.1.to_owned())).collect();
    all.dedup();
    all
}

async fn rolls() {
    let Some(cluster) = Cluster::shared() else { return };
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = Ledger::new(directory.path().join("ledger"));
    let database = Database::Postgres { url: cluster.url().into(), schema: cluster.fresh() };
    let worker = |release: &str| Process::start("worker", release, &database, &ledger);
    let old = open(&database, &ledger, "first").await;
    let (staying, leaving) = (worker("first"), worker("first"));
    let early = sell(&old, "first").await;
    until(&old, &early, |status| status == Status::Suspended).await;
    // The deploy: a new one beside the old ones, and one in the place of another, which is killed at work.
    let new = open(&database, &ledger, "second").await;
    let (newer, late) = (worker("second"), sell(&new, "second").await);
    say_go(&new, &early[..20]).await;
    until(&old, &early[..1], Status::is_terminal).await;
    drop(leaving);
    let newest = worker("second");
    say_go(&new, &late).await;
    say_go(&old, &early[20..]).await;
    until(&old, &early, Status::is_terminal).await;
    until(&new, &late, Status::is_terminal).await;
    // Nobody needs the old one now.
    drop(staying);
    let last = sell(&open(&database, &ledger, "second").await, "last").await;
    say_go(&new, &last).await;
    until(&new, &last, Status::is_terminal).await;
    let effects = ledger.counts();
    for (id, n) in early.iter().chain(&late).chain(&last) {
        // One that had only begun fits both, and belongs to whoever did its first step.
        let doers = doers(&effects, id);
        match (&doers[..], id.as_str().split('-').next()) {
            ([one], Some("first")) => assert_eq!(one, "first", "{id}"),
            ([one], Some("last")) => assert_eq!(one, "second", "{id}"),
            ([_], _) => {}
            _ => panic!("{id} was done by {doers:?}"),
        }
        let comes_to = if doers[0] == "first" { n * 10 } else { (n + 1_000) * 10 };
        assert_eq!(new.handle::<second::sale>(id).result().await.expect("a result"), comes_to, "{id}");
        let registry = if doers[0] == "first" { program::<first::sale>() } else { program::<second::sale>() };
        let log = new.log(id, 0, 1_000).await.expect("a log");
        loom::replay_check(&registry, &log).expect("it replays");
        let parked =
            log.iter().filter(|envelope| matches!(envelope.event, Event::ExecutionParked(_))).count();
        assert!(parked <= 2, "{id} was parked {parked} times: programs that do not fit leave it alone");
    }
    drop((newer, newest));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn executions_of_two_releases_end_on_code_that_fits_them() {
    // Reached only by what hangs.
    tokio::time::timeout(Duration::from_secs(120), rolls()).await.expect("this hangs");
}
