//! A store on the other side of a server: every port, for a worker that has the code of flows and no database.
//! Not a cache, and no second truth: each call is the store's, and fences hold through it.

use std::time::Duration;

use async_trait::async_trait;
use loom_runtime::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, BranchRow, Caveat, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, StoreError, WorkerId,
    },
};
use serde::{Serialize, de::DeserializeOwned};

use super::{Client, ClientError};
use crate::Code;

/// How often a call is made that may be repeated.
const TRIES: u32 = 4;

/// How long one call may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The store behind a server. Cheap to clone; [`Client::store`] makes it.
///
/// Calls whose answer is lost are made again where the port allows it: an append comes with the same batch id, and is
/// applied once. Where it does not (a message without a key, a claim), the loss is
/// [`Unavailable`](StoreError::Unavailable), unless the server was surely not reached. A server that does not take the
/// client's token makes every call [`Denied`](StoreError::Denied).
///
/// As with workers on one database, the clocks of a worker and of its server have to agree to much less than a lease.
///
/// ```no_run
/// # async fn main_() -> loom_runtime::Result<()> {
/// let server = loom_http::Client::new("http://10.0.0.7:7766")?.token("3b1e…");
/// let app = loom_runtime::App::builder().store(server.store()).build()?;
/// app.work();
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct RemoteStore {
    client: Client,
}

/// Whether a call may be made again when its answer was lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Again {
    Yes,
    OnlyUnsent,
}

impl RemoteStore {
    pub(super) fn new(client: Client) -> Self {
        Self { client }
    }

    async fn call<T: DeserializeOwned>(&self, call: &str, args: &impl Serialize) -> Result<T, StoreError> {
        self.repeatedly(call, args, Again::Yes).await
    }

    async fn repeatedly<T: DeserializeOwned>(
        &self,
        call: &str,
        args: &impl Serialize,
        again: Again,
    ) -> Result<T, StoreError> {
        let body = serde_json::to_string(args)
            .map_err(|e| StoreError::Corrupt(format!("not sent, no JSON: {e}")))?;
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match self.client.post(&format!("/v1/store/{call}"), body.clone(), PATIENCE).await {
                Ok(answer) => {
                    let unreadable =
                        |e| StoreError::Unavailable(format!("`{call}`: {}", ClientError::answer(&e)));
                    return serde_json::from_slice(&answer).map_err(unreadable);
                }
                Err(error) => error,
            };
            // What a store says counts; `Unavailable` among it is for whoever called to repeat.
            if let ClientError::Problem(problem) = error {
                let said = format!("`{call}`: {problem}");
                return Err(match (problem.store, problem.code) {
                    (Some(store), _) => *store,
                    (None, Code::Unauthorized | Code::Forbidden) => StoreError::Denied(said),
                    (None, _) => StoreError::Unavailable(said),
                });
            }
            let may = again == Again::Yes || matches!(error, ClientError::Transport { unsent: true, .. });
            if !may || tries == TRIES {
                return Err(StoreError::Unavailable(format!("`{call}`: {error}")));
            }
            tracing::debug!(call, %error, tries, "the store is called again");
            tokio::time::sleep(Duration::from_millis(25) * (1 << tries)).await;
        }
    }
}

#[async_trait]
impl EventStore for RemoteStore {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        self.call("create", &new).await
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        self.call("append", append).await
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let mut records: Vec<Record> = Vec::new();
        loop {
            let (next, left) = (from.saturating_add(records.len() as u64), limit - records.len());
            let page: Vec<Record> = self.call("read", &(execution, next, left)).await?;
            let last = page.is_empty();
            records.extend(page);
            if last || records.len() >= limit {
                return Ok(records);
            }
        }
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        self.call("get", execution).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        let (mut rows, mut filter): (Vec<ExecutionRow>, _) = (Vec::new(), filter.clone());
        let limit = filter.limit;
        loop {
            let page: Vec<ExecutionRow> = self.call("list", &filter).await?;
            let Some(last) = page.last() else { return Ok(rows) };
            filter.after = Some(last.id.clone());
            rows.extend(page);
            if limit > 0 {
                if rows.len() >= limit {
                    return Ok(rows);
                }
                filter.limit = limit - rows.len();
            }
        }
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        // Whoever asks again is told that it has not removed anything.
        self.repeatedly("remove", removal, Again::OnlyUnsent).await
    }

    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        self.call("caveats", &()).await
    }
}

#[async_trait]
impl LeaseStore for RemoteStore {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        // What a lost answer has claimed is given up by the worker's heartbeat.
        self.repeatedly("claim", request, Again::OnlyUnsent).await
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.call("renew", &(worker, until)).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.call("release", &(execution, fence)).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        self.call("inbox_waiting", worker).await
    }
}

#[async_trait]
impl Inbox for RemoteStore {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        let again = if item.key.is_some() { Again::Yes } else { Again::OnlyUnsent };
        self.repeatedly("post", &item, again).await
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.call("pending", &(execution, after)).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        // What was forgotten is not counted by whoever asks again.
        let again = if rehearsal { Again::Yes } else { Again::OnlyUnsent };
        self.repeatedly("prune_early", &(before, rehearsal), again).await
    }
}

#[async_trait]
impl GateIndex for RemoteStore {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        self.call("gates", &execution).await
    }
}

#[async_trait]
impl BranchRegistry for RemoteStore {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        self.call("branch", &name).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.call("branches", &()).await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        self.call("set_branch", set).await
    }
}

#[async_trait]
impl SnapshotStore for RemoteStore {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.call("put_snapshot", snapshot).await
    }

    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.call("newest_snapshot", &(execution, of, at_most)).await
    }

    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError> {
        self.call("mark_snapshot_bad", &(execution, of, sequence)).await
    }

    async fn prune_snapshots(
        &self,
        execution: &ExecutionId,
        of: &str,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.call("prune_snapshots", &(execution, of, keep)).await
    }
}
