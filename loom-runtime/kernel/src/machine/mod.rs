//! The machine: drives one execution, sans I/O. It polls the flow, and nobody else does.
//! No clock, no task, no store: `offer` takes what happened, `next_command` says what to do, `state` tells.
//!
//! Outcomes are delivered one at a time, in log order, with one poll after each (and more while the flow wakes
//! itself), live and on replay alike. What a pass asked for becomes events only when the pass ended well.

mod again;
mod branch;
mod call;
mod closing;
mod cx;
mod ending;
mod exchange;
mod live;
mod pass;
mod poll;
mod replay;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    future::Future,
    pin::Pin,
    sync::atomic::Ordering,
    task::Waker,
};

pub use call::Call;
pub use cx::{Check, Cx, Due, Op, Request, Settled};
pub use pass::Alarm;

use crate::{
    Batch, Delivery, Digest, EffectError, Envelope, Event, ExecutionId, Failed, Fingerprints, FrameId,
    FrameKind, Message, Outcome, Parent, ParkReport, Payload, RetryClass, StartChild, State, Status,
    Timestamp, journal::Journal, planted::as_kept,
};

/// What a flow returns: its output, or its error.
pub type FlowReturn = Result<Payload, Failed>;

/// A flow that runs.
pub type FlowFuture = Pin<Box<dyn Future<Output = FlowReturn> + Send>>;

/// Makes the flow's future from its input: once for each run.
pub type Spawn = Box<dyn FnMut(Cx, Payload) -> FlowFuture + Send>;

