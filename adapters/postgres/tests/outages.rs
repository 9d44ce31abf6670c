//! Servers that restart, crash and fall silent, connections that are cut, locks of others: nothing is lost, nothing
//! is done twice, and what cannot be done is said.
//! Not what a store owes in good times: that is the conformance kit.

mod fixture;

use std::time::Duration;

use fixture::{proxy::Proxy, *};
use loom_runtime::{
    kernel::Record,
    ports::{
        Append, BranchRegistry, ClaimRequest, Created, EventStore, Inbox, LeaseStore, Posted, SetBranch,
        StoreError, TakeUp,
    },
};
use postgres::{ConnectError, Postgres, cluster::Cluster};
use tokio::task::JoinSet;

/// A store behind a proxy, and its schema.
async fn behind_a_proxy(cluster: &'static Cluster) -> (Postgres, Proxy, String) {
    let (proxy, schema) = (Proxy::to(cluster.address()).await, cluster.fresh());
    let store = Postgres::options().schema(schema.clone()).connect(&proxy.url()).await.expect("a store");
    (store, proxy, schema)
}

fn is_dense(log: &[Record]) -> bool {
    (0..).zip(log).all(|(n, record)| record.sequence == n)
}

async fn everything_happens_once(lose: impl Fn(&Proxy)) {
    let Some(cluster) = Cluster::shared() else { return };
    let (store, proxy, _) = behind_a_proxy(cluster).await;
    lose(&proxy);
    let created = store.create(new("a", "worker")).await;
    assert!(matches!(created, Ok(Created::New { fence: 1 })), "{created:?}");
    let mut owner = Owner { store: store.clone(), id: id("a"), fence: 1, next: 1 };
    for round in 1..=3 {
        lose(&proxy);
        let posts = vec![item("a", None, "from an append")];
        store.append(&Append { posts, ..owner.batch(2) }).await.expect("appended");
        owner.next += 2;
        assert_eq!(
            (row(&store, "a").await.next, log(&store, "a").await.len() as u64),
            (owner.next, owner.next)
        );
        assert_eq!(pending(&store, "a").await.len(), round);
    }
    // Without a key nothing but its position tells the item.
    lose(&proxy);
    let posted = store.post(item("a", None, "once")).await;
    let items = pending(&store, "a").await;
    let newest = items.last().expect("it is there");
    assert_eq!((posted, items.len(), &*newest.payload), (Ok(Posted::Accepted(newest.id)), 4, "once"));
    lose(&proxy);
    let posted = store.post(item("a", Some("key"), "once")).await;
    assert!(matches!(posted, Ok(Posted::Accepted(id)) if id > newest.id), "{posted:?}");
    assert_eq!(pending(&store, "a").await.len(), 5);
    lose(&proxy);
    let set =
        SetBranch { name: "main".into(), expected: None, execution: id("a"), at: at(9), by: "ada".into() };
    assert_eq!(store.set_branch(&set).await.map(|row| row.version), Ok(1));
    assert!(proxy.lost() >= 7, "{} were lost", proxy.lost());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_a_commit_whose_acknowledgement_is_lost_happens_once() {
    everything_happens_once(|proxy| proxy.lose_answers(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_a_commit_that_is_lost_happens_once() {
    everything_happens_once(|proxy| proxy.lose_commits(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_a_commit_that_is_lost_again_and_again_happens_once() {
    everything_happens_once(|proxy| {
        proxy.lose_answers(3);
        proxy.lose_commits(2);
    })
    .await;
}

/// Nobody knows whether a claim took something: the worker is told what it holds when it renews.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_acknowledgement_is_lost_is_found_by_renewing() {
    let Some(cluster) = Cluster::shared() else { return };
    let (store, proxy, _) = behind_a_proxy(cluster).await;
    Owner::create(&store, "a").await;
    let request = |worker: &str, now| ClaimRequest {
        worker: worker.into(),
        now: at(now),
        until: at(now + 1_000),
        limit: 1,
        execution: None,
        flows: None,
        program: None,
    };
    proxy.lose_answers(1);
    let claimed = store.claim(&request("w2", 5_000)).await;
    assert!(matches!(claimed, Err(StoreError::Unavailable(_))), "{claimed:?}");
    let held = store.renew(&"w2".into(), at(7_000)).await;
    assert_eq!(held, Ok(vec![(id("a"), 2)]));
    store.release(&id("a"), 2).await.expect("released");
    let claimed = store.claim(&request("w3", 5_001)).await.expect("claim");
    assert_eq!((claimed[0].fence, claimed[0].take_up), (3, TakeUp::Unowned));
}

/// Owners that append until `done`, each after its acknowledgement, and how far they came.
fn load(store: &Postgres, owners: Vec<Owner>, done: &tokio::sync::watch::Receiver<bool>) -> JoinSet<Owner> {
    let mut load = JoinSet::new();
    for mut owner in owners {
        let (done, store) = (done.clone(), store.clone());
        load.spawn(async move {
            while !*done.borrow() {
                let posts = vec![item(owner.id.as_str(), None, &owner.next.to_string())];
                let append = Append { posts, ..owner.batch(1) };
                match store.append(&append).await {
                    Ok(()) => owner.next += 1,
                    // The same words again, as a driver does.
                    Err(StoreError::Unavailable(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    Err(error) => panic!("{error}"),
                }
            }
            owner
        });
    }
    load
}

async fn owners(store: &Postgres) -> Vec<Owner> {
    let mut owners = Vec::new();
    for n in 0..8 {
        owners.push(Owner::create(store, &format!("e{n}")).await);
    }
    owners
}

/// Every append that was acknowledged is there, once, and so is its post.
async fn nothing_is_lost(store: &Postgres, mut load: JoinSet<Owner>) -> u64 {
    let mut all = 0;
    while let Some(owner) = load.join_next().await {
        let owner = owner.expect("no panic");
        let log = log(store, owner.id.as_str()).await;
        assert!(is_dense(&log));
        // The last one may have been made without its acknowledgement.
        let made = log.len() as u64;
        assert!(made == owner.next || made == owner.next + 1, "{} of {}", made, owner.next);
        let posted: Vec<_> = pending(store, owner.id.as_str()).await.into_iter().map(|i| i.payload).collect();
        assert_eq!(posted, (1..made).map(|n| n.to_string()).collect::<Vec<_>>());
        all += made;
    }
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn backends_that_are_terminated_lose_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    // Its own name, so that the other tests keep their connections.
    let url = format!("{}?application_name={schema}", cluster.url());
    let store = Postgres::options().schema(schema.clone()).connect(&url).await.expect("a store");
    let owners = owners(&store).await;
    let (end, done) = tokio::sync::watch::channel(false);
    let load = load(&store, owners, &done);
    let mut other = raw(cluster.url(), &schema).await;
    let mut killed = 0;
    while killed < 60 {
        let kill =
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1";
        let count: i64 = sqlx::query_scalar(kill).bind(&schema).fetch_one(&mut other).await.expect("killed");
        killed += count;
        // Readers are hit as well, and ask again.
        assert!(row(&store, "e0").await.next >= 1);
    }
    end.send_replace(true);
    nothing_is_lost(&store, load).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_cut_lose_nothing() {
    let Some(cluster) = Cluster::shared() else { return };
    let (store, proxy, _) = behind_a_proxy(cluster).await;
    let owners = owners(&store).await;
    let (end, done) = tokio::sync::watch::channel(false);
    let load = load(&store, owners, &done);
    for n in 0..40_u64 {
        let before = row(&store, "e0").await.next;
        proxy.cut();
        if n.is_multiple_of(4) {
            while row(&store, "e0").await.next == before {
                tokio::task::yield_now().await;
            }
        }
    }
    end.send_replace(true);
    nothing_is_lost(&store, load).await;
}

/// A server of this test's own that syncs, restarted and crashed while owners append.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b35_a_server_that_restarts_and_crashes_under_load_loses_nothing() {
    if Cluster::shared().is_none() {
        return;
    }
    let mut cluster = Cluster::start_durable().expect("a server");
    let options = Postgres::options().patience(Duration::from_secs(60));
    let store = options.connect(cluster.url()).await.expect("a store");
    let owners = owners(&store).await;
    let (end, done) = tokio::sync::watch::channel(false);
    let load = load(&store, owners, &done);
    for n in 0..3 {
        let before = row(&store, "e0").await.next;
        cluster = tokio::task::spawn_blocking(move || {
            if n % 2 == 0 {
                cluster.crash();
            } else {
                cluster.stop();
            }
            cluster.start_again().expect("it starts again");
            cluster
        })
        .await
        .expect("no panic");
        // It goes on by itself.
        while row(&store, "e0").await.next <= before {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    end.send_replace(true);
    let all = nothing_is_lost(&store, load).await;
    assert!(all > 8, "{all} events");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b42_without_a_server_nothing_begins() {
    let Some(cluster) = Cluster::shared() else { return };
    let nobody =
        std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port").local_addr().expect("one").port();
    let options = || Postgres::options().patience(Duration::from_millis(200));
    let url = format!("postgres://loom:secret@127.0.0.1:{nobody}/shop");
    let refused = options().connect(&url).await.expect_err("nobody is there");
    assert!(matches!(refused, ConnectError::Unreachable { .. }), "{refused}");
    let text = refused.to_string();
    assert!(
        text.contains(&format!("127.0.0.1:{nobody} (database `shop`)")) && !text.contains("secret"),
        "{text}"
    );
    let missing = format!("postgres://loom@127.0.0.1:{}/nowhere", cluster.address().1);
    let refused = options().connect(&missing).await.expect_err("no such database");
    assert!(matches!(refused, ConnectError::Refused { .. }), "{refused}");
    for url in ["shop.db", "mysql://loom:secret@localhost/shop", "postgres://loom:secret@localhost:port/shop"]
    {
        let refused = options().connect(url).await.expect_err("no URL");
        assert!(matches!(refused, ConnectError::BadUrl { .. }), "{refused}");
        assert!(!refused.to_string().contains("secret"), "{refused}");
    }
    for schema in ["", "Shop", "my shop", "1st", "a\"; DROP TABLE x; --"] {
        let refused = options().schema(schema).connect(cluster.url()).await.expect_err("no name");
        assert!(matches!(refused, ConnectError::BadSchema { .. }), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_away_for_longer_is_told_of_and_goes_on() {
    if Cluster::shared().is_none() {
        return;
    }
    let mut cluster = Cluster::start().expect("a server");
    let options = Postgres::options().patience(Duration::from_millis(100));
    let store = options.connect(cluster.url()).await.expect("a store");
    let mut owner = Owner::create(&store, "a").await;
    cluster.stop();
    let append = owner.batch(1);
    for _ in 0..2 {
        let refused = store.append(&append).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
        let refused = store.get(&owner.id).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{refused:?}");
    }
    cluster.start_again().expect("it starts again");
    let mut again = store.append(&append).await;
    while matches!(again, Err(StoreError::Unavailable(_))) {
        again = store.append(&append).await;
    }
    assert_eq!(again, Ok(()));
    owner.next += 1;
    owner.append(1).await;
    assert_eq!(log(&store, "a").await.len(), 3);
}

/// Somebody has a transaction open on one execution: it waits, its neighbours do not fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_of_another_session_harms_one_execution() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let store = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.expect("a store");
    let (mut held, mut free) = (Owner::create(&store, "held").await, Owner::create(&store, "free").await);
    let mut other = raw(cluster.url(), &schema).await;
    run(&mut other, "BEGIN; SELECT 1 FROM executions WHERE id = 'held' FOR UPDATE").await;
    let (to_held, to_free) = (held.batch(1), free.batch(1));
    let (refused, appended) = tokio::join!(store.append(&to_held), store.append(&to_free));
    assert!(matches!(&refused, Err(StoreError::Unavailable(text)) if text.contains("lock")), "{refused:?}");
    assert_eq!(appended, Ok(()));
    free.next += 1;
    // A claim passes over it.
    let request = ClaimRequest {
        worker: "w2".into(),
        now: at(5_000),
        until: at(9_000),
        limit: 5,
        execution: None,
        flows: None,
        program: None,
    };
    let claimed = store.claim(&request).await.expect("claim");
    assert_eq!(claimed.iter().map(|claimed| claimed.row.id.as_str()).collect::<Vec<_>>(), ["free"]);
    run(&mut other, "ROLLBACK").await;
    held.append(1).await;
}
