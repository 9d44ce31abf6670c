//! The way of one process to the store, on which it can die. Not a store: what is let through is the memory store's doing.

use std::{future::pending, time::Duration};

use async_trait::async_trait;
use loom_runtime::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, StoreError, WorkerId,
    },
};
use tokio::sync::{Mutex, watch};

use crate::{
    chance::Fault,
    disturbance::{Disturbance, Point},
    timeline::Mark,
    world::{World, Write},
};

/// The keepers of schedules are executions of these ids. In a test, nothing starts by itself.
const SCHEDULES: &str = "schedule:";

pub(crate) struct Wire {
    world: World,
    /// Whose; `None` for the test's own, which is never cut.
    process: Option<usize>,
    changes: Mutex<watch::Receiver<u64>>,
}

impl Wire {
    pub(crate) fn new(world: World, process: Option<usize>) -> Self {
        let changes = Mutex::new(world.changes());
        Self { world, process, changes }
    }

    /// Who is dead comes no further.
    async fn alive(&self) {
        if let Some(process) = self.process
            && matches!(self.world.disturbance(), Disturbance::Crash(_) | Disturbance::Faults(_))
            && !self.world.is_alive(process)
        {
            pending().await
        }
    }

    /// The process dies here.
    async fn die(&self, mark: Mark) -> ! {
        self.world.crash(mark);
        pending().await
    }

    /// The way there: who is dead does not arrive, and whoever does may be refused.
    async fn pass(&self) -> Result<(), StoreError> {
        match self.fault(false).await {
            Some(_) => Err(lost("refused by the test")),
            None => Ok(()),
        }
    }

    /// What happens to a call on its way, and after how long.
    async fn fault(&self, writes: bool) -> Option<Fault> {
        self.alive().await;
        let chance = self.world.chance().filter(|_| self.process.is_some())?;
        tokio::time::sleep(chance.delay()).await;
        self.alive().await;
        chance.fault(writes)
    }

    /// Around a write of the process, of these events.
    async fn write<T>(
        &self,
        execution: &ExecutionId,
        records: &[Record],
        write: impl Future<Output = Result<T, StoreError>>,
        is_new: impl FnOnce(&T) -> bool,
    ) -> Result<T, StoreError> {
        let fault = self.fault(true).await;
        let nth = self.world.written();
        let mark = |after: bool| {
            let sequence = records.first().map_or(0, |first| first.sequence)
                + if after { records.len() as u64 } else { 0 };
            Mark { execution: execution.clone(), sequence, after }
        };
        let counts = self.process.is_some() && !records.is_empty();
        if fault == Some(Fault::Refused) {
            return Err(lost("refused by the test"));
        }
        if counts && (fault == Some(Fault::DeathBefore) || self.world.dies_at(Point::Before(nth))) {
            self.die(mark(false)).await;
        }
        let written = write.await?;
        self.world.tell();
        if counts && is_new(&written) {
            let from = mark(false).sequence;
            let kinds = records.iter().map(|record| record.kind.clone()).collect();
            self.world.wrote(Write { execution: execution.clone(), from, until: mark(true).sequence, kinds });
            if fault == Some(Fault::DeathAfter) || self.world.dies_at(Point::After(nth)) {
                self.die(mark(true)).await;
            }
        }
        if fault == Some(Fault::Unacknowledged) {
            return Err(lost("the test lost the acknowledgement"));
        }
        Ok(written)
    }

    /// What a dead process held, as if its leases had run out.
    async fn left_behind(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let mut claimed = Vec::new();
        for row in self.world.memory().list(&ListFilter::default()).await? {
            let Some(lease) = row.lease.filter(|lease| self.world.is_dead(&lease.worker)) else { continue };
            let wanted = request.execution.as_ref().is_none_or(|wanted| *wanted == row.id);
            if wanted && claimed.len() < request.limit {
                let now = lease.until.plus(Duration::from_micros(1)).max(request.now);
                let one = ClaimRequest { now, limit: 1, execution: Some(row.id), ..request.clone() };
                claimed.extend(self.world.memory().claim(&one).await?);
            }
        }
        Ok(claimed)
    }

