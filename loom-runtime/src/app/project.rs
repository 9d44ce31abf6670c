//! Read models of one execution, folded when they are asked for.
//! Not the truth: what is kept of them shortens the next call, and is thrown away when it does not fit.

use futures_util::future::BoxFuture;
use kernel::{Envelope, ExecutionId, InvalidPayload, Payload, Record, Snapshot};
use serde::{Deserialize, Serialize};

use super::{App, answer::listed, folded};
use crate::{Fold, FoldError, Projection, ProjectionDescriptor, ports::StoreError, recorded::encoded};

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

/// A fold as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct Kept<P: Projection> {
    version: u32,
    fingerprint: u64,
    next: u64,
    fold: Fold<P>,
}

impl<P: Projection> Kept<P> {
    fn new() -> Self {
        let ProjectionDescriptor { version, fingerprint, .. } = *P::DESCRIPTOR;
        Self { version, fingerprint, next: 0, fold: Fold::new() }
    }

    /// One that other code has folded is none, and not bad either: that code may run beside this.
    fn read(text: &str) -> Option<Self> {
        let ProjectionDescriptor { version, fingerprint, .. } = *P::DESCRIPTOR;
        let kept: Self = serde_json::from_str(text).ok()?;
        (kept.version == version && kept.fingerprint == fingerprint).then_some(kept)
    }

    fn take(&mut self, page: &[Envelope]) -> Result<(), FoldError> {
        page.iter().try_for_each(|envelope| self.fold.apply(envelope))?;
        self.next = page.last().map_or(self.next, |last| last.sequence + 1);
        Ok(())
    }
}

impl App {
    /// The state of the projection `P` after all events that an execution has now.
    ///
    /// That of a long log is kept as a snapshot, and folded from there on the next time, if snapshots are on
    /// ([`WorkerOptions::snapshot_every`](crate::WorkerOptions)): once for every 1,000 events that a call has folded.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub async fn project<P: Projection>(&self, id: &ExecutionId) -> Result<P, ProjectError> {
        let (store, of) = (&*self.engine.store, format!("projection:{}", P::DESCRIPTOR.name));
        if folded::is_long(store, id, u64::MAX).await?
            && let Some(kept) = self.kept::<P>(id, &of).await?
        {
            let at = kept.next;
            if let Ok(state) = self.fold_on(id, &of, kept).await {
                return Ok(state);
            }
            // The snapshot or the log is at fault. If it is the log, this says so.
            let state = self.fold_on(id, &of, Kept::new()).await?;
            folded::mark(store, id, &of, at).await;
            return Ok(state);
        }
        self.fold_on(id, &of, Kept::new()).await
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
        (known.project)(self, id).await
    }

    async fn kept<P: Projection>(&self, id: &ExecutionId, of: &str) -> Result<Option<Kept<P>>, StoreError> {
        let restore = |snapshot: &Snapshot, last: &Record| {
            let kept = Kept::read(&snapshot.restore_other(last)?);
            Ok(kept.filter(|kept| kept.next == snapshot.sequence))
        };
        let newest = folded::newest_of(&*self.engine.store, id, of, u64::MAX, restore).await?;
        Ok(newest.flatten())
    }

    async fn fold_on<P: Projection>(
        &self,
        id: &ExecutionId,
        of: &str,
        mut kept: Kept<P>,
    ) -> Result<P, ProjectError> {
        let (from, mut last) = (kept.next, None);
        loop {
            let page = self.log(id, kept.next, PAGE).await?;
            kept.take(&page)?;
            match page.into_iter().next_back() {
                Some(newest) => last = Some(newest),
                None => break,
            }
        }
        if let Some(last) = last.filter(|last| last.sequence >= from + PAGE as u64) {
            match Snapshot::of_other(of, &kept, &last) {
                Ok(snapshot) => self.engine.keep_snapshot(Some(snapshot)),
                Err(error) => tracing::warn!(execution = %id, of, %error, "no snapshot taken"),
            }
        }
        Ok(kept.fold.into_state())
    }
}

/// What [`ProjectionDescriptor::project`] is for `P`.
pub fn project_as_json<'a, P: Projection>(
    app: &'a App,
    id: &'a ExecutionId,
) -> BoxFuture<'a, Result<Payload, ProjectError>> {
    Box::pin(async move {
        let state = app.project::<P>(id).await?;
        let projection = P::DESCRIPTOR.name;
        encoded(&state).map_err(|reason| ProjectError::Unserializable { projection, reason })
    })
}
