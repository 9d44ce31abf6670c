//! What a flow reaches by a short name, where the compiler tells whether that is a function that no log records, such as
//! `std::time::Instant::now`, or one of the user's own that is called like it. Not the list of those functions: the macro
//! has it, `loom-macros/src/body/banned.rs`.

use std::marker::PhantomData;

/// A function that a flow names, and one that it may not use. The macro writes
/// `clock(Named(&named, &banned).kind(), named).0`: the inherent method is that of one and the same, and goes before the
/// trait's.
pub struct Named<'f, N, B>(pub &'f N, pub &'f B);

impl<F> Named<'_, F, F> {
    /// It is the same.
    pub fn kind(self) -> Banned {
        Banned
    }
}

/// All other functions.
pub trait AnyFunction<N> {
    /// It is another.
    fn kind(self) -> Own<N>;
}

impl<N, B> AnyFunction<N> for Named<'_, N, B> {
    fn kind(self) -> Own<N> {
        Own(PhantomData)
    }
}

/// What a flow may not use.
pub struct Banned;

/// Any other function. Of each of the questions below, the answer is yes for it alone.
pub struct Own<N>(PhantomData<N>);

/// A function that was looked at. It is taken out as a field, so that where it goes says nothing of the one that comes in: that
/// may be coerced to a pointer.
pub struct Passed<F>(pub F);

/// Whether a function reads no clock.
#[diagnostic::on_unimplemented(
    message = "[L0211] a flow reads a clock here, which shows another time on replay",
    label = "a clock",
    note = "help: use `ctx.now()`, which is recorded"
)]
pub trait NoClock<F> {}

#[diagnostic::do_not_recommend]
impl<F> NoClock<F> for Own<F> {}

/// The function, if it reads no clock.
pub fn clock<K: NoClock<F>, F>(_: K, function: F) -> Passed<F> {
    Passed(function)
}

/// Whether a function is not random.
#[diagnostic::on_unimplemented(
    message = "[L0212] this is random, and gives another value on replay",
    label = "randomness",
    note = "help: use `ctx.random()` or `ctx.uuid()`, which are recorded"
)]
pub trait NoRandomness<F> {}

#[diagnostic::do_not_recommend]
impl<F> NoRandomness<F> for Own<F> {}

/// The function, if it is not random.
pub fn randomness<K: NoRandomness<F>, F>(_: K, function: F) -> Passed<F> {
    Passed(function)
}

/// Whether a function starts nothing.
#[diagnostic::on_unimplemented(
    message = "[L0213] a flow starts work here that no log records",
    label = "work beside the flow",
    note = "help: join the calls themselves, `join!(ctx.run(a()), ctx.run(b()))`, or do it in a step"
)]
pub trait NoSpawning<F> {}

#[diagnostic::do_not_recommend]
impl<F> NoSpawning<F> for Own<F> {}

/// The function, if it starts nothing.
pub fn spawning<K: NoSpawning<F>, F>(_: K, function: F) -> Passed<F> {
    Passed(function)
}

/// Whether a function is no timer.
#[diagnostic::on_unimplemented(
    message = "[L0214] a flow waits here on a timer that dies with the process",
    label = "a timer of the process",
    note = "help: use `ctx.sleep(..)`, or `.timeout(..)` on the call"
)]
pub trait NoSleeping<F> {}

#[diagnostic::do_not_recommend]
impl<F> NoSleeping<F> for Own<F> {}

/// The function, if it is no timer.
pub fn sleeping<K: NoSleeping<F>, F>(_: K, function: F) -> Passed<F> {
    Passed(function)
}

/// Whether a function touches nothing outside.
#[diagnostic::on_unimplemented(
    message = "[L0215] a flow touches the outside world here, which is another one on replay",
    label = "the outside world",
    note = "help: move it into a step and `ctx.run` that"
)]
pub trait NothingOutside<F> {}

#[diagnostic::do_not_recommend]
impl<F> NothingOutside<F> for Own<F> {}

/// The function, if it touches nothing outside.
pub fn outside<K: NothingOutside<F>, F>(_: K, function: F) -> Passed<F> {
    Passed(function)
}
