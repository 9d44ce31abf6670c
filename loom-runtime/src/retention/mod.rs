//! Retention: old executions are moved from the store to an archive, as a policy says.
//! Not a background task: a pass happens when somebody asks for it, by a schedule of the operating system, say.

mod pass;
mod policy;
mod report;

pub use policy::{Keep, KeepFlow, Pinned, RetentionPolicy};
pub use report::{Held, HeldBy, Reason, RetentionReport, Tally};

use std::sync::Arc;

use kernel::ExecutionId;

use crate::{
    App, FrozenLog,
    ports::{ArchiveError, ArchiveStore, ListFilter, StoreError},
};

/// A pass that is being put together: see [`App::retention`].
#[must_use = "nothing happens until it is rehearsed or run"]
#[derive(Clone)]
pub struct Retention {
    app: App,
    policy: RetentionPolicy,
    archive: Option<Arc<dyn ArchiveStore>>,
}

/// Why a pass did not come to its end. What it has moved by then is moved; the next one goes on from there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RetentionError {
    /// Something is due, and would be lost.
    #[error("`{execution}` is to be removed, and there is no archive to move it to: give one, or rehearse")]
    NoArchive {
        /// The first that is due.
        execution: ExecutionId,
    },
    /// The policy names a flow that there is not: what it was to keep would go.
    #[error(
        "the policy names flow `{flow}`, which this program does not have, and no execution either: mend the name"
    )]
    UnknownFlow {
        /// The name.
        flow: String,
    },
    /// The policy pins an execution that there is not: what it was to keep would go.
    #[error("the policy pins execution `{execution}`, and there is none of this id: mend it")]
    UnknownPin {
        /// The id.
        execution: ExecutionId,
    },
    /// The archive has answered with something else than it was given: nothing was removed.
    #[error("the archive holds other bytes of `{execution}` than it was given: do not use it")]
    Unconfirmed {
        /// The execution.
        execution: ExecutionId,
    },
    /// The archive refused or failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// A pass that moves to the archive what is older than this policy keeps, and forgets snapshots and early messages.
    ///
    /// Of an execution that has ended its last event stays, and its row: its id is taken for ever, a start with the same
    /// input finds it as before, and [`Handle::result`](crate::Handle::result) answers. What is gone from the store (events,
    /// gates, inbox) is refused as [`StoreError::Archived`] where it is asked for; a fork, as [`ForkError::Archived`](crate::ForkError). A
    /// fork has events of its own, so it does not hold its origin.
    ///
    /// A segment is removed only once the archive has answered with its digest, and only if the execution is still as it
    /// was found. Passes may run beside workers and beside each other, and be killed at any moment.
    ///
    /// Held back is what the policy pins, what a branch points to, and a child as long as its parent goes on in the run that
    /// has it. So is what cannot be read ([`HeldBy::Unreadable`]): the report names it, the others go, and a pass takes it once
    /// it can be read again. Events in the middle are moved as they are, whether this build knows their kinds or not.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// use loom_runtime::{App, Keep, MemoryArchive, RetentionPolicy};
    /// # let registry = loom_runtime::Registry::of([]);
    /// let app = App::builder().archive(MemoryArchive::new())
    /// #   .registry(registry)
    ///     .build()?;
    /// let policy = RetentionPolicy { completed: Keep::For(std::time::Duration::from_secs(86_400)), ..Default::default() };
    /// let would = app.retention(policy.clone()).rehearse().await?;
    /// let did = app.retention(policy).run().await?;
    /// assert_eq!(would.removed, did.removed);
    /// # loom_runtime::Result::<()>::Ok(())
    /// # }).unwrap();
    /// ```
    pub fn retention(&self, policy: RetentionPolicy) -> Retention {
        Retention { app: self.clone(), policy, archive: self.archive() }
    }

    /// What the archive has of an execution: the events that its log no longer holds. `None` when it has nothing, or there
    /// is no archive. Nothing that runs ever looks there.
    ///
    /// # Errors
    /// The archive fails, or is damaged.
    pub async fn archived(&self, id: &ExecutionId) -> Result<Option<FrozenLog>, ArchiveError> {
        match self.archive() {
            Some(archive) => archive.read(id).await,
            None => Ok(None),
        }
    }
}

impl Retention {
    /// Moves things to this archive, and not to the one that the app was built with.
    pub fn archive(mut self, archive: impl ArchiveStore) -> Self {
        self.archive = Some(Arc::new(archive));
        self
    }

    /// Counts what [`run`](Self::run) would do now, and changes nothing.
    ///
    /// # Errors
    /// [`RetentionError::UnknownFlow`], [`RetentionError::UnknownPin`], or the store fails.
    pub async fn rehearse(self) -> Result<RetentionReport, RetentionError> {
        self.check().await?;
        pass::Pass::new(self, true).go().await
    }

    /// Does it.
    ///
    /// # Errors
    /// See [`RetentionError`].
    pub async fn run(self) -> Result<RetentionReport, RetentionError> {
        self.check().await?;
        pass::Pass::new(self, false).go().await
    }

    async fn check(&self) -> Result<(), RetentionError> {
        for flow in self.policy.flows.keys().filter(|flow| self.app.registry().flow(flow).is_none()) {
            let filter = ListFilter { flow: Some(flow.clone()), limit: 1, ..ListFilter::default() };
            if self.app.list(&filter).await?.is_empty() {
                return Err(RetentionError::UnknownFlow { flow: flow.clone() });
            }
        }
        for Pinned::Execution(execution) | Pinned::Tree(execution) in &self.policy.pins {
            if self.app.store().get(execution).await?.is_none() {
                return Err(RetentionError::UnknownPin { execution: execution.clone() });
            }
        }
        Ok(())
    }
}
