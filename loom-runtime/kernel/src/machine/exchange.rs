//! What the machine does about other executions, and about its own next run: messages, children, watches, cancels.
//! Not the delivery of posts: they leave with a batch, and come in as inputs.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    Command, Early, Input, Machine, Offered, Phase,
    cx::{Op, Settled, cancellation},
    live::{Done, Owed},
    poll::Moment,
    replay::settled_child,
};
use crate::{
    Cancelled, ChildSettled, ChildStarted, DeadLetter, Digest, EffectError, End, Event, ExecutionId, Fault,
    Fingerprints, Frame, FrameId, FrameKind, FrameStatus, Message, MessageAwaited, MessageReceived,
    MessageSent, Migrated, NewRun, OnClose, Outcome, Parent, ParkReport, Payload, Post, Reply, StartChild,
    State, Told, UpdateAnswered,
};

/// Messages that nobody has taken, and frames that wait for some. Both in order: of coming, of opening.
#[derive(Default)]
pub(super) struct PostOffice {
    letters: BTreeMap<String, BTreeMap<u64, Message>>,
    waiting: BTreeMap<String, BTreeMap<u64, FrameId>>,
}

impl PostOffice {
    /// Keeps a message until somebody takes it. It stays in the inbox as long.
    pub(super) fn keep(&mut self, message: Message, item: u64) {
        self.letters.entry(message.topic.clone()).or_default().insert(item, message);
    }

    /// The frame that was opened then waits no more.
    pub(super) fn forget(&mut self, topic: &str, opened: u64) {
        let Some(frames) = self.waiting.get_mut(topic) else { return };
        frames.remove(&opened);
        if frames.is_empty() {
            self.waiting.remove(topic);
        }
    }

    fn wait(&mut self, topic: String, opened: u64, frame: FrameId) {
        self.waiting.entry(topic).or_default().insert(opened, frame);
    }

    /// Who takes the next message of the topic, if both are there.
    fn match_up(&self, topic: &str) -> Option<(u64, FrameId)> {
        self.letters.get(topic)?;
        self.waiting.get(topic)?.first_key_value().map(|(opened, frame)| (*opened, frame.clone()))
    }

    fn take(&mut self, topic: &str) -> Option<(u64, Message)> {
        let letters = self.letters.get_mut(topic)?;
        let first = letters.pop_first();
        if letters.is_empty() {
            self.letters.remove(topic);
        }
        first
    }
}

/// An answer that no gate takes, as the letter that is kept of it: its topic is the gate.
pub(super) fn unanswering(gate: &FrameId, answer: Payload, by: String) -> Message {
    Message { topic: format!("gate:{gate}"), body: answer, by, reply_to: None }
}

/// For those who wait for the execution; `None` when it does not end.
fn news_of_end(state: &State, me: &ExecutionId, closing: &Event) -> Option<Vec<Post>> {
    let outcome = closing.ends()?;
    let told = state.parent.iter().chain(&state.watchers).map(|Parent { execution, frame }| Post {
        to: execution.clone(),
        key: format!("settled:{me}:{frame}"),
        told: Told::Settled { frame: frame.clone(), child: me.clone(), outcome: outcome.clone() },
        early: false,
    });
    Some(told.collect())
}

/// For a child that nobody waits for any more, and that was not told yet, or may not have been there to be told.
fn parting(state: &State, me: &ExecutionId, frame: &FrameId, early: bool) -> Option<Post> {
    let is_told = state.ending.as_ref().is_some_and(|ending| ending.waiting.contains(frame));
    // One that was left was told then.
    let is_open = |f: &&Frame| (early || f.status == FrameStatus::Open) && !f.left;
    let known = state.frames.get(frame).filter(|f| f.outcome.is_none() && !is_told).filter(is_open)?;
    let FrameKind::Child { child, on_close: OnClose::Cancel, .. } = &known.kind else { return None };
    let (reason, by) = (format!("`{frame}` of `{me}` no longer waits for it"), me.to_string());
    let (key, frame) = (format!("cancel:{me}:{frame}"), frame.clone());
    Some(Post { to: child.clone(), key, told: Told::Cancel { frame, reason, by }, early })
}

