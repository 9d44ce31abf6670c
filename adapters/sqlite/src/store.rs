//! The store as its users hold it: every port, by way of the writer or of the readers.
//! Not the work itself: writes are the writer's, reads are in `read`.

use std::path::Path;

use async_trait::async_trait;
use loom_runtime::{
    kernel::{ExecutionId, Record, Snapshot, Timestamp},
    ports::{
        Append, BranchRegistry, BranchRow, Caveat, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, Shard, SnapshotStore, StoreError, WorkerId,
    },
};
use sqlx::SqlitePool;
use tokio::sync::{mpsc, oneshot};

use crate::{
    OpenError, SqliteOptions,
    append::Transition,
    claim::{Release, Renewal},
    error,
    post::PruneEarly,
    read, snapshot,
    writer::{Asked, Request},
};

/// A store in one SQLite file. Clones share it; any number of processes may open the same file.
///
/// When the last clone is dropped, what was asked before is still written, as long as the runtime lives;
/// [`close`](Self::close) waits for that.
#[derive(Clone, Debug)]
pub struct Sqlite {
    requests: mpsc::Sender<Request>,
    pub(crate) readers: SqlitePool,
}

impl Sqlite {
    /// Opens a file with the default options, and creates it if it is missing.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what to do.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, OpenError> {
        Self::options().open(path).await
    }

    /// Options, to open a file otherwise.
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
    }

    pub(crate) fn new(requests: mpsc::Sender<Request>, readers: SqlitePool) -> Self {
        Self { requests, readers }
    }

    /// Writes what was asked, by every clone, and closes the file. Later calls fail as unavailable.
    pub async fn close(self) {
        self.readers.close().await;
        let (reply, closed) = oneshot::channel();
        if self.requests.send(Request::Close(reply)).await.is_ok() {
            // An error means that the writer is gone already.
            drop(closed.await);
        }
    }

    pub(crate) async fn ask<Q, A>(
        &self,
        question: Q,
        request: impl FnOnce(Asked<Q, A>) -> Request,
    ) -> Result<A, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(Asked { question, reply })).await.map_err(|_| error::closed())?;
        answer.await.map_err(|_| error::closed())?
    }
}

#[async_trait]
impl EventStore for Sqlite {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        self.ask(new, Request::Create).await
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        self.ask(Transition::new(append), Request::Append).await
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let read = read::records(&self.readers, execution, from, limit).await;
        if matches!(read, Err(StoreError::Unknown(_))) {
            self.shows(execution).await?;
        }
        read
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        let row = read::execution(&self.readers, execution).await?;
        if row.is_none() {
            self.shows(execution).await?;
        }
        Ok(row)
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        read::list(&self.readers, filter).await
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        self.ask(removal.clone(), Request::Remove).await
    }

    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        Ok(Caveat::of_part(self).await?.into_iter().collect())
    }
}

#[async_trait]
impl LeaseStore for Sqlite {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        // Workers ask all the time and mostly in vain: that must not take the write lock.
        if request.limit == 0 || !read::anything_due(&self.readers, request).await? {
            return Ok(Vec::new());
        }
        self.ask(request.clone(), Request::Claim).await
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.ask(Renewal { worker: worker.clone(), until }, Request::Renew).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.ask(Release { execution: execution.clone(), fence }, Request::Release).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        read::inbox_waiting(&self.readers, worker).await
    }
}

#[async_trait]
impl Inbox for Sqlite {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        self.ask(item, Request::Post).await
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        read::pending(&self.readers, execution, after).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        match rehearsal {
            true => read::early_before(&self.readers, before).await,
            false => self.ask(PruneEarly { before }, Request::PruneEarly).await,
        }
    }
}

#[async_trait]
impl GateIndex for Sqlite {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        read::gates(&self.readers, execution).await
    }
}

#[async_trait]
impl SnapshotStore for Sqlite {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.ask(snapshot::Change::Put(snapshot.clone()), Request::Snapshot).await
    }

    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        snapshot::newest(&self.readers, execution, of, at_most).await
    }

    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError> {
        let (execution, of) = (execution.clone(), of.to_owned());
        self.ask(snapshot::Change::MarkBad { execution, of, sequence }, Request::Snapshot).await
    }

    async fn prune_snapshots(
        &self,
        execution: &ExecutionId,
        of: &str,
        keep: usize,
    ) -> Result<(), StoreError> {
        let (execution, of) = (execution.clone(), of.to_owned());
        self.ask(snapshot::Change::Prune { execution, of, keep }, Request::Snapshot).await
    }
}

#[async_trait]
impl BranchRegistry for Sqlite {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        read::branch(&self.readers, name).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        read::branches(&self.readers).await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        self.ask(set.clone(), Request::SetBranch).await
    }
}
