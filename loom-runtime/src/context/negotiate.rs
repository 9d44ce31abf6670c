//! The future of a negotiated budget: ready at its first poll, and recorded as a decision.
//! Not the negotiator: the host brings that.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use kernel::{
    Fault, ParkReport, Payload,
    machine::{Cx, Op, Settled},
};

use super::{
    ctx::{Stage, decoded},
    decide::{Choices, known_choice},
    place::{Place, placed},
};
use crate::{Ask, Asker, Grant, Limits, Negotiate};

/// `ctx.negotiate_budget("name", ask)`: a future of the [`Grant`].
#[must_use = "nothing is asked for until it is awaited"]
pub struct NegotiateBudget {
    cx: Cx,
    place: Place,
    limits: Limits,
    budgets: Arc<dyn Negotiate>,
    choices: Option<Arc<dyn Choices>>,
    ask: Ask,
    stage: Stage<()>,
}

placed!(NegotiateBudget);

impl NegotiateBudget {
    pub(super) fn new(
        cx: Cx,
        place: Place,
        limits: Limits,
        (budgets, choices): (Arc<dyn Negotiate>, Option<Arc<dyn Choices>>),
        ask: Ask,
    ) -> Self {
        Self { cx, place, limits, budgets, choices, ask, stage: Stage::Inert(()) }
    }
}

impl Future for NegotiateBudget {
    type Output = Grant;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Grant> {
        let Self { cx, place, limits, budgets, choices, ask, stage } = &mut *self;
        let settled = stage.poll(context, |()| {
            let granted = |frame| {
                let by = Asker { execution: cx.execution().clone(), frame };
                let granted = budgets.negotiate(ask, &by).min(ask.amount);
                Payload::encode(&Grant { resource: ask.resource.clone(), asked: ask.amount, granted })
            };
            let known = known_choice(cx, place, choices.as_deref());
            let grant = match known.map_or_else(|| granted(place.frame_or("negotiate_budget")), Ok) {
                Ok(grant) => grant,
                Err(reason) => {
                    let message = format!("a grant cannot be written as JSON: {reason}");
                    cx.raise(ParkReport::new(Fault::Unserializable, message));
                    return None;
                }
            };
            if let Err(report) = limits.check_record("a grant", &grant) {
                cx.raise(report);
                return None;
            }
            place.call(cx, "a budget", Op::Decision(grant))
        });
        let Poll::Ready(Settled::Completed(grant)) = settled else { return Poll::Pending };
        let Some(grant) = decoded::<Grant>(cx, place.frame(), "a grant", grant.decode()) else {
            return Poll::Pending;
        };
        if grant.resource != ask.resource {
            // What was granted of one thing allows nothing of another.
            let message =
                format!("`{}` was granted here, and the code asks for `{}`", grant.resource, ask.resource);
            let report = ParkReport::new(Fault::Divergence, message);
            cx.raise(ParkReport { frame: place.frame(), near: Some(place.line()), ..report });
            return Poll::Pending;
        }
        Poll::Ready(grant)
    }
}
