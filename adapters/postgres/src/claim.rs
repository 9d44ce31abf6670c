//! Leases: claims, renewals, releases, each in a transaction of its own.
//! Not the decision who is alive: workers bring their own clocks and deadlines.

use loom_runtime::{
    kernel::{ExecutionId, Status, Timestamp},
    ports::{ClaimRequest, Claimed, ExecutionRow, Lease, StoreError, TakeUp, WorkerId},
};
use sqlx::{Connection, PgConnection, Row, postgres::PgRow};

use crate::{
    create::due_of_lease,
    head::AT_ONCE,
    lane::Lanes,
    row::{self, integer},
};

/// What may be claimed, in order of the turns; rows that another transaction holds are left for the next time.
///
/// A lane lets its executions in one after the other: those that would begin as far as its rate allows, then what is
/// left as far as it has slots. `line` is the lane, and a value that no lane has for all that are without. A row is
/// looked at again once it is locked: it may have been claimed since.
pub(crate) const DUE: &str = concat!(
    "WITH due AS MATERIALIZED (SELECT e.key, e.id, e.priority, e.lane, coalesce('\\x01'::bytea || e.lane, '') AS line, \
     e.at_most, e.rate, e.rate_within, e.weight, e.fence = 0 AS begins, \
     CASE WHEN e.status = 'suspended' AND e.wake_at <= $1 THEN e.wake_at ELSE e.created_at END AS since \
     FROM executions AS e WHERE e.due_at <= $1 AND e.status IN ('running', 'suspended', 'parked') \
     AND ($2::text[] IS NULL OR e.flow = ANY($2)) AND NOT e.key = ANY($3) \
     AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = slot_of(e.id) AND s.standing <> 'here') \
     AND (NOT EXISTS (SELECT 1 FROM unfit AS u WHERE u.execution = e.key AND u.program = $5) \
        OR CASE WHEN e.status = 'running' THEN coalesce(e.lease_until, e.updated_at) \
        WHEN e.wake_at <= $1 THEN e.wake_at ELSE (SELECT min(i.at) FROM inbox AS i \
        WHERE i.execution = e.key AND NOT i.consumed AND i.id > e.seen) END <= $6)), \
     held AS MATERIALIZED (SELECT coalesce('\\x01'::bytea || lane, '') AS line, count(*) AS n FROM executions \
     WHERE worker IS NOT NULL AND lease_until >= $1 GROUP BY 1), \
     begun AS MATERIALIZED (SELECT r.line, r.rate_within, (SELECT count(*) FROM begins AS b \
     WHERE sha256(b.lane) = sha256(r.lane) AND b.at > $1 - r.rate_within) AS n \
     FROM (SELECT DISTINCT line, lane, rate_within FROM due WHERE rate IS NOT NULL) AS r), \
     timely AS (SELECT d.*, coalesce(b.n, 0) + count(*) FILTER (WHERE d.begins) OVER (PARTITION BY d.line \
     ORDER BY d.priority DESC, d.since, d.id ROWS UNBOUNDED PRECEDING) AS nth \
     FROM due AS d LEFT JOIN begun AS b ON b.line = d.line AND b.rate_within = d.rate_within), \
     placed AS (SELECT t.*, coalesce(h.n, 0) + row_number() OVER (PARTITION BY t.line \
     ORDER BY t.priority DESC, t.since, t.id) AS place FROM timely AS t LEFT JOIN held AS h ON h.line = t.line \
     WHERE NOT t.begins OR t.rate IS NULL OR t.nth <= t.rate) ",
    row::execution!(
        " FROM placed AS p JOIN executions AS e ON e.key = p.key \
         WHERE (p.at_most IS NULL OR p.place <= p.at_most) \
         AND e.due_at <= $1 AND e.status IN ('running', 'suspended', 'parked') \
         ORDER BY p.priority DESC, p.place * 1000000 / greatest(p.weight, 1), p.since, p.id \
         LIMIT $4 FOR NO KEY UPDATE OF e SKIP LOCKED"
    )
);

/// The same of one execution. Somebody asks for just this one: a transaction that holds it is waited for.
pub(crate) const DUE_ONE: &str = row::execution!(
    " FROM executions AS e WHERE e.due_at <= $1 AND e.status IN ('running', 'suspended', 'parked') \
     AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = slot_of(e.id) AND s.standing <> 'here') \
     AND ($2::text[] IS NULL OR e.flow = ANY($2)) AND NOT e.key = ANY($3) AND e.id = $5 LIMIT $4 FOR NO KEY UPDATE"
);

const LEASE: &str = "UPDATE executions SET status = 'running', worker = $2, lease_until = $3, due_at = $4, \
     wake_at = NULL, updated_at = $5, fence = fence + 1, \
     takeovers = takeovers + CASE WHEN worker IS NULL THEN 0 ELSE 1 END WHERE key = ANY($1)";

