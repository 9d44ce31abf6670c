//! What stands in for the body of a step: by the step's function, with a closure of its parameters.
//! Not how it is run: that is `bodies.rs`.

use loom_runtime::{
    __v1::{Step, StepArguments},
    StepCall,
};

/// The function of a step, as it is written: `charge`. Its parameters are `Arguments`, as a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the function of a step",
    note = "name the step as it is written, without a call: `test.mock(charge, |order: Order| ..)`"
)]
pub trait StepFunction<Arguments> {
    /// The step.
    type Step: StepArguments<Arguments>;
}

/// A closure that stands in for a body: it takes what the step's function takes.
#[diagnostic::on_unimplemented(
    message = "this closure does not stand in for the step: it is to take `{Arguments}` and give a `{Outcome}`",
    note = "write the types of its parameters: `|order: Order| Ok(..)`"
)]
pub trait Stub<Arguments, Outcome>: Send + 'static {
    /// Makes one attempt.
    fn attempt(&mut self, arguments: Arguments) -> Outcome;
}

macro_rules! arities {
    ($(($($letter:ident)*),)*) => {
        $(
            impl<F, S, $($letter),*> StepFunction<($($letter,)*)> for F
            where
                F: Fn($($letter),*) -> StepCall<S>,
                S: StepArguments<($($letter,)*)>,
            {
                type Step = S;
            }

            impl<F, O, $($letter),*> Stub<($($letter,)*), O> for F
            where
                F: FnMut($($letter),*) -> O + Send + 'static,
            {
                #[allow(non_snake_case, reason = "a parameter is named after its type")]
                fn attempt(&mut self, ($($letter,)*): ($($letter,)*)) -> O {
                    self($($letter),*)
                }
            }
        )*
    };
}

arities! {
    (),
    (A),
    (A B),
    (A B C),
    (A B C D),
    (A B C D E),
    (A B C D E G),
    (A B C D E G H),
    (A B C D E G H I),
}

/// What a step's body gives.
pub(crate) type Outcome<S> = Result<<S as Step>::Output, <S as Step>::Error>;
