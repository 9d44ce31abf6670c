//! Calls that nobody runs: what the compiler says where one is awaited as if it were a future, given to `?`, or dropped.
//! Not what running one means: that is `context`'s.

use std::{
    future::Future,
    marker::PhantomData,
    pin::Pin,
    task::{Context, Poll},
};

use crate::{Flow, FlowCall, PartCall, Step, StepCall};

/// A step whose calls run by themselves; there is none.
#[diagnostic::on_unimplemented(
    message = "[L0218] a step call does nothing by itself: `ctx.run` makes it happen, once, and records how it ended",
    label = "nobody runs this call of `{Self}`",
    note = "help: in a flow, write `ctx.run({Self}(..)).await?`; in a unit test, `{Self}(..).call(&resources).await?`"
)]
pub trait StepOnItsOwn {}

/// A part whose calls run by themselves; there is none.
#[diagnostic::on_unimplemented(
    message = "[L0218] a part call does nothing by itself: `ctx.part` makes it, under a name of the flow's",
    label = "nobody makes this call of `{Self}`",
    note = "help: write `ctx.part(\"name\", {Self}(..)).await`"
)]
pub trait PartOnItsOwn {}

/// A flow whose calls start by themselves; there is none.
#[diagnostic::on_unimplemented(
    message = "[L0218] a flow call does nothing by itself: `ctx.call` makes it a child, `app.start` an execution",
    label = "nobody starts this call of `{Self}`",
    note = "help: in a flow, write `ctx.call({Self}(..)).await?`; outside, `app.start({Self}(..)).await?`"
)]
pub trait FlowOnItsOwn {}

/// A call that does nothing until it is handed on.
///
/// Its `Future` holds for nothing that there is. It is there because the compiler then tells the missing bound, in the
/// words above; of a type that is no future in any case it would say so in its own.
pub trait Inert: Sized {
    /// What is told of it.
    type Kind;
    /// A value of it.
    const KIND: Self::Kind;
}

macro_rules! inert {
    ($call:ty, [$($generics:tt)*], $called:ident: $bound:ident, $kind:ident, $output:ty) => {
        #[doc(hidden)]
        impl<$($generics)*> Future for $call
        where
            $called: $bound,
        {
            type Output = $output;

            fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
                Poll::Pending
            }
        }

        impl<$($generics)*> Inert for $call {
            type Kind = $kind<$called, $output>;
            const KIND: Self::Kind = $kind(PhantomData);
        }
    };
}

inert!(StepCall<S>, [S: Step], S: StepOnItsOwn, InertStep, Result<S::Output, S::Error>);
inert!(PartCall<T, P>, [T, P], P: PartOnItsOwn, InertPart, T);
inert!(FlowCall<F>, [F: Flow], F: FlowOnItsOwn, InertFlow, Result<F::Output, F::Error>);

/// What is told of a call of the step `S`, which would give an `O`.
pub struct InertStep<S, O>(PhantomData<(S, O)>);

impl<S, O> InertStep<S, O> {
    /// Never. It gives what the call would, so that nothing else is told of it.
    pub fn used<C>(self, _: C) -> O
    where
        S: StepOnItsOwn,
    {
        unreachable!("no step runs by itself")
    }

    /// Never, either.
    pub fn dropped(self)
    where
        S: StepOnItsOwn,
    {
    }
}

/// The same of a part.
pub struct InertPart<P, O>(PhantomData<(P, O)>);

impl<P, O> InertPart<P, O> {
    /// Never, either.
    pub fn used<C>(self, _: C) -> O
    where
        P: PartOnItsOwn,
    {
        unreachable!("no part runs by itself")
    }

    /// Never, either.
    pub fn dropped(self)
    where
        P: PartOnItsOwn,
    {
    }
}

/// The same of a flow.
pub struct InertFlow<F, O>(PhantomData<(F, O)>);

impl<F, O> InertFlow<F, O> {
    /// Never, either.
    pub fn used<C>(self, _: C) -> O
    where
        F: FlowOnItsOwn,
    {
        unreachable!("no flow starts by itself")
    }

    /// Never, either.
    pub fn dropped(self)
    where
        F: FlowOnItsOwn,
    {
    }
}

/// What a flow drops, or asks with `?`. The macro writes `Made(&value).kind().used(value)`, or `.dropped()`: the inherent
/// method is that of inert calls, and goes before the trait's.
pub struct Made<'v, V>(pub &'v V);

impl<V: Inert> Made<'_, V> {
    /// What is told of it.
    pub fn kind(self) -> V::Kind {
        V::KIND
    }
}

/// All other values.
pub trait AnyValue {
    /// Nothing is to be told.
    fn kind(self) -> Fine;
}

impl<V> AnyValue for Made<'_, V> {
    fn kind(self) -> Fine {
        Fine
    }
}

/// Any other value.
pub struct Fine;

impl Fine {
    /// It may be.
    pub fn dropped(self) {}

    /// The value.
    pub fn used<V>(self, value: V) -> V {
        value
    }
}
