//! The store's ports over the wire, for workers that have the code of flows and no database.
//! Not the host side: whoever may call this may write any log, and needs a token of its own.

use loom_runtime::{
    ExecutionId,
    kernel::Record,
    ports::{ListFilter, Store, StoreError},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{Code, Problem};

/// How many events are read at a time, and after how many bytes of them a page ends.
const PAGE: (usize, usize) = (64, 8 << 20);

/// How many rows a page has at most.
const ROWS: usize = 1_000;

/// Makes one call; arguments and answer are JSON.
pub(super) async fn call(store: &dyn Store, call: &str, body: &[u8]) -> Result<Vec<u8>, Problem> {
    match call {
        "create" => told(store.create(given(body)?).await),
        "append" => told(store.append(&given(body)?).await),
        "read" => {
            let (execution, from, limit) = given(body)?;
            told(read(store, &execution, from, limit).await)
        }
        "get" => told(store.get(&given(body)?).await),
        "list" => {
            let filter: ListFilter = given(body)?;
            let limit = if filter.limit == 0 { ROWS } else { filter.limit.min(ROWS) };
            told(store.list(&ListFilter { limit, ..filter }).await)
        }
        "remove" => told(store.remove(&given(body)?).await),
        "caveats" => told(store.caveats().await),
        "claim" => told(store.claim(&given(body)?).await),
        "renew" => {
            let (worker, until) = given::<(String, _)>(body)?;
            told(store.renew(&worker, until).await)
        }
        "release" => {
            let (execution, fence) = given(body)?;
            told(store.release(&execution, fence).await)
        }
        "inbox_waiting" => told(store.inbox_waiting(&given(body)?).await),
        "post" => told(store.post(given(body)?).await),
        "pending" => {
            let (execution, after) = given(body)?;
            told(store.pending(&execution, after).await)
        }
        "prune_early" => {
            let (before, rehearsal) = given(body)?;
            told(store.prune_early(before, rehearsal).await)
        }
        "gates" => told(store.gates(given::<Option<ExecutionId>>(body)?.as_ref()).await),
        "branch" => told(store.branch(&given::<String>(body)?).await),
        "branches" => told(store.branches().await),
        "set_branch" => told(store.set_branch(&given(body)?).await),
        "put_snapshot" => told(store.put_snapshot(&given(body)?).await),
        "newest_snapshot" => {
            let (execution, of, at_most) = given::<(_, String, _)>(body)?;
            told(store.newest_snapshot(&execution, &of, at_most).await)
        }
        "mark_snapshot_bad" => {
            let (execution, of, sequence) = given::<(_, String, _)>(body)?;
            told(store.mark_snapshot_bad(&execution, &of, sequence).await)
        }
        "prune_snapshots" => {
            let (execution, of, keep) = given::<(_, String, _)>(body)?;
            told(store.prune_snapshots(&execution, &of, keep).await)
        }
        _ => Err(Problem::new(Code::UnknownRoute, format!("a store has no call {call:?}"))),
    }
}

/// A page of a log, which ends early when it gets heavy; an empty one is its end.
async fn read(
    store: &dyn Store,
    execution: &ExecutionId,
    from: u64,
    limit: usize,
) -> Result<Vec<Record>, StoreError> {
    let (mut page, mut bytes) = (Vec::new(), 0);
    loop {
        let left = limit - page.len();
        let records = store.read(execution, from + page.len() as u64, left.min(PAGE.0)).await?;
        let short = records.len() < left.min(PAGE.0);
        bytes += records.iter().map(|record| record.payload.len() + record.meta.len()).sum::<usize>();
        page.extend(records);
        if short || page.len() == limit || bytes >= PAGE.1 {
            return Ok(page);
        }
    }
}

fn given<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|e| {
        let said = loom_runtime::kernel::InvalidPayload::from(e).0;
        let advice = "worker and server have to be of versions that know each other";
        Problem::new(Code::InvalidArguments, format!("the store's call cannot be read: {said}: {advice}"))
    })
}

fn told<T: Serialize>(done: Result<T, StoreError>) -> Result<Vec<u8>, Problem> {
    match done {
        Ok(value) => serde_json::to_vec(&value).map_err(|e| Problem::new(Code::Unreadable, e.to_string())),
        Err(error) => {
            let code = match error {
                StoreError::Denied(_) | StoreError::Unavailable(_) => Code::StoreUnavailable,
                StoreError::Corrupt(_) => Code::StoreDamaged,
                _ => Code::StoreRefused,
            };
            let problem = Problem::new(code, error.to_string());
            Err(Problem { store: Some(Box::new(error)), ..problem })
        }
    }
}