/// What a machine is made for.
pub struct Config {
    /// The execution.
    pub execution: ExecutionId,
    /// The owner's fence: makes its batches its own.
    pub generation: u64,
    /// The code of this program.
    pub code: Fingerprints,
    /// The version of the flow's input that it writes.
    pub input_version: u32,
    /// How many events a run may have: beyond, the execution parks.
    pub history: u64,
    /// Rung when something that is not recorded touches the flow; answer with [`Input::Alarm`].
    pub alarm: Alarm,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum Input {
    /// The next event of the log. All of them come first, in order.
    Recorded(Envelope),
    /// Events of the log that cannot be read, in their stead. The flow is not run any more; what can be read of the rest
    /// tells who is to be told when the execution ends.
    Unreadable {
        /// The sequence of the first event after them.
        next: u64,
        /// What is wrong with them.
        report: ParkReport,
    },
    /// The log has no more events: go on from here.
    Live {
        /// Who goes on.
        worker: String,
        /// Why.
        reason: String,
    },
    /// An attempt of a step ended.
    Ended {
        /// The frame.
        frame: FrameId,
        /// The attempt.
        attempt: u32,
        /// How.
        end: AttemptEnd,
    },
    /// Time has passed: fire what is due.
    Tick,
    /// Somebody answered a gate. Kept until the gate opens, if it has not yet.
    Answer {
        /// The run that the answer is for, by the sequence of its first event.
        run: u64,
        /// The gate's frame.
        frame: FrameId,
        /// The answer.
        answer: Payload,
        /// By whom.
        by: String,
        /// The inbox item.
        item: u64,
    },
    /// Somebody cancels the execution.
    Cancel {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
        /// Whether the flow is dropped even if it would tidy up.
        force: bool,
        /// The inbox item.
        item: u64,
    },
    /// Somebody sends a message. Kept until a frame takes it.
    Message {
        /// The message.
        message: Message,
        /// The inbox item.
        item: u64,
    },
    /// A child has ended.
    ChildSettled {
        /// The frame that waits for it.
        frame: FrameId,
        /// The child.
        child: ExecutionId,
        /// How it ended.
        outcome: Outcome,
        /// The inbox item.
        item: u64,
    },
    /// A child could not be started, and never will be.
    NotStarted {
        /// The frame that asked for it.
        frame: FrameId,
        /// Why.
        error: EffectError,
    },
    /// Another execution waits for this one to end.
    Watch {
        /// Its frame.
        by: Parent,
        /// The inbox item.
        item: u64,
    },
    /// Somebody says how an in-doubt step ended.
    Verdict {
        /// The run that it is about, by the sequence of its first event; `None` for the one that there is.
        run: Option<u64>,
        /// The step's frame.
        frame: FrameId,
        /// How.
        verdict: Verdict,
        /// By whom.
        by: String,
        /// The inbox item.
        item: u64,
    },
    /// An inbox item that asks for nothing but another try.
    Noted {
        /// The inbox item.
        item: u64,
    },
    /// Nothing runs here: let go, if nothing does indeed.
    Suspend,
    /// The owner hands the execution back: attempts that were not handed out are noted as not made.
    HandBack,
    /// The batch in flight is durable.
    Written,
    /// The batch in flight was refused, because the inbox has moved. Offer its items next.
    Refused,
    /// The alarm rang.
    Alarm,
    /// The runtime found a fault in code. Before the log, it keeps the flow from being run: the log is only folded.
    Fault(ParkReport),
}

/// How an attempt of a step ended.
#[derive(Clone, Debug)]
pub enum AttemptEnd {
    /// It returned a value.
    Returned(Payload),
    /// It returned its own error.
    Failed {
        /// The error.
        failure: Failed,
        /// Whether another attempt may help.
        class: RetryClass,
    },
    /// The engine stopped it; another attempt may help.
    Stopped(EffectError),
    /// The engine refused it for good: its outcome is over a limit, say.
    Refused(EffectError),
    /// It panicked, and said this.
    Panicked(String),
    /// A fault in code kept it from running, or from telling its outcome: the execution parks.
    Fault(ParkReport),
}

/// How an in-doubt step ended, as a person found out.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It happened, with this result.
    Done(Payload),
    /// It did not happen: run it again.
    Again,
    /// Nobody will ever know: the step fails.
    GiveUp,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Command {
    /// Append this, then offer [`Input::Written`] or [`Input::Refused`].
    Append(Batch),
    /// Run an attempt of a step, then offer [`Input::Ended`]. Everything that must be durable before, is.
    Invoke(Invoke),
    /// Cancel an attempt: the flow waits for it no more. Its end is offered all the same, as [`Input::Ended`]: the
    /// execution does not end before. Where it parks and goes on later, a result that was returned all the same is the
    /// outcome of the step: it happened. So it is of an attempt that a hand-back stops. Any other end of theirs is not
    /// recorded, and the attempt is made again.
    Revoke {
        /// The frame.
        frame: FrameId,
        /// The attempt.
        attempt: u32,
    },
    /// Start a child, unless it exists; offer [`Input::NotStarted`] when that cannot be. What led to it is durable.
    StartChild(StartChild),
    /// Post [`Input::Watch`] to a child of another execution, once; if it has ended, offer [`Input::ChildSettled`] in its
    /// stead.
    WatchChild {
        /// The child.
        child: ExecutionId,
        /// Who waits for it.
        by: Parent,
    },
    /// The owner has let go: the closing event is durable. The machine is done.
    Closed(Status),
}

/// An attempt to run.
#[derive(Clone, Debug)]
pub struct Invoke {
    /// The frame.
    pub frame: FrameId,
    /// The attempt, from 1.
    pub attempt: u32,
    /// The step's registered name.
    pub step: String,
    /// Its input.
    pub input: Payload,
    /// Its delivery mode.
    pub delivery: Delivery,
    /// How long it may take, when the call says other than the step.
    pub timeout: Option<std::time::Duration>,
    /// Whether it goes on when nobody waits for it any more.
    pub detached: bool,
    /// The same for every attempt of this frame, different for every other frame and execution, also for one of the
    /// same id in another store.
    pub idempotency_key: Digest,
}

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It had its effect, or is kept until it has.
    Accepted,
    /// It came too late or twice: no effect. The text says why.
    Ignored(&'static str),
    /// Two different outcomes of one attempt: the first stands.
    Contradicts,
}

/// Drives one execution.
pub struct Machine {
    config: Config,
    cx: Cx,
    waker: Waker,
    spawn: Spawn,
    flow: Option<FlowFuture>,
    journal: Journal,
    phase: Phase,
    /// Attempts that run, or wait for the log to be durable up to a sequence before they may.
    active: BTreeMap<FrameId, Active>,
    /// Those that wait, by what for, and in the order in which they were asked for.
    waiting: BTreeMap<Wait, FrameId>,
    dues: BTreeSet<(Timestamp, FrameId)>,
    early: BTreeMap<FrameId, Early>,
    /// Attempts that were revoked and have not ended.
    leaving: BTreeMap<FrameId, u32>,
    /// Detached attempts that nobody waits for and that have not ended.
    strays: BTreeMap<FrameId, u32>,
    /// Children to be started, each once the log is durable up to a sequence.
    children: VecDeque<(u64, FrameId)>,
    /// Those that this owner has had started in this run.
    started: BTreeSet<FrameId>,
    post: exchange::PostOffice,
    revoked: VecDeque<(FrameId, u32)>,
    /// Inbox items that the log holds once the end is on record.
    last_items: Vec<u64>,
    /// Outcomes that the machine owes itself, before it takes others.
    owed: VecDeque<live::Owed>,
    /// Every event before this sequence that an effect can rest on: barrier of default steps.
    facts: u64,
    flush: bool,
    /// Set while the owner drains: no attempt is handed out any more.
    held: bool,
    /// No attempt is handed out before its start is durable.
    careful: bool,
    clock: Timestamp,
    fault: Option<ParkReport>,
    /// The code that wrote the log so far, when it is not this one: it may read what this one cannot.
    home: Option<Fingerprints>,
    /// The flow did not come to the end of the log: what it would do with a cancel is not known here.
    misfit: bool,
}

#[expect(
    clippy::large_enum_variant,
    reason = "there is one a machine, and a replay makes a segment for each outcome"
)]
enum Phase {
    /// Events of the log come in; one segment is held back until the next outcome completes it.
    Replaying(Option<replay::Segment>),
    Live,
    /// How the run ends is on record, and children are waited for: see [`State::ending`].
    Ending,
    /// The owner lets go with this event, once everything before it is on its way.
    Closing(Box<Event>),
    /// The next run begins with this input, once everything before it is durable.
    Rolling(Payload),
    /// The closing event is durable; `true` once the driver was told.
    Closed(Status, bool),
}

