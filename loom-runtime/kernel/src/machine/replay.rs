//! Replay: the log says what the flow asked for and what it was told, and the flow must agree.
//! Nothing is committed here; the first event of this owner comes with [`Machine::go_live`].
//!
//! The log is a row of segments: an outcome (or the start), then everything that the flow asked for in the pass
//! after it. A segment is run when the next outcome, or the end of the log, shows that it is complete. Within a
//! segment the two sides are compared as sets; the last one may have been cut by a crash, and then the rest of what
//! the flow asks for is new.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    Machine, Offered, Phase,
    cx::{self, Issue, Op, Settled},
    poll::{Moment, Turn},
};
use crate::{
    Digest, End, Ending, Envelope, Event, Fault, Fingerprints, Forked, FrameId, Migrated, Outcome,
    ParkReport, Payload, Resumed, SourceLine, Status, Upcasted,
};

pub(super) struct Segment {
    cause: Option<(FrameId, Settled)>,
    moment: Moment,
    /// What the log holds of the pass, by frame and whether it was dropped.
    expected: BTreeMap<(FrameId, bool), Expected>,
    /// Forks in the midst of it: the seed of each, and what was held of the pass before it.
    forks: VecDeque<(Digest, BTreeSet<(FrameId, bool)>)>,
}

impl Segment {
    fn new(cause: Option<(FrameId, Settled)>, moment: Moment) -> Self {
        Self { cause, moment, expected: BTreeMap::new(), forks: VecDeque::new() }
    }

    /// What the flow must ask for. It may have lost a marker of changed code: that stands for nothing else.
    fn requests(&self) -> BTreeSet<(FrameId, bool)> {
        let held = self.expected.iter().filter(|(_, expected)| !expected.is_marker());
        held.map(|(key, _)| key.clone()).collect()
    }
}

struct Expected {
    envelope: Envelope,
    /// The fingerprint of the code that wrote it.
    code: u64,
}

impl Expected {
    fn is_marker(&self) -> bool {
        matches!(self.envelope.event, Event::ChangeMarked(_))
    }
}

/// What an event is to a replay.
enum Role {
    /// The flow is told.
    Outcome(FrameId, Settled),
    /// The flow asked.
    Request(FrameId),
    /// The flow dropped.
    Abandon(FrameId),
    /// The flow returned.
    Return,
    /// The flow asked for another run.
    Rollover,
    /// How the run ends is decided.
    Ending,
    /// The engine noted something; the flow has no part in it.
    Passive,
}

fn role(event: &Event) -> Role {
    match event {
        Event::StepCompleted(e) => Role::Outcome(e.frame.clone(), Settled::Completed(e.output.clone())),
        Event::StepFailed(e) if e.retry_at.is_none() => {
            Role::Outcome(e.frame.clone(), Settled::Failed(e.failure.clone()))
        }
        Event::TimerFired(e) => Role::Outcome(e.frame.clone(), Settled::Fired),
        Event::GateAnswered(e) => {
            let (answer, by) = (e.answer.clone(), e.by.clone());
            Role::Outcome(e.frame.clone(), Settled::Answered { answer, by })
        }
        Event::GateExpired(e) => Role::Outcome(e.frame.clone(), Settled::Expired),
        Event::MessageReceived(e) => Role::Outcome(e.frame.clone(), Settled::Received(e.message.clone())),
        Event::ChildSettled(e) => Role::Outcome(e.frame.clone(), settled_child(&e.outcome)),
        Event::CancelRequested(e) => Role::Outcome(cx::cancellation(), Settled::Cancelled(e.clone())),
        Event::MessageAwaited(e) => Role::Request(e.frame.clone()),
        Event::MessageSent(e) => Role::Request(e.frame.clone()),
        Event::UpdateAnswered(e) => Role::Request(e.frame.clone()),
        Event::ChildStarted(e) => Role::Request(e.frame.clone()),
        Event::ChangeMarked(e) => Role::Request(e.frame.marker()),
        Event::ContinuedAsNew(_) => Role::Rollover,
        Event::ExecutionEnding(_) => Role::Ending,
        Event::StepStarted(e) if e.attempt == 1 => Role::Request(e.frame.clone()),
        Event::TimerSet(e) => Role::Request(e.frame.clone()),
        Event::GateOpened(e) => Role::Request(e.frame.clone()),
        Event::DecisionRecorded(e) => Role::Request(e.frame.clone()),
        Event::Domain(e) => Role::Request(e.frame.clone()),
        Event::StepAbandoned(e) => Role::Abandon(e.frame.clone()),
        Event::ExecutionCompleted(_) | Event::ExecutionFailed(_) => Role::Return,
        _ => Role::Passive,
    }
}