impl Machine {
    pub(super) fn take_message(&mut self, message: Message, item: u64) -> Done {
        let topic = message.topic.clone();
        self.post.keep(message, item);
        self.deliver_mail(&topic)?;
        Ok(Offered::Accepted)
    }

    pub(super) fn await_message(&mut self, frame: FrameId, topic: String) -> Result<(), ParkReport> {
        let awaited = MessageAwaited { frame: frame.clone(), topic: topic.clone() };
        let opened = self.commit(Event::MessageAwaited(awaited))?;
        self.wait_again(topic, opened, frame);
        Ok(())
    }

    pub(super) fn wait_again(&mut self, topic: String, opened: u64, frame: FrameId) {
        self.post.wait(topic.clone(), opened, frame);
        self.owed.push_back(Owed::Mail(topic));
    }

    /// Gives the topic's messages to those who wait for them; what they cannot read is dead-lettered.
    pub(super) fn deliver_mail(&mut self, topic: &str) -> Result<(), ParkReport> {
        while matches!(self.phase, Phase::Live)
            && let Some((opened, frame)) = self.post.match_up(topic)
            && let Some((item, message)) = self.post.take(topic)
        {
            let check = match self.cx.shared.lock().slots.get(&frame).map(|slot| &slot.op) {
                Some(Op::Receive { check, .. }) => Some(*check),
                _ => None,
            };
            // The user's code. While it does not come to an end, the message stays in the inbox.
            let checked =
                catch_unwind(AssertUnwindSafe(|| check.map_or(Ok(()), |check| check(&message.body))));
            let checked = checked.map_err(|panic| {
                let said = crate::panic_text(panic.as_ref());
                let message = format!("reading a message on `{topic}` panicked: {said}");
                ParkReport::new(Fault::FlowPanicked, message).frame(&frame)
            })?;
            if let (Err(reason), Some(home)) = (&checked, self.home) {
                let said = format!("a message on `{topic}` cannot be read by this program: {reason}");
                self.post.keep(message, item);
                return Err(self.left_to(home, ParkReport::new(Fault::Undecodable, said).frame(&frame)));
            }
            self.journal.consume(item);
            if let Err(reason) = checked {
                self.commit(Event::MessageDeadLettered(DeadLetter { message, reason }))?;
                continue;
            }
            self.post.forget(topic, opened);
            let received = MessageReceived { frame: frame.clone(), message: message.clone() };
            self.deliver(frame, Event::MessageReceived(received), Settled::Received(message))?;
        }
        Ok(())
    }

    /// The execution goes back to the code that it came from, which may know better.
    fn left_to(&mut self, home: Fingerprints, report: ParkReport) -> ParkReport {
        let from = self.state().code;
        // Always follows from the state of an execution that has not ended yet.
        let _ = self.commit(Event::ExecutionMigrated(Migrated { from, to: home, input: None }));
        report
    }

    /// An answer was accepted and comes too late for its gate: whoever gave it finds it on record.
    pub(super) fn bury_answer(&mut self, gate: FrameId, Early { answer, by, item }: Early, reason: &str) {
        self.journal.consume(item);
        let (message, reason) = (unanswering(&gate, answer, by), reason.to_owned());
        // Always follows from the state of an execution that has not ended yet.
        let _ = self.commit(Event::MessageDeadLettered(DeadLetter { message, reason }));
    }

    fn bury_early_answers(&mut self, reason: &str) {
        for (gate, early) in std::mem::take(&mut self.early) {
            self.bury_answer(gate, early, reason);
        }
    }

    /// Nobody will take what is left: the execution ends.
    pub(super) fn bury_mail(&mut self) {
        self.bury_early_answers("the execution ended");
        for (item, message) in std::mem::take(&mut self.post.letters).into_values().flatten() {
            self.journal.consume(item);
            let reason = "the execution ended".to_owned();
            // Always follows from the state of an execution that has not ended yet.
            let _ = self.commit(Event::MessageDeadLettered(DeadLetter { message, reason }));
        }
    }

    /// Nobody will reply any more to the updates that the flow took and has not answered: whoever waits is told.
    pub(super) fn refuse_updates(&mut self, reason: &str) {
        let unanswered = self.cx.shared.lock().take_unanswered();
        for message in unanswered {
            let reason = reason.to_owned();
            // Always follows from the state of an execution that has not ended yet.
            let _ = self.commit(Event::MessageDeadLettered(DeadLetter { message, reason }));
        }
    }

