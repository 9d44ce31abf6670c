//! How a run ends: its children are told to stop, and their ends are awaited before its own is written.
//! Not how the owner lets go, which is in `closing`, nor what must be told with the last event, in `exchange`.
//!
//! The wait is in the log (`EXECUTION_ENDING`), so that the owner may let go, and another one goes on with it: from
//! there on no code is needed, and nothing is delivered to the flow. Where there is nobody to wait for, the closing
//! event comes at once, and there is no such event.

use std::collections::BTreeSet;

use super::{Early, Input, Machine, Offered, Phase, live::Done};
use crate::{
    Cancelled, Delivery, Discarded, EffectError, End, Ending, Event, Frame, FrameId, FrameKind, FrameStatus,
    OnClose, Outcome, ParkReport,
};

impl End {
    fn phase(self) -> Phase {
        match self.event() {
            Ok(closing) => Phase::Closing(Box::new(closing)),
            Err(next_run) => Phase::Rolling(next_run),
        }
    }
}

impl Machine {
    /// The run comes to this end, once what it has begun is over.
    pub(super) fn end(&mut self, end: End) {
        self.end_after(end, Self::own_children);
    }

    /// The same, once the children that `whom` names have ended; the others are told, and left.
    fn end_after(&mut self, end: End, whom: fn(&Self) -> BTreeSet<FrameId>) {
        self.give_up_unstarted();
        self.leave_steps();
        self.revoke_all();
        let waiting = whom(self);
        self.leave_children(&waiting);
        if waiting.is_empty() {
            self.phase = end.phase();
            return;
        }
        let posts: Vec<_> = waiting.iter().filter_map(|frame| self.tell_to_end(frame)).collect();
        let Ok(sequence) = self.record_end(end.clone(), waiting) else {
            self.phase = end.phase(); // always follows from the state of an execution that has not ended yet
            return;
        };
        posts.into_iter().for_each(|post| self.journal.post(post));
        std::mem::take(&mut self.last_items).into_iter().for_each(|item| self.journal.consume(item));
        self.phase = Phase::Ending;
        self.flush = true; // they are told with it
        self.await_children(sequence + 1);
    }

    /// Whoever waits for a reply, or has sent what nobody took, is told with it, and need not wait for the children.
    pub(super) fn record_end(&mut self, end: End, waiting: BTreeSet<FrameId>) -> Result<u64, ParkReport> {
        if self.state().ending.is_none() {
            self.refuse_updates(match end {
                End::ContinuedAsNew(_) => "the run ended without a reply",
                _ => "the execution ended without a reply",
            });
        }
        if !matches!(end, End::ContinuedAsNew(_)) {
            self.bury_mail();
        }
        self.commit(Event::ExecutionEnding(Ending { end, waiting }))
    }

    /// Somebody cancels, and the flow is not asked; by force, nobody is waited for.
    pub(super) fn cancel(&mut self, cancelled: Cancelled, force: bool, item: u64) {
        self.last_items.push(item);
        self.tear_down();
        let end = End::Cancelled(self.state().cancel.clone().unwrap_or(cancelled));
        self.end_after(end, if force { |_| BTreeSet::new() } else { Self::own_children });
    }

    /// Whether the flow is not run here, and an end that is on record needs no more than the log. Where that is damaged,
    /// somebody has to say so, by a cancel.
    pub(super) fn ends_without_the_flow(&self) -> bool {
        let ending = self.state().ending.as_ref().filter(|_| self.parks() && !self.misfit);
        ending.is_some_and(|ending| match ending.end {
            End::Cancelled(_) => true,
            End::Completed(_) | End::Failed(_) => !self.is_unreadable(),
            End::ContinuedAsNew(_) => false,
        })
    }

    /// Goes on with an end that an owner before this one has recorded.
    pub(super) fn go_on_ending(&mut self) {
        self.tear_down();
        self.leave_steps();
        self.phase = Phase::Ending;
        self.await_children(0);
        self.restart_lonely_children();
        self.end_if_nobody_is_awaited();
    }

