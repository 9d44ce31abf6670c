//! One of several databases that is opened alone: it says what it is, and refuses to speak of what is elsewhere.
//! Not writes: those are refused in `moving.rs`.

mod fixture;

use fixture::*;
use loom_runtime::ports::{Caveat, EventStore, ListFilter, Standing, StoreError};

async fn alone(pair: Pair) {
    let store = open(&pair).await;
    let [(_, a), (_, b)] = &pair;
    for name in ["x", "y", "z"] {
        Owner::create(&store, new(name)).await;
    }
    assert_eq!(a.caveats().await, Ok(vec![]), "it has everything");
    assert_eq!(b.caveats().await, Ok(vec![Caveat::Part { name: "b".into(), slots: 0 }]));
    assert_eq!(b.get(&id("x")).await, Err(StoreError::Elsewhere(id("x"))));
    assert_eq!(b.get(&id("nothing")).await, Err(StoreError::Elsewhere(id("nothing"))), "nobody knows");
    store.drain("a").await.expect("drained");
    assert_eq!(a.caveats().await, Ok(vec![Caveat::Part { name: "a".into(), slots: 0 }]));
    let told = a.caveats().await.expect("told")[0].to_string();
    assert!(told.starts_with("this is database `a`, one of several, with 0 of 1024 slots"), "{told}");
    assert_eq!(a.list(&ListFilter::default()).await, Ok(vec![]));
    assert_eq!(a.get(&id("x")).await, Err(StoreError::Elsewhere(id("x"))));
    assert_eq!(a.read(&id("x"), 0, 9).await, Err(StoreError::Elsewhere(id("x"))));
    assert_eq!(b.read(&id("x"), 0, 9).await.expect("read").len(), 1);
    assert_eq!(b.read(&id("nothing"), 0, 9).await, Err(StoreError::Unknown(id("nothing"))));
    // All of them together have no caveat, and what is nowhere is unknown.
    assert_eq!(store.caveats().await, Ok(vec![]));
    assert_eq!(store.get(&id("nothing")).await, Ok(None));
    assert_eq!(store.read(&id("x"), 0, 9).await.expect("read").len(), 1);

    // What is frozen is read; what a copy has left behind is not.
    let slot = loom_runtime::ports::Slot::of("x");
    let here = b.place(slot).await.expect("asked").expect("a place");
    let leaving = loom_runtime::ports::Place { standing: Standing::Leaving, ..here.clone() };
    let away = loom_runtime::ports::Place { standing: Standing::Away, ..here.clone() };
    assert_eq!(b.set_places(&[(slot, here, leaving.clone())]).await, Ok(true));
    assert!(b.get(&id("x")).await.expect("read").is_some());
    assert_eq!(b.set_places(&[(slot, leaving, away)]).await, Ok(true));
    assert_eq!(b.get(&id("x")).await, Err(StoreError::Elsewhere(id("x"))));
    assert_eq!(b.read(&id("x"), 0, 9).await, Err(StoreError::Elsewhere(id("x"))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_in_memory_says_so() {
    alone(pair(memories())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_file_says_so() {
    alone(pair(files().await)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_schema_says_so() {
    let Some(schemas) = schemas().await else { return };
    alone(pair(schemas)).await;
}
