//! What a flow awaits, where its type tells that no log knows of it: timers and tasks of tokio, however they got there.
//! Not a list of what is fine: everything else is.

use std::marker::PhantomData;

use tokio::{
    task::JoinHandle,
    time::{Sleep, Timeout},
};

/// A future that a flow is about to await. The macro writes `Awaited(&future).kind().by_flow()`: the inherent method is that
/// of the futures that are refused, and goes before the trait's.
pub struct Awaited<'f, F>(pub &'f F);

/// Timers that outlive the process; those of tokio are none.
#[diagnostic::on_unimplemented(
    message = "[L0214] a flow waits here on a timer that dies with the process",
    label = "a timer of tokio",
    note = "help: use `ctx.sleep(..)`, or `.timeout(..)` on the call"
)]
pub trait DurableTimer {}

/// Work that a log records; tasks of tokio are none.
#[diagnostic::on_unimplemented(
    message = "[L0213] a flow waits here for work that no log records",
    label = "a task of tokio",
    note = "help: join the calls themselves, `join!(ctx.run(a()), ctx.run(b()))`, or do it in a step"
)]
pub trait RecordedWork {}

/// What tokio makes and no log knows of.
///
/// One method for all of it: of a type that a mistake left unknown, several would be ambiguous, and the compiler would say
/// so besides the mistake.
pub trait OfTokio: Sized {
    /// What is wrong with it.
    type Kind;
    /// A value of it.
    const KIND: Self::Kind;
}

impl OfTokio for Sleep {
    type Kind = Timer<Self>;
    const KIND: Timer<Self> = Timer(PhantomData);
}

impl<F> OfTokio for Timeout<F> {
    type Kind = Timer<Self>;
    const KIND: Timer<Self> = Timer(PhantomData);
}

impl<T> OfTokio for JoinHandle<T> {
    type Kind = Task<Self>;
    const KIND: Task<Self> = Task(PhantomData);
}

impl<F: OfTokio> Awaited<'_, F> {
    /// What is wrong with it.
    pub fn kind(self) -> F::Kind {
        F::KIND
    }
}

/// A timer of tokio.
pub struct Timer<F>(PhantomData<F>);

impl<F> Timer<F> {
    /// Never.
    pub fn by_flow(self)
    where
        F: DurableTimer,
    {
    }
}

/// A task of tokio.
pub struct Task<F>(PhantomData<F>);

impl<F> Task<F> {
    /// Never.
    pub fn by_flow(self)
    where
        F: RecordedWork,
    {
    }
}

/// All other futures.
pub trait Anything {
    /// Nothing is wrong with it.
    fn kind(self) -> Fine;
}

impl<F> Anything for Awaited<'_, F> {
    fn kind(self) -> Fine {
        Fine
    }
}

/// Any other future.
pub struct Fine;

impl Fine {
    /// Always.
    pub fn by_flow(self) {}
}
