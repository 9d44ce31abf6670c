//! The future of a recorded choice: ready at its first poll.
//! Not a step: the choice is made in the flow, and cheap.

use std::{
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use kernel::{
    Fault, ParkReport, Payload,
    machine::{Cx, Op, Settled},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::Limits;

use super::{
    ctx::{Stage, decoded},
    place::Place,
};

/// `ctx.decide("name", || ..)`: a future of what was chosen the first time.
#[must_use = "nothing is decided until it is awaited"]
pub struct Decide<T, C> {
    cx: Cx,
    place: Place,
    limits: Limits,
    stage: Stage<C>,
    value: PhantomData<fn() -> T>,
}

impl<T, C> Decide<T, C> {
    pub(super) fn new(cx: Cx, place: Place, limits: Limits, choose: C) -> Self {
        Self { cx, place, limits, stage: Stage::Inert(choose), value: PhantomData }
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
        let Self { cx, place, limits, stage, .. } = &mut *self;
        let settled = stage.poll(context, |choose| {
            let recorded = place.frame().and_then(|frame| cx.recorded_decision(&frame));
            let value = match recorded.map_or_else(|| Payload::encode(&choose()), Ok) {
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
            Poll::Ready(Settled::Completed(value)) => {
                decoded(cx, place.frame(), "a decision", value.decode()).map_or(Poll::Pending, Poll::Ready)
            }
            Poll::Ready(_) | Poll::Pending => Poll::Pending,
        }
    }
}
