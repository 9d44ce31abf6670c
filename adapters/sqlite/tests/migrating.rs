//! Files of earlier schema versions: what they hold is there after opening, and goes on.
//! Not newer versions: those are refused, in `opening`.

mod fixture;

use std::path::Path;

use fixture::*;
use loom_runtime::{
    FrameId, Status,
    ports::{
        Append, BranchRegistry, ClaimRequest, EventStore, GateChange, GateIndex, GateState, Inbox,
        LeaseStore, NewItem, Posted, SetBranch,
    },
};
use sqlite::{OpenError, Sqlite};
use sqlx::{
    SqlSafeStr,
    migrate::{Migration, MigrationType, Migrator},
};

/// The tables as the first version made them, to the byte: the file remembers their digest.
const VERSION_1: &str = include_str!("fixture/version_1.sql");

/// What the first version wrote: `a` is suspended with an open and an answered gate, and an item of two unread.
const ROWS: &str = r#"
INSERT INTO executions VALUES
    (1, 'a', 'flow', '00112233445566778899aabbccddeeff', 'suspended', 2, 7, 9, NULL, NULL, NULL, 1, 0, 1,
     -9223372036854775808, zeroblob(16), zeroblob(16), zeroblob(16), zeroblob(16)),
    (2, 'b', 'flow', '00112233445566778899aabbccddeeff', 'completed', 1, 8, 8, NULL, NULL, NULL, 1, 0, 0, NULL,
     zeroblob(16), zeroblob(16), zeroblob(16), zeroblob(16));
INSERT INTO events VALUES
    (1, 0, 'EXECUTION_STARTED', 7, 1, '{"start":true}', '{}'), (1, 1, 'DECISION_RECORDED', 9, 1, '1', '{}'),
    (2, 0, 'EXECUTION_STARTED', 8, 1, '{}', '{}');
INSERT INTO inbox (execution, item_key, kind, payload, content, at, consumed) VALUES
    (1, 'k', 'message', '', zeroblob(16), 8, 1), (1, NULL, 'message', '"unread"', zeroblob(16), 9, 0);
INSERT INTO gates (key, execution, frame, gate, schema, opened_at, expires_at, state) VALUES
    (3, 1, 'y', 'g', '{}', 8, NULL, 'answered'), (7, 1, 'x', 'g', '{"type":"boolean"}', 9, 99, 'open');
"#;

async fn first_version(path: &Path) {
    std::fs::File::create(path).expect("an empty file");
    let mut file = raw(path).await;
    let first = Migration::new(1, "tables".into(), MigrationType::Simple, VERSION_1.into_sql_str(), false);
    let mut migrator = Migrator::with_migrations(vec![first]);
    migrator.dangerous_set_table_name("loom_migrations");
    migrator.run_direct(None, &mut file, false).await.expect("the first version's tables");
    run(&mut file, ROWS).await;
}

async fn check(store: &Sqlite) {
    let found = row(store, "a").await;
    assert_eq!((found.status, found.next, found.base), (Status::Suspended, 2, 0));
    assert_eq!(row(store, "b").await.status, Status::Completed);
    let payloads: Vec<_> = log(store, "a").await.into_iter().map(|record| record.payload).collect();
    assert_eq!(payloads, [r#"{"start":true}"#, "1"]);
    let items = store.pending(&id("a"), 0).await.expect("pending");
    assert_eq!(
        items.iter().map(|item| (item.id, item.payload.as_str())).collect::<Vec<_>>(),
        [(2, r#""unread""#)]
    );
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    let found: Vec<_> = gates.iter().map(|gate| (gate.frame.as_str(), gate.run, gate.state)).collect();
    assert_eq!(found, [("y", 0, GateState::Answered), ("x", 0, GateState::Open)]);
    assert_eq!((gates[1].opened_at, gates[1].expires_at), (at(9), Some(at(99))));
    assert_eq!(gates[1].schema, r#"{"type":"boolean"}"#);
}

#[tokio::test]
async fn a_file_of_the_first_version_opens_with_all_that_it_holds() {
    let path = fresh();
    first_version(&path).await;
    let store = open(&path).await;
    check(&store).await;
    store.close().await;
    // The second time there is nothing to do.
    check(&open(&path).await).await;
}

#[tokio::test]
async fn a_file_of_the_first_version_goes_on_with_what_is_new() {
    let path = fresh();
    first_version(&path).await;
    let store = open(&path).await;
    let used = store.post(item("a", Some("k".into()), "1".into())).await;
    assert!(matches!(used, Ok(Posted::Duplicate { .. })), "{used:?}");
    let early = NewItem { early: true, ..item("c", None, "1".into()) };
    assert_eq!(store.post(early).await, Ok(Posted::Accepted(3)), "positions go on");
    Owner::create(&store, "c").await;
    assert_eq!(store.pending(&id("c"), 0).await.expect("pending")[0].id, 3);
    let request = ClaimRequest {
        worker: "worker".into(),
        now: at(10),
        until: at(1_000),
        limit: 1,
        execution: Some(id("a")),
        flows: None,
        program: None,
    };
    let claimed = store.claim(&request).await.expect("claim");
    let (fence, next) = (claimed[0].fence, claimed[0].row.next);
    let owner = Owner { store: store.clone(), id: id("a"), fence, next };
    let opens = ["x", "y"].map(|name| GateChange::Opened {
        frame: FrameId::parsed(name),
        gate: "g".into(),
        schema: "{}".into(),
        expires_at: None,
    });
    let gates = [vec![GateChange::AbandonAll], opens.into()].concat();
    let posts = vec![item("c", None, "2".into())];
    store.append(&Append { run: Some(2), gates, posts, ..owner.batch(1) }).await.expect("accepted");
    assert_eq!(row(&store, "a").await.base, 2);
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    assert_eq!(gates.iter().map(|gate| gate.run).collect::<Vec<_>>(), [0, 0, 2, 2]);
    assert_eq!(store.pending(&id("c"), 0).await.expect("pending").len(), 2);
    let set =
        SetBranch { name: "main".into(), expected: None, execution: id("b"), at: at(5), by: "ann".into() };
    assert_eq!(store.set_branch(&set).await.expect("set").version, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_open_a_file_of_the_first_version_at_once() {
    let path = fresh();
    first_version(&path).await;
    let opening: Vec<_> = (0..12)
        .map(|_| {
            let path = path.clone();
            tokio::spawn(async move { check(&open(&path).await).await })
        })
        .collect();
    for opening in opening {
        opening.await.expect("no panic");
    }
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_file_as_it_was() {
    let path = fresh();
    first_version(&path).await;
    let mut other = raw(&path).await;
    run(&mut other, "CREATE TABLE branches (mine TEXT)").await;
    let error = Sqlite::open(&path).await.expect_err("a table of that name is there");
    assert!(matches!(&error, OpenError::Other { reason, .. } if reason.contains("branches")), "{error:?}");
    let version: i64 =
        sqlx::query_scalar("SELECT max(version) FROM loom_migrations").fetch_one(&mut other).await.unwrap();
    assert_eq!(version, 1);
    run(&mut other, "SELECT frame FROM gates WHERE key = 7; DROP TABLE branches").await;
    check(&open(&path).await).await;
}
