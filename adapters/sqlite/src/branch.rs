//! Changes of branches within a group.
//! Not the reading of branches.

use std::collections::HashMap;

use loom_runtime::ports::{BranchRow, SetBranch, StoreError};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    row::{self, Reader},
    script::{Transaction, integer},
    writer::Asked,
};

/// One row per change asked for: the branch as it is, and the execution that it is to point to.
const FOUND: &str = "SELECT x.id, b.name, b.version, b.set_at, b.set_by, w.n, e.key FROM w \
     LEFT JOIN executions AS e ON e.id = w.id LEFT JOIN branches AS b ON b.name = w.name \
     LEFT JOIN executions AS x ON x.key = b.execution;";

/// Answers every change, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<SetBranch, BranchRow>],
) -> sqlx::Result<Vec<Result<BranchRow, StoreError>>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let script = transaction.script();
    script.sql("WITH w (n, name, id) AS (VALUES ").rows(asked.len(), 3).sql(") ").sql(FOUND);
    for (n, Asked { question: set, .. }) in asked.iter().enumerate() {
        script.bind(n as i64).bind(set.name.as_str()).bind(set.execution.as_str());
    }
    let (mut branches, mut executions) = (HashMap::new(), HashMap::new());
    for found in transaction.fetch().await? {
        let n = usize::try_from(found.try_get::<i64, _>(5)?).unwrap_or(usize::MAX);
        executions.insert(n, found.try_get::<Option<i64>, _>(6)?);
        if found.try_get::<Option<&str>, _>(1)?.is_some() {
            branches.insert(asked[n].question.name.as_str(), read(&found));
        }
    }
    let mut verdicts = Vec::with_capacity(asked.len());
    for (n, Asked { question: set, .. }) in asked.iter().enumerate() {
        let current = branches.get(set.name.as_str());
        let verdict = match (executions.get(&n).copied().flatten(), current) {
            (None, _) => Err(StoreError::Unknown(set.execution.clone())),
            (_, Some(Err(corrupt))) => Err(StoreError::clone(corrupt)),
            (Some(key), current) => set.on(current.and_then(|row| row.as_ref().ok())).map(|set| (key, set)),
        };
        verdicts.push(verdict.map(|(key, (row, fresh))| {
            if fresh {
                write(transaction, key, &row);
                branches.insert(set.name.as_str(), Ok(row.clone()));
            }
            row
        }));
    }
    Ok(verdicts)
}

fn write(transaction: &mut Transaction<'_>, execution: i64, row: &BranchRow) {
    let script = transaction.script();
    script.sql(
        "INSERT INTO branches (name, execution, version, set_at, set_by) VALUES (?, ?, ?, ?, ?) \
         ON CONFLICT (name) DO UPDATE SET execution = excluded.execution, version = excluded.version, \
         set_at = excluded.set_at, set_by = excluded.set_by;",
    );
    script.bind(row.name.as_str()).bind(execution).bind(integer(row.version));
    script.bind(row.set_at.as_micros()).bind(row.by.as_str());
}

/// Reads the id of its execution, then name, version, instant and author of a branch.
pub(crate) fn read(found: &SqliteRow) -> Result<BranchRow, StoreError> {
    let execution = row::id(found)?;
    let read = Reader::new(found, execution.as_str());
    Ok(BranchRow {
        name: read.get(1)?,
        version: read.count(2)?,
        set_at: read.instant(3)?,
        by: read.get(4)?,
        execution: execution.clone(),
    })
}
