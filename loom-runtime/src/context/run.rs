//! The future of a step that is run durably.
//! Not the step's body: that runs in the driver, for as many attempts as it takes.

use std::{
    any::type_name,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use kernel::{
    EffectError, Fault, ParkReport, Payload,
    machine::{Cx, Op, Settled},
};

use super::{
    ctx::{Stage, decoded},
    place::{Place, placed},
};
use crate::{Limits, Step, failure, recorded};

/// `ctx.run(step(..))`: a future of what the step returns, registered at its first poll.
#[must_use = "a step does nothing until it is awaited"]
pub struct Run<S: Step> {
    cx: Cx,
    place: Place,
    limits: Limits,
    denied: Option<EffectError>,
    timeout: Option<Duration>,
    detached: bool,
    stage: Stage<Result<Payload, kernel::InvalidPayload>>,
    step: PhantomData<fn() -> S>,
}

placed!(Run<S: Step>);

impl<S: Step> Run<S> {
    pub(super) fn new(
        cx: Cx,
        place: Place,
        limits: Limits,
        denied: Option<EffectError>,
        input: S::Input,
    ) -> Self {
        let stage = Stage::Inert((S::INPUT.encode)(&input));
        Self { cx, place, limits, denied, timeout: None, detached: false, stage, step: PhantomData }
    }

    /// Allows a second call with this id and the same input: it gets the first one's outcome. With another input it is a
    /// fault, `step_id_reused`, and the execution parks.
    pub fn memo(mut self) -> Self {
        self.place.set_memo();
        self
    }

    /// Lets the step run on when the flow drops the call, or ends: then nobody waits for its end, and it is not in the
    /// log. Without this it is stopped, and the execution ends after it.
    pub fn detached(mut self) -> Self {
        self.detached = true;
        self
    }

    /// How long one attempt may take, in place of what the step says.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }
}

impl<S: Step> Future for Run<S> {
    type Output = Result<S::Output, S::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { cx, place, limits, denied, timeout, detached, stage, .. } = &mut *self;
        let step = S::DESCRIPTOR;
        let settled = stage.poll(context, |input| {
            let input = match input {
                Ok(input) => input,
                Err(reason) => {
                    let ty = type_name::<S::Input>();
                    let message = format!(
                        "the input of step `{}` ({ty}) cannot be written as JSON: {reason}",
                        step.name
                    );
                    cx.raise(ParkReport::new(Fault::Unserializable, message));
                    return None;
                }
            };
            let refuse = denied.take().or_else(|| limits.refuse_input(step.name, &input));
            let (delivery, retry, timeout, detached) = (step.delivery, step.retry, *timeout, *detached);
            let op = Op::Step { step: step.name.into(), input, delivery, retry, timeout, refuse, detached };
            place.call(cx, step.name, op)
        });
        let frame = || place.frame();
        let outcome = match settled {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Settled::Completed(output)) => decoded(
                cx,
                frame(),
                &format!("the outcome of step `{}`", step.name),
                recorded::decoded(&output),
            )
            .map(Ok),
            Poll::Ready(Settled::Failed(failed)) => decoded(
                cx,
                frame(),
                &format!("the failure of step `{}`", step.name),
                failure::rebuilt(failed),
            )
            .map(Err),
            Poll::Ready(_) => None,
        };
        outcome.map_or(Poll::Pending, Poll::Ready)
    }
}
