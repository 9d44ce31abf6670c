//! The file as one of several stores: its part in a fleet, the places of slots, and what a claim would find.
//! Not the choice where a slot is.

mod pack;
mod unpack;

use async_trait::async_trait;
use loom_runtime::{
    ExecutionId, Timestamp,
    ports::{
        ClaimRequest, Due, InboxId, InboxItem, LaneUse, Membership, Parcel, Place, PlaceChange, SLOTS, Shard,
        Slot, Standing, StoreError,
    },
};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    Sqlite, claim,
    read::{self, fetch},
    row::{self, Reader},
    script::{Script, Transaction, integer},
    writer::{Asked, Request},
};

/// The first question of every transaction that writes, as [`Part::read`] takes it.
pub(crate) const PART: &str =
    "SELECT (SELECT ordinal FROM shard), group_concat(slot) FROM slots WHERE standing <> 'here';";

const PLACES: &str = "SELECT standing, epoch, peer, mover, slot FROM slots ORDER BY slot;";

/// The file's part in a fleet: what is not here, and which positions are its own.
pub(crate) struct Part {
    ordinal: Option<u16>,
    elsewhere: Vec<bool>,
}

impl Part {
    /// That of a file which is no member.
    pub(crate) const WHOLE: Self = Self { ordinal: None, elsewhere: Vec::new() };

    pub(crate) fn read(row: &SqliteRow) -> sqlx::Result<Self> {
        let ordinal = row.try_get::<Option<i64>, _>(0)?.and_then(|ordinal| ordinal.try_into().ok());
        let mut elsewhere = Vec::new();
        if let Some(slots) = row.try_get::<Option<&str>, _>(1)? {
            elsewhere.resize(usize::from(SLOTS), false);
            for slot in slots.split(',').filter_map(|slot| slot.parse::<usize>().ok()) {
                if let Some(slot) = elsewhere.get_mut(slot) {
                    *slot = true;
                }
            }
        }
        Ok(Self { ordinal, elsewhere })
    }

    /// Its number in the fleet, if it is in one.
    pub(crate) fn ordinal(&self) -> Option<u16> {
        self.ordinal
    }

    /// Whether the slot of an id is here.
    pub(crate) fn has(&self, id: &ExecutionId) -> bool {
        self.elsewhere.is_empty() || !self.elsewhere[usize::from(Slot::of(id.as_str()).number())]
    }
}

/// A change, answered with whether it was made.
pub(crate) enum Change {
    Join { member: Membership, founds: bool, above: InboxId },
    Places(Vec<PlaceChange>),
    Unpack { parcels: Vec<Parcel>, mover: String },
    Forget { ids: Vec<ExecutionId>, slots: Vec<Slot>, mover: String },
    ForgetEarly { of: ExecutionId, items: Vec<InboxId> },
}

/// Carries out every change, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Change, bool>],
) -> sqlx::Result<Vec<Result<bool, StoreError>>> {
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question, .. } in asked {
        verdicts.push(Ok(match question {
            Change::Join { member, founds, above } => join(transaction, member, *founds, *above).await?,
            Change::Places(changes) => set_places(transaction, changes).await?,
            Change::Unpack { parcels, mover } => {
                let slots: Vec<Slot> = parcels.iter().map(|parcel| Slot::of(parcel.id.as_str())).collect();
                let may = all_places(transaction).await?.is_some_and(|places| {
                    let comes = |place: &Place| place.standing == Standing::Coming && place.mover == *mover;
                    slots.iter().all(|slot| comes(&places[usize::from(slot.number())]))
                });
                if may {
                    unpack::unpack(transaction, parcels).await?;
                }
                may
            }
            Change::Forget { ids, slots, mover } => {
                let may = may_forget(transaction, slots, mover).await?;
                if may {
                    unpack::forget(transaction, ids);
                }
                may
            }
            Change::ForgetEarly { of, items } => {
                let items: Vec<i64> = items.iter().map(|item| integer(*item)).collect();
                let script = transaction.script();
                script
                    .sql("DELETE FROM early WHERE execution = ? AND id IN (SELECT value FROM json_each(?));");
                script.bind(of.as_str()).bind(serde_json::json!(items).to_string());
                true
            }
        }));
    }
    Ok(verdicts)
}

