//! A typed handle to one execution.
//! Not its owner: any number of handles, in any process, may watch one execution.

use std::{marker::PhantomData, time::Duration};

use kernel::{Envelope, ExecutionId, Outcome, ParkReport, State, Status};
use serde::Serialize;

use super::{AnswerError, App, ControlError, Events};
use crate::{Flow, failure, ports::StoreError, recorded::decoded};

/// One execution of the flow `F`, in whatever process it runs.
pub struct Handle<F> {
    app: App,
    id: ExecutionId,
    flow: PhantomData<fn() -> F>,
}

/// Why there is no output.
#[derive(Debug, thiserror::Error)]
pub enum ExecutionError<E> {
    /// The flow returned this error.
    #[error("the flow failed")]
    Failed(E),
    /// Somebody cancelled it.
    #[error("cancelled by {by}: {reason}")]
    Cancelled {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
    /// A fault in code parked it. It goes on when that is mended; ask again then.
    #[error("parked, {0}")]
    Parked(Box<ParkReport>),
    /// What is recorded no longer has the type that this program expects.
    #[error("the recorded outcome does not read as {ty}: {reason}")]
    Undecodable {
        /// The type.
        ty: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// The store failed, or there is no such execution.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl<F> Clone for Handle<F> {
    fn clone(&self) -> Self {
        Self::new(self.app.clone(), self.id.clone())
    }
}

impl<F> Handle<F> {
    pub(super) fn new(app: App, id: ExecutionId) -> Self {
        Self { app, id, flow: PhantomData }
    }

    pub(super) fn app(&self) -> &App {
        &self.app
    }

    /// The execution's id.
    pub fn id(&self) -> &ExecutionId {
        &self.id
    }

    /// Where it stands.
    ///
    /// # Errors
    /// There is no such execution, or the store fails.
    pub async fn status(&self) -> Result<Status, StoreError> {
        Ok(self.app.row(&self.id).await?.status)
    }

    /// Its folded state.
    ///
    /// # Errors
    /// As for [`App::log`].
    pub async fn state(&self) -> Result<State, StoreError> {
        self.app.state(&self.id, None).await
    }

    /// Its events from sequence `from` on, as they come, until it has ended.
    pub fn events(&self, from: u64) -> Events {
        self.app.events(&self.id, from)
    }

    /// Waits until it is in one of these statuses, or has ended; answers which.
    ///
    /// # Errors
    /// There is no such execution, or the store fails.
    pub async fn until(&self, statuses: &[Status]) -> Result<Status, StoreError> {
        self.app.until(&self.id, statuses).await
    }

    /// Answers one of its gates, by the gate's frame: `manager`, or `manager#3` in a loop.
    ///
    /// # Errors
    /// See [`AnswerError`].
    pub async fn resume<T: Serialize + ?Sized>(
        &self,
        gate: &str,
        answer: &T,
        by: &str,
    ) -> Result<(), AnswerError> {
        let answer = kernel::Payload::encode(answer).map_err(|e| AnswerError::Invalid { reason: e.0 })?;
        self.app.resume(&format!("{}/{gate}", self.id).parse()?, answer, by).await
    }

    /// Cancels it.
    ///
    /// # Errors
    /// See [`ControlError`].
    pub async fn cancel(&self, reason: &str, by: &str) -> Result<(), ControlError> {
        self.app.cancel(&self.id, reason, by).await
    }
}

impl<F: Flow> Handle<F> {
    /// Waits until it has ended, for as long as it takes, and gives what the flow returned.
    ///
    /// # Errors
    /// See [`ExecutionError`]. A parked execution is an error here, so that nobody waits unknowingly.
    pub async fn result(&self) -> Result<F::Output, ExecutionError<F::Error>> {
        let undecodable = |ty, e: kernel::InvalidPayload| ExecutionError::Undecodable { ty, reason: e.0 };
        match self.app.outcome(&self.id).await? {
            Ended::Outcome(Outcome::Completed(output)) => {
                decoded(&output).map_err(|e| undecodable(std::any::type_name::<F::Output>(), e))
            }
            Ended::Outcome(Outcome::Failed(failed)) => Err(match failure::rebuilt(failed) {
                Ok(error) => ExecutionError::Failed(error),
                Err(reason) => undecodable(std::any::type_name::<F::Error>(), reason),
            }),
            Ended::Outcome(Outcome::Cancelled { reason, by }) => {
                Err(ExecutionError::Cancelled { reason, by })
            }
            Ended::Parked(report) => Err(ExecutionError::Parked(report)),
        }
    }
}

/// How an execution came to rest.
pub(crate) enum Ended {
    Outcome(Outcome),
    Parked(Box<ParkReport>),
}

/// How often another process's execution is looked at: soon at first, then ever less often.
pub(super) fn back_off(wait: Duration) -> Duration {
    (wait * 2).min(Duration::from_millis(250))
}

/// What the last event says of how it ended.
pub(super) fn ended(last: Option<&Envelope>) -> Option<Ended> {
    match &last?.event {
        kernel::Event::ExecutionParked(e) => Some(Ended::Parked(Box::new(e.report.clone()))),
        other => other.ends().map(Ended::Outcome),
    }
}