/// Whether a claim would find anything, as far as one look can tell: workers ask all the time and mostly in vain.
pub(crate) const ANYTHING_DUE: &str = "SELECT 1 FROM executions AS e WHERE e.due_at <= $1 LIMIT 1";

const RENEW: &str = "WITH held AS (SELECT key FROM executions WHERE worker = $1 ORDER BY id FOR NO KEY UPDATE) \
     UPDATE executions AS e SET lease_until = greatest(e.lease_until, $2), due_at = greatest(e.due_at, $3) \
     FROM held WHERE e.key = held.key RETURNING e.id, e.fence";

const RELEASE: &str = "UPDATE executions SET worker = NULL, lease_until = NULL, due_at = $3 \
     WHERE id = $1 AND fence = $2 AND worker IS NOT NULL";

/// Takes what is due. Not to be repeated when it fails: nobody knows then whether it took something.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    request: &ClaimRequest,
) -> sqlx::Result<Vec<Claimed>> {
    if request.execution.is_none() {
        let anything = sqlx::query(ANYTHING_DUE).bind(request.now.as_micros());
        if anything.fetch_optional(&mut *connection).await?.is_none() {
            return Ok(Vec::new());
        }
    }
    let mut transaction = connection.begin().await?;
    let (mut chosen, mut unreadable) = (Vec::new(), Vec::new());
    loop {
        let limit = integer(request.limit as u64);
        let due = sqlx::query(if request.execution.is_some() { DUE_ONE } else { DUE });
        let mut due = due.bind(request.now.as_micros()).bind(&request.flows).bind(&unreadable).bind(limit);
        due = match (&request.execution, request.program) {
            (Some(execution), _) => due.bind(execution.as_str()),
            // No program is unfit when there is none to look for.
            (None, program) => {
                let (program, since) = program.unzip();
                due.bind(program.map(|program| program.bytes().to_vec()))
                    .bind(since.map(Timestamp::as_micros))
            }
        };
        let before = unreadable.len();
        for row in due.fetch_all(&mut *transaction).await? {
            let (key, fence): (i64, i64) = (row.try_get(0)?, row.try_get(11)?);
            match row::read(&row) {
                Ok(found) => chosen.push((key, fence.unsigned_abs(), found)),
                Err(error) => {
                    tracing::error!(%error, "passed over by a claim");
                    unreadable.push(key);
                }
            }
        }
        // What cannot be read must not keep others from being claimed, nor hold a place in a lane: chosen anew without it.
        if unreadable.len() == before {
            break;
        }
        chosen.clear();
    }
    let rows = chosen.iter().map(|(.., row)| row);
    let waits = request.execution.is_some();
    let mut lanes = Lanes::lock(&mut transaction, rows, request.now, waits).await?;
    chosen.retain(|(_, fence, row)| lanes.admit(row, *fence == 0));
    lanes.write(&mut transaction, request.now).await?;
    let (keys, claimed): (Vec<i64>, Vec<Claimed>) =
        chosen.into_iter().map(|(key, fence, row)| (key, lease(row, fence + 1, request))).unzip();
    if !keys.is_empty() {
        let until = request.until.as_micros();
        let lease = sqlx::query(LEASE).bind(keys).bind(&request.worker).bind(until);
        let lease = lease.bind(due_of_lease(Some(until))).bind(request.now.as_micros());
        lease.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(claimed)
}

/// The row as the claim leaves it.
fn lease(mut row: ExecutionRow, fence: u64, request: &ClaimRequest) -> Claimed {
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

/// Extends what a worker holds.
pub(crate) async fn renew(
    connection: &mut PgConnection,
    worker: &WorkerId,
    until: Timestamp,
) -> sqlx::Result<Vec<(ExecutionId, u64)>> {
    let until = until.as_micros();
    let renew = sqlx::query(RENEW).bind(worker).bind(until).bind(due_of_lease(Some(until)));
    let held = |row: &PgRow| {
        let id = row::id(row, 0)?;
        let fence = row::Reader::new(row, id.as_str()).count(1)?;
        Ok::<_, StoreError>((id, fence))
    };
    let mut held = row::readable(renew.fetch_all(connection).await?.iter().map(held));
    held.sort_unstable();
    Ok(held)
}

/// Hands an execution back; a stale fence matches nothing.
pub(crate) async fn release(
    connection: &mut PgConnection,
    execution: &ExecutionId,
    fence: u64,
) -> sqlx::Result<()> {
    let release = sqlx::query(RELEASE).bind(execution.as_str()).bind(integer(fence)).bind(AT_ONCE);
    release.execute(connection).await.map(drop)
}
