//! Read models of one execution, folded when they are asked for.
//! Not kept anywhere: each call reads the log from its beginning.

use kernel::{Envelope, ExecutionId, InvalidPayload, Payload};

use super::{App, answer::listed};
use crate::{Fold, FoldError, Projection, ports::StoreError};

/// How many events are read at a time.
const PAGE: usize = 1_000;

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// An event that the projection folds cannot be read.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// The state has no JSON.
    #[error("the state of projection `{projection}` cannot be written as JSON: {reason}")]
    Unserializable {
        /// The projection.
        projection: &'static str,
        /// What is wrong.
        reason: InvalidPayload,
    },
    /// This program has no such projection.
    #[error("this program has no projection `{projection}`; it has: {known}")]
    Unknown {
        /// The name asked for.
        projection: String,
        /// The names that there are.
        known: String,
    },
    /// The store failed, or there is no such execution.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// The state of the projection `P` after all events that an execution has now.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub async fn project<P: Projection>(&self, id: &ExecutionId) -> Result<P, ProjectError> {
        let mut fold = Fold::<P>::new();
        self.fold(id, |envelope| fold.apply(envelope)).await?;
        Ok(fold.into_state())
    }

    /// The same as JSON, by the projection's name.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub async fn project_dynamic(&self, id: &ExecutionId, projection: &str) -> Result<Payload, ProjectError> {
        let Some(known) = self.registry().projection(projection) else {
            let known = listed(self.registry().projections().map(|known| known.name));
            return Err(ProjectError::Unknown { projection: projection.into(), known });
        };
        let mut fold = (known.begin)();
        self.fold(id, |envelope| fold.apply(envelope)).await?;
        let unserializable = |reason| ProjectError::Unserializable { projection: known.name, reason };
        fold.state().map_err(unserializable)
    }

    async fn fold(
        &self,
        id: &ExecutionId,
        mut apply: impl FnMut(&Envelope) -> Result<(), FoldError> + Send,
    ) -> Result<(), ProjectError> {
        let mut next = 0;
        loop {
            let page = self.log(id, next, PAGE).await?;
            page.iter().try_for_each(&mut apply)?;
            match page.last() {
                Some(last) => next = last.sequence + 1,
                None => return Ok(()),
            }
        }
    }
}
