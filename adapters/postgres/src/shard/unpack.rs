//! Parcels that the database takes in, and slots that it empties.
//! Not the copying: that is the mover's.

use loom_runtime::{
    kernel::{Digest, Status, Timestamp},
    ports::{PackedExecution, PackedItem, Parcel, Slot},
};
use sqlx::{Connection, PgConnection, Row};

use super::places;
use crate::{
    create::due_of_lease,
    head::{AT_ONCE, Events},
    row::{AWAITED, integer},
};

/// Ids that are forgotten in one transaction.
const AT_A_TIME: i64 = 200;

/// The trigger lets a mover write to what is not here.
const MOVER: &str = "SET LOCAL loom.mover = 'on'";

const IN_SLOTS: &str = "SELECT key FROM executions WHERE slot_of(id) = ANY($1) LIMIT $2";
const WITH_IDS: &str = "SELECT key FROM executions WHERE id = ANY($1)";

const FORGET: [&str; 7] = [
    "DELETE FROM events WHERE execution = ANY($1)",
    "DELETE FROM inbox WHERE execution = ANY($1)",
    "DELETE FROM gates WHERE execution = ANY($1)",
    "DELETE FROM snapshots WHERE execution = ANY($1)",
    "DELETE FROM unfit WHERE execution = ANY($1)",
    "DELETE FROM branches WHERE execution = ANY($1)",
    "DELETE FROM executions WHERE key = ANY($1)",
];

const EXECUTION: &str = "INSERT INTO executions (id, flow, input, created_at, first_batch, first_content, status, worker, \
        lease_until, fence, wake_at, due_at, base, first, inbox, seen, takeovers, next, updated_at, batch, content, \
        priority, lane, at_most, rate, rate_within, weight) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, \
        $24, $25, $26, $27) RETURNING key";

const PLACE_HOLDER: &str = "INSERT INTO executions (id, flow, input, created_at, first_batch, first_content, status, fence, \
        base, takeovers, next, updated_at, batch, content) \
     VALUES ($1, '', $2, 0, $2, $2, $3, 0, 0, 0, 0, 0, $2, $2) RETURNING key";

const EVENTS: &str = "INSERT INTO events (execution, sequence, kind, at, schema, payload, meta) \
     SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::int[], $6::bytea[], $7::bytea[])";

const ITEMS: &str = "INSERT INTO inbox (execution, id, at, kind, item_key, payload, content, consumed) \
     SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bytea[], $6::bytea[], $7::bytea[], $8::bool[])";

const GATE: &str = "INSERT INTO gates (execution, run, opened_at, expires_at, state, frame, gate, schema) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
const SNAPSHOT: &str =
    "INSERT INTO snapshots (execution, subject, sequence, bad, body) VALUES ($1, $2, $3, $4, $5)";
const UNFIT: &str = "INSERT INTO unfit (execution, program) VALUES ($1, $2)";

/// Empties some of these slots, if it may; answers how many ids that were, 0 once they are empty.
pub(super) async fn clear(
    connection: &mut PgConnection,
    slots: &[Slot],
    mover: &str,
) -> sqlx::Result<Option<usize>> {
    let mut transaction = connection.begin().await?;
    let slots: Vec<i32> = slots.iter().map(|slot| slot.number().into()).collect();
    if !places::hold(&mut transaction, &slots, mover, true).await? {
        return Ok(None);
    }
    let keys = sqlx::query_scalar(IN_SLOTS).bind(&slots).bind(AT_A_TIME).fetch_all(&mut *transaction).await?;
    forget(&mut transaction, &keys).await?;
    transaction.commit().await?;
    Ok(Some(keys.len()))
}

async fn forget(transaction: &mut PgConnection, keys: &[i64]) -> sqlx::Result<()> {
    if !keys.is_empty() {
        for statement in FORGET {
            sqlx::query(statement).bind(keys).execute(&mut *transaction).await?;
        }
    }
    Ok(())
}

/// Takes parcels in, if it may: answers whether it did.
pub(super) async fn parcels(
    connection: &mut PgConnection,
    parcels: &[Parcel],
    mover: &str,
) -> sqlx::Result<bool> {
    let mut transaction = connection.begin().await?;
    sqlx::query(MOVER).execute(&mut *transaction).await?;
    let mut slots: Vec<i32> =
        parcels.iter().map(|parcel| Slot::of(parcel.id.as_str()).number().into()).collect();
    slots.sort_unstable();
    slots.dedup();
    if !places::hold(&mut transaction, &slots, mover, false).await? {
        return Ok(false);
    }
    let ids: Vec<&str> = parcels.iter().map(|parcel| parcel.id.as_str()).collect();
    let keys = sqlx::query_scalar(WITH_IDS).bind(ids).fetch_all(&mut *transaction).await?;
    forget(&mut transaction, &keys).await?;
    let mut events = Events::default();
    for parcel in parcels {
        let key = match &parcel.execution {
            Some(packed) => {
                let key = execution(&mut transaction, packed, &parcel.items).await?;
                events.add(key, &packed.records);
                of_execution(&mut transaction, key, packed).await?;
                key
            }
            None if parcel.items.is_empty() => continue,
            None => {
                let none = Digest::from_bytes([0; 16]).bytes().to_vec();
                let holder = sqlx::query(PLACE_HOLDER).bind(parcel.id.as_str()).bind(none).bind(AWAITED);
                holder.fetch_one(&mut *transaction).await?.try_get(0)?
            }
        };
        items(&mut transaction, key, &parcel.items).await?;
    }
    events.bind(sqlx::query(EVENTS)).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(true)
}

