//! What a flow shares with its machine: the slots of its frames, and what it asked for in this pass.
//! Not the log: nothing here is recorded until the machine has accepted the whole pass.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Waker,
    time::Duration,
};

use super::{
    call::Call,
    pass::{self, Alarm, FlowWaker},
};
use crate::{
    Cancelled, Delivery, Digest, EffectError, ExecutionId, Failed, Fault, FrameId, Message, OnClose,
    ParkReport, Payload, Reply, RetryPolicy, SourceLine, Timestamp,
};

/// A flow's handle to its machine. Cheap to clone.
#[derive(Clone)]
pub struct Cx {
    pub(super) shared: Arc<Shared>,
}

/// A durable call that a flow makes.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its identity.
    pub frame: FrameId,
    /// What is asked for.
    pub op: Op,
    /// Where in the source, for reports.
    pub site: SourceLine,
    /// Whether a second issue of the id asks for the first one's outcome.
    pub memo: bool,
}

/// What a durable call asks for.
#[derive(Clone, Debug)]
pub enum Op {
    /// Run a step.
    Step {
        /// Its registered name.
        step: String,
        /// Its input.
        input: Payload,
        /// How it gives its result to the world.
        delivery: Delivery,
        /// How often it is tried.
        retry: RetryPolicy,
        /// How long an attempt may take, when the call says other than the step.
        timeout: Option<Duration>,
        /// Set when a limit forbids the call: it settles with this, and nothing runs.
        refuse: Option<EffectError>,
        /// Whether it goes on when the flow drops it or ends: nobody waits for its end then.
        detached: bool,
    },
    /// Wait until an instant.
    Timer(Due),
    /// Ask somebody.
    Gate {
        /// The gate's declared name.
        gate: String,
        /// JSON Schema of an answer.
        schema: Payload,
        /// How long to wait.
        timeout: Option<Duration>,
    },
    /// Choose once.
    Decision(Payload),
    /// Tell a fact.
    Domain {
        /// Its declared name.
        name: String,
        /// The version of its shape.
        version: u32,
        /// Its data.
        data: Payload,
    },
    /// Wait for a message.
    Receive {
        /// The topic.
        topic: String,
        /// Says what is wrong with a message that the flow cannot read: that one is dead-lettered.
        check: Check,
    },
    /// Tell another execution.
    Tell {
        /// To whom.
        to: ExecutionId,
        /// The topic.
        topic: String,
        /// What it says.
        body: Payload,
    },
    /// Reply to an update.
    Reply {
        /// The key under which its sender waits.
        reply_to: String,
        /// What it is told.
        reply: Reply,
    },
    /// Start another execution and wait for its end.
    Child {
        /// Its flow's registered name.
        flow: String,
        /// Its input.
        input: Payload,
        /// The version of the input's shape.
        version: u32,
        /// Its id, if it is not to be derived from the frame.
        child: Option<ExecutionId>,
        /// What becomes of it when this execution ends, or drops the call.
        on_close: OnClose,
        /// Set when the child cannot be started: the call settles with this.
        refuse: Option<EffectError>,
    },
    /// Follow changed code from here on, under this name. Its frame is another: see [`FrameId::marker`].
    Change(FrameId),
    /// Wait to be cancelled. Nothing is recorded of the wait.
    Cancellation,
    /// Wait for a choice that nobody makes here. Nothing is recorded of the wait, and nothing ends it; see
    /// [`Machine::withheld`](super::Machine::withheld).
    Withheld,
}

/// Says why a message cannot be read, if it cannot.
pub type Check = fn(&Payload) -> Result<(), String>;

/// When a timer fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// So long after the call is recorded, by the clock of the owner who records it.
    After(Duration),
    /// At this instant.
    At(Timestamp),
}

/// How a durable call ended, as the flow sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// A step returned, a decision was made.
    Completed(Payload),
    /// A step failed.
    Failed(Failed),
    /// A timer fired.
    Fired,
    /// A gate was answered.
    Answered {
        /// The answer.
        answer: Payload,
        /// By whom.
        by: String,
    },
    /// Nobody answered in time.
    Expired,
    /// A message came.
    Received(Message),
    /// The child, or the execution itself, was cancelled.
    Cancelled(Cancelled),
}

