//! Reading along while steps run: their chunks as a stream, each attempt superseded by the next.
//! Not the log, and not other processes: what is said here is heard here, or nowhere.

use std::{
    collections::{BTreeMap, VecDeque},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, Stream, StreamExt, future::BoxFuture, stream};
use kernel::{ExecutionId, FrameId};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::{App, Handle};
use crate::{
    Chunk, Streamed,
    ports::StoreError,
    worker::{Reader, Told, Turn},
};

/// What the steps of an execution say while they run, from now on. Ends when the execution has ended.
///
/// Readers that are more than 1,024 items behind lose the oldest, and are told how many.
pub struct StepStream(Pin<Box<dyn Stream<Item = Streamed> + Send>>);

impl Stream for StepStream {
    type Item = Streamed;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Streamed>> {
        self.0.poll_next_unpin(context)
    }
}

impl StepStream {
    /// The next item; `None` when the execution has ended and everything was heard.
    pub async fn next(&mut self) -> Option<Streamed> {
        self.0.next().await
    }
}

impl App {
    /// What the steps of an execution say while they run: [`StepCx::stream`](crate::StepCx::stream).
    ///
    /// Live: it begins now, and hears only steps that run in this process. Nothing of it is in the log. Somebody who
    /// comes late sees by the first index what is missing; whoever is to miss nothing reads before the start, which may
    /// be before the execution exists. [`Transcript`](crate::Transcript) makes text of it.
    ///
    /// ```no_run
    /// # async fn main_(app: loom_runtime::App) -> loom_runtime::Result<()> {
    /// use loom_runtime::Transcript;
    /// let mut live = app.stream(&"letter-7".parse()?);
    /// let mut transcript = Transcript::new();
    /// while let Some(item) = live.next().await {
    ///     transcript.fold(&item);
    /// }
    /// # Ok(()) }
    /// ```
    pub fn stream(&self, id: &ExecutionId) -> StepStream {
        struct Reading {
            reader: Reader,
            order: Order,
            over: Option<BoxFuture<'static, ()>>,
            heard: VecDeque<Streamed>,
        }
        impl Reading {
            /// Hears more; answers whether there may be more still.
            async fn hear(&mut self) -> bool {
                let told = match &mut self.over {
                    Some(over) => tokio::select! {
                        biased;
                        told = self.reader.told.recv() => told,
                        () = over => {
                            self.over = None;
                            return true;
                        }
                    },
                    None => match self.reader.told.try_recv() {
                        Ok(told) => Ok(told),
                        Err(TryRecvError::Lagged(missed)) => Err(RecvError::Lagged(missed)),
                        Err(TryRecvError::Empty | TryRecvError::Closed) => return false,
                    },
                };
                match told {
                    Ok(told) => self.order.take(told, &mut self.heard),
                    Err(RecvError::Lagged(missed)) => self.heard.push_back(Streamed::Lagged { missed }),
                    Err(RecvError::Closed) => return false,
                }
                true
            }
        }
        let (reader, over) = (self.engine.streams.read(id), over(self.clone(), id.clone()).boxed());
        let reading = Reading { reader, order: Order::default(), over: Some(over), heard: VecDeque::new() };
        StepStream(Box::pin(stream::unfold(reading, |mut reading| async move {
            loop {
                if let Some(item) = reading.heard.pop_front() {
                    return Some((item, reading));
                }
                if !reading.hear().await {
                    return None;
                }
            }
        })))
    }
}

impl<F> Handle<F> {
    /// What its steps say while they run, from now on, in this process: see [`App::stream`].
    pub fn stream(&self) -> StepStream {
        self.app().stream(self.id())
    }
}

/// Waits until an execution has ended, and its driver here, if it has one, has told everything.
async fn over(app: App, id: ExecutionId) {
    while let Err(error) = app.until(&id, &[]).await {
        if !matches!(error, StoreError::Unknown(_)) {
            tracing::warn!(execution = %id, %error, "whether it has ended is not known");
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    if let Some(mut driver) = app.engine.local(&id).map(|local| local.progress) {
        // An error says that the driver is gone.
        let _ = driver.wait_for(|progress| progress.left.is_some()).await;
    }
}

/// Which attempt speaks for each frame, as one reader has heard it.
#[derive(Default)]
struct Order(BTreeMap<FrameId, Turn>);

impl Order {
    /// What the reader is told. A frame that has not spoken to it is nothing to it.
    fn take(&mut self, told: Told, heard: &mut VecDeque<Streamed>) {
        match told {
            Told::Begun(frame, turn) => {
                if self.0.contains_key(&frame) {
                    self.turn(&frame, turn, heard);
                }
            }
            Told::Chunk { frame, turn, index, data } => {
                if self.turn(&frame, turn, heard) {
                    heard.push_back(Streamed::Chunk(Chunk { frame, attempt: turn.2, index, data }));
                }
            }
            Told::Ended(frame) => {
                if let Some((.., attempt)) = self.0.remove(&frame) {
                    heard.push_back(Streamed::Ended { frame, attempt });
                }
            }
        }
    }

    /// Whether it is this one's turn. The first word of a later one, or its begin, supersedes what was said.
    fn turn(&mut self, frame: &FrameId, turn: Turn, heard: &mut VecDeque<Streamed>) -> bool {
        match self.0.get(frame).copied() {
            Some(current) if current > turn => return false,
            Some(current) if current < turn => {
                heard.push_back(Streamed::Superseded { frame: frame.clone(), attempt: current.2 });
            }
            _ => {}
        }
        self.0.insert(frame.clone(), turn);
        true
    }
}

#[cfg(test)]
mod tests {
    use kernel::Payload;

    use super::*;

    /// B96: a turn is superseded once, by whatever comes of a later one, and is not heard any more.
    #[test]
    fn b96_dead_turns_are_silent() {
        let frame = || FrameId::parsed("draft");
        let says = |turn, index| Told::Chunk { frame: frame(), turn, index, data: Payload::null() };
        let (mut order, mut heard) = (Order::default(), VecDeque::new());
        let first = (1, 0, 1);
        for told in [
            Told::Begun(frame(), first), // silent so far
            says(first, 0),
            Told::Begun(frame(), (1, 0, 2)),
            says(first, 1),     // the dead attempt
            says((2, 0, 2), 0), // the same attempt, by another owner, whose begin was lost
            says((1, 0, 3), 0), // the dead owner
            says((2, 1, 1), 0), // another run
            Told::Ended(frame()),
            Told::Ended(frame()),
        ] {
            order.take(told, &mut heard);
        }
        let heard: Vec<_> = heard
            .iter()
            .map(|item| match item {
                Streamed::Chunk(chunk) => format!("{}.{}", chunk.attempt, chunk.index),
                Streamed::Superseded { attempt, .. } => format!("dead {attempt}"),
                Streamed::Ended { attempt, .. } => format!("end {attempt}"),
                Streamed::Lagged { .. } => "lagged".into(),
            })
            .collect();
        assert_eq!(heard, ["1.0", "dead 1", "dead 2", "2.0", "dead 2", "1.0", "end 1"]);
    }
}
