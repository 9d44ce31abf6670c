//! Leases within a group: claims, renewals, releases.
//! Not the decision who is alive: workers bring their own clocks and deadlines.

use std::collections::HashSet;

use loom_runtime::{
    kernel::{ExecutionId, Status, Timestamp},
    ports::{ClaimRequest, Claimed, Lease, StoreError, TakeUp, WorkerId},
};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    row,
    script::{Script, Transaction, integer},
    writer::Asked,
};

/// The `due_at` of what anybody may take now.
pub(crate) const AT_ONCE: i64 = i64::MIN;

/// A lease holds up to and with its last microsecond; without one anybody may take a running execution.
pub(crate) fn due_of_lease(until: Option<i64>) -> i64 {
    until.map_or(AT_ONCE, |until| until.saturating_add(1))
}

/// A renewal.
pub(crate) struct Renewal {
    pub(crate) worker: WorkerId,
    pub(crate) until: Timestamp,
}

/// A release.
pub(crate) struct Release {
    pub(crate) execution: ExecutionId,
    pub(crate) fence: u64,
}

/// Adds the conditions of a claim on `executions AS e` that are due.
fn fits(script: &mut Script, request: &ClaimRequest, passed: &str) {
    script.sql(
        "e.status IN ('running', 'suspended', 'parked') AND e.key NOT IN (SELECT value FROM json_each(?))",
    );
    script.bind(passed);
    if let Some(execution) = &request.execution {
        script.sql(" AND e.id = ?").bind(execution.as_str());
    }
    if let Some(flows) = &request.flows {
        script.sql(" AND e.flow IN (SELECT value FROM json_each(?))");
        script.bind(serde_json::json!(flows).to_string());
    }
    if let Some((program, since)) = request.program.filter(|_| request.execution.is_none()) {
        script.sql(
            " AND (NOT EXISTS (SELECT 1 FROM unfit AS u WHERE u.execution = e.key AND u.program = ?) \
             OR CASE WHEN e.status = 'running' THEN coalesce(e.lease_until, e.updated_at) \
             WHEN e.wake_at <= ? THEN e.wake_at ELSE (SELECT min(i.at) FROM inbox AS i \
             WHERE i.execution = e.key AND i.consumed = 0 AND i.id > e.seen) END <= ?)",
        );
        script.bind(program.bytes().to_vec()).bind(request.now.as_micros()).bind(since.as_micros());
    }
}

/// How much is due, as far as a claim of `limit` cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backlog {
    /// Nothing.
    None,
    /// So little that all of it may be looked at.
    Little,
    /// More: the [`front`] of its queues is looked at.
    Much,
}

impl Backlog {
    /// Asks for it; [`told`](Self::told) reads the answer.
    pub(crate) fn ask(script: &mut Script, request: &ClaimRequest, limit: usize) {
        script.sql("SELECT count(*) FROM (SELECT 1 FROM executions WHERE due_at <= ? LIMIT ?);");
        script.bind(request.now.as_micros()).bind(Self::little(limit) + 1);
    }

    pub(crate) fn told(rows: &[SqliteRow], request: &ClaimRequest, limit: usize) -> sqlx::Result<Self> {
        let count: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
        Ok(match count {
            0 => Self::None,
            count if count <= Self::little(limit) || request.execution.is_some() => Self::Little,
            _ => Self::Much,
        })
    }

    fn little(limit: usize) -> i64 {
        integer(limit as u64).min(i64::MAX / 8) * 4
    }
}

/// A queue is what has one flow, lane and priority; this leaps from one to the next, each by an execution of it.
const QUEUES: &str = "RECURSIVE queues (key) AS (SELECT * FROM (SELECT key FROM executions WHERE due_at IS NOT NULL \
     ORDER BY flow, ifnull(lane, x''), priority LIMIT 1) UNION ALL SELECT coalesce(\
     (SELECT n.key FROM executions AS n WHERE n.due_at IS NOT NULL AND n.flow = h.flow \
     AND ifnull(n.lane, x'') = ifnull(h.lane, x'') AND n.priority > h.priority ORDER BY n.priority LIMIT 1), \
     (SELECT n.key FROM executions AS n WHERE n.due_at IS NOT NULL AND n.flow = h.flow \
     AND ifnull(n.lane, x'') > ifnull(h.lane, x'') ORDER BY ifnull(n.lane, x''), n.priority LIMIT 1), \
     (SELECT n.key FROM executions AS n WHERE n.due_at IS NOT NULL AND n.flow > h.flow \
     ORDER BY n.flow, ifnull(n.lane, x''), n.priority LIMIT 1)) \
     FROM queues AS q JOIN executions AS h ON h.key = q.key), ";

