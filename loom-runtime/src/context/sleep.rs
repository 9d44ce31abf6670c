//! The future of a durable timer.
//! Not a clock: when it is due is the machine's to say.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use kernel::machine::{Cx, Due, Op};

use super::{
    ctx::Stage,
    place::{Place, placed},
};

/// `ctx.sleep(..)`: a future that completes when its instant has come, in whatever process.
#[must_use = "a timer is not set until it is awaited"]
pub struct Sleep {
    cx: Cx,
    place: Place,
    due: Due,
    stage: Stage<()>,
}

placed!(Sleep);

impl Sleep {
    pub(super) fn new(cx: Cx, place: Place, due: Due) -> Self {
        Self { cx, place, due, stage: Stage::Inert(()) }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self { cx, place, due, stage } = &mut *self;
        stage.poll(context, |()| place.call(cx, "sleep", Op::Timer(*due))).map(drop)
    }
}
