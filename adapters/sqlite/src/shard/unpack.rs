//! Parcels that the file takes in, and ids that it forgets.
//! Not the question whether it may: the transaction has asked before.

use loom_runtime::{
    ExecutionId,
    kernel::{Status, Timestamp},
    ports::{InboxId, PackedExecution, PackedItem, Parcel},
};
use sqlx::Row;

use crate::{
    claim::{AT_ONCE, due_of_lease},
    script::{EventRow, Transaction, integer},
};

/// Forgets all that there is of these.
pub(super) fn forget(transaction: &mut Transaction<'_>, ids: &[ExecutionId]) {
    let ids = serde_json::json!(ids).to_string();
    let script = transaction.script();
    for table in ["events", "inbox", "gates", "snapshots", "unfit", "branches"] {
        script.sql("DELETE FROM ").sql(table).sql(
            " WHERE execution IN (SELECT key FROM executions WHERE id IN (SELECT value FROM json_each(?)));",
        );
        script.bind(ids.clone());
    }
    script.sql("DELETE FROM executions WHERE id IN (SELECT value FROM json_each(?));").bind(ids.clone());
    script.sql("DELETE FROM early WHERE execution IN (SELECT value FROM json_each(?));").bind(ids);
}

/// Positions given out from now on are higher.
pub(super) fn raise(transaction: &mut Transaction<'_>, above: InboxId) {
    let script = transaction.script();
    script.sql(
        "INSERT INTO sqlite_sequence (name, seq) SELECT 'inbox', 0 \
         WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'inbox');",
    );
    script.sql("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'inbox';").bind(integer(above));
}

/// Takes parcels in, each instead of what there is of its id.
pub(super) async fn unpack(transaction: &mut Transaction<'_>, parcels: &[Parcel]) -> sqlx::Result<()> {
    let ids: Vec<ExecutionId> = parcels.iter().map(|parcel| parcel.id.clone()).collect();
    forget(transaction, &ids);
    raise(transaction, parcels.iter().map(|parcel| parcel.newest).max().unwrap_or(0));
    transaction.script().sql("SELECT coalesce(max(key), 0) FROM executions;");
    let mut key: i64 = transaction.fetch().await?.first().ok_or(sqlx::Error::RowNotFound)?.try_get(0)?;
    for Parcel { id, execution, items, .. } in parcels {
        match execution {
            Some(execution) => {
                key += 1;
                write(transaction, key, execution, items);
            }
            None => {
                for PackedItem { item, content, .. } in items {
                    let script = transaction.script();
                    script.sql("INSERT INTO early (id, execution, item_key, kind, payload, content, at) VALUES (?, ?, ?, ?, ?, ?, ?);");
                    script.bind(integer(item.id)).bind(id.as_str()).bind(item.key.clone());
                    script.bind(item.kind.clone()).bind(item.payload.clone());
                    script.bind(content.bytes().to_vec()).bind(item.at.as_micros());
                }
            }
        }
    }
    Ok(())
}

fn write(transaction: &mut Transaction<'_>, key: i64, packed: &PackedExecution, items: &[PackedItem]) {
    let row = &packed.row;
    let micros = |at: Option<Timestamp>| at.map(Timestamp::as_micros);
    let (worker, until) = row.lease.as_ref().map(|lease| (lease.worker.clone(), lease.until)).unzip();
    let called = items.iter().any(|of| !of.consumed && of.item.id > packed.seen);
    let due_at = match row.status {
        Status::Running => Some(due_of_lease(micros(until))),
        Status::Suspended | Status::Parked if called => Some(AT_ONCE),
        Status::Suspended => micros(row.wake_at),
        _ => None,
    };
    let script = transaction.script();
    script.sql(
        "INSERT INTO executions (key, id, flow, input, status, next, created_at, updated_at, wake_at, worker, \
         lease_until, fence, takeovers, base, first, seen, due_at, first_batch, first_content, batch, content, \
         priority, lane, at_most, rate, rate_within, weight) VALUES ",
    );
    script.rows(1, 27).sql(";");
    script.bind(key).bind(row.id.as_str()).bind(row.flow.clone()).bind(row.input.to_string());
    script.bind(row.status.name()).bind(integer(row.next)).bind(row.created_at.as_micros());
    script.bind(row.updated_at.as_micros()).bind(micros(row.wake_at)).bind(worker).bind(micros(until));
    script.bind(integer(packed.fence)).bind(i64::from(row.takeovers)).bind(integer(row.base));
    script.bind(integer(row.first)).bind(integer(packed.seen)).bind(due_at);
    for digest in [packed.first.0, packed.first.1, packed.last.0, packed.last.1] {
        script.bind(digest.bytes().to_vec());
    }
    let lane = row.turn.lane.as_ref();
    let rate = lane.and_then(|lane| lane.rate);
    script.bind(i64::from(row.turn.priority)).bind(lane.map(|lane| lane.key.clone()));
    script.bind(lane.and_then(|lane| lane.at_most).map(|most| i64::from(most.get())));
    script.bind(rate.map(|rate| i64::from(rate.begins.get()))).bind(rate.map(|rate| rate.micros()));
    script.bind(lane.map_or(1, |lane| i64::from(lane.weight.get())));
    for PackedItem { item, content, consumed } in items {
        script
            .sql("INSERT INTO inbox (id, execution, item_key, kind, payload, content, at, consumed) VALUES ");
        script.rows(1, 8).sql(";").bind(integer(item.id)).bind(key).bind(item.key.clone());
        script.bind(item.kind.clone()).bind(if *consumed { String::new() } else { item.payload.clone() });
        script.bind(content.bytes().to_vec()).bind(item.at.as_micros()).bind(i64::from(*consumed));
    }
    for gate in &packed.gates {
        script.sql(
            "INSERT INTO gates (execution, run, frame, gate, schema, opened_at, expires_at, state) VALUES ",
        );
        script.rows(1, 8).sql(";").bind(key).bind(integer(gate.run)).bind(gate.frame.as_str());
        script.bind(gate.gate.clone()).bind(gate.schema.clone()).bind(gate.opened_at.as_micros());
        script.bind(micros(gate.expires_at)).bind(gate.state.name());
    }
    for snapshot in &packed.snapshots {
        script
            .sql("INSERT INTO snapshots (execution, subject, sequence, body, bad) VALUES ")
            .rows(1, 5)
            .sql(";");
        script.bind(key).bind(snapshot.of.clone()).bind(integer(snapshot.sequence));
        script.bind(snapshot.body.clone().unwrap_or_default()).bind(i64::from(snapshot.body.is_none()));
    }
    for program in &packed.unfit {
        script.sql("INSERT INTO unfit (execution, program) VALUES (?, ?);");
        script.bind(key).bind(program.bytes().to_vec());
    }
    for record in &packed.records {
        transaction.event(EventRow::new(key, record));
    }
}
