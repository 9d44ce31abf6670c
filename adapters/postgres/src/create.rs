//! Creations within a group: which ids are new, and what the others hold.
//! Not the first claim by a worker that finds an execution unowned.

use std::collections::HashMap;

use loom_runtime::{
    kernel::{Digest, ExecutionId, Status},
    ports::{Created, ExecutionRow, Lane, NewExecution, StoreError},
};
use sqlx::{PgConnection, Row};

use crate::{
    gate,
    head::{AT_ONCE, Events},
    queue::{Answers, Kind},
    row::{self, integer},
};

/// Rows and events in one round trip, in the order in which everybody takes rows. A row that is only awaited
/// becomes the execution, and keeps its inbox. The events name their execution by its number among the new ones.
const CREATE: &str = "WITH made AS (\
        INSERT INTO executions AS e (id, flow, input, created_at, first_batch, first_content, status, worker, \
           lease_until, fence, due_at, base, takeovers, next, updated_at, batch, content, \
           priority, lane, at_most, rate, rate_within, weight) \
        SELECT w.id, w.flow, w.input, w.created_at, w.batch, w.content, $1, w.worker, w.lease_until, w.fence, w.due_at, \
           w.base, 0, w.next, w.updated_at, w.batch, w.content, \
           w.priority, w.lane, w.at_most, w.rate, w.rate_within, w.weight \
        FROM unnest($9::text[], $10::text[], $11::bytea[], $12::bigint[], $13::bytea[], $14::bytea[], $15::text[], \
           $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[], $21::bigint[], \
           $22::smallint[], $23::bytea[], $24::bigint[], $25::bigint[], $26::bigint[], $27::int[]) \
           AS w (id, flow, input, created_at, batch, content, worker, lease_until, fence, due_at, base, next, updated_at, \
              priority, lane, at_most, rate, rate_within, weight) \
        ORDER BY w.id COLLATE \"C\" \
        ON CONFLICT (id) DO UPDATE SET flow = excluded.flow, input = excluded.input, \
           created_at = excluded.created_at, first_batch = excluded.first_batch, \
           first_content = excluded.first_content, status = excluded.status, worker = excluded.worker, \
           lease_until = excluded.lease_until, fence = excluded.fence, due_at = excluded.due_at, \
           base = excluded.base, next = excluded.next, updated_at = excluded.updated_at, batch = excluded.batch, \
           content = excluded.content, priority = excluded.priority, lane = excluded.lane, \
           at_most = excluded.at_most, rate = excluded.rate, rate_within = excluded.rate_within, \
           weight = excluded.weight WHERE e.status = 'awaited' \
        RETURNING key, id\
     ), written AS (\
        INSERT INTO events (execution, sequence, kind, at, schema, payload, meta) \
        SELECT made.key, v.sequence, v.kind, v.at, v.schema, v.payload, v.meta \
        FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::int[], $7::bytea[], $8::bytea[]) \
           AS v (execution, sequence, kind, at, schema, payload, meta) \
        JOIN made ON made.id = ($9::text[])[v.execution]\
     ) SELECT key, id FROM made";

const EXISTING: &str =
    row::execution!(", e.first_batch, e.first_content FROM executions AS e WHERE e.id = ANY($1)");

/// A creation on its way: its content is digested once.
pub(crate) struct Creation {
    new: NewExecution,
    content: Digest,
}

impl Creation {
    pub(crate) fn new(new: NewExecution) -> Self {
        let content = new.content();
        Self { new, content }
    }

    /// The answer when it is there already, made by this `batch` with this `content` or by another.
    fn meets(
        &self,
        batch: Digest,
        content: Digest,
        row: Result<ExecutionRow, StoreError>,
    ) -> Result<Created, StoreError> {
        if (batch, content) == (self.new.batch, self.content) {
            return Ok(Created::New { fence: u64::from(self.new.claim.is_some()) });
        }
        row.map(|row| Created::Exists(Box::new(row)))
    }
}

/// Creations.
#[derive(Debug)]
pub(crate) struct Creations;

impl Kind for Creations {
    type Question = Creation;
    type Answer = Created;

    fn rows(creation: &Creation) -> usize {
        creation.new.records.len()
    }

    fn subject(creation: &Creation) -> &ExecutionId {
        &creation.new.id
    }

