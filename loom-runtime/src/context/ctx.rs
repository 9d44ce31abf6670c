//! The handle through which a flow does everything that lasts.
//! Not available inside a step: a step is one unit, and has a [`crate::StepCx`].

use std::{fmt, future::Future, sync::Arc, time::Duration};

use kernel::{
    ExecutionId, Fault, FrameId, ParkReport, Payload, SourceLine, Timestamp,
    machine::{Cx, Due, FlowReturn},
};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    CallDynamic, Cancellation, ChildCall, Decide, Execute, NegotiateBudget, Parallel, PartRun, Receive, Run,
    Scope, Sleep, Spawn, Suspend, Timeout, background::Background, decide::Choices, execute::Inputs,
    floor::Floor, place::Place,
};
use crate::{
    Ask, DomainEvent, Flow, FlowCall, FlowDescriptor, Limits, Negotiate, Part, Registry, Site, Step,
    handed::{HandedToCall, HandedToPart, HandedToRun},
};
use crate::{Received, recorded::encoded};

/// A flow's context. Cheap to clone.
///
/// Its durable calls are futures: they do nothing until they are awaited, and go into `join!`, `join_all`,
/// `FuturesUnordered`, `.shared()` and the prelude's `select!` as they are.
#[derive(Clone)]
pub struct Ctx {
    cx: Cx,
    limits: Limits,
    program: Arc<Program>,
    prefix: Option<FrameId>,
    /// Of the flow, and of the parts that lead here.
    floor: Floor,
    site: Option<(&'static Site, Vec<u64>)>,
}

/// What one run of a flow is a run of, and what it has in the background.
pub(crate) struct Program {
    pub(crate) flow: &'static FlowDescriptor,
    pub(crate) registry: Arc<Registry>,
    budgets: Arc<dyn Negotiate>,
    /// `None` where the flow makes its choices itself.
    choices: Option<Arc<dyn Choices>>,
    pub(crate) background: Arc<Background>,
    pub(super) inputs: Inputs,
}

impl Ctx {
    pub(crate) fn new(
        cx: Cx,
        limits: Limits,
        flow: &'static FlowDescriptor,
        registry: Arc<Registry>,
        budgets: Arc<dyn Negotiate>,
        choices: Option<Arc<dyn Choices>>,
    ) -> Self {
        let (background, inputs) = (Arc::default(), Inputs::default());
        let program = Arc::new(Program { flow, registry, budgets, choices, background, inputs });
        Self { cx, limits, program, prefix: None, floor: Floor::of(flow.effects), site: None }
    }

    /// The version of the input that this run began with, and the event that holds it.
    pub(crate) fn input_version(&self) -> (u32, u64) {
        self.cx.input_version()
    }

    /// Runs a step once and records how it ended: the value has the type that `call.await` would have.
    ///
    /// On a replay, and after a crash, a step that has ended is not run again.
    pub fn run<S: Step>(&self, call: impl HandedToRun<S>) -> Run<S> {
        let denied = self.floor.refuse_step(S::DESCRIPTOR);
        Run::new(self.cx.clone(), self.place(), self.limits, denied, call.handed().input)
    }

    /// Calls a part of the flow; the ids inside it begin with `name`.
    pub fn part<T: 'static, P: Part>(&self, name: &'static str, call: impl HandedToPart<T, P>) -> PartRun<T> {
        let mut place = self.place();
        place.set_id(name);
        let ctx = self.clone();
        let floor = ctx.floor.within(P::CEILING);
        PartRun::new(Self { floor, ..ctx }, place, call.handed())
    }

