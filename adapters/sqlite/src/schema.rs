//! The tables, as numbered migrations.
//! Not the queries: each lives beside the code that binds it.

use sqlx::{
    SqlSafeStr,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    sqlite::SqliteConnection,
};

/// The version that this build writes: that of the last migration.
pub(crate) const VERSION: i64 = 9;

/// Instants are microseconds since the epoch. `due_at` is the first instant at which a claim may take the
/// execution, NULL when it waits for somebody; an index over it tells whether there is any. Payloads are TEXT, byte
/// for byte as given. `executions` keeps no log data, so that the row that every append changes stays narrow.
/// `events` grows at its end, with an index beside it: kept in the order of its key (WITHOUT ROWID), a commit
/// for 64 executions writes 64 pages instead of a few, which makes it half as fast.
const TABLES: &str = "
CREATE TABLE executions (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    flow TEXT NOT NULL,
    input TEXT NOT NULL,
    status TEXT NOT NULL,
    next INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    wake_at INTEGER,
    worker TEXT,
    lease_until INTEGER,
    fence INTEGER NOT NULL,
    takeovers INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    due_at INTEGER,
    first_batch BLOB NOT NULL,
    first_content BLOB NOT NULL,
    batch BLOB NOT NULL,
    content BLOB NOT NULL
) STRICT;
CREATE INDEX executions_due ON executions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX executions_worker ON executions (worker) WHERE worker IS NOT NULL;

CREATE TABLE events (
    execution INTEGER NOT NULL REFERENCES executions (key),
    sequence INTEGER NOT NULL,
    kind TEXT NOT NULL,
    at INTEGER NOT NULL,
    schema INTEGER NOT NULL,
    payload TEXT NOT NULL,
    meta TEXT NOT NULL,
    PRIMARY KEY (execution, sequence)
) STRICT;

CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    execution INTEGER NOT NULL REFERENCES executions (key),
    item_key TEXT,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    content BLOB NOT NULL,
    at INTEGER NOT NULL,
    consumed INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX inbox_keys ON inbox (execution, item_key) WHERE item_key IS NOT NULL;
CREATE INDEX inbox_pending ON inbox (execution, id) WHERE consumed = 0;

CREATE TABLE gates (
    key INTEGER PRIMARY KEY,
    execution INTEGER NOT NULL REFERENCES executions (key),
    frame TEXT NOT NULL,
    gate TEXT NOT NULL,
    schema TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER,
    state TEXT NOT NULL,
    UNIQUE (execution, frame)
) STRICT;
CREATE INDEX gates_open ON gates (execution) WHERE state = 'open';
";

/// `base` is the first event of the current run. A gate belongs to the run that opened it, so the same frame may
/// open one in each: a constraint of a table cannot be changed, the table is made anew. `early` holds items for
/// executions that do not exist yet; its positions are those of `inbox`, and both go on from the higher one.
const RUNS: &str = "
ALTER TABLE executions ADD COLUMN base INTEGER NOT NULL DEFAULT 0;

CREATE TABLE gates_by_run (
    key INTEGER PRIMARY KEY,
    execution INTEGER NOT NULL REFERENCES executions (key),
    run INTEGER NOT NULL,
    frame TEXT NOT NULL,
    gate TEXT NOT NULL,
    schema TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER,
    state TEXT NOT NULL,
    UNIQUE (execution, run, frame)
) STRICT;
INSERT INTO gates_by_run (key, execution, run, frame, gate, schema, opened_at, expires_at, state)
    SELECT key, execution, 0, frame, gate, schema, opened_at, expires_at, state FROM gates;
DROP TABLE gates;
ALTER TABLE gates_by_run RENAME TO gates;
CREATE INDEX gates_open ON gates (execution) WHERE state = 'open';