async fn join(
    transaction: &mut Transaction<'_>,
    member: &Membership,
    founds: bool,
    above: InboxId,
) -> sqlx::Result<bool> {
    transaction.script().sql("SELECT 1 FROM shard;");
    if !transaction.fetch().await?.is_empty() {
        return Ok(false);
    }
    unpack::raise(transaction, above);
    let script = transaction.script();
    script.sql("INSERT INTO shard (key, name, fleet, ordinal) VALUES (1, ?, ?, ?);");
    script.bind(member.name.clone()).bind(member.fleet.clone()).bind(i64::from(member.ordinal));
    script.sql(
        "INSERT INTO slots (slot, standing, epoch, peer, mover) \
         WITH RECURSIVE n (slot) AS (SELECT 0 UNION ALL SELECT slot + 1 FROM n WHERE slot + 1 < ?) \
         SELECT slot, ?, 0, '', '' FROM n;",
    );
    let standing = if founds { Standing::Here } else { Standing::Away };
    script.bind(i64::from(SLOTS)).bind(standing.name());
    Ok(true)
}

async fn set_places(transaction: &mut Transaction<'_>, changes: &[PlaceChange]) -> sqlx::Result<bool> {
    let Some(places) = all_places(transaction).await? else { return Ok(false) };
    if !changes.iter().all(|(slot, from, _)| places[usize::from(slot.number())] == *from) {
        return Ok(changes.iter().all(|(slot, _, to)| places[usize::from(slot.number())] == *to));
    }
    for (slot, _, to) in changes {
        let script = transaction.script();
        script.sql("UPDATE slots SET standing = ?, epoch = ?, peer = ?, mover = ? WHERE slot = ?;");
        script.bind(to.standing.name()).bind(integer(to.epoch)).bind(to.peer.clone());
        script.bind(to.mover.clone()).bind(i64::from(slot.number()));
    }
    Ok(true)
}

async fn may_forget(transaction: &mut Transaction<'_>, slots: &[Slot], mover: &str) -> sqlx::Result<bool> {
    Ok(all_places(transaction).await?.is_some_and(|places| {
        slots.iter().all(|slot| {
            let place = &places[usize::from(slot.number())];
            match place.standing {
                Standing::Away => true,
                Standing::Coming => place.mover == mover,
                Standing::Here | Standing::Leaving => false,
            }
        })
    }))
}

/// Every slot's place; `None` for a file that is no member.
async fn all_places(transaction: &mut Transaction<'_>) -> sqlx::Result<Option<Vec<Place>>> {
    transaction.script().sql(PLACES);
    let rows = transaction.fetch().await?;
    let places: Result<Vec<Place>, _> = rows.iter().map(place).collect();
    let places = places.map_err(|error| sqlx::Error::Decode(error.into()))?;
    Ok((places.len() == usize::from(SLOTS)).then_some(places))
}

/// Reads what [`PLACES`] finds.
fn place(row: &SqliteRow) -> Result<Place, StoreError> {
    let read = Reader::new(row, "slots");
    let standing: &str = read.get(0)?;
    let standing = Standing::named(standing);
    let standing = standing.ok_or_else(|| read.corrupt("a slot stands in no way that is known"))?;
    Ok(Place { standing, epoch: read.count(1)?, peer: read.get(2)?, mover: read.get(3)? })
}

#[async_trait]
impl Shard for Sqlite {
    async fn membership(&self) -> Result<Option<Membership>, StoreError> {
        let mut script = Script::default();
        script.sql("SELECT name, fleet, ordinal FROM shard;");
        let member = |row| {
            let read = Reader::new(row, "shard");
            let ordinal = read.count(2)?.try_into().map_err(|_| read.corrupt("its number makes no sense"))?;
            Ok(Membership { name: read.get(0)?, fleet: read.get(1)?, ordinal })
        };
        fetch(script, &self.readers).await?.first().map(member).transpose()
    }

    async fn join(
        &self,
        member: &Membership,
        founds: bool,
        above: InboxId,
    ) -> Result<Membership, StoreError> {
        let change = Change::Join { member: member.clone(), founds, above };
        self.ask(change, Request::Shard).await?;
        let missing = || StoreError::Unavailable("it was joined and is no member".into());
        self.membership().await?.ok_or_else(missing)
    }

    async fn newest(&self) -> Result<InboxId, StoreError> {
        let mut script = Script::default();
        script.sql("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name IN ('inbox', 'early');");
        let rows = fetch(script, &self.readers).await?;
        rows.first().map_or(Ok(0), |row| Reader::new(row, "inbox").count(0))
    }

    async fn places(&self) -> Result<Vec<Place>, StoreError> {
        let mut script = Script::default();
        script.sql(PLACES);
        fetch(script, &self.readers).await?.iter().map(place).collect()
    }

