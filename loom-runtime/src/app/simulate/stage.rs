//! The stage on which a simulation is played: one machine, a log in memory, and a clock that moves when it has to.
//! Not a driver: there is no store, no task, and no way to a step's body.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kernel::{
    EffectError, Envelope, ExecutionId, Frame, FrameId, FrameKind, FrameStatus, Machine, Message, Outcome,
    Payload, RetryClass, Timestamp,
    machine::{AttemptEnd, Command, Config, FlowFuture, Input, Invoke},
};

use super::{Asked, Script, Simulation, choices::Given, past::Past, script::SharedScript};
use crate::{
    App, Ctx, FlowDescriptor, Registry,
    app::{
        fork::{ForkError, Plan},
        gate_place,
    },
    budget,
    ports::StoreError,
};

/// No simulation gets longer than this.
const MOST_EVENTS: usize = 100_000;

pub(super) struct Stage {
    machine: Machine,
    flow: &'static FlowDescriptor,
    registry: Registry,
    past: Arc<Past>,
    script: SharedScript,
    log: Vec<Envelope>,
    now: Timestamp,
    rung: Arc<AtomicBool>,
    attempts: VecDeque<Invoke>,
    children: VecDeque<FrameId>,
    /// The schemas of the open gates.
    schemas: BTreeMap<FrameId, Payload>,
    items: u64,
}

impl Stage {
    /// Everything is set: the log is replayed, and the flow stands where it was cut.
    pub(super) fn new(
        app: &App,
        flow: &'static FlowDescriptor,
        execution: &ExecutionId,
        plan: Plan,
        past: Past,
        mut script: Script,
    ) -> Result<Self, ForkError> {
        let log = plan.records.iter().map(|record| Envelope::decode(execution, record));
        let log: Vec<_> = log.collect::<Result<_, _>>().map_err(|e| StoreError::Corrupt(e.to_string()))?;
        let (limits, rung) = (app.engine.limits, Arc::new(AtomicBool::new(false)));
        let bell = rung.clone();
        let config = Config {
            execution: execution.clone(),
            generation: 1,
            code: app.engine.code(flow.name),
            input_version: flow.versions.current,
            history: limits.history,
            alarm: Arc::new(move || bell.store(true, Ordering::Release)),
        };
        let messages = std::mem::take(&mut script.messages);
        let (past, script) = (Arc::new(past), SharedScript::new(script));
        let choices = Arc::new(Given { script: script.clone(), past: past.clone() });
        let (run, known) = (flow.run, app.engine.registry.clone());
        let spawn = Box::new(move |cx, input| -> FlowFuture {
            // The host's own negotiator may note what it grants.
            let budgets = Arc::new(budget::everything);
            let ctx = Ctx::new(cx, limits, flow, known.clone(), budgets, Some(choices.clone()));
            Box::pin(tokio::task::unconstrained(run(ctx, input)))
        });
        let mut stage = Self {
            machine: Machine::new(config, spawn),
            flow,
            registry: app.registry().clone(),
            past,
            script,
            now: log.last().map_or(Timestamp::EPOCH, |last| last.at),
            log: Vec::new(),
            rung,
            attempts: VecDeque::new(),
            children: VecDeque::new(),
            schemas: BTreeMap::new(),
            items: 0,
        };
        let base = usize::try_from(plan.base).unwrap_or(usize::MAX).min(log.len());
        log[..base].clone_into(&mut stage.log);
        for envelope in log.into_iter().skip(base) {
            stage.offer(Input::Recorded(envelope.clone()));
            stage.record(envelope);
        }
        stage.offer(Input::Live { worker: "simulation".into(), reason: "simulated".into() });
        for (topic, body) in messages {
            let (by, reply_to, item) = ("simulation".to_owned(), None, stage.item());
            stage.offer(Input::Message { message: Message { topic, body, by, reply_to }, item });
        }
        Ok(stage)
    }

    /// Plays to the end: of the flow, or of what is answered.
    pub(super) async fn run(mut self) -> Result<Simulation, ForkError> {
        let mut turns = 0_u32;
        loop {
            let closed = self.obey();
            let cut_off = self.log.len() >= MOST_EVENTS;
            if closed || cut_off || !self.go_on()? {
                return Ok(self.curtain(cut_off && !closed));
            }
            turns += 1;
            if turns.is_multiple_of(64) {
                tokio::task::yield_now().await; // others want this thread too
            }
        }
    }

