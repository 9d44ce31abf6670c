//! The future of an answer from outside.
//! Not the way in for the answer: that is [`crate::App::resume`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use kernel::{
    EffectError, Payload,
    machine::{Cx, Op, Settled},
};
use schemars::Schema;

use super::{
    ctx::{Read, Stage, decoded},
    place::{Place, placed},
};
use crate::Received;

/// `ctx.suspend::<T>("gate")`: a future of the answer. Without [`Suspend::timeout`] it waits for ever.
#[must_use = "a gate is not opened until it is awaited"]
pub struct Suspend<T> {
    cx: Cx,
    place: Place,
    gate: &'static str,
    timeout: Option<Duration>,
    stage: Stage<()>,
    schema: fn() -> Schema,
    read: Read<T>,
}

placed!(Suspend<T>);

impl<T> Suspend<T> {
    pub(super) fn new(cx: Cx, place: Place, gate: &'static str) -> Self
    where
        T: Received,
    {
        let (schema, read): (fn() -> Schema, Read<T>) = (|| schemars::schema_for!(T), Payload::decode);
        Self { cx, place, gate, timeout: None, stage: Stage::Inert(()), schema, read }
    }

    /// How long to wait: then the call ends with [`EffectError::TimedOut`], and the gate is closed. An answer that was
    /// accepted wins over an expiry that nobody has recorded yet: where no worker is up, a gate stays open until one is.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }
}

// What `T` has to be, `Ctx::suspend` says, once.
impl<T> Future for Suspend<T> {
    type Output = Result<T, EffectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { cx, place, gate, timeout, stage, schema, read } = &mut *self;
        let settled = stage.poll(context, |()| {
            let schema = Payload::from_value(schema().as_value());
            place.call(cx, gate, Op::Gate { gate: (*gate).into(), schema, timeout: *timeout })
        });
        match settled {
            Poll::Ready(Settled::Answered { answer, .. }) => {
                let what = format!("the answer to gate `{gate}`");
                decoded(cx, place.frame(), &what, read(&answer))
                    .map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer)))
            }
            Poll::Ready(Settled::Expired) => {
                let after = timeout.map_or(0, |limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX));
                Poll::Ready(Err(EffectError::TimedOut { after_ms: after }))
            }
            Poll::Ready(_) | Poll::Pending => Poll::Pending,
        }
    }
}
