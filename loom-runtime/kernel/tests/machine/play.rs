//! One owner of one execution, led by hand: a machine, the log under it, and what it asked for.
//! Not a schedule: the test says what happens next, or [`crate::world`] draws it.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use kernel::{
    Batch, Digest, EffectError, Envelope, Event, ExecutionId, Fault, Fingerprints, FrameKind, Kind, Machine,
    Message, Meta, Outcome, Parent, ParkReport, StartChild, Started, State, Status, Timestamp,
    machine::{AttemptEnd, Command, Config, Input, Invoke, Offered, Verdict},
};
use serde_json::{Value, json};

use crate::calls::{Flow, id, payload};

pub(crate) const CODE: Fingerprints = Fingerprints { body: 1, structure: 1 };

/// An owner of the execution `test`.
pub(crate) struct Play {
    pub(crate) machine: Machine,
    /// The durable events.
    pub(crate) log: Vec<Envelope>,
    /// Attempts that were handed out and have not ended.
    pub(crate) running: Vec<Invoke>,
    /// Everything that was handed out, and how long the durable log was then.
    pub(crate) invoked: Vec<(Invoke, u64)>,
    /// The run of each of those, by its first event.
    pub(crate) bases: Vec<u64>,
    pub(crate) revoked: Vec<(String, u32)>,
    /// Revoked attempts go on until the test ends them.
    pub(crate) unheeding: bool,
    /// Children that were to be started.
    pub(crate) children: Vec<StartChild>,
    /// Executions that were to be watched, and for whom.
    pub(crate) watched: Vec<(ExecutionId, Parent)>,
    pub(crate) batches: Vec<Batch>,
    pub(crate) in_flight: Option<Batch>,
    pub(crate) closed: Option<Status>,
    pub(crate) now: Timestamp,
    pub(crate) alarms: Arc<AtomicUsize>,
}

/// A log that holds its first event.
pub(crate) fn started() -> Vec<Envelope> {
    let event = Event::ExecutionStarted(Started {
        flow: "test".into(),
        input: payload(json!(null)),
        input_version: 1,
        code: CODE,
        seed: Digest::of(b"seed"),
        parent: None,
        flags: Vec::new(),
    });
    vec![envelope(0, Timestamp::EPOCH, event)]
}

/// The same, of an execution that another one has started.
pub(crate) fn started_by(parent: &str, frame: &str) -> Vec<Envelope> {
    let mut log = started();
    if let Event::ExecutionStarted(started) = &mut log[0].event {
        started.parent = Some(Parent { execution: parent.parse().unwrap(), frame: id(frame) });
    }
    log
}

pub(crate) fn execution() -> ExecutionId {
    "test".parse().unwrap()
}

pub(crate) fn envelope(sequence: u64, at: Timestamp, event: Event) -> Envelope {
    Envelope { execution: execution(), sequence, at, event, meta: Meta::default() }
}

impl Play {
    /// An owner who has read `log`, and is not live yet.
    pub(crate) fn reading(log: &[Envelope], flow: &Flow, generation: u64, code: Fingerprints) -> Self {
        Self::reading_up_to(100_000, log, flow, generation, code)
    }

    /// The same, with a limit to the events of a run.
    pub(crate) fn reading_up_to(
        history: u64,
        log: &[Envelope],
        flow: &Flow,
        generation: u64,
        code: Fingerprints,
    ) -> Self {
        let alarms = Arc::new(AtomicUsize::new(0));
        let rung = alarms.clone();
        let alarm = Arc::new(move || {
            rung.fetch_add(1, Ordering::SeqCst);
        });
        let flow = flow.clone();
        let config = Config { execution: execution(), generation, code, input_version: 1, history, alarm };
        let mut machine = Machine::new(config, Box::new(move |cx, input| flow(cx, input)));
        let now = log.last().map_or(Timestamp::EPOCH, |last| last.at);
        for event in log {
            // This owner's clock is behind all others: that must not matter.
            machine.offer(Input::Recorded(event.clone()), Timestamp::EPOCH);
        }
        let log = log.to_vec();
        let (running, invoked, revoked, children, watched, batches) = Default::default();
        Self {
            machine,
            log,
            running,
            invoked,
            revoked,
            unheeding: false,
            bases: Vec::new(),
            children,
            watched,
            batches,
            in_flight: None,
            closed: None,
            now,
            alarms,
        }
    }