    async fn place(&self, slot: Slot) -> Result<Option<Place>, StoreError> {
        let mut script = Script::default();
        script.sql("SELECT standing, epoch, peer, mover, slot FROM slots WHERE slot = ?;");
        script.bind(i64::from(slot.number()));
        fetch(script, &self.readers).await?.first().map(place).transpose()
    }

    async fn set_places(&self, changes: &[PlaceChange]) -> Result<bool, StoreError> {
        self.ask(Change::Places(changes.to_vec()), Request::Shard).await
    }

    async fn due(&self, request: &ClaimRequest) -> Result<Vec<Due>, StoreError> {
        if !read::anything_due(&self.readers, request).await? {
            return Ok(Vec::new());
        }
        let mut script = Script::default();
        script.sql(PART);
        let part = fetch(script, &self.readers).await?;
        let part = part.first().map(Part::read).transpose();
        let part = part.map_err(|error| StoreError::Corrupt(error.to_string()))?.unwrap_or(Part::WHOLE);
        let backlog = read::backlog(&self.readers, request, request.limit).await?;
        let (mut due, mut passed) = (Vec::new(), Vec::new());
        loop {
            let mut script = Script::default();
            claim::choose(&mut script, request, &passed, request.limit, backlog);
            let before = passed.len();
            due.clear();
            for row in fetch(script, &self.readers).await? {
                let read = Reader::new(&row, "what is due");
                let (key, fence): (i64, i64) = (read.get(0)?, read.get(11)?);
                match row::execution(&row) {
                    Ok(found) if part.has(&found.id) => due.push(Due { row: found, begins: fence == 0 }),
                    _ => passed.push(key),
                }
            }
            // What is not here, or cannot be read, must not hold a place.
            if passed.len() == before {
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
            let mut script = Script::default();
            script.sql(
                "SELECT (SELECT count(*) FROM executions WHERE worker IS NOT NULL AND lease_until >= ? AND lane IS ?), \
                 (SELECT count(*) FROM begins WHERE lane = ? AND at > ?);",
            );
            script.bind(now.as_micros()).bind(lane.clone()).bind(lane.clone());
            script.bind(now.as_micros().saturating_sub(*within));
            let rows = fetch(script, &self.readers).await?;
            let used = rows.first().map(|row| {
                let read = Reader::new(row, "lanes");
                Ok(LaneUse { held: read.count(0)?, begun: read.count(1)? })
            });
            uses.push(used.transpose()?.unwrap_or_default());
        }
        Ok(uses)
    }

    async fn pack(
        &self,
        slots: &[Slot],
        after: Option<&ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Parcel>, StoreError> {
        let ids = pack::ids(&self.readers, slots, after, limit).await?;
        let newest = self.newest().await?;
        pack::parcels(&self.readers, ids, newest).await
    }

    async fn unpack(&self, parcels: &[Parcel], mover: &str) -> Result<bool, StoreError> {
        let change = Change::Unpack { parcels: parcels.to_vec(), mover: mover.into() };
        self.ask(change, Request::Shard).await
    }

    async fn clear(&self, slots: &[Slot], mover: &str) -> Result<bool, StoreError> {
        loop {
            let ids = pack::ids(&self.readers, slots, None, 200).await?;
            let last = ids.is_empty();
            let change = Change::Forget { ids, slots: slots.to_vec(), mover: mover.into() };
            if !self.ask(change, Request::Shard).await? {
                return Ok(false);
            }
            if last {
                return Ok(true);
            }
        }
    }

    async fn early(&self, prefix: &str) -> Result<Vec<(ExecutionId, InboxItem)>, StoreError> {
        let mut script = Script::default();
        script.sql(
            "SELECT execution, id, item_key, kind, payload, at FROM early \
             WHERE execution >= ? AND substr(execution, 1, ?) = ? ORDER BY id;",
        );
        script.bind(prefix).bind(integer(prefix.len() as u64)).bind(prefix);
        let item = |row| {
            let id = row::id(row)?;
            let read = Reader::new(row, id.as_str());
            let item = InboxItem {
                id: read.count(1)?,
                key: read.get(2)?,
                kind: read.get(3)?,
                payload: read.get(4)?,
                at: read.instant(5)?,
            };
            Ok((id, item))
        };
        fetch(script, &self.readers).await?.iter().map(item).collect()
    }

    async fn forget_early(&self, of: &ExecutionId, items: &[InboxId]) -> Result<(), StoreError> {
        let change = Change::ForgetEarly { of: of.clone(), items: items.to_vec() };
        self.ask(change, Request::Shard).await.map(drop)
    }
}
