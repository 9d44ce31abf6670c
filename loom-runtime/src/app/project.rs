//! Read models of one execution, folded when they are asked for.
//! Not kept anywhere: each call reads the log from its beginning.

use kernel::ExecutionId;

use super::App;
use crate::{Fold, FoldError, Projection, ports::StoreError};

/// How many events are read at a time.
const PAGE: usize = 1_000;

/// Why there is no state.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// An event that the projection folds cannot be read.
    #[error(transparent)]
    Fold(#[from] FoldError),
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
        let (mut fold, mut next) = (Fold::<P>::new(), 0);
        loop {
            let page = self.log(id, next, PAGE).await?;
            page.iter().try_for_each(|envelope| fold.apply(envelope))?;
            match page.last() {
                Some(last) => next = last.sequence + 1,
                None => return Ok(fold.into_state()),
            }
        }
    }
}