/// What the flow is told of a child's end.
pub(super) fn settled_child(outcome: &Outcome) -> Settled {
    match outcome.clone() {
        Outcome::Completed(output) => Settled::Completed(output),
        Outcome::Failed(failure) => Settled::Failed(failure),
        Outcome::Cancelled { reason, by } => Settled::Cancelled(crate::Cancelled { reason, by }),
    }
}

impl Machine {
    /// Takes the next event of the log.
    pub(super) fn replay(&mut self, envelope: &Envelope) -> Offered {
        let Phase::Replaying(segment) = &mut self.phase else {
            return self.fold_rest(envelope);
        };
        let segment = segment.take();
        // This owner's clock may be behind the one that wrote the log.
        self.clock = self.clock.max(envelope.at);
        if let Err(unfoldable) = self.journal.recorded(envelope) {
            self.journal.skip(envelope.sequence);
            self.park(ParkReport::new(Fault::UnreadableLog, unfoldable.to_string()).at(envelope.sequence));
            return Offered::Accepted;
        }
        let segment = match self.advance(segment, envelope) {
            Ok(segment) => segment,
            // An end on record needs no code: the fault is told, not recorded.
            Err(report) if self.state().ending.is_some() => {
                self.fault = Some(report);
                None
            }
            Err(report) => {
                self.park_short(report);
                return Offered::Accepted;
            }
        };
        if self.journal.state().status.is_terminal() {
            self.phase = Phase::Closed(self.journal.state().status, false);
        } else {
            self.phase = Phase::Replaying(segment);
        }
        Offered::Accepted
    }

    /// After a fault in the log the rest of it is only folded, so that the report gets its place at the end.
    fn fold_rest(&mut self, envelope: &Envelope) -> Offered {
        if !self.only_folds() {
            return Offered::Ignored("the log was complete");
        }
        if self.journal.recorded(envelope).is_err() {
            self.journal.skip(envelope.sequence);
        } else if self.misfit && matches!(envelope.event, Event::ExecutionEnding(_)) && !self.is_unreadable()
        {
            (self.phase, self.misfit) = (Phase::Replaying(None), false); // as in `replay`
        }
        if self.state().status.is_terminal() {
            self.phase = Phase::Closed(self.state().status, false);
        }
        Offered::Accepted
    }

    fn only_folds(&self) -> bool {
        self.parks() && !self.lags()
    }

    /// Leaves out what cannot be read. That is told rather than what code has made of the events before.
    pub(super) fn pass_over(&mut self, next: u64, report: ParkReport) -> Offered {
        if !matches!(self.phase, Phase::Replaying(_)) && !self.only_folds() {
            return Offered::Ignored("the log was complete");
        }
        self.journal.skip(next.saturating_sub(1));
        let of_code = |fault| !matches!(fault, Fault::UnreadableLog | Fault::MissingFlow | Fault::Poisoned);
        if self.fault.as_ref().is_none_or(|first| of_code(first.fault)) {
            self.park_unrun(report);
        } else {
            self.misfit |= report.wants.is_some();
        }
        Offered::Accepted
    }

