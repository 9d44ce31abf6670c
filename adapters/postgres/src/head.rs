//! The rows of executions that a transaction changes: locked, judged by others, written back at once.
//! Not the order between executions: there is none.

use std::collections::{BTreeSet, HashMap};

use loom_runtime::{
    kernel::{Digest, ExecutionId, Record, Status, Timestamp},
    ports::{Close, InboxId, StoreError},
};
use sqlx::{PgConnection, postgres::PgRow};

use crate::row::{self, AWAITED, Reader, integer};

/// The `due_at` of what anybody may take now.
pub(crate) const AT_ONCE: i64 = i64::MIN;

/// Every transaction that holds one row and waits for another takes them in this order.
const LOCK: &str = "SELECT e.id, e.key, e.status, e.worker IS NOT NULL, e.fence, e.wake_at, e.due_at, e.base, \
     e.inbox, e.takeovers, e.next, e.updated_at, e.batch, e.content, e.seen \
     FROM executions AS e WHERE e.id = ANY($1) ORDER BY e.id FOR NO KEY UPDATE";

/// Events and rows in one round trip.
const WRITE: &str = "WITH written AS (\
        INSERT INTO events (execution, sequence, kind, at, schema, payload, meta) \
        SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[], $5::int[], $6::bytea[], $7::bytea[])\
     ) UPDATE executions AS e SET status = v.status, \
        worker = CASE WHEN v.closed THEN NULL ELSE e.worker END, \
        lease_until = CASE WHEN v.closed THEN NULL ELSE e.lease_until END, \
        wake_at = v.wake_at, due_at = v.due_at, base = v.base, inbox = v.inbox, takeovers = v.takeovers, \
        next = v.next, updated_at = v.updated_at, batch = v.batch, content = v.content, seen = v.seen \
     FROM unnest($8::bigint[], $9::text[], $10::bool[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], \
        $15::int[], $16::bigint[], $17::bigint[], $18::bytea[], $19::bytea[], $20::bigint[]) \
        AS v (key, status, closed, wake_at, due_at, base, inbox, takeovers, next, updated_at, batch, content, seen) \
     WHERE e.key = v.key";

/// What a transaction knows of an execution: read once, then kept current.
pub(crate) struct Head {
    pub(crate) key: i64,
    /// As stored, perhaps none that this build knows.
    pub(crate) status: String,
    pub(crate) leased: bool,
    pub(crate) fence: u64,
    pub(crate) wake_at: Option<i64>,
    pub(crate) due_at: Option<i64>,
    pub(crate) base: u64,
    /// The newest item that was ever posted.
    pub(crate) inbox: InboxId,
    pub(crate) takeovers: i32,
    pub(crate) next: u64,
    pub(crate) updated_at: i64,
    pub(crate) batch: Digest,
    pub(crate) content: Digest,
    /// The newest item that the last owner had read when it closed.
    seen: InboxId,
    /// Unconsumed items, as far as somebody has to know of them.
    pub(crate) unread: BTreeSet<InboxId>,
    pub(crate) closed: bool,
    pub(crate) changed: bool,
}

/// The rows by id; an error for one that makes no sense, nothing for one that is missing.
pub(crate) struct Heads(HashMap<String, Result<Head, StoreError>>);

impl Heads {
    /// Locks the rows until the end of the transaction. Statements after this one see whatever those who held
    /// them before have done.
    pub(crate) async fn lock(transaction: &mut PgConnection, ids: &BTreeSet<&str>) -> sqlx::Result<Self> {
        let ids: Vec<&str> = ids.iter().copied().collect();
        let rows = sqlx::query(LOCK).bind(ids).fetch_all(transaction).await?;
        let read = |row: &PgRow| match row::id(row, 0) {
            Ok(id) => Some((id.as_str().to_owned(), Head::read(row, id.as_str()))),
            Err(_) => None, // nobody has asked for what is no id
        };
        Ok(Self(rows.iter().filter_map(read).collect()))
    }

    /// The row of an execution.
    pub(crate) fn of(&mut self, id: &ExecutionId) -> Result<&mut Head, StoreError> {
        match self.0.get_mut(id.as_str()) {
            Some(Ok(head)) if head.status != AWAITED => Ok(head),
            Some(Err(corrupt)) => Err(corrupt.clone()),
            _ => Err(StoreError::Unknown(id.clone())),
        }
    }

