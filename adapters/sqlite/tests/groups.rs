//! Questions that one transaction answers: each sees what those before it did.
//! Not concurrency at large: those cases are in the conformance kit.

mod fixture;

use fixture::*;
use loom_runtime::{
    FrameId, Status,
    ports::{
        Append, ClaimRequest, Close, EventStore, GateChange, GateIndex, Inbox, LeaseStore, NewItem,
        StoreError,
    },
};
use sqlite::Sqlite;

/// The owners of `a` and `b`.
async fn two() -> (Sqlite, Owner, Owner) {
    let store = open(&fresh()).await;
    let (a, b) = (Owner::create(&store, "a").await, Owner::create(&store, "b").await);
    (store, a, b)
}

fn closing(owner: &Owner, status: Status, seen: u64) -> Append {
    Append { close: Some(Close { status, wake_at: None, seen, unfit: None }), ..owner.batch(1) }
}

fn posting(owner: &Owner, to: &str) -> Append {
    Append { posts: vec![item(to, Some("k".into()), "1".into())], ..owner.batch(1) }
}

async fn waiting(store: &Sqlite, name: &str) -> usize {
    store.pending(&id(name), 0).await.expect("pending").len()
}

async fn is_due(store: &Sqlite, name: &str) -> bool {
    let request = ClaimRequest {
        worker: "w2".into(),
        now: at(10),
        until: at(99),
        limit: 1,
        execution: Some(id(name)),
        flows: None,
        program: None,
    };
    store.claim(&request).await.expect("claim").len() == 1
}

// On one thread the questions are all asked before the writer takes the first.

#[tokio::test]
async fn a_close_sees_the_post_of_an_append_before_it() {
    let (store, a, b) = two().await;
    let (post, close) = (posting(&a, "b"), closing(&b, Status::Completed, 0));
    let (posted, closed) = tokio::join!(store.append(&post), store.append(&close));
    assert_eq!((posted, closed), (Ok(()), Err(StoreError::InboxMoved(id("b")))));
    assert_eq!((waiting(&store, "b").await, row(&store, "b").await.next), (1, 1));
}

#[tokio::test]
async fn a_post_of_an_append_sees_the_close_before_it() {
    for status in [Status::Suspended, Status::Parked, Status::Completed] {
        let (store, a, b) = two().await;
        let (post, close) = (posting(&a, "b"), closing(&b, status, 0));
        let (closed, posted) = tokio::join!(store.append(&close), store.append(&post));
        assert_eq!((closed, posted), (Ok(()), Ok(())));
        let taken = status != Status::Completed;
        assert_eq!((waiting(&store, "b").await == 1, is_due(&store, "b").await), (taken, taken), "{status}");
        assert_eq!(row(&store, "a").await.next, 2);
    }
}

#[tokio::test]
async fn a_refused_append_posts_nothing_beside_accepted_ones() {
    let (store, a, b) = two().await;
    let (stale, good) = (Append { fence: 9, ..posting(&a, "b") }, posting(&a, "b"));
    let other =
        Append { posts: vec![item("a", None, "2".into()), item("b", None, "3".into())], ..b.batch(1) };
    let (refused, sent, other) =
        tokio::join!(store.append(&stale), store.append(&good), store.append(&other));
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    assert_eq!((sent, other), (Ok(()), Ok(())));
    let payloads: Vec<_> =
        store.pending(&id("b"), 0).await.expect("pending").into_iter().map(|i| i.payload).collect();
    assert_eq!(payloads, ["1", "3"]);
    assert_eq!(waiting(&store, "a").await, 1);
}

#[tokio::test]
async fn what_is_posted_early_meets_a_creation() {
    let path = fresh();
    let store = open(&path).await;
    let a = Owner::create(&store, "a").await;
    let early = |key: &str| NewItem { early: true, ..item("c", Some(key.into()), "1".into()) };
    store.post(early("first")).await.expect("kept");
    let append = Append { posts: vec![early("second"), early("third")], ..a.batch(1) };
    let (posted, sent, created) =
        tokio::join!(store.post(early("second")), store.append(&append), store.create(new("c", "worker")));
    assert!(posted.is_ok() && sent.is_ok() && created.is_ok());
    let items = store.pending(&id("c"), 0).await.expect("pending");
    let keys: Vec<_> = items.iter().filter_map(|item| item.key.as_deref()).collect();
    assert_eq!(keys, ["first", "second", "third"]);
    let count = "SELECT count(*) FROM early";
    let left: i64 = sqlx::query_scalar(count).fetch_one(&mut raw(&path).await).await.expect("a count");
    assert_eq!(left, 0, "what was moved is kept once");
}

#[tokio::test]
async fn gates_go_to_the_run_of_their_append() {
    let (store, mut a, _) = two().await;
    let opened = |owner: &Owner| Append {
        gates: vec![GateChange::Opened {
            frame: FrameId::parsed("x"),
            gate: "g".into(),
            schema: "{}".into(),
            expires_at: None,
        }],
        ..owner.batch(1)
    };
    let first = opened(&a);
    a.next += 1;
    let second = Append { run: Some(a.next), ..opened(&a) };
    a.next += 1;
    let third = opened(&a);
    let (first, second, third) =
        tokio::join!(store.append(&first), store.append(&second), store.append(&third));
    assert_eq!((first, second, third), (Ok(()), Ok(()), Ok(())));
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    assert_eq!(gates.iter().map(|gate| gate.run).collect::<Vec<_>>(), [0, 2]);
    assert_eq!(row(&store, "a").await.base, 2);
}
