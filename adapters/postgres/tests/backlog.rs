//! Claims from a backlog: they cost what they take, and take what a look at everything would.
//! Not whose turn it is: the conformance kit has those cases.
#![allow(clippy::expect_used, reason = "a test says what is wrong by failing")]

mod fixture;

use std::time::Duration;

use fixture::{at, raw, run};
use loom_runtime::{
    kernel::Digest,
    ports::{ClaimRequest, LeaseStore},
};
use postgres::{Postgres, cluster::Cluster};

/// `$n` executions that are due at 1,000: of two flows, in four lanes and none, of three priorities, new, woken, handed
/// back and abandoned; some are unfit.
const FILL: &str = "
INSERT INTO executions (id, flow, input, created_at, first_batch, first_content, status, worker, lease_until, fence, wake_at,
    due_at, base, takeovers, next, updated_at, batch, content, priority, lane, at_most, rate, rate_within, weight)
SELECT 'e' || i, 'f' || i % 2, '0123456789abcdef', i * 37 % 1009, '', '', CASE kind WHEN 1 THEN 'suspended' ELSE 'running' END,
    CASE kind WHEN 2 THEN 'gone' END, CASE kind WHEN 2 THEN i % 300 END, CASE kind WHEN 0 THEN 0 ELSE 1 END,
    CASE kind WHEN 1 THEN i * 17 % 700 END,
    CASE kind WHEN 1 THEN i * 17 % 700 WHEN 2 THEN i % 300 + 1 ELSE -9223372036854775808 END,
    0, 0, 1, 7, '', '', i * 31 % 3, nullif('\\x0' || i % 5, '\\x00')::bytea,
    CASE i % 5 WHEN 1 THEN 3 END, CASE i % 5 WHEN 2 THEN 4 END, CASE i % 5 WHEN 2 THEN 1000 END, 1 + i % 5
FROM (SELECT i, CASE WHEN i % 6 = 0 THEN 1 WHEN i % 10 = 3 AND i < 1000 THEN 2 WHEN i % 4 = 1 THEN 3 ELSE 0 END AS kind
    FROM generate_series(0, $n - 1) AS i) AS n;
INSERT INTO unfit (execution, program) SELECT key, '\\x00112233445566778899aabbccddeeff' FROM executions WHERE key % 50 = 7;
ANALYZE executions";

fn claim(limit: usize) -> ClaimRequest {
    let program = Digest::from_bytes(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes());
    ClaimRequest {
        worker: "w".into(),
        now: at(1_000),
        until: at(2_000),
        limit,
        execution: None,
        flows: None,
        program: Some((program, at(0))),
    }
}

/// A schema with so many executions due, and the store on it.
async fn filled(cluster: &Cluster, executions: usize) -> (Postgres, String) {
    let schema = cluster.fresh();
    let url = format!("{}?application_name={schema}", cluster.url());
    let store = Postgres::options().schema(schema.clone()).connect(&url).await.expect("a store");
    run(&mut raw(cluster.url(), &schema).await, &FILL.replace("$n", &executions.to_string())).await;
    (store, schema)
}

/// How many rows and index entries of `executions` a claim has looked at; the store is closed, which is when the server counts.
async fn looked_at(cluster: &Cluster, store: Postgres, schema: &str, limit: usize) -> i64 {
    let mut other = raw(cluster.url(), schema).await;
    run(&mut other, "SELECT pg_stat_force_next_flush()").await;
    run(
        &mut other,
        "SELECT pg_stat_reset_single_table_counters(i) FROM unnest(array(SELECT indexrelid FROM pg_index \
         WHERE indrelid = 'executions'::regclass) || 'executions'::regclass::oid) AS i",
    )
    .await;
    store.claim(&claim(limit)).await.expect("claim");
    store.close().await;
    let gone = "SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = $1";
    while !sqlx::query_scalar::<_, bool>(gone).bind(schema).fetch_one(&mut other).await.expect("an answer") {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let sum = "SELECT (SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'executions') \
         + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = $1 AND relname = 'executions')::bigint";
    sqlx::query_scalar(sum).bind(schema).fetch_one(&mut other).await.expect("an answer")
}

#[tokio::test]
async fn a_claim_costs_the_same_whatever_waits_behind_it() {
    let Some(cluster) = Cluster::shared() else { return };
    let mut costs = Vec::new();
    for executions in [1_000, 100_000] {
        let (store, schema) = filled(cluster, executions).await;
        costs.push(looked_at(cluster, store, &schema, 4).await);
    }
    assert!(costs[1] < costs[0] * 2, "rows of 1,000 and of 100,000 that were looked at: {costs:?}");
    assert!(costs[1] < 10_000, "{costs:?}");
}

/// What a claim of few finds by looking at the front of the queues is what a claim of many finds by looking at all.
#[tokio::test]
async fn the_front_of_the_queues_is_what_a_look_at_all_would_find() {
    let Some(cluster) = Cluster::shared() else { return };
    for executions in [400, 1_000, 2_000] {
        let (few, _) = filled(cluster, executions).await;
        let (all, _) = filled(cluster, executions).await;
        let few = few.claim(&claim(60)).await.expect("claim");
        let all = all.claim(&claim(executions)).await.expect("claim");
        let names = |claimed: &[loom_runtime::ports::Claimed]| -> Vec<String> {
            claimed.iter().take(60).map(|claimed| claimed.row.id.to_string()).collect()
        };
        assert_eq!(few.len(), 60);
        assert_eq!(names(&few), names(&all), "of {executions}");
    }
}

/// A database of the build before, on which somebody works, gets the index without being stopped; so does one where that was
/// given up half-way.
#[tokio::test]
async fn a_database_that_is_in_use_gets_its_index() {
    let Some(cluster) = Cluster::shared() else { return };
    let (store, schema) = filled(cluster, 2_000).await;
    let mut other = raw(cluster.url(), &schema).await;
    for before in [
        "DROP INDEX executions_queue",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'executions_queue'::regclass",
    ] {
        run(&mut other, before).await;
        assert_eq!(store.claim(&claim(5)).await.expect("claim").len(), 5, "without it claims are right");
        let newer = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.expect("a store");
        let valid = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'executions_queue'::regclass";
        assert!(sqlx::query_scalar::<_, bool>(valid).fetch_one(&mut other).await.expect("it is there"));
        assert_eq!(newer.claim(&claim(5)).await.expect("claim").len(), 5);
    }
    // Somebody is making it: whoever comes meanwhile goes on without.
    run(&mut other, "DROP INDEX executions_queue").await;
    let making = format!("SELECT pg_advisory_lock(hashtextextended('loom queues {schema}', 0))");
    run(&mut other, &making).await;
    let newer = Postgres::options().schema(schema).connect(cluster.url()).await.expect("a store");
    assert_eq!(newer.claim(&claim(5)).await.expect("claim").len(), 5);
}
