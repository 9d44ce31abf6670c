//! Everything that the file has of an id, as a parcel.
//! Not the taking in of one.

use loom_runtime::{
    ExecutionId,
    kernel::{Digest, Record},
    ports::{InboxId, InboxItem, PackedExecution, PackedItem, PackedSnapshot, Parcel, Slot, StoreError},
};
use sqlx::{SqliteConnection, SqlitePool, sqlite::SqliteRow};

use crate::{
    error,
    read::{fetch, gate},
    row::{self, Reader},
    script::{Script, integer},
};

/// How many ids are looked through at a time: their slots are in no row.
const LOOK: usize = 10_000;

/// The first ids in these slots after one, of executions and of early items.
pub(super) async fn ids(
    readers: &SqlitePool,
    slots: &[Slot],
    after: Option<&ExecutionId>,
    limit: usize,
) -> Result<Vec<ExecutionId>, StoreError> {
    let (mut found, mut after) = (Vec::new(), after.map_or("", ExecutionId::as_str).to_owned());
    loop {
        let mut script = Script::default();
        script.sql(
            "SELECT id FROM executions WHERE id > ? UNION SELECT execution FROM early WHERE execution > ? \
             ORDER BY 1 LIMIT ?;",
        );
        script.bind(after.clone()).bind(after.clone()).bind(integer(LOOK as u64));
        let rows = fetch(script, readers).await?;
        for row in &rows {
            let id = row::id(row)?;
            after = id.as_str().to_owned();
            if slots.contains(&Slot::of(&after)) {
                found.push(id);
                if found.len() == limit {
                    return Ok(found);
                }
            }
        }
        if rows.len() < LOOK {
            return Ok(found);
        }
    }
}

/// What there is of these, all of one moment.
pub(super) async fn parcels(
    readers: &SqlitePool,
    ids: Vec<ExecutionId>,
    newest: InboxId,
) -> Result<Vec<Parcel>, StoreError> {
    let failed = |error: sqlx::Error| error::unavailable(&error);
    let mut transaction = readers.begin().await.map_err(failed)?;
    let mut parcels = Vec::with_capacity(ids.len());
    for id in ids {
        parcels.push(parcel(&mut transaction, id, newest).await?);
    }
    transaction.commit().await.map_err(failed)?;
    Ok(parcels)
}

async fn rows(on: &mut SqliteConnection, script: Script) -> Result<Vec<SqliteRow>, StoreError> {
    script.fetch(on).await.map_err(|error| error::unavailable(&error))
}

async fn of(
    on: &mut SqliteConnection,
    execution: i64,
    sql: &'static str,
) -> Result<Vec<SqliteRow>, StoreError> {
    let mut script = Script::default();
    script.sql(sql).bind(execution);
    rows(on, script).await
}

async fn parcel(on: &mut SqliteConnection, id: ExecutionId, newest: InboxId) -> Result<Parcel, StoreError> {
    let mut script = Script::default();
    script.sql("SELECT ").sql(row::EXECUTION);
    script.sql(
        ", e.seen, e.first_batch, e.first_content, e.batch, e.content FROM executions AS e WHERE e.id = ?;",
    );
    script.bind(id.as_str());
    let Some(found) = rows(on, script).await?.pop() else {
        let mut script = Script::default();
        script.sql(
            "SELECT id, item_key, kind, payload, content, at, 0 FROM early WHERE execution = ? ORDER BY id;",
        );
        script.bind(id.as_str());
        let items = rows(on, script).await?;
        let items = items.iter().map(|row| item(row, &id)).collect::<Result<_, _>>()?;
        return Ok(Parcel { id, execution: None, items, newest });
    };
    let read = Reader::new(&found, id.as_str());
    let key = read.get(0)?;
    let at = |n: usize| digest(&read, row::EXECUTION_WIDTH + n);
    let inbox = of(
        on,
        key,
        "SELECT id, item_key, kind, payload, content, at, consumed FROM inbox WHERE execution = ? ORDER BY id;",
    )
    .await?;
    let events = of(
        on,
        key,
        "SELECT sequence, kind, at, schema, payload, meta FROM events WHERE execution = ? ORDER BY sequence;",
    )
    .await?;
    let gates = of(
        on,
        key,
        "SELECT e.id, g.frame, g.gate, g.schema, g.opened_at, g.expires_at, g.state, g.run FROM gates AS g \
         JOIN executions AS e ON e.key = g.execution WHERE g.execution = ? ORDER BY g.key;",
    )
    .await?;
    let snapshots =
        of(on, key, "SELECT subject, sequence, body, bad FROM snapshots WHERE execution = ?;").await?;
    let unfit = of(on, key, "SELECT program FROM unfit WHERE execution = ?;").await?;
    let execution = PackedExecution {
        row: row::execution(&found)?,
        fence: read.count(11)?,
        seen: read.count(row::EXECUTION_WIDTH)?,
        first: (at(1)?, at(2)?),
        last: (at(3)?, at(4)?),
        records: events.iter().map(|row| record(row, &id)).collect::<Result<_, _>>()?,
        gates: gates.iter().map(gate).collect::<Result<_, _>>()?,
        snapshots: snapshots.iter().map(|row| snapshot(row, &id)).collect::<Result<_, _>>()?,
        unfit: unfit.iter().map(|row| digest(&Reader::new(row, id.as_str()), 0)).collect::<Result<_, _>>()?,
    };
    let items = inbox.iter().map(|row| item(row, &id)).collect::<Result<_, _>>()?;
    Ok(Parcel { id, execution: Some(execution), items, newest })
}

fn digest(read: &Reader<'_>, at: usize) -> Result<Digest, StoreError> {
    let bytes: &[u8] = read.get(at)?;
    bytes.try_into().map(Digest::from_bytes).map_err(|_| read.corrupt("a digest that is none"))
}

fn item(row: &SqliteRow, of: &ExecutionId) -> Result<PackedItem, StoreError> {
    let read = Reader::new(row, of.as_str());
    let item = InboxItem {
        id: read.count(0)?,
        key: read.get(1)?,
        kind: read.get(2)?,
        payload: read.get(3)?,
        at: read.instant(5)?,
    };
    Ok(PackedItem { item, content: digest(&read, 4)?, consumed: read.get::<i64>(6)? != 0 })
}

fn record(row: &SqliteRow, of: &ExecutionId) -> Result<Record, StoreError> {
    let read = Reader::new(row, of.as_str());
    let schema =
        read.count(3)?.try_into().map_err(|_| read.corrupt("the schema of an event that is none"))?;
    Ok(Record {
        sequence: read.count(0)?,
        kind: read.get(1)?,
        at: read.instant(2)?,
        schema,
        payload: read.get(4)?,
        meta: read.get(5)?,
    })
}

fn snapshot(row: &SqliteRow, of: &ExecutionId) -> Result<PackedSnapshot, StoreError> {
    let read = Reader::new(row, of.as_str());
    let body = if read.get::<i64>(3)? == 0 { Some(read.get(2)?) } else { None };
    Ok(PackedSnapshot { of: read.get(0)?, sequence: read.count(1)?, body })
}
