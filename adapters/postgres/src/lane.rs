//! The lanes of what a claim has chosen: each is locked, counted, and lets in what it has room for.
//! Not the choice: that is the claim's query, which counts as well as one can without a lock.

use std::collections::{BTreeSet, HashMap};

use loom_runtime::{
    kernel::Timestamp,
    ports::{ExecutionRow, Lane, Rate},
};
use sqlx::{PgConnection, Row};

/// Held until the claim has committed. Claims alone take these locks, and never wait for a row while they have one. A lane
/// that another claim is busy with is left for the next time.
const TRY: &str = "SELECT w.lane FROM unnest($1::bytea[]) AS w (lane) WHERE pg_try_advisory_xact_lock(\
     hashtextextended('loom lane ' || current_schema() || ' ' || encode(w.lane, 'hex'), 0))";

/// The same for whoever wants just this one, and waits.
const WAIT: &str = "SELECT pg_advisory_xact_lock(\
     hashtextextended('loom lane ' || current_schema() || ' ' || encode($1, 'hex'), 0))";

const HELD: &str = "SELECT lane, count(*) FROM executions \
     WHERE worker IS NOT NULL AND lease_until >= $2 AND lane = ANY($1) GROUP BY lane";

const BEGUN: &str = "SELECT w.lane, w.within, (SELECT count(*) FROM begins AS b \
     WHERE sha256(b.lane) = sha256(w.lane) AND b.at > $3 - w.within) \
     FROM unnest($1::bytea[], $2::bigint[]) AS w (lane, within)";

const NOTE: &str = "INSERT INTO begins (lane, at) SELECT lane, $2 FROM unnest($1::bytea[]) AS w (lane)";

const FORGET: &str = "DELETE FROM begins AS b USING unnest($1::bytea[], $2::bigint[]) AS w (lane, within) \
     WHERE sha256(b.lane) = sha256(w.lane) AND b.at <= $3 - w.within";

/// Lanes that are locked, as they are then.
#[derive(Default)]
pub(crate) struct Lanes {
    /// Their leases; a lane that is missing is another claim's.
    held: HashMap<Vec<u8>, u64>,
    /// What has begun within each time that was asked about.
    begun: HashMap<(Vec<u8>, i64), u64>,
    /// Lanes with a rate, and its time: what was let in for the first time.
    news: Vec<(Vec<u8>, i64)>,
}

impl Lanes {
    /// Locks and counts the lanes of these that bound anything.
    pub(crate) async fn lock(
        transaction: &mut PgConnection,
        chosen: impl Iterator<Item = &ExecutionRow> + Clone,
        now: Timestamp,
        waits: bool,
    ) -> sqlx::Result<Self> {
        let lanes = chosen.filter_map(|row| row.turn.lane.as_ref()).filter(|lane| lane.is_bounded());
        let keys: BTreeSet<&[u8]> = lanes.clone().map(|lane| lane.key.as_bytes()).collect();
        let mut found = Self::default();
        if keys.is_empty() {
            return Ok(found);
        }
        let keys: Vec<&[u8]> = keys.into_iter().collect();
        if waits {
            for key in &keys {
                sqlx::query(WAIT).bind(key).execute(&mut *transaction).await?;
                found.held.insert(key.to_vec(), 0);
            }
        } else {
            for row in sqlx::query(TRY).bind(&keys).fetch_all(&mut *transaction).await? {
                found.held.insert(row.try_get(0)?, 0);
            }
        }
        // Statements after the lock see what those who held it before have committed.
        for row in sqlx::query(HELD).bind(&keys).bind(now.as_micros()).fetch_all(&mut *transaction).await? {
            let count: i64 = row.try_get(1)?;
            if let Some(held) = found.held.get_mut(row.try_get::<&[u8], _>(0)?) {
                *held = count.unsigned_abs();
            }
        }
        let rates: BTreeSet<(&[u8], i64)> =
            lanes.filter_map(|lane| Some((lane.key.as_bytes(), lane.rate?.micros()))).collect();
        if !rates.is_empty() {
            let (keys, within): (Vec<&[u8]>, Vec<i64>) = rates.into_iter().unzip();
            let begun = sqlx::query(BEGUN).bind(keys).bind(within).bind(now.as_micros());
            for row in begun.fetch_all(&mut *transaction).await? {
                let count: i64 = row.try_get(2)?;
                found.begun.insert((row.try_get(0)?, row.try_get(1)?), count.unsigned_abs());
            }
        }
        Ok(found)
    }

    /// Lets an execution in, unless its lane is full or another claim's.
    pub(crate) fn admit(&mut self, row: &ExecutionRow, begins: bool) -> bool {
        let Some(lane) = row.turn.lane.as_ref().filter(|lane| lane.is_bounded()) else { return true };
        let Some(held) = self.held.get_mut(lane.key.as_bytes()) else { return false };
        if lane.at_most.is_some_and(|most| *held >= most.get().into()) {
            return false;
        }
        if let Some(rate) = lane.rate.filter(|_| begins) {
            let noted = self.news.iter().filter(|(key, _)| key == lane.key.as_bytes()).count() as u64;
            let begun = self.begun.get(&of(lane, rate)).copied().unwrap_or_default();
            if begun + noted >= rate.begins.get().into() {
                return false;
            }
            self.news.push(of(lane, rate));
        }
        *held += 1;
        true
    }

    /// Writes what has begun; what no longer counts is forgotten.
    pub(crate) async fn write(self, transaction: &mut PgConnection, now: Timestamp) -> sqlx::Result<()> {
        if self.news.is_empty() {
            return Ok(());
        }
        let keys: Vec<&[u8]> = self.news.iter().map(|(key, _)| key.as_slice()).collect();
        let rates: BTreeSet<(&[u8], i64)> = self.news.iter().map(|(key, n)| (key.as_slice(), *n)).collect();
        let (forgotten, within): (Vec<&[u8]>, Vec<i64>) = rates.into_iter().unzip();
        let forget = sqlx::query(FORGET).bind(forgotten).bind(within).bind(now.as_micros());
        forget.execute(&mut *transaction).await?;
        sqlx::query(NOTE).bind(keys).bind(now.as_micros()).execute(transaction).await.map(drop)
    }
}

fn of(lane: &Lane, rate: Rate) -> (Vec<u8>, i64) {
    (lane.key.as_bytes().to_vec(), rate.micros())
}