    /// An owner before this one may have died before it started them. One that was not is started now: it finds that it
    /// is to stop, and tells how it ended. And nobody, however late, can start it after that.
    fn await_children(&mut self, upto: u64) {
        let unsure = self.state().awaited().filter(|(frame, _)| !self.started.contains(*frame));
        let unsure: Vec<_> = unsure.map(|(frame, _)| (upto, frame.clone())).collect();
        self.children.extend(unsure);
    }

    /// The children whose ends this one waits for.
    fn own_children(&self) -> BTreeSet<FrameId> {
        let state = self.state();
        if let Some(ending) = &state.ending {
            return ending.waiting.clone();
        }
        let own =
            |kind: &_| matches!(kind, FrameKind::Child { on_close: OnClose::Cancel, shared: false, .. });
        let alive = state.frames.iter().filter(|(_, frame)| own(&frame.kind) && frame.outcome.is_none());
        alive.filter(|(id, _)| self.refusal(id).is_none()).map(|(id, _)| id.clone()).collect()
    }

    /// Children of this run that are on record, and that surely nobody has started: they never will be.
    fn give_up_unstarted(&mut self) {
        if self.state().ending.is_some() {
            return; // what is to be started then, is for its end to be known
        }
        let unstarted = self.children.iter().filter(|(upto, frame)| *upto > 0 && !self.goes_on_alone(frame));
        for frame in unstarted.map(|(_, frame)| frame.clone()).collect::<Vec<_>>() {
            // Always follows from the state of an execution that has not ended yet.
            let _ = self.never_started(frame);
        }
    }

    /// Steps that are open on record when the run ends, each with its end: one that surely was not handed out is not
    /// made, one that nobody may repeat is in doubt, and any other is left. What runs here tells its own end.
    fn leave_steps(&mut self) {
        // None of these commits fails for a frame that is open; if one does, the closing event still tells why.
        for frame in std::mem::take(&mut self.waiting).into_values() {
            if let Some(active) = self.active.remove(&frame) {
                let _ = self.unmade(frame, active.attempt);
            }
        }
        let goes = |id: &FrameId| self.leaving.contains_key(id) || self.strays.contains_key(id);
        let is_open =
            |f: &Frame| matches!(f.kind, FrameKind::Step { .. }) && f.status == FrameStatus::Open && !f.left;
        let frames = self.state().frames.iter().filter(|(id, f)| is_open(f) && !goes(id));
        // The input of a refused call is not written: no owner has run it.
        let open: Vec<_> = frames.map(|(id, f)| (id.clone(), f.attempt, f.input.is_none())).collect();
        for (frame, attempt, refused) in open {
            let runs = self.active.contains_key(&frame);
            let _ = if refused {
                self.unmade(frame, attempt)
            } else if self.terms(&frame).1 == Delivery::AtMostOnce {
                self.doubt(frame, attempt, if runs { "cancelled" } else { "crash" })
            } else if !runs {
                self.commit(Event::OutcomeDiscarded(Discarded { frame, attempt, outcome: None })).map(drop)
            } else {
                Ok(())
            };
        }
    }

    /// Children that are open on record when the run ends and whose ends are not awaited: they are told, and left.
    fn leave_children(&mut self, awaited: &BTreeSet<FrameId>) {
        let is_left = |id: &FrameId, f: &Frame| {
            let FrameKind::Child { on_close, .. } = f.kind else { return false };
            let is_open = f.status == FrameStatus::Open && f.outcome.is_none() && !f.left;
            let lives = on_close == OnClose::Abandon && self.refusal(id).is_none();
            is_open && !lives && !awaited.contains(id)
        };
        let frames = self.state().frames.iter().filter(|(id, f)| is_left(id, f));
        for frame in frames.map(|(id, _)| id.clone()).collect::<Vec<_>>() {
            let last_word = self.cancel_child(&frame);
            // Always follows from the state of an execution that has not ended yet.
            let _ = match self.refusal(&frame) {
                Some(_) => self.never_started(frame),
                None => self.discard(frame, None),
            };
            last_word.into_iter().for_each(|post| self.journal.post(post));
        }
    }