    /// The row of an execution, or of one that is awaited.
    pub(crate) fn of_awaited(&mut self, id: &ExecutionId) -> Result<&mut Head, StoreError> {
        match self.0.get_mut(id.as_str()) {
            Some(Ok(head)) => Ok(head),
            Some(Err(corrupt)) => Err(corrupt.clone()),
            None => Err(StoreError::Unknown(id.clone())),
        }
    }

    /// Writes what has changed, and these events.
    pub(crate) async fn write(
        &self,
        transaction: &mut PgConnection,
        events: &Events<'_>,
    ) -> sqlx::Result<()> {
        let heads: Vec<&Head> = self.0.values().flatten().filter(|head| head.changed).collect();
        if heads.is_empty() {
            return Ok(());
        }
        events
            .bind(sqlx::query(WRITE))
            .bind(column(&heads, |head| head.key))
            .bind(heads.iter().map(|head| head.status.as_str()).collect::<Vec<_>>())
            .bind(column(&heads, |head| head.closed))
            .bind(column(&heads, |head| head.wake_at))
            .bind(column(&heads, |head| head.due_at))
            .bind(column(&heads, |head| integer(head.base)))
            .bind(column(&heads, |head| integer(head.inbox)))
            .bind(column(&heads, |head| head.takeovers))
            .bind(column(&heads, |head| integer(head.next)))
            .bind(column(&heads, |head| head.updated_at))
            .bind(column(&heads, |head| head.batch.bytes().to_vec()))
            .bind(column(&heads, |head| head.content.bytes().to_vec()))
            .bind(column(&heads, |head| integer(head.seen)))
            .execute(transaction)
            .await
            .map(drop)
    }
}

fn column<T>(heads: &[&Head], of: impl Fn(&Head) -> T) -> Vec<T> {
    heads.iter().map(|head| of(head)).collect()
}

impl Head {
    fn read(row: &PgRow, id: &str) -> Result<Self, StoreError> {
        let read = Reader::new(row, id);
        Ok(Self {
            key: read.get(1)?,
            status: read.get(2)?,
            leased: read.get(3)?,
            fence: read.count(4)?,
            wake_at: read.get(5)?,
            due_at: read.get(6)?,
            base: read.count(7)?,
            inbox: read.count(8)?,
            takeovers: read.get(9)?,
            next: read.count(10)?,
            updated_at: read.get(11)?,
            batch: read.digest(12)?,
            content: read.digest(13)?,
            seen: read.count(14)?,
            unread: BTreeSet::new(),
            closed: false,
            changed: false,
        })
    }

    /// Its status, when this build knows it.
    pub(crate) fn known_status(&self, id: &ExecutionId) -> Result<Status, StoreError> {
        let unknown = || row::corrupt(id.as_str(), &format!("{:?} where a status is expected", self.status));
        Status::named(&self.status).ok_or_else(unknown)
    }

    /// Its owner lets go.
    pub(crate) fn close(&mut self, close: &Close) {
        let status = close.status;
        let wake_at = close.wake_at.filter(|_| status == Status::Suspended).map(Timestamp::as_micros);
        self.status = status.name().into();
        self.seen = close.seen;
        (self.wake_at, self.due_at) =
            (wake_at, if status == Status::Running { Some(AT_ONCE) } else { wake_at });
        (self.leased, self.closed, self.changed) = (false, true, true);
    }
}

/// Events to write, as columns.
#[derive(Default)]
pub(crate) struct Events<'a> {
    executions: Vec<i64>,
    sequences: Vec<i64>,
    kinds: Vec<&'a str>,
    instants: Vec<i64>,
    schemas: Vec<i32>,
    payloads: Vec<&'a [u8]>,
    metas: Vec<&'a [u8]>,
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Postgres, sqlx::postgres::PgArguments>;

impl<'a> Events<'a> {
    /// Adds those of an execution: its key, or what the statement takes for one.
    pub(crate) fn add(&mut self, execution: i64, records: &'a [Record]) {
        for record in records {
            self.executions.push(execution);
            self.sequences.push(integer(record.sequence));
            self.kinds.push(&record.kind);
            self.instants.push(record.at.as_micros());
            self.schemas.push(record.schema.into());
            self.payloads.push(record.payload.as_bytes());
            self.metas.push(record.meta.as_bytes());
        }
    }

    /// Binds the next seven parameters.
    pub(crate) fn bind<'q>(&self, query: Query<'q>) -> Query<'q> {
        let query = query.bind(self.executions.clone()).bind(self.sequences.clone()).bind(self.kinds.clone());
        let query = query.bind(self.instants.clone()).bind(self.schemas.clone());
        query.bind(self.payloads.clone()).bind(self.metas.clone())
    }
}
