//! Stored rows as values of the ports, and what is said when they make no sense.
//! Not the queries that select them.

use loom_runtime::{
    kernel::{Digest, ExecutionId, Status, Timestamp},
    ports::{ExecutionRow, Lease, StoreError},
};
use sqlx::{Decode, Row, Sqlite, Type, sqlite::SqliteRow};

/// The columns of an execution `e`, in the order in which [`execution`] reads them.
pub(crate) const EXECUTION: &str = "e.key, e.id, e.flow, e.input, e.status, e.next, e.created_at, e.updated_at, \
     e.wake_at, e.worker, e.lease_until, e.fence, e.takeovers, e.base, e.first";

/// How many columns [`EXECUTION`] has.
pub(crate) const EXECUTION_WIDTH: usize = 15;

/// Reads columns by position, and names the execution when one makes no sense.
pub(crate) struct Reader<'r> {
    row: &'r SqliteRow,
    of: &'r str,
}

impl<'r> Reader<'r> {
    /// A reader of a row that belongs to execution `of`.
    pub(crate) fn new(row: &'r SqliteRow, of: &'r str) -> Self {
        Self { row, of }
    }

    /// Column `at`.
    pub(crate) fn get<T: Decode<'r, Sqlite> + Type<Sqlite>>(&self, at: usize) -> Result<T, StoreError> {
        self.row.try_get(at).map_err(|error| self.corrupt(&error.to_string()))
    }

    /// Column `at`, a number from 0 up.
    pub(crate) fn count(&self, at: usize) -> Result<u64, StoreError> {
        let number: i64 = self.get(at)?;
        u64::try_from(number).map_err(|_| self.corrupt(&format!("{number} where a count is expected")))
    }

    /// Column `at`, an instant.
    pub(crate) fn instant(&self, at: usize) -> Result<Timestamp, StoreError> {
        self.get(at).map(Timestamp::from_micros)
    }

    /// Column `at`, an instant or nothing.
    pub(crate) fn maybe_instant(&self, at: usize) -> Result<Option<Timestamp>, StoreError> {
        Ok(self.get::<Option<i64>>(at)?.map(Timestamp::from_micros))
    }

    /// The error of this row. Names the execution and the fault, never a payload.
    pub(crate) fn corrupt(&self, fault: &str) -> StoreError {
        corrupt(self.of, fault)
    }
}

/// The error of an execution whose rows make no sense.
pub(crate) fn corrupt(execution: &str, fault: &str) -> StoreError {
    StoreError::Corrupt(format!("execution `{execution}`: {fault}"))
}

/// Reads [`EXECUTION`].
pub(crate) fn execution(row: &SqliteRow) -> Result<ExecutionRow, StoreError> {
    let name: &str = row.try_get(1).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    let read = Reader::new(row, name);
    let id: ExecutionId = name.parse().map_err(|error| read.corrupt(&format!("{error}")))?;
    let input: &str = read.get(3)?;
    let status: &str = read.get(4)?;
    let lease = match (read.get::<Option<String>>(9)?, read.maybe_instant(10)?) {
        (Some(worker), Some(until)) => Some(Lease { worker, fence: read.count(11)?, until }),
        (None, None) => None,
        _ => return Err(read.corrupt("half a lease")),
    };
    Ok(ExecutionRow {
        flow: read.get(2)?,
        input: digest(input).ok_or_else(|| read.corrupt("the digest of its input is none"))?,
        status: Status::named(status)
            .ok_or_else(|| read.corrupt(&format!("{status:?} where a status is expected")))?,
        next: read.count(5)?,
        first: read.count(14)?,
        base: read.count(13)?,
        created_at: read.instant(6)?,
        updated_at: read.instant(7)?,
        wake_at: read.maybe_instant(8)?,
        lease,
        takeovers: u32::try_from(read.count(12)?).unwrap_or(u32::MAX),
        id,
    })
}

/// Of a list, what can be read; what cannot is reported, and hides nothing else.
pub(crate) fn readable<T>(rows: impl Iterator<Item = Result<T, StoreError>>) -> Vec<T> {
    rows.filter_map(|row| row.inspect_err(|error| tracing::error!(%error, "left out of a list")).ok())
        .collect()
}

/// Column 0, an id.
pub(crate) fn id(row: &SqliteRow) -> Result<ExecutionId, StoreError> {
    let name: &str = row.try_get(0).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    name.parse().map_err(|error| corrupt(name, &format!("{error}")))
}

/// 32 hexadecimal digits.
fn digest(hex: &str) -> Option<Digest> {
    serde_json::from_value(hex.into()).ok()
}