    /// Whether the child of a frame is on record, and surely not started by anybody.
    pub(super) fn is_unstarted(&self, frame: &FrameId) -> bool {
        self.children.iter().any(|(upto, child)| *upto > 0 && child == frame)
    }

    /// Nobody need wait for it, here or after a take-over.
    pub(super) fn never_started(&mut self, frame: FrameId) -> Result<(), ParkReport> {
        let (reason, by) = ("it was not started yet".to_owned(), self.config.execution.to_string());
        self.discard(frame, Some(Outcome::Cancelled { reason, by }))
    }

    /// How a child ended that the flow is not told of; `None` for one that was left.
    pub(super) fn discard(&mut self, frame: FrameId, outcome: Option<Outcome>) -> Result<(), ParkReport> {
        self.children.retain(|(_, child)| *child != frame);
        self.commit(Event::OutcomeDiscarded(Discarded { frame, attempt: 0, outcome })).map(drop)
    }

    pub(super) fn take_ending(&mut self, input: Input) -> Offered {
        let done = match input {
            Input::Ended { frame, attempt, end } => Ok(self.left(&frame, attempt, &end)),
            Input::ChildSettled { frame, child, outcome, item } => {
                self.journal.consume(item);
                self.awaited_child(frame, child.as_str(), outcome)
            }
            Input::NotStarted { frame, error } => match &error {
                EffectError::NotStarted { child, .. } => {
                    let child = child.clone();
                    self.awaited_child(frame, &child, Outcome::Failed(error.into()))
                }
                _ => Ok(Offered::Ignored("nobody waits for this child")),
            },
            Input::Cancel { force: false, item, .. } if self.is_being_cancelled() => {
                self.journal.consume(item);
                Ok(Offered::Ignored("it is being cancelled already"))
            }
            Input::Cancel { reason, by, force, item } => {
                self.cancel(Cancelled { reason, by }, force, item);
                Ok(Offered::Accepted)
            }
            Input::Message { message, item } => {
                self.post.keep(message, item);
                if !self.is_rolling() {
                    self.bury_mail();
                }
                Ok(Offered::Accepted)
            }
            Input::Answer { frame, answer, by, item, .. } => {
                self.bury_answer(frame, Early { answer, by, item }, "the run is over");
                Ok(Offered::Ignored("the run is over"))
            }
            Input::Watch { by, item } => self.take_watch(by, item),
            Input::Verdict { item, .. } | Input::Noted { item } => {
                self.journal.consume(item);
                Ok(Offered::Ignored("the run is over"))
            }
            Input::Suspend => Ok(self.suspend()),
            Input::HandBack => {
                self.held = true;
                self.flush();
                Ok(Offered::Accepted)
            }
            _ => Ok(Offered::Ignored("the run is over")),
        };
        done.unwrap_or(Offered::Ignored("the log is damaged"))
    }

    fn is_rolling(&self) -> bool {
        self.state().ending.as_ref().is_some_and(|ending| matches!(ending.end, End::ContinuedAsNew(_)))
    }

    fn is_being_cancelled(&self) -> bool {
        self.state().ending.as_ref().is_some_and(|ending| matches!(ending.end, End::Cancelled(_)))
    }

    fn awaited_child(&mut self, frame: FrameId, child: &str, outcome: Outcome) -> Done {
        let waits = self.state().ending.as_ref().is_some_and(|ending| ending.waiting.contains(&frame));
        if !waits || !self.is_child(&frame, child) {
            return Ok(Offered::Ignored("nobody waits for this child"));
        }
        self.discard(frame, Some(outcome))?;
        self.journal.progressed();
        self.end_if_nobody_is_awaited();
        Ok(Offered::Accepted)
    }

    fn end_if_nobody_is_awaited(&mut self) {
        let over = self.state().ending.as_ref().filter(|ending| ending.waiting.is_empty());
        if let Some(end) = over.map(|ending| ending.end.clone()) {
            self.phase = end.phase();
        }
    }
}
