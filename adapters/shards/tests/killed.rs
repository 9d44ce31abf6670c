//! A process that moves slots and gets SIGKILL at every stage; another one finishes.
//! Not a load: that is in `chaos.rs`.

mod fixture;

use chaos::{Database, Ledger, Process};
use fixture::*;
use loom_runtime::ports::{Append, EventStore, Inbox, LeaseStore, ListFilter, Slot};
use postgres::cluster::Cluster;
use shards::Stage;

const STAGES: [Stage; 7] = [
    Stage::Announced,
    Stage::Frozen,
    Stage::Copying,
    Stage::Copied,
    Stage::Moved,
    Stage::Left,
    Stage::Cleared,
];

fn names() -> Vec<String> {
    (0..40).map(|n| format!("e{n}")).collect()
}

fn slots() -> Vec<Slot> {
    let mut slots: Vec<Slot> = names().iter().map(|name| Slot::of(name)).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// Moves every execution to `b`, and kills itself on the way (its role says where, if anywhere).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mover() {
    let Some(given) = chaos::given() else { return };
    let store = given.database.shards().await;
    let watch = |stage: Stage, _: &[Slot]| {
        if format!("{stage:?}") == given.role {
            let me = std::process::id().to_string();
            std::process::Command::new("kill").args(["-KILL", &me]).status().expect("there is `kill`");
            loop {
                std::thread::sleep(std::time::Duration::from_secs(1));
            }
        }
    };
    store.move_slots_watched(&slots(), "b", watch).await.expect("moved");
}

async fn every_stage(fleet: impl Fn() -> Database) {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = Ledger::new(directory.path().join("ledger"));
    for stage in STAGES {
        let database = fleet();
        let store = database.shards().await;
        let mut owners = Vec::new();
        for name in names() {
            let mut owner = Owner::create(&store, new(&name)).await;
            store.post(item(&name, Some("k"), "1")).await.expect("posted");
            let posts = vec![item("e0", Some(&name), "hello")];
            owner.send(&store, &Append { posts, ..owner.batch(2) }).await;
            owners.push(owner);
        }
        let killed = Process::start("mover", &format!("{stage:?}"), &database, &ledger);
        assert!(killed.was_killed().await, "it was not at {stage:?}");
        let next = Process::start("mover", "none", &database, &ledger);
        assert!(!next.was_killed().await, "after {stage:?}");
        // What moved on the first attempt and what did not: all is there, once, and goes on.
        assert_eq!(store.finish().await.expect("finished"), 0, "after {stage:?}");
        let rows = store.list(&ListFilter::default()).await.expect("listed");
        assert_eq!(rows.len(), owners.len(), "after {stage:?}");
        for owner in &mut owners {
            owner.send(&store, &owner.batch(1)).await;
            let log = store.read(&owner.id, 0, 9).await.expect("read");
            assert_eq!(log, (0..4).map(record).collect::<Vec<_>>(), "{} after {stage:?}", owner.id);
            assert_eq!(store.home_of(owner.id.as_str()).await, Ok("b".into()));
        }
        let greeted = store.pending(&id("e0"), 0).await.expect("pending");
        assert_eq!(greeted.len(), owners.len() + 1, "after {stage:?}");
        assert_eq!(store.renew(&"w1".into(), at(9_000)).await.expect("renewed").len(), owners.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_survive_a_mover_that_is_killed() {
    let directory = tempfile::tempdir().expect("a directory");
    let count = std::cell::Cell::new(0);
    every_stage(|| {
        count.set(count.get() + 1);
        let file = |name: &str| {
            let path = directory.path().join(format!("{name}{}.db", count.get()));
            (name.to_owned(), Database::Sqlite(path))
        };
        Database::Shards(vec![file("a"), file("b")])
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_survive_a_mover_that_is_killed() {
    let Some(cluster) = Cluster::shared() else { return };
    every_stage(|| {
        let schema = |name: &str| {
            (name.to_owned(), Database::Postgres { url: cluster.url().into(), schema: cluster.fresh() })
        };
        Database::Shards(vec![schema("a"), schema("b")])
    })
    .await;
}
