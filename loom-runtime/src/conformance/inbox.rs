//! What a store owes to inboxes: order, keys, consumption, and that no item is lost to a close.
//! Not under concurrency: those cases are in `races`.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{Append, Close, InboxItem, NewExecution, NewItem, Posted, StoreError};

async fn pending(store: &Shared, name: &str, after: u64) -> Vec<u64> {
    store.pending(&id(name), after).await.expect("pending").iter().map(|item| item.id).collect()
}

pub async fn items_wait_in_order(store: Shared) {
    Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let first = post(&store, "a", Some("k")).await;
    let elsewhere = post(&store, "b", Some("k")).await;
    let exact = NewItem { kind: "Kind".into(), ..item("a", None, " {\"b\": 1.50, \"a\": \"é\"}\n") };
    let Ok(Posted::Accepted(second)) = store.post(exact.clone()).await else { panic!("not accepted") };
    assert!(0 < first && first < elsewhere && elsewhere < second, "positions grow over all executions");
    let items = store.pending(&id("a"), 0).await.expect("pending");
    let stored = |id, item: NewItem| InboxItem {
        id,
        key: item.key,
        kind: item.kind,
        payload: item.payload,
        at: item.at,
    };
    assert_eq!(items, [stored(first, item("a", Some("k"), "1")), stored(second, exact)], "byte for byte");
    assert_eq!(pending(&store, "a", first).await, [second]);
    assert!(pending(&store, "a", second).await.is_empty());
    assert!(pending(&store, "nobody", 0).await.is_empty());
}

pub async fn b49_items_posted_before_the_wait_are_kept(store: Shared) {
    Owner::of(&store, unowned("a", 7)).await;
    let early = post(&store, "a", Some("gate")).await;
    let mut owner = Owner::claimed(&store, &claimed(&store, "w1", 10).await[0]);
    assert_eq!(pending(&store, "a", 0).await, [early]);
    owner.close(Status::Suspended, None, early).await;
    assert_eq!(pending(&store, "a", 0).await, [early], "seen is not consumed");
}

pub async fn a_key_is_used_once(store: Shared) {
    Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let first = post(&store, "a", Some("k")).await;
    let again = store.post(item("a", Some("k"), "1")).await;
    assert_eq!(again, Ok(Posted::Duplicate { same: true }));
    let later = NewItem { at: at(99), ..item("a", Some("k"), "1") };
    assert_eq!(store.post(later).await, Ok(Posted::Duplicate { same: true }), "the time is not the content");
    assert_eq!(store.post(item("a", Some("k"), "2")).await, Ok(Posted::Duplicate { same: false }));
    let other_kind = NewItem { kind: "cancel".into(), ..item("a", Some("k"), "1") };
    assert_eq!(store.post(other_kind).await, Ok(Posted::Duplicate { same: false }));
    assert_eq!(pending(&store, "a", 0).await, [first]);
    post(&store, "b", Some("k")).await;
}

pub async fn a_key_stays_used_after_its_item_was_consumed(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let first = post(&store, "a", Some("k")).await;
    owner.send(&Append { consumed: vec![first], ..owner.batch(1) }).await.expect("accepted");
    assert_eq!(store.post(item("a", Some("k"), "1")).await, Ok(Posted::Duplicate { same: true }));
    assert_eq!(store.post(item("a", Some("k"), "2")).await, Ok(Posted::Duplicate { same: false }));
    assert!(pending(&store, "a", 0).await.is_empty());
}

pub async fn keys_are_compared_exactly(store: Shared) {
    Owner::create(&store, "a").await;
    let long = "k".repeat(1_000);
    let (long_1, long_2) = (format!("{long}1"), format!("{long}2"));
    let keys = [
        &long_1, &long_2, "", "k", "K", "k ", " k", "k\u{0}", "k\u{0}x", "é", "e\u{301}", "1", "01", "null",
        "k\"'", "ß", "ss",
    ];
    for key in keys {
        post(&store, "a", Some(key)).await;
    }
    for key in keys {
        assert_eq!(
            store.post(item("a", Some(key), "1")).await,
            Ok(Posted::Duplicate { same: true }),
            "{key:?}"
        );
    }
    let stored = store.pending(&id("a"), 0).await.expect("pending");
    assert_eq!(stored.iter().filter_map(|item| item.key.as_deref()).collect::<Vec<_>>(), keys);
}

pub async fn posts_without_a_key_never_collide(store: Shared) {
    Owner::create(&store, "a").await;
    let ids = [post(&store, "a", None).await, post(&store, "a", None).await, post(&store, "a", None).await];
    assert_eq!(pending(&store, "a", 0).await, ids);
}

pub async fn b54_an_unknown_execution_takes_no_post(store: Shared) {
    assert_eq!(store.post(item("a", Some("k"), "1")).await, Err(StoreError::Unknown(id("a"))));
    // And nothing of it is left for an execution that comes later.
    Owner::create(&store, "a").await;
    assert!(pending(&store, "a", 0).await.is_empty());
    post(&store, "a", Some("k")).await;
}

