//! How the owner lets go: it waits, parks or ends, and what comes meanwhile.
//! Not the wait for children before an end: that is in `ending`.

use std::collections::BTreeSet;

use super::{FlowReturn, Input, Machine, Offered, Phase, exchange::unanswering};
use crate::{Cancelled, End, Event, Fault, FrameId, FrameKind, ParkReport, Parked, Post, Suspended, Told};

impl Machine {
    /// An accepted cancel is latched: it wins over an end that is not written yet. Other items find nobody when it
    /// ends; else they stay in the inbox, for a refusal to bring them again, or for the next owner.
    pub(super) fn take_closing(&mut self, input: Input, ends: bool) -> Offered {
        match input {
            // It stays in the inbox: what is on its way may be refused, and a flow that would tidy up may go on.
            Input::Cancel { .. } if self.lets_go_alive() || self.journal.is_closing() => {
                Offered::Ignored("the owner lets go")
            }
            // So does it until code comes that gets to where the flow may have something to tidy up.
            Input::Cancel { force: false, item, .. } if self.may_tidy_up_later() => {
                self.try_again_for(item);
                Offered::Ignored("it waits for code that can tell the flow")
            }
            Input::Cancel { item, .. } if self.ends_cancelled() => {
                self.last_items.push(item);
                Offered::Ignored("it is being cancelled already")
            }
            Input::Cancel { reason, by, force, item } => {
                self.note_what_was_returned();
                self.cancel(Cancelled { reason, by }, force, item);
                Offered::Accepted
            }
            Input::HandBack => {
                self.held = true; // also if it does not let go after all
                Offered::Ignored("the owner lets go")
            }
            Input::Ended { frame, attempt, end } => self.left(&frame, attempt, &end),
            Input::Message { message, item } if ends => {
                // Dead-lettered with the end, if the end does not know of it yet; else the store refuses the end.
                self.post.keep(message, item);
                Offered::Ignored("the execution ends")
            }
            Input::Answer { frame, answer, by, item, .. } if ends => {
                self.post.keep(unanswering(&frame, answer, by), item);
                Offered::Ignored("the execution ends")
            }
            Input::Watch { by, item } if ends && !self.journal.is_writing() => {
                self.take_watch(by, item).unwrap_or(Offered::Ignored("the log is damaged"))
            }
            Input::Verdict { item, .. } | Input::ChildSettled { item, .. } | Input::Noted { item }
                if ends =>
            {
                self.journal.consume(item);
                Offered::Ignored("the execution ends")
            }
            // The retry was made: this is how it ends.
            Input::Noted { item } if !self.lets_go_alive() => {
                self.journal.consume(item);
                Offered::Ignored("the retry is over")
            }
            _ => Offered::Ignored("the owner lets go"),
        }
    }

    /// Whether the end that is about to be written is a cancelled one.
    pub(super) fn ends_cancelled(&self) -> bool {
        matches!(&self.phase, Phase::Closing(event) if matches!(**event, Event::ExecutionCancelled(_)))
    }

    /// A cancel comes before an end that is not written; what the flow has come to is on record all the same.
    pub(super) fn note_what_was_returned(&mut self) {
        let Phase::Closing(event) = &self.phase else { return };
        if let (Some(end), None) = (End::returned(event), &self.state().ending) {
            // Always follows from the state of an execution that has not ended yet.
            let _ = self.record_end(end, BTreeSet::new());
        }
    }

    /// A fault on the way need not come again: the flow is told by a next owner, who is not waited for by anybody else.
    /// Once for each cancel, for the key is used up; and not if this code does not come that far.
    pub(super) fn try_again_for(&mut self, item: u64) {
        if !self.misfit {
            let (to, key) = (self.config.execution.clone(), format!("again:{item}"));
            self.journal.post(Post { to, key, told: Told::Again, early: false });
        }
    }

    /// Letting go is taken back whole while there is something to go on with: a flow, or a wait for children.
    pub(super) fn stay(&mut self) {
        match &self.phase {
            Phase::Closing(_) if self.flow.is_some() => self.phase = Phase::Live,
            Phase::Closing(event) if matches!(**event, Event::ExecutionSuspended(_)) => {
                self.phase = Phase::Ending;
            }
            _ => {}
        }
    }

    /// Whether the owner is about to let go of a flow that could go on here.
    pub(super) fn lets_go_alive(&self) -> bool {
        matches!(self.phase, Phase::Closing(_)) && self.flow.is_some()
    }

    /// The flow has returned. An accepted cancel is latched: it ends as cancelled, whatever that is.
    pub(super) fn finish(&mut self, returned: FlowReturn) {
        self.end(match (self.state().cancel.clone(), returned) {
            (Some(cancelled), _) => End::Cancelled(cancelled),
            (None, Ok(output)) => End::Completed(output),
            (None, Err(failure)) => End::Failed(failure),
        });
    }

