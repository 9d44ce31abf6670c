//! From the bodies of running steps to whoever reads along in this process: one bounded channel an execution, there only
//! while somebody reads.
//! Not the readers' order of things: [`crate::app`] keeps that.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use kernel::{Event, ExecutionId, FrameId, Payload};
use serde::Serialize;
use tokio::sync::broadcast;

/// How many items wait for a slow reader before the oldest are lost.
const WAITING: usize = 1_024;

/// Which attempt, across owners and runs: a later one counts, whatever an earlier one still says.
pub(crate) type Turn = (u64, u64, u32);

/// What is told of a frame.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Begun(FrameId, Turn),
    Chunk { frame: FrameId, turn: Turn, index: u64, data: Payload },
    Ended(FrameId),
}

#[derive(Default)]
pub(crate) struct Streams {
    channels: Mutex<HashMap<ExecutionId, broadcast::Sender<Told>>>,
    /// How many executions are read along: nothing is locked while none is.
    read: AtomicUsize,
}

/// A place in one execution's channel.
pub(crate) struct Reader {
    streams: Arc<Streams>,
    execution: ExecutionId,
    pub(crate) told: broadcast::Receiver<Told>,
}

impl Streams {
    pub(crate) fn read(self: &Arc<Self>, execution: &ExecutionId) -> Reader {
        let mut channels = self.lock();
        let channel = channels.entry(execution.clone()).or_insert_with(|| broadcast::channel(WAITING).0);
        let told = channel.subscribe();
        self.read.store(channels.len(), Ordering::Release);
        Reader { streams: self.clone(), execution: execution.clone(), told }
    }

    fn is_read(&self, execution: &ExecutionId) -> bool {
        self.read.load(Ordering::Acquire) > 0 && self.lock().contains_key(execution)
    }

    fn tell(&self, execution: &ExecutionId, told: Told) {
        if let Some(channel) = self.lock().get(execution) {
            let _ = channel.send(told); // the last reader may just have left
        }
    }

    pub(super) fn begun(&self, execution: &ExecutionId, frame: &FrameId, turn: Turn) {
        if self.is_read(execution) {
            self.tell(execution, Told::Begun(frame.clone(), turn));
        }
    }

    /// Tells of the frames that these durable events end.
    pub(super) fn recorded<'a>(&self, execution: &ExecutionId, events: impl Iterator<Item = &'a Event>) {
        if !self.is_read(execution) {
            return;
        }
        for event in events {
            let frame = match event {
                Event::StepCompleted(e) => &e.frame,
                Event::StepFailed(e) if e.retry_at.is_none() => &e.frame,
                Event::StepAbandoned(e) => &e.frame,
                _ => continue,
            };
            self.tell(execution, Told::Ended(frame.clone()));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, broadcast::Sender<Told>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut channels = self.streams.lock();
        // This one still counts.
        if channels.get(&self.execution).is_some_and(|channel| channel.receiver_count() <= 1) {
            channels.remove(&self.execution);
        }
        self.streams.read.store(channels.len(), Ordering::Release);
    }
}

/// What one attempt says, as long as it runs.
pub(crate) struct Feed {
    streams: Arc<Streams>,
    execution: ExecutionId,
    frame: FrameId,
    turn: Turn,
    limit: usize,
    /// The index of the next chunk; none any more once the attempt has ended.
    next: Mutex<Option<u64>>,
}

impl Feed {
    pub(super) fn new(
        streams: &Arc<Streams>,
        execution: &ExecutionId,
        frame: &FrameId,
        turn: Turn,
        limit: usize,
    ) -> Arc<Self> {
        let (streams, execution, frame) = (streams.clone(), execution.clone(), frame.clone());
        Arc::new(Self { streams, execution, frame, turn, limit, next: Mutex::new(Some(0)) })
    }

    pub(crate) fn say<T: Serialize + ?Sized>(&self, chunk: &T) {
        let data = self.streams.is_read(&self.execution).then(|| Payload::encode(chunk));
        // Held while it is told, so that the order is that of the indices.
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(index) = *next else { return };
        *next = Some(index + 1);
        let (execution, frame) = (&self.execution, &self.frame);
        match data {
            None => {}
            Some(Err(reason)) => {
                tracing::error!(%execution, %frame, index, %reason, "a chunk cannot be written as JSON: it is lost");
            }
            Some(Ok(data)) if data.len() > self.limit => {
                let (size, limit) = (data.len(), self.limit);
                tracing::error!(%execution, %frame, index, size, limit, "a chunk is over the limit: it is lost");
            }
            Some(Ok(data)) => {
                let (frame, turn) = (frame.clone(), self.turn);
                self.streams.tell(execution, Told::Chunk { frame, turn, index, data });
            }
        }
    }

    /// Closes the feed when it is dropped, however the attempt ends: what a body left running says nothing more.
    pub(super) fn closing(self: &Arc<Self>) -> Closing {
        Closing(self.clone())
    }
}

pub(super) struct Closing(Arc<Feed>);

impl Drop for Closing {
    fn drop(&mut self) {
        *self.0.next.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
