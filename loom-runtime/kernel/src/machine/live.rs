//! Live transitions: each input becomes events, one delivery and what the flow asks for next.
//! Not the waiting for them: the driver brings inputs, this never blocks.

use std::collections::{BTreeSet, VecDeque};

use super::{
    Active, AttemptEnd, Early, Input, Machine, Offered, Phase, Verdict,
    cx::{Due, Issue, Op, Settled},
    poll::{Moment, Turn},
    replay::settled_child,
};
use crate::{
    Abandoned, ChangeMarked, ChildSettled, Decision, Delivery, Discarded, Domain, EffectDenied, EffectError,
    Event, Failed, Fault, Fired, FrameId, FrameKind, FrameStatus, GateAnswered, GateOpened, InDoubt, Outcome,
    ParkReport, Payload, RetryClass, RetryPolicy, StepCompleted, StepFailed, StepStarted, TimerSet,
    UnfoldableEvent,
    planted::{Bug, as_kept, planted},
};

/// What the machine owes the flow before it takes anything else.
pub(super) enum Owed {
    /// A step that was refused, or has used up its attempts.
    Failure(FrameId, EffectError),
    /// An answer that was there before its gate.
    Answer(FrameId, Early),
    /// A topic that has messages, and a frame that waits for one.
    Mail(String),
    /// What the fork says of a frame.
    Given(FrameId),
    /// The end of a child that an owner before this one has given up, and that the flow waits for all the same.
    GivenUp(FrameId, Outcome),
}

pub(super) type Done = Result<Offered, ParkReport>;

impl Machine {
    /// Takes an input that is neither history nor the end of a write.
    pub(super) fn take(&mut self, input: Input) -> Offered {
        if !self.journal.is_writing() {
            self.stay(); // nobody was told yet that it lets go
        }
        let done = match &self.phase {
            Phase::Live => self.take_live(input),
            Phase::Closing(event) => {
                let ends = !matches!(**event, Event::ExecutionParked(_) | Event::ExecutionSuspended(_));
                return self.take_closing(input, ends);
            }
            Phase::Ending => return self.take_ending(input),
            Phase::Rolling(_) => return self.take_rolling(input),
            Phase::Replaying(_) => return self.take_replaying(input),
            Phase::Closed(..) => return Offered::Ignored("the owner has let go"),
        };
        match done {
            Ok(offered) => {
                self.settle_owed();
                offered
            }
            Err(report) => {
                self.park(report);
                Offered::Accepted
            }
        }
    }

    fn take_live(&mut self, input: Input) -> Done {
        match input {
            Input::Ended { frame, attempt, end } => self.attempt_ended(&frame, attempt, end),
            Input::Tick => self.tick(),
            Input::Answer { run, frame, answer, by, item } if run != self.state().base => {
                self.bury_answer(frame, Early { answer, by, item }, "the gate was another run's");
                Ok(Offered::Ignored("the gate was another run's"))
            }
            Input::Answer { frame, answer, by, item, .. } => self.answer(frame, Early { answer, by, item }),
            Input::Cancel { reason, by, force, item } => self.take_cancel(reason, by, force, item),
            Input::Message { message, item } => self.take_message(message, item),
            Input::ChildSettled { frame, child, outcome, item } => {
                self.child_settled(frame, &child, outcome, item)
            }
            Input::NotStarted { frame, error } => self.not_started(frame, error),
            Input::Watch { by, item } => self.take_watch(by, item),
            Input::Verdict { run, frame, verdict, by, item } => self.verdict(run, frame, verdict, by, item),
            Input::Noted { item } => {
                self.journal.consume(item);
                Ok(Offered::Accepted)
            }
            Input::Suspend => Ok(self.suspend()),
            Input::HandBack => self.hand_back(),
            Input::Alarm => self.alarm(),
            Input::Fault(report) => {
                let of = report.frame.clone().filter(|_| before_the_body(report.fault));
                if let Some((frame, active)) =
                    of.and_then(|frame| Some((frame.clone(), self.take_active(&frame)?)))
                {
                    self.not_made(frame, active.attempt)?;
                }
                Err(report)
            }
            Input::Recorded(_)
            | Input::Unreadable { .. }
            | Input::Live { .. }
            | Input::Written
            | Input::Refused => Ok(Offered::Ignored("not here")),
        }
    }

