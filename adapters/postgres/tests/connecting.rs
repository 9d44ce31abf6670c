//! Making, finding and refusing the tables, and rows that make no sense.
//! Not a server that is away: that is in `outages`.

mod fixture;

use fixture::*;
use loom_runtime::ports::{
    ClaimRequest, EventStore, Inbox, LeaseStore, ListFilter, NewExecution, Posted, StoreError,
};
use postgres::{ConnectError, Postgres, cluster::Cluster};
use sqlx::Row;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_that_connect_at_once_make_the_tables_once() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let connect = |n: usize| {
        let options = Postgres::options().schema(schema.clone());
        tokio::spawn(async move {
            let store = options.connect(cluster.url()).await.expect("a store");
            Owner::create(&store, &format!("e{n}")).await;
            store.close().await;
        })
    };
    for connected in (0..10).map(connect).collect::<Vec<_>>() {
        connected.await.expect("no panic");
    }
    let store = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.expect("a store");
    assert_eq!(store.list(&ListFilter::default()).await.expect("list").len(), 10);
    let mut other = raw(cluster.url(), &schema).await;
    let versions = sqlx::query_scalar("SELECT version FROM migrations ORDER BY version");
    let versions: Vec<i64> = versions.fetch_all(&mut other).await.expect("versions");
    assert!(!versions.is_empty() && versions.iter().copied().eq(1..=versions.len() as i64), "{versions:?}");
}

#[tokio::test]
async fn the_tables_of_a_newer_build_are_left_alone() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let options = || Postgres::options().schema(schema.clone());
    options().connect(cluster.url()).await.expect("a store").close().await;
    let mut other = raw(cluster.url(), &schema).await;
    run(&mut other, "INSERT INTO migrations (version) VALUES (99)").await;
    let refused = options().connect(cluster.url()).await.expect_err("too new");
    assert!(matches!(refused, ConnectError::NewerSchema { found: 99, .. }), "{refused}");
}

/// Once the tables are there, whoever uses them needs no right to make any; before, what is missing is said.
#[tokio::test]
async fn a_role_needs_a_schema_and_no_more() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let options = || Postgres::options().schema(schema.clone());
    let mut owner = raw(cluster.url(), &schema).await;
    run(&mut owner, &format!("CREATE ROLE {schema}_plain LOGIN")).await;
    let plain = cluster.url().replace("loom@", &format!("{schema}_plain@"));
    let refused = options().connect(&plain).await.expect_err("it may not create a schema");
    assert!(matches!(refused, ConnectError::NotAllowed { .. }), "{refused}");
    assert!(refused.to_string().contains(&format!("CREATE SCHEMA {schema} AUTHORIZATION")), "{refused}");
    run(&mut owner, &format!("CREATE SCHEMA {schema} AUTHORIZATION {schema}_plain")).await;
    let store = options().connect(&plain).await.expect("a store");
    Owner::create(&store, "a").await.append(1).await;
}

/// Tables of another role's: what is missing is said, as statements that its owner can run.
#[tokio::test]
async fn what_a_role_may_not_use_is_granted_by_what_is_said() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let options = || Postgres::options().schema(schema.clone());
    options().connect(cluster.url()).await.expect("a store").close().await;
    let mut owner = raw(cluster.url(), &schema).await;
    run(&mut owner, &format!("CREATE ROLE {schema}_guest LOGIN")).await;
    let guest = cluster.url().replace("loom@", &format!("{schema}_guest@"));
    let refused = options().connect(&guest).await.expect_err("it may use nothing").to_string();
    assert!(refused.contains(&format!("the role may not use schema `{schema}`")), "{refused}");
    // Without its tables, the server says which; and no line of its own source.
    run(&mut owner, &format!("GRANT USAGE ON SCHEMA {schema} TO {schema}_guest")).await;
    let refused = options().connect(&guest).await.expect_err("it may read nothing").to_string();
    assert!(refused.contains("permission denied for table migrations;"), "{refused}");
    let (_, grants) = refused.split_once("run `").expect("statements");
    run(&mut owner, &grants.trim_end_matches('`').replace("<role>", &format!("{schema}_guest"))).await;
    let store = options().connect(&guest).await.expect("a store");
    let mut owner = Owner::create(&store, "a").await;
    owner.append(1).await;
    store.post(item("a", None, "1")).await.expect("posted");
    assert_eq!(pending(&store, "a").await.len(), 1);
}