fn micros(at: Option<Timestamp>) -> Option<i64> {
    at.map(Timestamp::as_micros)
}

async fn execution(
    transaction: &mut PgConnection,
    packed: &PackedExecution,
    items: &[PackedItem],
) -> sqlx::Result<i64> {
    let row = &packed.row;
    let (worker, until) = row.lease.as_ref().map(|lease| (lease.worker.as_str(), lease.until)).unzip();
    let called = items.iter().any(|of| !of.consumed && of.item.id > packed.seen);
    let due_at = match row.status {
        Status::Running => Some(due_of_lease(micros(until))),
        Status::Suspended | Status::Parked if called => Some(AT_ONCE),
        Status::Suspended => micros(row.wake_at),
        _ => None,
    };
    let digest = |digest: Digest| digest.bytes().to_vec();
    let newest = items.iter().map(|of| of.item.id).max().unwrap_or(0);
    let lane = row.turn.lane.as_ref();
    let rate = lane.and_then(|lane| lane.rate);
    sqlx::query(EXECUTION)
        .bind(row.id.as_str())
        .bind(&row.flow)
        .bind(digest(row.input))
        .bind(row.created_at.as_micros())
        .bind(digest(packed.first.0))
        .bind(digest(packed.first.1))
        .bind(row.status.name())
        .bind(worker)
        .bind(micros(until))
        .bind(integer(packed.fence))
        .bind(micros(row.wake_at))
        .bind(due_at)
        .bind(integer(row.base))
        .bind(integer(row.first))
        .bind(integer(newest))
        .bind(integer(packed.seen))
        .bind(i32::try_from(row.takeovers).unwrap_or(i32::MAX))
        .bind(integer(row.next))
        .bind(row.updated_at.as_micros())
        .bind(digest(packed.last.0))
        .bind(digest(packed.last.1))
        .bind(row.turn.priority)
        .bind(lane.map(|lane| lane.key.as_bytes()))
        .bind(lane.and_then(|lane| lane.at_most).map(|most| i64::from(most.get())))
        .bind(rate.map(|rate| i64::from(rate.begins.get())))
        .bind(rate.map(|rate| rate.micros()))
        .bind(lane.map_or(1, |lane| i32::from(lane.weight.get())))
        .fetch_one(transaction)
        .await?
        .try_get(0)
}

/// Its gates, snapshots, and what is unfit for it.
async fn of_execution(
    transaction: &mut PgConnection,
    key: i64,
    packed: &PackedExecution,
) -> sqlx::Result<()> {
    for gate in &packed.gates {
        let open = sqlx::query(GATE).bind(key).bind(integer(gate.run)).bind(gate.opened_at.as_micros());
        let open = open.bind(micros(gate.expires_at)).bind(gate.state.name());
        let open = open.bind(gate.frame.as_str().as_bytes()).bind(&gate.gate).bind(gate.schema.as_bytes());
        open.execute(&mut *transaction).await?;
    }
    for snapshot in &packed.snapshots {
        let put = sqlx::query(SNAPSHOT).bind(key).bind(&snapshot.of).bind(integer(snapshot.sequence));
        let body = snapshot.body.as_deref().unwrap_or_default().as_bytes();
        put.bind(snapshot.body.is_none()).bind(body).execute(&mut *transaction).await?;
    }
    for program in &packed.unfit {
        let note = sqlx::query(UNFIT).bind(key).bind(program.bytes().to_vec());
        note.execute(&mut *transaction).await?;
    }
    Ok(())
}

async fn items(transaction: &mut PgConnection, key: i64, items: &[PackedItem]) -> sqlx::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    let all = || items.iter().map(|of| &of.item);
    sqlx::query(ITEMS)
        .bind(key)
        .bind(all().map(|item| integer(item.id)).collect::<Vec<_>>())
        .bind(all().map(|item| item.at.as_micros()).collect::<Vec<_>>())
        .bind(all().map(|item| item.kind.as_str()).collect::<Vec<_>>())
        .bind(all().map(|item| item.key.as_deref().map(str::as_bytes)).collect::<Vec<_>>())
        .bind(
            items
                .iter()
                .map(|of| if of.consumed { &[] } else { of.item.payload.as_bytes() })
                .collect::<Vec<_>>(),
        )
        .bind(items.iter().map(|of| of.content.bytes().to_vec()).collect::<Vec<_>>())
        .bind(items.iter().map(|of| of.consumed).collect::<Vec<_>>())
        .execute(transaction)
        .await
        .map(drop)
}
