//! What a flow awaits, where its type tells that no log knows of it: timers and tasks of tokio, however they got there.
//! Not a list of what is fine: everything else is.

use tokio::{
    task::JoinHandle,
    time::{Sleep, Timeout},
};

/// A future that a flow is about to await. The macro writes `Awaited(&future).by_flow()`: the inherent methods are those of
/// the futures that are refused, and go before the trait's.
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

// The bounds speak of references, so that they are looked at where the methods are called and not here.
impl<'f> Awaited<'f, Sleep> {
    /// Never.
    pub fn by_flow(self)
    where
        &'f Sleep: DurableTimer,
    {
    }
}

impl<'f, F> Awaited<'f, Timeout<F>> {
    /// Never.
    pub fn by_flow(self)
    where
        &'f Timeout<F>: DurableTimer,
    {
    }
}

impl<'f, T> Awaited<'f, JoinHandle<T>> {
    /// Never.
    pub fn by_flow(self)
    where
        &'f JoinHandle<T>: RecordedWork,
    {
    }
}

/// All other futures.
pub trait Anything {
    /// Fine.
    fn by_flow(self);
}

impl<F> Anything for Awaited<'_, F> {
    fn by_flow(self) {}
}
