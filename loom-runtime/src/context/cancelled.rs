//! The future of a request to stop.
//! Not the request: that is [`crate::App::cancel`].

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use kernel::{
    Cancelled,
    machine::{Call, Settled},
};

/// `ctx.cancelled()`: a future that completes when somebody cancels the execution.
///
/// A flow that waits for it is told, may release what it holds, and ends as cancelled, whatever it returns. One that
/// does not is dropped where it stands.
#[must_use = "nothing is waited for until it is awaited"]
pub struct Cancellation(pub(super) Call);

impl Future for Cancellation {
    type Output = Cancelled;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Cancelled> {
        match Pin::new(&mut self.0).poll(context) {
            Poll::Ready(Settled::Cancelled(cancelled)) => Poll::Ready(cancelled),
            Poll::Ready(_) | Poll::Pending => Poll::Pending,
        }
    }
}
