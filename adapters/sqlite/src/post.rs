//! Posts within a group, of their own and of appends: keys, positions, and who is woken.
//! Not the reading of inboxes.

use std::collections::HashMap;

use loom_runtime::{
    kernel::{Digest, Status, Timestamp},
    ports::{NewItem, Posted, RESERVED, StoreError, next_position},
};
use sqlx::{Row, sqlite::SqliteRow};

use crate::{
    claim::AT_ONCE,
    row::Reader,
    script::{ROWS_AT_ONCE, Script, Transaction, integer},
    writer::Asked,
};

/// One row per item asked for: its execution, NULL where there is none, and the item that has its key.
const FOUND: &str = "SELECT w.n, e.key, e.status, coalesce(i.content, y.content), \
     (SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name IN ('inbox', 'early')) \
     FROM w LEFT JOIN executions AS e ON e.id = w.id \
     LEFT JOIN inbox AS i ON i.execution = e.key AND i.item_key = w.item_key \
     LEFT JOIN early AS y ON e.key IS NULL AND y.execution = w.id AND y.item_key = w.item_key;";

struct Found {
    execution: Option<(i64, Status)>,
    content: Option<Vec<u8>>,
    newest: u64,
}

/// Early items to forget.
pub(crate) struct PruneEarly {
    pub(crate) before: Timestamp,
}

/// Answers how many each has forgotten. Positions do not come again: the sequence remembers them.
pub(crate) async fn prune_early(
    transaction: &mut Transaction<'_>,
    asked: &[Asked<PruneEarly, u64>],
) -> sqlx::Result<Vec<Result<u64, StoreError>>> {
    let mut verdicts = Vec::with_capacity(asked.len());
    for Asked { question, .. } in asked {
        let script = transaction.script();
        script.sql("DELETE FROM early WHERE at < ? AND substr(execution, 1, 5) <> ? RETURNING id;");
        script.bind(question.before.as_micros()).bind(RESERVED);
        verdicts.push(Ok(transaction.fetch().await?.len() as u64));
    }
    Ok(verdicts)
}

/// Items to judge, and what the transaction knows of where they go: read once, then kept current.
pub(crate) struct Posts<'a> {
    items: Vec<&'a NewItem>,
    found: HashMap<usize, Result<Found, StoreError>>,
    /// The content of what this group accepted, by execution and key.
    keys: HashMap<(&'a str, &'a str), Vec<u8>>,
    newest: u64,
    ordinal: Option<u16>,
    accepted: Vec<Accepted<'a>>,
}

struct Accepted<'a> {
    id: u64,
    /// None for an early item.
    execution: Option<(i64, Status)>,
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
        let ordinal = transaction.part().ordinal();
        Ok(Self { items, found, keys: HashMap::new(), newest, ordinal, accepted: Vec::new() })
    }

    /// Answers the `n`-th item; `since` is the status that its execution got in this transaction, if it did.
    pub(crate) fn judge(&mut self, n: usize, since: Option<Status>) -> Result<Posted, StoreError> {
        let item = self.items[n];
        let unknown = || StoreError::Unknown(item.execution.clone());
        let Found { execution, content: first, .. } =
            self.found.remove(&n).unwrap_or_else(|| Err(unknown()))?;
        if execution.is_none() && !item.early {
            return Err(unknown());
        }
        let execution = execution.map(|(key, status)| (key, since.unwrap_or(status)));
        let content = Digest::of_parts(&[item.kind.as_bytes(), item.payload.as_bytes()]).bytes().to_vec();
        let key = item.key.as_deref().map(|key| (item.execution.as_str(), key));
        if let Some(first) = first.or_else(|| key.and_then(|key| self.keys.get(&key).cloned())) {
            return Ok(Posted::Duplicate { same: first == content });
        }
        if let Some((_, status)) = execution.filter(|(_, status)| status.is_terminal()) {
            return Err(StoreError::Terminal { execution: item.execution.clone(), status });
        }
        self.newest = next_position(self.newest, self.ordinal);
        if let Some(key) = key {
            self.keys.insert(key, content.clone());
        }
        self.accepted.push(Accepted { id: self.newest, execution, content, item });
        Ok(Posted::Accepted(self.newest))
    }

    /// Writes what was accepted, and wakes whom it is for; after what this transaction does to their rows.
    pub(crate) fn write(self, script: &mut Script) {
        let (present, early): (Vec<_>, Vec<_>) =
            self.accepted.into_iter().partition(|accepted| accepted.execution.is_some());
        for (table, accepted) in [("inbox", &present), ("early", &early)] {
            for accepted in accepted.chunks(ROWS_AT_ONCE) {
                script.sql("INSERT INTO ").sql(table);
                script.sql(" (id, execution, item_key, kind, payload, content, at) VALUES ");
                script.rows(accepted.len(), 7).sql(";");
                for Accepted { id, execution, content, item } in accepted {
                    script.bind(integer(*id));
                    match execution {
                        Some((key, _)) => script.bind(*key),
                        None => script.bind(item.execution.as_str()),
                    };
                    script.bind(item.key.clone()).bind(item.kind.as_str()).bind(item.payload.as_str());
                    script.bind(content.clone()).bind(item.at.as_micros());
                }
            }
        }
        // Nobody closes with an item unread that is newer than what was seen, so whatever is posted to a closed
        // execution makes it due, until somebody claims it.
        let waiting = |(_, status): &(i64, Status)| matches!(status, Status::Suspended | Status::Parked);
        let woken: Vec<i64> =
            present.iter().filter_map(|of| of.execution.filter(waiting)).map(|(key, _)| key).collect();
        if !woken.is_empty() {
            script.sql("UPDATE executions SET due_at = ? WHERE key IN (SELECT value FROM json_each(?));");
            script.bind(AT_ONCE).bind(serde_json::json!(woken).to_string());
        }
    }
}

fn read(row: &SqliteRow, execution: &str) -> Result<Found, StoreError> {
    let read = Reader::new(row, execution);
    let execution = match (read.get(1)?, read.get::<Option<&str>>(2)?) {
        (Some(key), Some(status)) => {
            let status = Status::named(status)
                .ok_or_else(|| read.corrupt(&format!("{status:?} where a status is expected")))?;
            Some((key, status))
        }
        _ => None,
    };
    Ok(Found { execution, content: read.get(3)?, newest: read.count(4)? })
}
