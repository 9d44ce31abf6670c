//! A primary and a real streaming standby as one store: who is asked what, and what happens when the standby lags or is gone.
//! Not a fail-over.

mod fixture;

use std::time::Duration;

use fixture::*;
use loom_runtime::ports::{
    Append, Caveat, ClaimRequest, Close, EventStore, GateIndex, Inbox, LeaseStore, ListFilter, StoreError,
};
use postgres::{Postgres, Replica, cluster::Cluster};

/// A primary with one store, and its standby.
struct Two {
    cluster: &'static Cluster,
    standby: Cluster,
    schema: String,
    primary: Postgres,
}

impl Two {
    async fn start() -> Option<Self> {
        let cluster = Cluster::shared()?;
        let schema = cluster.fresh();
        let primary = connect(cluster, &schema).await;
        let standby = cluster.standby().expect("a standby");
        Some(Self { cluster, standby, schema, primary })
    }

    async fn replica(&self, most: Duration) -> Replica {
        let standby = connect(&self.standby, &self.schema).await;
        Replica::of(connect(self.cluster, &self.schema).await, standby).at_most_behind(most)
    }

    /// What is done on a server beside the stores.
    async fn on(&self, cluster: &Cluster, sql: &str) {
        run(&mut raw(cluster.url(), &self.schema).await, sql).await;
    }

