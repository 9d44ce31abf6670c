//! A tap on a store: it can be shut, frozen, made to lose acknowledgements, to show damage, or to stop at one write.
//! What it lets through is the store's own doing.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use async_trait::async_trait;
use loom::{
    ExecutionId, Timestamp,
    kernel::{Record, Snapshot},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        SetBranch, SnapshotStore, Store, StoreError, WorkerId,
    },
};
use tokio::sync::watch;

/// The handle of a tap: any number of stores can hang on one.
#[derive(Clone)]
pub(crate) struct Tap(Arc<Inner>);

struct Inner {
    down: AtomicBool,
    /// Writes that happen, and whose acknowledgement is lost.
    losses: AtomicUsize,
    /// Appends that panic, as those of a faulty store do.
    panics: AtomicUsize,
    frozen: watch::Sender<bool>,
    /// Freezes for good before (false) or after (true) the n-th append.
    stop: Mutex<Option<(usize, bool)>>,
    appends: AtomicUsize,
    /// As `stop`, but creations count too.
    stop_write: Mutex<Option<(usize, bool)>>,
    writes: AtomicUsize,
    refused: AtomicUsize,
    /// How many calls found it down.
    turned_away: AtomicUsize,
    damage: Mutex<Option<(ExecutionId, u64)>>,
}

impl Default for Tap {
    fn default() -> Self {
        Self(Arc::new(Inner {
            down: AtomicBool::new(false),
            losses: AtomicUsize::new(0),
            panics: AtomicUsize::new(0),
            frozen: watch::Sender::new(false),
            stop: Mutex::new(None),
            appends: AtomicUsize::new(0),
            stop_write: Mutex::new(None),
            writes: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            turned_away: AtomicUsize::new(0),
            damage: Mutex::new(None),
        }))
    }
}

impl Tap {
    /// Nothing gets through, and everybody is told.
    pub(crate) fn down(&self, down: bool) {
        self.0.down.store(down, SeqCst);
    }

    /// The next so many writes happen, but nobody is told.
    pub(crate) fn lose(&self, writes: usize) {
        self.0.losses.store(writes, SeqCst);
    }

    /// The next append panics.
    pub(crate) fn panic(&self) {
        self.0.panics.store(1, SeqCst);
    }

    /// Nothing gets through, and nobody is told anything: as after SIGSTOP.
    pub(crate) fn freeze(&self, frozen: bool) {
        self.0.frozen.send_replace(frozen);
    }

    /// Freezes before or after the n-th append.
    pub(crate) fn stop_at(&self, nth: usize, after: bool) {
        *self.0.stop.lock().unwrap() = Some((nth, after));
    }

    /// Freezes before or after the n-th creation or append, of whatever execution.
    pub(crate) fn stop_at_write(&self, nth: usize, after: bool) {
        *self.0.stop_write.lock().unwrap() = Some((nth, after));
    }

    /// How many creations and appends the store has accepted.
    pub(crate) fn writes(&self) -> usize {
        self.0.writes.load(SeqCst)
    }

    pub(crate) fn is_frozen(&self) -> bool {
        *self.0.frozen.borrow()
    }

    /// Waits until it is frozen.
    pub(crate) async fn stopped(&self) {
        self.0.frozen.subscribe().wait_for(|frozen| *frozen).await.unwrap();
    }

    /// Shows this event of this log with a payload that is none.
    pub(crate) fn damage(&self, execution: &ExecutionId, sequence: u64) {
        *self.0.damage.lock().unwrap() = Some((execution.clone(), sequence));
    }

    pub(crate) fn mend(&self) {
        *self.0.damage.lock().unwrap() = None;
    }

    /// How many appends the store has accepted.
    pub(crate) fn appends(&self) -> usize {
        self.0.appends.load(SeqCst)
    }

    /// How many appends the store has refused, other than because an inbox had moved.
    pub(crate) fn refused(&self) -> usize {
        self.0.refused.load(SeqCst)
    }

    /// How many calls found it down.
    pub(crate) fn turned_away(&self) -> usize {
        self.0.turned_away.load(SeqCst)
    }

    async fn pass(&self) -> Result<(), StoreError> {
        let _ = self.0.frozen.subscribe().wait_for(|frozen| !*frozen).await;
        if self.0.down.load(SeqCst) {
            self.0.turned_away.fetch_add(1, SeqCst);
            return Err(lost("shut by the test"));
        }
        Ok(())
    }

    fn acknowledge<T>(&self, written: Result<T, StoreError>) -> Result<T, StoreError> {
        let loses = |left: usize| left.checked_sub(1);
        if written.is_ok() && self.0.losses.fetch_update(SeqCst, SeqCst, loses).is_ok() {
            return Err(lost("the acknowledgement was lost by the test"));
        }
        written
    }