    pub(super) fn send(
        &mut self,
        frame: FrameId,
        to: ExecutionId,
        topic: String,
        body: Payload,
    ) -> Result<(), ParkReport> {
        let me = &self.config.execution;
        let message =
            Message { topic: topic.clone(), body: body.clone(), by: me.to_string(), reply_to: None };
        let key = format!("sent:{me}@{}:{frame}", self.state().base);
        // A child that was asked for is created after this very append, at the earliest.
        let early = self.children.iter().any(|(_, child)| self.is_child(child, to.as_str()));
        self.commit(Event::MessageSent(MessageSent { frame, to: to.clone(), topic, body }))?;
        self.journal.post(Post { to, key, told: Told::Message(message), early });
        Ok(())
    }

    pub(super) fn is_child(&self, frame: &FrameId, id: &str) -> bool {
        let known = self.state().frames.get(frame);
        known.is_some_and(|f| matches!(&f.kind, FrameKind::Child { child, .. } if child.as_str() == id))
    }

    pub(super) fn reply(&mut self, frame: FrameId, reply_to: String, reply: Reply) -> Result<(), ParkReport> {
        self.commit(Event::UpdateAnswered(UpdateAnswered { frame, reply_to, reply }))?;
        self.flush = true; // somebody waits for it
        Ok(())
    }

    pub(super) fn start_child(
        &mut self,
        frame: FrameId,
        flow: String,
        (input, input_version): (Payload, u32),
        digest: Digest,
        child: Option<ExecutionId>,
        on_close: OnClose,
    ) -> Result<(), ParkReport> {
        let child = child.unwrap_or_else(|| self.config.execution.child(self.state().run, &frame));
        let started =
            ChildStarted { frame: frame.clone(), child, flow, digest, input, input_version, on_close };
        let sequence = self.commit(Event::ChildStarted(started))?;
        self.children.push_back((sequence + 1, frame));
        Ok(())
    }

    /// Whether the child lives although nobody waits for it.
    pub(super) fn goes_on_alone(&self, frame: &FrameId) -> bool {
        let known = self.state().frames.get(frame).filter(|f| f.outcome.is_none());
        let own =
            |kind: &_| matches!(kind, FrameKind::Child { on_close: OnClose::Abandon, shared: false, .. });
        known.is_some_and(|f| own(&f.kind)) && self.refusal(frame).is_none()
    }

    /// Nobody waits for the child any more: it is not started, unless it is to go on by itself.
    pub(super) fn forget_child(&mut self, frame: &FrameId) {
        if !self.goes_on_alone(frame) {
            self.children.retain(|(_, child)| child != frame);
        }
    }

    pub(super) fn forget_children(&mut self) {
        let children = std::mem::take(&mut self.children);
        self.children = children.into_iter().filter(|(_, frame)| self.goes_on_alone(frame)).collect();
    }

    /// Children that nobody waits for, and that whoever owned the execution may not have started.
    pub(super) fn restart_lonely_children(&mut self) {
        let known: BTreeSet<_> = self.children.iter().map(|(_, frame)| frame.clone()).collect();
        // Those from before a fork are the origin's affair.
        let from = self.state().origin.as_ref().map_or(0, |origin| origin.events);
        let is_lonely = |frame: &FrameId, opened: u64| {
            opened >= from && !known.contains(frame) && self.goes_on_alone(frame)
        };
        let frames = self.state().frames.iter().filter(|(id, f)| is_lonely(id, f.opened));
        let lonely: Vec<_> = frames.map(|(id, _)| id.clone()).collect();
        lonely.into_iter().for_each(|frame| self.children.push_front((0, frame)));
    }

    /// Whoever owned the execution may have died before the child was started: once more does no harm.
    pub(super) fn restart_child(&mut self, frame: FrameId) {
        match self.cx.shared.lock().slots.get(&frame).map(|slot| &slot.op) {
            Some(Op::Child { refuse: Some(error), .. }) => {
                self.owed.push_back(Owed::Failure(frame, error.clone()));
            }
            _ => self.children.push_front((0, frame)),
        }
    }