    /// The first owner of a new execution, driven until nothing moves by itself.
    pub(crate) fn start(flow: &Flow) -> Self {
        Self::resume(&started(), flow)
    }

    /// An owner who goes on from `log`.
    pub(crate) fn resume(log: &[Envelope], flow: &Flow) -> Self {
        Self::resume_with(log, flow, CODE)
    }

    pub(crate) fn resume_with(log: &[Envelope], flow: &Flow, code: Fingerprints) -> Self {
        let mut play = Self::reading(log, flow, log.len() as u64, code);
        play.live();
        play.pump();
        play
    }

    pub(crate) fn live(&mut self) {
        self.offer(Input::Live { worker: "w".into(), reason: "test".into() });
    }

    pub(crate) fn offer(&mut self, input: Input) -> Offered {
        self.machine.offer(input, self.now)
    }

    /// Carries one command out, except the wait for a batch.
    pub(crate) fn command(&mut self) -> bool {
        let Some(command) = self.machine.next_command() else { return false };
        match command {
            Command::Append(batch) => {
                assert!(self.in_flight.is_none(), "two batches in flight");
                let next = self.log.last().map_or(0, |last| last.sequence + 1);
                assert_eq!(batch.first, next, "a batch goes on where the log ends");
                for (event, sequence) in batch.events.iter().zip(batch.first..) {
                    assert_eq!(event.sequence, sequence, "sequences are dense");
                }
                assert!(self.batches.iter().all(|earlier| earlier.id != batch.id), "a batch id came twice");
                self.batches.push(batch.clone());
                self.in_flight = Some(batch);
            }
            Command::Invoke(invoke) => {
                self.invoked.push((invoke.clone(), self.log.len() as u64));
                self.bases.push(self.machine.state().base);
                self.running.push(invoke);
            }
            Command::Revoke { frame, attempt } => {
                assert!(self.invoked.iter().any(|(i, _)| i.frame == frame && i.attempt == attempt));
                self.revoked.push((frame.to_string(), attempt));
                if self.unheeding {
                    return true;
                }
                self.running.retain(|r| r.frame != frame || r.attempt != attempt);
                let end = AttemptEnd::Stopped(EffectError::Cancelled);
                self.offer(Input::Ended { frame, attempt, end });
            }
            Command::StartChild(child) => self.children.push(child),
            Command::WatchChild { child, by } => self.watched.push((child, by)),
            Command::Closed(status) => self.closed = Some(status),
        }
        true
    }

    pub(crate) fn commands(&mut self) {
        while self.command() {}
    }

    /// The batch in flight becomes durable.
    pub(crate) fn write(&mut self) {
        let batch = self.in_flight.take().expect("a batch in flight");
        self.log.extend(batch.events);
        self.offer(Input::Written);
    }

    pub(crate) fn refuse(&mut self) {
        self.in_flight.take().expect("a batch in flight");
        self.offer(Input::Refused);
    }

    /// Carries commands out until there are none, with everything that was asked for written.
    pub(crate) fn pump(&mut self) {
        self.commands();
        while self.in_flight.is_some() {
            self.write();
            self.commands();
        }
    }

    /// Everything that the machine holds becomes durable.
    pub(crate) fn flush(&mut self) {
        self.machine.flush();
        self.pump();
        assert!(!self.machine.lags());
    }

    /// The running attempt of a frame ends.
    pub(crate) fn end(&mut self, frame: &str, end: AttemptEnd) -> Offered {
        let at = self.running.iter().position(|r| r.frame == id(frame));
        let invoke = self.running.remove(at.unwrap_or_else(|| panic!("`{frame}` does not run")));
        self.offer(Input::Ended { frame: invoke.frame, attempt: invoke.attempt, end })
    }

    /// A step returns, and what follows is carried out.
    pub(crate) fn done(&mut self, frame: &str, output: Value) {
        assert_eq!(self.end(frame, AttemptEnd::Returned(payload(output))), Offered::Accepted);
        self.pump();
    }

    /// Time passes, by so many seconds.
    pub(crate) fn wait(&mut self, seconds: i64) -> Offered {
        self.now = Timestamp::from_micros(self.now.as_micros() + seconds * 1_000_000);
        let offered = self.offer(Input::Tick);
        self.pump();
        offered
    }