/// Within a queue `executions_queue` has in order of their turns: those that anybody may take, never claimed before or
/// else, and those whose instant has come.
const RANGES: [(&str, &str); 3] = [
    ("e.due_at = -9223372036854775808 AND (e.fence = 0) = 1", "e.created_at, e.id"),
    ("e.due_at = -9223372036854775808 AND (e.fence = 0) = 0", "e.created_at, e.id"),
    ("e.due_at > -9223372036854775808 AND e.due_at <= ", "e.due_at"),
];

/// Adds `front`, the first of each queue: for a claim whose cost does not grow with what is due behind them. What is further
/// back than the limit has enough before it.
fn front(script: &mut Script, request: &ClaimRequest, passed: &str, limit: usize) {
    script.sql(QUEUES).sql("front (key) AS (");
    for (n, (range, order)) in RANGES.into_iter().enumerate() {
        script.sql(if n == 0 { "" } else { " UNION ALL " }).sql(
            "SELECT f.key FROM queues AS q JOIN executions AS h ON h.key = q.key CROSS JOIN executions AS f \
             ON f.key IN (SELECT e.key FROM executions AS e WHERE e.flow = h.flow \
             AND ifnull(e.lane, x'') = ifnull(h.lane, x'') AND e.priority = h.priority AND ",
        );
        script.sql(range);
        if range.ends_with(' ') {
            script.sql("?").bind(request.now.as_micros());
        }
        script.sql(" AND ");
        fits(script, request, passed);
        script.sql(" ORDER BY ").sql(order).sql(" LIMIT ?)").bind(integer(limit as u64));
    }
    script.sql("), ");
}

/// What may be claimed, in order of the turns: at most `limit`, and none of those passed over.
///
/// A lane lets its executions in one after the other: those that would begin as far as its rate allows, then what is
/// left as far as it has slots. `line` is the lane, and a value that no lane has for all that are without.
pub(crate) fn choose(
    script: &mut Script,
    request: &ClaimRequest,
    passed: &[i64],
    limit: usize,
    backlog: Backlog,
) {
    let now = request.now.as_micros();
    let passed = serde_json::json!(passed).to_string();
    script.sql("WITH ");
    let from = if backlog == Backlog::Much {
        front(script, request, &passed, limit);
        // Joined in this order, or all that is due is looked through.
        "front AS f CROSS JOIN executions AS e ON e.key = f.key"
    } else {
        "executions AS e"
    };
    script.sql(
        "due AS MATERIALIZED (SELECT e.key, e.id, e.priority, coalesce(e.lane, x'') AS line, e.at_most, \
         e.rate, e.rate_within, e.weight, e.fence = 0 AS begins, \
         CASE WHEN e.status = 'suspended' AND e.wake_at <= ? THEN e.wake_at ELSE e.created_at END AS since FROM ",
    );
    script.bind(now).sql(from).sql(" WHERE e.due_at <= ? AND ").bind(now);
    fits(script, request, &passed);
    script.sql(
        "), held AS MATERIALIZED (SELECT coalesce(lane, x'') AS line, count(*) AS n FROM executions \
         WHERE worker IS NOT NULL AND lease_until >= ? GROUP BY 1), \
         begun AS MATERIALIZED (SELECT r.line, r.rate_within, (SELECT count(*) FROM begins AS b \
         WHERE b.lane = r.line AND b.at > ? - r.rate_within) AS n \
         FROM (SELECT DISTINCT line, rate_within FROM due WHERE rate IS NOT NULL) AS r), \
         timely AS (SELECT d.*, coalesce(b.n, 0) + sum(d.begins) OVER (PARTITION BY d.line \
         ORDER BY d.priority DESC, d.since, d.id ROWS UNBOUNDED PRECEDING) AS nth \
         FROM due AS d LEFT JOIN begun AS b ON b.line = d.line AND b.rate_within = d.rate_within), \
         placed AS (SELECT t.*, coalesce(h.n, 0) + row_number() OVER (PARTITION BY t.line \
         ORDER BY t.priority DESC, t.since, t.id) AS place FROM timely AS t LEFT JOIN held AS h ON h.line = t.line \
         WHERE NOT t.begins OR t.rate IS NULL OR t.nth <= t.rate) \
         SELECT ",
    );
    script.bind(now).bind(now);
    script.sql(row::EXECUTION).sql(
        " FROM placed AS p CROSS JOIN executions AS e ON e.key = p.key WHERE p.at_most IS NULL OR p.place <= p.at_most \
         ORDER BY p.priority DESC, p.place * 1000000 / p.weight, p.since, p.id LIMIT ?;",
    );
    script.bind(integer(limit as u64));
}

