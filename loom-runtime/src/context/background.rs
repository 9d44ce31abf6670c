//! What a flow has begun and does not hold in its hands: spawned children, detached branches.
//! Not a task: it is polled with the flow, in the same pass, and dropped with it.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use kernel::machine::Call;

use super::child;

#[derive(Default)]
pub(crate) struct Background(Mutex<Work>);

#[derive(Default)]
struct Work {
    /// Calls that stay asked for as long as the flow lives.
    kept: Vec<Call>,
    /// Branches, and whether the flow's end waits for each.
    branches: Vec<(BoxFuture<'static, ()>, bool)>,
}

impl Background {
    pub(super) fn keep(&self, call: Call) {
        self.with(|work| work.kept.push(call));
    }

    pub(super) fn wait(&self, call: Call) {
        self.with(|work| work.branches.push((Box::pin(child::ended(call)), true)));
    }

    /// Goes on with a branch until it is done, or the flow has ended.
    pub(super) fn detach(&self, branch: BoxFuture<'static, ()>) {
        self.with(|work| work.branches.push((branch, false)));
    }

    fn with<T>(&self, change: impl FnOnce(&mut Work) -> T) -> T {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Polls every branch once, in order, those too that a branch begins. Answers whether the flow's end waits for some.
    fn poll(&self, context: &mut Context<'_>) -> bool {
        let mut kept = Vec::new();
        loop {
            // Outside the lock: a branch may begin others.
            let mut branches = self.with(|work| std::mem::take(&mut work.branches));
            if branches.is_empty() {
                break;
            }
            branches.retain_mut(|(branch, _)| branch.as_mut().poll(context).is_pending());
            kept.append(&mut branches);
        }
        let waits = kept.iter().any(|(_, waits)| *waits);
        self.with(|work| work.branches = kept);
        waits
    }

    fn clear(&self) {
        let work = self.with(std::mem::take);
        drop(work);
    }
}

/// A flow with its background: ends when the flow has, and everything that its end waits for.
pub(crate) struct Root<F: Future> {
    flow: Pin<Box<F>>,
    returned: Option<F::Output>,
    background: Arc<Background>,
}

impl<F: Future> Root<F> {
    pub(crate) fn new(flow: F, background: Arc<Background>) -> Self {
        Self { flow: Box::pin(flow), returned: None, background }
    }
}

impl<F: Future> Unpin for Root<F> {}

impl<F: Future> Future for Root<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if self.returned.is_none()
            && let Poll::Ready(returned) = self.flow.as_mut().poll(context)
        {
            self.returned = Some(returned);
        }
        if self.background.poll(context) {
            return Poll::Pending;
        }
        match self.returned.take() {
            Some(returned) => {
                self.background.clear();
                Poll::Ready(returned)
            }
            None => Poll::Pending,
        }
    }
}

impl<F: Future> Drop for Root<F> {
    /// Branches hold contexts, and contexts hold the background.
    fn drop(&mut self) {
        self.background.clear();
    }
}
