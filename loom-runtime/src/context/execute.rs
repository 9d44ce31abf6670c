//! The future of a step that is chosen at run time, by its name.
//! Not a way around the registry: the step is one of this program's, and its input fits its schema.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use kernel::{
    EffectError, Payload,
    machine::{Cx, Op, Settled},
};

use super::{
    ctx::Stage,
    place::{Place, placed},
};
use crate::{Error, Failure, Limits, Registry, ceiling::allows};

/// `ctx.execute("id", "step", input)`: a future of what the registered step `step` returns, as JSON.
///
/// For flows that follow a plan which is not known when they are compiled. The step's delivery, retries and timeout
/// are its own. A step that is not registered, an input that does not fit its schema, and effect classes beyond the
/// flow's ceiling are [`EffectError::Denied`]: recorded, and nothing runs.
#[must_use = "a step does nothing until it is awaited"]
pub struct Execute {
    cx: Cx,
    place: Place,
    limits: Limits,
    registry: Arc<Registry>,
    ceiling: Option<&'static [&'static str]>,
    step: String,
    stage: Stage<Payload>,
}

placed!(Execute);

impl Execute {
    pub(super) fn new(
        cx: Cx,
        place: Place,
        limits: Limits,
        (registry, ceiling): (Arc<Registry>, Option<&'static [&'static str]>),
        step: String,
        input: Payload,
    ) -> Self {
        Self { cx, place, limits, registry, ceiling, step, stage: Stage::Inert(input) }
    }
}

impl Future for Execute {
    type Output = Result<Payload, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { cx, place, limits, registry, ceiling, step, stage } = &mut *self;
        let settled = stage.poll(context, |input| {
            let known = registry.step(step);
            let (delivery, retry) = known.map(|known| (known.delivery, known.retry)).unwrap_or_default();
            let denied = |reason: String| Some(EffectError::Denied { reason });
            let refuse = match known {
                None => denied(format!("this program has no step `{step}`")),
                Some(known) => match over(*ceiling, known.effects) {
                    Some(class) => denied(format!("`{class}` of step `{step}` is over the flow's ceiling")),
                    None => match crate::app::fits((known.input)().as_value(), &input) {
                        Err(reason) => denied(format!("the input does not fit step `{step}`: {reason}")),
                        Ok(()) => limits.refuse_input(step, &input),
                    },
                },
            };
            let (timeout, detached) = (None, false);
            let op = Op::Step { step: step.clone(), input, delivery, retry, timeout, refuse, detached };
            place.call(cx, step, op)
        });
        match settled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Settled::Completed(output)) => Poll::Ready(Ok(output)),
            Poll::Ready(Settled::Failed(failed)) => Poll::Ready(Err(match failed.engine {
                Some(engine) => Error::from_engine(engine),
                None => Error::msg(failed.message),
            })),
            Poll::Ready(_) => Poll::Pending,
        }
    }
}

/// The first of the classes that a ceiling does not cover.
fn over(ceiling: Option<&[&str]>, classes: &[&'static str]) -> Option<&'static str> {
    let ceiling = ceiling?;
    classes.iter().copied().find(|class| !allows(ceiling, class))
}