/// The frame of the wait to be cancelled: no composed id holds a bare colon.
pub(super) fn cancellation() -> FrameId {
    FrameId::parsed(":cancellation")
}

pub(super) struct Shared {
    pub(super) token: u64,
    pub(super) execution: ExecutionId,
    pub(super) waker: Arc<FlowWaker>,
    /// Set before the flow is torn down: what it drops then is not abandoned.
    pub(super) torn: AtomicBool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
pub(super) struct Inner {
    pub(super) slots: BTreeMap<FrameId, Slot>,
    /// What the flow did in this pass, in order.
    pub(super) issued: Vec<Issue>,
    /// Decisions that the log holds for this pass.
    pub(super) decisions: BTreeMap<FrameId, Payload>,
    /// Slots that wait for an outcome.
    pub(super) outstanding: usize,
    pub(super) now: Timestamp,
    pub(super) seed: Option<Digest>,
    /// Forks in this pass: from where each has its entropy, and what the pass has done before it. Those that it has
    /// passed are taken out.
    pub(super) forks: VecDeque<(Digest, BTreeSet<(FrameId, bool)>)>,
    /// The version of the run's input, and the event that holds it.
    pub(super) input_version: (u32, u64),
    pub(super) near: Option<SourceLine>,
    pub(super) fault: Option<ParkReport>,
    /// The input of the next run, once the flow has asked for one.
    pub(super) next_run: Option<Payload>,
    /// The request to stop, once there is one.
    pub(super) cancel: Option<Cancelled>,
    /// Markers of changed code that the log holds for this pass.
    pub(super) changes: BTreeMap<FrameId, bool>,
    /// Markers that the log holds and that the code did not ask for, where they were: if it does elsewhere, they are
    /// there already.
    pub(super) unasked_changes: BTreeSet<FrameId>,
    /// What the log holds of this pass but for markers, by frame and whether it was dropped. Once it has done all of that, the pass goes
    /// where no code has been before, and takes the changed path; `None` when the log goes on after it.
    pub(super) ahead: Option<BTreeSet<(FrameId, bool)>>,
    /// Which run this is.
    pub(super) run: u64,
    /// How many events the run had before this pass.
    pub(super) events: u64,
    /// How often each synchronous call site was passed.
    occurrences: BTreeMap<FrameId, u64>,
}

pub(super) struct Slot {
    pub(super) op: Op,
    pub(super) digest: Digest,
    pub(super) site: SourceLine,
    pub(super) outcome: Option<Settled>,
    pub(super) abandoned: bool,
    /// Calls that hold this slot: more than one with `.memo()`.
    pub(super) holders: u32,
    next_holder: u32,
    pub(super) wakers: Vec<(u32, Waker)>,
}

#[derive(Debug)]
pub(super) enum Issue {
    Requested(FrameId),
    Abandoned(FrameId),
}

impl Issue {
    pub(super) fn frame(&self) -> &FrameId {
        let (Self::Requested(frame) | Self::Abandoned(frame)) = self;
        frame
    }
}

impl Issue {
    pub(super) fn is_drop(&self) -> bool {
        matches!(self, Self::Abandoned(_))
    }
}

impl Op {
    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::Step { input, .. } | Self::Child { input, .. } => input.digest(),
            _ => Digest::of(b""),
        }
    }

    /// For reports: the kind and name, never the input.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Step { step, .. } => format!("step `{step}`"),
            Self::Timer(_) => "a timer".into(),
            Self::Gate { gate, .. } => format!("gate `{gate}`"),
            Self::Decision(_) => "a decision".into(),
            Self::Domain { name, .. } => format!("domain event `{name}`"),
            Self::Receive { topic, .. } => format!("a message on `{topic}`"),
            Self::Tell { to, topic, .. } => format!("a message to `{to}` on `{topic}`"),
            Self::Reply { .. } => "a reply".into(),
            Self::Child { flow, .. } => format!("child flow `{flow}`"),
            Self::Change(_) => "a marker of changed code".into(),
            Self::Cancellation => "the cancellation".into(),
            Self::Withheld => "a decision".into(),
        }
    }

    pub(super) fn is_recorded(&self) -> bool {
        !matches!(self, Self::Cancellation | Self::Withheld)
    }

    fn same_target(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Step { step: a, .. }, Self::Step { step: b, .. }) => a == b,
            (Self::Gate { gate: a, .. }, Self::Gate { gate: b, .. }) => a == b,
            (Self::Receive { topic: a, .. }, Self::Receive { topic: b, .. }) => a == b,
            (Self::Child { flow: a, .. }, Self::Child { flow: b, .. }) => a == b,
            (Self::Timer(_), Self::Timer(_))
            | (Self::Decision(_), Self::Decision(_))
            | (Self::Cancellation, Self::Cancellation) => true,
            _ => false,
        }
    }
}