/// A migration that waits for a lock would stop everybody behind it.
#[tokio::test]
async fn a_migration_does_not_wait_for_ever() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let mut other = raw(cluster.url(), &schema).await;
    let held =
        "BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('loom ' || current_setting('search_path'), 0))";
    run(&mut other, held).await;
    let refused = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.expect_err("held");
    assert!(matches!(refused, ConnectError::Locked { .. }), "{refused}");
    run(&mut other, "ROLLBACK").await;
    Postgres::options().schema(schema).connect(cluster.url()).await.expect("a store");
}

/// A server that acknowledges before it has written is told to wait; one that is asked for more is left as it is.
#[tokio::test]
async fn commits_are_durable_whatever_the_server_s_default() {
    let Some(cluster) = Cluster::shared() else { return };
    let schema = cluster.fresh();
    let mut other = raw(cluster.url(), &schema).await;
    for (default, kept) in [("off", "on"), ("remote_apply", "remote_apply"), ("on", "on")] {
        let role = format!("{schema}_{default}");
        run(&mut other, &format!("CREATE ROLE {role} LOGIN SUPERUSER")).await;
        run(&mut other, &format!("ALTER ROLE {role} SET synchronous_commit = {default}")).await;
        // Seen by a trigger in the session of the writer.
        let url = cluster.url().replace("loom@", &format!("{role}@"));
        let store = Postgres::options().schema(role.clone()).connect(&url).await.expect("a store");
        let seen = format!(
            "CREATE TABLE {role}.seen (was text); \
             CREATE FUNCTION {role}.see() RETURNS trigger LANGUAGE plpgsql AS \
             $$ BEGIN INSERT INTO {role}.seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$; \
             CREATE TRIGGER see AFTER INSERT ON {role}.executions FOR EACH ROW EXECUTE FUNCTION {role}.see()"
        );
        run(&mut other, &seen).await;
        Owner::create(&store, "a").await;
        let was = sqlx::query(sqlx::AssertSqlSafe(format!("SELECT was FROM {role}.seen")));
        assert_eq!(was.fetch_one(&mut other).await.expect("seen").get::<String, _>(0), kept);
    }
}

fn is_about_bad<T: std::fmt::Debug>(answer: Result<T, StoreError>) {
    match answer {
        Err(StoreError::Corrupt(text)) => assert!(text.contains("`bad`"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn b41_an_unreadable_row_hides_no_other() {
    let Some(cluster) = Cluster::shared() else { return };
    for sql in [
        "UPDATE executions SET status = 'nonsense' WHERE id = 'bad'",
        "UPDATE executions SET input = 'nonsense' WHERE id = 'bad'",
        "UPDATE executions SET next = -4 WHERE id = 'bad'",
        "UPDATE executions SET worker = NULL WHERE id = 'bad'",
        "UPDATE executions SET takeovers = -1 WHERE id = 'bad'",
    ] {
        let schema = cluster.fresh();
        let store = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.expect("a store");
        Owner::create(&store, "bad").await;
        let mut good = Owner::create(&store, "good").await;
        run(&mut raw(cluster.url(), &schema).await, sql).await;
        is_about_bad(store.get(&id("bad")).await);
        let rows = store.list(&ListFilter::default()).await.expect("list");
        assert_eq!(rows.iter().map(|row| row.id.as_str()).collect::<Vec<_>>(), ["good"], "{sql}");
        good.append(1).await;
        // It is first in line, and must not keep the others from their turn.
        let unowned = NewExecution { claim: None, ..new("next", "nobody") };
        store.create(unowned).await.expect("created");
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
        let posted = store.post(item("good", None, "1")).await;
        assert!(matches!(posted, Ok(Posted::Accepted(_))), "{posted:?}");
        if sql.contains("status") {
            is_about_bad(store.post(item("bad", None, "1")).await);
        }
    }
}

#[tokio::test]
async fn a_log_with_a_hole_is_told_of() {
    let Some(cluster) = Cluster::shared() else { return };
    for (sql, fault) in [
        ("DELETE FROM events WHERE sequence = 2", "event 3 where 2 is expected"),
        ("DELETE FROM events WHERE sequence = 3", "its log ends before event 3, its row says 4"),
        ("UPDATE events SET payload = '\\xff' WHERE sequence = 1", "bytes that are no text"),
    ] {
        let schema = cluster.fresh();
        let store = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.expect("a store");
        Owner::create(&store, "bad").await.append(3).await;
        run(&mut raw(cluster.url(), &schema).await, sql).await;
        let read = store.read(&id("bad"), 0, 100).await;
        assert!(matches!(&read, Err(StoreError::Corrupt(text)) if text.contains(fault)), "{read:?}");
        is_about_bad(read);
    }
}
