//! A limit on how long a flow waits for something, whatever it is.
//! Not the limit on an attempt of a step: that is the step's `timeout`, and counts anew for each attempt.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use kernel::EffectError;

use super::Sleep;

/// `ctx.timeout(limit, future)`: what the future gives, or [`EffectError::TimedOut`] when its time is up first. Then
/// the future is dropped, and what it waits for with it. The limit is a durable timer: it counts through restarts.
#[must_use = "nothing happens until it is awaited"]
pub struct Timeout<F> {
    limit: Duration,
    timer: Sleep,
    future: Option<Pin<Box<F>>>,
}

impl<F: Future> Timeout<F> {
    pub(super) fn new(limit: Duration, timer: Sleep, future: F) -> Self {
        Self { limit, timer, future: Some(Box::pin(future)) }
    }

    /// As for every durable call: names the timer.
    pub fn id(mut self, id: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        self.timer = self.timer.id(id);
        self
    }

    /// As for every durable call.
    pub fn key(mut self, key: impl std::fmt::Display) -> Self {
        self.timer = self.timer.key(key);
        self
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, EffectError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else { return Poll::Pending };
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            self.future = None;
            return Poll::Ready(Ok(output));
        }
        match Pin::new(&mut self.timer).poll(context) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(()) => {
                self.future = None;
                let after_ms = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
                Poll::Ready(Err(EffectError::TimedOut { after_ms }))
            }
        }
    }
}
