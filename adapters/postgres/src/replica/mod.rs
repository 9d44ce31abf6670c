//! A primary and a standby as one store: what only looks goes to the standby, what decides to the primary.
//! Not a fail-over: a standby that was promoted is a primary, to be connected to as one.

mod lag;

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use loom_runtime::{
    kernel::{ExecutionId, Record, Snapshot, Timestamp},
    ports::{
        Append, BranchRegistry, BranchRow, Caveat, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, SnapshotStore, StoreError, WorkerId,
    },
};

use self::lag::{Lag, Unfit};
use crate::Postgres;

/// A primary, and a streaming standby that answers for it where only somebody looks.
///
/// ```no_run
/// # async fn main_() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use postgres::{Postgres, Replica};
/// let primary = Postgres::connect("postgres://shop:secret@db-1.internal/shop").await?;
/// let standby = Postgres::connect_lazy("postgres://shop:secret@db-2.internal/shop")?;
/// let store = Replica::of(primary, standby).at_most_behind(Duration::from_secs(5));
/// # Ok(()) }
/// ```
///
/// **To the standby** go lists, rows, logs, open gates, snapshots and branches. **To the primary** goes everything else: every
/// write, claims, renewals, inboxes; and what is read of an execution that this process holds a lease of, so that nobody replays
/// an old log.
///
/// **What it shows.** A process sees what it has done itself: until the standby has replayed that, the primary is asked. Of what
/// others do it sees everything up to [`at_most_behind`](Self::at_most_behind) and half a second ago. What the standby does not know at all
/// is asked of the primary too. How far it is behind is measured twice a second by positions in the server's log, so that no
/// clock has to be right, and a standby that was cut off is found.
///
/// **When it is down**, too far behind, or no standby any more, the primary answers; with [`or_fail`](Self::or_fail)
/// the call fails as unavailable, and says why. Connected to lazily, as above, it may be down when a program starts, and is used
/// once it is there.
///
/// A process that writes all the time (a worker) gains little by it; one that shows what goes on gains most.
#[derive(Clone, Debug)]
pub struct Replica {
    primary: Postgres,
    standby: Postgres,
    most: Duration,
    fails: bool,
    state: Arc<State>,
}

#[derive(Debug, Default)]
struct State {
    lag: tokio::sync::Mutex<Lag>,
    /// How often this process has written.
    writes: AtomicU64,
    /// What this process may hold a lease of.
    held: Mutex<HashSet<ExecutionId>>,
}

/// Runs what only looks: on the standby if it is fit, and not there if it fails. A macro, since the future of an async
/// closure is not known to be `Send`.
macro_rules! look {
    ($self:ident, $store:ident => $work:expr) => {
        look!($self, false, $store => $work)
    };
    ($self:ident, $held:expr, $store:ident => $work:expr) => {{
        let fit = if $held { None } else { $self.fit().await? };
        match fit {
            None => {
                let $store = &$self.primary;
                $work.await
            }
            Some(standby) => {
                let $store = standby;
                match $work.await {
                    Err(StoreError::Unavailable(why)) => {
                        $self.failed(why).await?;
                        let $store = &$self.primary;
                        $work.await
                    }
                    done => done,
                }
            }
        }
    }};
}

impl Replica {
    /// The two together. The standby may be five seconds behind unless told otherwise.
    pub fn of(primary: Postgres, standby: Postgres) -> Self {
        Self { primary, standby, most: Duration::from_secs(5), fails: false, state: Arc::default() }
    }

    /// How far the standby may be behind; half a second at least, which is how often that is measured.
    #[must_use]
    pub fn at_most_behind(mut self, most: Duration) -> Self {
        self.most = most;
        self
    }

    /// Fails where the primary would have to answer because the standby is down or too far behind: so that those who look
    /// never get in the way of those who work.
    #[must_use]
    pub fn or_fail(mut self) -> Self {
        self.fails = true;
        self
    }

    /// For how long the standby has not had everything, as it was last seen; `None` when it was not asked yet, or has never
    /// had it.
    pub async fn behind(&self) -> Option<Duration> {
        self.state.lag.lock().await.behind()
    }