    pub(crate) fn answer(&mut self, frame: &str, answer: Value, item: u64) -> Offered {
        let (frame, answer, by) = (id(frame), payload(answer), "ann".into());
        self.offer(Input::Answer { run: 0, frame, answer, by, item })
    }

    pub(crate) fn verdict(&mut self, frame: &str, verdict: Verdict, item: u64) -> Offered {
        self.offer(Input::Verdict { run: None, frame: id(frame), verdict, by: "ann".into(), item })
    }

    pub(crate) fn cancel(&mut self, item: u64) -> Offered {
        self.offer(Input::Cancel { reason: "enough".into(), by: "ann".into(), force: false, item })
    }

    /// A cancel that no flow is asked about.
    pub(crate) fn cancel_by_force(&mut self, item: u64) -> Offered {
        self.offer(Input::Cancel { reason: "at once".into(), by: "bob".into(), force: true, item })
    }

    pub(crate) fn message(&mut self, topic: &str, body: Value, item: u64) -> Offered {
        let (topic, body, by) = (topic.into(), payload(body), "ann".into());
        self.offer(Input::Message { message: Message { topic, body, by, reply_to: None }, item })
    }

    /// The child of a frame returns.
    pub(crate) fn child_done(&mut self, frame: &str, output: Value, item: u64) -> Offered {
        let outcome = Outcome::Completed(payload(output));
        let (frame, child) = (id(frame), self.child_of(frame));
        self.offer(Input::ChildSettled { frame, child, outcome, item })
    }

    /// The child that a frame has started.
    pub(crate) fn child_of(&self, frame: &str) -> ExecutionId {
        match &self.state().frames[&id(frame)].kind {
            FrameKind::Child { child, .. } => child.clone(),
            other => panic!("`{frame}` is {other:?}"),
        }
    }

    /// The inbox items that the log has taken over.
    pub(crate) fn consumed(&self) -> Vec<u64> {
        self.batches.iter().flat_map(|batch| batch.consumed.clone()).collect()
    }

    /// What other executions were told, as `KEY to WHOM`.
    pub(crate) fn posted(&self) -> Vec<String> {
        let posts = self.batches.iter().flat_map(|batch| &batch.posts);
        posts.map(|post| format!("{} to {}", post.key, post.to)).collect()
    }

    /// Nothing runs here: let go.
    pub(crate) fn suspend(&mut self) -> Status {
        assert_eq!(self.offer(Input::Suspend), Offered::Accepted);
        self.pump();
        self.closed.expect("closed")
    }

    pub(crate) fn state(&self) -> &State {
        self.machine.state()
    }

    /// What the execution returned.
    #[track_caller]
    pub(crate) fn output(&self) -> Value {
        assert_eq!(self.closed, Some(Status::Completed), "{:?}", self.state().parked);
        match &self.log.last().unwrap().event {
            Event::ExecutionCompleted(e) => e.output.decode().unwrap(),
            other => panic!("the log ends with {other:?}"),
        }
    }

    /// Why the execution is parked.
    #[track_caller]
    pub(crate) fn parked(&self, fault: Fault) -> ParkReport {
        assert_eq!(self.closed, Some(Status::Parked), "expected {fault}: {:?}", self.state());
        let report = self.state().parked.clone().unwrap();
        assert_eq!(report.fault, fault, "{report}");
        report
    }

    /// The events of the log as `KIND frame`.
    pub(crate) fn told(&self) -> Vec<String> {
        told_log(&self.log)
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.log.iter().any(|e| e.event.kind() == kind)
    }

    /// The frames that run, in the order of their start.
    pub(crate) fn runs(&self) -> Vec<String> {
        self.running.iter().map(|r| r.frame.to_string()).collect()
    }

    /// The frames that are open, by what the log says.
    pub(crate) fn pending(&self) -> BTreeSet<String> {
        pending(self.state())
    }
}

pub(crate) fn told_log(log: &[Envelope]) -> Vec<String> {
    let tell = |e: &Envelope| match e.event.frame() {
        Some(frame) => format!("{} {frame}", e.event.kind().name()),
        None => e.event.kind().name().to_owned(),
    };
    log.iter().map(tell).collect()
}

/// The frames that wait for something.
pub(crate) fn pending(state: &State) -> BTreeSet<String> {
    use kernel::FrameStatus::{Abandoned, Settled};
    let open = state.frames.iter().filter(|(_, f)| !matches!(f.status, Settled | Abandoned));
    open.map(|(id, _)| id.to_string()).collect()
}
