//! The places of slots: how a database becomes a member, and how places change.
//! Not what is in a slot.

use std::collections::HashSet;

use loom_runtime::ports::{InboxId, MEMBERS, Membership, Place, PlaceChange, SLOTS, Standing, StoreError};
use sqlx::{Connection, PgConnection, Row, postgres::PgRow};

use crate::{
    row::{Reader, integer},
    schema::GUARD,
};

/// As [`read`] takes them.
pub(super) const ALL: &str = "SELECT standing, epoch, peer, mover FROM slots ORDER BY slot";
pub(super) const ONE: &str = "SELECT standing, epoch, peer, mover FROM slots WHERE slot = $1";

/// Whoever writes to an execution holds this lock shared, by way of the trigger: so nobody is in the middle of something when
/// a place changes.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended('loom slots ' || current_schema(), 0))";

/// Of slots that are changed. Whoever fills or empties them holds them shared.
const CURRENT: &str =
    "SELECT standing, epoch, peer, mover, slot FROM slots WHERE slot = ANY($1) ORDER BY slot FOR UPDATE";

const SET: &str = "UPDATE slots AS s SET standing = w.standing, epoch = w.epoch, peer = w.peer, mover = w.mover \
     FROM unnest($1::int[], $2::text[], $3::bigint[], $4::bytea[], $5::text[]) AS w (slot, standing, epoch, peer, mover) \
     WHERE s.slot = w.slot";

/// Who joins at once waits.
const JOIN: &str =
    "INSERT INTO shard (one, name, fleet, ordinal) VALUES (true, $1, $2, $3) ON CONFLICT (one) DO NOTHING";

const FILL: &str = "INSERT INTO slots (slot, standing, epoch, peer, mover) \
     SELECT n, $2, 0, '', '' FROM generate_series(0, $1 - 1) AS n";

const INDEX: &str = "CREATE INDEX IF NOT EXISTS executions_slot ON executions (slot_of(id), id)";
const INDEX_OF_MANY: &str =
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS executions_slot ON executions (slot_of(id), id)";

const ELSEWHERE: &str = "SELECT w.id FROM unnest($1::text[]) AS w (id) JOIN slots AS s ON s.slot = slot_of(w.id) \
     WHERE s.standing <> 'here'";

/// Nobody else gets a position until the end of the transaction.
const LOCK_POSITIONS: &str = "ALTER SEQUENCE inbox_ids INCREMENT BY 64";

pub(super) async fn join(
    connection: &mut PgConnection,
    member: &Membership,
    founds: bool,
    above: InboxId,
) -> sqlx::Result<()> {
    const { assert!(MEMBERS == 64) };
    let any = sqlx::query("SELECT 1 FROM executions LIMIT 1").fetch_optional(&mut *connection).await?;
    if any.is_some() {
        // Of a table that is in use it may take a while, during which everybody works.
        sqlx::query(INDEX_OF_MANY).execute(&mut *connection).await?;
    }
    let mut transaction = connection.begin().await?;
    let joins = sqlx::query(JOIN).bind(member.name.as_bytes()).bind(&member.fleet);
    let joined = joins.bind(i32::from(member.ordinal)).execute(&mut *transaction).await?;
    if joined.rows_affected() == 0 {
        return Ok(());
    }
    sqlx::query(INDEX).execute(&mut *transaction).await?;
    sqlx::query(GUARD).execute(&mut *transaction).await?;
    let standing = if founds { Standing::Here } else { Standing::Away };
    let fill = sqlx::query(FILL).bind(i32::from(SLOTS)).bind(standing.name());
    fill.execute(&mut *transaction).await?;
    sqlx::query(LOCK_POSITIONS).execute(&mut *transaction).await?;
    let own = "SELECT setval('inbox_ids', (greatest(last_value, $1) / 64 + 1) * 64 + $2) FROM inbox_ids";
    let own = sqlx::query(own).bind(integer(above)).bind(i64::from(member.ordinal));
    own.execute(&mut *transaction).await?;
    transaction.commit().await
}

