//! Opening, closing and locks: what a file's owner is told, and that nothing asked is lost.
//! Not several processes: those tests are in `processes`.

mod fixture;

use std::{
    future::Future,
    path::Path,
    pin::pin,
    task::{Context, Waker},
    time::{Duration, Instant},
};

use fixture::*;
use loom_runtime::{
    Status,
    ports::{Append, Created, EventStore, Inbox, LeaseStore, ListFilter, Posted, StoreError},
};
use sqlite::{OpenError, Sqlite};
use sqlx::Connection;

async fn refusal(path: &Path) -> OpenError {
    let options = Sqlite::options().busy_timeout(Duration::from_millis(300));
    options.open(path).await.expect_err("it must not open")
}

#[tokio::test]
async fn a_missing_directory_is_named() {
    let path = fresh().with_extension("missing").join("shop.db");
    let error = refusal(&path).await;
    assert!(matches!(error, OpenError::MissingDirectory { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("missing`; create it") && text.contains("shop.db"), "{text}");
}

#[tokio::test]
async fn a_path_without_a_file_is_refused() {
    for path in [Path::new(":memory:"), Path::new(""), Path::new(env!("CARGO_TARGET_TMPDIR"))] {
        let error = refusal(path).await;
        assert!(matches!(error, OpenError::NotAFile { .. }), "{error:?}");
        assert!(error.to_string().contains("`Memory`"), "{error}");
    }
    assert!(!Path::new(":memory:").exists());
}

#[tokio::test]
async fn another_file_is_left_alone() {
    let path = fresh();
    let text = "Dear diary, this is not a database. ".repeat(200);
    std::fs::write(&path, &text).unwrap();
    let error = refusal(&path).await;
    assert!(matches!(error, OpenError::NotADatabase { .. }), "{error:?}");
    assert!(error.to_string().contains("is not a SQLite database; give another path"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}

#[tokio::test]
async fn a_newer_schema_is_refused() {
    let path = fresh();
    open(&path).await.close().await;
    let insert = "INSERT INTO loom_migrations (version, description, success, checksum, execution_time) \
                  VALUES (9999, 'from the future', 1, x'00', 0)";
    run(&mut raw(&path).await, insert).await;
    let error = refusal(&path).await;
    assert!(matches!(error, OpenError::NewerSchema { found: 9999, .. }), "{error:?}");
    assert!(error.to_string().contains("use the build that wrote it, or a newer one"), "{error}");
}

#[tokio::test]
async fn a_file_that_cannot_be_written_is_named() {
    let path = fresh();
    open(&path).await.close().await;
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    if std::fs::OpenOptions::new().append(true).open(&path).is_ok() {
        return; // The superuser writes everywhere.
    }
    let error = refusal(&path).await;
    assert!(matches!(error, OpenError::ReadOnly { .. }), "{error:?}");
}

#[tokio::test]
async fn a_locked_file_is_named_after_the_wait() {
    let path = fresh();
    open(&path).await.close().await;
    let mut other = raw(&path).await;
    run(&mut other, "BEGIN IMMEDIATE").await;
    let started = Instant::now();
    let error = refusal(&path).await;
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    assert!(error.to_string().contains("locked by another process"), "{error}");
    assert!(started.elapsed() >= Duration::from_millis(300));
    run(&mut other, "COMMIT").await;
    open(&path).await.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_open_a_new_file_at_once() {
    let path = fresh();
    let opening: Vec<_> = (0..12)
        .map(|n| {
            let path = path.clone();
            tokio::spawn(async move {
                let store = open(&path).await;
                Owner::create(&store, &format!("e{n}")).await;
                store
            })
        })
        .collect();
    let mut last = None;
    for opening in opening {
        last = Some(opening.await.expect("no panic"));
    }
    let rows = last.expect("twelve").list(&ListFilter::default()).await.expect("list");
    assert_eq!(rows.len(), 12);
}

#[tokio::test]
async fn tables_of_others_in_the_file_are_no_hindrance() {
    let path = fresh();
    let mut other = fixture_file(&path).await;
    run(&mut other, "CREATE TABLE _sqlx_migrations (mine TEXT); CREATE TABLE orders (id INTEGER)").await;
    let store = open(&path).await;
    Owner::create(&store, "a").await;
    run(&mut other, "INSERT INTO orders VALUES (1)").await;
}

async fn fixture_file(path: &Path) -> sqlx::SqliteConnection {
    std::fs::File::create(path).expect("an empty file");
    raw(path).await
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let path = fresh();
    let store = open(&path).await;
    let mut owner = Owner::create(&store, "a").await;
    owner.append(3).await;
    store.post(item("a", Some("k".into()), "1".into())).await.expect("accepted");
    let (before, records) = (row(&store, "a").await, log(&store, "a").await);
    store.close().await;
    assert!(!path.with_extension("db-wal").exists(), "a clean close leaves one file");
    let store = open(&path).await;
    assert_eq!((row(&store, "a").await, log(&store, "a").await), (before, records));
    assert_eq!(store.pending(&id("a"), 0).await.expect("pending").len(), 1);
    // Positions do not start anew, or an owner would take an old item for a new one.
    let posted = store.post(item("a", None, "2".into())).await;
    assert_eq!(posted, Ok(Posted::Accepted(2)));
}

#[tokio::test]
async fn the_file_keeps_a_write_ahead_log() {
    let path = fresh();
    let store = open(&path).await;
    Owner::create(&store, "a").await;
    let mut other = raw(&path).await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut other).await.unwrap();
    assert_eq!(mode, "wal");
}

/// Polls once, so that the question is on its way, and goes.
fn ask_and_leave<F: Future>(future: F) {
    let mut future = pin!(future);
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
}

#[tokio::test]
async fn b29_a_caller_that_left_recognises_its_append() {
    let path = fresh();
    let store = open(&path).await;
    let mut owner = Owner::create(&store, "a").await;
    for n in 1..20 {
        let append = if n % 5 == 0 { Append { at: at(n), ..owner.batch(3) } } else { owner.batch(3) };
        ask_and_leave(store.append(&append));
        assert_eq!(store.append(&append).await, Ok(()), "the retry of {n}");
        owner.next += 3;
    }
    assert_eq!(log(&store, "a").await.len(), 58);
    // The same for a start, and for a message with a key.
    ask_and_leave(store.create(new("b", "worker")));
    let again = store.create(new("b", "worker")).await;
    assert!(matches!(again, Ok(Created::New { fence: 1 })), "{again:?}");
    let message = || item("b", Some("k".into()), "1".into());
    ask_and_leave(store.post(message()));
    assert_eq!(store.post(message()).await, Ok(Posted::Duplicate { same: true }));
    assert_eq!(store.pending(&id("b"), 0).await.expect("pending").len(), 1);
}

#[tokio::test]
async fn a_claim_whose_caller_left_holds_nothing() {
    let path = fresh();
    let store = open(&path).await;
    let unowned = loom_runtime::ports::NewExecution { claim: None, ..new("a", "nobody") };
    store.create(unowned).await.expect("created");
    let request = |worker: &str| loom_runtime::ports::ClaimRequest {
        worker: worker.into(),
        now: at(10),
        until: at(99),
        limit: 1,
        execution: None,
        flows: None,
        program: None,
    };
    ask_and_leave(store.claim(&request("gone")));
    assert_eq!(store.claim(&request("here")).await.expect("claim").len(), 1);
}

#[tokio::test]
async fn closing_writes_what_was_asked() {
    let path = fresh();
    let store = open(&path).await;
    let owner = Owner::create(&store, "a").await;
    let append = owner.batch(5);
    drop(owner);
    let clone = store.clone();
    ask_and_leave(clone.append(&append));
    store.close().await;
    let late = clone.append(&append).await;
    assert!(matches!(&late, Err(StoreError::Unavailable(why)) if why.contains("closed")), "{late:?}");
    let late = clone.get(&id("a")).await;
    assert!(matches!(&late, Err(StoreError::Unavailable(why)) if why.contains("closed")), "{late:?}");
    assert_eq!(log(&open(&path).await, "a").await.len(), 6);
}

#[tokio::test]
async fn dropping_the_last_handle_writes_what_was_asked() {
    let path = fresh();
    let store = open(&path).await;
    let owner = Owner::create(&store, "a").await;
    let append = owner.batch(5);
    drop(owner);
    ask_and_leave(store.append(&append));
    drop(store);
    let store = open(&path).await;
    let started = Instant::now();
    while log(&store, "a").await.len() != 6 {
        assert!(started.elapsed() < Duration::from_secs(10), "it was never written");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_lock_of_another_program_is_waited_for() {
    let path = fresh();
    let store = open(&path).await;
    let mut owner = Owner::create(&store, "a").await;
    let mut other = raw(&path).await;
    run(&mut other, "BEGIN IMMEDIATE").await;
    let holding = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(700)).await;
        run(&mut other, "COMMIT").await;
        other.close().await.expect("closed");
    });
    let started = Instant::now();
    // Reading never waits.
    assert_eq!(row(&store, "a").await.status, Status::Running);
    assert!(started.elapsed() < Duration::from_millis(600));
    owner.append(1).await;
    assert!(started.elapsed() >= Duration::from_millis(600), "the lock was held");
    holding.await.expect("no panic");
}

#[tokio::test]
async fn a_lock_that_stays_is_reported_and_survived() {
    let path = fresh();
    let options = Sqlite::options().busy_timeout(Duration::from_millis(200));
    let store = options.open(&path).await.expect("opens");
    let mut owner = Owner::create(&store, "a").await;
    let mut other = raw(&path).await;
    run(&mut other, "BEGIN IMMEDIATE").await;
    let append = owner.batch(1);
    let refused = store.append(&append).await;
    assert!(matches!(&refused, Err(StoreError::Unavailable(why)) if why.contains("locked")), "{refused:?}");
    run(&mut other, "COMMIT").await;
    // Whether it was written is for the batch id to tell.
    assert_eq!(store.append(&append).await, Ok(()));
    owner.next += 1;
    owner.append(1).await;
    assert_eq!(log(&store, "a").await.len(), 3);
}
