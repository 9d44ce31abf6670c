//! Posts within a group: keys, positions, and who is woken.
//! Not the reading of inboxes.

use std::collections::HashMap;

use loom_runtime::{
    kernel::{Digest, Status},
    ports::{NewItem, Posted, StoreError},
};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    claim::AT_ONCE,
    row::Reader,
    script::{Transaction, integer},
    writer::Asked,
};

/// One row per item asked for whose execution exists, with the item that has its key.
const FOUND: &str = "SELECT w.n, e.key, e.status, i.content, \
     (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'inbox') \
     FROM w JOIN executions AS e ON e.id = w.id \
     LEFT JOIN inbox AS i ON i.execution = e.key AND i.item_key = w.item_key;";

struct Found {
    execution: i64,
    status: Status,
    content: Option<Vec<u8>>,
    newest: u64,
}

/// Answers every post, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<NewItem, Posted>],
) -> sqlx::Result<Vec<Result<Posted, StoreError>>> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    // Bound and not JSON, which not every reader takes for exact: a key comes from outside.
    let script = transaction.script();
    script.sql("WITH w (n, id, item_key) AS (VALUES ").rows(asked.len(), 3).sql(") ").sql(FOUND);
    for (n, Asked { question, .. }) in asked.iter().enumerate() {
        script.bind(n as i64).bind(question.execution.as_str()).bind(question.key.clone());
    }
    let mut found = HashMap::new();
    for row in transaction.fetch().await? {
        let n = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
        found.insert(n, read(&row, asked[n].question.execution.as_str()));
    }
    let mut newest = found.values().flatten().map(|found| found.newest).max().unwrap_or(0);
    let (mut keys, mut accepted) = (HashMap::new(), Vec::new());
    let mut verdicts = Vec::with_capacity(asked.len());
    for (n, Asked { question: item, .. }) in asked.iter().enumerate() {
        let verdict = match found.remove(&n) {
            None => Err(StoreError::Unknown(item.execution.clone())),
            Some(Err(corrupt)) => Err(corrupt),
            Some(Ok(found)) => {
                let content = Digest::of_parts(&[item.kind.as_bytes(), item.payload.as_bytes()]).bytes();
                let key = item.key.as_deref().map(|key| (found.execution, key));
                let first = found.content.or_else(|| key.and_then(|key| keys.get(&key).cloned()));
                if let Some(first) = first {
                    Ok(Posted::Duplicate { same: first == content })
                } else if found.status.is_terminal() {
                    Err(StoreError::Terminal { execution: item.execution.clone(), status: found.status })
                } else {
                    newest += 1;
                    if let Some(key) = key {
                        keys.insert(key, content.to_vec());
                    }
                    accepted.push((newest, found.execution, found.status, content, item));
                    Ok(Posted::Accepted(newest))
                }
            }
        };
        verdicts.push(verdict);
    }
    if accepted.is_empty() {
        return Ok(verdicts);
    }
    let script = transaction.script();
    script.sql("INSERT INTO inbox (id, execution, item_key, kind, payload, content, at) VALUES ");
    script.rows(accepted.len(), 7).sql(";");
    for (id, execution, _, content, item) in &accepted {
        script.bind(integer(*id)).bind(*execution).bind(item.key.clone()).bind(item.kind.as_str());
        script.bind(item.payload.as_str()).bind(content.to_vec()).bind(item.at.as_micros());
    }
    // Nobody closes with an item unread that is newer than what was seen, so whatever is posted to a closed
    // execution makes it due, until somebody claims it.
    let waiting = |status: &Status| matches!(status, Status::Suspended | Status::Parked);
    let woken: Vec<i64> = accepted.iter().filter(|a| waiting(&a.2)).map(|a| a.1).collect();
    if !woken.is_empty() {
        script.sql("UPDATE executions SET due_at = ? WHERE key IN (SELECT value FROM json_each(?));");
        script.bind(AT_ONCE).bind(serde_json::json!(woken).to_string());
    }
    Ok(verdicts)
}

fn read(row: &SqliteRow, execution: &str) -> Result<Found, StoreError> {
    let read = Reader::new(row, execution);
    let status: &str = read.get(2)?;
    Ok(Found {
        execution: read.get(1)?,
        status: Status::named(status)
            .ok_or_else(|| read.corrupt(&format!("{status:?} where a status is expected")))?,
        content: read.get(3)?,
        newest: read.count(4)?,
    })
}
