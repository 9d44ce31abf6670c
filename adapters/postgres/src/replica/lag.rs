//! How far a standby is behind: told by positions in the server's log that this process has seen, never by a server's clock.
//! Not what is done about it.

use std::{collections::VecDeque, time::Duration};

use loom_runtime::ports::StoreError;
use sqlx::Row;
use tokio::time::Instant;

use crate::{Postgres, error, link::answered, store::on_pool};

/// Between two looks at the primary.
const EVERY: Duration = Duration::from_millis(500);

/// A standby that has failed is left alone for so long.
const REST: Duration = Duration::from_secs(3);

/// How long a standby may take to say where it is.
const PATIENCE: Duration = Duration::from_secs(2);

const WRITTEN: &str = "SELECT (pg_current_wal_lsn() - '0/0')::bigint";

const REPLAYED: &str = "SELECT pg_is_in_recovery(), (pg_last_wal_replay_lsn() - '0/0')::bigint";

/// A position in the primary's log.
type Position = i64;

/// What is known of a standby.
#[derive(Debug, Default)]
pub(super) struct Lag {
    /// Where the primary was at some instants, in order, as far as the standby has not come there yet.
    ahead: VecDeque<(Instant, Position)>,
    /// The newest instant whose position the standby has passed.
    caught_up: Option<Instant>,
    /// When the primary was last looked at.
    looked: Option<Instant>,
    failed: Option<(Instant, String)>,
    /// How many writes of this process the position covers, and the position.
    own: (u64, Position),
    /// Where the standby was when it was last found fit, until the primary is looked at again.
    fit: Option<Position>,
}

/// Why a standby is of no use now.
pub(super) enum Unfit {
    /// It has not seen what this process has written.
    OwnWrites,
    /// It is too far behind, or does not answer.
    Behind(String),
}

impl Lag {
    /// Whether the standby is at most so far behind, and has seen the first `writes` writes of this process.
    pub(super) async fn check(
        &mut self,
        primary: &Postgres,
        standby: &Postgres,
        most: Duration,
        writes: u64,
    ) -> Result<(), Unfit> {
        if let Some((at, why)) = self.failed.as_ref().filter(|(at, _)| at.elapsed() < REST) {
            return Err(Unfit::Behind(format!("the standby failed {:?} ago: {why}", at.elapsed())));
        }
        let is_due = self.looked.is_none_or(|at| at.elapsed() >= EVERY);
        if !is_due && self.own.0 >= writes && self.fit.is_some_and(|replayed| replayed >= self.own.1) {
            return Ok(());
        }
        self.fit = None;
        if is_due || self.own.0 < writes {
            let now = Instant::now();
            let position = written(primary).await.map_err(|error| Unfit::Behind(error.to_string()))?;
            self.ahead.push_back((now, position));
            self.looked = Some(now);
            if self.own.0 < writes {
                self.own = (writes, position);
            }
        }
        let replayed = match tokio::time::timeout(PATIENCE, replayed(standby)).await {
            Ok(Ok(replayed)) => replayed,
            Ok(Err(error)) => return Err(self.fails(error::text(&error))),
            Err(_) => return Err(self.fails(format!("it does not answer within {PATIENCE:?}"))),
        };
        let Some(replayed) = replayed else {
            return Err(self.fails("it is no standby any more: it was promoted".into()));
        };
        while let Some((at, _)) = self.ahead.front().filter(|(_, position)| *position <= replayed) {
            self.caught_up = Some(*at);
            self.ahead.pop_front();
        }
        // How far it is behind is told by the newest; those in between are of no more use than a few of them.
        if self.ahead.len() > 1_024 {
            self.ahead.pop_front();
        }
        let behind = self.caught_up.map(|at| at.elapsed());
        match behind {
            // With nothing ahead it had everything when it was last asked.
            Some(behind) if behind <= most.max(EVERY) || self.ahead.is_empty() => {}
            Some(behind) => {
                return Err(Unfit::Behind(format!("the standby is {behind:?} behind, and may be {most:?}")));
            }
            None => return Err(Unfit::Behind("the standby has not come to where the primary is".into())),
        }
        if self.own.1 > replayed {
            return Err(Unfit::OwnWrites);
        }
        self.fit = Some(replayed);
        Ok(())
    }

    /// How long ago it had everything; `None` if that was not seen.
    pub(super) fn behind(&self) -> Option<Duration> {
        if self.ahead.is_empty() && self.caught_up.is_some() {
            return Some(Duration::ZERO);
        }
        self.caught_up.map(|at| at.elapsed())
    }

    /// The standby has failed, and is left alone for a while.
    pub(super) fn fails(&mut self, why: String) -> Unfit {
        self.failed = Some((Instant::now(), why.clone()));
        Unfit::Behind(format!("the standby: {why}"))
    }
}

async fn written(primary: &Postgres) -> Result<Position, StoreError> {
    on_pool!(primary, connection => sqlx::query_scalar(WRITTEN).fetch_one(connection))
}

/// Where the standby is; `None` when it is none.
async fn replayed(standby: &Postgres) -> sqlx::Result<Option<Position>> {
    let asked = sqlx::query(REPLAYED).fetch_one(&standby.pool).await?;
    if asked.try_get(0)? { asked.try_get(1) } else { Ok(None) }
}
