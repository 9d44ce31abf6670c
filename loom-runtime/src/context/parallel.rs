//! Structured concurrency: many branches at once, under one policy.
//! Not tasks: branches are polled by the flow, in order, so that a replay takes the same turns.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;

use super::background::Background;

/// `ctx.parallel(branches)`: runs them at once, and decides by policy what an error means.
///
/// A branch is any future of a `Result` that waits for durable calls only: `ctx.run(..)`, `ctx.call(..)`, an `async`
/// block with several of them, another `parallel`. Branches that have not begun when it ends never begin; those that
/// have are dropped, which is recorded and stops their effects. The execution does not end before the attempts of their
/// steps have, nor before their children, which are cancelled and may tidy up.
///
/// By itself it is a future of one result per branch, in the order of the branches. [`Parallel::fail_fast`] and
/// [`Parallel::drain`] make one result of them.
#[must_use = "branches do nothing until they are awaited"]
pub struct Parallel<B: Future> {
    branches: Branches<B>,
}

struct Branches<B: Future> {
    waiting: VecDeque<(usize, B)>,
    running: Vec<(usize, Pin<Box<B>>)>,
    done: Vec<Option<B::Output>>,
    limit: usize,
}

impl<B: Future> Parallel<B> {
    pub(super) fn new(branches: impl IntoIterator<Item = B>) -> Self {
        let waiting: VecDeque<_> = branches.into_iter().enumerate().collect();
        let done = waiting.iter().map(|_| None).collect();
        Self { branches: Branches { waiting, running: Vec::new(), done, limit: usize::MAX } }
    }

    /// At most so many branches at once: the next one begins when one has ended. At least 1.
    pub fn limit(mut self, limit: usize) -> Self {
        self.branches.limit = limit.max(1);
        self
    }
}

impl<T, E, B: Future<Output = Result<T, E>>> Parallel<B> {
    /// The first error ends it, and drops the other branches; else all values, in the order of the branches.
    pub fn fail_fast(self) -> FailFast<B> {
        FailFast(self.branches)
    }

    /// Every branch runs to its end; then all values, or every error with the number of its branch.
    pub fn drain(self) -> Drain<B> {
        Drain(self.branches)
    }
}

impl<B: Future> Branches<B> {
    /// Polls what runs, in order, and begins what may. Stops at an outcome for which `is_enough` says so.
    fn poll(
        &mut self,
        context: &mut Context<'_>,
        mut is_enough: impl FnMut(&B::Output) -> bool,
    ) -> Poll<Option<B::Output>> {
        let mut at = 0;
        loop {
            if at == self.running.len() {
                if self.running.len() >= self.limit {
                    break;
                }
                let Some((index, branch)) = self.waiting.pop_front() else { break };
                self.running.push((index, Box::pin(branch)));
            }
            match self.running[at].1.as_mut().poll(context) {
                Poll::Pending => at += 1,
                Poll::Ready(outcome) => {
                    let (index, _) = self.running.remove(at);
                    if is_enough(&outcome) {
                        return Poll::Ready(Some(outcome));
                    }
                    self.done[index] = Some(outcome);
                }
            }
        }
        if self.running.is_empty() { Poll::Ready(None) } else { Poll::Pending }
    }

    fn take_done(&mut self) -> Vec<B::Output> {
        std::mem::take(&mut self.done).into_iter().flatten().collect()
    }

    fn drop_all(&mut self) {
        self.waiting.clear();
        self.running.clear();
    }
}

impl<B: Future> Unpin for Parallel<B> {}

impl<B: Future> Future for Parallel<B> {
    type Output = Vec<B::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.branches.poll(context, |_| false) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(_) => Poll::Ready(self.branches.take_done()),
        }
    }
}

/// See [`Parallel::fail_fast`].
#[must_use = "branches do nothing until they are awaited"]
pub struct FailFast<B: Future>(Branches<B>);

impl<B: Future> Unpin for FailFast<B> {}

