//! One of two databases is away: what is in the other goes on, and keeps its leases.
//! Not moves, which wait for both.

mod fixture;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use fixture::{refusing::Refusing, *};
use loom::{App, Registry, Res, Status, WorkerOptions, prelude::*};
use loom_runtime::ports::{EventStore, LeaseStore, ListFilter, Renewal, StoreError};
use shards::Shards;
use tokio::sync::Semaphore;

/// Two databases, each with half of the slots.
async fn two() -> (Refusing, Refusing, Shards) {
    let (a, b) = (Refusing::default(), Refusing::default());
    let store = spread([("a", a.clone()), ("b", b.clone())]).await;
    (a, b, store)
}

/// An id that belongs to this database.
async fn id_in(store: &Shards, database: &str) -> String {
    for n in 0.. {
        let id = format!("order-{n}");
        if store.home_of(&id).await.expect("told") == database {
            return id;
        }
    }
    unreachable!("each has half of them")
}

fn names(error: &StoreError) {
    assert!(matches!(error, StoreError::Unavailable(why) if why == "database `a`: it is away"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_where_they_can_be() {
    let (a, _, store) = two().await;
    let [in_a, in_b] = [id_in(&store, "a").await, id_in(&store, "b").await];
    for name in [&in_a, &in_b] {
        Owner::create(&store, new(name)).await;
    }
    let worker = "w1".to_owned();
    let until = async |name: &str| {
        store.get(&id(name)).await.expect("told").expect("there").lease.expect("held").until
    };
    let all = store.renew_what_answers(&worker, at(2_000)).await.expect("renewed");
    assert_eq!((all.held.len(), all.missing), (2, None));

    a.away(true);
    let Renewal { held, missing } = store.renew_what_answers(&worker, at(3_000)).await.expect("renewed");
    assert_eq!(held, [(id(&in_b), 1)], "nothing is known of the other");
    names(&missing.expect("one is away"));
    assert_eq!(until(&in_b).await, at(3_000));
    // Whoever wants all or nothing is told so, and what can be renewed is.
    names(&store.renew(&worker, at(4_000)).await.expect_err("one is away"));
    assert_eq!(until(&in_b).await, at(4_000));
    assert_eq!(store.inbox_waiting(&worker).await, Ok(vec![]));
    names(&store.list(&ListFilter::default()).await.expect_err("one is away"));

    // It is back, and its lease has run out: this worker must not be given its own.
    a.away(false);
    assert_eq!(store.claim(&claim("w1", 2_500)).await.map(|claimed| claimed.len()), Ok(0));
    assert_eq!(store.renew(&worker, at(5_000)).await.map(|held| held.len()), Ok(2));
    assert_eq!(until(&in_a).await, at(5_000));
    let due = store.claim(&claim("w1", 5_500)).await.expect("claimed");
    assert_eq!(due.len(), 2, "both have run out now, and both are asked");
    // One that says nothing at all is not waited for.
    a.silent(true);
    let Renewal { held, missing } = store.renew_what_answers(&worker, at(9_000)).await.expect("renewed");
    assert_eq!(held.len(), 1);
    assert!(missing.expect("one says nothing").to_string().contains("database `a`"));
    assert_eq!(until(&in_b).await, at(9_000));
    // With nobody there it is an error, and not an empty answer.
    let (a, b, store) = two().await;
    a.away(true);
    b.away(true);
    names(&store.renew_what_answers(&worker, at(2_000)).await.expect_err("both are away"));
}

/// What the steps do, and when they may.
#[derive(Clone)]
struct Shop {
    doors: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    paid: Arc<AtomicUsize>,
}

#[step]
async fn wait_at_the_door(shop: Res<Shop>) -> loom::Result<()> {
    shop.waiting.fetch_add(1, SeqCst);
    shop.doors.acquire().await?.forget();
    Ok(())
}

#[step(at_most_once)]
async fn pay(shop: Res<Shop>) -> loom::Result<()> {
    shop.paid.fetch_add(1, SeqCst);
    Ok(())
}

#[flow]
async fn visit(ctx: Ctx) -> loom::Result<()> {
    ctx.run(wait_at_the_door()).await?;
    ctx.run(pay()).await
}

async fn until(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// For longer than a lease: what runs in the other goes on to steps that must not happen twice, and nobody takes it over.
#[tokio::test(start_paused = true)]
async fn what_is_elsewhere_goes_on_while_a_database_is_away() {
    let case = async {
        let (a, b, store) = two().await;
        let shop = Shop { doors: Arc::new(Semaphore::new(0)), waiting: Arc::default(), paid: Arc::default() };
        let entries = || {
            Registry::of([
                loom::Entry::flow::<visit>(),
                loom::Entry::step::<wait_at_the_door>(),
                loom::Entry::step::<pay>(),
            ])
        };
        let app = |store: Shards| {
            let builder = App::builder().store(store).registry(entries()).provide(shop.clone());
            builder.runtime_clock().build().expect("an app")
        };
        let one = app(store.clone());
        let [in_a, in_b] = [id_in(&store, "a").await, id_in(&store, "b").await];
        let first = one.start(visit()).id(in_a.as_str()).await.expect("started");
        let second = one.start(visit()).id(in_b.as_str()).await.expect("started");
        until(|| shop.waiting.load(SeqCst) == 2).await;
        // Somebody who would take over what nobody renews.
        let other = app(Shards::open([("a", a.clone()), ("b", b.clone())]).await.expect("a fleet"));
        other.work();

        a.away(true);
        tokio::time::sleep(WorkerOptions::default().lease * 4).await;
        shop.doors.add_permits(2);
        second.result().await.expect("it goes on");
        assert_eq!(shop.paid.load(SeqCst), 1, "what is in the other waits for its lease");
        let row = one.row(&id(&in_b)).await.expect("told");
        assert_eq!((row.status, row.takeovers), (Status::Completed, 0));
        // What is in the other is not given up either: its step has gone through the door, too.
        until(|| shop.doors.available_permits() == 0).await;
        assert_eq!(shop.waiting.load(SeqCst), 2, "nothing ran twice");

        a.away(false);
        shop.doors.add_permits(9);
        first.result().await.expect("so does it");
        assert_eq!(shop.paid.load(SeqCst), 2, "once each");
    };
    tokio::time::timeout(Duration::from_secs(600), case).await.expect("this hangs");
}
