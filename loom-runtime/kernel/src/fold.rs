//! The fold: the state of an execution is what its events say, and nothing else.
//! Not the replay: no user code runs here.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{
    Cancelled, Delivery, Digest, Ending, Envelope, Event, ExecutionId, Failed, Fingerprints, ForkPoint,
    Forked, FrameId, OnClose, Parent, ParkReport, Payload, Timestamp,
};

/// Where an execution stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Somebody runs it, or is about to.
    #[default]
    Running,
    /// It waits; no process holds it.
    Suspended,
    /// A fault in code stopped it.
    Parked,
    /// The flow returned a value.
    Completed,
    /// The flow returned an error.
    Failed,
    /// Somebody cancelled it.
    Cancelled,
}

impl Status {
    /// Every status.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Suspended, Self::Parked, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether it has ended, and its log with it.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The status in one word, as stores and people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Suspended => "suspended",
            Self::Parked => "parked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// For a sentence, "has already …".
    pub const fn past(self) -> &'static str {
        match self {
            Self::Cancelled => "been cancelled",
            other => other.name(),
        }
    }

    /// The status with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The folded state of an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The flow's name; empty before the first event.
    pub flow: String,
    /// Where it stands.
    pub status: Status,
    /// How many events the log has: the sequence of the next one.
    pub next: u64,
    /// Which run this is, from 0: they are counted by `CONTINUED_AS_NEW`.
    pub run: u64,
    /// The sequence of the run's first event: what came before is not part of this state.
    pub base: u64,
    /// The flow's input, in this run.
    pub input: Payload,
    /// The code that runs it.
    pub code: Fingerprints,
    /// Where its uuids and random numbers come from, in this run.
    #[serde(skip)]
    pub seed: Digest,
    /// Who started it, and waits for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Who else waits for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watchers: Vec<Parent>,
    /// Where it was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ForkPoint>,
    /// What came with the fork that this run begins with, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Box<Forked>>,
    /// Set once it is to stop, while the flow tidies up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel: Option<Cancelled>,
    /// Set once it is decided how the run ends, until it has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<Box<Ending>>,
    /// Messages that nobody took, in this run.
    pub dead_letters: u64,
    /// When the run started.
    pub started_at: Timestamp,
    /// When the last event was recorded.
    pub updated_at: Timestamp,
    /// Its frames, in order of their ids.
    pub frames: BTreeMap<FrameId, Frame>,
    /// What it returned, once it has ended.
    pub outcome: Option<Outcome>,
    /// Why it is parked, while it is.
    pub parked: Option<ParkReport>,
}

/// How something ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With a value.
    Completed(Payload),
    /// With a failure.
    Failed(Failed),
    /// It was cancelled.
    Cancelled {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
}

/// The state of one frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Frame {
    /// What it is.
    pub kind: FrameKind,
    /// Where it stands.
    pub status: FrameStatus,
    /// The last started attempt; 0 for what has no attempts.
    pub attempt: u32,
    /// How many of its attempts were never made: they do not count.
    #[serde(default, skip_serializing_if = "is_none")]
    pub not_made: u32,
    /// Its input, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::payload::present")]
    pub input: Option<Payload>,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// A due instant: a timer's, a gate's expiry, a retry's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
    /// Why nobody knows whether its last attempt happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doubt: Option<String>,
    /// Whether it was left, open as it is: the run comes to its end without it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left: bool,
    /// Who answered, or gave a verdict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The event that opened it.
    pub opened: u64,
    /// The event that settled it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<u64>,
}

/// What a frame is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum FrameKind {
    /// A step.
    Step {
        /// Its registered name.
        step: String,
        /// The digest of its input.
        digest: Digest,
        /// Its delivery mode.
        delivery: Delivery,
    },
    /// A gate.
    Gate {
        /// Its declared name.
        gate: String,
    },
    /// A timer.
    Timer,
    /// A decision.
    Decision,
    /// A domain event.
    Domain {
        /// Its declared name.
        name: String,
    },
    /// A wait for a message.
    Message {
        /// The topic.
        topic: String,
    },
    /// A message to another execution.
    Sent {
        /// To whom.
        to: ExecutionId,
        /// The topic.
        topic: String,
    },
    /// The reply to an update.
    Reply,
    /// A child execution.
    Child {
        /// Its id.
        child: ExecutionId,
        /// Its flow.
        flow: String,
        /// The digest of its input.
        digest: Digest,
        /// The version of its input's shape.
        #[serde(default = "crate::event::first", skip_serializing_if = "crate::event::is_first")]
        version: u32,
        /// What becomes of it when its parent ends.
        on_close: OnClose,
        /// Whether it is another execution's child, or nobody's, and this one only waits for it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        shared: bool,
    },
    /// A marker of changed code.
    Change,
}