pub async fn an_ended_execution_takes_no_post(store: Shared) {
    for status in [Status::Completed, Status::Failed, Status::Cancelled] {
        Owner::create(&store, status.name()).await.close(status, None, 0).await;
        for key in [None, Some("k")] {
            let refused = store.post(item(status.name(), key, "1")).await;
            assert_eq!(refused, Err(StoreError::Terminal { execution: id(status.name()), status }));
        }
        assert!(pending(&store, status.name(), 0).await.is_empty());
    }
}

pub async fn a_used_key_is_recognised_after_the_end(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let answer = post(&store, "a", Some("gate")).await;
    owner.close(Status::Completed, None, answer).await;
    assert_eq!(store.post(item("a", Some("gate"), "1")).await, Ok(Posted::Duplicate { same: true }));
    assert_eq!(store.post(item("a", Some("gate"), "2")).await, Ok(Posted::Duplicate { same: false }));
}

pub async fn b45_consumption_and_events_are_one_transition(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let first = post(&store, "a", None).await;
    let second = post(&store, "a", None).await;
    // A refused transition consumes nothing.
    let late = Owner { next: 9, ..owner.clone() };
    store.append(&Append { consumed: vec![first], ..late.batch(1) }).await.expect_err("refused");
    assert_eq!(pending(&store, "a", 0).await, [first, second]);
    let transition = Append { consumed: vec![first], ..owner.batch(1) };
    owner.send(&transition).await.expect("accepted");
    assert_eq!(pending(&store, "a", 0).await, [second]);
    assert_eq!(log(&store, "a").await.len(), 2);
    // A retry consumes nothing more, and what is consumed twice stays consumed.
    store.append(&transition).await.expect("a retry");
    owner.send(&Append { consumed: vec![first, second], ..owner.batch(1) }).await.expect("accepted");
    assert!(pending(&store, "a", 0).await.is_empty());
}

pub async fn consumption_is_of_the_own_inbox_only(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let foreign = post(&store, "b", None).await;
    owner.send(&Append { consumed: vec![foreign, 999], ..owner.batch(1) }).await.expect("accepted");
    assert_eq!(pending(&store, "b", 0).await, [foreign]);
}

pub async fn an_unread_item_refuses_a_close(store: Shared) {
    for status in [Status::Suspended, Status::Parked, Status::Completed, Status::Failed, Status::Cancelled] {
        let mut owner = Owner::create(&store, status.name()).await;
        let read = post(&store, status.name(), None).await;
        let unread = post(&store, status.name(), None).await;
        let close = |seen| {
            let close = Close { status, wake_at: None, seen, unfit: None };
            Append { close: Some(close), ..owner.batch(1) }
        };
        for seen in [0, read] {
            let refused = store.append(&close(seen)).await;
            assert_eq!(refused, Err(StoreError::InboxMoved(id(status.name()))), "{status}");
        }
        let read_all = close(unread);
        owner.send(&read_all).await.expect("everything is read");
        assert_eq!(row(&store, status.name()).await.status, status);
    }
    // Another execution's item is nobody else's business.
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    post(&store, "b", None).await;
    owner.close(Status::Completed, None, 0).await;
}

pub async fn what_a_close_consumes_does_not_refuse_it(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let items = [post(&store, "a", None).await, post(&store, "a", None).await];
    owner.send(&Append { consumed: vec![items[0]], ..owner.batch(1) }).await.expect("accepted");
    let close = Append { consumed: vec![items[1]], ..owner.closing(Status::Suspended) };
    assert_eq!(owner.send(&close).await, Ok(()), "both are in the log");
    assert!(claimed(&store, "w2", 10).await.is_empty(), "and neither wakes it");
}

pub async fn owners_see_who_waits(store: Shared) {
    let mut owner = Owner::create(&store, "b").await;
    Owner::create(&store, "a").await;
    Owner::create(&store, "empty").await;
    Owner::of(&store, NewExecution { claim: Some(("w2".into(), LEASE)), ..new("other") }).await;
    Owner::of(&store, unowned("unowned", 7)).await;
    Owner::create(&store, "closed").await.close(Status::Suspended, None, 0).await;
    let item = post(&store, "b", None).await;
    for name in ["a", "other", "unowned", "closed"] {
        post(&store, name, None).await;
    }
    let waiting = store.inbox_waiting(&"w1".into()).await.expect("waiting");
    assert_eq!(waiting, [id("a"), id("b")]);
    assert_eq!(store.inbox_waiting(&"w2".into()).await, Ok(vec![id("other")]));
    assert_eq!(store.inbox_waiting(&"w3".into()).await, Ok(vec![]));
    owner.send(&Append { consumed: vec![item], ..owner.batch(1) }).await.expect("accepted");
    assert_eq!(store.inbox_waiting(&"w1".into()).await, Ok(vec![id("a")]));
}
