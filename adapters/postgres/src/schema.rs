//! The tables, as numbered migrations that a live database can stand.
//! Not the queries: each lives beside the code that binds it.

use sqlx::{AssertSqlSafe, Connection, PgConnection};

/// The version that this build writes: that of the last migration.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// In order, from version 1. One that was released is never edited. Workers of the build before go on while one
/// runs, so a migration only adds: tables, columns that may be null or have a constant default, indexes of new or
/// small tables. What takes longer is done in the background by a later build.
const MIGRATIONS: [&str; 4] = [TABLES, REMOVALS, TURNS, SHARDS];

/// Instants are microseconds since the epoch. `due_at` is the first instant at which a claim may take the
/// execution, NULL when it waits for somebody; an index over it tells whether there is any, [`QUEUES`] which of many comes first.
///
/// Whatever comes from outside is BYTEA, byte for byte as given (TEXT takes no NUL, JSONB neither order nor
/// spelling; measured, bytes are written about as fast, read three times as fast and take a tenth less room: `payloads` of
/// the benches), and where it has to be unique its digest is: an index entry holds 2.7 kB at most. Names are
/// compared by their bytes.
///
/// `executions` keeps no log data, and what appends change comes after what they do not: so the row stays narrow,
/// and the record of its change in the server's own log is short. Only `due_at`, `worker` and `status` are indexed
/// of what changes, and an ordinary append changes none of them: then the new version of the row stays on its page, which has room.
/// A row with the status `awaited` is none yet: it holds the place of an id that items have come for early.
///
/// `inbox` is the newest item that was ever posted, `seen` the newest that the last owner had read when it closed.
/// `unfit` holds the programs whose claims pass over an execution, until its next run.
///
/// `events` is partitioned by execution from the first version on: vacuum, and whoever archives, takes a part at a time. It
/// costs little: measured beside one table (`partitions` of the benches), events are written 1.16 times as fast, and logs read
/// 0.90 times. There are no foreign keys: who inserts holds the lock of the execution's row, and rows of `executions` stay.
///
/// Each index answers somebody: `due` whether there is anything to claim, `worker` what is renewed, counted for lanes and looked
/// at for mail, `parked` the worker that tries them again, `awaited` the pass that forgets early items, `pending` and `keys`
/// the inbox, `frames` and `open` the gates.
const TABLES: &str = r#"
CREATE TABLE executions (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    flow text COLLATE "C" NOT NULL,
    input bytea NOT NULL,
    created_at bigint NOT NULL,
    first_batch bytea NOT NULL,
    first_content bytea NOT NULL,
    status text COLLATE "C" NOT NULL,
    worker text COLLATE "C",
    lease_until bigint,
    fence bigint NOT NULL,
    wake_at bigint,
    due_at bigint,
    base bigint NOT NULL,
    inbox bigint NOT NULL DEFAULT 0,
    seen bigint NOT NULL DEFAULT 0,
    takeovers int NOT NULL,
    next bigint NOT NULL,
    updated_at bigint NOT NULL,
    batch bytea NOT NULL,
    content bytea NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.05);
CREATE INDEX executions_due ON executions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX executions_worker ON executions (worker) WHERE worker IS NOT NULL;
CREATE INDEX executions_parked ON executions (id) WHERE status = 'parked';
CREATE INDEX executions_awaited ON executions (id) WHERE status = 'awaited';

CREATE TABLE events (
    execution bigint NOT NULL,
    sequence bigint NOT NULL,
    at bigint NOT NULL,
    schema int NOT NULL,
    kind text COLLATE "C" NOT NULL,
    payload bytea NOT NULL,
    meta bytea NOT NULL,
    PRIMARY KEY (execution, sequence)
) PARTITION BY HASH (execution);
CREATE TABLE events_0 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE events_1 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE events_2 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE events_3 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE events_4 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE events_5 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE events_6 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE events_7 PARTITION OF events FOR VALUES WITH (MODULUS 8, REMAINDER 7);