    fn take_replaying(&mut self, input: Input) -> Offered {
        match input {
            Input::Fault(report) => {
                self.park_unrun(report);
                Offered::Accepted
            }
            _ => Offered::Ignored("the log is not complete"),
        }
    }

    /// Commits what a turn asked for, or ends the flow.
    pub(super) fn accept(&mut self, turn: Turn) {
        let accepted = turn.issued.into_iter().try_for_each(|issue| match issue {
            Issue::Requested(frame) => self.start(frame),
            Issue::Abandoned(frame) => self.abandon(frame),
        });
        match (accepted, turn.returned, turn.next_run) {
            (Err(report), ..) => self.park(report),
            (Ok(()), Some(returned), _) => self.finish(returned),
            (Ok(()), None, Some(input)) => self.end_run(input),
            (Ok(()), None, None) => {}
        }
    }

    pub(super) fn settle_owed(&mut self) {
        while matches!(self.phase, Phase::Live)
            && let Some(owed) = self.owed.pop_front()
        {
            let settled = match owed {
                Owed::Failure(frame, error) => self.refuse(frame, error),
                Owed::Answer(frame, early) => self.answer(frame, early).map(drop),
                Owed::Mail(topic) => self.deliver_mail(&topic),
                Owed::Given(frame) => self.give(frame),
                Owed::GivenUp(frame, outcome) => {
                    let settled = settled_child(&outcome);
                    let event = ChildSettled { frame: frame.clone(), outcome };
                    self.deliver(frame, Event::ChildSettled(event), settled)
                }
            };
            if let Err(report) = settled {
                self.park(report);
            }
        }
    }

    pub(super) fn commit(&mut self, event: Event) -> Result<u64, ParkReport> {
        let is_fact = !matches!(event, Event::StepStarted(_));
        let sequence = self.journal.commit(event, self.clock).map_err(unfoldable)?;
        if is_fact {
            self.facts = sequence + 1;
        }
        Ok(sequence)
    }

    /// Commits an outcome, tells the flow, and commits what it asks for next.
    pub(super) fn deliver(
        &mut self,
        frame: FrameId,
        event: Event,
        outcome: Settled,
    ) -> Result<(), ParkReport> {
        if let Some(due) = self.state().frames.get(&frame).and_then(|f| f.due) {
            self.dues.remove(&(due, frame.clone()));
        }
        let late = matches!(event, Event::StepCompleted(_)) && planted(Bug::CompletionOutOfOrder);
        let late = if late {
            Some(event)
        } else {
            self.commit(event)?;
            None
        };
        self.journal.progressed();
        // The outcome is on record, whatever comes of it: what is consumed or has run is not lost.
        let (events, most) = (self.state().next - self.state().base, self.config.history);
        if events > most {
            let message = format!("run {} has {events} events, the limit is {most}", self.state().run);
            return Err(ParkReport::new(Fault::HistoryTooLong, message));
        }
        let moment = Moment { at: self.state().updated_at, events: self.state().next - self.state().base };
        self.cx.shared.lock().ahead = Some(BTreeSet::new());
        let turn = self.pass(Some((&frame, outcome)), moment)?;
        self.accept(self.unless_stuck(turn)?);
        late.map_or(Ok(()), |event| self.commit(event).map(drop))
    }

    /// Fails a frame that was not run; a denial is an event of its own before that, for whoever audits.
    fn refuse(&mut self, frame: FrameId, error: EffectError) -> Result<(), ParkReport> {
        if let EffectError::Denied { reason } = &error {
            let (frame, reason) = (frame.clone(), reason.clone());
            self.commit(Event::EffectDenied(EffectDenied { frame, reason }))?;
        }
        self.fail(frame, error.into())
    }