    /// Does everything that the machine says. Answers whether it is done.
    fn obey(&mut self) -> bool {
        while let Some(command) = self.machine.next_command() {
            match command {
                Command::Append(batch) => {
                    batch.events.into_iter().for_each(|envelope| self.record(envelope));
                    self.offer(Input::Written);
                }
                Command::Invoke(invoke) => self.attempts.push_back(invoke),
                Command::Revoke { frame, attempt } => {
                    self.attempts.retain(|waiting| waiting.frame != frame);
                    let end = AttemptEnd::Stopped(EffectError::Cancelled);
                    self.offer(Input::Ended { frame, attempt, end });
                }
                Command::StartChild(start) => self.children.push_back(start.parent.frame),
                Command::WatchChild { by, .. } => self.children.push_back(by.frame),
                Command::Closed(_) => return true,
            }
        }
        false
    }

    /// Lets the next thing happen: an answer, or the time when a timer fires. Answers whether there was one.
    fn go_on(&mut self) -> Result<bool, ForkError> {
        // Each is asked about once: what has no answer now has none later.
        while let Some(invoke) = self.attempts.pop_front() {
            if let Some(end) = self.attempt(&invoke)? {
                self.offer(Input::Ended { frame: invoke.frame, attempt: invoke.attempt, end });
                return Ok(true);
            }
        }
        // Those that the flow leaves behind are told to stop, and so they do.
        let left = self.machine.state().awaited().next().map(|(frame, child)| (frame.clone(), child.clone()));
        if let Some((frame, child)) = left {
            let (reason, by) = ("the simulated flow has ended".to_owned(), "simulation".to_owned());
            let (outcome, item) = (Outcome::Cancelled { reason, by }, self.item());
            self.offer(Input::ChildSettled { frame, child, outcome, item });
            return Ok(true);
        }
        while let Some(frame) = self.children.pop_front() {
            if let Some((child, outcome)) = self.child(&frame)? {
                let item = self.item();
                self.offer(Input::ChildSettled { frame, child, outcome, item });
                return Ok(true);
            }
        }
        // A gate is answered once it is on record: then its schema is known.
        if self.machine.lags() {
            self.machine.flush();
            return Ok(true);
        }
        if let Some((frame, answer)) = self.gate()? {
            let (run, by, item) = (self.machine.state().base, "simulation".to_owned(), self.item());
            self.offer(Input::Answer { run, frame, answer, by, item });
            return Ok(true);
        }
        if !self.asked().is_empty() {
            return Ok(false);
        }
        match self.machine.next_due() {
            Some(due) => {
                self.now = due.max(self.now);
                self.offer(Input::Tick);
                Ok(true)
            }
            // It waits for a cancel, say; or for nothing, and is parked.
            None => Ok(matches!(self.offer(Input::Suspend), kernel::machine::Offered::Accepted)),
        }
    }

    /// How an attempt ends, if anybody knows.
    fn attempt(&mut self, invoke: &Invoke) -> Result<Option<AttemptEnd>, ForkError> {
        let (frame, step) = (&invoke.frame, &invoke.step);
        let run = self.machine.state().run;
        let mut given = self.script.lock().stub(frame, step);
        if given.is_none() {
            let FrameKind::Step { digest, .. } =
                self.known(frame).map_or(FrameKind::Timer, |f| f.kind.clone())
            else {
                return Ok(None);
            };
            match self.past.outcome(run, frame, step, digest) {
                Some(Outcome::Completed(output)) => return Ok(Some(AttemptEnd::Returned(output))),
                Some(Outcome::Failed(failure)) => {
                    return Ok(Some(AttemptEnd::Failed { failure, class: RetryClass::Permanent }));
                }
                Some(Outcome::Cancelled { .. }) | None => {}
            }
            given = self.script.lock().answer.as_mut().and_then(|answer| answer(invoke));
        }
        let Some(output) = given else { return Ok(None) };
        let fit = self.registry.step(step).map_or(Ok(()), |step| step.output.check(&output));
        fit.map_err(|reason| ForkError::Invalid { frame: frame.clone(), reason })?;
        Ok(Some(AttemptEnd::Returned(output)))
    }

