//! Everything that only reads, each in one statement, and so from one moment of the database.
//! Not the checks of an append: those read inside its transaction.

use loom_runtime::{
    kernel::{ExecutionId, FrameId, Record},
    ports::{GateRow, GateState, InboxItem, ListFilter, StoreError},
};
use sqlx::{AssertSqlSafe, SqlSafeStr, SqlStr, postgres::PgRow};

use crate::row::{self, Reader};

/// At least one row, which tells an empty rest from an unknown execution.
pub(crate) const RECORDS: &str = "SELECT e.next, v.sequence, v.kind, v.at, v.schema, v.payload, v.meta, e.first \
     FROM executions AS e LEFT JOIN events AS v ON v.execution = e.key AND v.sequence >= $2 \
     WHERE e.id = $1 AND e.status <> 'awaited' \
     AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = $4 AND s.standing IN ('away', 'coming')) \
     ORDER BY v.sequence LIMIT $3";

/// What is left here of an execution that is in another database of the fleet is of no meaning.
pub(crate) const EXECUTION: &str = row::execution!(
    " FROM executions AS e WHERE e.id = $1 AND e.status <> 'awaited' \
     AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = $2 AND s.standing IN ('away', 'coming'))"
);

/// Why the server takes no writes; NULL when it does.
pub(crate) const READ_ONLY: &str = "SELECT CASE WHEN pg_is_in_recovery() THEN 'it is a standby' \
     WHEN current_setting('transaction_read_only') = 'on' THEN 'it is set to read only' END";

pub(crate) const INBOX_WAITING: &str = "SELECT e.id FROM executions AS e WHERE e.worker = $1 AND EXISTS \
     (SELECT 1 FROM inbox AS i WHERE i.execution = e.key AND NOT i.consumed) ORDER BY e.id";

pub(crate) const PENDING: &str = "SELECT i.id, i.item_key, i.kind, i.payload, i.at FROM executions AS e \
     JOIN inbox AS i ON i.execution = e.key \
     WHERE e.id = $1 AND e.status <> 'awaited' AND NOT i.consumed AND i.id > $2 ORDER BY i.id";

pub(crate) const GATES: &str = "SELECT e.id, g.frame, g.gate, g.schema, g.opened_at, g.expires_at, g.state, g.run \
     FROM gates AS g JOIN executions AS e ON e.key = g.execution WHERE e.id = $1 ORDER BY g.key";

pub(crate) const OPEN_GATES: &str = "SELECT e.id, g.frame, g.gate, g.schema, g.opened_at, g.expires_at, g.state, g.run \
     FROM gates AS g JOIN executions AS e ON e.key = g.execution WHERE g.state = 'open' ORDER BY e.id, g.key";

/// Reads what [`RECORDS`] finds.
pub(crate) fn records(
    rows: &[PgRow],
    execution: &ExecutionId,
    from: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let Some(first) = rows.first() else { return Err(StoreError::Unknown(execution.clone())) };
    let head = Reader::new(first, execution.as_str());
    let (next, first) = (head.count(0)?, head.count(7)?);
    if from < first {
        return Err(StoreError::Archived { execution: execution.clone(), first });
    }
    let expected = next.saturating_sub(from).min(limit as u64);
    let mut records = Vec::with_capacity(rows.len());
    for row in rows.iter().take(limit) {
        let read = Reader::new(row, execution.as_str());
        if read.get::<Option<i64>>(1)?.is_none() {
            break;
        }
        let sequence = read.count(1)?;
        let due = from + records.len() as u64;
        if sequence != due {
            return Err(read.corrupt(&format!("event {sequence} where {due} is expected")));
        }
        let schema: i32 = read.get(4)?;
        records.push(Record {
            sequence,
            kind: read.get(2)?,
            at: read.instant(3)?,
            schema: u16::try_from(schema)
                .map_err(|_| read.corrupt(&format!("{schema} where the schema of an event is expected")))?,
            payload: read.text(5)?,
            meta: read.text(6)?,
        });
    }
    if records.len() as u64 != expected {
        let found = from + records.len() as u64;
        let fault = format!("its log ends before event {found}, its row says {next}");
        return Err(row::corrupt(execution.as_str(), &fault));
    }
    Ok(records)
}

/// The statement of a list. Statuses are written out, so that the index of the few that are parked serves; they
/// are words of this program.
pub(crate) fn list(filter: &ListFilter) -> SqlStr {
    let mut sql = row::execution!(" FROM executions AS e WHERE e.status <> 'awaited'").to_owned();
    if let [first, rest @ ..] = &*filter.statuses {
        sql.push_str(" AND e.status IN ('");
        sql.push_str(first.name());
        for status in rest {
            sql.push_str("', '");
            sql.push_str(status.name());
        }
        sql.push_str("')");
    }
    sql.push_str(" AND ($1::text IS NULL OR e.flow = $1) AND e.id > coalesce($2, '') ORDER BY e.id LIMIT $3");
    AssertSqlSafe(sql).into_sql_str()
}

/// Reads what [`PENDING`] finds.
pub(crate) fn item(row: &PgRow, execution: &ExecutionId) -> Result<InboxItem, StoreError> {
    let read = Reader::new(row, execution.as_str());
    Ok(InboxItem {
        id: read.count(0)?,
        key: read.maybe_text(1)?,
        kind: read.get(2)?,
        payload: read.text(3)?,
        at: read.instant(4)?,
    })
}

/// Reads what [`GATES`] and [`OPEN_GATES`] find.
pub(crate) fn gate(row: &PgRow) -> Result<GateRow, StoreError> {
    let execution = row::id(row, 0)?;
    let read = Reader::new(row, execution.as_str());
    let state: &str = read.get(6)?;
    Ok(GateRow {
        run: read.count(7)?,
        frame: FrameId::parsed(&read.text(1)?),
        gate: read.get(2)?,
        schema: read.text(3)?,
        opened_at: read.instant(4)?,
        expires_at: read.maybe_instant(5)?,
        state: GateState::named(state)
            .ok_or_else(|| read.corrupt(&format!("{state:?} where the state of a gate is expected")))?,
        execution: execution.clone(),
    })
}
