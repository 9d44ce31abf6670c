//! Creations within a group: which ids are new, and what the others hold.
//! Not the first claim by a worker that finds an execution unowned.

use std::collections::{HashMap, HashSet};

use loom_runtime::{
    kernel::Status,
    ports::{Created, ExecutionRow, NewExecution, StoreError},
};
use sqlx::Row;

use crate::{
    gate, row,
    script::{EventRow, Transaction, integer},
    writer::Asked,
};

/// One row per id asked for; NULL where it is free.
const EXISTING: &str = "(SELECT coalesce(max(key), 0) FROM executions), w.value, e.first_batch, e.first_content, \
     EXISTS (SELECT 1 FROM early AS y WHERE y.execution = w.value) FROM json_each(?) AS w LEFT JOIN executions AS e ON e.id = w.value;";

/// Where an id comes first, or what it holds.
struct Taken {
    row: Result<ExecutionRow, StoreError>,
    batch: Vec<u8>,
    content: Vec<u8>,
}

/// Answers every creation, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<NewExecution, Created>],
) -> sqlx::Result<Vec<Result<Created, StoreError>>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let ids: Vec<&str> = asked.iter().map(|asked| asked.question.id.as_str()).collect();
    transaction.script().sql("SELECT ").sql(row::EXECUTION).sql(", ").sql(EXISTING);
    transaction.script().bind(serde_json::json!(ids).to_string());
    let (mut taken, mut awaited) = (HashMap::new(), HashSet::new());
    let mut key = 0_i64;
    for row in transaction.fetch().await? {
        let (top, id): (i64, String) =
            (row.try_get(row::EXECUTION_WIDTH)?, row.try_get(row::EXECUTION_WIDTH + 1)?);
        key = top;
        if let Some(batch) = row.try_get(row::EXECUTION_WIDTH + 2)? {
            let content = row.try_get(row::EXECUTION_WIDTH + 3)?;
            taken.insert(id, Taken { row: row::execution(&row), batch, content });
        } else if row.try_get(row::EXECUTION_WIDTH + 4)? {
            awaited.insert(id);
        }
    }
    let mut new = Vec::new();
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question, .. } in asked {
        let (batch, content) = (question.batch.bytes(), question.content().bytes());
        let fence = u64::from(question.claim.is_some());
        verdicts.push(match taken.get(question.id.as_str()) {
            Some(found) if found.batch == batch && found.content == content => Ok(Created::New { fence }),
            Some(found) => found.row.clone().map(|row| Created::Exists(Box::new(row))),
            None => {
                key += 1;
                let row = Ok(question.row());
                let (batch, content) = (batch.to_vec(), content.to_vec());
                taken.insert(question.id.as_str().into(), Taken { row, batch, content });
                new.push((key, question));
                Ok(Created::New { fence })
            }
        });
    }
    write(transaction, &new);
    let new = new.iter().filter(|(_, new)| awaited.contains(new.id.as_str()));
    move_early(transaction, &new.map(|(key, new)| (*key, new.id.as_str())).collect::<Vec<_>>());
    Ok(verdicts)
}

fn write(transaction: &mut Transaction<'_>, new: &[(i64, &NewExecution)]) {
    if new.is_empty() {
        return;
    }
    let script = transaction.script();
    script.sql(
        "INSERT INTO executions (key, id, flow, input, status, next, created_at, updated_at, worker, \
         lease_until, fence, takeovers, base, seen, due_at, first_batch, first_content, batch, content, \
         priority, lane, at_most, rate, rate_within, weight) VALUES ",
    );
    script.rows(new.len(), 25).sql(";");
    for (key, new) in new {
        let (batch, content) = (new.batch.bytes().to_vec(), new.content().bytes().to_vec());
        let ExecutionRow { next, base, created_at, updated_at, .. } = new.row();
        let (worker, until) = new.claim.clone().unzip();
        let until = until.map(|until| until.as_micros());
        script.bind(*key).bind(new.id.as_str()).bind(new.flow.as_str()).bind(new.input.to_string());
        script.bind(Status::Running.name()).bind(integer(next));
        script.bind(created_at.as_micros()).bind(updated_at.as_micros());
        script.bind(worker).bind(until).bind(i64::from(until.is_some()));
        script.bind(0_i64).bind(integer(base)).bind(0_i64);
        script.bind(crate::claim::due_of_lease(until));
        script.bind(batch.clone()).bind(content.clone()).bind(batch).bind(content);
        let lane = new.turn.lane.as_ref();
        let rate = lane.and_then(|lane| lane.rate);
        script.bind(i64::from(new.turn.priority)).bind(lane.map(|lane| lane.key.clone()));
        script.bind(lane.and_then(|lane| lane.at_most).map(|most| i64::from(most.get())));
        script.bind(rate.map(|rate| i64::from(rate.begins.get()))).bind(rate.map(|rate| rate.micros()));
        script.bind(lane.map_or(1, |lane| i64::from(lane.weight.get())));
    }
    let changes = new.iter().map(|(key, new)| gate::Changes {
        execution: *key,
        run: new.base,
        at: new.row().updated_at,
        changes: &new.gates,
    });
    gate::write(script, changes);
    for (key, new) in new {
        new.records.iter().for_each(|record| transaction.event(EventRow::new(*key, record)));
    }
}

/// Moves the early items of these executions into their inboxes.
fn move_early(transaction: &mut Transaction<'_>, new: &[(i64, &str)]) {
    if new.is_empty() {
        return;
    }
    let new = serde_json::json!(new).to_string();
    let script = transaction.script();
    script.sql(
        "INSERT INTO inbox (id, execution, item_key, kind, payload, content, at) \
         SELECT y.id, w.value ->> 0, y.item_key, y.kind, y.payload, y.content, y.at \
         FROM json_each(?) AS w JOIN early AS y ON y.execution = w.value ->> 1;",
    );
    script.bind(new.clone());
    script.sql("DELETE FROM early WHERE execution IN (SELECT value ->> 1 FROM json_each(?));").bind(new);
}
