//! The database as one of several stores: its part in a fleet, the places of slots, and what a claim would find.
//! Not the choice where a slot is.

mod pack;
mod places;
mod unpack;

pub(crate) use places::elsewhere;

use async_trait::async_trait;
use loom_runtime::{
    ExecutionId, Timestamp,
    ports::{
        ClaimRequest, Due, InboxId, InboxItem, LaneUse, Membership, Parcel, Place, PlaceChange, Shard, Slot,
        StoreError,
    },
};
use sqlx::postgres::PgRow;
use tokio::time::Instant;

use crate::{
    Postgres, claim, error,
    link::answered,
    row::{self, Reader, integer},
    store::on_pool,
};

const MEMBERSHIP: &str = "SELECT name, fleet, ordinal FROM shard";

/// What runs in a lane or without one, what has begun. What is of no meaning here is counted in no database.
const LANE: &str = "SELECT (SELECT count(*) FROM executions AS e WHERE e.worker IS NOT NULL AND e.lease_until >= $1 \
     AND e.lane IS NOT DISTINCT FROM $2 AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = slot_of(e.id) \
     AND s.standing IN ('away', 'coming'))), \
     (SELECT count(*) FROM begins AS b WHERE sha256(b.lane) = sha256($2) AND b.at > $3)";

const EARLY: &str = "SELECT e.id, i.id, i.item_key, i.kind, i.payload, i.at FROM executions AS e \
     JOIN inbox AS i ON i.execution = e.key \
     WHERE e.status = 'awaited' AND e.id >= $1 AND left(e.id, $2) = $1 ORDER BY i.id";

const FORGET_EARLY: &str = "DELETE FROM inbox AS i USING executions AS e \
     WHERE e.id = $1 AND e.status = 'awaited' AND i.execution = e.key AND i.id = ANY($2)";

#[async_trait]
impl Shard for Postgres {
    async fn membership(&self) -> Result<Option<Membership>, StoreError> {
        let row = on_pool!(self, connection => sqlx::query(MEMBERSHIP).fetch_optional(connection))?;
        row.as_ref().map(membership).transpose()
    }

    async fn join(
        &self,
        member: &Membership,
        founds: bool,
        above: InboxId,
    ) -> Result<Membership, StoreError> {
        on_pool!(self, connection => places::join(connection, member, founds, above))?;
        let missing = || StoreError::Unavailable("it was joined and is no member".into());
        self.membership().await?.ok_or_else(missing)
    }

    async fn newest(&self) -> Result<InboxId, StoreError> {
        let newest: i64 = on_pool!(self, connection => {
            sqlx::query_scalar("SELECT last_value FROM inbox_ids").fetch_one(connection)
        })?;
        Ok(newest.unsigned_abs())
    }

    async fn places(&self) -> Result<Vec<Place>, StoreError> {
        let rows = on_pool!(self, connection => sqlx::query(places::ALL).fetch_all(connection))?;
        rows.iter().map(places::read).collect()
    }

    async fn place(&self, slot: Slot) -> Result<Option<Place>, StoreError> {
        let row = on_pool!(self, connection => {
            sqlx::query(places::ONE).bind(i32::from(slot.number())).fetch_optional(connection)
        })?;
        row.as_ref().map(places::read).transpose()
    }

    async fn set_places(&self, changes: &[PlaceChange]) -> Result<bool, StoreError> {
        on_pool!(self, connection => places::set(connection, changes))?
    }

