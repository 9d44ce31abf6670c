//! A store in a runtime of its own, for programs on a clock that the tests hold: that clock stands still while the store
//! works, whose threads it knows nothing of. Else it would run ahead whenever everybody waits for the store.
//! Not a tap: it changes nothing.

use std::sync::Arc;

use async_trait::async_trait;
use loom::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, Store, StoreError, WorkerId,
    },
};
use tokio::runtime::{Builder, Handle};

pub(crate) struct Apart {
    runtime: Handle,
    inner: Arc<dyn Store>,
    _over: std::sync::mpsc::Sender<()>,
}

impl Apart {
    /// Opens a store there.
    pub(crate) async fn open<S: Store + 'static>(open: impl Future<Output = S> + Send + 'static) -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (handle, (over, until)) = (runtime.handle().clone(), std::sync::mpsc::channel::<()>());
        // A runtime must not be dropped by a task of another one.
        std::thread::spawn(move || {
            let _ = until.recv();
            runtime.shutdown_background();
        });
        let runtime = handle.clone();
        let inner = tokio::task::spawn_blocking(move || handle.block_on(open)).await.unwrap();
        Self { runtime, inner: Arc::new(inner), _over: over }
    }

    /// While a blocking task runs, a paused clock does not move.
    async fn ask<T, F>(&self, question: impl FnOnce(Arc<dyn Store>) -> F + Send + 'static) -> T
    where
        T: Send + 'static,
        F: Future<Output = T>,
    {
        let (runtime, inner) = (self.runtime.clone(), self.inner.clone());
        tokio::task::spawn_blocking(move || runtime.block_on(question(inner))).await.unwrap()
    }
}

#[async_trait]
impl EventStore for Apart {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        self.ask(|inner| async move { inner.create(new).await }).await
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        let append = append.clone();
        self.ask(|inner| async move { inner.append(&append).await }).await
    }

    async fn read(&self, of: &ExecutionId, from: u64, limit: usize) -> Result<Vec<Record>, StoreError> {
        let of = of.clone();
        self.ask(move |inner| async move { inner.read(&of, from, limit).await }).await
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        let execution = execution.clone();
        self.ask(|inner| async move { inner.get(&execution).await }).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        let filter = filter.clone();
        self.ask(|inner| async move { inner.list(&filter).await }).await
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        let removal = removal.clone();
        self.ask(|inner| async move { inner.remove(&removal).await }).await
    }
}

#[async_trait]
impl LeaseStore for Apart {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let request = request.clone();
        self.ask(|inner| async move { inner.claim(&request).await }).await
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        let worker = worker.clone();
        self.ask(move |inner| async move { inner.renew(&worker, until).await }).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        let execution = execution.clone();
        self.ask(move |inner| async move { inner.release(&execution, fence).await }).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        let worker = worker.clone();
        self.ask(|inner| async move { inner.inbox_waiting(&worker).await }).await
    }
}

#[async_trait]
impl Inbox for Apart {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        self.ask(|inner| async move { inner.post(item).await }).await
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        let execution = execution.clone();
        self.ask(move |inner| async move { inner.pending(&execution, after).await }).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        self.ask(move |inner| async move { inner.prune_early(before, rehearsal).await }).await
    }
}

#[async_trait]
impl GateIndex for Apart {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        let execution = execution.cloned();
        self.ask(|inner| async move { inner.gates(execution.as_ref()).await }).await
    }
}

#[async_trait]
impl SnapshotStore for Apart {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        let snapshot = snapshot.clone();
        self.ask(|inner| async move { inner.put_snapshot(&snapshot).await }).await
    }

    async fn newest_snapshot(
        &self,
        id: &ExecutionId,
        of: &str,
        most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        let (id, of) = (id.clone(), of.to_owned());
        self.ask(move |inner| async move { inner.newest_snapshot(&id, &of, most).await }).await
    }

    async fn mark_snapshot_bad(&self, id: &ExecutionId, of: &str, sequence: u64) -> Result<(), StoreError> {
        let (id, of) = (id.clone(), of.to_owned());
        self.ask(move |inner| async move { inner.mark_snapshot_bad(&id, &of, sequence).await }).await
    }

    async fn prune_snapshots(&self, id: &ExecutionId, of: &str, keep: usize) -> Result<(), StoreError> {
        let (id, of) = (id.clone(), of.to_owned());
        self.ask(move |inner| async move { inner.prune_snapshots(&id, &of, keep).await }).await
    }
}

#[async_trait]
impl BranchRegistry for Apart {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        let name = name.to_owned();
        self.ask(|inner| async move { inner.branch(&name).await }).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.ask(|inner| async move { inner.branches().await }).await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        let set = set.clone();
        self.ask(|inner| async move { inner.set_branch(&set).await }).await
    }
}
