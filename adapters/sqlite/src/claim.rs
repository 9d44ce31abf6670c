//! Leases within a group: claims, renewals, releases.
//! Not the decision who is alive: workers bring their own clocks and deadlines.

use std::collections::HashSet;

use loom_runtime::{
    kernel::{ExecutionId, Status, Timestamp},
    ports::{ClaimRequest, Claimed, Lease, StoreError, TakeUp, WorkerId},
};
use sqlx::Row;

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

/// Adds the conditions of a claim on `executions AS e`.
pub(crate) fn due(script: &mut Script, request: &ClaimRequest) {
    script.sql("e.due_at <= ? AND e.status IN ('running', 'suspended', 'parked')");
    script.bind(request.now.as_micros());
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

/// What may be claimed, in order of the turns: at most `limit`, and none of those passed over.
///
/// A lane lets its executions in one after the other: those that would begin as far as its rate allows, then what is
/// left as far as it has slots. `line` is the lane, and a value that no lane has for all that are without.
pub(crate) fn choose(script: &mut Script, request: &ClaimRequest, passed: &[i64], limit: usize) {
    let now = request.now.as_micros();
    script.sql(
        "WITH due AS MATERIALIZED (SELECT e.key, e.id, e.priority, coalesce(e.lane, x'') AS line, e.at_most, \
         e.rate, e.rate_within, e.weight, e.fence = 0 AS begins, \
         CASE WHEN e.status = 'suspended' AND e.wake_at <= ? THEN e.wake_at ELSE e.created_at END AS since \
         FROM executions AS e WHERE ",
    );
    script.bind(now);
    due(script, request);
    script
        .sql(" AND e.key NOT IN (SELECT value FROM json_each(?))")
        .bind(serde_json::json!(passed).to_string());
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
        " FROM placed AS p JOIN executions AS e ON e.key = p.key WHERE p.at_most IS NULL OR p.place <= p.at_most \
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
    loop {
        let passed: Vec<i64> = unreadable.iter().copied().collect();
        choose(transaction.script(), request, &passed, request.limit);
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
