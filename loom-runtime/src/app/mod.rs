//! The host side: what a program does with executions from outside.
//! Not how they run: that is the worker's and the kernel's.

mod answer;
mod branches;
mod builder;
mod folded;
mod fork;
pub(crate) mod gate_place;
mod handle;
mod messages;
mod pending;
mod project;
mod simulate;
mod start;
mod stream;
mod watch;

use std::{sync::Arc, time::Duration};

use kernel::{Envelope, Event, ExecutionId, ParkReport, State, Status, Timestamp};

pub use answer::{AnswerError, ControlError, GateAddress};
pub use branches::BranchError;
pub use builder::{AppBuilder, BuildError};
pub use fork::{ChildPolicy, Fork, ForkError};
pub use handle::{ExecutionError, Handle};
pub use messages::{SendError, SendMessage, SentUpdate, UpdateError};
pub use pending::{Pending, Said};
pub use project::ProjectError;
#[doc(hidden)]
pub use project::project_as_json;
pub use simulate::{Asked, Simulate, Simulation};
pub use start::{Start, StartDynamic, StartError};
pub use stream::StepStream;
pub use watch::Events;

use crate::{
    Flow, Registry,
    ports::{ArchiveStore, ExecutionRow, GateRow, ListFilter, Store, StoreError},
    worker::Engine,
};

/// A program's executions: start them, look at them, answer them. Cheap to clone.
///
/// ```no_run
/// # async fn main_(store: loom_runtime::Memory) -> loom_runtime::Result<()> {
/// use loom_runtime::App;
/// let app = App::builder().store(store).build()?;
/// for row in app.list(&Default::default()).await? {
///     println!("{} {}", row.id, row.status);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct App {
    engine: Arc<Engine>,
    archive: Option<Arc<dyn ArchiveStore>>,
}

impl App {
    /// Begins to put a program together.
    pub fn builder() -> AppBuilder {
        AppBuilder::default()
    }

    /// A handle to an execution of `F`, whether it exists or not.
    pub fn handle<F: Flow>(&self, id: &ExecutionId) -> Handle<F> {
        Handle::new(self.clone(), id.clone())
    }

    /// What payloads and logs may be at most in this program.
    pub fn limits(&self) -> crate::Limits {
        self.engine.limits
    }

    /// The flows, steps and other items of this program.
    pub fn registry(&self) -> &Registry {
        &self.engine.registry
    }

    /// The name under which this program holds leases: another one with every start.
    pub fn worker(&self) -> &str {
        &self.engine.worker
    }

    /// The time, by this program's clock.
    pub fn now(&self) -> Timestamp {
        self.engine.clock.now()
    }

    /// Takes up whatever is due, from now on and in the background: abandoned executions, fired timers, answered
    /// gates. Starting something does this too; answering, cancelling and judging only tell whoever works.
    pub fn work(&self) {
        self.engine.boot();
    }

    /// Takes up this one execution, if it is due, and nothing else that is; answers whether it was.
    ///
    /// # Errors
    /// The store fails.
    pub async fn take_up(&self, id: &ExecutionId) -> Result<bool, StoreError> {
        if !self.engine.has_room() {
            return Ok(false);
        }
        self.engine.beat();
        Ok(self.engine.claim(1, Some(id.clone())).await? > 0)
    }

    /// Stops cleanly: running steps may finish within `grace`, then every execution is handed back, due at once
    /// for any other worker. Nothing is started here any more.
    pub async fn shutdown(&self, grace: Duration) {
        self.engine.shut_down(grace).await;
    }

    /// Ends this program's work as a killed process does: flows and steps are dropped where they wait, nothing is finished and
    /// nothing is handed back. For simulations: what a flow or step does between two waits is not interrupted.
    #[doc(hidden)]
    pub fn crash(&self) {
        self.engine.crash();
    }

    /// What the store knows of the executions, in order of their ids.
    ///
    /// # Errors
    /// The store fails.
    pub async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        self.engine.store.list(filter).await
    }

    /// What the store knows of one execution.
    ///
    /// # Errors
    /// There is no such execution, or the store fails.
    pub async fn row(&self, id: &ExecutionId) -> Result<ExecutionRow, StoreError> {
        self.engine.store.get(id).await?.ok_or_else(|| StoreError::Unknown(id.clone()))
    }

    /// Why a parked execution is parked, by its last event: nothing is folded. `None` for one that is not parked.
    /// [`ParkReport::wants`] tells which code one waits for.
    ///
    /// # Errors
    /// The store fails, or that event cannot be read.
    pub async fn parked(&self, row: &ExecutionRow) -> Result<Option<ParkReport>, StoreError> {
        if row.status != Status::Parked {
            return Ok(None);
        }
        let last = self.log(&row.id, row.next.saturating_sub(1), 1).await?;
        Ok(last.into_iter().find_map(|last| match last.event {
            Event::ExecutionParked(parked) => Some(parked.report),
            _ => None,
        }))
    }

    /// The gates of one execution, or the open ones of all.
    ///
    /// # Errors
    /// The store fails.
    pub async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        self.engine.store.gates(execution).await
    }

    /// Up to `limit` events of a log, from a sequence on.
    ///
    /// # Errors
    /// There is no such execution, the store fails, or an event cannot be read ([`StoreError::Corrupt`]).
    pub async fn log(&self, id: &ExecutionId, from: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        let records = self.engine.store.read(id, from, limit).await?;
        let decode = |record| Envelope::decode(id, record).map_err(|e| StoreError::Corrupt(e.to_string()));
        records.iter().map(decode).collect()
    }

    /// The folded state of an execution, after all of its events or after the first `events` of them. That of a long log
    /// is folded from its newest snapshot on, if it has one ([`WorkerOptions::snapshot_every`](crate::WorkerOptions)).
    ///
    /// # Errors
    /// As for [`App::log`].
    pub async fn state(&self, id: &ExecutionId, events: Option<u64>) -> Result<State, StoreError> {
        folded::state(&*self.engine.store, id, events.unwrap_or(u64::MAX)).await
    }

    /// Replays a log against this program as [`replay_check`](crate::replay_check) does, but of each run in it only so many
    /// prefixes, evenly spread. For many logs: the fingerprints of the flows, which that computes each time, are at hand here.
    ///
    /// # Errors
    /// As for [`replay_check`](crate::replay_check).
    pub fn replay_check(&self, log: &[Envelope], prefixes: usize) -> Result<(), ParkReport> {
        self.engine.checker.check(log, prefixes)
    }

    /// The archive, if the program has one.
    pub fn archive(&self) -> Option<Arc<dyn ArchiveStore>> {
        self.archive.clone()
    }

    /// The store.
    pub fn store(&self) -> Arc<dyn Store> {
        self.engine.store.clone()
    }
}
