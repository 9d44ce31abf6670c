//! The future of a part: a helper whose frames have a prefix.
//! Not a frame itself: nothing is recorded of the call, only of what happens in it.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use kernel::{Fault, ParkReport};

use super::{
    Ctx,
    place::{Place, placed},
};
use crate::{PartCall, flow::PartBody};

/// `ctx.part("name", part(..))`: a future of what the part returns.
#[must_use = "a part does nothing until it is awaited"]
pub struct PartRun<T> {
    ctx: Ctx,
    place: Place,
    stage: PartStage<T>,
}

enum PartStage<T> {
    Inert(PartBody<T>),
    Running(BoxFuture<'static, T>),
    Stopped,
}

placed!(PartRun<T>);

impl<T: 'static> PartRun<T> {
    pub(super) fn new<P>(ctx: Ctx, place: Place, call: PartCall<T, P>) -> Self {
        Self { ctx, place, stage: PartStage::Inert(call.body) }
    }
}

impl<T: 'static> Future for PartRun<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let Self { ctx, place, stage } = &mut *self;
        if let PartStage::Inert(_) = stage
            && let PartStage::Inert(body) = std::mem::replace(stage, PartStage::Stopped)
        {
            match place.frame() {
                Some(prefix) => *stage = PartStage::Running(body(ctx.within(prefix))),
                None => ctx.cx().raise(ParkReport::new(Fault::MissingId, "a part has no id")),
            }
        }
        match stage {
            PartStage::Running(body) => body.as_mut().poll(context),
            PartStage::Inert(_) | PartStage::Stopped => Poll::Pending,
        }
    }
}