    /// Around a creation or an append.
    async fn write<T>(&self, written: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
        let nth = self.writes();
        let stops = |after| {
            let stop = *self.0.stop_write.lock().unwrap_or_else(PoisonError::into_inner);
            // Others may write meanwhile: whoever comes to this place first stops everybody.
            stop.is_some_and(|(at, when)| when == after && nth == at)
        };
        if stops(false) {
            self.freeze(true);
            self.pass().await?;
        }
        let written = written.await;
        self.0.writes.fetch_add(usize::from(written.is_ok()), SeqCst);
        if stops(true) {
            self.freeze(true);
            self.pass().await?;
        }
        written
    }

    fn stops(&self, nth: usize, after: bool) -> bool {
        *self.0.stop.lock().unwrap_or_else(PoisonError::into_inner) == Some((nth, after))
    }
}

fn lost(why: &str) -> StoreError {
    StoreError::Unavailable(why.into())
}

pub(crate) struct Tapped {
    inner: Arc<dyn Store>,
    tap: Tap,
}

impl Tapped {
    pub(crate) fn new(inner: Arc<dyn Store>, tap: Tap) -> Self {
        Self { inner, tap }
    }
}

#[async_trait]
impl EventStore for Tapped {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        self.tap.pass().await?;
        let created = self.tap.write(self.inner.create(new)).await;
        self.tap.acknowledge(created)
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        self.tap.pass().await?;
        if self.tap.0.panics.swap(0, SeqCst) > 0 {
            panic!("a bug in the store");
        }
        let nth = self.tap.appends();
        if self.tap.stops(nth, false) {
            self.tap.freeze(true);
            self.tap.pass().await?;
        }
        let written = self.tap.write(self.inner.append(append)).await;
        match &written {
            Ok(()) => drop(self.tap.0.appends.fetch_add(1, SeqCst)),
            Err(StoreError::InboxMoved(_)) => {}
            Err(_) => drop(self.tap.0.refused.fetch_add(1, SeqCst)),
        }
        if self.tap.stops(nth, true) {
            self.tap.freeze(true);
            self.tap.pass().await?;
        }
        self.tap.acknowledge(written)
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        self.tap.pass().await?;
        let mut records = self.inner.read(execution, from, limit).await?;
        if let Some((damaged, sequence)) = self.tap.0.damage.lock().unwrap().as_ref()
            && damaged == execution
        {
            let hit = records.iter_mut().filter(|record| record.sequence == *sequence);
            hit.for_each(|record| record.payload = "{\"fra".into());
        }
        Ok(records)
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        self.tap.pass().await?;
        self.inner.get(execution).await
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        self.tap.pass().await?;
        self.inner.list(filter).await
    }
}

#[async_trait]
impl LeaseStore for Tapped {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.tap.pass().await?;
        let claimed = self.inner.claim(request).await?;
        if claimed.is_empty() { Ok(claimed) } else { self.tap.acknowledge(Ok(claimed)) }
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.tap.pass().await?;
        self.inner.renew(worker, until).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.inner.release(execution, fence).await
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        self.tap.pass().await?;
        self.inner.inbox_waiting(worker).await
    }

    async fn news(&self) {
        self.inner.news().await;
    }
}

#[async_trait]
impl Inbox for Tapped {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        self.tap.pass().await?;
        self.inner.post(item).await
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.tap.pass().await?;
        self.inner.pending(execution, after).await
    }
}

#[async_trait]
impl GateIndex for Tapped {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        self.tap.pass().await?;
        self.inner.gates(execution).await
    }
}

#[async_trait]
impl SnapshotStore for Tapped {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.inner.put_snapshot(snapshot).await
    }

    async fn newest_snapshot(&self, of: &ExecutionId, most: u64) -> Result<Option<Snapshot>, StoreError> {
        self.tap.pass().await?;
        self.inner.newest_snapshot(of, most).await
    }

    async fn mark_snapshot_bad(&self, of: &ExecutionId, sequence: u64) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.inner.mark_snapshot_bad(of, sequence).await
    }

    async fn prune_snapshots(&self, of: &ExecutionId, keep: usize) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.inner.prune_snapshots(of, keep).await
    }
}

#[async_trait]
impl BranchRegistry for Tapped {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        self.tap.pass().await?;
        self.inner.branch(name).await
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        self.tap.pass().await?;
        self.inner.branches().await
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        self.tap.pass().await?;
        self.tap.acknowledge(self.inner.set_branch(set).await)
    }
}
