//! Watching executions: their events as a stream, and waits for a status.
//! In this process a driver tells; of other processes only the store knows, and is polled.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use kernel::{Envelope, ExecutionId, Status};

use super::{
    App,
    handle::{Ended, back_off, ended},
};
use crate::ports::StoreError;

const FIRST_WAIT: Duration = Duration::from_millis(2);
const PAGE: usize = 256;

/// The events of an execution, in order and without gaps, as they become durable. Ends after the last event of an
/// ended execution.
pub struct Events(Pin<Box<dyn Stream<Item = Result<Envelope, StoreError>> + Send>>);

impl Stream for Events {
    type Item = Result<Envelope, StoreError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

impl Events {
    /// The next event; `None` when the execution has ended and everything was seen.
    pub async fn next(&mut self) -> Option<Result<Envelope, StoreError>> {
        self.0.next().await
    }
}

impl App {
    /// The events of an execution from sequence `from` on, as they come.
    pub fn events(&self, id: &ExecutionId, from: u64) -> Events {
        struct Tail {
            app: App,
            id: ExecutionId,
            next: u64,
            page: std::vec::IntoIter<Envelope>,
            done: bool,
        }
        let tail =
            Tail { app: self.clone(), id: id.clone(), next: from, page: Vec::new().into_iter(), done: false };
        Events(Box::pin(stream::unfold(tail, |mut tail| async move {
            let mut wait = FIRST_WAIT;
            loop {
                if let Some(envelope) = tail.page.next() {
                    tail.next = envelope.sequence + 1;
                    return Some((Ok(envelope), tail));
                }
                if tail.done {
                    return None;
                }
                match tail.app.log(&tail.id, tail.next, PAGE).await {
                    Ok(page) if page.is_empty() => match tail.app.row(&tail.id).await {
                        Ok(row) if row.status.is_terminal() && row.next <= tail.next => return None,
                        Ok(row) if row.next > tail.next => {}
                        Ok(_) => {
                            tail.app.moved(&tail.id, wait).await;
                            wait = back_off(wait);
                        }
                        Err(error) => {
                            tail.done = true;
                            return Some((Err(error), tail));
                        }
                    },
                    Ok(page) => tail.page = page.into_iter(),
                    Err(error) => {
                        tail.done = true;
                        return Some((Err(error), tail));
                    }
                }
            }
        })))
    }

    /// Waits until an execution is in one of these statuses, or has ended; answers which.
    ///
    /// # Errors
    /// There is no such execution, or the store fails.
    pub async fn until(&self, id: &ExecutionId, statuses: &[Status]) -> Result<Status, StoreError> {
        let mut wait = FIRST_WAIT;
        loop {
            let status = self.row(id).await?.status;
            if status.is_terminal() || statuses.contains(&status) {
                return Ok(status);
            }
            self.moved(id, wait).await;
            wait = back_off(wait);
        }
    }

    /// Waits until the execution has ended or is parked.
    pub(super) async fn outcome(&self, id: &ExecutionId) -> Result<Ended, StoreError> {
        let mut wait = FIRST_WAIT;
        loop {
            if let Some(local) = self.engine.local(id) {
                let mut progress = local.progress;
                // An error says that the driver is gone; what it published last still stands.
                let _ = progress.wait_for(|progress| progress.left.is_some()).await;
                if let Some(outcome) = progress.borrow().outcome.clone() {
                    return Ok(Ended::Outcome(outcome));
                }
            }
            let row = self.row(id).await?;
            if row.status.is_terminal() || row.status == Status::Parked {
                let last = self.log(id, row.next.saturating_sub(1), 1).await?;
                if let Some(ended) = ended(last.first()) {
                    return Ok(ended);
                }
            }
            if self.engine.local(id).is_none() {
                self.moved(id, wait).await;
                wait = back_off(wait);
            }
        }
    }

    /// Waits until something may have changed, at most `wait`.
    async fn moved(&self, id: &ExecutionId, wait: Duration) {
        match self.engine.local(id) {
            Some(mut local) => {
                let changed = async {
                    if local.progress.changed().await.is_err() {
                        tokio::time::sleep(wait).await;
                    }
                };
                let _ = tokio::time::timeout(wait, changed).await;
            }
            None => tokio::time::sleep(wait).await,
        }
    }
}