impl<T, E, B: Future<Output = Result<T, E>>> Future for FailFast<B> {
    type Output = Result<Vec<T>, E>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.0.poll(context, Result::is_err) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Some(Err(error))) => {
                self.0.drop_all();
                Poll::Ready(Err(error))
            }
            Poll::Ready(_) => Poll::Ready(self.0.take_done().into_iter().collect()),
        }
    }
}

/// See [`Parallel::drain`].
#[must_use = "branches do nothing until they are awaited"]
pub struct Drain<B: Future>(Branches<B>);

impl<B: Future> Unpin for Drain<B> {}

impl<T, E, B: Future<Output = Result<T, E>>> Future for Drain<B> {
    type Output = Result<Vec<T>, Failures<T, E>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.0.poll(context, |_| false).is_pending() {
            return Poll::Pending;
        }
        let results = self.0.take_done();
        Poll::Ready(if results.iter().all(Result::is_ok) {
            Ok(results.into_iter().flatten().collect())
        } else {
            Err(Failures(results))
        })
    }
}

/// What the branches of a [`Parallel::drain`] came to, when some have failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failures<T, E>(Vec<Result<T, E>>);

impl<T, E> Failures<T, E> {
    /// The errors, each with the number of its branch, from 0.
    pub fn errors(&self) -> impl Iterator<Item = (usize, &E)> {
        self.0.iter().enumerate().filter_map(|(index, result)| Some((index, result.as_ref().err()?)))
    }

    /// All results, in the order of the branches.
    pub fn into_results(self) -> Vec<Result<T, E>> {
        self.0
    }

    /// The first error, for a `?`.
    pub fn into_first(self) -> Option<E> {
        self.0.into_iter().find_map(Result::err)
    }
}

impl<T, E: fmt::Display> fmt::Display for Failures<T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} branches failed", self.errors().count(), self.0.len())?;
        self.errors().try_for_each(|(index, error)| write!(f, "; branch {index}: {error}"))
    }
}

impl<T: fmt::Debug, E: fmt::Debug + fmt::Display> std::error::Error for Failures<T, E> {}

/// `ctx.scope()`: branches of different kinds that are added one by one, and awaited together.
///
/// ```ignore
/// let mut scope = ctx.scope();
/// scope.add(ctx.run(probe(host)));
/// scope.add(ctx.call(trace(host)));
/// let findings = scope.fail_fast().await?;
/// ```
#[must_use = "branches do nothing until they are awaited"]
pub struct Scope<T, E> {
    branches: Vec<BoxFuture<'static, Result<T, E>>>,
    limit: usize,
    background: Arc<Background>,
}

impl<T: 'static, E: 'static> Scope<T, E> {
    pub(super) fn new(background: Arc<Background>) -> Self {
        Self { branches: Vec::new(), limit: usize::MAX, background }
    }

    /// One more branch.
    pub fn add(&mut self, branch: impl Future<Output = Result<T, E>> + Send + 'static) {
        self.branches.push(Box::pin(branch));
    }

    /// At most so many branches at once. At least 1.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = limit.max(1);
        self
    }

    /// See [`Parallel::fail_fast`].
    pub fn fail_fast(self) -> FailFast<BoxFuture<'static, Result<T, E>>> {
        self.all().fail_fast()
    }

    /// See [`Parallel::drain`].
    pub fn drain(self) -> Drain<BoxFuture<'static, Result<T, E>>> {
        self.all().drain()
    }

    /// One result per branch, in the order in which they were added.
    pub fn all(self) -> Parallel<BoxFuture<'static, Result<T, E>>> {
        Parallel::new(self.branches).limit(self.limit)
    }

    /// Nobody waits for the branches: they go on beside the flow, and are dropped when it ends. Their outcomes are in
    /// the log.
    pub fn detach(self)
    where
        T: Send,
        E: Send,
    {
        let (background, all) = (self.background.clone(), self.all());
        background.detach(Box::pin(async move {
            all.await;
        }));
    }
}