/// Answers every claim, one after the other: what the first gets the second does not.
pub(crate) async fn claim(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<ClaimRequest, Vec<Claimed>>],
) -> sqlx::Result<Vec<Result<Vec<Claimed>, StoreError>>> {
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question, reply } in asked {
        // Nobody would know of the leases of a claim whose caller has gone.
        let claimed = if reply.is_closed() { Vec::new() } else { claim_one(transaction, question).await? };
        verdicts.push(Ok(claimed));
    }
    Ok(verdicts)
}

async fn claim_one(transaction: &mut Transaction<'_>, request: &ClaimRequest) -> sqlx::Result<Vec<Claimed>> {
    let (mut claimed, mut keys, mut unreadable) = (Vec::new(), Vec::new(), HashSet::new());
    Backlog::ask(transaction.script(), request, request.limit);
    let backlog = Backlog::told(&transaction.fetch().await?, request, request.limit)?;
    loop {
        let passed: Vec<i64> = unreadable.iter().copied().collect();
        choose(transaction.script(), request, &passed, request.limit, backlog);
        let before = unreadable.len();
        for row in transaction.fetch().await? {
            let (key, fence): (i64, i64) = (row.try_get(0)?, row.try_get(11)?);
            match row::execution(&row) {
                Ok(found) if !transaction.part().has(&found.id) => drop(unreadable.insert(key)),
                Ok(found) => {
                    keys.push(key);
                    claimed.push(lease(found, fence.unsigned_abs() + 1, request));
                }
                Err(error) => {
                    tracing::error!(%error, "passed over by a claim");
                    unreadable.insert(key);
                }
            }
        }
        // What cannot be read must not keep others from being claimed, nor hold a place in a lane: chosen anew without it.
        if unreadable.len() == before {
            break;
        }
        (claimed, keys) = (Vec::new(), Vec::new());
    }
    if !keys.is_empty() {
        let until = request.until.as_micros();
        let script = transaction.script();
        script.sql(
            "UPDATE executions SET status = 'running', worker = ?, lease_until = ?, due_at = ?, wake_at = NULL, \
             updated_at = ?, fence = fence + 1, takeovers = takeovers + (worker IS NOT NULL) \
             WHERE key IN (SELECT value FROM json_each(?));",
        );
        script.bind(request.worker.as_str()).bind(until).bind(due_of_lease(Some(until)));
        script.bind(request.now.as_micros()).bind(serde_json::json!(keys).to_string());
        note_begins(script, &claimed, request.now);
    }
    Ok(claimed)
}

/// What counts against the rates of lanes from now on; what no longer does is forgotten.
fn note_begins(script: &mut Script, claimed: &[Claimed], now: Timestamp) {
    for Claimed { row, .. } in claimed.iter().filter(|claimed| claimed.fence == 1) {
        let Some((lane, rate)) = row.turn.lane.as_ref().and_then(|lane| Some((lane, lane.rate?))) else {
            continue;
        };
        script.sql(
            "DELETE FROM begins WHERE lane = ? AND at <= ?; INSERT INTO begins (lane, at) VALUES (?, ?);",
        );
        script.bind(lane.key.clone()).bind(now.as_micros().saturating_sub(rate.micros()));
        script.bind(lane.key.clone()).bind(now.as_micros());
    }
}