    /// Asks somebody outside, and waits for the answer: days, if need be, and through deploys. The gate's address is
    /// `execution/name` (`execution/name#3` in a loop).
    pub fn suspend<T: Received>(&self, gate: &'static str) -> Suspend<T> {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(gate);
        }
        Suspend::new(self.cx.clone(), place, gate)
    }

    /// Waits for the next message on a topic: `ctx.receive::<Job>("jobs")`. See [`Receive`].
    pub fn receive<T: Received>(&self, topic: &'static str) -> Receive<T> {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(topic);
        }
        Receive::new(self.cx.clone(), place, topic)
    }

    /// Sends a message to another execution, once. It leaves with the events that led to it, in one transaction; one
    /// that does not exist, or has ended, does not get it.
    pub fn send<T: Serialize + ?Sized>(&self, to: &ExecutionId, topic: &str, message: &T) {
        let place = self.place();
        let body = match Payload::encode(message) {
            Ok(body) => body,
            Err(reason) => {
                let message = format!("a message on `{topic}` cannot be written as JSON: {reason}");
                return self.cx.raise(ParkReport::new(Fault::Unserializable, message));
            }
        };
        if let Err(report) = self.limits.check_record(&format!("a message on `{topic}`"), &body) {
            return self.cx.raise(report);
        }
        self.cx.send(&place.frame_or("send"), place.line(), to.clone(), topic, body);
    }

    /// Runs another flow as a child execution, and waits for what it returns. See [`ChildCall`].
    pub fn call<F: Flow>(&self, call: impl HandedToCall<F>) -> ChildCall<F> {
        let background = self.program.background.clone();
        let denied = self.floor.refuse_flow(F::DESCRIPTOR);
        ChildCall::new(self.cx.clone(), background, self.place(), (self.limits, denied), &call.handed().input)
    }

    /// Starts another flow as a child execution, and gives its handle: `ctx.spawn(audit(order)).await`. See [`Spawn`].
    pub fn spawn<F: Flow>(&self, call: impl HandedToCall<F>) -> Spawn<F> {
        Spawn(Some(self.call(call)))
    }

    /// Runs a registered flow that is chosen by its name as a child execution, with JSON as input. See
    /// [`CallDynamic`].
    pub fn call_dynamic(&self, name: &'static str, flow: impl Into<String>, input: Payload) -> CallDynamic {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(name);
        }
        let flow = flow.into();
        let registry = &self.program.registry;
        let denied = registry.flow(&flow).and_then(|flow| self.floor.refuse_flow(flow));
        let version = registry.input_version(&flow);
        CallDynamic::new(self.cx.clone(), place, (self.limits, denied), flow, (input, version))
    }

    /// Runs branches at once. See [`Parallel`].
    ///
    /// ```ignore
    /// let checks = hosts.iter().map(|host| ctx.run(probe(host.clone())).key(host));
    /// let reports = ctx.parallel(checks).limit(8).fail_fast().await?;
    /// ```
    pub fn parallel<B: Future>(&self, branches: impl IntoIterator<Item = B>) -> Parallel<B> {
        Parallel::new(branches)
    }

    /// Branches of different kinds, added one by one. See [`Scope`].
    pub fn scope<T: 'static, E: 'static>(&self) -> Scope<T, E> {
        Scope::new(self.program.background.clone())
    }

    /// Puts a limit on a wait, whatever it is for. See [`Timeout`].
    pub fn timeout<F: Future>(&self, limit: Duration, future: F) -> Timeout<F> {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id("timeout");
        }
        Timeout::new(limit, Sleep::new(self.cx.clone(), place, Due::After(limit)), future)
    }

    /// Runs a registered step that is chosen by its name, with JSON as input: for flows that follow a plan which is
    /// data. See [`Execute`].
    ///
    /// The first argument is the call's id, and may be a value: `ctx.execute(&node.id, &node.step, node.input)`. In a
    /// loop the index is added, as everywhere, or `.key(..)` in its place; a closure needs neither when the id varies.
    pub fn execute(&self, id: impl AsRef<str>, step: impl Into<String>, input: impl Serialize) -> Execute {
        let mut place = self.place();
        place.set_id(id.as_ref().to_owned());
        let program = (self.program.clone(), self.floor.clone());
        Execute::new(self.cx.clone(), place, self.limits, program, step.into(), Payload::encode(&input))
    }

    /// Completes when somebody cancels the execution. See [`Cancellation`].
    pub fn cancelled(&self) -> Cancellation {
        Cancellation(self.cx.cancellation(self.place().line()))
    }

    /// Ends this run, and begins the next one with this call's input: the log goes on, what came before is not
    /// replayed any more, and messages that nobody took wait for the new run. Everything that runs is stopped, as at
    /// the flow's end; and as an end, it waits for children that were spawned with [`Spawn::wait`].
    /// Never returns: `return ctx.continue_as_new(poll(cursor)).await`.
    pub async fn continue_as_new<F: Flow, T>(&self, call: FlowCall<F>) -> T {
        let (own, next) = (self.program.flow.name, F::DESCRIPTOR.name);
        match encoded(&call.input) {
            _ if own != next => {
                let message = format!("flow `{own}` continues as `{next}`: it can only continue as itself");
                self.cx.raise(ParkReport::new(Fault::MissingFlow, message));
            }
            Err(reason) => {
                let message =
                    format!("the input of the next run of `{own}` cannot be written as JSON: {reason}");
                self.cx.raise(ParkReport::new(Fault::Unserializable, message));
            }
            Ok(input) => return self.continue_dynamic(input).await,
        }
        std::future::pending().await
    }

    /// As [`Ctx::continue_as_new`], with JSON as input, for a flow that is registered under several names.
    pub async fn continue_dynamic<T>(&self, input: Payload) -> T {
        match self.limits.check_record("the input of the next run", &input) {
            Ok(()) => self.program.background.continue_with(input),
            Err(report) => self.cx.raise(report),
        }
        std::future::pending().await
    }

    /// How many events this run has, and how many it may have: the same on every replay.
    ///
    /// ```ignore
    /// let (events, most) = ctx.history();
    /// if events > most / 2 { return ctx.continue_as_new(poll(cursor)).await; }
    /// ```
    pub fn history(&self) -> (u64, u64) {
        (self.cx.events(), self.limits.history)
    }

    /// Whether the flow takes a changed path here: `if ctx.changed("new-tax") { new } else { old }`. New executions do.
    /// One that was past this place before the change was deployed keeps to the old path; what it takes is recorded.
    ///
    /// Once no execution is on the old path any more, the old path and the call go together, and `new` alone stays. A replay
    /// passes over a marker that the code does not ask for, and still holds against the code what follows it in the log: an
    /// execution that is on the old path all the same waits for code, and so does one on the new path when it is the old one
    /// that was kept. Do not give the name to a later change: logs that hold it would take that one's new path.
    pub fn changed(&self, name: &'static str) -> bool {
        let mut place = self.place();
        place.set_id(name);
        self.cx.changed(&place.frame_or(name), place.line())
    }

    /// Waits, durably. The instant is fixed when the call is first recorded.
    pub fn sleep(&self, wait: Duration) -> Sleep {
        Sleep::new(self.cx.clone(), self.place(), Due::After(wait))
    }

    /// Waits until an instant, durably. One in the past is over at once.
    pub fn sleep_until(&self, instant: Timestamp) -> Sleep {
        Sleep::new(self.cx.clone(), self.place(), Due::At(instant))
    }

    /// Makes a choice once: `choose` runs the first time, and its value holds for ever. It may look at clocks and
    /// random numbers, and does nothing to the world: what acts is a step. It runs again when the process ended before the
    /// choice was recorded. In a [simulation](crate::App::simulate) it does not run, unless it is
    /// [let](crate::Simulate::run_decisions): a stub, the log or a closure says what is chosen.
    pub fn decide<T, C>(&self, name: &'static str, choose: C) -> Decide<T, C>
    where
        T: Serialize + DeserializeOwned,
        C: FnOnce() -> T + Unpin,
    {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(name);
        }
        Decide::new(self.cx.clone(), place, self.limits, self.program.choices.clone(), choose)
    }

    /// Asks for an amount of something that is limited, and gets a [`Grant`](crate::Grant): how much of it there is for
    /// this call. The host's [`Negotiate`](crate::Negotiate) says so, once; the grant is recorded as a decision, and is
    /// the same on every replay. Without a negotiator everything is granted.
    ///
    /// ```ignore
    /// let grant = ctx.negotiate_budget("draft", Ask::new("tokens", 8_000)).await;
    /// let draft = ctx.run(write(brief, grant.granted)).await?;
    /// ```
    ///
    /// A grant is an answer, and nothing is withheld by it: reserving, using and settling is the negotiator's to
    /// account for.
    pub fn negotiate_budget(&self, name: &'static str, ask: Ask) -> NegotiateBudget {
        let mut place = self.place();
        if self.site.is_none() {
            place.set_id(name);
        }
        let who = (self.program.budgets.clone(), self.program.choices.clone());
        NegotiateBudget::new(self.cx.clone(), place, self.limits, who, ask)
    }

    /// Records a fact of the domain, once per execution and call: a flow that is resumed passes here again, and what is in
    /// the log is not written again. What a crash took before it was written is.
    pub fn emit<E: DomainEvent>(&self, event: &E) {
        let place = self.place();
        let data = match encoded(event) {
            Ok(data) => data,
            Err(reason) => {
                let message = format!("domain event `{}` cannot be written as JSON: {reason}", E::NAME);
                return self.cx.raise(ParkReport::new(Fault::Unserializable, message));
            }
        };
        if let Err(report) = self.limits.check_record(&format!("domain event `{}`", E::NAME), &data) {
            return self.cx.raise(report);
        }
        self.cx.emit(&place.frame_or("emit"), place.line(), E::NAME, E::VERSION, data);
    }

    /// The time, as of the last event that the flow was told of: the same on every replay.
    pub fn now(&self) -> Timestamp {
        self.cx.now()
    }

    /// A UUID (version 4 layout) that is the same on every replay.
    pub fn uuid(&self) -> Uuid {
        let mut bytes = self.cx.entropy(&self.place().frame_or("uuid"));
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        Uuid(bytes)
    }

    /// A random number, at least 0 and less than 1, that is the same on every replay.
    pub fn random(&self) -> f64 {
        let bytes = self.cx.entropy(&self.place().frame_or("random"));
        let mut eight = [0; 8];
        eight.copy_from_slice(&bytes[..8]);
        // 53 bits: what an f64 holds exactly.
        (u64::from_le_bytes(eight) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The execution.
    pub fn execution(&self) -> &ExecutionId {
        self.cx.execution()
    }

    pub(crate) fn limits(&self) -> Limits {
        self.limits
    }

    fn place(&self) -> Place {
        let site = self.site.as_ref().map(|(site, levels)| (*site, levels.as_slice()));
        Place::new(self.prefix.clone(), site, self.program.flow.location.file)
    }

    pub(super) fn within(&self, prefix: FrameId) -> Self {
        Self { prefix: Some(prefix), site: None, ..self.clone() }
    }

    pub(crate) fn background(&self) -> Arc<Background> {
        self.program.background.clone()
    }

    pub(crate) fn cx(&self) -> &Cx {
        &self.cx
    }

    /// Stops the flow with a fault; never completes.
    pub(crate) async fn stop(&self, report: ParkReport) -> FlowReturn {
        self.cx.raise(report);
        std::future::pending().await
    }

    /// The context at a call site: `#[flow]` puts it in.
    #[doc(hidden)]
    #[must_use]
    pub fn __at(&self, site: &'static Site, indices: &[u64]) -> Self {
        Self { site: Some((site, indices.to_vec())), ..self.clone() }
    }

    /// Notes the line of an `.await`: `#[flow]` puts it in.
    #[doc(hidden)]
    pub fn __near(&self, line: u32) {
        self.cx.near(SourceLine { file: self.program.flow.location.file.into(), line });
    }
}

impl fmt::Debug for Ctx {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ctx").field("execution", self.execution()).finish_non_exhaustive()
    }
}