    fn advance(
        &mut self,
        segment: Option<Segment>,
        envelope: &Envelope,
    ) -> Result<Option<Segment>, ParkReport> {
        if let Event::ExecutionStarted(started) = &envelope.event {
            follows(&started.flags, envelope)?;
            return Ok(Some(self.begin_run(
                envelope,
                started.seed,
                started.input.clone(),
                started.input_version,
            )));
        }
        if let (Event::ContinuedAsNew(run), None) = (&envelope.event, &segment) {
            follows(&run.flags, envelope)?;
            return Ok(Some(self.begin_run(envelope, run.seed, run.input.clone(), run.input_version)));
        }
        let Some(mut segment) = segment else { return Ok(None) };
        match role(&envelope.event) {
            Role::Passive => {
                if let Event::ExecutionForked(Forked { seed: Some(seed), .. }) = &envelope.event {
                    segment.forks.push_back((*seed, segment.requests()));
                }
            }
            Role::Request(frame) => {
                segment.expected.insert((frame, false), self.expected(envelope));
            }
            Role::Abandon(frame) => {
                segment.expected.insert((frame, true), self.expected(envelope));
            }
            Role::Outcome(frame, outcome) => {
                let turn = self.run_segment(segment, Some(envelope))?;
                goes_on(envelope, &turn)?;
                return Ok(Some(Segment::new(Some((frame, outcome)), self.moment(envelope))));
            }
            Role::Return => {
                let turn = self.run_segment(segment, Some(envelope))?;
                self.check_return(envelope, &envelope.event, turn)?;
                return Ok(None);
            }
            Role::Ending => {
                let Event::ExecutionEnding(Ending { end, .. }) = &envelope.event else { return Ok(None) };
                // A cancel drops the flow wherever it stands.
                if !matches!(end, End::Cancelled(_)) {
                    let turn = self.run_segment(segment, Some(envelope))?;
                    match end.clone().event() {
                        Ok(closing) => self.check_return(envelope, &closing, turn)?,
                        Err(input) => self.check_rollover(envelope, &input, self.state().code, turn)?,
                    }
                }
                return Ok(None);
            }
            Role::Rollover => {
                let turn = self.run_segment(segment, Some(envelope))?;
                let Event::ContinuedAsNew(run) = &envelope.event else { return Ok(None) };
                follows(&run.flags, envelope)?;
                self.check_rollover(envelope, &run.input, run.code, turn)?;
                return Ok(Some(self.begin_run(envelope, run.seed, run.input.clone(), run.input_version)));
            }
        }
        Ok(Some(segment))
    }

    /// Where a pass stands that an event of the log caused.
    fn moment(&self, envelope: &Envelope) -> Moment {
        Moment { at: envelope.at, events: envelope.sequence + 1 - self.state().base }
    }

    /// The flow from the start of a run, to be polled once the run's first requests are known.
    fn begin_run(&mut self, first: &Envelope, seed: Digest, input: Payload, version: u32) -> Segment {
        self.respawn(seed, input, version);
        Segment::new(None, self.moment(first))
    }

    fn expected(&self, envelope: &Envelope) -> Expected {
        Expected { envelope: envelope.clone(), code: self.state().code.body }
    }

    /// Runs a segment and compares. With `next`, the event after it, the segment is whole and must match
    /// exactly; without, the log may have been cut inside it. Answers what the flow asked for beyond the log.
    fn run_segment(&mut self, mut segment: Segment, next: Option<&Envelope>) -> Result<Turn, ParkReport> {
        {
            let mut inner = self.cx.shared.lock();
            inner.decisions.clear();
            inner.ahead = next.is_none().then(|| segment.requests());
            inner.forks = std::mem::take(&mut segment.forks);
            for ((frame, _), expected) in &segment.expected {
                match &expected.envelope.event {
                    Event::DecisionRecorded(decision) => {
                        inner.decisions.insert(frame.clone(), decision.value.clone());
                    }
                    Event::ChangeMarked(_) => {
                        inner.changes.insert(frame.clone(), true);
                    }
                    _ => {}
                }
            }
        }
        let cause = segment.cause.take();
        let mut turn =
            self.pass(cause.as_ref().map(|(frame, outcome)| (frame, outcome.clone())), segment.moment)?;
        {
            let mut inner = self.cx.shared.lock();
            if let Some((seed, _)) = inner.forks.pop_back() {
                inner.seed = Some(seed);
                inner.forks.clear();
            }
        }
        let mut fresh = Vec::new();
        for issue in turn.issued {
            let key = match &issue {
                Issue::Requested(frame) => (frame.clone(), false),
                Issue::Abandoned(frame) => (frame.clone(), true),
            };
            match segment.expected.remove(&key) {
                Some(expected) => self.check_request(&key.0, &expected)?,
                None => fresh.push(issue),
            }
        }
        // What a marker led to is held by itself: without the marker, the code must still come to it.
        let lost = segment.expected.extract_if(.., |_, expected| expected.is_marker());
        self.cx.shared.lock().unasked_changes.extend(lost.map(|((frame, _), _)| frame));
        let unasked = segment.expected.values().next().map(|expected| &expected.envelope);
        match (unasked, fresh.first(), next) {
            (Some(envelope), asked, _) => {
                let found = asked.map_or_else(|| "did not ask for it".into(), |issue| self.describe(issue));
                let message = "the code no longer does what the log holds";
                let report = diverged(envelope, envelope.event.frame(), message, found);
                return Err(ParkReport { near: asked.and_then(|issue| self.site(issue.frame())), ..report });
            }
            (None, Some(issue), Some(envelope)) => {
                let found = self.describe(issue);
                let message = "the code asks for something that the log does not hold";
                let report = diverged(envelope, Some(issue.frame()), message, found);
                return Err(ParkReport { near: self.site(issue.frame()), ..report });
            }
            _ => {}
        }
        turn.issued = fresh;
        self.unless_stuck(turn)
    }

