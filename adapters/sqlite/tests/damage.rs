//! Damaged rows: each is reported with the execution's name, and harms no other execution.
//! Not damaged pages: those are SQLite's to find.

mod fixture;

use fixture::*;
use loom_runtime::{
    Status,
    ports::{
        Append, BranchRegistry, ClaimRequest, EventStore, GateChange, GateIndex, Inbox, LeaseStore,
        ListFilter, NewExecution, Posted, SetBranch, StoreError,
    },
};
use sqlite::Sqlite;

/// A store with the executions `bad` and `good`, four events each, and what `sql` does to it.
async fn damaged(sql: &str) -> (Sqlite, Owner, Owner) {
    let path = fresh();
    let store = open(&path).await;
    let mut bad = Owner::create(&store, "bad").await;
    let mut good = Owner::create(&store, "good").await;
    bad.append(3).await;
    good.append(3).await;
    run(&mut raw(&path).await, sql).await;
    (store, bad, good)
}

fn is_about_bad<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    match answer {
        Err(StoreError::Corrupt(text)) => assert!(text.contains("`bad`"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn b41_an_unreadable_row_hides_no_other() {
    for sql in [
        "UPDATE executions SET status = 'nonsense' WHERE id = 'bad'",
        "UPDATE executions SET input = 'nonsense' WHERE id = 'bad'",
        "UPDATE executions SET next = -4 WHERE id = 'bad'",
        "UPDATE executions SET worker = NULL WHERE id = 'bad'",
        "UPDATE executions SET takeovers = -1 WHERE id = 'bad'",
    ] {
        let (store, _, mut good) = damaged(sql).await;
        is_about_bad(store.get(&id("bad")).await);
        let rows = store.list(&ListFilter::default()).await.expect("list");
        assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["good"], "{sql}");
        good.append(1).await;
        // It is first in line, and must not keep the others from their turn.
        let unowned = |name| NewExecution { claim: None, ..new(name, "nobody") };
        store.create(unowned("next")).await.expect("created");
        let request = ClaimRequest {
            worker: "w2".into(),
            now: at(5_000),
            until: at(9_000),
            limit: 2,
            execution: None,
            flows: None,
            program: None,
        };
        let claimed = store.claim(&request).await.expect("claim");
        let names: Vec<_> = claimed.iter().map(|claimed| claimed.row.id.as_str()).collect();
        assert_eq!(names, ["good", "next"], "{sql}");
    }
}

#[tokio::test]
async fn a_post_to_an_unreadable_row_is_refused() {
    let (store, _, _good) = damaged("UPDATE executions SET status = 'nonsense' WHERE id = 'bad'").await;
    is_about_bad(store.post(item("bad", None, "1".into())).await);
    let posted = store.post(item("good", None, "1".into())).await;
    assert!(matches!(posted, Ok(Posted::Accepted(_))), "{posted:?}");
}

#[tokio::test]
async fn an_append_does_not_suffer_from_an_unreadable_row_that_it_posts_to() {
    let (store, _, mut good) = damaged("UPDATE executions SET status = 'nonsense' WHERE id = 'bad'").await;
    let posts = ["bad", "good"].map(|name| item(name, None, "1".into())).into();
    let append = Append { posts, ..good.batch(1) };
    assert_eq!(store.append(&append).await, Ok(()));
    good.next += 1;
    good.append(1).await;
    assert_eq!(store.pending(&id("good"), 0).await.expect("pending").len(), 1);
}

#[tokio::test]
async fn an_unreadable_branch_hides_no_other() {
    let path = fresh();
    let store = open(&path).await;
    Owner::create(&store, "bad").await;
    Owner::create(&store, "good").await;
    let set = |name: &str, execution: &str| SetBranch {
        name: name.into(),
        expected: None,
        execution: id(execution),
        at: at(1),
        by: "ann".into(),
    };
    store.set_branch(&set("one", "bad")).await.expect("set");
    store.set_branch(&set("two", "good")).await.expect("set");
    run(&mut raw(&path).await, "UPDATE branches SET version = -1 WHERE name = 'one'").await;
    is_about_bad(store.branch("one").await);
    is_about_bad(store.set_branch(&set("one", "good")).await);
    let rows = store.branches().await.expect("branches");
    assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["two"]);
    store.set_branch(&set("three", "good")).await.expect("set");
}

#[tokio::test]
async fn a_log_with_a_hole_is_not_read() {
    for sequence in 0..4 {
        let sql = format!(
            "DELETE FROM events WHERE sequence = {sequence} AND execution = (SELECT key FROM executions WHERE id = 'bad')"
        );
        let (store, ..) = damaged(&sql).await;
        is_about_bad(store.read(&id("bad"), 0, usize::MAX).await);
        is_about_bad(store.read(&id("bad"), sequence, 2).await);
        assert_eq!(log(&store, "good").await.len(), 4);
    }
}

#[tokio::test]
async fn an_event_of_a_schema_that_cannot_be_is_not_read() {
    let sql = "UPDATE events SET schema = 65536 WHERE sequence = 2 AND execution = \
         (SELECT key FROM executions WHERE id = 'bad')";
    let (store, ..) = damaged(sql).await;
    is_about_bad(store.read(&id("bad"), 0, usize::MAX).await);
    assert_eq!(log(&store, "good").await.len(), 4);
}

#[tokio::test]
async fn a_log_without_its_row_s_events_takes_no_append() {
    // The row says that 4 is next, the log has a 4: a backup that was mixed, say.
    let (store, bad, good) = damaged(
        "INSERT INTO events SELECT execution, 4, kind, at, schema, payload, meta FROM events WHERE sequence = 3 \
         AND execution = (SELECT key FROM executions WHERE id = 'bad')",
    )
    .await;
    let mut owners = Vec::new();
    for n in 0..20 {
        owners.push(Owner::create(&store, &format!("e{n}")).await);
    }
    // All in one transaction, at first.
    let appends: Vec<_> = owners.iter().chain([&good, &bad]).map(|owner| owner.batch(2)).collect();
    let sent: Vec<_> = appends
        .into_iter()
        .map(|append| {
            let store = store.clone();
            tokio::spawn(async move { store.append(&append).await })
        })
        .collect();
    let mut verdicts = Vec::new();
    for sent in sent {
        verdicts.push(sent.await.expect("no panic"));
    }
    is_about_bad(verdicts.pop().expect("the last one"));
    assert!(verdicts.iter().all(Result::is_ok), "{verdicts:?}");
    for name in (0..20).map(|n| format!("e{n}")).chain(["good".into()]) {
        assert_eq!(log(&store, &name).await.len() as u64, row(&store, &name).await.next);
    }
    assert_eq!(row(&store, "bad").await.next, 4, "nothing of it was written");
    assert_eq!(row(&store, "good").await.next, 6);
}

#[tokio::test]
async fn an_unreadable_gate_hides_no_other() {
    let path = fresh();
    let store = open(&path).await;
    for name in ["bad", "good"] {
        let mut owner = Owner::create(&store, name).await;
        let frame = loom_runtime::FrameId::parsed("gate");
        let open = GateChange::Opened { frame, gate: "g".into(), schema: "{}".into(), expires_at: None };
        let append = Append { gates: vec![open], ..owner.batch(1) };
        store.append(&append).await.expect("accepted");
        owner.next += 1;
    }
    run(&mut raw(&path).await, "UPDATE executions SET id = 'b/ad' WHERE id = 'bad'").await;
    let open = store.gates(None).await.expect("gates");
    assert_eq!(open.iter().map(|gate| gate.execution.as_str()).collect::<Vec<_>>(), ["good"]);
    run(&mut raw(&path).await, "UPDATE executions SET id = 'bad' WHERE id = 'b/ad'").await;
    run(&mut raw(&path).await, "UPDATE gates SET state = 'ajar' WHERE execution = 1").await;
    is_about_bad(store.gates(Some(&id("bad"))).await);
    assert_eq!(store.gates(Some(&id("good"))).await.expect("gates").len(), 1);
}

#[tokio::test]
async fn the_writer_survives_a_broken_transaction() {
    let path = fresh();
    let store = open(&path).await;
    let mut owner = Owner::create(&store, "a").await;
    run(&mut raw(&path).await, "ALTER TABLE events RENAME TO elsewhere").await;
    let append = owner.batch(1);
    let refused = store.append(&append).await;
    assert!(matches!(&refused, Err(StoreError::Corrupt(text)) if text.contains("`a`")), "{refused:?}");
    run(&mut raw(&path).await, "ALTER TABLE elsewhere RENAME TO events").await;
    store.append(&append).await.expect("it goes on by itself");
    owner.next += 1;
    owner.close(Status::Completed).await;
    assert_eq!(log(&store, "a").await.len(), 3);
}
