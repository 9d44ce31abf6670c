//! The journal: sole sequencer and writer of one execution. The fold is synchronous, the durable write an
//! ordered tail behind it.
//! Not a store: batches leave as values, and come back as written or refused.

use crate::{
    Digest, Envelope, Event, ExecutionId, Meta, Post, State, Timestamp, UnfoldableEvent,
    planted::{Bug, planted},
};

/// One transition, to be appended atomically.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Recognises a retry of this very batch: no other batch, of any owner, has it.
    pub id: Digest,
    /// The sequence of the first event, and what the store must have as its next.
    pub first: u64,
    /// The events, dense.
    pub events: Vec<Envelope>,
    /// Positions of the inbox items that the log now holds.
    pub consumed: Vec<u64>,
    /// What other executions are told in the same transition.
    pub posts: Vec<Post>,
    /// Whether an outcome is among the events.
    pub progress: bool,
    /// Whether the last event closes: the owner lets go with it.
    pub closes: bool,
}

fn batch_id(execution: &ExecutionId, generation: u64, first: u64, nth: u64) -> Digest {
    let (generation, first) = if planted(Bug::IdFromCounter) { (0, 0) } else { (generation, first) };
    let numbers = [generation.to_le_bytes(), first.to_le_bytes(), nth.to_le_bytes()];
    Digest::of_parts(&[execution.as_str().as_bytes(), &numbers.concat()])
}

#[derive(Debug)]
pub(crate) struct Journal {
    execution: ExecutionId,
    /// Distinguishes the batches of this owner from those of earlier ones: its fence.
    generation: u64,
    state: State,
    durable: u64,
    tail: Vec<Envelope>,
    consumed: Vec<u64>,
    posts: Vec<Post>,
    progress: bool,
    batches: u64,
    in_flight: Option<Batch>,
    /// How many posts of the batch in flight belong to its closing event.
    last_posts: usize,
}

impl Journal {
    pub(crate) fn new(execution: ExecutionId, generation: u64) -> Self {
        Self {
            execution,
            generation,
            state: State::default(),
            durable: 0,
            tail: Vec::new(),
            consumed: Vec::new(),
            posts: Vec::new(),
            progress: false,
            batches: 0,
            in_flight: None,
            last_posts: 0,
        }
    }

    pub(crate) fn execution(&self) -> &ExecutionId {
        &self.execution
    }

    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// How many events are on disk.
    pub(crate) fn durable(&self) -> u64 {
        self.durable
    }

    /// Takes an event that a store already holds.
    pub(crate) fn recorded(&mut self, envelope: &Envelope) -> Result<(), UnfoldableEvent> {
        self.state.apply(envelope)?;
        self.durable = self.state.next;
        Ok(())
    }

    /// Leaves an event of the store out that does not fold: only its place is taken.
    pub(crate) fn skip(&mut self, sequence: u64) {
        self.state.next = self.state.next.max(sequence + 1);
        self.durable = self.state.next;
    }

    /// Sequences an event and folds it. Instants never run backwards within a log, whatever the clock does.
    pub(crate) fn commit(&mut self, event: Event, now: Timestamp) -> Result<u64, UnfoldableEvent> {
        let envelope = self.envelope(event, now);
        self.state.apply(&envelope)?;
        let sequence = envelope.sequence;
        self.tail.push(envelope);
        Ok(sequence)
    }

    /// Notes who is behind the event committed last.
    pub(crate) fn attribute(&mut self, principal: String) {
        if let Some(last) = self.tail.last_mut() {
            last.meta.principal = Some(principal);
        }
    }

    /// The inbox item is in the log with the events committed so far.
    pub(crate) fn consume(&mut self, item: u64) {
        self.consumed.push(item);
    }

    /// Another execution is told with the events committed so far.
    pub(crate) fn post(&mut self, post: Post) {
        self.posts.push(post);
    }

    /// An outcome is among the events committed so far.
    pub(crate) fn progressed(&mut self) {
        self.progress = true;
    }

    pub(crate) fn has_tail(&self) -> bool {
        !self.tail.is_empty() || !self.consumed.is_empty() || !self.posts.is_empty()
    }

    pub(crate) fn is_writing(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Whether the batch in flight closes: nothing more is committed then.
    pub(crate) fn is_closing(&self) -> bool {
        self.in_flight.as_ref().is_some_and(|batch| batch.closes)
    }

    /// Everything that is not on its way yet, as one batch. A closing event is sequenced, but folded only once
    /// it is written: until then it can be taken back, and `last_posts` with it.
    pub(crate) fn take_batch(
        &mut self,
        closing: Option<Event>,
        last_posts: Vec<Post>,
        now: Timestamp,
    ) -> Batch {
        debug_assert!(self.in_flight.is_none(), "one batch at a time");
        let mut events = std::mem::take(&mut self.tail);
        let first = self.durable;
        let closes = closing.is_some();
        events.extend(closing.map(|event| self.envelope(event, now)));
        self.batches += 1;
        let id = batch_id(&self.execution, self.generation, first, self.batches);
        let (consumed, mut posts) = (std::mem::take(&mut self.consumed), std::mem::take(&mut self.posts));
        self.last_posts = last_posts.len();
        posts.extend(last_posts);
        let progress = std::mem::take(&mut self.progress);
        let batch = Batch { id, first, events, consumed, posts, progress, closes };
        self.in_flight = Some(batch.clone());
        batch
    }

    /// The batch in flight is durable. Answers whether it closed.
    pub(crate) fn written(&mut self) -> bool {
        let Some(batch) = self.in_flight.take() else { return false };
        if batch.closes
            && let Some(closing) = batch.events.last()
        {
            // It follows from the state: nothing is committed while it is on its way. And if it did not, it would
            // be on disk all the same.
            let _ = self.state.apply(closing);
        }
        self.durable = batch.first + batch.events.len() as u64;
        batch.closes
    }

    /// The batch in flight was refused as a whole, and its closing event is taken back.
    pub(crate) fn refused(&mut self) {
        let Some(mut batch) = self.in_flight.take() else { return };
        if batch.closes {
            batch.events.pop();
        }
        batch.posts.truncate(batch.posts.len() - std::mem::take(&mut self.last_posts));
        batch.events.append(&mut self.tail);
        batch.consumed.append(&mut self.consumed);
        batch.posts.append(&mut self.posts);
        (self.tail, self.consumed, self.posts) = (batch.events, batch.consumed, batch.posts);
        self.progress |= batch.progress;
    }

    fn envelope(&self, event: Event, now: Timestamp) -> Envelope {
        Envelope {
            execution: self.execution.clone(),
            sequence: self.state.next,
            at: now.max(self.state.updated_at),
            event,
            meta: Meta::default(),
        }
    }
}