    /// The log and the code ask for the same thing under this id. Only code that wrote the event itself must come to
    /// the same input: other code may compute another one for what has been asked for, and gets the recorded outcome.
    fn check_request(&self, frame: &FrameId, expected: &Expected) -> Result<(), ParkReport> {
        let Expected { envelope, code } = expected;
        let is_other_code = *code != self.config.code.body;
        let inner = self.cx.shared.lock();
        let Some(slot) = inner.slots.get(frame) else { return Ok(()) };
        let (message, found) = match (&envelope.event, &slot.op) {
            (Event::StepAbandoned(_), _)
            | (Event::TimerSet(_), Op::Timer(_))
            | (Event::DecisionRecorded(_), Op::Decision(_))
            | (Event::UpdateAnswered(_), Op::Reply { .. })
            | (Event::ChangeMarked(_), Op::Change(_)) => return Ok(()),
            (Event::MessageAwaited(e), Op::Receive { topic, .. }) if e.topic == *topic => return Ok(()),
            (Event::MessageSent(e), Op::Tell { to, topic, .. }) if (&e.to, &e.topic) == (to, topic) => {
                return Ok(());
            }
            // An input of another shape is another one, whoever computes it.
            (Event::ChildStarted(e), Op::Child { flow, version, .. })
                if e.flow == *flow
                    && (e.digest == slot.digest || is_other_code || e.input_version != *version) =>
            {
                return Ok(());
            }
            (Event::ChildStarted(e), Op::Child { flow, .. }) if e.flow == *flow => (
                "the input differs from the recorded one",
                format!("{} with input digest {}", slot.op.describe(), slot.digest),
            ),
            (Event::GateOpened(e), Op::Gate { gate, .. }) if e.gate == *gate => return Ok(()),
            (Event::Domain(e), Op::Domain { name, .. }) if e.name == *name => return Ok(()),
            (Event::StepStarted(e), Op::Step { step, .. })
                if e.step == *step && (e.digest == slot.digest || is_other_code) =>
            {
                return Ok(());
            }
            (Event::StepStarted(e), Op::Step { step, .. }) if e.step == *step => (
                "the input differs from the recorded one",
                format!("{} with input digest {}", slot.op.describe(), slot.digest),
            ),
            _ => ("the code asks for another thing under this id", slot.op.describe()),
        };
        let near = Some(slot.site.clone());
        Err(ParkReport { near, ..diverged(envelope, Some(frame), message, found) })
    }

    /// As with inputs: other code than that which wrote the end may compute another value, but not another kind of end.
    fn check_return(&self, envelope: &Envelope, closing: &Event, turn: Turn) -> Result<(), ParkReport> {
        let is_other_code = self.state().code.body != self.config.code.body;
        let found = match (closing, turn.returned) {
            (Event::ExecutionCompleted(_), Some(Ok(_))) if is_other_code => return Ok(()),
            (Event::ExecutionFailed(_), Some(Err(_))) if is_other_code => return Ok(()),
            (_, None) => "the flow still waits".to_owned(),
            (Event::ExecutionCompleted(e), Some(Ok(output))) if e.output == output => return Ok(()),
            (Event::ExecutionFailed(e), Some(Err(failure))) if e.failure == failure => return Ok(()),
            (_, Some(Ok(output))) => format!("returned a value with digest {}", output.digest()),
            (_, Some(Err(failure))) => format!("returned the error {}", failure.code),
        };
        Err(diverged(envelope, None, "the outcome differs from the recorded one", found))
    }

    fn check_rollover(
        &self,
        envelope: &Envelope,
        next: &Payload,
        code: Fingerprints,
        turn: Turn,
    ) -> Result<(), ParkReport> {
        let is_other_code = code.body != self.config.code.body;
        let found = match (turn.next_run, turn.returned) {
            (Some(input), _) if input == *next || is_other_code => return Ok(()),
            (Some(input), _) => format!("asked for another run with input digest {}", input.digest()),
            (None, Some(_)) => "the flow returned".into(),
            (None, None) => "the flow still waits".into(),
        };
        Err(diverged(envelope, None, "the code no longer begins the run that the log holds", found))
    }