    pub(super) fn next_child(&mut self) -> Option<Command> {
        let ends = matches!(self.phase, Phase::Closing(_) | Phase::Rolling(_));
        if !ends && (self.held || !matches!(self.phase, Phase::Live | Phase::Ending)) {
            return None;
        }
        self.children.front().filter(|(upto, _)| *upto <= self.journal.durable())?;
        let (_, frame) = self.children.pop_front()?;
        let known = self.state().frames.get(&frame)?;
        let (FrameKind::Child { child, flow, version, shared, .. }, Some(input)) =
            (&known.kind, &known.input)
        else {
            return None;
        };
        let (child, flow, input, input_version) = (child.clone(), flow.clone(), input.clone(), *version);
        let shared = *shared;
        self.started.insert(frame.clone());
        let parent = Parent { execution: self.config.execution.clone(), frame };
        Some(match shared {
            true => Command::WatchChild { child, by: parent },
            false => Command::StartChild(StartChild { child, flow, input, input_version, parent }),
        })
    }

    /// The child that a frame asked for will never be: its call fails.
    pub(super) fn not_started(&mut self, frame: FrameId, error: EffectError) -> Done {
        if matches!(&error, EffectError::NotStarted { child, .. } if !self.is_child(&frame, child)) {
            return Ok(Offered::Ignored("the child was another run's"));
        }
        match self.state().frames.get(&frame).map(|f| f.status) {
            Some(FrameStatus::Open) => self.fail(frame, error.into())?,
            Some(FrameStatus::Abandoned) => self.discard(frame, Some(Outcome::Failed(error.into())))?,
            _ => return Ok(Offered::Ignored("no frame waits for this child")),
        }
        Ok(Offered::Accepted)
    }

    pub(super) fn child_settled(
        &mut self,
        frame: FrameId,
        child: &ExecutionId,
        outcome: Outcome,
        item: u64,
    ) -> Done {
        self.journal.consume(item);
        let known = self.state().frames.get(&frame).filter(|_| self.is_child(&frame, child.as_str()));
        match known.map(|f| f.status) {
            Some(FrameStatus::Open) => {
                let settled = settled_child(&outcome);
                self.children.retain(|(_, started)| *started != frame);
                let event = ChildSettled { frame: frame.clone(), outcome };
                self.deliver(frame, Event::ChildSettled(event), settled)?;
                Ok(Offered::Accepted)
            }
            Some(FrameStatus::Abandoned) => {
                self.discard(frame, Some(outcome))?;
                Ok(Offered::Accepted)
            }
            Some(_) => Ok(Offered::Ignored("the child was settled before")),
            None => Ok(Offered::Ignored("no frame waits for this child")),
        }
    }

    /// What an open child is told when nobody waits for it any more.
    pub(super) fn cancel_child(&self, frame: &FrameId) -> Option<Post> {
        let post = parting(self.state(), &self.config.execution, frame, false)?;
        // Whoever has the id of a refused one is no child of this execution.
        self.refusal(frame).is_none().then_some(post)
    }

    /// The same for a child whose end is awaited: one that may not be there yet finds it when it is.
    pub(super) fn tell_to_end(&self, frame: &FrameId) -> Option<Post> {
        let is_dropped = self.state().frames.get(frame).is_some_and(|f| f.status == FrameStatus::Abandoned);
        if is_dropped && self.started.contains(frame) {
            return None; // it was told then
        }
        parting(self.state(), &self.config.execution, frame, true)
    }

    /// What others are told of an end, with the end itself.
    pub(super) fn last_posts(&self, closing: &Event) -> Vec<Post> {
        let (state, me) = (self.state(), &self.config.execution);
        let Some(mut posts) = news_of_end(state, me, closing) else { return Vec::new() };
        posts.extend(state.frames.keys().filter_map(|frame| self.cancel_child(frame)));
        posts
    }

    pub(super) fn take_watch(&mut self, by: Parent, item: u64) -> Done {
        self.journal.consume(item);
        if self.state().watchers.contains(&by) {
            return Ok(Offered::Ignored("it is known already"));
        }
        self.commit(Event::WatchAdded(by))?;
        Ok(Offered::Accepted)
    }