    /// How a child ends, if anybody knows.
    fn child(&mut self, frame: &FrameId) -> Result<Option<(ExecutionId, Outcome)>, ForkError> {
        let (run, known) = (self.machine.state().run, self.known(frame).cloned());
        let Some(Frame { kind: FrameKind::Child { child, flow, digest, .. }, .. }) = known else {
            return Ok(None);
        };
        let stub = self.script.lock().stub(frame, &flow);
        if let Some(output) = stub {
            let fit = self.registry.flow(&flow).map_or(Ok(()), |flow| flow.output.check(&output));
            fit.map_err(|reason| ForkError::Invalid { frame: frame.clone(), reason })?;
            return Ok(Some((child, Outcome::Completed(output))));
        }
        Ok(self.past.outcome(run, frame, &flow, digest).map(|outcome| (child, outcome)))
    }

    /// The next open gate that the script has an answer to.
    fn gate(&mut self) -> Result<Option<(FrameId, Payload)>, ForkError> {
        let mut script = self.script.lock();
        let open = self.machine.state().frames.iter().filter(|(_, f)| f.status == FrameStatus::Open);
        let gates = open.filter_map(|(frame, f)| match &f.kind {
            FrameKind::Gate { gate } => Some((frame, gate)),
            _ => None,
        });
        let answered = gates.filter_map(|(frame, gate)| {
            let names = [frame.as_str(), gate.as_str()];
            let name = names.into_iter().find(|name| script.gates.contains_key(*name))?;
            Some((frame.clone(), name.to_owned(), gate.clone()))
        });
        let Some((frame, name, gate)) = answered.min() else { return Ok(None) };
        let answer = script.gates[&name].clone();
        script.used.insert(name);
        drop(script);
        if let Some(schema) = self.schemas.get(&frame).and_then(|schema| schema.decode().ok()) {
            gate_place::check(Some(self.flow), (&gate, &schema), &answer)
                .map_err(|reason| ForkError::Invalid { frame: frame.clone(), reason })?;
        }
        Ok(Some((frame, answer)))
    }

    /// What waits for an answer that nobody has.
    fn asked(&self) -> Vec<Asked> {
        let script = self.script.lock();
        let frames = self.machine.state().frames.iter();
        let open = frames.filter(|(_, f)| matches!(f.status, FrameStatus::Open | FrameStatus::InDoubt));
        let asks = open.filter(|(frame, f)| {
            let name = match &f.kind {
                FrameKind::Step { step, .. } => step,
                FrameKind::Gate { gate } => gate,
                FrameKind::Message { topic } => topic,
                FrameKind::Child { flow, .. } => flow,
                _ => return false,
            };
            !script.is_silent(frame, name)
        });
        let asked = asks.map(|(frame, f)| Asked {
            frame: frame.clone(),
            kind: f.kind.clone(),
            input: f.input.clone(),
        });
        let withheld =
            self.machine.withheld().into_iter().filter(|frame| !script.is_silent(frame, frame.base()));
        let decisions = withheld.map(|frame| Asked { frame, kind: FrameKind::Decision, input: None });
        let mut asked: Vec<_> = asked.chain(decisions).collect();
        asked.sort_by(|a, b| a.frame.cmp(&b.frame));
        asked
    }

    fn curtain(self, cut_off: bool) -> Simulation {
        // An end, or a fault, asks for nothing.
        let state = self.machine.state().clone();
        let over = state.status.is_terminal() || state.parked.is_some();
        let asked = if over || cut_off { Vec::new() } else { self.asked() };
        let script = self.script.lock();
        let unused =
            script.stubs.keys().chain(script.gates.keys()).filter(|name| !script.used.contains(*name));
        let unused = unused.cloned().collect();
        drop(script);
        let outcome = state.outcome.clone();
        Simulation { state, log: self.log, outcome, asked, unused, cut_off }
    }

    fn known(&self, frame: &FrameId) -> Option<&Frame> {
        self.machine.state().frames.get(frame)
    }

    fn record(&mut self, envelope: Envelope) {
        if let kernel::Event::GateOpened(opened) = &envelope.event {
            self.schemas.insert(opened.frame.clone(), opened.schema.clone());
        }
        self.log.push(envelope);
    }

    fn item(&mut self) -> u64 {
        self.items += 1;
        self.items
    }

    fn offer(&mut self, input: Input) -> kernel::machine::Offered {
        let offered = self.machine.offer(input, self.now);
        if self.rung.swap(false, Ordering::AcqRel) {
            self.machine.offer(Input::Alarm, self.now);
        }
        offered
    }
}
