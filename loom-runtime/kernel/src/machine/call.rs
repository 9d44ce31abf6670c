//! A durable call as a future: owned, `Unpin`, registered at its first poll.
//! Not typed: the runtime wraps it and decodes what it settles with.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};

use super::cx::{Cx, Issue, Request, Settled};
use crate::FrameId;

/// A durable call of a flow.
///
/// Dropping it before it has settled, in a pass of the flow that ends well, abandons the frame.
#[must_use = "a durable call does nothing until it is awaited"]
pub struct Call {
    cx: Cx,
    stage: Stage,
}

enum Stage {
    Inert(Box<Request>),
    Waiting { frame: FrameId, holder: u32 },
    Done,
}

impl Call {
    pub(super) fn new(cx: Cx, request: Request) -> Self {
        Self { cx, stage: Stage::Inert(Box::new(request)) }
    }

    /// The request, while it can still be changed: before the first poll.
    pub fn request_mut(&mut self) -> Option<&mut Request> {
        match &mut self.stage {
            Stage::Inert(request) => Some(request),
            _ => None,
        }
    }

    /// The handle that it was made through.
    pub fn cx(&self) -> &Cx {
        &self.cx
    }
}

impl Future for Call {
    type Output = Settled;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Settled> {
        let this = &mut *self;
        let shared = &this.cx.shared;
        if let Stage::Inert(request) = &this.stage {
            if !shared.in_pass() {
                shared.outside_pass(&request.frame, "awaited");
                return Poll::Pending;
            }
            let request = (**request).clone();
            let frame = request.frame.clone();
            let Some(holder) = shared.lock().issue(request, None) else { return Poll::Pending };
            this.stage = Stage::Waiting { frame, holder };
        }
        let Stage::Waiting { frame, holder } = &this.stage else { return Poll::Pending };
        if !shared.in_pass() {
            shared.outside_pass(frame, "awaited");
            return Poll::Pending;
        }
        let waker = context.waker().clone();
        let replaced: Option<Waker>;
        {
            let mut inner = shared.lock();
            let Some(slot) = inner.slots.get_mut(frame) else { return Poll::Pending };
            if let Some(outcome) = slot.outcome.clone() {
                slot.holders -= 1;
                drop(inner);
                this.stage = Stage::Done;
                return Poll::Ready(outcome);
            }
            replaced = match slot.wakers.iter_mut().find(|(of, _)| of == holder) {
                Some((_, old)) => Some(std::mem::replace(old, waker)),
                None => {
                    slot.wakers.push((*holder, waker));
                    None
                }
            };
        }
        drop(replaced); // outside the lock: dropping a waker may run foreign code
        Poll::Pending
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let Stage::Waiting { frame, holder } = &self.stage else { return };
        let shared = &self.cx.shared;
        if shared.is_torn() {
            return;
        }
        if !shared.in_pass() {
            shared.outside_pass(frame, "dropped");
            return;
        }
        let mut inner = shared.lock();
        let Some(slot) = inner.slots.get_mut(frame) else { return };
        slot.holders -= 1;
        let waker = slot.wakers.iter().position(|(of, _)| of == holder).map(|at| slot.wakers.swap_remove(at));
        if slot.holders == 0 && slot.outcome.is_none() {
            slot.abandoned = true;
            let is_recorded = slot.op.is_recorded();
            inner.outstanding -= 1;
            if is_recorded {
                inner.issued.push(Issue::Abandoned(frame.clone()));
            } else {
                inner.slots.remove(frame);
            }
        }
        drop(inner);
        drop(waker);
    }
}
