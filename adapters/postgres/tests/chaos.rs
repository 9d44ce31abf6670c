//! A fleet on one server, while workers are killed and stopped, the server is restarted and crashes, and connections are
//! cut after COMMIT: every execution ends, and is right.
//! Not what one store owes under one fault: that is in `outages.rs`.

mod fixture;

use std::time::Duration;

use chaos::{Database, Faults, Ledger, Plan};
use fixture::proxy::Proxy;
use postgres::cluster::Cluster;

/// What a worker does; nothing, when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn worker() {
    chaos::work().await;
}

async fn chaos(plan: Plan) -> Option<Faults> {
    Cluster::shared()?;
    let plan = plan.or_as_told();
    // Its own: it is restarted.
    let cluster = std::cell::RefCell::new(Some(Cluster::start().expect("a server")));
    let (address, schema) = (cluster.borrow().as_ref()?.address(), cluster.borrow().as_ref()?.fresh());
    let proxy = Proxy::to(address).await;
    let directory = tempfile::tempdir().expect("a directory");
    let ledger = Ledger::new(directory.path().join("ledger"));
    let database = Database::Postgres { url: proxy.url(), schema };
    let hurt = async |dice: &mut chaos::Dice| {
        let few = 1 + dice.below(3) as usize;
        Some(match dice.below(10) {
            0..2 => {
                let crash = dice.below(2) == 0;
                let taken = cluster.take();
                let again = tokio::task::spawn_blocking(move || {
                    let mut cluster = taken.expect("it is there");
                    if crash {
                        cluster.crash()
                    } else {
                        cluster.stop()
                    }
                    cluster.start_again().expect("it starts again");
                    cluster
                });
                cluster.replace(Some(again.await.expect("no panic")));
                if crash { "crashes of the server" } else { "restarts of the server" }
            }
            2..4 => {
                proxy.cut();
                "cuts of all connections"
            }
            4..8 => {
                proxy.lose_answers(few);
                "cuts after COMMIT"
            }
            _ => {
                proxy.lose_commits(few);
                "cuts before COMMIT"
            }
        })
    };
    let faults = chaos::run(&plan, database, ledger, hurt).await;
    eprintln!("chaos: the proxy lost {} commits or their answers", proxy.lost());
    assert!(proxy.lost() > 0, "nothing was cut");
    Some(faults)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_loses_nothing() {
    let plan =
        Plan { worker: "worker", workers: 4, orders: 100, hurt: Duration::from_secs(12), seed: 20_261_130 };
    let Some(faults) = chaos(plan).await else { return };
    assert!(faults.of("kills") > 0 && faults.of("stops") > 0, "{faults}");
}

/// `cargo test --release -p loom-durable-postgres --test chaos -- --ignored --nocapture`; `LOOM_CHAOS_SEED` and
/// `LOOM_CHAOS_SECONDS` choose others.
#[ignore = "it takes minutes"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_loses_nothing_in_three_minutes() {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let seed = u64::from(now.subsec_nanos());
    chaos(Plan { worker: "worker", workers: 4, orders: 2_000, hurt: Duration::from_secs(180), seed }).await;
}
