//! Changes of snapshots within a group, and the reading of the newest.
//! Not what is in one.

use loom_runtime::{
    kernel::{ExecutionId, Snapshot},
    ports::StoreError,
};
use sqlx::{Row, SqlitePool};

use crate::{
    read::fetch,
    row::Reader,
    script::{Script, Transaction, integer},
    writer::Asked,
};

/// A change.
#[derive(Clone)]
pub(crate) enum Change {
    Put(Snapshot),
    MarkBad { execution: ExecutionId, of: String, sequence: u64 },
    Prune { execution: ExecutionId, of: String, keep: usize },
}

impl Change {
    pub(crate) fn execution(&self) -> &ExecutionId {
        match self {
            Self::Put(snapshot) => &snapshot.execution,
            Self::MarkBad { execution, .. } | Self::Prune { execution, .. } => execution,
        }
    }
}

/// Carries out every change, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Change, ()>],
) -> sqlx::Result<Vec<Result<(), StoreError>>> {
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question: change, .. } in asked {
        verdicts.push(one(transaction, change).await?);
    }
    Ok(verdicts)
}

async fn one(transaction: &mut Transaction<'_>, change: &Change) -> sqlx::Result<Result<(), StoreError>> {
    let id = change.execution();
    let script = transaction.script();
    script.sql("SELECT key FROM executions WHERE id = ?;").bind(id.as_str());
    let found = transaction.fetch().await?;
    let Some(key) = found.first().map(|row| row.try_get::<i64, _>(0)).transpose()? else {
        let puts = matches!(change, Change::Put(_));
        return Ok(if puts { Err(StoreError::Unknown(id.clone())) } else { Ok(()) });
    };
    let script = transaction.script();
    match change {
        Change::Put(snapshot) => {
            script.sql(
                "INSERT INTO snapshots (execution, subject, sequence, body, bad) VALUES (?, ?, ?, ?, 0) \
                 ON CONFLICT (execution, subject, sequence) DO UPDATE SET body = excluded.body WHERE bad = 0;",
            );
            script
                .bind(key)
                .bind(snapshot.of.as_str())
                .bind(integer(snapshot.sequence))
                .bind(snapshot.body.as_str());
        }
        // What nobody reads again takes no space.
        Change::MarkBad { of, sequence, .. } => {
            script.sql(
                "UPDATE snapshots SET bad = 1, body = '' WHERE execution = ? AND subject = ? AND sequence = ?;",
            );
            script.bind(key).bind(of.as_str()).bind(integer(*sequence));
        }
        Change::Prune { of, keep, .. } => {
            script.sql(
                "DELETE FROM snapshots WHERE execution = ? AND subject = ? AND bad = 0 AND sequence NOT IN \
                 (SELECT sequence FROM snapshots WHERE execution = ? AND subject = ? AND bad = 0 \
                 ORDER BY sequence DESC LIMIT ?);",
            );
            script.bind(key).bind(of.as_str()).bind(key).bind(of.as_str()).bind(integer(*keep as u64));
        }
    }
    Ok(Ok(()))
}

/// The newest good one of at most so many events.
pub(crate) async fn newest(
    readers: &SqlitePool,
    execution: &ExecutionId,
    of: &str,
    at_most: u64,
) -> Result<Option<Snapshot>, StoreError> {
    let mut script = Script::default();
    script.sql(
        "SELECT s.sequence, s.body FROM snapshots AS s JOIN executions AS e ON e.key = s.execution \
         WHERE e.id = ? AND s.subject = ? AND s.bad = 0 AND s.sequence <= ? ORDER BY s.sequence DESC LIMIT 1;",
    );
    script.bind(execution.as_str()).bind(of).bind(integer(at_most));
    let rows = fetch(script, readers).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let read = Reader::new(row, execution.as_str());
    let (execution, of) = (execution.clone(), of.to_owned());
    Ok(Some(Snapshot { execution, of, sequence: read.count(0)?, body: read.get(1)? }))
}
