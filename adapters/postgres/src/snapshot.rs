//! Snapshots: keeping, finding, marking and pruning them.
//! Not what is in one.

use loom_runtime::{
    kernel::{ExecutionId, Snapshot},
    ports::StoreError,
};
use sqlx::{PgConnection, Row, postgres::PgRow};

use crate::row::{Reader, integer};

/// Answers whether there is such an execution.
const PUT: &str = "WITH of AS (SELECT key FROM executions WHERE id = $1 AND status <> 'awaited'), put AS (\
        INSERT INTO snapshots AS s (execution, subject, sequence, bad, body) SELECT key, $2, $3, false, $4 FROM of \
        ON CONFLICT (execution, subject, sequence) DO UPDATE SET body = excluded.body WHERE NOT s.bad\
     ) SELECT count(*) FROM of";

/// What nobody reads again takes no space.
const MARK_BAD: &str = "UPDATE snapshots AS s SET bad = true, body = '' FROM executions AS e \
     WHERE e.id = $1 AND s.execution = e.key AND s.subject = $2 AND s.sequence = $3";

const PRUNE: &str = "DELETE FROM snapshots AS s USING executions AS e \
     WHERE e.id = $1 AND s.execution = e.key AND s.subject = $2 AND NOT s.bad AND s.sequence NOT IN \
     (SELECT k.sequence FROM snapshots AS k WHERE k.execution = e.key AND k.subject = $2 AND NOT k.bad \
     ORDER BY k.sequence DESC LIMIT $3)";

/// The newest good one of at most so many events, as [`read`] takes it.
pub(crate) const NEWEST: &str = "SELECT s.sequence, s.body FROM snapshots AS s \
     JOIN executions AS e ON e.key = s.execution \
     WHERE e.id = $1 AND s.subject = $2 AND NOT s.bad AND s.sequence <= $3 ORDER BY s.sequence DESC LIMIT 1";

pub(crate) async fn put(
    connection: &mut PgConnection,
    snapshot: &Snapshot,
) -> sqlx::Result<Result<(), StoreError>> {
    let put = sqlx::query(PUT).bind(snapshot.execution.as_str()).bind(snapshot.of.as_str());
    let put = put.bind(integer(snapshot.sequence));
    let found: i64 = put.bind(snapshot.body.as_bytes()).fetch_one(connection).await?.try_get(0)?;
    Ok(if found == 0 { Err(StoreError::Unknown(snapshot.execution.clone())) } else { Ok(()) })
}

pub(crate) async fn mark_bad(
    connection: &mut PgConnection,
    execution: &ExecutionId,
    of: &str,
    sequence: u64,
) -> sqlx::Result<()> {
    let mark = sqlx::query(MARK_BAD).bind(execution.as_str()).bind(of).bind(integer(sequence));
    mark.execute(connection).await.map(drop)
}

pub(crate) async fn prune(
    connection: &mut PgConnection,
    execution: &ExecutionId,
    of: &str,
    keep: usize,
) -> sqlx::Result<()> {
    let prune = sqlx::query(PRUNE).bind(execution.as_str()).bind(of).bind(integer(keep as u64));
    prune.execute(connection).await.map(drop)
}

pub(crate) fn read(row: &PgRow, execution: &ExecutionId, of: &str) -> Result<Snapshot, StoreError> {
    let read = Reader::new(row, execution.as_str());
    let (execution, of) = (execution.clone(), of.to_owned());
    Ok(Snapshot { execution, of, sequence: read.count(0)?, body: read.text(1)? })
}
