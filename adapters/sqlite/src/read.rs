//! Everything that only reads, each in one statement, and so from one moment of the file.
//! Not the checks of an append: those read inside its transaction.

use loom_runtime::{
    kernel::{ExecutionId, FrameId, Record, Timestamp},
    ports::{
        BranchRow, ClaimRequest, ExecutionRow, GateRow, GateState, InboxId, InboxItem, ListFilter, RESERVED,
        Slot, StoreError, WorkerId,
    },
};
use sqlx::{SqlitePool, sqlite::SqliteRow};

use crate::{
    branch,
    claim::{self, Backlog},
    error,
    row::{self, Reader},
    script::{Script, integer},
};

/// Branches `b`, as [`branch::read`] takes them.
const BRANCHES: &str = "SELECT e.id, b.name, b.version, b.set_at, b.set_by FROM branches AS b \
     JOIN executions AS e ON e.key = b.execution";

pub(crate) async fn fetch(script: Script, readers: &SqlitePool) -> Result<Vec<SqliteRow>, StoreError> {
    script.fetch(readers).await.map_err(|error| match error {
        sqlx::Error::PoolClosed => error::closed(),
        error => error::unavailable(&error),
    })
}

/// A condition: what is left here of an execution that is in another file of the fleet is of no meaning.
fn here<'s>(script: &'s mut Script, execution: &ExecutionId) -> &'s mut Script {
    script.sql(
        " AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = ? AND s.standing IN ('away', 'coming'))",
    );
    script.bind(i64::from(Slot::of(execution.as_str()).number()))
}

pub(crate) async fn records(
    readers: &SqlitePool,
    execution: &ExecutionId,
    from: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let mut script = Script::default();
    script.sql(
        "SELECT e.next, v.sequence, v.kind, v.at, v.schema, v.payload, v.meta, e.first FROM executions AS e \
         LEFT JOIN events AS v ON v.execution = e.key AND v.sequence >= ? \
         WHERE e.id = ?",
    );
    // At least one row, which tells an empty rest from an unknown execution.
    script.bind(integer(from)).bind(execution.as_str());
    here(&mut script, execution).sql(" ORDER BY v.sequence LIMIT ?;").bind(integer(limit.max(1) as u64));
    let rows = fetch(script, readers).await?;
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
        let schema = read.count(4)?;
        records.push(Record {
            sequence,
            kind: read.get(2)?,
            at: read.instant(3)?,
            schema: u16::try_from(schema)
                .map_err(|_| read.corrupt(&format!("{schema} where the schema of an event is expected")))?,
            payload: read.get(5)?,
            meta: read.get(6)?,
        });
    }
    if records.len() as u64 != expected {
        let found = from + records.len() as u64;
        let fault = format!("its log ends before event {found}, its row says {next}");
        return Err(row::corrupt(execution.as_str(), &fault));
    }
    Ok(records)
}

pub(crate) async fn execution(
    readers: &SqlitePool,
    execution: &ExecutionId,
) -> Result<Option<ExecutionRow>, StoreError> {
    let mut script = Script::default();
    script.sql("SELECT ").sql(row::EXECUTION).sql(" FROM executions AS e WHERE e.id = ?");
    here(script.bind(execution.as_str()), execution).sql(";");
    fetch(script, readers).await?.first().map(row::execution).transpose()
}

pub(crate) async fn list(readers: &SqlitePool, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
    let mut script = Script::default();
    script.sql("SELECT ").sql(row::EXECUTION).sql(" FROM executions AS e WHERE true");
    if !filter.statuses.is_empty() {
        let names: Vec<&str> = filter.statuses.iter().map(|status| status.name()).collect();
        script.sql(" AND e.status IN (SELECT value FROM json_each(?))");
        script.bind(serde_json::json!(names).to_string());
    }
    if let Some(flow) = &filter.flow {
        script.sql(" AND e.flow = ?").bind(flow.as_str());
    }
    if let Some(after) = &filter.after {
        script.sql(" AND e.id > ?").bind(after.as_str());
    }
    let limit = if filter.limit == 0 { -1 } else { integer(filter.limit as u64) };
    script.sql(" ORDER BY e.id LIMIT ?;").bind(limit);
    Ok(row::readable(fetch(script, readers).await?.iter().map(row::execution)))
}

/// How many early items there are that were posted before an instant.
pub(crate) async fn early_before(readers: &SqlitePool, before: Timestamp) -> Result<u64, StoreError> {
    let mut script = Script::default();
    script.sql("SELECT count(*) FROM early WHERE at < ? AND substr(execution, 1, 5) <> ?;");
    script.bind(before.as_micros()).bind(RESERVED);
    let rows = fetch(script, readers).await?;
    rows.first().map_or(Ok(0), |row| Reader::new(row, "early items").count(0))
}

