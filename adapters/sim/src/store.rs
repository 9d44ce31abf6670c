//! The way from one process to the store: it delays, loses, repeats and refuses, and the process may die on it.
//! Not a store: what gets through is the store's own doing.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use loom_runtime::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, Store, StoreError, WorkerId,
    },
};

use crate::{
    Process,
    weather::{Fault, Weather},
    witness::Witness,
};

/// A store, as one process reaches it, in one weather.
///
/// ```
/// use sim::{Faults, Process, Road, Strike, Weather, Fault};
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use loom_runtime::{Memory, ports::EventStore};
/// let lost = Strike { call: "0.0 list  #1".into(), fault: Fault::Lost };
/// let weather = Weather::of(7, &Faults::Listed(vec![lost]), false);
/// let road = Road::to(Memory::new(), Process::new(0, 0), weather);
/// assert!(road.list(&Default::default()).await.is_ok());
/// assert!(road.list(&Default::default()).await.is_err());
/// # });
/// ```
#[derive(Clone)]
pub struct Road {
    to: Arc<dyn Store>,
    process: Process,
    weather: Weather,
    witness: Option<Witness>,
}

fn unavailable<T>(why: &str) -> Result<T, StoreError> {
    Err(StoreError::Unavailable(why.to_owned()))
}

impl Road {
    /// The way of this process to this store.
    pub fn to(store: impl Store, process: Process, weather: Weather) -> Self {
        Self { to: Arc::new(store), process, weather, witness: None }
    }

    /// The same, seen.
    pub(crate) fn seen_by(self, witness: &Witness) -> Self {
        Self { witness: Some(witness.clone()), ..self }
    }

    fn note(&self, what: &'static str) {
        if let Some(witness) = &self.witness {
            witness.note(what);
        }
    }

    /// A call, done once, twice or not at all. What the store has done, `seen` hears of.
    async fn call<T, F>(
        &self,
        kind: &'static str,
        execution: &str,
        does: impl Fn() -> F + Send,
        seen: impl Fn(&Result<T, StoreError>) + Send,
    ) -> Result<T, StoreError>
    where
        T: Send,
        F: Future<Output = Result<T, StoreError>> + Send,
    {
        let looks = matches!(kind, "claim" | "inbox_waiting" | "renew" | "list" | "gates");
        let fate = self.weather.fate(&self.process, kind, execution, looks);
        if let (Some(fault), Some(witness)) = (fate.fault, &self.witness) {
            let process = self.process.name();
            witness.tell(format!("process {process}, {kind} `{execution}`: {fault:?}"), execution.is_empty());
        }
        self.process.goes_on().await;
        let late = match fate.fault {
            Some(Fault::Late(ms)) => {
                self.note("late");
                Duration::from_millis(ms)
            }
            _ => fate.before,
        };
        if !late.is_zero() {
            tokio::time::sleep(late).await;
        }
        if self.process.is_cut() {
            self.note("cut off");
            return unavailable("cut off");
        }
        match fate.fault {
            Some(Fault::Reject) => {
                self.note("rejected");
                return unavailable("rejected");
            }
            Some(Fault::DiesBefore) => {
                self.note("died before a call");
                self.process.kill();
                return std::future::pending().await;
            }
            _ => {}
        }
        let mut done = does().await;
        seen(&done);
        match fate.fault {
            Some(Fault::Twice) => {
                self.note("done twice");
                done = does().await;
                seen(&done);
            }
            Some(Fault::DiesAfter) => {
                self.note("died after a call");
                self.process.kill();
                return std::future::pending().await;
            }
            Some(Fault::Slow(ms)) => {
                self.note("slow");
                tokio::time::sleep(Duration::from_millis(ms)).await;
            }
            _ => {}
        }
        if !fate.after.is_zero() {
            tokio::time::sleep(fate.after).await;
        }
        self.process.goes_on().await;
        if fate.fault == Some(Fault::Lost) || self.process.is_cut() {
            self.note("acknowledgement lost");
            return unavailable("the answer was lost");
        }
        done
    }

    fn given(&self, execution: &ExecutionId, fence: u64) {
        if let Some(witness) = self.witness.as_ref().filter(|_| fence > 0) {
            witness.given(execution, fence, self.process.name());
        }
    }
}

fn nobody<T>(_: &Result<T, StoreError>) {}

#[async_trait]
impl EventStore for Road {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        let id = new.id.clone();
        let seen = |done: &Result<Created, StoreError>| {
            if let Ok(Created::New { fence }) = done {
                self.given(&id, *fence);
            }
        };
        self.call("create", id.as_str(), || self.to.create(new.clone()), seen).await
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        let seen = |done: &Result<(), StoreError>| {
            if let (Ok(()), Some(witness)) = (done, &self.witness) {
                witness.took(append, self.process.name());
            }
        };
        self.call("append", append.execution.as_str(), || self.to.append(append), seen).await
    }

    async fn read(&self, of: &ExecutionId, from: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        self.call("read", of.as_str(), || self.to.read(of, from, limit), nobody).await
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        self.call("get", execution.as_str(), || self.to.get(execution), nobody).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        self.call("list", "", || self.to.list(filter), nobody).await
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        self.call("remove", removal.execution.as_str(), || self.to.remove(removal), nobody).await
    }
}

#[async_trait]
impl LeaseStore for Road {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let seen = |done: &Result<Vec<Claimed>, StoreError>| {
            for claimed in done.iter().flatten() {
                self.given(&claimed.row.id, claimed.fence);
            }
        };
        self.call("claim", "", || self.to.claim(request), seen).await
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.call("renew", "", || self.to.renew(worker, until), nobody).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.call("release", execution.as_str(), || self.to.release(execution, fence), nobody).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        self.call("inbox_waiting", "", || self.to.inbox_waiting(worker), nobody).await
    }
}

#[async_trait]
impl Inbox for Road {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        let id = item.execution.clone();
        self.call("post", id.as_str(), || self.to.post(item.clone()), nobody).await
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.call("pending", execution.as_str(), || self.to.pending(execution, after), nobody).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        self.call("prune_early", "", || self.to.prune_early(before, rehearsal), nobody).await
    }
}

#[async_trait]
impl GateIndex for Road {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        let of = execution.map_or("", |execution| execution.as_str());
        self.call("gates", of, || self.to.gates(execution), nobody).await
    }
}

#[async_trait]
impl SnapshotStore for Road {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let of = snapshot.execution.as_str();
        self.call("put_snapshot", of, || self.to.put_snapshot(snapshot), nobody).await
    }

    async fn newest_snapshot(
        &self,
        id: &ExecutionId,
        of: &str,
        most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.call("newest_snapshot", id.as_str(), || self.to.newest_snapshot(id, of, most), nobody).await
    }

    async fn mark_snapshot_bad(&self, id: &ExecutionId, of: &str, at: u64) -> Result<(), StoreError> {
        self.call("mark_snapshot_bad", id.as_str(), || self.to.mark_snapshot_bad(id, of, at), nobody).await
    }

    async fn prune_snapshots(&self, id: &ExecutionId, of: &str, keep: usize) -> Result<(), StoreError> {
        self.call("prune_snapshots", id.as_str(), || self.to.prune_snapshots(id, of, keep), nobody).await
    }
}

#[async_trait]
impl BranchRegistry for Road {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        self.call("branch", name, || self.to.branch(name), nobody).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.call("branches", "", || self.to.branches(), nobody).await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        self.call("set_branch", &set.name, || self.to.set_branch(set), nobody).await
    }
}
