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

/// Whether an execution `e` that is due may be claimed by this worker. Nothing here is to become a join, which would be made of all
/// that is due.
macro_rules! fits {
    () => {
        "e.status IN ('running', 'suspended', 'parked') AND NOT e.key = ANY($3) \
         AND coalesce((SELECT s.standing FROM slots AS s WHERE s.slot = slot_of(e.id)), 'here') = 'here' \
         AND (NOT EXISTS (SELECT 1 FROM unfit AS u WHERE u.execution = e.key AND u.program = $5) \
            OR CASE WHEN e.status = 'running' THEN coalesce(e.lease_until, e.updated_at) \
            WHEN e.wake_at <= $1 THEN e.wake_at ELSE (SELECT min(i.at) FROM inbox AS i \
            WHERE i.execution = e.key AND NOT i.consumed AND i.id > e.seen) END <= $6)"
    };
}

/// The first of a queue `q` within a range of `executions_queue`.
macro_rules! front {
    ($range:literal, $order:literal) => {
        concat!(
            "(SELECT e.key FROM executions AS e WHERE e.flow = q.flow \
             AND coalesce('\\x01'::bytea || e.lane, '') = q.line AND e.priority = q.priority AND ",
            $range,
            " AND ",
            fits!(),
            " ORDER BY ",
            $order,
            " LIMIT least($4, 1000000000) * 4)"
        )
    };
}

/// What may be claimed of the rows of a `WITH` and a `FROM`, in order of the turns; rows that another transaction holds are
/// left for the next time.
///
/// A lane lets its executions in one after the other: those that would begin as far as its rate allows, then what is
/// left as far as it has slots. `line` is the lane, and a value that no lane has for all that are without. A row is
/// looked at again once it is locked: it may have been claimed since.
macro_rules! due {
    ($with:expr, $from:literal) => {
        concat!(
            "WITH ",
            $with,
            "due AS MATERIALIZED (SELECT e.key, e.id, e.priority, e.lane, coalesce('\\x01'::bytea || e.lane, '') AS line, \
             e.at_most, e.rate, e.rate_within, e.weight, e.fence = 0 AS begins, \
             CASE WHEN e.status = 'suspended' AND e.wake_at <= $1 THEN e.wake_at ELSE e.created_at END AS since \
             FROM ",
            $from,
            " WHERE e.due_at <= $1 AND ($2::text[] IS NULL OR e.flow = ANY($2)) AND ",
            fits!(),
            "), held AS MATERIALIZED (SELECT coalesce('\\x01'::bytea || lane, '') AS line, count(*) AS n FROM executions \
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
        )
    };
}

/// Of all that is due: for claims that find little.
const DUE: &str = due!("", "executions AS e");

/// Of the first of each queue, for claims whose cost does not grow with what is due behind them.
///
/// A queue is what has one flow, lane and priority; `queues` leaps from one to the next. Within one `executions_queue` has them in
/// order of their turns: those that anybody may take, never claimed before or else, and those whose instant has come.
/// Whatever is further back than the limit in all three has enough before it; a few times more is looked at, since what is there
/// may be locked by other claims.
const DUE_IN_FRONT: &str = due!(
    concat!(
        "RECURSIVE queues AS ((SELECT e.flow, coalesce('\\x01'::bytea || e.lane, '') AS line, e.priority \
         FROM executions AS e WHERE e.due_at IS NOT NULL ORDER BY 1, 2, 3 LIMIT 1) \
         UNION ALL SELECT n.* FROM queues AS q, LATERAL (SELECT e.flow, coalesce('\\x01'::bytea || e.lane, '') AS line, \
         e.priority FROM executions AS e WHERE e.due_at IS NOT NULL \
         AND (e.flow, coalesce('\\x01'::bytea || e.lane, ''), e.priority) > (q.flow, q.line, q.priority) \
         ORDER BY 1, 2, 3 LIMIT 1) AS n), \
         front AS MATERIALIZED (SELECT f.key FROM queues AS q, LATERAL (",
        front!("e.due_at = -9223372036854775808 AND (e.fence = 0) IS TRUE", "e.created_at, e.id"),
        " UNION ALL ",
        front!("e.due_at = -9223372036854775808 AND (e.fence = 0) IS FALSE", "e.created_at, e.id"),
        " UNION ALL ",
        front!("e.due_at > -9223372036854775808 AND e.due_at <= $1", "e.due_at"),
        ") AS f WHERE $2::text[] IS NULL OR q.flow = ANY($2)), "
    ),
    "front AS f JOIN executions AS e ON e.key = f.key"
);

/// The same of one execution. Somebody asks for just this one: a transaction that holds it is waited for.
const DUE_ONE: &str = row::execution!(
    " FROM executions AS e WHERE e.due_at <= $1 AND e.status IN ('running', 'suspended', 'parked') \
     AND NOT EXISTS (SELECT 1 FROM slots AS s WHERE s.slot = slot_of(e.id) AND s.standing <> 'here') \
     AND ($2::text[] IS NULL OR e.flow = ANY($2)) AND NOT e.key = ANY($3) AND e.id = $5 LIMIT $4 FOR NO KEY UPDATE"
);

const LEASE: &str = "UPDATE executions SET status = 'running', worker = $2, lease_until = $3, due_at = $4, \
     wake_at = NULL, updated_at = $5, fence = fence + 1, \
     takeovers = takeovers + CASE WHEN worker IS NULL THEN 0 ELSE 1 END WHERE key = ANY($1)";

/// How much a claim would find, as far as it has to know: workers ask all the time and mostly in vain.
const HOW_MUCH: &str =
    "SELECT count(*) FROM (SELECT 1 FROM executions AS e WHERE e.due_at <= $1 LIMIT $2) AS due";

const RENEW: &str = "WITH held AS (SELECT key FROM executions WHERE worker = $1 ORDER BY id FOR NO KEY UPDATE) \
     UPDATE executions AS e SET lease_until = greatest(e.lease_until, $2), due_at = greatest(e.due_at, $3) \
     FROM held WHERE e.key = held.key RETURNING e.id, e.fence";

const RELEASE: &str = "UPDATE executions SET worker = NULL, lease_until = NULL, due_at = $3 \
     WHERE id = $1 AND fence = $2 AND worker IS NOT NULL";

/// The statement that finds what is due; none if there is nothing.
pub(crate) async fn choice(
    connection: &mut PgConnection,
    request: &ClaimRequest,
) -> sqlx::Result<Option<&'static str>> {
    if request.execution.is_some() {
        return Ok(Some(DUE_ONE));
    }
    let little = integer(request.limit as u64).min(i64::MAX / 8) * 4;
    let how_much = sqlx::query_scalar(HOW_MUCH).bind(request.now.as_micros()).bind(little + 1);
    Ok(match how_much.fetch_one(connection).await? {
        0 => None,
        n if n <= little => Some(DUE),
        _ => Some(DUE_IN_FRONT),
    })
}

/// Takes what is due. Not to be repeated when it fails: nobody knows then whether it took something.
pub(crate) async fn claim(
    connection: &mut PgConnection,
    request: &ClaimRequest,
) -> sqlx::Result<Vec<Claimed>> {
    let Some(choice) = choice(connection, request).await? else { return Ok(Vec::new()) };
    let mut transaction = connection.begin().await?;
    let (mut chosen, mut unreadable) = (Vec::new(), Vec::new());
    loop {
        let limit = integer(request.limit as u64);
        let mut due = sqlx::query(choice)
            .bind(request.now.as_micros())
            .bind(&request.flows)
            .bind(&unreadable)
            .bind(limit);
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
