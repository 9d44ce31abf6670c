//! Two processes on one file that are killed and stopped while they work: every execution ends, and is right.
//! Not what one store owes: that is the conformance kit's, and `processes.rs`.

use std::time::Duration;

use chaos::{Database, Ledger, Plan};

/// What a worker does; nothing, when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    chaos::work().await;
}

async fn chaos(plan: Plan) {
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = Ledger::new(directory.path().join("ledger"));
    let database = Database::Sqlite(directory.path().join("loom.db"));
    let faults = chaos::run(&plan.or_as_told(), database, ledger, async |_| None).await;
    assert!(faults.of("kills") > 0 && faults.of("stops") > 0, "{faults}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_lose_nothing() {
    chaos(Plan { worker: "worker", workers: 2, orders: 60, hurt: Duration::from_secs(10), seed: 1 }).await;
}

/// `cargo test --release -p loom-durable-sqlite --test chaos -- --ignored --nocapture`; `LOOM_CHAOS_SEED` and
/// `LOOM_CHAOS_SECONDS` choose others.
#[ignore = "it takes minutes"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_lose_nothing_in_three_minutes() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let seed = u64::from(now.subsec_nanos());
    chaos(Plan { worker: "worker", workers: 2, orders: 2_000, hurt: Duration::from_secs(180), seed }).await;
}