    /// A flow that waits to be cancelled is told, and tidies up; any other is dropped.
    pub(super) fn take_cancel(&mut self, reason: String, by: String, force: bool, item: u64) -> Done {
        let cancel = Cancelled { reason, by };
        if force || (self.state().cancel.is_none() && !self.cx.shared.lock().heeds_cancel()) {
            self.cancel(cancel, force, item);
            return Ok(Offered::Accepted);
        }
        self.journal.consume(item);
        if self.state().cancel.is_some() {
            return Ok(Offered::Ignored("it is being cancelled already"));
        }
        let event = Event::CancelRequested(cancel.clone());
        self.deliver(cancellation(), event, Settled::Cancelled(cancel))?;
        Ok(Offered::Accepted)
    }

    /// The flow asks for another run: what it has begun in this one is over.
    pub(super) fn end_run(&mut self, input: Payload) {
        self.tear_down();
        self.end(self.state().cancel.clone().map_or(End::ContinuedAsNew(input), End::Cancelled));
    }

    pub(super) fn take_rolling(&mut self, input: Input) -> Offered {
        match input {
            Input::Ended { frame, attempt, end } => self.left(&frame, attempt, &end),
            Input::Message { message, item } => {
                self.post.keep(message, item);
                Offered::Accepted
            }
            Input::HandBack => {
                self.held = true; // the next owner begins the run
                Offered::Accepted
            }
            Input::Cancel { reason, by, force, item } => {
                self.cancel(Cancelled { reason, by }, force, item);
                Offered::Accepted
            }
            Input::Watch { by, item } => {
                self.take_watch(by, item).unwrap_or(Offered::Ignored("the log is damaged"))
            }
            Input::Answer { frame, answer, by, item, .. } => {
                self.bury_answer(frame, Early { answer, by, item }, "the run is over");
                Offered::Ignored("the run is over")
            }
            Input::Verdict { item, .. } | Input::ChildSettled { item, .. } | Input::Noted { item } => {
                self.journal.consume(item);
                Offered::Ignored("the run is over")
            }
            _ => Offered::Ignored("the run is over"),
        }
    }

    /// Begins the next run: everything before it is durable.
    pub(super) fn roll_over(&mut self) {
        let Phase::Rolling(input) = &self.phase else { return };
        let (input, run) = (input.clone(), self.state().run + 1);
        let posts: Vec<_> = self.state().frames.keys().filter_map(|frame| self.cancel_child(frame)).collect();
        let (state, me) = (self.state(), self.config.execution.as_str());
        // With the execution: a fork shares the seed of the run that it was cut from.
        let seed = Digest::of_parts(&[&state.seed.bytes(), me.as_bytes(), &run.to_le_bytes()]);
        let new_run = NewRun {
            run,
            flow: state.flow.clone(),
            input: input.clone(),
            input_version: self.config.input_version,
            code: self.config.code,
            seed,
            parent: state.parent.clone(),
            watchers: state.watchers.clone(),
            origin: state.origin.clone(),
            flags: Vec::new(),
        };
        (self.phase, self.fault) = (Phase::Live, None);
        self.bury_early_answers("the run is over");
        self.post.waiting.clear();
        self.started.clear();
        if self.state().ending.is_none() {
            self.refuse_updates("the run ended without a reply");
        }
        let begun = self.commit(Event::ContinuedAsNew(new_run)).and_then(|_| {
            posts.into_iter().for_each(|post| self.journal.post(post));
            self.journal.progressed();
            self.respawn(seed, input, self.config.input_version);
            self.cx.shared.lock().ahead = Some(BTreeSet::new());
            let turn = self.pass(None, Moment { at: self.state().updated_at, events: 1 })?;
            self.unless_stuck(turn)
        });
        match begun {
            Ok(turn) => self.accept(turn),
            Err(report) => self.park(report),
        }
        self.settle_owed();
    }

    /// Before an end is written: who sent mail that nobody took, or answered, is told.
    pub(super) fn before_the_end(&mut self) {
        let ends = match &self.phase {
            Phase::Closing(event) => {
                !matches!(**event, Event::ExecutionParked(_) | Event::ExecutionSuspended(_))
            }
            _ => false,
        };
        if ends {
            std::mem::take(&mut self.last_items).into_iter().for_each(|item| self.journal.consume(item));
            if self.state().ending.is_none() {
                self.refuse_updates("the execution ended without a reply");
            }
            self.bury_mail();
        }
    }
}