    fn site(&self, frame: &FrameId) -> Option<SourceLine> {
        self.cx.shared.lock().slots.get(frame).map(|slot| slot.site.clone())
    }

    fn describe(&self, issue: &Issue) -> String {
        let inner = self.cx.shared.lock();
        match issue {
            Issue::Requested(frame) => {
                let what = inner.slots.get(frame).map_or_else(String::new, |slot| slot.op.describe());
                format!("asked for {what} as `{frame}`")
            }
            Issue::Abandoned(frame) => format!("dropped `{frame}`"),
        }
    }

    /// The log has no more events: run what is held back, then start what is open.
    pub(super) fn go_live(&mut self, worker: String, reason: String) -> Offered {
        let ends_anyway = self.ends_without_the_flow();
        let segment = match &mut self.phase {
            Phase::Replaying(segment) => segment.take(),
            _ if ends_anyway => None,
            _ => return Offered::Ignored("it is live already"),
        };
        self.phase = Phase::Live;
        let (status, code) = (self.state().status, self.state().code);
        let fresh_start = self.state().next == 1;
        // It has left a message to others before, and nobody has come: it is for this code to judge.
        let is_left = |report: &ParkReport| {
            report.fault == Fault::Undecodable
                && report.code == Some(format!("{:016x}", self.config.code.body))
        };
        self.home =
            (code != self.config.code && !self.state().parked.as_ref().is_some_and(is_left)).then_some(code);
        let resumed = if fresh_start && status == Status::Running {
            Ok(())
        } else {
            self.commit(Event::ExecutionResumed(Resumed { worker, reason })).map(drop)
        };
        if self.state().ending.is_some() {
            self.go_on_ending();
            return Offered::Accepted;
        }
        let ran = resumed
            .and_then(|()| segment.map(|segment| self.run_segment(segment, None)).transpose())
            .and_then(|turn| {
                // Only code that has proved to agree with the log is noted as going on with it.
                let to = self.config.code;
                if code != to {
                    let (from, newest) = (self.cx.input_version().0, self.config.input_version);
                    let input = (from != newest).then_some(Upcasted { from, to: newest });
                    self.commit(Event::ExecutionMigrated(Migrated { from: code, to, input }))?;
                }
                Ok(turn)
            });
        match ran {
            Ok(turn) => {
                if let Some(turn) = turn {
                    self.accept(turn);
                }
                self.restart_lonely_children();
                if matches!(self.phase, Phase::Live)
                    && let Err(report) = self.restart_open_frames()
                {
                    self.park(report);
                }
                self.owe_the_branch();
                self.settle_owed();
            }
            Err(report) => self.park_short(report),
        }
        Offered::Accepted
    }
}

/// Whether this build knows the numbered behaviours that hold from here on: there are none yet.
fn follows(flags: &[u16], at: &Envelope) -> Result<(), ParkReport> {
    let Some(flag) = flags.first() else { return Ok(()) };
    let message = format!("the log follows behaviour {flag} of the engine, which this build does not know");
    Err(ParkReport::new(Fault::UnreadableLog, message).at(at.sequence))
}

/// A flow that has returned, or asked for another run, is told nothing more.
fn goes_on(next: &Envelope, turn: &Turn) -> Result<(), ParkReport> {
    let found = match (&turn.returned, &turn.next_run) {
        (None, None) => return Ok(()),
        (Some(_), _) => "the flow returned",
        (None, Some(_)) => "the flow asked for another run",
    };
    Err(diverged(next, None, "the flow ended before the log does", found.to_owned()))
}

fn diverged(at: &Envelope, frame: Option<&FrameId>, message: &str, found: String) -> ParkReport {
    let holds = match (at.event.frame(), &at.event) {
        (Some(id), Event::StepStarted(e)) => {
            format!("{} of step `{}` as `{id}`", at.event.kind().name(), e.step)
        }
        (Some(id), _) => format!("{} of `{id}`", at.event.kind().name()),
        (None, _) => at.event.kind().name().to_owned(),
    };
    let report = ParkReport::new(Fault::Divergence, message)
        .at(at.sequence)
        .versus(format!("{holds} at event {}", at.sequence), found);
    match frame {
        Some(frame) => report.frame(frame),
        None => report,
    }
}