/// Where a frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameStatus {
    /// Started, not settled.
    Open,
    /// Failed, to be tried again at its due instant.
    BackingOff,
    /// It ended and nobody knows how.
    InDoubt,
    /// It has an outcome.
    Settled,
    /// The flow dropped it.
    Abandoned,
}

/// An event that contradicts those before it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {sequence} of `{execution}` does not follow from those before it: {reason}")]
pub struct UnfoldableEvent {
    /// Whose log.
    pub execution: ExecutionId,
    /// The position.
    pub sequence: u64,
    /// What is wrong.
    pub reason: String,
}

impl State {
    /// The state after `events`.
    ///
    /// # Errors
    /// See [`State::apply`].
    pub fn of<'a>(events: impl IntoIterator<Item = &'a Envelope>) -> Result<Self, UnfoldableEvent> {
        let mut state = Self::default();
        events.into_iter().try_for_each(|event| state.apply(event))?;
        Ok(state)
    }

    /// The children that the end of the run waits for, by their frames.
    pub fn awaited(&self) -> impl Iterator<Item = (&FrameId, &ExecutionId)> {
        let waiting = self.ending.iter().flat_map(|ending| &ending.waiting);
        waiting.filter_map(|id| match &self.frames.get(id)?.kind {
            FrameKind::Child { child, .. } => Some((id, child)),
            _ => None,
        })
    }

    /// Folds one more event in.
    ///
    /// # Errors
    /// [`UnfoldableEvent`]: the sequence has a gap, the log starts with something else than a start, goes on after
    /// its end, or an event is about a frame that was never opened. The state is unchanged then.
    pub fn apply(&mut self, envelope: &Envelope) -> Result<(), UnfoldableEvent> {
        let wrong = |reason: String| UnfoldableEvent {
            execution: envelope.execution.clone(),
            sequence: envelope.sequence,
            reason,
        };
        let is_empty = self.next == 0 && self.flow.is_empty();
        // A log may be read from the start of any run.
        if is_empty && let Event::ContinuedAsNew(_) = envelope.event {
            self.next = envelope.sequence;
        }
        if envelope.sequence != self.next {
            return Err(wrong(format!("the next sequence is {}", self.next)));
        }
        let starts = match envelope.event {
            Event::ExecutionStarted(_) => true,
            Event::ContinuedAsNew(_) => is_empty,
            _ => false,
        };
        if is_empty != starts {
            return Err(wrong("EXECUTION_STARTED comes first, and only once".into()));
        }
        if self.status.is_terminal() {
            return Err(wrong(format!("the execution has already {}", self.status.past())));
        }
        self.fold(envelope).map_err(wrong)?;
        self.next += 1;
        self.updated_at = envelope.at;
        Ok(())
    }

    fn fold(&mut self, envelope: &Envelope) -> Result<(), String> {
        let sequence = envelope.sequence;
        match &envelope.event {
            Event::ExecutionStarted(e) => {
                self.flow.clone_from(&e.flow);
                self.input = e.input.clone();
                (self.code, self.seed) = (e.code, e.seed);
                self.parent.clone_from(&e.parent);
                self.started_at = envelope.at;
            }
            Event::ContinuedAsNew(e) => {
                *self = Self {
                    flow: e.flow.clone(),
                    next: self.next,
                    run: e.run,
                    base: sequence,
                    input: e.input.clone(),
                    code: e.code,
                    seed: e.seed,
                    parent: e.parent.clone(),
                    watchers: e.watchers.clone(),
                    origin: e.origin.clone(),
                    started_at: envelope.at,
                    ..Self::default()
                };
            }
            Event::ExecutionForked(e) => {
                for id in e.children.keys().chain(e.adopted.keys()) {
                    if !matches!(self.frame(id)?.kind, FrameKind::Child { .. }) {
                        return Err(format!("frame `{id}` is not a child"));
                    }
                }
                for (id, frame) in &mut self.frames {
                    if std::mem::take(&mut frame.left) {
                        frame.outcome = None; // the branch goes on with it
                    }
                    let FrameKind::Child { child, on_close, shared, .. } = &mut frame.kind else { continue };
                    *shared = !e.children.contains_key(id);
                    match e.children.get(id).or_else(|| e.adopted.get(id)) {
                        Some(own) => child.clone_from(own),
                        None => *on_close = OnClose::Abandon, // the origin's, not to be cancelled from here
                    }
                }
                self.origin = Some(e.from.clone());
                self.forked = Some(Box::new(e.clone()));
                // What others waited for is the origin's, not this branch's.
                (self.parent, self.watchers) = (None, Vec::new());
                (self.status, self.parked) = (Status::Running, None);
                if let Some(ending) = &mut self.ending {
                    ending.waiting.clear(); // the origin's children
                }
                // A cancel stays: the flow was told, here as there, and cannot be told otherwise.
                self.seed = e.seed.unwrap_or(self.seed);
            }
            Event::WatchAdded(e) => self.watchers.push(e.clone()),
            Event::CancelRequested(e) => self.cancel = Some(e.clone()),
            Event::ExecutionEnding(e) => {
                let is_child = |id: &&FrameId| {
                    self.frames.get(*id).is_some_and(|frame| matches!(frame.kind, FrameKind::Child { .. }))
                };
                if let Some(id) = e.waiting.iter().find(|id| !is_child(id)) {
                    return Err(format!("frame `{id}` is not a child"));
                }
                self.ending = Some(Box::new(e.clone()));
            }
            Event::ExecutionSuspended(_) => self.status = Status::Suspended,
            Event::ExecutionResumed(_) => {
                self.status = Status::Running;
                self.parked = None;
            }
            Event::ExecutionMigrated(e) => self.code = e.to,
            Event::ExecutionParked(e) => {
                self.status = Status::Parked;
                self.parked = Some(e.report.clone());
            }
            Event::ExecutionCompleted(e) => self.end(Status::Completed, Outcome::Completed(e.output.clone())),
            Event::ExecutionFailed(e) => self.end(Status::Failed, Outcome::Failed(e.failure.clone())),
            Event::ExecutionCancelled(e) => {
                self.end(Status::Cancelled, Outcome::Cancelled { reason: e.reason.clone(), by: e.by.clone() })
            }
            Event::StepStarted(e) if e.attempt == 1 => {
                let (step, digest, delivery) = (e.step.clone(), e.digest, e.delivery);
                let mut frame = Frame::new(FrameKind::Step { step, digest, delivery }, sequence);
                (frame.attempt, frame.input) = (1, e.input.clone());
                self.open(&e.frame, frame)?;
            }
            Event::StepStarted(e) => {
                let frame = self.unsettled(&e.frame)?;
                (frame.status, frame.attempt) = (FrameStatus::Open, e.attempt);
                (frame.due, frame.doubt, frame.left) = (None, None, false);
                if let Some(input) = &e.input {
                    frame.input = Some(input.clone()); // the call was refused before
                }
            }
            Event::StepCompleted(e) => {
                let frame = self.settle(&e.frame, sequence, Outcome::Completed(e.output.clone()))?;
                frame.by.clone_from(&e.by);
            }
            Event::StepFailed(e) => match e.retry_at {
                Some(due) => {
                    let frame = self.unsettled(&e.frame)?;
                    (frame.status, frame.due) = (FrameStatus::BackingOff, Some(due));
                    frame.not_made += u32::from(e.not_made);
                }
                None => {
                    self.settle(&e.frame, sequence, Outcome::Failed(e.failure.clone()))?;
                }
            },
            Event::EffectIndoubt(e) => {
                let frame = self.frame(&e.frame)?;
                match frame.status {
                    FrameStatus::Settled => return Err(format!("frame `{}` was settled before", e.frame)),
                    FrameStatus::Abandoned => {} // recorded and listed, but nobody waits for it
                    _ => frame.status = FrameStatus::InDoubt,
                }
                frame.doubt = Some(e.reason.clone());
            }
            Event::StepAbandoned(e) => {
                let frame = self.unsettled(&e.frame)?;
                (frame.status, frame.settled, frame.due) = (FrameStatus::Abandoned, Some(sequence), None);
            }
            Event::DecisionRecorded(e) => {
                self.note(&e.frame, FrameKind::Decision, sequence, e.value.clone())?;
            }
            Event::TimerSet(e) => {
                let mut frame = Frame::new(FrameKind::Timer, sequence);
                frame.due = Some(e.fire_at);
                self.open(&e.frame, frame)?;
            }
            Event::TimerFired(e) | Event::GateExpired(e) => {
                self.settle(&e.frame, sequence, Outcome::Completed(Payload::null()))?;
            }
            Event::GateOpened(e) => {
                let mut frame = Frame::new(FrameKind::Gate { gate: e.gate.clone() }, sequence);
                frame.due = e.expires_at;
                self.open(&e.frame, frame)?;
            }
            Event::GateAnswered(e) => {
                let frame = self.settle(&e.frame, sequence, Outcome::Completed(e.answer.clone()))?;
                frame.by = Some(e.by.clone());
            }
            Event::Domain(e) => {
                let kind = FrameKind::Domain { name: e.name.clone() };
                self.note(&e.frame, kind, sequence, e.data.clone())?;
            }
            Event::MessageAwaited(e) => {
                let frame = Frame::new(FrameKind::Message { topic: e.topic.clone() }, sequence);
                self.open(&e.frame, frame)?;
            }
            Event::MessageReceived(e) => {
                let outcome = Outcome::Completed(e.message.body.clone());
                self.settle(&e.frame, sequence, outcome)?.by = Some(e.message.by.clone());
            }
            Event::MessageDeadLettered(_) => self.dead_letters += 1,
            Event::MessageSent(e) => {
                let kind = FrameKind::Sent { to: e.to.clone(), topic: e.topic.clone() };
                self.note(&e.frame, kind, sequence, e.body.clone())?;
            }
            Event::UpdateAnswered(e) => {
                let outcome = match &e.reply {
                    crate::Reply::Accepted(result) => result.clone(),
                    crate::Reply::Rejected(reason) => Payload::from_value(&reason.as_str().into()),
                };
                self.note(&e.frame, FrameKind::Reply, sequence, outcome)?;
            }
            Event::ChangeMarked(e) => {
                self.note(&e.frame.marker(), FrameKind::Change, sequence, Payload::null())?
            }
            Event::ChildStarted(e) => {
                let (child, flow) = (e.child.clone(), e.flow.clone());
                let (digest, version, on_close, shared) = (e.digest, e.input_version, e.on_close, false);
                let kind = FrameKind::Child { child, flow, digest, version, on_close, shared };
                let mut frame = Frame::new(kind, sequence);
                frame.input = Some(e.input.clone());
                self.open(&e.frame, frame)?;
            }
            Event::ChildSettled(e) => {
                self.settle(&e.frame, sequence, e.outcome.clone())?;
            }
            Event::OutcomeDiscarded(e) => {
                let frame = self.frame(&e.frame)?;
                if frame.outcome.is_none() {
                    frame.outcome.clone_from(&e.outcome);
                }
                frame.left = frame.status == FrameStatus::Open;
                if let Some(ending) = &mut self.ending {
                    ending.waiting.remove(&e.frame);
                }
            }
            // Its frame fails next; this says that it was a refusal.
            Event::EffectDenied(e) => drop(self.unsettled(&e.frame)?),
            Event::Reserved(..) => {}
        }
        Ok(())
    }

    fn end(&mut self, status: Status, outcome: Outcome) {
        (self.status, self.outcome, self.parked, self.ending) = (status, Some(outcome), None, None);
        // Nobody waits for them any more: one that was left, one whose last attempt has failed or was not made.
        let over = |frame: &&mut Frame| frame.left || frame.status == FrameStatus::BackingOff;
        for frame in self.frames.values_mut().filter(over) {
            (frame.status, frame.settled) = (FrameStatus::Abandoned, Some(self.next));
            (frame.due, frame.left) = (None, false);
        }
    }

    fn open(&mut self, id: &FrameId, frame: Frame) -> Result<(), String> {
        match self.frames.insert(id.clone(), frame) {
            None => Ok(()),
            Some(earlier) => {
                self.frames.insert(id.clone(), earlier);
                Err(format!("frame `{id}` was opened before"))
            }
        }
    }

    /// A frame that is settled as soon as it is opened.
    fn note(&mut self, id: &FrameId, kind: FrameKind, sequence: u64, value: Payload) -> Result<(), String> {
        let mut frame = Frame::new(kind, sequence);
        frame.settle(sequence, Outcome::Completed(value));
        self.open(id, frame)
    }

    fn frame(&mut self, id: &FrameId) -> Result<&mut Frame, String> {
        self.frames.get_mut(id).ok_or_else(|| format!("frame `{id}` was never opened"))
    }

    fn unsettled(&mut self, id: &FrameId) -> Result<&mut Frame, String> {
        let frame = self.frame(id)?;
        match frame.status {
            FrameStatus::Settled | FrameStatus::Abandoned => Err(format!("frame `{id}` was settled before")),
            _ => Ok(frame),
        }
    }

    fn settle(&mut self, id: &FrameId, sequence: u64, outcome: Outcome) -> Result<&mut Frame, String> {
        let frame = self.unsettled(id)?;
        frame.settle(sequence, outcome);
        Ok(frame)
    }
}

impl Frame {
    fn new(kind: FrameKind, opened: u64) -> Self {
        let (status, attempt) = (FrameStatus::Open, 0);
        Self {
            kind,
            status,
            attempt,
            not_made: 0,
            input: None,
            outcome: None,
            due: None,
            doubt: None,
            left: false,
            by: None,
            opened,
            settled: None,
        }
    }

    fn settle(&mut self, sequence: u64, outcome: Outcome) {
        (self.status, self.outcome) = (FrameStatus::Settled, Some(outcome));
        (self.settled, self.due, self.doubt, self.left) = (Some(sequence), None, None, false);
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
const fn is_none(count: &u32) -> bool {
    *count == 0
}