CREATE SEQUENCE inbox_ids;
CREATE TABLE inbox (
    id bigint PRIMARY KEY,
    execution bigint NOT NULL,
    at bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    item_key bytea,
    payload bytea NOT NULL,
    content bytea NOT NULL,
    consumed boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX inbox_keys ON inbox (execution, sha256(item_key)) WHERE item_key IS NOT NULL;
CREATE INDEX inbox_pending ON inbox (execution, id) WHERE NOT consumed;

CREATE TABLE gates (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    execution bigint NOT NULL,
    run bigint NOT NULL,
    opened_at bigint NOT NULL,
    expires_at bigint,
    state text COLLATE "C" NOT NULL,
    frame bytea NOT NULL,
    gate text COLLATE "C" NOT NULL,
    schema bytea NOT NULL
);
CREATE UNIQUE INDEX gates_frames ON gates (execution, run, sha256(frame));
CREATE INDEX gates_open ON gates (execution) WHERE state = 'open';

CREATE TABLE branches (
    name bytea NOT NULL,
    execution bigint NOT NULL,
    version bigint NOT NULL,
    set_at bigint NOT NULL,
    set_by bytea NOT NULL
);
CREATE UNIQUE INDEX branches_names ON branches (sha256(name));

CREATE TABLE snapshots (
    execution bigint NOT NULL,
    sequence bigint NOT NULL,
    bad boolean NOT NULL,
    subject text COLLATE "C" NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (execution, subject, sequence)
);

CREATE TABLE unfit (
    execution bigint NOT NULL,
    program bytea NOT NULL,
    PRIMARY KEY (execution, program)
);
"#;

/// `first` is the first event that a log still holds. What was before it is in an archive.
const REMOVALS: &str = "ALTER TABLE executions ADD COLUMN first bigint NOT NULL DEFAULT 0";

/// Turns. `begins` holds when executions of a lane with a rate were claimed for the first time, for as long as it counts.
const TURNS: &str = r#"
ALTER TABLE executions
    ADD COLUMN priority smallint NOT NULL DEFAULT 0,
    ADD COLUMN lane bytea,
    ADD COLUMN at_most bigint,
    ADD COLUMN rate bigint,
    ADD COLUMN rate_within bigint,
    ADD COLUMN weight int NOT NULL DEFAULT 1;

CREATE TABLE begins (
    lane bytea NOT NULL,
    at bigint NOT NULL
);
CREATE INDEX begins_order ON begins (sha256(lane), at);
"#;

/// The database's part in a fleet of stores, if it has one, and then the place of every slot. `slot_of` is `Slot::of`; ids
/// are ASCII. The trigger that refuses what is elsewhere is made by whoever joins ([`GUARD`]).
const SHARDS: &str = r#"
CREATE TABLE shard (
    one boolean PRIMARY KEY CHECK (one),
    name bytea NOT NULL,
    fleet text COLLATE "C" NOT NULL,
    ordinal int NOT NULL
);
CREATE TABLE slots (
    slot int PRIMARY KEY,
    standing text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL,
    peer bytea NOT NULL,
    mover text COLLATE "C" NOT NULL
);
CREATE FUNCTION slot_of(id text) RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (get_byte(sha256(replace(id, '\', '\\')::bytea), 0) * 256
        + get_byte(sha256(replace(id, '\', '\\')::bytea), 1)) % 1024
$$;
CREATE FUNCTION refuse_elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('loom slots ' || current_schema(), 0));
    IF EXISTS (SELECT 1 FROM slots WHERE slot = slot_of(NEW.id) AND standing <> 'here') THEN
        RAISE EXCEPTION 'the slot of this execution is in another database' USING ERRCODE = 'LM001';
    END IF;
    RETURN NEW;
END
$$;
"#;

/// Whoever creates, appends, posts or claims sets one of these columns: for what is elsewhere the server itself says no,
/// whichever build asks. A mover says so of itself.
pub(crate) const GUARD: &str = "CREATE TRIGGER executions_elsewhere BEFORE INSERT OR UPDATE OF batch, fence ON executions \
     FOR EACH ROW WHEN (current_setting('loom.mover', true) IS DISTINCT FROM 'on') EXECUTE FUNCTION refuse_elsewhere()";

/// The queues of what is due, each in order, for claims that find much of it. Without it they are as right, and slow: so it is
/// no version of the schema, and builds before it share the database.
const QUEUES: &str = r"executions_queue ON executions
    (flow, (coalesce('\x01'::bytea || lane, '')), priority, due_at, (fence = 0), created_at, id) WHERE due_at IS NOT NULL";

/// What a schema is like.
pub(crate) enum Found {
    /// Of this version now.
    Ready,
    /// Of a newer build.
    Newer(i64),
}

/// Brings the schema to [`VERSION`]. One that is there already costs a look: no lock is taken, no permission
/// needed. Else one of the processes that ask at once does it, in one transaction, and waits for no lock longer
/// than the connection's `lock_timeout`: a migration that queues behind a long transaction would stop everybody.
pub(crate) async fn migrate(connection: &mut PgConnection, schema: &str) -> sqlx::Result<Found> {
    if let Some(version) = version(connection, schema).await?
        && version >= VERSION
    {
        return Ok(if version == VERSION { Found::Ready } else { Found::Newer(version) });
    }
    let mut transaction = connection.begin().await?;
    sqlx::query("SELECT pg_advisory_xact_lock(hashtextextended('loom ' || $1, 0))")
        .bind(schema)
        .execute(&mut *transaction)
        .await?;
    let version = match version(&mut transaction, schema).await? {
        Some(version) => version,
        None => {
            let there = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
            if sqlx::query(there).bind(schema).fetch_optional(&mut *transaction).await?.is_none() {
                // Its name was checked: lower-case letters, digits and `_`.
                let sql = format!("CREATE SCHEMA {schema}");
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
            }
            let table =
                "CREATE TABLE migrations (version bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())";
            sqlx::raw_sql(table).execute(&mut *transaction).await?;
            0
        }
    };
    if version > VERSION {
        return Ok(Found::Newer(version));
    }
    let done = usize::try_from(version).unwrap_or(0);
    for (migration, n) in MIGRATIONS.iter().zip(1_i64..).skip(done) {
        sqlx::raw_sql(*migration).execute(&mut *transaction).await?;
        let note = "INSERT INTO migrations (version) VALUES ($1)";
        sqlx::query(note).bind(n).execute(&mut *transaction).await?;
    }
    if version == 0 {
        let sql = format!("CREATE INDEX {QUEUES}");
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(Found::Ready)
}

/// Makes what only speeds a schema up, if it is missing, beside everybody's work. One process does it; who comes meanwhile goes on
/// without, as everybody does if it fails.
pub(crate) async fn speed_up(connection: &mut PgConnection, schema: &str) -> sqlx::Result<()> {
    let valid = "SELECT i.indisvalid FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid \
         JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = 'executions_queue'";
    let found: Option<bool> = sqlx::query_scalar(valid).bind(schema).fetch_optional(&mut *connection).await?;
    if found == Some(true) {
        return Ok(());
    }
    // Not waited for: it is made once all who wait in a transaction are gone.
    let lock = "SELECT pg_try_advisory_lock(hashtextextended('loom queues ' || $1, 0))";
    if !sqlx::query_scalar(lock).bind(schema).fetch_one(&mut *connection).await? {
        return Ok(());
    }
    // It waits for whoever has begun something, and holds nobody up meanwhile. What is there was given up half-way.
    sqlx::raw_sql("SET lock_timeout = '1min'").execute(&mut *connection).await?;
    sqlx::raw_sql("DROP INDEX CONCURRENTLY IF EXISTS executions_queue").execute(&mut *connection).await?;
    let create = format!("CREATE INDEX CONCURRENTLY {QUEUES}");
    sqlx::raw_sql(AssertSqlSafe(create)).execute(connection).await.map(drop)
}

/// The version of the schema; none when it has no tables of ours.
async fn version(connection: &mut PgConnection, schema: &str) -> sqlx::Result<Option<i64>> {
    let there = "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'migrations'";
    if sqlx::query(there).bind(schema).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(None);
    }
    let version = "SELECT coalesce(max(version), 0) FROM migrations";
    sqlx::query_scalar(version).fetch_one(&mut *connection).await.map(Some)
}