    /// Waits until the standby has all that the primary has now.
    async fn catches_up(&self) {
        use sqlx::Row;
        let (mut here, mut there) =
            (raw(self.cluster.url(), &self.schema).await, raw(self.standby.url(), &self.schema).await);
        let position =
            sqlx::query("SELECT pg_current_wal_lsn()::text").fetch_one(&mut here).await.expect("told");
        let position: String = position.get(0);
        loop {
            let has = "SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn";
            let has = sqlx::query(has).bind(&position).fetch_one(&mut there).await.expect("told");
            if has.get(0) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn connect(cluster: &Cluster, schema: &str) -> Postgres {
    let options = Postgres::options().schema(schema).patience(Duration::from_millis(500));
    options.connect(cluster.url()).await.expect("a store")
}

/// Until the standby is fit: it has to have caught up with what was seen of the primary.
async fn is_fit(replica: &Replica) {
    while replica.list(&ListFilter::default()).await.is_err() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const LONG: Duration = Duration::from_secs(3_600);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_only_looks_is_answered_by_the_standby() {
    let Some(two) = Two::start().await else { return };
    let mut owner = Owner::create(&two.primary, "a").await;
    two.catches_up().await;
    let replica = two.replica(LONG).await.or_fail();
    is_fit(&replica).await;
    // What the standby has not replayed shows who answers.
    two.on(&two.standby, "SELECT pg_wal_replay_pause()").await;
    owner.append(2).await;
    two.primary.post(item("a", Some("k"), "1")).await.expect("posted");
    Owner::create(&two.primary, "b").await;
    assert_eq!(replica.get(&id("a")).await.expect("read").expect("there").next, 1, "a row");
    assert_eq!(replica.read(&id("a"), 0, 9).await.expect("read").len(), 1, "a log");
    assert_eq!(replica.list(&ListFilter::default()).await.expect("listed").len(), 1, "a list");
    assert!(replica.gates(None).await.expect("read").is_empty());
    assert!(replica.behind().await.is_some());
    // What it does not know at all is asked of the primary, and so is all that decides.
    assert!(replica.get(&id("b")).await.expect("read").is_some());
    assert_eq!(replica.read(&id("b"), 0, 9).await.expect("read").len(), 1);
    assert_eq!(replica.pending(&id("a"), 0).await.expect("pending").len(), 1);
    assert_eq!(replica.inbox_waiting(&"worker".into()).await.expect("asked"), [id("a")]);
    assert_eq!(replica.renew(&"worker".into(), at(900)).await.expect("renewed").len(), 2);
    two.on(&two.standby, "SELECT pg_wal_replay_resume()").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_sees_what_it_did() {
    let Some(two) = Two::start().await else { return };
    let replica = two.replica(LONG).await;
    is_fit(&replica).await;
    two.on(&two.standby, "SELECT pg_wal_replay_pause()").await;
    // Started, listed; claimed, replayed; appended, read.
    replica.create(new("a", "w")).await.expect("created");
    assert_eq!(replica.list(&ListFilter::default()).await.expect("listed").len(), 1);
    let unowned = loom_runtime::ports::NewExecution { claim: None, ..new("b", "w") };
    two.primary.create(unowned).await.expect("created");
    let claim = ClaimRequest {
        worker: "w".into(),
        now: at(100),
        until: at(9_000),
        limit: 9,
        execution: None,
        flows: None,
        program: None,
    };
    let claimed = replica.claim(&claim).await.expect("claimed");
    assert_eq!(claimed.len(), 1);
    let mut owner = Owner { store: two.primary.clone(), id: id("b"), fence: claimed[0].fence, next: 1 };
    // Even what somebody else has brought into its log.
    owner.append(3).await;
    assert_eq!(replica.read(&id("b"), 0, 9).await.expect("read").len(), 4);
    let close = Close { status: loom_runtime::Status::Completed, wake_at: None, seen: 0, unfit: None };
    replica.append(&Append { close: Some(close), ..owner.batch(1) }).await.expect("closed");
    assert_eq!(replica.get(&id("b")).await.expect("read").expect("there").next, 5);
    two.on(&two.standby, "SELECT pg_wal_replay_resume()").await;
    two.catches_up().await;
    assert_eq!(replica.read(&id("b"), 0, 9).await.expect("read").len(), 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_lags_is_left_alone() {
    let Some(two) = Two::start().await else { return };
    let mut owner = Owner::create(&two.primary, "a").await;
    let (falls_back, fails) =
        (two.replica(Duration::ZERO).await, two.replica(Duration::ZERO).await.or_fail());
    is_fit(&fails).await;
    two.on(&two.standby, "SELECT pg_wal_replay_pause()").await;
    owner.append(2).await;
    let said = loop {
        match fails.get(&id("a")).await {
            Err(StoreError::Unavailable(said)) => break said,
            Ok(_) => tokio::time::sleep(Duration::from_millis(20)).await,
            other => panic!("{other:?}"),
        }
    };
    assert!(said.starts_with("the standby is ") && said.ends_with(" behind, and may be 0ns"), "{said}");
    loop {
        let next = falls_back.get(&id("a")).await.expect("read").expect("there").next;
        if next == 3 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Once it has caught up it is asked again.
    two.on(&two.standby, "SELECT pg_wal_replay_resume()").await;
    is_fit(&fails).await;
    assert_eq!(fails.get(&id("a")).await.expect("read").expect("there").next, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_is_gone_is_done_without() {
    let Some(mut two) = Two::start().await else { return };
    Owner::create(&two.primary, "a").await;
    let (falls_back, fails) = (two.replica(LONG).await, two.replica(LONG).await.or_fail());
    is_fit(&fails).await;
    two.standby.stop();
    assert_eq!(falls_back.list(&ListFilter::default()).await.expect("listed").len(), 1);
    let refused = loop {
        // What was measured before it went holds for a moment; then the question itself fails.
        if let Err(refused) = fails.list(&ListFilter::default()).await {
            break refused.to_string();
        }
    };
    assert!(refused.starts_with("the store is unavailable: the standby"), "{refused}");
    two.standby.start_again().expect("it starts again");
    is_fit(&fails).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_starts_while_its_standby_is_down() {
    let Some(mut two) = Two::start().await else { return };
    Owner::create(&two.primary, "a").await;
    two.standby.stop();
    let standby = || {
        let options = Postgres::options().schema(two.schema.clone()).patience(Duration::from_millis(500));
        options.connect_lazy(two.standby.url()).expect("a URL")
    };
    let falls_back = Replica::of(two.primary.clone(), standby());
    let fails = Replica::of(two.primary.clone(), standby()).at_most_behind(LONG).or_fail();
    assert_eq!(falls_back.list(&ListFilter::default()).await.expect("the primary's").len(), 1);
    fails.list(&ListFilter::default()).await.expect_err("it is down");
    two.standby.start_again().expect("it starts");
    is_fit(&fails).await;
    assert_eq!(fails.list(&ListFilter::default()).await.expect("the standby's").len(), 1);
    let refused = Postgres::connect_lazy("mysql://db").expect_err("no URL of ours");
    assert!(matches!(refused, postgres::ConnectError::BadUrl { .. }), "{refused}");
}

#[loom::flow]
async fn seven(ctx: loom::Ctx) -> loom::Result<u32> {
    Ok(ctx.decide("seven", || 7).await)
}

/// A worker on a standby, or on the primary of before, gets nothing done: it has to know, and to go on once it is promoted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_says_that_it_takes_no_writes() {
    let Some(two) = Two::start().await else { return };
    assert_eq!(two.primary.caveats().await, Ok(vec![]));
    let app = loom::App::builder().store(two.primary.clone()).build().expect("an app");
    let input = loom_runtime::kernel::Payload::encode(&()).expect("JSON");
    app.start_dynamic("seven", input).id("a").detached().await.expect("started");
    two.catches_up().await;
    let standby = connect(&two.standby, &two.schema).await;
    let why = "it is a standby".into();
    assert_eq!(standby.caveats().await, Ok(vec![Caveat::ReadOnly { why }]));
    let worker = loom::App::builder().store(standby.clone()).build().expect("an app");
    worker.work();
    two.on(&two.standby, "SELECT pg_promote()").await;
    assert_eq!(worker.handle::<seven>(&id("a")).result().await.expect("a result"), 7);
    assert_eq!(standby.caveats().await, Ok(vec![]));
    worker.shutdown(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_promoted_is_no_standby() {
    let Some(two) = Two::start().await else { return };
    let fails = two.replica(LONG).await.or_fail();
    is_fit(&fails).await;
    two.on(&two.standby, "SELECT pg_promote()").await;
    let said = loop {
        if let Err(StoreError::Unavailable(said)) = fails.list(&ListFilter::default()).await {
            break said;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert!(said.contains("promoted"), "{said}");
}

mod conformance {
    use super::*;

    /// One standby for all of them: each case has its own schema.
    async fn open() -> Option<Replica> {
        static STANDBY: std::sync::OnceLock<Option<Cluster>> = std::sync::OnceLock::new();
        let cluster = Cluster::shared()?;
        let standby = STANDBY.get_or_init(|| Some(cluster.standby().expect("a standby"))).as_ref()?;
        let schema = cluster.fresh();
        let primary = connect(cluster, &schema).await;
        // Its tables have to be there before it can be connected to.
        let options = || Postgres::options().schema(schema.clone()).patience(Duration::from_millis(100));
        let standby = loop {
            match options().connect(standby.url()).await {
                Ok(standby) => break standby,
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        };
        Some(Replica::of(primary, standby))
    }

    loom_runtime::store_conformance!(async || open().await);
}
