//! Branches: setting and reading them.
//! Not the rule of a change: that is [`SetBranch::on`].

use loom_runtime::ports::{BranchRow, SetBranch, StoreError};
use sqlx::{Connection, PgConnection, Row, postgres::PgRow};

use crate::row::{self, Reader, integer};

/// Branches `b`, as [`read`] takes them; what follows says which.
macro_rules! branches {
    ($rest:literal) => {
        concat!(
            "SELECT e.id, b.name, b.version, b.set_at, b.set_by FROM branches AS b ",
            "JOIN executions AS e ON e.key = b.execution",
            $rest
        )
    };
}

pub(crate) const ONE: &str = branches!(" WHERE sha256(b.name) = sha256($1)");
pub(crate) const ALL: &str = branches!(" ORDER BY b.name");

/// Whoever sets a branch of this name waits for the others: one that is not there yet has no row to lock.
const LOCK: &str = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || encode($1, 'hex'), 1))";

const TARGET: &str = "SELECT key FROM executions WHERE id = $1 AND status <> 'awaited'";

const SET: &str = "INSERT INTO branches (name, execution, version, set_at, set_by) VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (sha256(name)) DO UPDATE SET execution = excluded.execution, version = excluded.version, \
     set_at = excluded.set_at, set_by = excluded.set_by";

/// Sets a branch, or says why not.
pub(crate) async fn set(
    connection: &mut PgConnection,
    set: &SetBranch,
) -> sqlx::Result<Result<BranchRow, StoreError>> {
    let mut transaction = connection.begin().await?;
    let name = set.name.as_bytes();
    sqlx::query(LOCK).bind(name).execute(&mut *transaction).await?;
    let target = sqlx::query(TARGET).bind(set.execution.as_str()).fetch_optional(&mut *transaction).await?;
    let Some(target) = target else { return Ok(Err(StoreError::Unknown(set.execution.clone()))) };
    let current = sqlx::query(ONE).bind(name).fetch_optional(&mut *transaction).await?;
    let current = match current.as_ref().map(read).transpose() {
        Ok(current) => current,
        Err(corrupt) => return Ok(Err(corrupt)),
    };
    let (row, fresh) = match set.on(current.as_ref()) {
        Ok(set) => set,
        Err(moved) => return Ok(Err(moved)),
    };
    if fresh {
        let write = sqlx::query(SET).bind(name).bind(target.try_get::<i64, _>(0)?);
        let write = write.bind(integer(row.version)).bind(row.set_at.as_micros()).bind(row.by.as_bytes());
        write.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(Ok(row))
}

/// Reads the id of its execution, then name, version, instant and author of a branch.
pub(crate) fn read(found: &PgRow) -> Result<BranchRow, StoreError> {
    let execution = row::id(found, 0)?;
    let read = Reader::new(found, execution.as_str());
    Ok(BranchRow {
        name: read.text(1)?,
        version: read.count(2)?,
        set_at: read.instant(3)?,
        by: read.text(4)?,
        execution: execution.clone(),
    })
}