struct Active {
    attempt: u32,
    /// Set until the attempt was handed out.
    waits_for: Option<Wait>,
}

/// The log must be durable up to here, exclusively; and the sequence of the attempt's start.
type Wait = (u64, u64);

struct Early {
    answer: Payload,
    by: String,
    item: u64,
}

impl Machine {
    /// A machine for one execution; offer it the log first.
    pub fn new(config: Config, spawn: Spawn) -> Self {
        let cx = Cx::new(config.execution.clone(), config.alarm.clone());
        let waker = Waker::from(cx.shared.waker.clone());
        let journal = Journal::new(config.execution.clone(), config.generation);
        Self {
            config,
            cx,
            waker,
            spawn,
            flow: None,
            journal,
            phase: Phase::Replaying(None),
            active: BTreeMap::new(),
            waiting: BTreeMap::new(),
            dues: BTreeSet::new(),
            early: BTreeMap::new(),
            leaving: BTreeMap::new(),
            strays: BTreeMap::new(),
            children: VecDeque::new(),
            started: BTreeSet::new(),
            post: exchange::PostOffice::default(),
            revoked: VecDeque::new(),
            last_items: Vec::new(),
            owed: VecDeque::new(),
            facts: 0,
            flush: false,
            held: false,
            careful: false,
            clock: Timestamp::EPOCH,
            fault: None,
            home: None,
            misfit: false,
        }
    }

    /// The folded state, up to the last event that is recorded or on its way.
    pub fn state(&self) -> &State {
        self.journal.state()
    }

    /// The fault that stopped the flow here, if one did: also one that is not recorded, because the log has ended.
    pub fn fault(&self) -> Option<&ParkReport> {
        self.fault.as_ref()
    }

    /// The decisions that the flow waits for and that nobody makes here: [`Op::Withheld`].
    pub fn withheld(&self) -> Vec<FrameId> {
        let inner = self.cx.shared.lock();
        let withheld = inner.slots.iter().filter(|(_, slot)| matches!(slot.op, Op::Withheld));
        withheld.map(|(frame, _)| frame.clone()).collect()
    }

