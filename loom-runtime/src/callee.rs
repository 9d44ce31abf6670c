//! What a call of a flow calls, told by the type of what the function gives: a name may stand for a function and for a
//! type that have nothing in common. Not the comparison with a ceiling.

use std::marker::PhantomData;

use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;

use crate::{
    __v1::stub,
    DataType, DomainEvent, Fact, Flow, FlowCall, FlowDescriptor, FoldError, Part, PartCall, PartDescriptor,
    Step, StepCall, StepDescriptor,
    projection::NoEvent,
    recorded::{Codec, Recorded},
};

/// A function that gives a call of a step: the step's own, or a helper around it.
#[diagnostic::on_unimplemented(
    message = "[L0223] there is a ceiling, and what is called here gives no step call that could be held against it",
    note = "help: call the step in place, `ctx.run(step(x))`; a helper returns `StepCall<step>`, and an `async fn` that does \
            more is a `#[step]`"
)]
pub trait GivesStep<Args>: Copy {
    /// The step.
    const STEP: CalledStep;
}

/// A step, as the flow that calls it knows it.
#[derive(Clone, Copy, Debug)]
pub struct CalledStep {
    /// Its name, whatever the function that gives its call is called.
    pub name: &'static str,
    /// Its effect classes.
    pub effects: &'static [&'static str],
}

/// A function that gives a call of a part.
#[diagnostic::on_unimplemented(
    message = "`ctx.part` takes the call of a part, and this function gives none",
    note = "help: write `#[flow(part)]` on it, and take `ctx: Ctx` first; what needs no context is called like any function"
)]
pub trait GivesPart<Args>: Copy {
    /// The part.
    type Part: Part;
}

/// A function that gives a call of a flow.
#[diagnostic::on_unimplemented(
    message = "a child execution is a flow, and what is called here gives no call of one",
    note = "help: call the flow in place, `ctx.call(audit(order))`; a helper that does more is a `#[flow]` itself"
)]
pub trait GivesFlow<Args>: Copy {
    /// The flow's ceiling.
    const CEILING: Option<&'static [&'static str]>;
}

/// The ceiling of the flow that a function calls.
pub const fn ceiling_of<Args, F: GivesFlow<Args>>(_: F) -> Option<&'static [&'static str]> {
    F::CEILING
}

/// A part, as the flow that calls it knows it.
#[derive(Clone, Copy, Debug)]
pub struct Called<P>(PhantomData<fn() -> P>);

impl<P: Part> Called<P> {
    /// Its ceiling.
    pub const fn ceiling(self) -> Option<&'static [&'static str]> {
        P::CEILING
    }
}

/// The step that a function calls.
pub const fn step_of<Args, F: GivesStep<Args>>(_: F) -> CalledStep {
    F::STEP
}

/// The part that a function calls.
pub const fn part_of<Args, F: GivesPart<Args>>(_: F) -> Called<F::Part> {
    Called(PhantomData)
}

/// A function, whatever it gives.
pub trait Gives<Args>: Copy {
    /// What it gives.
    type Output;
}

/// What a function gives, without a value of it.
#[derive(Clone, Copy, Debug)]
pub struct Given<T>(PhantomData<fn() -> T>);

/// What a function would give.
pub const fn given<Args, F: Gives<Args>>(_: F) -> Given<F::Output> {
    Given(PhantomData)
}

/// The same of what is known by its type.
pub const fn given_as<T>() -> Given<T> {
    Given(PhantomData)
}

impl<S: Step> Given<StepCall<S>> {
    /// The step, if it is the call of one.
    pub fn step(self) -> Option<&'static StepDescriptor> {
        Some(S::DESCRIPTOR)
    }
}

impl<F: Flow> Given<FlowCall<F>> {
    /// The flow, if it is the call of one.
    pub fn flow(self) -> Option<&'static FlowDescriptor> {
        Some(F::DESCRIPTOR)
    }
}

impl<T, P: Part> Given<PartCall<T, P>> {
    /// The part, if it is the call of one.
    pub fn part(self) -> &'static PartDescriptor {
        P::DESCRIPTOR
    }
}

impl<T: Recorded> Given<T> {
    /// How it is recorded, if it can be.
    pub const CODEC: Codec<T> = Codec::json();
}

impl<E: DomainEvent> Given<E> {
    /// [`Fact::event`], if it is one.
    ///
    /// # Errors
    /// The fact is this event, and cannot be read.
    pub fn event(fact: &Fact<'_>) -> Result<Option<E>, FoldError> {
        fact.event()
    }
}

impl<T: JsonSchema> Given<T> {
    /// Its JSON Schema, if it has one.
    pub fn schema() -> Schema {
        schemars::schema_for!(T)
    }
}

impl<T: DeserializeOwned + JsonSchema> Given<T> {
    /// What those know of it who give one, if it can be given.
    pub const DATA: DataType = DataType::of::<T>();
}

/// The same of anything else: the methods of [`Given`] itself go before. That `ctx.run` takes no such thing is said where
/// it is handed over, and once is enough.
pub trait GivesOther: Sized {
    /// What is given.
    type It;
    /// That of what cannot be recorded, which is said where it is asked for.
    const CODEC: Codec<Self::It> = Codec::NONE;

    /// None. That it is no event is said where its descriptor is asked for.
    ///
    /// # Errors
    /// None.
    fn event(fact: &Fact<'_>) -> Result<Option<NoEvent>, FoldError> {
        let _ = fact;
        Ok(None)
    }

    /// The schema of anything. That a type has none is said where it is asked for, and once is enough.
    fn schema() -> Schema {
        true.into()
    }

    /// The same of what is given from outside.
    const DATA: DataType = DataType::ANYTHING;

    /// A part that has nothing. `ctx.part` takes no such thing.
    fn part(self) -> &'static PartDescriptor {
        stub::PART
    }

    /// None.
    fn step(self) -> Option<&'static StepDescriptor> {
        None
    }

    /// None.
    fn flow(self) -> Option<&'static FlowDescriptor> {
        None
    }
}

impl<T> GivesOther for Given<T> {
    type It = T;
}

macro_rules! of_functions {
    ($($arg:ident)*) => {
        impl<F, T, $($arg),*> Gives<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> T + Copy,
        {
            type Output = T;
        }

        impl<F, S, $($arg),*> GivesStep<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> StepCall<S> + Copy,
            S: Step,
        {
            const STEP: CalledStep = CalledStep { name: S::DESCRIPTOR.name, effects: S::EFFECTS };
        }

        impl<F, S, $($arg),*> GivesFlow<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> FlowCall<S> + Copy,
            S: Flow,
        {
            const CEILING: Option<&'static [&'static str]> = S::CEILING;
        }

        impl<F, T, P, $($arg),*> GivesPart<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> PartCall<T, P> + Copy,
            P: Part,
        {
            type Part = P;
        }
    };
}

macro_rules! up_to {
    () => { of_functions!(); };
    ($first:ident $($arg:ident)*) => {
        of_functions!($first $($arg)*);
        up_to!($($arg)*);
    };
}

// As many as `loom-macros` says in `flow/ceiling.rs`.
up_to!(A B C D E G H I J K L M N O Q R);
