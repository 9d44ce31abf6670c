//! What a flow shares with its machine: the slots of its frames, and what it asked for in this pass.
//! Not the log: nothing here is recorded until the machine has accepted the whole pass.

use std::{
    collections::BTreeMap,
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
    Delivery, Digest, EffectError, ExecutionId, Failed, Fault, FrameId, ParkReport, Payload, RetryPolicy,
    SourceLine, Timestamp,
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
}

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
    pub(super) near: Option<SourceLine>,
    pub(super) fault: Option<ParkReport>,
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

impl Op {
    pub(super) fn digest(&self) -> Digest {
        match self {
            Self::Step { input, .. } => input.digest(),
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
        }
    }

    fn same_target(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Step { step: a, .. }, Self::Step { step: b, .. }) => a == b,
            (Self::Gate { gate: a, .. }, Self::Gate { gate: b, .. }) => a == b,
            (Self::Timer(_), Self::Timer(_)) | (Self::Decision(_), Self::Decision(_)) => true,
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

    /// 16 bytes that are the same on every replay: drawn from the execution's seed, the call site and how often
    /// it was passed.
    pub fn entropy(&self, site: &FrameId) -> [u8; 16] {
        self.shared.check_pass(site, "asked for entropy");
        let mut inner = self.shared.lock();
        let nth = inner.occurrence(site);
        let seed = inner.seed.map_or([0; 16], |seed| seed.bytes());
        Digest::of_parts(&[&seed, site.as_str().as_bytes(), &nth.to_le_bytes()]).bytes()
    }

    /// Tells a domain fact, once. The n-th pass of a call site in one run has the id `site:n`.
    pub fn emit(&self, site: &FrameId, line: SourceLine, name: &str, version: u32, data: Payload) {
        if !self.shared.check_pass(site, "told") {
            return;
        }
        let mut inner = self.shared.lock();
        let nth = inner.occurrence(site);
        let frame = if nth == 0 { site.clone() } else { FrameId::parsed(&format!("{site}:{nth}")) };
        let op = Op::Domain { name: name.into(), version, data };
        inner.issue(Request { frame, op, site: line, memo: false }, Some(Settled::Fired));
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

    /// Registers a request. `None` when its id is taken: the fault is set then.
    pub(super) fn issue(&mut self, request: Request, mut outcome: Option<Settled>) -> Option<u32> {
        if let Some(slot) = self.slots.get_mut(&request.frame) {
            if request.memo && !slot.abandoned && slot.op.same_target(&request.op) {
                slot.holders += 1;
                slot.next_holder += 1;
                return Some(slot.next_holder);
            }
            let message = format!(
                "`{}` was issued twice in one pass: first at {} ({}), then at {} ({})",
                request.frame,
                slot.site,
                slot.op.describe(),
                request.site,
                request.op.describe()
            );
            let report = ParkReport::new(Fault::StepIdReused, message).frame(&request.frame);
            self.fault.get_or_insert(ParkReport { near: Some(request.site), ..report });
            return None;
        }
        if let Op::Decision(chosen) = &request.op {
            let recorded = self.decisions.remove(&request.frame);
            outcome = Some(Settled::Completed(recorded.unwrap_or_else(|| chosen.clone())));
        }
        if outcome.is_none() {
            self.outstanding += 1;
        }
        self.near = Some(request.site.clone());
        let (frame, digest) = (request.frame, request.op.digest());
        let (op, site, wakers) = (request.op, request.site, Vec::new());
        let slot = Slot { op, digest, site, outcome, abandoned: false, holders: 1, next_holder: 0, wakers };
        self.slots.insert(frame.clone(), slot);
        self.issued.push(Issue::Requested(frame));
        Some(0)
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
