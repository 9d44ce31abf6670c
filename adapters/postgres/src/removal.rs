//! Removals of the first events of logs.
//! Not what decides on them: a removal that comes too late is none.

use loom_runtime::ports::{Removal, StoreError};
use sqlx::{Connection, PgConnection, Row};

use crate::row::{self, integer};

/// The execution, and whether a branch points to it. Whoever appends waits, and is waited for.
const LOCK: &str = row::execution!(
    ", EXISTS (SELECT 1 FROM branches AS b WHERE b.execution = e.key) FROM executions AS e \
     WHERE e.id = $1 AND e.status <> 'awaited' FOR UPDATE OF e"
);

const EVENTS: &str = "DELETE FROM events WHERE execution = $1 AND sequence < $2";
const FIRST: &str = "UPDATE executions SET first = $2 WHERE key = $1";

/// What belongs to earlier runs only.
const OF_RUNS: [&str; 2] = [
    "DELETE FROM snapshots WHERE execution = $1 AND sequence <= $2",
    "DELETE FROM gates WHERE execution = $1 AND run < $2 AND state <> 'open'",
];

/// What is of no use to an execution that has ended.
const OF_ENDED: [&str; 4] = [
    "DELETE FROM snapshots WHERE execution = $1",
    "DELETE FROM gates WHERE execution = $1",
    "DELETE FROM inbox WHERE execution = $1",
    "DELETE FROM unfit WHERE execution = $1",
];

/// Removes, if everything is as expected: answers whether it was.
pub(crate) async fn remove(
    connection: &mut PgConnection,
    removal: &Removal,
) -> sqlx::Result<Result<bool, StoreError>> {
    let mut transaction = connection.begin().await?;
    let id = removal.execution.as_str();
    let Some(found) = sqlx::query(LOCK).bind(id).fetch_optional(&mut *transaction).await? else {
        return Ok(Err(StoreError::Unknown(removal.execution.clone())));
    };
    let row = match row::read(&found) {
        Ok(row) => row,
        Err(corrupt) => return Ok(Err(corrupt)),
    };
    let (key, pointed_to): (i64, bool) = (found.try_get(0)?, found.try_get(row::EXECUTION_WIDTH)?);
    if !removal.fits(&row) || (pointed_to && removal.status.is_terminal()) {
        return Ok(Ok(false));
    }
    for statement in [EVENTS, FIRST] {
        sqlx::query(statement).bind(key).bind(integer(removal.until)).execute(&mut *transaction).await?;
    }
    if removal.is_last() {
        for statement in OF_ENDED {
            sqlx::query(statement).bind(key).execute(&mut *transaction).await?;
        }
    } else {
        for statement in OF_RUNS {
            sqlx::query(statement).bind(key).bind(integer(removal.until)).execute(&mut *transaction).await?;
        }
    }
    transaction.commit().await?;
    Ok(Ok(true))
}