    pub(super) fn fail(&mut self, frame: FrameId, failure: Failed) -> Result<(), ParkReport> {
        let known = self.state().frames.get(&frame);
        let (attempt, child) =
            known.map_or((0, false), |f| (f.attempt, matches!(f.kind, FrameKind::Child { .. })));
        let (retry_at, outcome) = (None, Settled::Failed(failure.clone()));
        if child {
            let event = ChildSettled { frame: frame.clone(), outcome: Outcome::Failed(failure) };
            return self.deliver(frame, Event::ChildSettled(event), outcome);
        }
        self.deliver(
            frame.clone(),
            Event::StepFailed(StepFailed { frame, attempt, failure, retry_at, not_made: false }),
            outcome,
        )
    }

    /// A fresh request becomes an event, and an attempt, a due instant or nothing more.
    fn start(&mut self, frame: FrameId) -> Result<(), ParkReport> {
        let (op, digest) = {
            let inner = self.cx.shared.lock();
            let Some(slot) = inner.slots.get(&frame) else { return Ok(()) };
            (slot.op.clone(), slot.digest)
        };
        let now = self.clock;
        match op {
            Op::Step { step, input, delivery, refuse, .. } => {
                let (input, attempt) = (refuse.is_none().then_some(input), 1);
                let started = StepStarted { frame: frame.clone(), step, attempt, digest, input, delivery };
                match refuse {
                    None => self.start_attempt(started)?,
                    Some(error) => {
                        self.commit(Event::StepStarted(started))?;
                        self.owed.push_back(Owed::Failure(frame, error));
                    }
                }
            }
            Op::Timer(due) => {
                let fire_at = match due {
                    Due::After(wait) => now.plus(wait),
                    Due::At(instant) => instant,
                };
                self.dues.insert((fire_at, frame.clone()));
                self.commit(Event::TimerSet(TimerSet { frame, fire_at }))?;
            }
            Op::Gate { gate, schema, timeout } => {
                let expires_at = timeout.map(|wait| now.plus(wait));
                self.dues.extend(expires_at.map(|at| (at, frame.clone())));
                if let Some(early) = self.early.remove(&frame) {
                    self.owed.push_back(Owed::Answer(frame.clone(), early));
                } else if self.was_answered(&frame) {
                    self.owed.push_back(Owed::Given(frame.clone()));
                }
                self.commit(Event::GateOpened(GateOpened { frame, gate, schema, expires_at }))?;
            }
            Op::Decision(_) => {
                // The slot's outcome, not the request: a recorded choice wins over a computed one.
                let outcome = self.cx.shared.lock().slots.get(&frame).and_then(|slot| slot.outcome.clone());
                if let Some(Settled::Completed(value)) = outcome {
                    self.commit(Event::DecisionRecorded(Decision { frame, value }))?;
                }
            }
            Op::Domain { name, version, data } => {
                self.commit(Event::Domain(Domain { frame, name, version, data }))?;
            }
            Op::Change(named) => {
                self.commit(Event::ChangeMarked(ChangeMarked { frame: named }))?;
            }
            Op::Receive { topic, .. } => self.await_message(frame, topic)?,
            Op::Tell { to, topic, body } => self.send(frame, to, topic, body)?,
            Op::Reply { reply_to, reply } => self.reply(frame, reply_to, reply)?,
            Op::Child { flow, input, version, child, on_close, refuse } => {
                // What is refused may be the input, for its size: that is not written.
                let input = if refuse.is_none() { input } else { Payload::null() };
                self.start_child(frame.clone(), flow, (input, version), digest, child, on_close)?;
                if let Some(error) = refuse {
                    self.children.pop_back();
                    self.owed.push_back(Owed::Failure(frame, error));
                }
            }
            Op::Cancellation | Op::Withheld => {}
        }
        Ok(())
    }

    /// Commits the start of an attempt, to be handed out once what led to it is durable.
    pub(super) fn start_attempt(&mut self, started: StepStarted) -> Result<(), ParkReport> {
        let (frame, attempt, delivery) = (started.frame.clone(), started.attempt, started.delivery);
        let sequence = self.commit(Event::StepStarted(started))?;
        // Starts of sibling steps are no facts that an effect could rest on, everything else is.
        let barrier = match delivery {
            _ if self.careful => sequence + 1,
            Delivery::Pure => 0,
            _ if planted(Bug::WriteReordering) => 0,
            // A crash counts as an attempt only if the attempt is on record.
            Delivery::AtLeastOnce if self.terms(&frame).0.counts_crashes() => sequence + 1,
            Delivery::AtLeastOnce => self.facts,
            Delivery::AtMostOnce => sequence + 1,
        };
        self.waiting.insert((barrier, sequence), frame.clone());
        self.active.insert(frame, Active { attempt, waits_for: Some((barrier, sequence)) });
        Ok(())
    }