impl Cx {
    pub(super) fn new(execution: ExecutionId, alarm: Alarm) -> Self {
        let token = pass::new_token();
        let waker = Arc::new(FlowWaker::new(token, alarm));
        let (torn, inner) = (AtomicBool::new(false), Mutex::default());
        Self { shared: Arc::new(Shared { token, execution, waker, torn, inner }) }
    }

    /// The execution.
    pub fn execution(&self) -> &ExecutionId {
        &self.shared.execution
    }

    /// A durable call: registered when it is first polled, and inert before.
    pub fn call(&self, request: Request) -> Call {
        Call::new(self.clone(), request)
    }

    /// The instant of the event that the flow has last been told: a function of the position in the log.
    pub fn now(&self) -> Timestamp {
        self.shared.lock().now
    }

    /// The value that the log holds for a decision of this pass, if it does: then there is nothing to choose.
    pub fn recorded_decision(&self, frame: &FrameId) -> Option<Payload> {
        self.shared.lock().decisions.get(frame).cloned()
    }

    /// Whether the log holds more than what this pass asks for.
    pub fn log_goes_on(&self) -> bool {
        self.shared.lock().ahead.is_none()
    }

    /// Whether this pass has asked for all that the log holds of it, and the log does not go on.
    pub fn is_beyond_the_log(&self) -> bool {
        self.shared.lock().is_beyond_the_log()
    }

    /// The version of the input that the run began with, and the event that holds it.
    pub fn input_version(&self) -> (u32, u64) {
        self.shared.lock().input_version
    }

    /// 16 bytes that are the same on every replay: drawn from the execution's seed, the call site and how often
    /// it was passed. A fork draws what its origin has drawn up to the cut: within the pass that the cut is in, until
    /// the pass has asked for all that the events before the cut hold of it.
    pub fn entropy(&self, site: &FrameId) -> [u8; 16] {
        self.shared.check_pass(site, "asked for entropy");
        let mut inner = self.shared.lock();
        let nth = inner.occurrence(site);
        inner.pass_forks();
        let seed = inner.seed.map_or([0; 16], |seed| seed.bytes());
        Digest::of_parts(&[&seed, site.as_str().as_bytes(), &nth.to_le_bytes()]).bytes()
    }

    /// Tells a domain fact, once. The n-th pass of a call site in one run has the id `site:n`.
    pub fn emit(&self, site: &FrameId, line: SourceLine, name: &str, version: u32, data: Payload) {
        self.tell(site, line, Op::Domain { name: name.into(), version, data });
    }

    /// Sends a message, once, when everything before it is durable. Ids are as for [`Cx::emit`].
    pub fn send(&self, site: &FrameId, line: SourceLine, to: ExecutionId, topic: &str, body: Payload) {
        self.tell(site, line, Op::Tell { to, topic: topic.into(), body });
    }

    /// Replies to an update. Ids are as for [`Cx::emit`].
    pub fn reply(&self, site: &FrameId, line: SourceLine, reply_to: String, reply: Reply) {
        self.tell(site, line, Op::Reply { reply_to, reply });
    }

    /// What returns at once: it is settled when it is asked for.
    fn tell(&self, site: &FrameId, line: SourceLine, op: Op) {
        if !self.shared.check_pass(site, "told") {
            return;
        }
        let mut inner = self.shared.lock();
        let nth = inner.occurrence(site);
        let frame = if nth == 0 { site.clone() } else { FrameId::parsed(&format!("{site}:{nth}")) };
        inner.issue(Request { frame, op, site: line, memo: false }, Some(Settled::Fired));
    }

