//! A tap on a store: it can be shut, frozen, made to lose acknowledgements, to show damage, or to stop at one write.
//! What it lets through is the store's own doing.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

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
use tokio::sync::watch;

/// What changes a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Write {
    Create,
    Append,
    /// Of an append: it takes items out of the inbox.
    Consume,
    /// Of an append: it puts items into other inboxes.
    Tell,
    Claim,
    Renew,
    Release,
    Post,
    PutSnapshot,
    PruneSnapshots,
    Remove,
}

/// Where a tap stops: at the n-th write, of whatever execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Before(usize),
    After(usize),
    /// Lets it through and everything that follows; only [`Tap::come_to`] is told.
    Beside(usize),
}

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
    /// As `stop`, but everything counts that changes the store.
    stop_write: Mutex<Option<Stop>>,
    writes: AtomicUsize,
    kinds: Mutex<BTreeSet<Write>>,
    /// Whether it has come to where `stop_write` says.
    come: watch::Sender<bool>,
    /// How far its clock is ahead, as to leases.
    ahead: Mutex<Duration>,
    refused: AtomicUsize,
    /// How many calls found it down.
    turned_away: AtomicUsize,
    /// How many events were read.
    events_read: AtomicUsize,
    damage: Mutex<Option<(ExecutionId, u64)>>,
    torn: Mutex<Option<(ExecutionId, u64)>>,
    newer: Mutex<Option<(ExecutionId, u64)>>,
    /// How long a read of an inbox takes.
    slow_inbox: Mutex<Duration>,
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
            kinds: Mutex::default(),
            come: watch::Sender::new(false),
            ahead: Mutex::default(),
            refused: AtomicUsize::new(0),
            turned_away: AtomicUsize::new(0),
            events_read: AtomicUsize::new(0),
            damage: Mutex::new(None),
            torn: Mutex::new(None),
            newer: Mutex::new(None),
            slow_inbox: Mutex::new(Duration::ZERO),
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

    pub(crate) fn stop_at_write(&self, stop: Stop) {
        *self.0.stop_write.lock().unwrap() = Some(stop);
    }

    /// Waits until it has come to the write at which it stops.
    pub(crate) async fn come(&self) {
        self.0.come.subscribe().wait_for(|come| *come).await.unwrap();
    }

    /// How many writes the store has accepted: whatever changed something.
    pub(crate) fn writes(&self) -> usize {
        self.0.writes.load(SeqCst)
    }

    /// Of which kinds these were.
    pub(crate) fn kinds(&self) -> BTreeSet<Write> {
        lock(&self.0.kinds).clone()
    }

    /// From now on leases that hold for less than this have run out, as seen from here: nobody waits for those of a
    /// program that was killed.
    pub(crate) fn ahead(&self, by: Duration) {
        *lock(&self.0.ahead) = by;
    }

    fn later(&self, at: Timestamp) -> Timestamp {
        at.plus(*lock(&self.0.ahead))
    }

    pub(crate) fn is_frozen(&self) -> bool {
        *self.0.frozen.borrow()
    }

    /// Waits until it is frozen.
    pub(crate) async fn stopped(&self) {
        self.0.frozen.subscribe().wait_for(|frozen| *frozen).await.unwrap();
    }

    /// Reads of inboxes take so long from now on.
    pub(crate) fn slow_inbox(&self, read: Duration) {
        *self.0.slow_inbox.lock().unwrap() = read;
    }

    /// Shows this event of this log with a payload that is none.
    pub(crate) fn damage(&self, execution: &ExecutionId, sequence: u64) {
        *self.0.damage.lock().unwrap() = Some((execution.clone(), sequence));
    }

    /// Shows this event of this log as one of a newer build.
    pub(crate) fn newer(&self, execution: &ExecutionId, sequence: u64) {
        *self.0.newer.lock().unwrap() = Some((execution.clone(), sequence));
    }

    /// Lets no read come to this event of this log: the store itself finds it damaged.
    pub(crate) fn tear(&self, execution: &ExecutionId, sequence: u64) {
        *self.0.torn.lock().unwrap() = Some((execution.clone(), sequence));
    }

    pub(crate) fn mend(&self) {
        *self.0.torn.lock().unwrap() = None;
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

    /// How many events were read through it.
    pub(crate) fn events_read(&self) -> usize {
        self.0.events_read.load(SeqCst)
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

    /// Around something that may change the store; `kind` says whether it did.
    async fn write<T>(
        &self,
        written: impl Future<Output = Result<T, StoreError>>,
        kind: impl FnOnce(&T) -> Option<Write>,
    ) -> Result<T, StoreError> {
        self.come_to(Stop::Before(self.writes())).await?;
        self.note(written.await, kind).await
    }

    /// After it. For what mostly changes nothing, of which one cannot tell before: to stop before a claim, say, is to
    /// stop after the write that was the last one.
    async fn note<T>(
        &self,
        written: Result<T, StoreError>,
        kind: impl FnOnce(&T) -> Option<Write>,
    ) -> Result<T, StoreError> {
        if let Some(kind) = written.as_ref().ok().and_then(kind) {
            lock(&self.0.kinds).insert(kind);
            let nth = self.0.writes.fetch_add(1, SeqCst);
            self.come_to(Stop::Beside(nth)).await?;
            self.come_to(Stop::After(nth)).await?;
        }
        written
    }

    /// Others may write meanwhile: whoever comes to this place first stops everybody.
    async fn come_to(&self, here: Stop) -> Result<(), StoreError> {
        if *lock(&self.0.stop_write) != Some(here) {
            return Ok(());
        }
        if !matches!(here, Stop::Beside(_)) {
            self.freeze(true);
        }
        self.0.come.send_replace(true);
        self.pass().await
    }

    fn stops(&self, nth: usize, after: bool) -> bool {
        *self.0.stop.lock().unwrap_or_else(PoisonError::into_inner) == Some((nth, after))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let claim = new.claim.map(|(worker, until)| (worker, self.tap.later(until)));
        let new = NewExecution { claim, ..new };
        let is_new = |created: &Created| matches!(created, Created::New { .. }).then_some(Write::Create);
        let created = self.tap.write(self.inner.create(new), is_new).await;
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
        let written = self.tap.write(self.inner.append(append), |()| Some(Write::Append)).await;
        if written.is_ok() {
            let also = [(Write::Consume, append.consumed.is_empty()), (Write::Tell, append.posts.is_empty())];
            lock(&self.tap.0.kinds).extend(also.iter().filter(|(_, none)| !none).map(|(kind, _)| *kind));
        }
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
        self.tap.0.events_read.fetch_add(records.len(), SeqCst);
        if let Some((torn, sequence)) = self.tap.0.torn.lock().unwrap().as_ref()
            && torn == execution
            && records.iter().any(|record| record.sequence == *sequence)
        {
            return Err(StoreError::Corrupt(format!("event {sequence} of `{execution}`")));
        }
        if let Some((damaged, sequence)) = self.tap.0.damage.lock().unwrap().as_ref()
            && damaged == execution
        {
            let hit = records.iter_mut().filter(|record| record.sequence == *sequence);
            hit.for_each(|record| record.payload = "{\"fra".into());
        }
        if let Some((newer, sequence)) = self.tap.0.newer.lock().unwrap().as_ref()
            && newer == execution
        {
            let hit = records.iter_mut().filter(|record| record.sequence == *sequence);
            hit.for_each(|record| record.kind = "EXECUTION_FROZEN".into());
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

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        self.tap.pass().await?;
        let removed = |removed: &bool| removed.then_some(Write::Remove);
        let removed = self.tap.write(self.inner.remove(removal), removed).await;
        self.tap.acknowledge(removed)
    }
}

#[async_trait]
impl LeaseStore for Tapped {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        self.tap.pass().await?;
        let (now, until) = (self.tap.later(request.now), self.tap.later(request.until));
        let claimed = self.inner.claim(&ClaimRequest { now, until, ..request.clone() }).await;
        let claimed = self.tap.note(claimed, |claimed| claimed.first().map(|_| Write::Claim)).await?;
        if claimed.is_empty() { Ok(claimed) } else { self.tap.acknowledge(Ok(claimed)) }
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        self.tap.pass().await?;
        let renewed = self.inner.renew(worker, self.tap.later(until)).await;
        self.tap.note(renewed, |held| held.first().map(|_| Write::Renew)).await
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.tap.write(self.inner.release(execution, fence), |()| Some(Write::Release)).await
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
        let is_new = |posted: &Posted| matches!(posted, Posted::Accepted(_)).then_some(Write::Post);
        self.tap.write(self.inner.post(item), is_new).await
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.tap.pass().await?;
        let read = *self.tap.0.slow_inbox.lock().unwrap();
        tokio::time::sleep(read).await;
        self.inner.pending(execution, after).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        self.tap.pass().await?;
        self.inner.prune_early(before, rehearsal).await
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
        self.tap.write(self.inner.put_snapshot(snapshot), |()| Some(Write::PutSnapshot)).await
    }

    async fn newest_snapshot(
        &self,
        id: &ExecutionId,
        of: &str,
        most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        self.tap.pass().await?;
        self.inner.newest_snapshot(id, of, most).await
    }

    async fn mark_snapshot_bad(&self, id: &ExecutionId, of: &str, sequence: u64) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.inner.mark_snapshot_bad(id, of, sequence).await
    }

    async fn prune_snapshots(&self, id: &ExecutionId, of: &str, keep: usize) -> Result<(), StoreError> {
        self.tap.pass().await?;
        self.tap.write(self.inner.prune_snapshots(id, of, keep), |()| Some(Write::PruneSnapshots)).await
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