    /// Takes what happened at `now`.
    pub fn offer(&mut self, input: Input, now: Timestamp) -> Offered {
        self.clock = now.max(self.clock);
        match input {
            Input::Recorded(envelope) => self.replay(&envelope),
            Input::Unreadable { next, report } => self.pass_over(next, report),
            Input::Live { worker, reason } => self.go_live(worker, reason),
            Input::Written => self.written(),
            Input::Refused => self.refused(),
            input => self.take(input),
        }
    }

    /// The next thing to do, if there is one now.
    pub fn next_command(&mut self) -> Option<Command> {
        if let Some((frame, attempt)) = self.revoked.pop_front() {
            return Some(Command::Revoke { frame, attempt });
        }
        if let Phase::Closed(status, told @ false) = &mut self.phase {
            *told = true;
            return Some(Command::Closed(*status));
        }
        if matches!(self.phase, Phase::Rolling(_)) && self.may_roll_over() {
            self.roll_over();
        }
        if let Some(invoke) = self.next_invoke() {
            return Some(Command::Invoke(invoke));
        }
        if let Some(child) = self.next_child() {
            return Some(child);
        }
        if self.journal.is_writing() || !self.wants_append() {
            return None;
        }
        self.flush = false;
        let closing = match &self.phase {
            Phase::Closing(event) if self.owes_nothing() => Some((**event).clone()),
            _ => None,
        };
        if closing.is_some() {
            self.before_the_end();
        }
        let posts = closing.as_ref().map_or_else(Vec::new, |closing| self.last_posts(closing));
        Some(Command::Append(self.journal.take_batch(closing, posts, self.clock)))
    }

    /// Whether revoked attempts have ended, and children that go on by themselves were started.
    fn owes_nothing(&self) -> bool {
        self.leaving.is_empty() && self.children.is_empty()
    }

    /// Frames of the next run may have the ids of this one: no attempt must be left whose end would be taken for
    /// one of them.
    fn may_roll_over(&self) -> bool {
        self.owes_nothing() && self.strays.is_empty() && !self.lags() && !self.held
    }

    /// Asks for the events so far to be appended, although nothing waits for that.
    pub fn flush(&mut self) {
        self.flush = self.journal.has_tail();
    }

    /// Hands out no more attempts: the owner drains, and will hand the execution back.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Hands attempts out only once their starts are durable, all of them: the log of an execution whose owners vanish is to tell
    /// what was running.
    pub fn be_careful(&mut self) {
        self.careful = true;
    }

    /// Whether attempts run that were handed out.
    pub fn has_running(&self) -> bool {
        self.active.len() > self.waiting.len() || !self.leaving.is_empty()
    }

    /// Whether events are not durable yet.
    pub fn lags(&self) -> bool {
        self.journal.has_tail() || self.journal.is_writing()
    }

    /// The next instant at which [`Input::Tick`] has something to do.
    pub fn next_due(&self) -> Option<Timestamp> {
        self.dues.first().map(|(at, _)| as_kept(*at))
    }

    /// Whether the execution goes on without anything from outside: attempts run, or it closes.
    pub fn is_busy(&self) -> bool {
        let runs = !self.active.is_empty() || !self.leaving.is_empty() || !self.children.is_empty();
        runs || !matches!(self.phase, Phase::Live | Phase::Ending)
    }

    /// Whether an attempt waits for the log, or a closing event does.
    fn wants_append(&self) -> bool {
        let durable = self.journal.durable();
        let waits = self.waiting.last_key_value().is_some_and(|((upto, _), _)| *upto > durable)
            || self.children.back().is_some_and(|(upto, _)| *upto > durable);
        match self.phase {
            Phase::Closing(_) if self.owes_nothing() => true,
            Phase::Rolling(_) => self.journal.has_tail(),
            _ => self.journal.has_tail() && (self.flush || waits),
        }
    }