/// A UUID that a flow drew. Displays as usual, `6ba7b810-9dad-41d1-80b4-00c04fd430c8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

impl Uuid {
    /// The bytes, in network order.
    pub const fn bytes(self) -> [u8; 16] {
        self.0
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// A durable call that could not be made (the fault is raised) never completes.
pub(super) enum Stage<B> {
    Inert(B),
    Waiting(kernel::machine::Call),
    Stopped,
}

impl<B> Stage<B> {
    /// Polls the call, made by `begin` at the first poll.
    pub(super) fn poll(
        &mut self,
        context: &mut std::task::Context<'_>,
        begin: impl FnOnce(B) -> Option<kernel::machine::Call>,
    ) -> std::task::Poll<kernel::machine::Settled> {
        if let Self::Inert(_) = self
            && let Self::Inert(inert) = std::mem::replace(self, Self::Stopped)
            && let Some(call) = begin(inert)
        {
            *self = Self::Waiting(call);
        }
        match self {
            Self::Waiting(call) => std::pin::Pin::new(call).poll(context),
            Self::Inert(_) | Self::Stopped => std::task::Poll::Pending,
        }
    }
}

/// Reads a value from a log.
pub(super) type Read<T> = fn(&Payload) -> Result<T, kernel::InvalidPayload>;

/// Decodes what a frame settled with, or stops the flow: `None` then.
pub(super) fn decoded<T>(
    cx: &Cx,
    frame: Option<FrameId>,
    what: &str,
    value: Result<T, kernel::InvalidPayload>,
) -> Option<T> {
    match value {
        Ok(value) => Some(value),
        Err(reason) => {
            let ty = std::any::type_name::<T>();
            let message = format!("{what} does not read as {ty}: {reason}");
            let report = ParkReport { frame, ..ParkReport::new(Fault::Undecodable, message) };
            cx.raise(report);
            None
        }
    }
}
