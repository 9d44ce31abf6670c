//! Two databases as one store, between which slots move back and forth, while workers are killed and stopped, and movers
//! too: every execution ends, and is right.
//! Not what a move owes step by step: that is in `moving.rs` and `killed.rs`.

#![allow(clippy::print_stderr, reason = "what was done to whom is told")]

use std::time::Duration;

use chaos::{Database, Dice, Faults, Ledger, Plan, Process};
use loom_runtime::ports::Slot;
use postgres::cluster::Cluster;

/// What a worker does; nothing, when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    chaos::work().await;
}

/// Moves slots for as long as it lives: those of its role (`from,step,to`).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mover() {
    let Some(given) = chaos::given() else { return };
    let words: Vec<&str> = given.role.split(',').collect();
    let (from, step) = (words[0].parse().expect("a slot"), words[1].parse().expect("a step"));
    let slots: Vec<Slot> = Slot::all().skip(from).step_by(step).collect();
    let store = given.database.shards().await;
    // Whoever is killed in the middle leaves the rest to the next.
    if let Err(error) = store.move_slots(&slots, words[2]).await {
        eprintln!("chaos: not moved: {error}");
    }
}

async fn chaos(plan: Plan, database: Database) -> Faults {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = Ledger::new(directory.path().join("ledger"));
    let store = database.shards().await;
    store.spread().await.expect("spread");
    let (members, moved) = (store.census().await.expect("a census"), std::cell::Cell::new(0));
    let hurt = async |dice: &mut Dice| {
        let to = members[dice.below(members.len() as u64) as usize].name.clone();
        let step = 2 + dice.below(6);
        let role = format!("{},{step},{to}", dice.below(step));
        let process = Process::start("mover", &role, &database, &ledger);
        let lives = dice.below(4) > 0;
        if !lives {
            tokio::time::sleep(Duration::from_millis(400 + dice.below(900))).await;
            drop(process);
            return Some("movers killed");
        }
        assert!(!process.was_killed().await);
        moved.set(moved.get() + 1);
        Some("moves")
    };
    let faults = chaos::run(&plan.or_as_told(), database.clone(), ledger.clone(), async |dice: &mut Dice| {
        let done = hurt(dice).await;
        // What a killed mover has left must not wait for the next of the same slots.
        if done == Some("movers killed") {
            store.finish().await.expect("finished");
        }
        done
    })
    .await;
    assert!(moved.get() > 0, "nothing was moved: {faults}");
    faults
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_lose_nothing_while_slots_move() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| (name.to_owned(), Database::Sqlite(directory.path().join(format!("{name}.db"))));
    let plan = Plan { worker: "worker", workers: 2, orders: 60, hurt: Duration::from_secs(15), seed: 3 };
    chaos(plan, Database::Shards(vec![file("a"), file("b")])).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_lose_nothing_while_slots_move() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = |name: &str| {
        (name.to_owned(), Database::Postgres { url: cluster.url().into(), schema: cluster.fresh() })
    };
    let plan = Plan { worker: "worker", workers: 3, orders: 100, hurt: Duration::from_secs(15), seed: 5 };
    chaos(plan, Database::Shards(vec![schema("a"), schema("b")])).await;
}

/// `cargo test --release -p loom-durable-shards --test chaos -- --ignored --nocapture`; `LOOM_CHAOS_SEED` and
/// `LOOM_CHAOS_SECONDS` choose others.
#[ignore = "it takes minutes"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn schemas_lose_nothing_in_three_minutes() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = |name: &str| {
        (name.to_owned(), Database::Postgres { url: cluster.url().into(), schema: cluster.fresh() })
    };
    let seed = u64::from(std::process::id());
    let plan = Plan { worker: "worker", workers: 4, orders: 2_000, hurt: Duration::from_secs(180), seed };
    chaos(plan, Database::Shards(vec![schema("a"), schema("b"), schema("c")])).await;
}