/// Which of these are not here.
pub(crate) async fn elsewhere(transaction: &mut PgConnection, ids: &[&str]) -> sqlx::Result<HashSet<String>> {
    sqlx::query_scalar(ELSEWHERE).bind(ids).fetch_all(transaction).await.map(HashSet::from_iter)
}

/// Positions given out from now on are higher, and as before of the database's own number.
pub(super) async fn raise(connection: &mut PgConnection, above: InboxId) -> sqlx::Result<()> {
    let behind = "SELECT 1 FROM inbox_ids WHERE last_value < $1";
    if sqlx::query(behind).bind(integer(above)).fetch_optional(&mut *connection).await?.is_none() {
        return Ok(());
    }
    let mut transaction = connection.begin().await?;
    sqlx::query(LOCK_POSITIONS).execute(&mut *transaction).await?;
    let raise = "SELECT setval('inbox_ids', ($1 / 64 + 1) * 64 + last_value % 64) FROM inbox_ids WHERE last_value < $1";
    sqlx::query(raise).bind(integer(above)).execute(&mut *transaction).await?;
    transaction.commit().await
}

pub(super) async fn set(
    connection: &mut PgConnection,
    changes: &[PlaceChange],
) -> sqlx::Result<Result<bool, StoreError>> {
    let mut transaction = connection.begin().await?;
    sqlx::query(LOCK).execute(&mut *transaction).await?;
    let mut changes: Vec<&PlaceChange> = changes.iter().collect();
    changes.sort_by_key(|(slot, ..)| *slot);
    let slots: Vec<i32> = changes.iter().map(|(slot, ..)| slot.number().into()).collect();
    let found = sqlx::query(CURRENT).bind(&slots).fetch_all(&mut *transaction).await?;
    let current: Vec<Place> = match found.iter().map(read).collect() {
        Ok(current) => current,
        Err(corrupt) => return Ok(Err(corrupt)),
    };
    if current.len() != changes.len() || !changes.iter().zip(&current).all(|((_, from, _), is)| from == is) {
        let there = current.len() == changes.len();
        return Ok(Ok(there && changes.iter().zip(&current).all(|((.., to), is)| to == is)));
    }
    let to = || changes.iter().map(|(.., to)| to);
    sqlx::query(SET)
        .bind(&slots)
        .bind(to().map(|to| to.standing.name()).collect::<Vec<_>>())
        .bind(to().map(|to| integer(to.epoch)).collect::<Vec<_>>())
        .bind(to().map(|to| to.peer.as_bytes()).collect::<Vec<_>>())
        .bind(to().map(|to| to.mover.as_str()).collect::<Vec<_>>())
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(Ok(true))
}

/// Whether these slots are such as may be filled or emptied by this mover, until the end of the transaction.
pub(super) async fn hold(
    transaction: &mut PgConnection,
    slots: &[i32],
    mover: &str,
    away: bool,
) -> sqlx::Result<bool> {
    let hold = "SELECT standing, mover FROM slots WHERE slot = ANY($1) ORDER BY slot FOR SHARE";
    let held = sqlx::query(hold).bind(slots).fetch_all(transaction).await?;
    for row in &held {
        let (standing, by): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let comes = standing == Standing::Coming.name() && by == mover;
        if !(comes || away && standing == Standing::Away.name()) {
            return Ok(false);
        }
    }
    Ok(held.len() == slots.len())
}

/// Reads [`ALL`] and [`ONE`].
pub(super) fn read(row: &PgRow) -> Result<Place, StoreError> {
    let read = Reader::new(row, "slots");
    let standing: &str = read.get(0)?;
    let standing = Standing::named(standing);
    let standing = standing.ok_or_else(|| read.corrupt("a slot stands in no way that is known"))?;
    Ok(Place { standing, epoch: read.count(1)?, peer: read.text(2)?, mover: read.get(3)? })
}
