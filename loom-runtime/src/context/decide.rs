//! The future of a recorded choice: ready at its first poll.
//! Not a step: the choice is made in the flow, and cheap; or given to it, in a simulation.

use std::{
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use kernel::{
    Fault, FrameId, ParkReport, Payload,
    machine::{Cx, Op, Settled},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::Limits;

use super::{
    ctx::{Stage, decoded},
    place::Place,
};

/// Who makes the choices that the log does not hold, in place of the flow.
pub(crate) trait Choices: Send + Sync {
    /// What is chosen at this frame of this run, if it is known.
    fn given(&self, run: u64, frame: &FrameId) -> Option<Payload>;

    /// Whether the flow chooses what is not given; else it waits.
    fn may_choose(&self) -> bool;

    /// A choice was left open in the midst of a pass: what the log holds of the rest of it is not asked for.
    fn left_open(&self) {}
}

/// `ctx.decide("name", || ..)`: a future of what was chosen the first time.
#[must_use = "nothing is decided until it is awaited"]
pub struct Decide<T, C> {
    cx: Cx,
    place: Place,
    limits: Limits,
    choices: Option<Arc<dyn Choices>>,
    stage: Stage<C>,
    value: PhantomData<fn() -> T>,
}

impl<T, C> Decide<T, C> {
    pub(super) fn new(
        cx: Cx,
        place: Place,
        limits: Limits,
        choices: Option<Arc<dyn Choices>>,
        choose: C,
    ) -> Self {
        Self { cx, place, limits, choices, stage: Stage::Inert(choose), value: PhantomData }
    }

    /// Names the call itself, in place of its name. Needed when a flow has two decisions of one name.
    pub fn id(mut self, id: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        self.place.set_id(id);
        self
    }

    /// Identifies the call within its loop by what it is about, in place of how often the loop has turned.
    pub fn key(mut self, key: impl std::fmt::Display) -> Self {
        self.place.set_key(key);
        self
    }
}

impl<T, C> Future for Decide<T, C>
where
    T: Serialize + DeserializeOwned,
    C: FnOnce() -> T + Unpin,
{
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { cx, place, limits, choices, stage, .. } = &mut *self;
        let mut is_only_asked_for = false;
        let settled = stage.poll(context, |choose| {
            let known = known_choice(cx, place, choices.as_deref());
            if known.is_none()
                && let Some(choices) = choices.as_ref().filter(|choices| !choices.may_choose())
            {
                if cx.log_goes_on() {
                    // Whatever was chosen, the log would not hold it: only that it is asked for matters.
                    is_only_asked_for = true;
                    return place.call(cx, "a decision", Op::Decision(Payload::null()));
                }
                if !cx.is_beyond_the_log() {
                    choices.left_open();
                }
                return place.call(cx, "a decision", Op::Withheld);
            }
            let value = match known.map_or_else(|| Payload::encode(&choose()), Ok) {
                Ok(value) => value,
                Err(reason) => {
                    let message = format!("a decision cannot be written as JSON: {reason}");
                    cx.raise(ParkReport::new(Fault::Unserializable, message));
                    return None;
                }
            };
            if let Err(report) = limits.check_record("a decision", &value) {
                cx.raise(report);
                return None;
            }
            place.call(cx, "a decision", Op::Decision(value))
        });
        match settled {
            _ if is_only_asked_for => Poll::Pending,
            Poll::Ready(Settled::Completed(value)) => {
                decoded(cx, place.frame(), "a decision", value.decode()).map_or(Poll::Pending, Poll::Ready)
            }
            Poll::Ready(_) | Poll::Pending => Poll::Pending,
        }
    }
}

/// What the log holds for a decision, or what is given in its stead.
pub(super) fn known_choice(cx: &Cx, place: &Place, choices: Option<&dyn Choices>) -> Option<Payload> {
    let frame = place.frame()?;
    cx.recorded_decision(&frame).or_else(|| choices?.given(cx.run(), &frame))
}