    /// The standby, if it is of use now; `None` for the primary.
    async fn fit(&self) -> Result<Option<&Postgres>, StoreError> {
        let writes = self.state.writes.load(Ordering::Acquire);
        let mut lag = self.state.lag.lock().await;
        match lag.check(&self.primary, &self.standby, self.most, writes).await {
            Ok(()) => Ok(Some(&self.standby)),
            Err(Unfit::OwnWrites) => Ok(None),
            Err(Unfit::Behind(why)) if self.fails => Err(StoreError::Unavailable(why)),
            Err(Unfit::Behind(why)) => {
                tracing::debug!(why, "the primary is asked");
                Ok(None)
            }
        }
    }

    async fn failed(&self, why: String) -> Result<(), StoreError> {
        match self.state.lag.lock().await.fails(why) {
            Unfit::Behind(why) if self.fails => Err(StoreError::Unavailable(why)),
            _ => Ok(()),
        }
    }

    /// What was asked of the primary may have written.
    fn wrote<T>(&self, done: T) -> T {
        self.state.writes.fetch_add(1, Ordering::AcqRel);
        done
    }

    fn held(&self) -> std::sync::MutexGuard<'_, HashSet<ExecutionId>> {
        self.state.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds(&self, id: &ExecutionId) -> bool {
        self.held().contains(id)
    }
}

#[async_trait]
impl EventStore for Replica {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        if new.claim.is_some() {
            self.held().insert(new.id.clone());
        }
        self.wrote(self.primary.create(new).await)
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        let done = self.wrote(self.primary.append(append).await);
        if done.is_ok() && append.close.is_some() {
            self.held().remove(&append.execution);
        }
        done
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        match look!(self, self.holds(execution), store => store.read(execution, from, limit)) {
            Err(StoreError::Unknown(_)) => self.primary.read(execution, from, limit).await,
            read => read,
        }
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        match look!(self, self.holds(execution), store => store.get(execution))? {
            None => self.primary.get(execution).await,
            row => Ok(row),
        }
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        look!(self, store => store.list(filter))
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        self.wrote(self.primary.remove(removal).await)
    }

    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        self.primary.caveats().await
    }
}

#[async_trait]
impl LeaseStore for Replica {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        let claimed = self.primary.claim(request).await?;
        if !claimed.is_empty() {
            self.held().extend(claimed.iter().map(|claimed| claimed.row.id.clone()));
            self.wrote(());
        }
        Ok(claimed)
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        let before = self.held().clone();
        let renewed = self.wrote(self.primary.renew(worker, until).await)?;
        let lost = |id: &ExecutionId| before.contains(id) && !renewed.iter().any(|(held, _)| held == id);
        self.held().retain(|id| !lost(id));
        Ok(renewed)
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        let done = self.wrote(self.primary.release(execution, fence).await);
        if done.is_ok() {
            self.held().remove(execution);
        }
        done
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        self.primary.inbox_waiting(worker).await
    }

    async fn news(&self) {
        self.primary.news().await;
    }
}

#[async_trait]
impl Inbox for Replica {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        self.wrote(self.primary.post(item).await)
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        self.primary.pending(execution, after).await
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        self.wrote(self.primary.prune_early(before, rehearsal).await)
    }
}

#[async_trait]
impl GateIndex for Replica {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        look!(self, execution.is_some_and(|id| self.holds(id)), store => store.gates(execution))
    }
}

#[async_trait]
impl SnapshotStore for Replica {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        self.wrote(self.primary.put_snapshot(snapshot).await)
    }

    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        look!(self, store => store.newest_snapshot(execution, of, at_most))
    }

    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError> {
        self.wrote(self.primary.mark_snapshot_bad(execution, of, sequence).await)
    }

    async fn prune_snapshots(
        &self,
        execution: &ExecutionId,
        of: &str,
        keep: usize,
    ) -> Result<(), StoreError> {
        self.wrote(self.primary.prune_snapshots(execution, of, keep).await)
    }
}

#[async_trait]
impl BranchRegistry for Replica {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        match look!(self, store => store.branch(name))? {
            None => self.primary.branch(name).await,
            row => Ok(row),
        }
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        look!(self, store => store.branches())
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        self.wrote(self.primary.set_branch(set).await)
    }
}