    async fn due(&self, request: &ClaimRequest) -> Result<Vec<Due>, StoreError> {
        let choice = on_pool!(self, connection => claim::choice(connection, request))?;
        let Some(statement) = choice else { return Ok(Vec::new()) };
        // The claim itself locks them; a look must not.
        let statement = statement.split(" FOR NO KEY UPDATE").next().unwrap_or(statement);
        let mut unreadable: Vec<i64> = Vec::new();
        loop {
            let rows = on_pool!(self, connection => {
                let limit = integer(request.limit as u64);
                let due = sqlx::query(statement).bind(request.now.as_micros()).bind(&request.flows);
                let due = due.bind(&unreadable).bind(limit);
                match (&request.execution, request.program) {
                    (Some(execution), _) => due.bind(execution.as_str()),
                    (None, program) => {
                        let (program, since) = program.unzip();
                        due.bind(program.map(|program| program.bytes().to_vec()))
                            .bind(since.map(Timestamp::as_micros))
                    }
                }
                .fetch_all(connection)
            })?;
            let before = unreadable.len();
            let mut due = Vec::with_capacity(rows.len());
            for row in rows {
                let read = Reader::new(&row, "what is due");
                match row::read(&row) {
                    Ok(found) => due.push(Due { row: found, begins: read.count(11)? == 0 }),
                    Err(_) => unreadable.push(read.get(0)?),
                }
            }
            if unreadable.len() == before {
                return Ok(due);
            }
        }
    }

    async fn lanes(
        &self,
        asked: &[(Option<String>, i64)],
        now: Timestamp,
    ) -> Result<Vec<LaneUse>, StoreError> {
        let mut uses = Vec::with_capacity(asked.len());
        for (lane, within) in asked {
            let lane = lane.as_deref().map(str::as_bytes);
            let since = now.as_micros().saturating_sub(*within);
            let row = on_pool!(self, connection => {
                sqlx::query(LANE).bind(now.as_micros()).bind(lane).bind(since).fetch_one(connection)
            })?;
            let read = Reader::new(&row, "lanes");
            uses.push(LaneUse { held: read.count(0)?, begun: read.count(1)? });
        }
        Ok(uses)
    }

    async fn pack(
        &self,
        slots: &[Slot],
        after: Option<&ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Parcel>, StoreError> {
        on_pool!(self, connection => pack::parcels(connection, slots, after, limit))?
    }

    async fn unpack(&self, parcels: &[Parcel], mover: &str) -> Result<bool, StoreError> {
        let newest = parcels.iter().map(|parcel| parcel.newest).max().unwrap_or(0);
        on_pool!(self, connection => places::raise(connection, newest))?;
        on_pool!(self, connection => unpack::parcels(connection, parcels, mover))
    }

    async fn clear(&self, slots: &[Slot], mover: &str) -> Result<bool, StoreError> {
        loop {
            match on_pool!(self, connection => unpack::clear(connection, slots, mover))? {
                Some(0) => return Ok(true),
                Some(_) => {}
                None => return Ok(false),
            }
        }
    }

    async fn early(&self, prefix: &str) -> Result<Vec<(ExecutionId, InboxItem)>, StoreError> {
        let length = i32::try_from(prefix.len()).unwrap_or(i32::MAX);
        let rows = on_pool!(self, connection => {
            sqlx::query(EARLY).bind(prefix).bind(length).fetch_all(connection)
        })?;
        let item = |row: &PgRow| {
            let id = row::id(row, 0)?;
            let read = Reader::new(row, id.as_str());
            let item = InboxItem {
                id: read.count(1)?,
                key: read.maybe_text(2)?,
                kind: read.get(3)?,
                payload: read.text(4)?,
                at: read.instant(5)?,
            };
            Ok((id, item))
        };
        rows.iter().map(item).collect()
    }

    async fn forget_early(&self, of: &ExecutionId, items: &[InboxId]) -> Result<(), StoreError> {
        let items: Vec<i64> = items.iter().map(|item| integer(*item)).collect();
        on_pool!(self, connection => {
            sqlx::query(FORGET_EARLY).bind(of.as_str()).bind(&items).execute(connection)
        })
        .map(drop)
    }
}

fn membership(row: &PgRow) -> Result<Membership, StoreError> {
    let read = Reader::new(row, "shard");
    let ordinal: i32 = read.get(2)?;
    let ordinal = ordinal.try_into().map_err(|_| read.corrupt("its number makes no sense"))?;
    Ok(Membership { name: read.text(0)?, fleet: read.get(1)?, ordinal })
}
