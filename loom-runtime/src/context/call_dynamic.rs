//! The future of a child execution whose flow is chosen at run time, by its name.
//! Not checked against the flow's schema: a child that cannot read its input parks, and says so.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use kernel::{
    Cancelled, EffectError, OnClose, Payload,
    machine::{Cx, Settled},
};

use super::{
    child::{asked, given},
    ctx::Stage,
    place::{Place, placed},
};
use crate::{Error, Failure, Limits};

/// `ctx.call_dynamic("id", "flow", input)`: a future of what a child execution of the registered flow `flow` returns,
/// as JSON. It starts at the first poll. Dropping it cancels the child, unless [`CallDynamic::on_close`] says otherwise.
///
/// A flow that is not registered, and an id that is taken, are [`EffectError::NotStarted`]; one that is over the ceiling
/// of the flow that calls it is [`EffectError::Denied`].
#[must_use = "a child is not started until it is awaited"]
pub struct CallDynamic {
    cx: Cx,
    place: Place,
    limits: Limits,
    denied: Option<EffectError>,
    flow: String,
    /// Of the input's shape.
    version: u32,
    child: Option<String>,
    on_close: OnClose,
    stage: Stage<Payload>,
}

placed!(CallDynamic);

impl CallDynamic {
    pub(super) fn new(
        cx: Cx,
        place: Place,
        (limits, denied): (Limits, Option<EffectError>),
        flow: String,
        (input, version): (Payload, u32),
    ) -> Self {
        let (child, on_close) = (None, OnClose::default());
        Self { cx, place, limits, denied, flow, version, child, on_close, stage: Stage::Inert(input) }
    }

    /// The child's execution id, in place of the one that is derived from this execution's and the call's.
    ///
    /// With an id of its own and the same frame, a later run of this execution finds the child of an earlier one again.
    pub fn execution(mut self, id: impl Into<String>) -> Self {
        self.child = Some(id.into());
        self
    }

    /// What becomes of the child when this execution ends, or drops the call: cancelled unless set.
    pub fn on_close(mut self, policy: OnClose) -> Self {
        self.on_close = policy;
        self
    }
}

impl Future for CallDynamic {
    type Output = Result<Payload, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { cx, place, limits, denied, flow, version, child, on_close, stage } = &mut *self;
        let settled = stage.poll(context, |input| {
            let limits = (&*limits, denied.take());
            place.call(cx, "a child", asked(flow, (input, *version), given(child.take()), *on_close, limits))
        });
        match settled {
            Poll::Ready(Settled::Completed(output)) => Poll::Ready(Ok(output)),
            Poll::Ready(Settled::Failed(failed)) => Poll::Ready(Err(match failed.engine {
                Some(engine) => Error::from_engine(engine),
                None => Error::msg(failed.message),
            })),
            Poll::Ready(Settled::Cancelled(Cancelled { .. })) => {
                Poll::Ready(Err(Error::from_engine(EffectError::Cancelled)))
            }
            Poll::Ready(_) | Poll::Pending => Poll::Pending,
        }
    }
}
