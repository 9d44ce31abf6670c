//! A store that cannot be reached.
//! Not one that lies: every call fails.

use async_trait::async_trait;
use loom::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, StoreError, WorkerId,
    },
};

pub(crate) struct Broken;

fn fire<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("the disk is on fire".into()))
}

#[async_trait]
impl EventStore for Broken {
    async fn create(&self, _: NewExecution) -> Result<Created, StoreError> {
        fire()
    }

    async fn append(&self, _: &Append) -> Result<(), StoreError> {
        fire()
    }

    async fn read(&self, _: &ExecutionId, _: u64, _: usize) -> Result<Vec<Record>, StoreError> {
        fire()
    }

    async fn get(&self, _: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        fire()
    }

    async fn list(&self, _: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        fire()
    }

    async fn remove(&self, _: &Removal) -> Result<bool, StoreError> {
        fire()
    }
}

#[async_trait]
impl LeaseStore for Broken {
    async fn claim(&self, _: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        fire()
    }

    async fn renew(&self, _: &WorkerId, _: Timestamp) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        fire()
    }

    async fn release(&self, _: &ExecutionId, _: u64) -> Result<(), StoreError> {
        fire()
    }

    async fn inbox_waiting(&self, _: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        fire()
    }
}

#[async_trait]
impl Inbox for Broken {
    async fn post(&self, _: NewItem) -> Result<Posted, StoreError> {
        fire()
    }

    async fn pending(&self, _: &ExecutionId, _: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        fire()
    }

    async fn prune_early(&self, _: Timestamp, _: bool) -> Result<u64, StoreError> {
        fire()
    }
}

#[async_trait]
impl GateIndex for Broken {
    async fn gates(&self, _: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        fire()
    }
}

#[async_trait]
impl SnapshotStore for Broken {
    async fn put_snapshot(&self, _: &Snapshot) -> Result<(), StoreError> {
        fire()
    }

    async fn newest_snapshot(
        &self,
        _: &ExecutionId,
        _: &str,
        _: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        fire()
    }

    async fn mark_snapshot_bad(&self, _: &ExecutionId, _: &str, _: u64) -> Result<(), StoreError> {
        fire()
    }

    async fn prune_snapshots(&self, _: &ExecutionId, _: &str, _: usize) -> Result<(), StoreError> {
        fire()
    }
}

#[async_trait]
impl BranchRegistry for Broken {
    async fn branch(&self, _: &str) -> Result<Option<BranchRow>, StoreError> {
        fire()
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        fire()
    }

    async fn set_branch(&self, _: &SetBranch) -> Result<BranchRow, StoreError> {
        fire()
    }
}