    fn next_invoke(&mut self) -> Option<Invoke> {
        if self.held || !matches!(self.phase, Phase::Live) {
            return None;
        }
        let first = self.waiting.first_entry().filter(|first| first.key().0 <= self.journal.durable())?;
        let frame = first.remove();
        let active = self.active.get_mut(&frame)?;
        active.waits_for = None;
        let attempt = active.attempt;
        let delivery = self.terms(&frame).1;
        let known = self.journal.state().frames.get(&frame)?;
        // The input as recorded: other code may compute another one for an attempt that is made again.
        let (FrameKind::Step { step, .. }, Some(input)) = (&known.kind, &known.input) else { return None };
        let (step, input) = (step.clone(), input.clone());
        let inner = self.cx.shared.lock();
        let (timeout, detached) = match inner.slots.get(&frame).map(|slot| &slot.op) {
            Some(Op::Step { timeout, detached, .. }) => (*timeout, *detached),
            _ => (None, false),
        };
        // With the seed, for ids repeat: in another database, in one that was made anew.
        let seed = inner.seed.map_or([0; 16], |seed| seed.bytes());
        let execution = self.config.execution.as_str().as_bytes();
        let idempotency_key = Digest::of_parts(&[&seed, execution, frame.as_str().as_bytes()]);
        drop(inner);
        Some(Invoke { frame, attempt, step, input, delivery, timeout, detached, idempotency_key })
    }

    fn written(&mut self) -> Offered {
        if self.journal.written() {
            self.phase = Phase::Closed(self.journal.state().status, false);
        }
        Offered::Accepted
    }

    fn refused(&mut self) -> Offered {
        self.journal.refused();
        // An end stands, and is tried again after the inbox was read.
        self.stay();
        Offered::Accepted
    }

    /// Takes an attempt for over, whether it was handed out or not.
    fn take_active(&mut self, frame: &FrameId) -> Option<Active> {
        let active = self.active.remove(frame)?;
        if let Some(wait) = active.waits_for {
            self.waiting.remove(&wait);
        }
        Some(active)
    }

    fn revoke_all(&mut self) {
        self.waiting.clear();
        for (frame, active) in std::mem::take(&mut self.active) {
            if active.waits_for.is_none() {
                self.revoke(frame, active.attempt);
            }
        }
        self.dues.clear();
        for owed in std::mem::take(&mut self.owed) {
            if let live::Owed::Answer(gate, early) = owed {
                self.early.insert(gate, early); // whoever gave it is told what becomes of it
            }
        }
        self.forget_children();
    }

    /// An attempt that was handed out is cancelled, and its end awaited; a detached one goes on by itself.
    fn revoke(&mut self, frame: FrameId, attempt: u32) {
        let detached = match self.cx.shared.lock().slots.get(&frame).map(|slot| &slot.op) {
            Some(Op::Step { detached, .. }) => *detached,
            _ => false,
        };
        if detached {
            self.strays.insert(frame, attempt);
        } else {
            self.leaving.insert(frame.clone(), attempt);
            self.revoked.push_back((frame, attempt));
        }
    }

    /// The flow, from the start of a run.
    fn respawn(&mut self, seed: Digest, input: Payload, version: u32) {
        self.tear_down();
        self.cx = Cx::new(self.config.execution.clone(), self.config.alarm.clone());
        self.waker = Waker::from(self.cx.shared.waker.clone());
        let (run, first) = (self.state().run, self.state().base);
        {
            let mut inner = self.cx.shared.lock();
            (inner.seed, inner.run, inner.input_version) = (Some(seed), run, (version, first));
        }
        self.flow = Some((self.spawn)(self.cx.clone(), input));
    }

    /// Drops the flow without taking what it drops for abandoned.
    fn tear_down(&mut self) {
        self.cx.shared.torn.store(true, Ordering::Release);
        let flow = self.flow.take();
        // A channel that is dropped here wakes its other end: the flow's own wake.
        let _pass = pass::Pass::enter(self.cx.shared.token);
        // A panic in a user's `Drop` must not take the owner with it: the fault that led here is on record.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(flow)));
        self.cx.shared.lock().issued.clear();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.tear_down();
    }
}

impl std::fmt::Debug for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("execution", self.journal.execution()).finish_non_exhaustive()
    }
}