    /// When something is due by itself.
    async fn next_wake(&self) -> Duration {
        let now = self.world.now();
        let rows = self.world.memory().list(&ListFilter::default()).await.unwrap_or_default();
        let wakes = rows.iter().filter_map(|row| row.wake_at).filter(|at| *at > now);
        wakes.min().map_or(Duration::MAX, |at| at.since(now))
    }
}

fn lost(why: &str) -> StoreError {
    StoreError::Unavailable(why.into())
}

#[async_trait]
impl EventStore for Wire {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        if new.id.as_str().starts_with(SCHEDULES) {
            return Err(StoreError::Corrupt("nothing starts by itself in a test".to_owned()));
        }
        let (id, records) = (new.id.clone(), new.records.clone());
        let is_new = |created: &Created| matches!(created, Created::New { .. });
        self.write(&id, &records, self.world.memory().create(new), is_new).await
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        let write = self.world.memory().append(append);
        self.write(&append.execution, &append.records, write, |()| true).await?;
        let rebuilds = self.world.disturbance() == Disturbance::HandBack;
        if rebuilds
            && append.progress
            && append.close.is_none()
            && self.process.is_some_and(|process| self.world.is_alive(process))
        {
            self.world.hand_back();
            // The process is told before it learns of this write, and begins nothing more.
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.pass().await?;
        self.world.memory().read(execution, from, limit).await
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        self.pass().await?;
        self.world.memory().get(execution).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        self.pass().await?;
        self.world.memory().list(filter).await
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        self.pass().await?;
        self.world.memory().remove(removal).await
    }
}

#[async_trait]
impl LeaseStore for Wire {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.pass().await?;
        let mut claimed = self.left_behind(request).await?;
        let limit = request.limit - claimed.len();
        if limit > 0 {
            claimed.extend(self.world.memory().claim(&ClaimRequest { limit, ..request.clone() }).await?);
        }
        Ok(claimed)
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.pass().await?;
        self.world.memory().renew(worker, until).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.pass().await?;
        let released = self.world.memory().release(execution, fence).await;
        self.world.tell();
        released
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        self.pass().await?;
        self.world.memory().inbox_waiting(worker).await
    }

    async fn news(&self) {
        let mut changes = self.changes.lock().await;
        let wake = self.next_wake().await;
        let _ = tokio::time::timeout(wake, changes.changed()).await;
    }
}

#[async_trait]
impl Inbox for Wire {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        self.pass().await?;
        let posted = self.world.memory().post(item).await;
        self.world.tell();
        posted
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.pass().await?;
        self.world.memory().pending(execution, after).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        self.pass().await?;
        self.world.memory().prune_early(before, rehearsal).await
    }
}

#[async_trait]
impl GateIndex for Wire {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        self.pass().await?;
        self.world.memory().gates(execution).await
    }
}

#[async_trait]
impl SnapshotStore for Wire {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.pass().await?;
        self.world.memory().put_snapshot(snapshot).await
    }

    async fn newest_snapshot(
        &self,
        id: &ExecutionId,
        of: &str,
        most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.pass().await?;
        self.world.memory().newest_snapshot(id, of, most).await
    }

    async fn mark_snapshot_bad(&self, id: &ExecutionId, of: &str, sequence: u64) -> Result<(), StoreError> {
        self.pass().await?;
        self.world.memory().mark_snapshot_bad(id, of, sequence).await
    }

    async fn prune_snapshots(&self, id: &ExecutionId, of: &str, keep: usize) -> Result<(), StoreError> {
        self.pass().await?;
        self.world.memory().prune_snapshots(id, of, keep).await
    }
}

#[async_trait]
impl BranchRegistry for Wire {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        self.pass().await?;
        self.world.memory().branch(name).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.pass().await?;
        self.world.memory().branches().await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        self.pass().await?;
        self.world.memory().set_branch(set).await
    }
}
