//! Stored rows as values of the ports, and what is said when they make no sense.
//! Not the queries that select them.

use loom_runtime::{
    kernel::{Digest, ExecutionId, Status, Timestamp},
    ports::{ExecutionRow, Lease, StoreError},
};
use sqlx::{Decode, Postgres, Row, Type, postgres::PgRow};

/// `SELECT` of an execution `e`, in the order in which [`read`] reads it; what follows says which.
macro_rules! execution {
    ($rest:literal) => {
        concat!(
            "SELECT e.key, e.id, e.flow, e.input, e.status, e.next, e.created_at, e.updated_at, e.wake_at, ",
            "e.worker, e.lease_until, e.fence, e.takeovers, e.base, e.first",
            $rest
        )
    };
}
pub(crate) use execution;

/// How many columns [`execution!`] has.
pub(crate) const EXECUTION_WIDTH: usize = 15;

/// The status of a row that holds the place of an execution that items have come for early.
pub(crate) const AWAITED: &str = "awaited";

/// Reads columns by position, and names the execution when one makes no sense.
pub(crate) struct Reader<'r> {
    row: &'r PgRow,
    of: &'r str,
}

impl<'r> Reader<'r> {
    /// A reader of a row that belongs to execution `of`.
    pub(crate) fn new(row: &'r PgRow, of: &'r str) -> Self {
        Self { row, of }
    }

    /// Column `at`.
    pub(crate) fn get<T: Decode<'r, Postgres> + Type<Postgres>>(&self, at: usize) -> Result<T, StoreError> {
        self.row.try_get(at).map_err(|error| self.corrupt(&error.to_string()))
    }

    /// Column `at`, bytes that are text.
    pub(crate) fn text(&self, at: usize) -> Result<String, StoreError> {
        self.utf8(self.get(at)?)
    }

    /// Column `at`, bytes that are text, or nothing.
    pub(crate) fn maybe_text(&self, at: usize) -> Result<Option<String>, StoreError> {
        self.get::<Option<Vec<u8>>>(at)?.map(|bytes| self.utf8(bytes)).transpose()
    }

    fn utf8(&self, bytes: Vec<u8>) -> Result<String, StoreError> {
        String::from_utf8(bytes).map_err(|_| self.corrupt("bytes that are no text"))
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

    /// Column `at`, a digest.
    pub(crate) fn digest(&self, at: usize) -> Result<Digest, StoreError> {
        let bytes: &[u8] = self.get(at)?;
        bytes.try_into().map(Digest::from_bytes).map_err(|_| {
            self.corrupt(&format!("{} bytes where the 16 of a digest are expected", bytes.len()))
        })
    }

    /// Column `at`, a status.
    pub(crate) fn status(&self, at: usize) -> Result<Status, StoreError> {
        let name: &str = self.get(at)?;
        Status::named(name).ok_or_else(|| self.corrupt(&format!("{name:?} where a status is expected")))
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

/// Reads [`execution!`].
pub(crate) fn read(row: &PgRow) -> Result<ExecutionRow, StoreError> {
    let id = id(row, 1)?;
    let read = Reader::new(row, id.as_str());
    let lease = match (read.get::<Option<String>>(9)?, read.maybe_instant(10)?) {
        (Some(worker), Some(until)) => Some(Lease { worker, fence: read.count(11)?, until }),
        (None, None) => None,
        _ => return Err(read.corrupt("half a lease")),
    };
    let takeovers: i32 = read.get(12)?;
    Ok(ExecutionRow {
        flow: read.get(2)?,
        input: read.digest(3)?,
        status: read.status(4)?,
        next: read.count(5)?,
        first: read.count(14)?,
        base: read.count(13)?,
        created_at: read.instant(6)?,
        updated_at: read.instant(7)?,
        wake_at: read.maybe_instant(8)?,
        lease,
        takeovers: u32::try_from(takeovers)
            .map_err(|_| read.corrupt(&format!("{takeovers} where a count is expected")))?,
        id: id.clone(),
    })
}

/// Of a list, what can be read; what cannot is reported, and hides nothing else.
pub(crate) fn readable<T>(rows: impl Iterator<Item = Result<T, StoreError>>) -> Vec<T> {
    rows.filter_map(|row| row.inspect_err(|error| tracing::error!(%error, "left out of a list")).ok())
        .collect()
}

/// Column `at`, an id.
pub(crate) fn id(row: &PgRow, at: usize) -> Result<ExecutionId, StoreError> {
    let name: &str = row.try_get(at).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    name.parse().map_err(|error| corrupt(name, &format!("{error}")))
}

/// Sequences, fences and positions as Postgres keeps them. They count up from 0, one at a time.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
