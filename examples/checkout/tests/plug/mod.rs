//! A store, and the plug that is pulled before or after its n-th write.
//! Not a fault injector of values: the process dies by SIGKILL, and that is all.

use std::{
    str::FromStr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use loom::{
    ExecutionId,
    kernel::{Record, Snapshot, Timestamp},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, StoreError, WorkerId,
    },
};

/// Where the process dies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pulled {
    Never,
    /// Before the n-th write of an execution's log.
    Before(usize),
    /// After it, before anybody hears of it.
    After(usize),
    /// In this step, after its effect.
    InStep(String),
}

impl FromStr for Pulled {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let nth = |n: &str| n.parse().map_err(|_| format!("{n} is no number"));
        match text.split_once(':') {
            Some(("before", n)) => Ok(Self::Before(nth(n)?)),
            Some(("after", n)) => Ok(Self::After(nth(n)?)),
            Some(("step", name)) => Ok(Self::InStep(name.into())),
            _ => Err(format!("{text:?} is no place to die")),
        }
    }
}

impl Pulled {
    pub(crate) fn in_step(&self, line: &str) {
        if *self == Self::InStep(line.into()) {
            die();
        }
    }
}

/// SIGKILL to this very process.
fn die() -> ! {
    let pid = std::process::id().to_string();
    let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
    unreachable!("killed");
}

#[derive(Clone)]
pub(crate) struct Plug<S> {
    inner: S,
    pulled: Pulled,
    writes: Arc<AtomicUsize>,
}

impl<S> Plug<S> {
    pub(crate) fn new(inner: S, pulled: Pulled) -> Self {
        Self { inner, pulled, writes: Arc::default() }
    }

    fn nth(&self) -> usize {
        self.writes.fetch_add(1, Ordering::SeqCst)
    }
}

macro_rules! guarded {
    ($self:ident, $write:expr) => {{
        let nth = $self.nth();
        if $self.pulled == Pulled::Before(nth) {
            die();
        }
        let written = $write;
        if $self.pulled == Pulled::After(nth) {
            die();
        }
        written
    }};
}

#[async_trait]
impl<S: EventStore> EventStore for Plug<S> {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        guarded!(self, self.inner.create(new).await)
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        guarded!(self, self.inner.append(append).await)
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.inner.read(execution, from, limit).await
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        self.inner.get(execution).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        self.inner.list(filter).await
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        guarded!(self, self.inner.remove(removal).await)
    }
}

#[async_trait]
impl<S: LeaseStore> LeaseStore for Plug<S> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.inner.claim(request).await
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.inner.renew(worker, until).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.inner.release(execution, fence).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        self.inner.inbox_waiting(worker).await
    }
}

#[async_trait]
impl<S: Inbox> Inbox for Plug<S> {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        guarded!(self, self.inner.post(item).await)
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.inner.pending(execution, after).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        guarded!(self, self.inner.prune_early(before, rehearsal).await)
    }
}

#[async_trait]
impl<S: GateIndex> GateIndex for Plug<S> {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        self.inner.gates(execution).await
    }
}

#[async_trait]
impl<S: BranchRegistry> BranchRegistry for Plug<S> {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        self.inner.branch(name).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.inner.branches().await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        guarded!(self, self.inner.set_branch(set).await)
    }
}

/// What a snapshot holds is in the log as well: the plug stays in.
#[async_trait]
impl<S: SnapshotStore> SnapshotStore for Plug<S> {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.inner.put_snapshot(snapshot).await
    }

    async fn newest_snapshot(
        &self,
        id: &ExecutionId,
        of: &str,
        most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.inner.newest_snapshot(id, of, most).await
    }

    async fn mark_snapshot_bad(&self, id: &ExecutionId, of: &str, sequence: u64) -> Result<(), StoreError> {
        self.inner.mark_snapshot_bad(id, of, sequence).await
    }

    async fn prune_snapshots(&self, id: &ExecutionId, of: &str, keep: usize) -> Result<(), StoreError> {
        self.inner.prune_snapshots(id, of, keep).await
    }
}