    /// A fault in code: the flow is torn down, the execution parks.
    pub(super) fn park(&mut self, mut report: ParkReport) {
        if matches!(self.phase, Phase::Closed(..)) {
            return;
        }
        let (wrote, has) = (self.state().code.body, self.config.code.body);
        let of_code = matches!(report.fault, Fault::Divergence | Fault::Undecodable | Fault::MissingStep);
        if of_code && wrote != has {
            report.message = format!("waiting for code {wrote:016x}: {}", report.message);
            report.wants = Some(format!("{wrote:016x}"));
        }
        report.near = report.near.or_else(|| self.cx.shared.lock().near.clone());
        report.code.get_or_insert_with(|| format!("{:016x}", self.config.code.body));
        let about = report.frame.as_ref().and_then(|frame| self.state().frames.get(frame));
        let settled = about.and_then(|frame| frame.settled);
        report.sequence = report.sequence.or(settled).or(Some(self.state().next.saturating_sub(1)));
        self.fault = Some(report.clone());
        self.tear_down();
        if self.journal.state().status.is_terminal() {
            // What has ended stays as it ended: the fault is told, not recorded.
            self.phase = Phase::Closed(self.journal.state().status, false);
            return;
        }
        // Neither can fail for frames that are open; if one does, the report still tells why.
        let _ = self.give_up_waiting();
        self.in_doubt_where_running("parked");
        self.revoke_all();
        self.phase = Phase::Closing(Box::new(Event::ExecutionParked(Parked { report })));
    }

    /// A fault that kept the flow from coming to where the log ends.
    pub(super) fn park_short(&mut self, report: ParkReport) {
        self.misfit = true;
        self.park(report);
    }

    /// A fault that is none of the flow's: it is not run here, and what the log holds is all that is known of it. Only a
    /// newer build may get further.
    pub(super) fn park_unrun(&mut self, report: ParkReport) {
        self.misfit = report.wants.is_some();
        self.fault = Some(report.clone());
        self.tear_down();
        self.phase = Phase::Closing(Box::new(Event::ExecutionParked(Parked { report })));
    }

    pub(super) fn parks(&self) -> bool {
        matches!(&self.phase, Phase::Closing(event) if matches!(**event, Event::ExecutionParked(_)))
    }

    /// Whether the log is what stopped the flow.
    pub(super) fn is_unreadable(&self) -> bool {
        self.fault.as_ref().is_some_and(|report| report.fault == Fault::UnreadableLog)
    }

    /// Whether the flow that a fault has stopped might tidy up once it is mended. A log mends itself for nobody.
    pub(super) fn may_tidy_up_later(&self) -> bool {
        let tidies_up = || self.cx.shared.lock().heeds_cancel() && !self.is_unreadable();
        self.parks() && (self.misfit || tidies_up())
    }

    pub(super) fn suspend(&mut self) -> Offered {
        if self.is_busy() || self.journal.is_writing() {
            return Offered::Ignored("something still runs");
        }
        if matches!(self.phase, Phase::Ending) {
            let (waiting, wake_at) = (self.state().awaited().map(|(id, _)| id.clone()).collect(), None);
            self.phase = Phase::Closing(Box::new(Event::ExecutionSuspended(Suspended { waiting, wake_at })));
            return Offered::Accepted;
        }
        let open = |status| !matches!(status, crate::FrameStatus::Settled | crate::FrameStatus::Abandoned);
        let frames = &self.journal.state().frames;
        let waiting: Vec<_> =
            frames.iter().filter(|(_, f)| open(f.status)).map(|(id, _)| id.clone()).collect();
        let in_doubt = waiting.iter().find(|id| frames[*id].status == crate::FrameStatus::InDoubt);
        if let Some(frame) = in_doubt {
            let attempt = frames[frame].attempt;
            let message = format!("nobody knows whether attempt {attempt} of `{frame}` happened");
            let report = ParkReport::new(Fault::InDoubt, message).frame(frame);
            let code = Some(format!("{:016x}", self.config.code.body));
            let sequence = Some(self.journal.state().next.saturating_sub(1));
            let report = ParkReport { code, sequence, ..report };
            self.phase = Phase::Closing(Box::new(Event::ExecutionParked(Parked { report })));
            return Offered::Accepted;
        }
        let wake_at = self.next_due();
        let from_outside = |id: &FrameId| {
            matches!(
                frames[id].kind,
                FrameKind::Gate { .. } | FrameKind::Message { .. } | FrameKind::Child { .. }
            )
        };
        let called = waiting.iter().any(from_outside) || self.cx.shared.lock().heeds_cancel();
        if wake_at.is_none() && !called {
            self.park(ParkReport::new(Fault::Stuck, "nothing could ever wake this execution"));
            return Offered::Accepted;
        }
        self.phase = Phase::Closing(Box::new(Event::ExecutionSuspended(Suspended { waiting, wake_at })));
        Offered::Accepted
    }
}