    /// Whether the flow takes the changed path here. An execution that was past this place before the change keeps to
    /// the old one; what it takes is recorded, and holds for ever. A marker that the code no longer asks for is passed
    /// over by a replay: what follows it in the log is still held against the code. Another call may have the same
    /// id: markers are named apart.
    pub fn changed(&self, frame: &FrameId, line: SourceLine) -> bool {
        if !self.shared.check_pass(frame, "asked for") {
            return false;
        }
        let mut inner = self.shared.lock();
        let (named, frame) = (frame, &frame.marker());
        if let Some(changed) = inner.changes.get(frame) {
            return *changed && {
                let request =
                    Request { frame: frame.clone(), op: Op::Change(named.clone()), site: line, memo: false };
                let is_there = inner.slots.contains_key(frame) || inner.unasked_changes.contains(frame);
                is_there || inner.issue(request, Some(Settled::Fired)).is_some()
            };
        }
        let changed = inner.is_beyond_the_log();
        inner.changes.insert(frame.clone(), changed);
        if changed {
            let request =
                Request { frame: frame.clone(), op: Op::Change(named.clone()), site: line, memo: false };
            inner.issue(request, Some(Settled::Fired));
        }
        changed
    }

    /// Ends this run and begins the next with `input`, as soon as the pass ends. Nothing is awaited any more: the
    /// caller waits for ever.
    pub fn continue_as_new(&self, input: Payload) {
        if self.shared.check_pass(&FrameId::parsed("continue_as_new"), "asked for") {
            self.shared.lock().next_run.get_or_insert(input);
        }
    }

    /// A future of the request to stop. Whoever waits for it is told, and tidies up; else a cancel drops the flow.
    pub fn cancellation(&self, site: SourceLine) -> Call {
        self.call(Request { frame: cancellation(), op: Op::Cancellation, site, memo: true })
    }

    /// The request to stop, if there was one by now.
    pub fn cancelled(&self) -> Option<Cancelled> {
        self.shared.lock().cancel.clone()
    }

    /// The id of the child that a frame of this run starts, unless its call names another.
    pub fn child(&self, frame: &FrameId) -> ExecutionId {
        self.shared.execution.child(self.shared.lock().run, frame)
    }

    /// Which run this is.
    pub fn run(&self) -> u64 {
        self.shared.lock().run
    }

    /// How many events the run had when the flow was last told something: the same on every replay.
    pub fn events(&self) -> u64 {
        self.shared.lock().events
    }

    /// Notes the source line that the flow is about to wait at, for reports.
    pub fn near(&self, line: SourceLine) {
        self.shared.lock().near = Some(line);
    }

    /// Stops the flow with a fault: its current pass is discarded, and the execution parks.
    pub fn raise(&self, report: ParkReport) {
        self.shared.raise(report);
    }
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Inner> {
        // No user code runs under the lock, so a poisoned one is still whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn in_pass(&self) -> bool {
        pass::current() == self.token
    }

    pub(super) fn is_torn(&self) -> bool {
        self.torn.load(Ordering::Acquire)
    }

    pub(super) fn raise(&self, report: ParkReport) {
        let mut inner = self.lock();
        if inner.fault.is_none() {
            inner.fault = Some(report);
        }
        drop(inner);
        if !self.in_pass() {
            self.waker.ring();
        }
    }

    /// Whether the flow itself calls; else that is a fault, unless there is no flow any more.
    fn check_pass(&self, frame: &FrameId, what: &str) -> bool {
        let torn = self.is_torn();
        if !torn && !self.in_pass() {
            self.outside_pass(frame, what);
        }
        !torn && self.in_pass()
    }

    pub(super) fn outside_pass(&self, frame: &FrameId, what: &str) {
        let message = format!("`{frame}` was {what} outside its flow, by another task or thread");
        self.raise(ParkReport::new(Fault::OutsidePass, message).frame(frame));
    }
}

impl Inner {
    fn occurrence(&mut self, site: &FrameId) -> u64 {
        let passed = self.occurrences.entry(site.clone()).or_default();
        let nth = *passed;
        *passed += 1;
        nth
    }

    fn is_beyond_the_log(&self) -> bool {
        self.ahead.as_ref().is_some_and(|ahead| self.has_done(ahead))
    }

