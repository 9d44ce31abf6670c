//! Watching executions: their events as a stream, and waits for a status.
//! In this process a driver tells; of other processes only the store knows, and is polled.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use kernel::{Envelope, ExecutionId, Status};
use tokio::sync::watch;

use super::{
    App,
    handle::{Ended, back_off, ended},
};
use crate::{
    ports::StoreError,
    worker::{Engine, Progress},
};

const FIRST_WAIT: Duration = Duration::from_millis(2);
const PAGE: usize = 256;

/// The events of an execution, in order and without gaps, as they become durable. Ends after the last event of an
/// ended execution, and after an error; only [`StoreError::Unavailable`] can be waited out: the next event is asked for
/// again then.
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

/// Waits between two looks at an execution.
struct Lookout {
    engine: Arc<Engine>,
    id: ExecutionId,
    wait: Duration,
    driver: Option<watch::Receiver<Progress>>,
}

impl Lookout {
    fn new(app: &App, id: &ExecutionId) -> Self {
        Self { engine: app.engine.clone(), id: id.clone(), wait: FIRST_WAIT, driver: None }
    }

    /// To be called before the store is read: what a driver here publishes from now on is news.
    fn begin(&mut self) {
        self.driver = self.engine.local(&self.id).map(|local| local.progress);
        if let Some(driver) = &mut self.driver {
            driver.mark_unchanged();
        }
    }

    /// Waits for news, or until it is time to look again: soon at first, then ever less often.
    async fn news(&mut self) {
        let changed = async {
            let told = match &mut self.driver {
                Some(driver) => driver.changed().await.is_ok(),
                None => false,
            };
            if !told {
                std::future::pending().await
            }
        };
        let _ = tokio::time::timeout(self.wait, changed).await;
        self.wait = back_off(self.wait);
    }
}

impl App {
    /// The events of an execution from sequence `from` on, as they come.
    pub fn events(&self, id: &ExecutionId, from: u64) -> Events {
        struct Tail {
            app: App,
            lookout: Lookout,
            next: u64,
            page: std::vec::IntoIter<Envelope>,
            done: bool,
            /// Whether the store could not be reached: it is given time.
            failed: bool,
        }
        impl Tail {
            /// Reads the next page, when there is one. Answers whether there may be more.
            async fn read(&mut self) -> Result<bool, StoreError> {
                self.lookout.begin();
                if std::mem::take(&mut self.failed) {
                    self.lookout.news().await;
                }
                let page = self.app.log(&self.lookout.id, self.next, PAGE).await?;
                if page.is_empty() {
                    let row = self.app.row(&self.lookout.id).await?;
                    let at_end = row.next <= self.next;
                    if at_end && !row.status.is_terminal() {
                        self.lookout.news().await;
                    }
                    return Ok(!(at_end && row.status.is_terminal()));
                }
                self.lookout.wait = FIRST_WAIT;
                self.page = page.into_iter();
                Ok(true)
            }
        }
        let (app, lookout, page) = (self.clone(), Lookout::new(self, id), Vec::new().into_iter());
        let tail = Tail { app, lookout, next: from, page, done: false, failed: false };
        Events(Box::pin(stream::unfold(tail, |mut tail| async move {
            loop {
                if let Some(envelope) = tail.page.next() {
                    tail.next = envelope.sequence + 1;
                    return Some((Ok(envelope), tail));
                }
                if tail.done {
                    return None;
                }
                match tail.read().await {
                    Ok(more) => tail.done = !more,
                    Err(error) => {
                        tail.failed = matches!(error, StoreError::Unavailable(_));
                        tail.done = !tail.failed;
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
        let mut lookout = Lookout::new(self, id);
        loop {
            lookout.begin();
            let status = self.row(id).await?.status;
            if status.is_terminal() || statuses.contains(&status) {
                return Ok(status);
            }
            lookout.news().await;
        }
    }

    /// Waits until the execution has ended or is parked.
    pub(super) async fn outcome(&self, id: &ExecutionId) -> Result<Ended, StoreError> {
        let mut lookout = Lookout::new(self, id);
        loop {
            lookout.begin();
            if let Some(driver) = &mut lookout.driver {
                // An error says that the driver is gone; what it published last still stands.
                let _ = driver.wait_for(|progress| progress.left.is_some()).await;
                if let Some(outcome) = driver.borrow().outcome.clone() {
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
                lookout.news().await;
            }
        }
    }
}
