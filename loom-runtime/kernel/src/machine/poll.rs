//! One pass over the flow: deliver, poll until quiet, gather what it asked for.
//! Not the acceptance: replay compares what was gathered, live commits it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    task::{Context, Poll},
};

use super::{
    FlowReturn, Machine,
    cx::{self, Issue, Settled},
    pass::Pass,
};
use crate::{Fault, FrameId, ParkReport, Payload, Timestamp};

/// How often a flow may wake itself within one pass. A wide join wakes itself a few times per thousand
/// branches; a future that always wakes itself never stops.
const MOST_SELF_WAKES: u32 = 100_000;

/// What a pass gave, when it ended well.
pub(super) struct Turn {
    pub(super) issued: Vec<Issue>,
    pub(super) returned: Option<FlowReturn>,
    /// The input of the next run, when the flow asked for one and has not returned.
    pub(super) next_run: Option<Payload>,
    /// It waits, and nothing that could wake it is outstanding.
    stuck: bool,
}

/// The place in the log at which a pass stands.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    /// How many events the run has by then.
    pub(super) events: u64,
}

impl Machine {
    /// Delivers an outcome (or none: the start), and polls until the flow is quiet. A pass that
    /// panics, or raises a fault, is discarded whole.
    pub(super) fn pass(
        &mut self,
        cause: Option<(&FrameId, Settled)>,
        moment: Moment,
    ) -> Result<Turn, ParkReport> {
        let shared = self.cx.shared.clone();
        let _pass = Pass::enter(shared.token);
        let wakers = {
            let mut inner = shared.lock();
            (inner.now, inner.events) = (moment.at, moment.events);
            inner.issued.clear();
            if let Some((frame, Settled::Cancelled(cancel))) = &cause
                && **frame == cx::cancellation()
            {
                inner.cancel = Some(cancel.clone());
            }
            match cause {
                None => Vec::new(),
                Some((frame, outcome)) => inner.settle(frame, outcome).ok_or_else(|| {
                    let message = format!("the log settles `{frame}`, which the flow did not ask for");
                    ParkReport::new(Fault::Divergence, message).frame(frame)
                })?,
            }
        };
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
        let returned = self.poll_until_quiet()?;
        let mut inner = shared.lock();
        if let Some(report) = inner.fault.take() {
            return Err(report);
        }
        let issued = std::mem::take(&mut inner.issued);
        let outstanding = inner.outstanding;
        let next_run = inner.next_run.take().filter(|_| returned.is_none());
        drop(inner);
        if shared.waker.is_foreign() {
            return Err(self.foreign_wake());
        }
        let stuck = returned.is_none() && outstanding == 0 && next_run.is_none();
        Ok(Turn { issued, returned, next_run, stuck })
    }

    /// Asked only once the turn was compared with the log: a divergence tells more.
    pub(super) fn unless_stuck(&self, turn: Turn) -> Result<Turn, ParkReport> {
        if turn.stuck {
            let message =
                format!("flow `{}` waited for something that Loom did not record", self.state().flow);
            return Err(ParkReport::new(Fault::Stuck, message));
        }
        Ok(turn)
    }

    pub(super) fn foreign_wake(&self) -> ParkReport {
        let flow = &self.state().flow;
        let message = format!("flow `{flow}` was woken by something that Loom did not record");
        ParkReport::new(Fault::ForeignWake, message)
    }

    fn poll_until_quiet(&mut self) -> Result<Option<FlowReturn>, ParkReport> {
        let Some(flow) = &mut self.flow else { return Ok(None) };
        let mut context = Context::from_waker(&self.waker);
        for _ in 0..MOST_SELF_WAKES {
            self.cx.shared.waker.take_own();
            match catch_unwind(AssertUnwindSafe(|| flow.as_mut().poll(&mut context))) {
                Ok(Poll::Ready(returned)) => {
                    self.flow = None;
                    return Ok(Some(returned));
                }
                Ok(Poll::Pending) if self.cx.shared.lock().fault.is_some() => return Ok(None),
                Ok(Poll::Pending) if self.cx.shared.waker.take_own() => {}
                Ok(Poll::Pending) => return Ok(None),
                Err(panic) => {
                    let said = crate::panic_text(panic.as_ref());
                    let message = format!("flow `{}` panicked: {said}", self.journal.state().flow);
                    return Err(ParkReport::new(Fault::FlowPanicked, message));
                }
            }
        }
        let message =
            format!("flow `{}` woke itself {MOST_SELF_WAKES} times in one pass", self.journal.state().flow);
        Err(ParkReport::new(Fault::Spinning, message))
    }
}
