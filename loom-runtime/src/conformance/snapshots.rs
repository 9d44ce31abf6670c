//! What a store owes to snapshots: the newest good one, marks that hold, pruning.
//! Not what is in one: to a store it is text.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Snapshot;

use super::{Shared, fixture::*};
use crate::ports::StoreError;

fn snapshot(name: &str, sequence: u64, body: &str) -> Snapshot {
    Snapshot { execution: id(name), of: "state".into(), sequence, body: body.into() }
}

async fn newest(store: &Shared, name: &str, at_most: u64) -> Option<(u64, String)> {
    let found = store.newest_snapshot(&id(name), "state", at_most).await.expect("an answer");
    found.map(|found| {
        assert_eq!(found.execution, id(name));
        (found.sequence, found.body)
    })
}

pub async fn a_snapshot_reads_back(store: Shared) {
    Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    assert_eq!(newest(&store, "a", u64::MAX).await, None);
    let body = "{\"b\": 1.50, \"a\": \"é\\u0000\"}\n";
    store.put_snapshot(&snapshot("a", 3, body)).await.expect("kept");
    assert_eq!(newest(&store, "a", u64::MAX).await, Some((3, body.to_owned())));
    assert_eq!(newest(&store, "b", u64::MAX).await, None);
    assert_eq!(newest(&store, "nobody", u64::MAX).await, None);
    let long = "é".repeat(1_000_000);
    store.put_snapshot(&snapshot("b", 4, &long)).await.expect("kept");
    assert_eq!(newest(&store, "b", u64::MAX).await, Some((4, long)));
    let unknown = store.put_snapshot(&snapshot("nobody", 1, "{}")).await;
    assert_eq!(unknown, Err(StoreError::Unknown(id("nobody"))));
}

pub async fn the_newest_at_or_before_a_position_is_found(store: Shared) {
    Owner::create(&store, "a").await;
    for sequence in [8, 2, 5] {
        store.put_snapshot(&snapshot("a", sequence, &format!("{sequence}"))).await.expect("kept");
    }
    for (at_most, found) in [(1, None), (2, Some(2)), (4, Some(2)), (5, Some(5)), (7, Some(5)), (8, Some(8))]
    {
        let expected = found.map(|sequence: u64| (sequence, sequence.to_string()));
        assert_eq!(newest(&store, "a", at_most).await, expected, "{at_most}");
    }
    store.put_snapshot(&snapshot("a", 5, "anew")).await.expect("replaced");
    assert_eq!(newest(&store, "a", 5).await, Some((5, "anew".to_owned())));
}

pub async fn b81_a_bad_snapshot_is_never_picked_again(store: Shared) {
    Owner::create(&store, "a").await;
    for sequence in [2, 5] {
        store.put_snapshot(&snapshot("a", sequence, "good")).await.expect("kept");
    }
    store.mark_snapshot_bad(&id("a"), "state", 5).await.expect("marked");
    store.mark_snapshot_bad(&id("a"), "state", 5).await.expect("marked before");
    store.mark_snapshot_bad(&id("a"), "state", 4).await.expect("there is none");
    store.mark_snapshot_bad(&id("nobody"), "state", 4).await.expect("there is none");
    assert_eq!(newest(&store, "a", u64::MAX).await, Some((2, "good".to_owned())));
    store.put_snapshot(&snapshot("a", 5, "again")).await.expect("not an error");
    assert_eq!(newest(&store, "a", u64::MAX).await, Some((2, "good".to_owned())));
    store.put_snapshot(&snapshot("a", 6, "later")).await.expect("kept");
    assert_eq!(newest(&store, "a", u64::MAX).await, Some((6, "later".to_owned())));
    store.put_snapshot(&snapshot("a", 4, "no mark")).await.expect("kept");
    assert_eq!(newest(&store, "a", 4).await, Some((4, "no mark".to_owned())));
}

pub async fn pruning_keeps_the_newest(store: Shared) {
    for name in ["a", "b"] {
        Owner::create(&store, name).await;
        for sequence in 1..=6 {
            store.put_snapshot(&snapshot(name, sequence, "s")).await.expect("kept");
        }
    }
    store.mark_snapshot_bad(&id("a"), "state", 6).await.expect("marked");
    store.prune_snapshots(&id("a"), "state", 2).await.expect("pruned");
    assert_eq!(newest(&store, "a", u64::MAX).await.map(|found| found.0), Some(5));
    assert_eq!(newest(&store, "a", 4).await.map(|found| found.0), Some(4));
    assert_eq!(newest(&store, "a", 3).await, None);
    store.put_snapshot(&snapshot("a", 6, "again")).await.expect("not an error");
    assert_eq!(newest(&store, "a", u64::MAX).await.map(|found| found.0), Some(5), "the mark stays");
    assert_eq!(newest(&store, "b", 3).await.map(|found| found.0), Some(3));
    store.prune_snapshots(&id("b"), "state", 0).await.expect("pruned");
    assert_eq!(newest(&store, "b", u64::MAX).await, None);
    store.prune_snapshots(&id("nobody"), "state", 1).await.expect("there is nothing");
}

pub async fn snapshots_of_other_things_are_apart(store: Shared) {
    Owner::create(&store, "a").await;
    let of = |of: &str, sequence, body: &str| Snapshot { of: of.into(), ..snapshot("a", sequence, body) };
    for what in ["orders", "ORDERS", ""] {
        store.put_snapshot(&of(what, 3, what)).await.expect("kept");
        store.put_snapshot(&of(what, 2, what)).await.expect("kept");
    }
    let newest = async |what: &str| {
        let found = store.newest_snapshot(&id("a"), what, u64::MAX).await.expect("an answer");
        found.map(|found| (found.of, found.sequence, found.body))
    };
    let kept = |what: &str, sequence| Some((what.to_owned(), sequence, what.to_owned()));
    assert_eq!(newest("state").await, None);
    for what in ["orders", "ORDERS", ""] {
        assert_eq!(newest(what).await, kept(what, 3));
    }
    store.mark_snapshot_bad(&id("a"), "orders", 3).await.expect("marked");
    store.prune_snapshots(&id("a"), "ORDERS", 0).await.expect("pruned");
    assert_eq!(newest("orders").await, kept("orders", 2));
    assert_eq!((newest("ORDERS").await, newest("").await), (None, kept("", 3)));
}
