//! What a store owes to the posts of an append: they arrive with it, or not at all.
//! Not the posts from outside: those cases are in `inbox`.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use std::collections::BTreeSet;

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{Append, ClaimRequest, Close, InboxItem, NewItem, Posted, StoreError, TakeUp};

/// An append of one record with these posts; not sent.
fn posting(owner: &Owner, posts: Vec<NewItem>) -> Append {
    Append { posts, ..owner.batch(1) }
}

async fn pending(store: &Shared, name: &str) -> Vec<InboxItem> {
    store.pending(&id(name), 0).await.expect("pending")
}

async fn payloads(store: &Shared, name: &str) -> Vec<String> {
    pending(store, name).await.into_iter().map(|item| item.payload).collect()
}

pub async fn a_post_arrives_with_its_append(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let append = posting(&owner, vec![item("b", Some("k"), r#"{"b":1,"a":"é"}"#)]);
    // A refused append posts nothing.
    let stale = Append { fence: 77, ..append.clone() };
    store.append(&stale).await.expect_err("refused");
    let gap = Append { expected_next: 77, ..append.clone() };
    store.append(&gap).await.expect_err("refused");
    assert!(pending(&store, "b").await.is_empty());
    owner.send(&append).await.expect("accepted");
    let items = pending(&store, "b").await;
    assert!(items[0].id > 0);
    let expected = InboxItem {
        id: items[0].id,
        key: Some("k".into()),
        kind: "message".into(),
        payload: r#"{"b":1,"a":"é"}"#.into(),
        at: at(50),
    };
    assert_eq!(items, [expected]);
    // A retry posts nothing more, with a key or without.
    store.append(&append).await.expect("a retry");
    let keyless = posting(&owner, vec![item("b", None, "2")]);
    owner.send(&keyless).await.expect("accepted");
    store.append(&keyless).await.expect("a retry");
    assert_eq!(pending(&store, "b").await.len(), 2);
    assert!(pending(&store, "a").await.is_empty());
}

pub async fn posts_are_content_of_their_batch(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let post = item("b", Some("k"), "1");
    let append = posting(&owner, vec![post.clone()]);
    owner.send(&append).await.expect("accepted");
    let others = [
        vec![],
        vec![post.clone(), post.clone()],
        vec![NewItem { execution: id("c"), ..post.clone() }],
        vec![NewItem { key: None, ..post.clone() }],
        vec![NewItem { key: Some(String::new()), ..post.clone() }],
        vec![NewItem { kind: "cancel".into(), ..post.clone() }],
        vec![NewItem { payload: "2".into(), ..post.clone() }],
        vec![NewItem { at: at(51), ..post.clone() }],
        vec![NewItem { early: true, ..post.clone() }],
    ];
    for posts in others {
        let other = Append { posts, ..append.clone() };
        assert_eq!(store.append(&other).await, Err(StoreError::BatchReused(id("a"))), "{other:?}");
    }
    assert_eq!(pending(&store, "b").await.len(), 1);
}

pub async fn posts_of_one_append_keep_their_order(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    Owner::create(&store, "c").await;
    post(&store, "b", None).await;
    let posts = ["b 1", "c 2", "b 3", "c 4", "b 5"].map(|text| item(&text[..1], None, text)).into();
    owner.send(&posting(&owner, posts)).await.expect("accepted");
    post(&store, "c", None).await;
    assert_eq!(payloads(&store, "b").await, ["1", "b 1", "b 3", "b 5"]);
    assert_eq!(payloads(&store, "c").await, ["c 2", "c 4", "1"]);
    let items = [pending(&store, "b").await, pending(&store, "c").await].concat();
    assert_eq!(items.iter().map(|item| item.id).collect::<BTreeSet<_>>().len(), 7, "no position is shared");
}

pub async fn a_post_that_nobody_takes_is_dropped(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let mut open = Owner::create(&store, "open").await;
    let consumed = post(&store, "open", Some("consumed")).await;
    open.send(&Append { consumed: vec![consumed], ..open.batch(1) }).await.expect("accepted");
    post(&store, "open", Some("waiting")).await;
    for status in [Status::Completed, Status::Failed, Status::Cancelled] {
        Owner::create(&store, status.name()).await.close(status, None, 0).await;
    }
    let posts = vec![
        item("nobody", Some("k"), "lost"),
        item("nobody", None, "lost"),
        item("completed", Some("k"), "lost"),
        item("failed", None, "lost"),
        item("cancelled", None, "lost"),
        item("open", Some("consumed"), "lost"),
        item("open", Some("waiting"), "lost"),
        item("open", Some("new"), "kept"),
        item("open", Some("new"), "lost"),
    ];
    owner.send(&posting(&owner, posts)).await.expect("the append is accepted all the same");
    assert_eq!(row(&store, "a").await.next, 2);
    assert_eq!(payloads(&store, "open").await, ["1", "kept"]);
    for name in ["completed", "failed", "cancelled"] {
        assert!(pending(&store, name).await.is_empty());
    }
    // And nothing is left for an execution that comes later.
    Owner::create(&store, "nobody").await;
    assert!(pending(&store, "nobody").await.is_empty());
}

pub async fn a_post_s_key_is_used(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    owner.send(&posting(&owner, vec![item("b", Some("k"), "1")])).await.expect("accepted");
    assert_eq!(store.post(item("b", Some("k"), "1")).await, Ok(Posted::Duplicate { same: true }));
    assert_eq!(store.post(item("b", Some("k"), "2")).await, Ok(Posted::Duplicate { same: false }));
    owner.send(&posting(&owner, vec![item("b", Some("k"), "3")])).await.expect("accepted");
    assert_eq!(payloads(&store, "b").await, ["1"]);
    post(&store, "a", Some("k")).await;
}

pub async fn a_post_wakes_its_execution(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    for (status, why) in [(Status::Suspended, TakeUp::Woken), (Status::Parked, TakeUp::Retried)] {
        let mut sleeper = Owner::create(&store, status.name()).await;
        let read = post(&store, status.name(), None).await;
        sleeper.close(status, None, read).await;
        assert!(claimed(&store, "w2", 10).await.is_empty());
        owner.send(&posting(&owner, vec![item(status.name(), None, "2")])).await.expect("accepted");
        assert_eq!(row(&store, status.name()).await.status, status, "until somebody claims it");
        let woken = claimed(&store, "w2", 10).await;
        assert_eq!(names(&woken), [status.name()]);
        assert_eq!(woken[0].take_up, why);
    }
}

pub async fn an_owner_finds_a_post_before_it_closes(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let mut other =
        Owner::of(&store, crate::ports::NewExecution { claim: Some(("w2".into(), LEASE)), ..new("b") }).await;
    owner.send(&posting(&owner, vec![item("b", None, "1")])).await.expect("accepted");
    assert_eq!(store.inbox_waiting(&"w2".into()).await, Ok(vec![id("b")]));
    let close = other.closing(Status::Completed);
    assert_eq!(store.append(&close).await, Err(StoreError::InboxMoved(id("b"))));
    let read = pending(&store, "b").await[0].id;
    other.close(Status::Completed, None, read).await;
}

pub async fn a_post_to_itself_finds_what_its_append_left(store: Shared) {
    // Going on: it waits.
    let mut owner = Owner::create(&store, "a").await;
    owner.send(&posting(&owner, vec![item("a", None, "2")])).await.expect("accepted");
    assert_eq!(payloads(&store, "a").await, ["2"]);
    let read = pending(&store, "a").await[0].id;
    // Suspending: it does not refuse the close, and wakes.
    let close = Close { status: Status::Suspended, wake_at: None, seen: read, unfit: None };
    let append = Append { close: Some(close), ..posting(&owner, vec![item("a", None, "3")]) };
    owner.send(&append).await.expect("accepted");
    let woken = claimed(&store, "w2", 10).await;
    assert_eq!((names(&woken), woken[0].take_up), (vec!["a"], TakeUp::Woken));
    assert_eq!(payloads(&store, "a").await, ["2", "3"]);
    // Ending: it is dropped.
    let mut owner = Owner::claimed(&store, &woken[0]);
    let newest = pending(&store, "a").await[1].id;
    let close = Close { status: Status::Completed, wake_at: None, seen: newest, unfit: None };
    let append = Append { close: Some(close), ..posting(&owner, vec![item("a", Some("k"), "4")]) };
    owner.send(&append).await.expect("accepted");
    let refused = store.post(item("a", Some("k"), "4")).await;
    assert_eq!(refused, Err(StoreError::Terminal { execution: id("a"), status: Status::Completed }));
}

pub async fn an_append_posts_as_it_closes(store: Shared) {
    // What a child does when it ends.
    let mut parent = Owner::create(&store, "parent").await;
    parent.close(Status::Suspended, None, 0).await;
    let mut child = Owner::create(&store, "child").await;
    let ending =
        Append { posts: vec![item("parent", Some("child"), "1")], ..child.closing(Status::Completed) };
    child.send(&ending).await.expect("accepted");
    assert_eq!(row(&store, "child").await.status, Status::Completed);
    assert_eq!(names(&claimed(&store, "w2", 10).await), ["parent"]);
    // Its retry is recognised, whatever became of the parent.
    assert_eq!(store.append(&ending).await, Ok(()));
    assert_eq!(pending(&store, "parent").await.len(), 1);
}

pub async fn an_early_post_of_an_append_waits(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let early = |key, text| NewItem { early: true, ..item("b", key, text) };
    let posts = vec![early(None, "1"), item("b", None, "lost"), early(Some("k"), "2"), early(Some("k"), "3")];
    owner.send(&posting(&owner, posts)).await.expect("accepted");
    assert_eq!(store.post(early(Some("k"), "2")).await, Ok(Posted::Duplicate { same: true }));
    Owner::create(&store, "b").await;
    assert_eq!(payloads(&store, "b").await, ["1", "2"]);
}

pub async fn a_long_list_of_posts_arrives(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let posts: Vec<_> = (0..12_000).map(|n| item("b", Some(&format!("k{n}")), &format!("{n}"))).collect();
    let early = posts[..2_500].iter().map(|item| NewItem { execution: id("c"), early: true, ..item.clone() });
    let all = posts.iter().cloned().chain(early).collect();
    owner.send(&posting(&owner, all)).await.expect("accepted");
    Owner::create(&store, "c").await;
    for (name, count) in [("b", 12_000), ("c", 2_500)] {
        assert!(payloads(&store, name).await.into_iter().eq((0..count).map(|n| n.to_string())));
    }
}

pub async fn b52_no_post_of_an_append_is_lost_to_a_close(store: Shared) {
    let mut sender = Owner::create(&store, "sender").await;
    for round in 0..40 {
        let name = format!("e{round}");
        let status = if round % 2 == 0 { Status::Suspended } else { Status::Completed };
        let owner = Owner::create(&store, &name).await;
        let (closing, appending) = (store.clone(), store.clone());
        let (append, close) = (posting(&sender, vec![item(&name, Some("k"), "1")]), owner.closing(status));
        let (closed, sent) = tokio::join!(
            tokio::spawn(async move { closing.append(&close).await }),
            tokio::spawn(async move { appending.append(&append).await })
        );
        sent.expect("no panic").expect("the sender is not concerned");
        sender.next += 1;
        let waiting = pending(&store, &name).await.len();
        match closed.expect("no panic") {
            Err(StoreError::InboxMoved(_)) => assert_eq!(waiting, 1),
            Ok(()) if status == Status::Suspended => {
                let only = ClaimRequest { execution: Some(id(&name)), ..claim("w2", 10) };
                assert_eq!(store.claim(&only).await.expect("claim").len(), 1, "it must wake");
                assert_eq!(waiting, 1);
            }
            Ok(()) => assert_eq!(waiting, 0),
            other => panic!("{other:?}"),
        }
    }
}

pub async fn fifty_appends_post_to_one(store: Shared) {
    Owner::create(&store, "target").await;
    let send = |n: usize| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut owner = Owner::create(&store, &format!("e{n}")).await;
            for turn in 0..4 {
                let own = item("target", Some(&format!("{n} {turn}")), &format!("[{n},{turn}]"));
                let posts = vec![own, item("target", Some(&format!("shared {turn}")), "0")];
                owner.send(&posting(&owner, posts)).await.expect("accepted");
            }
        })
    };
    for sent in (0..50).map(send).collect::<Vec<_>>() {
        sent.await.expect("no panic");
    }
    let items = pending(&store, "target").await;
    assert_eq!(items.len(), 204, "every sender's own, and each shared key once");
    assert!(items.is_sorted_by(|a, b| a.id < b.id));
    for n in 0..50 {
        let own = items.iter().filter(|item| item.payload.starts_with(&format!("[{n},")));
        assert!(own.map(|item| item.payload.clone()).eq((0..4).map(|turn| format!("[{n},{turn}]"))));
    }
}