    /// Whether the pass has asked for all of this, or dropped it.
    fn has_done(&self, all: &BTreeSet<(FrameId, bool)>) -> bool {
        let done = |frame: &FrameId, dropped: bool| {
            self.issued.iter().any(|issue| issue.frame() == frame && issue.is_drop() == dropped)
        };
        all.iter().all(|(frame, dropped)| done(frame, *dropped))
    }

    fn pass_forks(&mut self) {
        while self.forks.front().is_some_and(|(_, before)| self.has_done(before)) {
            self.seed = self.forks.pop_front().map(|(seed, _)| seed);
        }
    }

    /// Registers a request. `None` when its id is taken: the fault is set then.
    pub(super) fn issue(&mut self, request: Request, mut outcome: Option<Settled>) -> Option<u32> {
        if let Some(slot) = self.slots.get_mut(&request.frame) {
            let again = request.memo && !slot.abandoned && slot.op.same_target(&request.op);
            let digest = request.op.digest();
            if again && slot.digest == digest {
                slot.holders += 1;
                slot.next_holder += 1;
                return Some(slot.next_holder);
            }
            let (frame, first, then) = (&request.frame, &slot.site, &request.site);
            let message = if again {
                format!(
                    "`{frame}` was asked for again with `.memo()` and another input: {} first at {first} (input {}), \
                     then at {then} (input {digest}), which would have got the outcome of the first",
                    slot.op.describe(),
                    slot.digest,
                )
            } else {
                let (one, other) = (slot.op.describe(), request.op.describe());
                format!(
                    "`{frame}` was issued twice in one pass: first at {first} ({one}), then at {then} ({other})"
                )
            };
            let report = ParkReport::new(Fault::StepIdReused, message).frame(&request.frame);
            self.fault.get_or_insert(ParkReport { near: Some(request.site), ..report });
            return None;
        }
        if let (Op::Cancellation, Some(cancel)) = (&request.op, &self.cancel) {
            outcome = Some(Settled::Cancelled(cancel.clone()));
        }
        if let Op::Decision(chosen) = &request.op {
            let recorded = self.decisions.remove(&request.frame);
            outcome = Some(Settled::Completed(recorded.unwrap_or_else(|| chosen.clone())));
        }
        if outcome.is_none() {
            self.outstanding += 1;
        }
        let is_recorded = request.op.is_recorded();
        self.near = Some(request.site.clone());
        let (frame, digest) = (request.frame, request.op.digest());
        let (op, site, wakers) = (request.op, request.site, Vec::new());
        let slot = Slot { op, digest, site, outcome, abandoned: false, holders: 1, next_holder: 0, wakers };
        self.slots.insert(frame.clone(), slot);
        if is_recorded {
            self.issued.push(Issue::Requested(frame));
        }
        Some(0)
    }

    /// The updates that the flow took and did not reply to; they are answered for from now on.
    pub(super) fn take_unanswered(&mut self) -> Vec<Message> {
        let answered = self.slots.values().filter_map(|slot| match &slot.op {
            Op::Reply { reply_to, .. } => Some(reply_to.clone()),
            _ => None,
        });
        let answered: BTreeSet<_> = answered.collect();
        let taken = self.slots.values_mut().filter_map(|slot| match &mut slot.outcome {
            Some(Settled::Received(message)) => {
                let open = message.reply_to.as_ref().is_some_and(|reply_to| !answered.contains(reply_to));
                let whole = message.clone();
                if open {
                    message.reply_to = None;
                }
                open.then_some(whole)
            }
            _ => None,
        });
        taken.collect()
    }

    /// Whether the flow waits to be cancelled.
    pub(super) fn heeds_cancel(&self) -> bool {
        self.slots.get(&cancellation()).is_some_and(|slot| slot.outcome.is_none())
    }

    /// Gives a slot its outcome. Answers whom to wake, outside the lock; `None` when nobody asked.
    pub(super) fn settle(&mut self, frame: &FrameId, outcome: Settled) -> Option<Vec<(u32, Waker)>> {
        let slot = self.slots.get_mut(frame)?;
        if slot.outcome.is_none() {
            self.outstanding -= 1;
            slot.outcome = Some(outcome);
        }
        Some(std::mem::take(&mut slot.wakers))
    }
}