/// How much is due, for a claim of `limit`.
pub(crate) async fn backlog(
    readers: &SqlitePool,
    request: &ClaimRequest,
    limit: usize,
) -> Result<Backlog, StoreError> {
    let mut script = Script::default();
    Backlog::ask(&mut script, request, limit);
    let told = fetch(script, readers).await?;
    Backlog::told(&told, request, limit).map_err(|error| error::unavailable(&error))
}

/// Whether a claim would find anything, as far as one look can tell. Whoever waits for a full lane is due all the time.
pub(crate) async fn anything_due(readers: &SqlitePool, request: &ClaimRequest) -> Result<bool, StoreError> {
    let backlog = backlog(readers, request, 1).await?;
    if backlog == Backlog::None {
        return Ok(false);
    }
    let mut script = Script::default();
    claim::choose(&mut script, request, &[], 1, backlog);
    Ok(!fetch(script, readers).await?.is_empty())
}

pub(crate) async fn inbox_waiting(
    readers: &SqlitePool,
    worker: &WorkerId,
) -> Result<Vec<ExecutionId>, StoreError> {
    let mut script = Script::default();
    script.sql(
        "SELECT e.id FROM executions AS e WHERE e.worker = ? AND EXISTS \
         (SELECT 1 FROM inbox AS i WHERE i.execution = e.key AND i.consumed = 0) ORDER BY e.id;",
    );
    script.bind(worker.as_str());
    Ok(row::readable(fetch(script, readers).await?.iter().map(row::id)))
}

pub(crate) async fn pending(
    readers: &SqlitePool,
    execution: &ExecutionId,
    after: InboxId,
) -> Result<Vec<InboxItem>, StoreError> {
    let mut script = Script::default();
    script.sql(
        "SELECT i.id, i.item_key, i.kind, i.payload, i.at FROM executions AS e \
         JOIN inbox AS i ON i.execution = e.key WHERE e.id = ? AND i.consumed = 0 AND i.id > ? ORDER BY i.id;",
    );
    script.bind(execution.as_str()).bind(integer(after));
    let items = fetch(script, readers).await?;
    let item = |row| {
        let read = Reader::new(row, execution.as_str());
        Ok(InboxItem {
            id: read.count(0)?,
            key: read.get(1)?,
            kind: read.get(2)?,
            payload: read.get(3)?,
            at: read.instant(4)?,
        })
    };
    items.iter().map(item).collect()
}

pub(crate) async fn gates(
    readers: &SqlitePool,
    execution: Option<&ExecutionId>,
) -> Result<Vec<GateRow>, StoreError> {
    let mut script = Script::default();
    script.sql(
        "SELECT e.id, g.frame, g.gate, g.schema, g.opened_at, g.expires_at, g.state, g.run \
         FROM gates AS g JOIN executions AS e ON e.key = g.execution WHERE ",
    );
    match execution {
        Some(execution) => script.sql("e.id = ? ORDER BY g.key;").bind(execution.as_str()),
        None => script.sql("g.state = 'open' ORDER BY e.id, g.key;"),
    };
    let rows = fetch(script, readers).await?;
    let gates = rows.iter().map(gate);
    if execution.is_some() { gates.collect() } else { Ok(row::readable(gates)) }
}

pub(crate) fn gate(row: &SqliteRow) -> Result<GateRow, StoreError> {
    let execution = row::id(row)?;
    let read = Reader::new(row, execution.as_str());
    let state: &str = read.get(6)?;
    Ok(GateRow {
        run: read.count(7)?,
        frame: FrameId::parsed(read.get(1)?),
        gate: read.get(2)?,
        schema: read.get(3)?,
        opened_at: read.instant(4)?,
        expires_at: read.maybe_instant(5)?,
        state: GateState::named(state)
            .ok_or_else(|| read.corrupt(&format!("{state:?} where the state of a gate is expected")))?,
        execution: execution.clone(),
    })
}

pub(crate) async fn branch(readers: &SqlitePool, name: &str) -> Result<Option<BranchRow>, StoreError> {
    let mut script = Script::default();
    script.sql(BRANCHES).sql(" WHERE b.name = ?;").bind(name);
    fetch(script, readers).await?.first().map(branch::read).transpose()
}

pub(crate) async fn branches(readers: &SqlitePool) -> Result<Vec<BranchRow>, StoreError> {
    let mut script = Script::default();
    script.sql(BRANCHES).sql(" ORDER BY b.name;");
    Ok(row::readable(fetch(script, readers).await?.iter().map(branch::read)))
}