    async fn apply(transaction: &mut PgConnection, creations: &[Creation]) -> sqlx::Result<Answers<Created>> {
        // Of several with one id the first is tried.
        let mut first: HashMap<&str, &Creation> = HashMap::new();
        for creation in creations {
            first.entry(creation.new.id.as_str()).or_insert(creation);
        }
        let tried: Vec<&Creation> = first.values().copied().collect();
        let made = create(transaction, &tried).await?;
        let taken: Vec<&str> = first.keys().filter(|id| !made.contains_key(**id)).copied().collect();
        let mut existing = HashMap::new();
        if !taken.is_empty() {
            for found in sqlx::query(EXISTING).bind(taken).fetch_all(&mut *transaction).await? {
                let Ok(id) = row::id(&found, 1) else { continue };
                let read = row::Reader::new(&found, id.as_str());
                let batches = read
                    .digest(row::EXECUTION_WIDTH)
                    .and_then(|batch| Ok((batch, read.digest(row::EXECUTION_WIDTH + 1)?)));
                existing.insert(id.as_str().to_owned(), (batches, row::read(&found)));
            }
        }
        let changes = tried.iter().filter_map(|Creation { new, .. }| {
            let execution = *made.get(new.id.as_str())?;
            Some(gate::Changes { execution, run: new.base, at: new.row().updated_at, changes: &new.gates })
        });
        gate::write(transaction, changes).await?;
        let verdict = |creation: &Creation| {
            let id = creation.new.id.as_str();
            match (made.contains_key(id), existing.get(id)) {
                (true, _) => {
                    let Creation { new, content } = first[id];
                    creation.meets(new.batch, *content, Ok(new.row()))
                }
                (false, Some((Ok((batch, content)), row))) => creation.meets(*batch, *content, row.clone()),
                (false, Some((Err(corrupt), _))) => Err(corrupt.clone()),
                (false, None) => Err(row::corrupt(id, "its row is there and cannot be read")),
            }
        };
        Ok(creations.iter().map(verdict).collect())
    }
}

/// Creates those whose id is free; answers the keys of these.
async fn create(transaction: &mut PgConnection, tried: &[&Creation]) -> sqlx::Result<HashMap<String, i64>> {
    let rows: Vec<ExecutionRow> = tried.iter().map(|creation| creation.new.row()).collect();
    let mut events = Events::default();
    for (Creation { new, .. }, n) in tried.iter().zip(1..) {
        events.add(n, &new.records);
    }
    let until = |row: &ExecutionRow| row.lease.as_ref().map(|lease| lease.until.as_micros());
    let worker = |row: &ExecutionRow| row.lease.as_ref().map(|lease| lease.worker.clone());
    let made = events
        .bind(sqlx::query(CREATE).bind(Status::Running.name()))
        .bind(tried.iter().map(|of| of.new.id.as_str()).collect::<Vec<_>>())
        .bind(tried.iter().map(|of| of.new.flow.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.input.bytes().to_vec()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.created_at.as_micros()).collect::<Vec<_>>())
        .bind(tried.iter().map(|of| of.new.batch.bytes().to_vec()).collect::<Vec<_>>())
        .bind(tried.iter().map(|of| of.content.bytes().to_vec()).collect::<Vec<_>>())
        .bind(rows.iter().map(worker).collect::<Vec<_>>())
        .bind(rows.iter().map(until).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| i64::from(row.lease.is_some())).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| due_of_lease(until(row))).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| integer(row.base)).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| integer(row.next)).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.updated_at.as_micros()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.turn.priority).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| Some(lane(row)?.key.as_bytes().to_vec())).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| Some(i64::from(lane(row)?.at_most?.get()))).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| Some(i64::from(lane(row)?.rate?.begins.get()))).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| Some(lane(row)?.rate?.micros())).collect::<Vec<_>>())
        .bind(
            rows.iter()
                .map(|row| lane(row).map_or(1, |lane| i32::from(lane.weight.get())))
                .collect::<Vec<_>>(),
        );
    made.fetch_all(transaction).await?.iter().map(|row| Ok((row.try_get(1)?, row.try_get(0)?))).collect()
}

fn lane(row: &ExecutionRow) -> Option<&Lane> {
    row.turn.lane.as_ref()
}

/// A lease holds up to and with its last microsecond; without one anybody may take a running execution.
pub(crate) fn due_of_lease(until: Option<i64>) -> i64 {
    until.map_or(AT_ONCE, |until| until.saturating_add(1))
}
