//! What a flow has begun and does not hold in its hands: spawned children, detached branches.
//! Not a task: it is polled with the flow, in the same pass, and dropped with it.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use kernel::{
    Payload,
    machine::{Call, Cx},
};

use super::child;

#[derive(Default)]
pub(crate) struct Background(Mutex<Work>);

#[derive(Default)]
struct Work {
    /// Calls that stay asked for as long as the flow lives.
    kept: Vec<Call>,
    /// Branches, and whether the flow's end waits for each.
    branches: Vec<(BoxFuture<'static, ()>, bool)>,
    /// How many handles of children that the end waits for the flow still holds.
    held: usize,
    /// The input of the next run, once it is asked for.
    next_run: Option<Payload>,
}

/// The flow holds the handle of a child that its end waits for.
pub(super) struct Held(Arc<Background>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.with(|work| work.held -= 1);
    }
}

impl Background {
    pub(super) fn keep(&self, call: Call) {
        self.with(|work| work.kept.push(call));
    }

    pub(super) fn wait(&self, call: Call) {
        self.with(|work| work.branches.push((Box::pin(child::ended(call)), true)));
    }

    pub(super) fn hold(self: &Arc<Self>) -> Held {
        self.with(|work| work.held += 1);
        Held(self.clone())
    }

    /// Asks for the next run, which begins once nothing is left that the flow's end would wait for.
    pub(super) fn continue_with(&self, input: Payload) {
        self.with(|work| {
            work.next_run.get_or_insert(input);
        });
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
        let work = self.with(|work| (std::mem::take(&mut work.kept), std::mem::take(&mut work.branches)));
        drop(work);
    }
}

/// A flow with its background: ends, or goes on as the next run, when the flow has, and everything that its end waits for.
pub(crate) struct Root<F: Future> {
    cx: Cx,
    flow: Option<Pin<Box<F>>>,
    returned: Option<F::Output>,
    background: Arc<Background>,
}

impl<F: Future> Root<F> {
    pub(crate) fn new(cx: Cx, flow: F, background: Arc<Background>) -> Self {
        Self { cx, flow: Some(Box::pin(flow)), returned: None, background }
    }
}

impl<F: Future> Unpin for Root<F> {}

impl<F: Future> Future for Root<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if let Some(Poll::Ready(returned)) = self.flow.as_mut().map(|flow| flow.as_mut().poll(context)) {
            (self.flow, self.returned) = (None, Some(returned));
        }
        let mut waits = self.background.poll(context);
        let (asks, holds) = self.background.with(|work| (work.next_run.is_some(), work.held > 0));
        if asks && (waits || holds) && self.flow.take().is_some() {
            // It ends here; what it held goes on in the background, as when it returns.
            waits = self.background.poll(context);
        }
        if waits {
            return Poll::Pending;
        }
        if let Some(returned) = self.returned.take() {
            self.background.clear();
            return Poll::Ready(returned);
        }
        if let Some(input) = self.background.with(|work| work.next_run.take()) {
            self.cx.continue_as_new(input);
        }
        Poll::Pending
    }
}

impl<F: Future> Drop for Root<F> {
    /// Branches hold contexts, and contexts hold the background.
    fn drop(&mut self) {
        self.background.clear();
    }
}
