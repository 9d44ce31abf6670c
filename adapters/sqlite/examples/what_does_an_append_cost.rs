//! What does an append cost, beside the bare commit that it cannot do without?
//! Not a test: run it with `cargo run --release -p loom-durable-sqlite --example what_does_an_append_cost`,
//! or with the numbers of executions that are to append at once.
#![allow(clippy::print_stdout, reason = "it prints the comparison")]
#![allow(clippy::unwrap_used, reason = "a failure ends the measurement")]

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use loom_runtime::{
    kernel::{Digest, Record, Timestamp},
    ports::{Append, Created, EventStore, NewExecution},
};
use sqlite::Sqlite;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

const ROUND: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let directory = tempfile::tempdir_in(".").unwrap();
    let file = |name: &str| directory.path().join(name);
    println!("one event of 200 bytes an append; appends a second, bare and store in turns");
    let asked: Vec<usize> = std::env::args().skip(1).map(|count| count.parse().unwrap()).collect();
    for executions in if asked.is_empty() { vec![1, 8, 64] } else { asked } {
        let (mut bare, mut store, mut latency) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            bare.push(bare_commits(&file(&format!("bare-{executions}-{round}.db")), executions).await);
            let (rate, p50) = appends(file(&format!("store-{executions}-{round}.db")), executions).await;
            store.push(rate);
            latency.push(p50);
        }
        let (bare, store) = (median(&mut bare), median(&mut store));
        println!(
            "{executions:>3} executions: store {store:>7.0}/s (p50 {:?}), bare commits of {executions} rows {bare:>7.0}/s, ratio {:.2}",
            Duration::from_nanos(median(&mut latency) as u64 * 1_000),
            store / bare
        );
    }
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// The same rows in the same table, one statement and one synced commit for all of them; nothing is checked.
async fn bare_commits(path: &Path, rows: usize) -> f64 {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut connection = options.disable_statement_logging().connect().await.unwrap();
    let table = "CREATE TABLE events (execution INTEGER, sequence INTEGER, kind TEXT, at INTEGER, schema INTEGER, \
                 payload TEXT, meta TEXT, PRIMARY KEY (execution, sequence)) STRICT";
    sqlx::query(table).execute(&mut connection).await.unwrap();
    let insert = format!("INSERT INTO events VALUES {}", vec!["(?,?,?,?,?,?,?)"; rows].join(","));
    let (payload, started) = (payload(), Instant::now());
    let mut sequence = 0_i64;
    while started.elapsed() < ROUND {
        let mut query = sqlx::query(AssertSqlSafe(insert.clone()));
        for execution in 0..rows as i64 {
            query = query.bind(execution).bind(sequence).bind("STEP_COMPLETED").bind(0_i64).bind(1_i64);
            query = query.bind(payload.clone()).bind("{}");
        }
        query.execute(&mut connection).await.unwrap();
        sequence += 1;
    }
    let rate = sequence as f64 * rows as f64 / started.elapsed().as_secs_f64();
    connection.close().await.unwrap();
    rate
}

/// Appends a second of so many owners, each of whom waits for its acknowledgement; and the median wait in µs.
async fn appends(path: PathBuf, executions: usize) -> (f64, f64) {
    let store = Sqlite::open(path).await.unwrap();
    let started = Instant::now();
    let owners: Vec<_> = (0..executions).map(|n| tokio::spawn(own(store.clone(), n))).collect();
    let mut waits = Vec::new();
    for owner in owners {
        waits.extend(owner.await.unwrap());
    }
    let rate = waits.len() as f64 / started.elapsed().as_secs_f64();
    store.close().await;
    (rate, median(&mut waits))
}

async fn own(store: Sqlite, n: usize) -> Vec<f64> {
    let (at, input) = (Timestamp::EPOCH, Digest::of(b""));
    let record = |sequence| Record {
        sequence,
        kind: "STEP_COMPLETED".into(),
        at,
        schema: 1,
        payload: payload(),
        meta: "{}".into(),
    };
    let id: loom_runtime::ExecutionId = format!("execution-{n}").parse().unwrap();
    let claim = Some(("worker".into(), at));
    let (batch, flow) = (Digest::of(id.as_str().as_bytes()), "flow".into());
    let (records, gates) = (vec![record(0)], Vec::new());
    let new = NewExecution {
        id: id.clone(),
        flow,
        input,
        records,
        gates,
        base: 0,
        batch,
        claim,
        turn: Default::default(),
    };
    let Created::New { fence } = store.create(new).await.unwrap() else { panic!("a fresh file") };
    let (mut waits, started) = (Vec::new(), Instant::now());
    while started.elapsed() < ROUND {
        let next = waits.len() as u64 + 1;
        let append = Append {
            execution: id.clone(),
            expected_next: next,
            fence,
            batch: Digest::of_parts(&[id.as_str().as_bytes(), &next.to_le_bytes()]),
            records: vec![record(next)],
            at,
            progress: true,
            gates: Vec::new(),
            consumed: Vec::new(),
            posts: Vec::new(),
            run: None,
            close: None,
        };
        let asked = Instant::now();
        store.append(&append).await.unwrap();
        waits.push(asked.elapsed().as_secs_f64() * 1e6);
    }
    waits
}

fn payload() -> String {
    format!("\"{}\"", "x".repeat(198))
}
