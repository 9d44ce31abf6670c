//! What a `select!` by its bare name is asked: whether it is that of futures, which picks among ready branches at random. Not
//! a future that anybody waits for.

use std::{
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::FusedFuture;

/// A `select!` that takes the first ready branch; that of futures is none.
#[diagnostic::on_unimplemented(
    message = "[L0210] this `select!` may pick another branch on replay",
    label = "the `select!` of futures",
    note = "help: use `loom::select!`, which takes the first ready branch in the order of the source"
)]
pub trait TakesFirstReady {}

/// A branch that is never taken. The `select!` of futures alone asks for a fused future, and this is none, in the words
/// above.
pub struct FirstReady<T = ()>(PhantomData<T>);

impl FirstReady {
    /// That branch.
    pub fn never() -> Self {
        Self(PhantomData)
    }
}

impl<T> Future for FirstReady<T> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl<T> FusedFuture for FirstReady<T>
where
    T: TakesFirstReady,
{
    fn is_terminated(&self) -> bool {
        true
    }
}