CREATE TABLE early (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    execution TEXT NOT NULL,
    item_key TEXT,
    kind TEXT NOT NULL,
    payload TEXT NOT NULL,
    content BLOB NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX early_keys ON early (execution, item_key) WHERE item_key IS NOT NULL;
CREATE INDEX early_order ON early (execution, id);

CREATE TABLE branches (
    name TEXT PRIMARY KEY,
    execution INTEGER NOT NULL REFERENCES executions (key),
    version INTEGER NOT NULL,
    set_at INTEGER NOT NULL,
    set_by TEXT NOT NULL
) STRICT;
";

/// A snapshot that is marked bad keeps its row, so that it is not made again, and loses its body.
const SNAPSHOTS: &str = "
CREATE TABLE snapshots (
    execution INTEGER NOT NULL REFERENCES executions (key),
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL,
    bad INTEGER NOT NULL,
    PRIMARY KEY (execution, sequence)
) STRICT;
";

/// The programs whose claims pass over an execution, until its next run.
const UNFIT: &str = "
CREATE TABLE unfit (
    execution INTEGER NOT NULL REFERENCES executions (key),
    program BLOB NOT NULL,
    PRIMARY KEY (execution, program)
) STRICT, WITHOUT ROWID;
";

/// Read models are kept beside states. A snapshot is never the truth: those that there are go, and are made again.
const SUBJECTS: &str = "
DROP TABLE snapshots;
CREATE TABLE snapshots (
    execution INTEGER NOT NULL REFERENCES executions (key),
    subject TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL,
    bad INTEGER NOT NULL,
    PRIMARY KEY (execution, subject, sequence)
) STRICT;
";

/// `first` is the first event that a log still holds. What was before it is in an archive.
const REMOVALS: &str = "
ALTER TABLE executions ADD COLUMN first INTEGER NOT NULL DEFAULT 0;
";

/// Turns. `begins` holds when executions of a lane with a rate were claimed for the first time, for as long as it counts.
const TURNS: &str = "
ALTER TABLE executions ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN lane TEXT;
ALTER TABLE executions ADD COLUMN at_most INTEGER;
ALTER TABLE executions ADD COLUMN rate INTEGER;
ALTER TABLE executions ADD COLUMN rate_within INTEGER;
ALTER TABLE executions ADD COLUMN weight INTEGER NOT NULL DEFAULT 1;

CREATE TABLE begins (
    key INTEGER PRIMARY KEY,
    lane TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX begins_order ON begins (lane, at);
";

/// The file's part in a fleet of stores, if it has one, and then the place of every slot.
const SHARDS: &str = "
CREATE TABLE shard (
    key INTEGER PRIMARY KEY CHECK (key = 1),
    name TEXT NOT NULL,
    fleet TEXT NOT NULL,
    ordinal INTEGER NOT NULL
) STRICT;
CREATE TABLE slots (
    slot INTEGER PRIMARY KEY,
    standing TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    peer TEXT NOT NULL,
    mover TEXT NOT NULL
) STRICT;
CREATE INDEX slots_elsewhere ON slots (slot) WHERE standing <> 'here';
";

/// The queues of what is due, each in order, for claims that find much of it.
const QUEUES: &str = "
CREATE INDEX executions_queue ON executions (flow, ifnull(lane, x''), priority, due_at, fence = 0, created_at, id)
    WHERE due_at IS NOT NULL;
";

/// Brings the file to [`VERSION`]; run inside a transaction that holds the write lock, so that two processes
/// that open a new file at once do not both create the tables.
pub(crate) async fn migrate(connection: &mut SqliteConnection) -> Result<(), MigrateError> {
    let step = |version, name: &'static str, sql: &'static str| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    // Files remember the text of each: one that was released is never edited.
    let steps = vec![
        step(1, "tables", TABLES),
        step(2, "runs, early items, branches", RUNS),
        step(3, "snapshots", SNAPSHOTS),
        step(4, "unfit programs", UNFIT),
        step(5, "snapshots by what they are of", SUBJECTS),
        step(6, "removals", REMOVALS),
        step(7, "turns", TURNS),
        step(8, "shards", SHARDS),
        step(VERSION, "queues", QUEUES),
    ];
    let mut migrator = Migrator::with_migrations(steps);
    // Its own name: the file may hold the user's tables too, with sqlx's own record of them.
    migrator.dangerous_set_table_name("loom_migrations");
    migrator.run_direct(None, connection, false).await
}
