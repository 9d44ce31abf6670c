//! Posts within a group, of their own and of appends: keys, positions, and who is woken.
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
    script::{ROWS_AT_ONCE, Script, Transaction, integer},
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

/// Items to judge, and what the transaction knows of where they go: read once, then kept current.
pub(crate) struct Posts<'a> {
    items: Vec<&'a NewItem>,
    found: HashMap<usize, Result<Found, StoreError>>,
    /// The content of what this group accepted, by execution and key.
    keys: HashMap<(i64, &'a str), Vec<u8>>,
    newest: u64,
    accepted: Vec<Accepted<'a>>,
}

struct Accepted<'a> {
    id: u64,
    execution: i64,
    status: Status,
    content: Vec<u8>,
    item: &'a NewItem,
}

/// Answers every post, in order.
pub(crate) async fn apply(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<NewItem, Posted>],
) -> sqlx::Result<Vec<Result<Posted, StoreError>>> {
    let items = asked.iter().map(|asked| &asked.question).collect();
    let mut posts = Posts::read(transaction, items).await?;
    let verdicts = (0..asked.len()).map(|n| posts.judge(n, None)).collect();
    posts.write(transaction.script());
    Ok(verdicts)
}

impl<'a> Posts<'a> {
    /// Asks nothing when there are no items.
    pub(crate) async fn read(
        transaction: &mut Transaction<'_>,
        items: Vec<&'a NewItem>,
    ) -> sqlx::Result<Self> {
        let mut found = HashMap::new();
        for (chunk, first) in items.chunks(ROWS_AT_ONCE).zip((0..).step_by(ROWS_AT_ONCE)) {
            // Bound and not JSON, which not every reader takes for exact: a key comes from outside.
            let script = transaction.script();
            script.sql("WITH w (n, id, item_key) AS (VALUES ").rows(chunk.len(), 3).sql(") ").sql(FOUND);
            for (item, n) in chunk.iter().zip(first..) {
                script.bind(n as i64).bind(item.execution.as_str()).bind(item.key.clone());
            }
            for row in transaction.fetch().await? {
                let n = usize::try_from(row.try_get::<i64, _>(0)?).unwrap_or(usize::MAX);
                found.insert(n, read(&row, items[n].execution.as_str()));
            }
        }
        let newest = found.values().flatten().map(|found| found.newest).max().unwrap_or(0);
        Ok(Self { items, found, keys: HashMap::new(), newest, accepted: Vec::new() })
    }

    /// Answers the `n`-th item; `since` is the status that its execution got in this transaction, if it did.
    pub(crate) fn judge(&mut self, n: usize, since: Option<Status>) -> Result<Posted, StoreError> {
        let item = self.items[n];
        let unknown = || Err(StoreError::Unknown(item.execution.clone()));
        let Found { execution, status, content: first, .. } =
            self.found.remove(&n).unwrap_or_else(unknown)?;
        let status = since.unwrap_or(status);
        let content = Digest::of_parts(&[item.kind.as_bytes(), item.payload.as_bytes()]).bytes().to_vec();
        let key = item.key.as_deref().map(|key| (execution, key));
        if let Some(first) = first.or_else(|| key.and_then(|key| self.keys.get(&key).cloned())) {
            return Ok(Posted::Duplicate { same: first == content });
        }
        if status.is_terminal() {
            return Err(StoreError::Terminal { execution: item.execution.clone(), status });
        }
        self.newest += 1;
        if let Some(key) = key {
            self.keys.insert(key, content.clone());
        }
        self.accepted.push(Accepted { id: self.newest, execution, status, content, item });
        Ok(Posted::Accepted(self.newest))
    }

    /// Writes what was accepted, and wakes whom it is for; after what this transaction does to their rows.
    pub(crate) fn write(self, script: &mut Script) {
        for accepted in self.accepted.chunks(ROWS_AT_ONCE) {
            script.sql("INSERT INTO inbox (id, execution, item_key, kind, payload, content, at) VALUES ");
            script.rows(accepted.len(), 7).sql(";");
            for Accepted { id, execution, content, item, .. } in accepted {
                script.bind(integer(*id)).bind(*execution).bind(item.key.clone()).bind(item.kind.as_str());
                script.bind(item.payload.as_str()).bind(content.clone()).bind(item.at.as_micros());
            }
        }
        // Nobody closes with an item unread that is newer than what was seen, so whatever is posted to a closed
        // execution makes it due, until somebody claims it.
        let waiting = |of: &&Accepted| matches!(of.status, Status::Suspended | Status::Parked);
        let woken: Vec<i64> = self.accepted.iter().filter(waiting).map(|of| of.execution).collect();
        if !woken.is_empty() {
            script.sql("UPDATE executions SET due_at = ? WHERE key IN (SELECT value FROM json_each(?));");
            script.bind(AT_ONCE).bind(serde_json::json!(woken).to_string());
        }
    }
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