/// The row as the claim leaves it.
fn lease(mut row: loom_runtime::ports::ExecutionRow, fence: u64, request: &ClaimRequest) -> Claimed {
    let take_up = match (row.status, &row.lease) {
        (Status::Suspended, _) => TakeUp::Woken,
        (Status::Parked, _) => TakeUp::Retried,
        (_, Some(_)) => TakeUp::TakenOver,
        (_, None) => TakeUp::Unowned,
    };
    row.takeovers += u32::from(row.lease.is_some());
    row.status = Status::Running;
    (row.wake_at, row.updated_at) = (None, request.now);
    row.lease = Some(Lease { worker: request.worker.clone(), fence, until: request.until });
    Claimed { row, fence, take_up }
}

/// Answers every renewal.
pub(crate) async fn renew(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Renewal, Vec<(ExecutionId, u64)>>],
) -> sqlx::Result<Vec<Result<Vec<(ExecutionId, u64)>, StoreError>>> {
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question: Renewal { worker, until }, .. } in asked {
        let until = until.as_micros();
        let script = transaction.script();
        script.sql(
            "UPDATE executions SET lease_until = max(lease_until, ?), due_at = max(due_at, ?) \
             WHERE worker = ? RETURNING id, fence;",
        );
        script.bind(until).bind(due_of_lease(Some(until))).bind(worker.as_str());
        let rows = transaction.fetch().await?;
        let held = rows.iter().map(|row| {
            let name: &str = row.try_get(0).map_err(|error| StoreError::Corrupt(error.to_string()))?;
            let read = row::Reader::new(row, name);
            Ok((name.parse().map_err(|error| read.corrupt(&format!("{error}")))?, read.count(1)?))
        });
        let mut held = row::readable(held);
        held.sort_unstable();
        verdicts.push(Ok(held));
    }
    Ok(verdicts)
}

/// Carries out every release; a stale one matches nothing.
pub(crate) fn release(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<Release, ()>],
) -> Vec<Result<(), StoreError>> {
    for Asked { question, .. } in asked {
        transaction
            .script()
            .sql(
                "UPDATE executions SET worker = NULL, lease_until = NULL, due_at = ? \
                 WHERE id = ? AND fence = ? AND worker IS NOT NULL;",
            )
            .bind(AT_ONCE)
            .bind(question.execution.as_str())
            .bind(integer(question.fence));
    }
    asked.iter().map(|_| Ok(())).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };

    use loom_runtime::ports::ClaimRequest;
    use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

    use super::*;

    /// How many of SQLite's instructions a claim of 4 takes, with so many executions due.
    async fn cost(executions: usize) -> u64 {
        let mut connection = SqliteConnection::connect("sqlite::memory:").await.expect("a connection");
        crate::schema::migrate(&mut connection).await.expect("tables");
        let fill = include_str!("../tests/fixture/backlog.sql").replace("$n", &executions.to_string());
        sqlx::raw_sql(AssertSqlSafe(fill)).execute(&mut connection).await.expect("rows");
        let (now, until) = (Timestamp::from_micros(1_000), Timestamp::from_micros(2_000));
        let (worker, limit, execution, flows, program) = ("w".into(), 4, None, None, None);
        let request = ClaimRequest { worker, now, until, limit, execution, flows, program };
        let (steps, counted) = (Arc::new(AtomicU64::new(0)), 100);
        let told = steps.clone();
        let mut handle = connection.lock_handle().await.expect("the handle");
        handle.set_progress_handler(counted, move || {
            told.fetch_add(counted.unsigned_abs().into(), Ordering::Relaxed);
            true
        });
        drop(handle);
        let mut transaction = Transaction::begin(&mut connection);
        assert_eq!(claim_one(&mut transaction, &request).await.expect("a claim").len(), 4);
        transaction.commit().await.expect("a commit");
        steps.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn a_claim_costs_the_same_whatever_waits_behind_it() {
        let (little, much) = (cost(1_000).await, cost(100_000).await);
        assert!(much < little * 2, "instructions with 1,000 and with 100,000 due: {little} and {much}");
    }
}
