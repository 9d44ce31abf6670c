//! What a store owes to early items: they wait for an execution, and are there when it is.
//! Not the inbox of an execution that exists.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{
    Append, Created, InboxId, InboxItem, ListFilter, NewExecution, NewItem, Posted, StoreError,
};

fn early(name: &str, key: Option<&str>, payload: &str) -> NewItem {
    NewItem { early: true, ..item(name, key, payload) }
}

async fn kept(store: &Shared, name: &str, key: Option<&str>, payload: &str) -> InboxId {
    match store.post(early(name, key, payload)).await {
        Ok(Posted::Accepted(id)) => id,
        other => panic!("the item was not kept: {other:?}"),
    }
}

async fn pending(store: &Shared, name: &str) -> Vec<InboxItem> {
    store.pending(&id(name), 0).await.expect("pending")
}

pub async fn b54_early_items_are_there_at_the_creation(store: Shared) {
    let first = kept(&store, "a", Some("k"), r#"{"b":1,"a":"é"}"#).await;
    let second = kept(&store, "a", None, "2").await;
    let elsewhere = kept(&store, "b", Some("k"), "3").await;
    let third = kept(&store, "a", None, "2").await;
    // Nobody sees them before, and they make no execution.
    assert!(pending(&store, "a").await.is_empty());
    assert_eq!(store.get(&id("a")).await, Ok(None));
    assert_eq!(store.list(&ListFilter::default()).await, Ok(vec![]));
    assert!(claimed(&store, "w2", 10).await.is_empty());
    let mut owner = Owner::create(&store, "a").await;
    let expected = |id, key: Option<&str>, payload: &str| InboxItem {
        id,
        key: key.map(Into::into),
        kind: "message".into(),
        payload: payload.into(),
        at: at(50),
    };
    let all = [
        expected(first, Some("k"), r#"{"b":1,"a":"é"}"#),
        expected(second, None, "2"),
        expected(third, None, "2"),
    ];
    assert_eq!(pending(&store, "a").await, all, "as they came");
    assert_eq!(store.inbox_waiting(&"w1".into()).await, Ok(vec![id("a")]));
    // From here they are like any other.
    let refused = store.append(&owner.closing(Status::Suspended)).await;
    assert_eq!(refused, Err(StoreError::InboxMoved(id("a"))));
    owner.send(&Append { consumed: vec![first, third], ..owner.batch(1) }).await.expect("accepted");
    assert_eq!(pending(&store, "a").await, all[1..2]);
    Owner::of(&store, unowned("b", 7)).await;
    assert_eq!(pending(&store, "b").await, [expected(elsewhere, Some("k"), "3")]);
}

pub async fn early_items_come_before_what_is_posted_later(store: Shared) {
    for round in 0..3 {
        let name = format!("e{round}");
        let mut ids = vec![kept(&store, &name, None, "1").await, kept(&store, &name, None, "2").await];
        kept(&store, "never", None, "3").await;
        Owner::create(&store, &name).await;
        ids.push(post(&store, &name, None).await);
        assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
        let found: Vec<_> = pending(&store, &name).await.iter().map(|item| item.id).collect();
        assert_eq!(found, ids);
    }
}

pub async fn an_early_key_is_used_once(store: Shared) {
    for key in ["", "k", "K", "k ", "k\u{0}", "k\u{0}x", "é", "e\u{301}", "1", "01", "k\"'"] {
        kept(&store, "a", Some(key), "1").await;
        assert_eq!(store.post(early("a", Some(key), "1")).await, Ok(Posted::Duplicate { same: true }));
        assert_eq!(store.post(early("a", Some(key), "2")).await, Ok(Posted::Duplicate { same: false }));
        let other_kind = NewItem { kind: "cancel".into(), ..early("a", Some(key), "1") };
        assert_eq!(store.post(other_kind).await, Ok(Posted::Duplicate { same: false }));
    }
    kept(&store, "b", Some("k"), "1").await;
    Owner::create(&store, "a").await;
    assert_eq!(pending(&store, "a").await.len(), 11);
}

pub async fn an_early_key_counts_in_the_inbox(store: Shared) {
    let first = kept(&store, "a", Some("k"), "1").await;
    let mut owner = Owner::create(&store, "a").await;
    for send in [item, early] {
        assert_eq!(store.post(send("a", Some("k"), "1")).await, Ok(Posted::Duplicate { same: true }));
        assert_eq!(store.post(send("a", Some("k"), "2")).await, Ok(Posted::Duplicate { same: false }));
    }
    owner.send(&Append { consumed: vec![first], ..owner.batch(1) }).await.expect("accepted");
    assert_eq!(store.post(item("a", Some("k"), "1")).await, Ok(Posted::Duplicate { same: true }));
    owner.close(Status::Completed, None, first).await;
    assert_eq!(store.post(early("a", Some("k"), "1")).await, Ok(Posted::Duplicate { same: true }));
}

pub async fn only_an_early_item_is_kept(store: Shared) {
    assert_eq!(store.post(item("a", Some("k"), "1")).await, Err(StoreError::Unknown(id("a"))));
    kept(&store, "a", Some("k"), "1").await;
    // Early items of others do not make the execution exist.
    for key in [Some("k"), Some("l"), None] {
        assert_eq!(store.post(item("a", key, "1")).await, Err(StoreError::Unknown(id("a"))));
    }
    assert_eq!(store.append(&Owner::create(&store, "b").await.batch(1)).await, Ok(()));
    Owner::create(&store, "a").await;
    assert_eq!(pending(&store, "a").await.len(), 1);
}

pub async fn early_makes_no_difference_to_what_exists(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let posted = kept(&store, "a", Some("k"), "1").await;
    assert_eq!(pending(&store, "a").await[0].id, posted);
    owner.close(Status::Suspended, None, posted).await;
    kept(&store, "a", None, "1").await;
    let woken = claimed(&store, "w1", 10).await;
    assert_eq!(names(&woken), ["a"]);
    Owner::claimed(&store, &woken[0]).close(Status::Completed, None, 999).await;
    let refused = store.post(early("a", None, "1")).await;
    assert_eq!(refused, Err(StoreError::Terminal { execution: id("a"), status: Status::Completed }));
}

pub async fn b54_early_items_are_moved_once(store: Shared) {
    let first = kept(&store, "a", None, "1").await;
    let mut owner = Owner::create(&store, "a").await;
    owner.send(&Append { consumed: vec![first], ..owner.batch(1) }).await.expect("accepted");
    let again = store.create(new("a")).await;
    assert!(matches!(again, Ok(Created::New { fence: 1 })), "{again:?}");
    let taken = store.create(NewExecution { batch: batch("another"), ..new("a") }).await;
    assert!(matches!(taken, Ok(Created::Exists(_))), "{taken:?}");
    assert!(pending(&store, "a").await.is_empty());
}

pub async fn old_early_items_are_forgotten_when_asked(store: Shared) {
    let old = |name: &str, key: &str| NewItem { at: at(40), ..early(name, Some(key), "1") };
    for item in [old("a", "k"), old("b", "k"), old("b", "l"), early("b", None, "2")] {
        assert!(matches!(store.post(item).await, Ok(Posted::Accepted(_))));
    }
    // What has its execution is no early item any more, however old.
    Owner::create(&store, "a").await;
    assert_eq!(store.prune_early(at(40), false).await, Ok(0), "posted at 40");
    assert_eq!(store.prune_early(at(50), true).await, Ok(2), "counted");
    assert_eq!(store.prune_early(at(50), true).await, Ok(2), "and left");
    assert_eq!(store.prune_early(at(50), false).await, Ok(2));
    assert_eq!(store.prune_early(at(50), false).await, Ok(0));
    // The key is free, and positions do not come again.
    let newest = kept(&store, "b", Some("k"), "3").await;
    assert_eq!(store.prune_early(at(51), false).await, Ok(2));
    assert!(kept(&store, "b", None, "4").await > newest);
    Owner::create(&store, "b").await;
    let payloads = |items: Vec<InboxItem>| items.into_iter().map(|item| item.payload).collect::<Vec<_>>();
    assert_eq!(payloads(pending(&store, "b").await), ["4"]);
    assert_eq!(payloads(pending(&store, "a").await), ["1"]);
}

pub async fn b54_no_early_item_is_lost_to_a_creation(store: Shared) {
    for round in 0..40 {
        let name = format!("e{round}");
        let posts: Vec<_> = (0..6)
            .map(|n| {
                let (store, item) = (store.clone(), early(&name, Some(&format!("k{}", n / 2)), "1"));
                tokio::spawn(async move { store.post(item).await })
            })
            .collect();
        let (creating, new) = (store.clone(), new(&name));
        let created = tokio::spawn(async move { creating.create(new).await });
        let mut accepted = 0;
        for posted in posts {
            match posted.await.expect("no panic") {
                Ok(Posted::Accepted(_)) => accepted += 1,
                Ok(Posted::Duplicate { same: true }) => {}
                other => panic!("{other:?}"),
            }
        }
        let created = created.await.expect("no panic");
        assert!(matches!(created, Ok(Created::New { fence: 1 })), "{created:?}");
        assert_eq!((accepted, pending(&store, &name).await.len()), (3, 3), "each key once, before or after");
    }
}
