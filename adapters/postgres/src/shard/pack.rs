//! Everything that the database has of ids in some slots, as parcels.
//! Not the taking in of one.

use std::collections::HashMap;

use loom_runtime::{
    ExecutionId,
    kernel::Record,
    ports::{InboxItem, PackedExecution, PackedItem, PackedSnapshot, Parcel, Slot, StoreError},
};
use sqlx::{Connection, PgConnection, postgres::PgRow};

use crate::{
    read,
    row::{self, AWAITED, Reader, integer},
};

/// All statements see one moment.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

const HEADS: &str = row::execution!(
    ", e.seen, e.first_batch, e.first_content, e.batch, e.content FROM executions AS e \
     WHERE slot_of(e.id) = ANY($1) AND e.id > $2 ORDER BY e.id LIMIT $3"
);
const EVENTS: &str = "SELECT execution, sequence, kind, at, schema, payload, meta FROM events \
     WHERE execution = ANY($1) ORDER BY execution, sequence";
const ITEMS: &str = "SELECT execution, id, item_key, kind, payload, at, content, consumed FROM inbox \
     WHERE execution = ANY($1) ORDER BY id";
const GATES: &str = "SELECT e.id, g.frame, g.gate, g.schema, g.opened_at, g.expires_at, g.state, g.run, g.execution \
     FROM gates AS g JOIN executions AS e ON e.key = g.execution WHERE g.execution = ANY($1) ORDER BY g.key";
const SNAPSHOTS: &str =
    "SELECT execution, subject, sequence, bad, body FROM snapshots WHERE execution = ANY($1)";
const UNFIT: &str = "SELECT execution, program FROM unfit WHERE execution = ANY($1)";

/// Rows by the key of their execution.
type ByKey = HashMap<i64, Vec<PgRow>>;

pub(super) async fn parcels(
    connection: &mut PgConnection,
    slots: &[Slot],
    after: Option<&ExecutionId>,
    limit: usize,
) -> sqlx::Result<Result<Vec<Parcel>, StoreError>> {
    let mut transaction = connection.begin_with(BEGIN).await?;
    let newest: i64 =
        sqlx::query_scalar("SELECT last_value FROM inbox_ids").fetch_one(&mut *transaction).await?;
    let slots: Vec<i32> = slots.iter().map(|slot| slot.number().into()).collect();
    let heads = sqlx::query(HEADS).bind(slots).bind(after.map_or("", ExecutionId::as_str));
    let heads = heads.bind(integer(limit as u64)).fetch_all(&mut *transaction).await?;
    let keys: Vec<i64> = heads.iter().filter_map(|row| Reader::new(row, "").get(0).ok()).collect();
    let mut events = by_key(&mut transaction, EVENTS, &keys, 0).await?;
    let mut items = by_key(&mut transaction, ITEMS, &keys, 0).await?;
    let mut gates = by_key(&mut transaction, GATES, &keys, 8).await?;
    let mut snapshots = by_key(&mut transaction, SNAPSHOTS, &keys, 0).await?;
    let mut unfit = by_key(&mut transaction, UNFIT, &keys, 0).await?;
    transaction.commit().await?;
    let parcel = |head: &PgRow| {
        let id = row::id(head, 1)?;
        let read = Reader::new(head, id.as_str());
        let key: i64 = read.get(0)?;
        let of = |rows: &mut ByKey| rows.remove(&key).unwrap_or_default();
        let digest = |n: usize| read.digest(row::EXECUTION_WIDTH + n);
        let execution = if read.get::<&str>(4)? == AWAITED {
            None
        } else {
            Some(PackedExecution {
                row: row::read(head)?,
                fence: read.count(11)?,
                seen: read.count(row::EXECUTION_WIDTH)?,
                first: (digest(1)?, digest(2)?),
                last: (digest(3)?, digest(4)?),
                records: of(&mut events).iter().map(|row| record(row, &id)).collect::<Result<_, _>>()?,
                gates: of(&mut gates).iter().map(read::gate).collect::<Result<_, _>>()?,
                snapshots: of(&mut snapshots)
                    .iter()
                    .map(|row| snapshot(row, &id))
                    .collect::<Result<_, _>>()?,
                unfit: of(&mut unfit)
                    .iter()
                    .map(|row| Reader::new(row, id.as_str()).digest(1))
                    .collect::<Result<_, _>>()?,
            })
        };
        let items = of(&mut items).iter().map(|row| item(row, &id)).collect::<Result<_, _>>()?;
        Ok(Parcel { id: id.clone(), execution, items, newest: newest.unsigned_abs() })
    };
    Ok(heads.iter().map(parcel).collect())
}

async fn by_key(
    transaction: &mut PgConnection,
    sql: &'static str,
    keys: &[i64],
    at: usize,
) -> sqlx::Result<ByKey> {
    let mut found = ByKey::new();
    for row in sqlx::query(sql).bind(keys).fetch_all(transaction).await? {
        let key = sqlx::Row::try_get(&row, at)?;
        found.entry(key).or_default().push(row);
    }
    Ok(found)
}

fn record(row: &PgRow, of: &ExecutionId) -> Result<Record, StoreError> {
    let read = Reader::new(row, of.as_str());
    let schema: i32 = read.get(4)?;
    let schema = schema.try_into().map_err(|_| read.corrupt("the schema of an event that is none"))?;
    Ok(Record {
        sequence: read.count(1)?,
        kind: read.get(2)?,
        at: read.instant(3)?,
        schema,
        payload: read.text(5)?,
        meta: read.text(6)?,
    })
}

fn item(row: &PgRow, of: &ExecutionId) -> Result<PackedItem, StoreError> {
    let read = Reader::new(row, of.as_str());
    let item = InboxItem {
        id: read.count(1)?,
        key: read.maybe_text(2)?,
        kind: read.get(3)?,
        payload: read.text(4)?,
        at: read.instant(5)?,
    };
    Ok(PackedItem { item, content: read.digest(6)?, consumed: read.get(7)? })
}

fn snapshot(row: &PgRow, of: &ExecutionId) -> Result<PackedSnapshot, StoreError> {
    let read = Reader::new(row, of.as_str());
    let body = if read.get(3)? { None } else { Some(read.text(4)?) };
    Ok(PackedSnapshot { of: read.get(1)?, sequence: read.count(2)?, body })
}