    fn abandon(&mut self, frame: FrameId) -> Result<(), ParkReport> {
        let active = self.take_active(&frame);
        let Some(known) = self.state().frames.get(&frame) else { return Ok(()) };
        let (attempt, due, opened) = (known.attempt, known.due, known.opened);
        let topic = match &known.kind {
            FrameKind::Message { topic } => Some(topic.clone()),
            _ => None,
        };
        let is_step = matches!(known.kind, FrameKind::Step { .. });
        let at_most_once = is_step && self.terms(&frame).1 == Delivery::AtMostOnce;
        // Handed out, here or by an owner before; neither ended nor doubted since.
        let may_have_run = known.status == FrameStatus::Open
            && active.as_ref().is_none_or(|a| a.waits_for.is_none())
            && known.input.is_some(); // else it was refused
        if let Some(due) = due {
            self.dues.remove(&(due, frame.clone()));
        }
        let of_frame = |owed: &Owed| matches!(owed, Owed::Failure(of, _) | Owed::Answer(of, _) | Owed::Given(of) | Owed::GivenUp(of, _) if *of == frame);
        let (dropped, owed): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.owed).into_iter().partition(of_frame);
        self.owed = VecDeque::from(owed);
        if let Some(topic) = topic {
            self.post.forget(&topic, opened);
        }
        let unstarted = self.is_unstarted(&frame) && !self.goes_on_alone(&frame);
        self.forget_child(&frame);
        let last_word = self.cancel_child(&frame).filter(|_| !unstarted);
        self.commit(Event::StepAbandoned(Abandoned { frame: frame.clone() }))?;
        last_word.into_iter().for_each(|post| self.journal.post(post));
        if unstarted {
            self.never_started(frame.clone())?;
        }
        for owed in dropped {
            if let Owed::Answer(gate, early) = owed {
                self.bury_answer(gate, early, "the gate is closed");
            }
        }
        if at_most_once && may_have_run {
            self.doubt(frame.clone(), attempt, "abandoned")?;
        }
        if active.is_some_and(|a| a.waits_for.is_none()) {
            self.revoke(frame, attempt);
        }
        Ok(())
    }

    pub(super) fn doubt(&mut self, frame: FrameId, attempt: u32, reason: &str) -> Result<(), ParkReport> {
        self.commit(Event::EffectIndoubt(InDoubt { frame, attempt, reason: reason.into() })).map(drop)
    }

    /// Attempts of at-most-once steps that run while the owner lets go: nobody will take their outcome.
    pub(super) fn in_doubt_where_running(&mut self, reason: &str) {
        let running: Vec<_> = self
            .active
            .iter()
            .filter(|(id, active)| active.waits_for.is_none() && self.terms(id).1 == Delivery::AtMostOnce)
            .map(|(id, active)| (id.clone(), active.attempt))
            .collect();
        for (frame, attempt) in running {
            // Cannot fail for a frame that is open; if it does, the closing event still tells why.
            let _ = self.doubt(frame, attempt, reason);
        }
    }

    fn attempt_ended(&mut self, frame: &FrameId, attempt: u32, end: AttemptEnd) -> Done {
        let running = self.active.get(frame).is_some_and(|a| a.attempt == attempt && a.waits_for.is_none());
        if !running {
            return Ok(self.left(frame, attempt, &end));
        }
        self.take_active(frame);
        let (retry, delivery) = self.terms(frame);
        let frame = frame.clone();
        match end {
            AttemptEnd::Returned(output) => {
                let outcome = Settled::Completed(output.clone());
                let event = StepCompleted { frame: frame.clone(), attempt, output, by: None };
                self.deliver(frame, Event::StepCompleted(event), outcome)?;
            }
            AttemptEnd::Failed { failure, class } => self.failed(frame, attempt, failure, class, retry)?,
            AttemptEnd::Refused(error) => self.fail(frame, error.into())?,
            AttemptEnd::Stopped(error) if delivery == Delivery::AtMostOnce => {
                self.doubt(frame, attempt, error.code())?;
            }
            AttemptEnd::Stopped(error) => {
                let last = error.to_string();
                let attempts = self.made(&frame, attempt);
                let used_up = EffectError::Exhausted { attempts, last };
                let error = if attempts > 1 && attempts >= retry.attempts { used_up } else { error };
                self.failed(frame, attempt, error.into(), RetryClass::Transient, retry)?;
            }
            AttemptEnd::Fault(report) => {
                if before_the_body(report.fault) {
                    self.not_made(frame, attempt)?;
                } else if delivery == Delivery::AtMostOnce {
                    self.doubt(frame, attempt, report.fault.name())?;
                }
                return Err(report);
            }
            AttemptEnd::Panicked(_) if delivery == Delivery::AtMostOnce => {
                self.doubt(frame, attempt, "panic")?;
            }
            AttemptEnd::Panicked(said) => {
                let message = format!("attempt {attempt} of `{frame}` panicked: {said}");
                return Err(ParkReport::new(Fault::StepPanicked, message).frame(&frame));
            }
        }
        Ok(Offered::Accepted)
    }

    fn failed(
        &mut self,
        frame: FrameId,
        attempt: u32,
        failure: Failed,
        class: RetryClass,
        retry: RetryPolicy,
    ) -> Result<(), ParkReport> {
        let made = self.made(&frame, attempt);
        let Some(due) = retry.next(made, class, self.clock) else { return self.fail(frame, failure) };
        self.dues.insert((due, frame.clone()));
        let (retry_at, not_made) = (Some(due), false);
        self.commit(Event::StepFailed(StepFailed { frame, attempt, failure, retry_at, not_made })).map(drop)
    }

    /// An end that nobody waits for: a repetition, a contradiction, or of an attempt that was given up.
    fn late_end(&self, frame: &FrameId, attempt: u32, end: &AttemptEnd) -> Offered {
        let known = self.state().frames.get(frame).filter(|f| f.attempt == attempt);
        match (known.and_then(|f| f.outcome.as_ref()), end) {
            (Some(Outcome::Completed(first)), AttemptEnd::Returned(again)) if first == again => {
                Offered::Ignored("the same outcome came before")
            }
            (Some(Outcome::Failed(first)), AttemptEnd::Failed { failure, .. }) if first == failure => {
                Offered::Ignored("the same outcome came before")
            }
            (Some(_), _) => Offered::Contradicts,
            (None, _) => Offered::Ignored("nobody waits for this attempt"),
        }
    }

    /// On what terms a step runs: as the code says, but never more freely than recorded.
    pub(super) fn terms(&self, frame: &FrameId) -> (RetryPolicy, Delivery) {
        let recorded = match self.state().frames.get(frame).map(|f| &f.kind) {
            Some(FrameKind::Step { delivery, .. }) => *delivery,
            _ => Delivery::default(),
        };
        let inner = self.cx.shared.lock();
        match inner.slots.get(frame).map(|slot| &slot.op) {
            Some(Op::Step { retry, delivery, .. }) => (*retry, recorded.max(*delivery)),
            _ => (RetryPolicy::NONE, recorded),
        }
    }

    /// The end of an attempt that was revoked; or one that comes too late, or twice.
    pub(super) fn left(&mut self, frame: &FrameId, attempt: u32, end: &AttemptEnd) -> Offered {
        if self.strays.get(frame) == Some(&attempt) {
            self.strays.remove(frame);
        }
        if self.leaving.get(frame) != Some(&attempt) {
            return self.late_end(frame, attempt, end);
        }
        self.leaving.remove(frame);
        let outcome = match end {
            AttemptEnd::Returned(output) => Some(Outcome::Completed(output.clone())),
            AttemptEnd::Failed { failure, .. } => Some(Outcome::Failed(failure.clone())),
            _ => None,
        };
        let frame = frame.clone();
        let is_open = self.state().frames.get(&frame).is_some_and(|f| {
            !matches!(f.status, FrameStatus::Settled | FrameStatus::Abandoned) && f.attempt == attempt
        });
        let parks =
            matches!(&self.phase, Phase::Closing(event) if matches!(**event, Event::ExecutionParked(_)));
        let event = match outcome {
            // The flow asks for it again when it goes on.
            Some(Outcome::Completed(output)) if parks && is_open => {
                Event::StepCompleted(StepCompleted { frame, attempt, output, by: None })
            }
            _ if parks && is_open => return Offered::Accepted,
            outcome => Event::OutcomeDiscarded(Discarded { frame, attempt, outcome }),
        };
        // Cannot fail for a frame that was opened; and if it does, nothing rests on it.
        let _ = self.commit(event);
        Offered::Accepted
    }

    /// What forbids the call, if something does.
    pub(super) fn refusal(&self, frame: &FrameId) -> Option<EffectError> {
        let error = match &self.cx.shared.lock().slots.get(frame)?.op {
            Op::Step { refuse, .. } | Op::Child { refuse, .. } => refuse.clone()?,
            _ => return None,
        };
        // The input of a refused call is not written. What another program has taken on does not fail for being
        // unknown to this one: that is a fault of the deploy, and the attempt parks.
        let taken_on = self.state().frames.get(frame).is_some_and(|known| known.input.is_some());
        let unknown = matches!(error, EffectError::UnknownStep { .. } | EffectError::InvalidInput { .. });
        (!(taken_on && unknown)).then_some(error)
    }

    fn tick(&mut self) -> Done {
        let mut fired = Offered::Ignored("nothing is due");
        while matches!(self.phase, Phase::Live)
            && let Some((due, frame)) = self.dues.first().cloned()
            && as_kept(due) <= self.clock
        {
            self.dues.pop_first();
            fired = Offered::Accepted;
            let Some(known) = self.state().frames.get(&frame) else { continue };
            match (&known.kind, known.status) {
                (FrameKind::Step { .. }, FrameStatus::BackingOff) => self.start_again(frame)?,
                (FrameKind::Timer, FrameStatus::Open) => {
                    let event = Event::TimerFired(Fired { frame: frame.clone() });
                    self.deliver(frame, event, Settled::Fired)?;
                }
                (FrameKind::Gate { .. }, FrameStatus::Open) => {
                    let event = Event::GateExpired(Fired { frame: frame.clone() });
                    self.deliver(frame, event, Settled::Expired)?;
                }
                _ => {}
            }
            self.settle_owed();
        }
        Ok(fired)
    }

    fn answer(&mut self, frame: FrameId, early: Early) -> Done {
        let known = self.state().frames.get(&frame);
        match known.map(|f| (f.status, matches!(f.kind, FrameKind::Gate { .. }))) {
            None => {
                self.early.entry(frame).or_insert(early);
                Ok(Offered::Accepted)
            }
            Some((FrameStatus::Open, true)) => {
                let Early { answer, by, item } = early;
                self.journal.consume(item);
                let outcome = Settled::Answered { answer: answer.clone(), by: by.clone() };
                let event = Event::GateAnswered(GateAnswered { frame: frame.clone(), answer, by });
                self.deliver(frame, event, outcome)?;
                Ok(Offered::Accepted)
            }
            Some((_, is_gate)) => {
                let why = if is_gate { "the gate is closed" } else { "the frame is not a gate" };
                self.bury_answer(frame, early, why);
                Ok(Offered::Ignored(why))
            }
        }
    }

    fn verdict(&mut self, run: Option<u64>, frame: FrameId, verdict: Verdict, by: String, item: u64) -> Done {
        self.journal.consume(item);
        if run.is_some_and(|run| run != self.state().base) {
            return Ok(Offered::Ignored("it is about a step of another run"));
        }
        let known = self.state().frames.get(&frame).filter(|f| f.status == FrameStatus::InDoubt);
        let Some(attempt) = known.map(|f| f.attempt) else {
            return Ok(Offered::Ignored("the frame is not in doubt"));
        };
        match verdict {
            Verdict::Done(output) => {
                let outcome = Settled::Completed(output.clone());
                let event = StepCompleted { frame: frame.clone(), attempt, output, by: Some(by) };
                self.deliver(frame, Event::StepCompleted(event), outcome)?;
            }
            Verdict::Again => self.start_again_for(frame, by)?,
            Verdict::GiveUp => self.fail(frame, EffectError::InDoubt { attempt, by }.into())?,
        }
        Ok(Offered::Accepted)
    }

    fn hand_back(&mut self) -> Done {
        self.held = true;
        self.give_up_waiting()?;
        self.flush();
        Ok(Offered::Accepted)
    }

    /// Attempts that are on record but were not handed out are left to the next owner.
    pub(super) fn give_up_waiting(&mut self) -> Result<(), ParkReport> {
        for frame in std::mem::take(&mut self.waiting).into_values() {
            if let Some(active) = self.active.remove(&frame) {
                self.not_made(frame, active.attempt)?;
            }
        }
        Ok(())
    }

    /// How many attempts of a frame were made, up to this one.
    pub(super) fn made(&self, frame: &FrameId, attempt: u32) -> u32 {
        let not_made = self.state().frames.get(frame).map_or(0, |known| known.not_made);
        attempt.saturating_sub(not_made)
    }

    /// An attempt that is on record did not happen: where that counts, it is noted, and another is due at once.
    fn not_made(&mut self, frame: FrameId, attempt: u32) -> Result<(), ParkReport> {
        let (retry, delivery) = self.terms(&frame);
        if delivery == Delivery::AtMostOnce || retry.counts_crashes() {
            self.unmade(frame, attempt)?;
        }
        Ok(())
    }

    pub(super) fn unmade(&mut self, frame: FrameId, attempt: u32) -> Result<(), ParkReport> {
        let (failure, retry_at) = (EffectError::Cancelled.into(), Some(self.clock));
        let event = StepFailed { frame, attempt, failure, retry_at, not_made: true };
        self.commit(Event::StepFailed(event)).map(drop)
    }

    fn alarm(&mut self) -> Done {
        let fault = self.cx.shared.lock().fault.take();
        match fault {
            Some(report) => Err(report),
            None if self.cx.shared.waker.is_foreign() => Err(self.foreign_wake()),
            None => Ok(Offered::Ignored("no fault")),
        }
    }

    /// Attempts that a crash or hand-back cut, timers, gates and back-offs of the log.
    pub(super) fn restart_open_frames(&mut self) -> Result<(), ParkReport> {
        let fresh = |id: &FrameId| {
            self.active.contains_key(id)
                || self.children.iter().any(|(_, child)| child == id)
                || self.owed.iter().any(|owed| matches!(owed, Owed::Failure(of, _) if of == id))
        };
        let open: Vec<_> = self
            .state()
            .frames
            .iter()
            .filter(|(id, f)| matches!(f.status, FrameStatus::Open | FrameStatus::BackingOff) && !fresh(id))
            .map(|(id, f)| (id.clone(), f.clone()))
            .collect();
        for (id, frame) in open {
            match (frame.due, frame.kind) {
                (Some(due), _) => {
                    self.dues.insert((due, id));
                }
                (None, FrameKind::Step { .. }) => self.restart_attempt(id, frame.attempt)?,
                (None, FrameKind::Child { .. }) => match frame.outcome {
                    Some(outcome) => self.owed.push_back(Owed::GivenUp(id, outcome)),
                    None => self.restart_child(id),
                },
                (None, FrameKind::Message { topic }) => self.wait_again(topic, frame.opened, id),
                (None, _) => {}
            }
        }
        Ok(())
    }
}

/// Whether a fault that the runtime finds with an attempt is found before its body has run.
fn before_the_body(fault: Fault) -> bool {
    matches!(fault, Fault::MissingStep | Fault::MissingResource | Fault::Undecodable)
}

fn unfoldable(error: UnfoldableEvent) -> ParkReport {
    ParkReport::new(Fault::UnreadableLog, error.to_string()).at(error.sequence)
}
