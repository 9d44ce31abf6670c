//! Removals of the first events of logs, within a group.
//! Not what decides on them: a removal that comes too late is none.

use loom_runtime::ports::{Removal, StoreError};
use sqlx::Row;

use crate::{
    row,
    script::{Transaction, integer},
    writer::Asked,
};

/// Answers every removal, in order: whether it happened.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Removal, bool>],
) -> sqlx::Result<Vec<Result<bool, StoreError>>> {
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question, .. } in asked {
        verdicts.push(one(transaction, question).await?);
    }
    Ok(verdicts)
}

async fn one(transaction: &mut Transaction<'_>, removal: &Removal) -> sqlx::Result<Result<bool, StoreError>> {
    let script = transaction.script();
    script.sql("SELECT ").sql(row::EXECUTION);
    script.sql(", EXISTS (SELECT 1 FROM branches AS b WHERE b.execution = e.key) FROM executions AS e WHERE e.id = ?;");
    script.bind(removal.execution.as_str());
    let found = transaction.fetch().await?;
    let Some(found) = found.first() else {
        return Ok(Err(StoreError::Unknown(removal.execution.clone())));
    };
    let row = match row::execution(found) {
        Ok(row) => row,
        Err(corrupt) => return Ok(Err(corrupt)),
    };
    let (key, pointed_to): (i64, bool) = (found.try_get(0)?, found.try_get(row::EXECUTION_WIDTH)?);
    if !removal.fits(&row) || (pointed_to && removal.status.is_terminal()) {
        return Ok(Ok(false));
    }
    let until = integer(removal.until);
    let script = transaction.script();
    script.sql("DELETE FROM events WHERE execution = ? AND sequence < ?;").bind(key).bind(until);
    script.sql("UPDATE executions SET first = ? WHERE key = ?;").bind(until).bind(key);
    if removal.is_last() {
        for table in ["snapshots", "gates", "inbox", "unfit"] {
            script.sql("DELETE FROM ").sql(table).sql(" WHERE execution = ?;").bind(key);
        }
    } else {
        script.sql("DELETE FROM snapshots WHERE execution = ? AND sequence <= ?;").bind(key).bind(until);
        script.sql("DELETE FROM gates WHERE execution = ? AND run < ? AND state <> 'open';");
        script.bind(key).bind(until);
    }
    Ok(Ok(true))
}
