//! What `ctx.run`, `ctx.call`, `ctx.spawn` and `ctx.part` are handed: bounds that the calls alone meet, for what the compiler
//! says of anything else. Not for anybody to implement.

use crate::{Flow, FlowCall, Part, PartCall, Step, StepCall};

/// The call of a step: [`StepCall`].
#[diagnostic::on_unimplemented(
    message = "`ctx.run` takes the call of a step, and this is none",
    label = "no step call, but `{Self}`",
    note = "help: write `#[step]` on the `async fn` that is called here; a flow is run by `ctx.call(..)`, a part by \
            `ctx.part(\"name\", ..)`, and a value that is there already needs no `ctx.run`"
)]
pub trait HandedToRun<S: Step> {
    #[doc(hidden)]
    fn handed(self) -> StepCall<S>;
}

impl<S: Step> HandedToRun<S> for StepCall<S> {
    fn handed(self) -> Self {
        self
    }
}

/// The call of a flow: [`FlowCall`].
#[diagnostic::on_unimplemented(
    message = "a child execution is started by the call of a flow, and this is none",
    label = "no flow call, but `{Self}`",
    note = "help: write `#[flow]` on the `async fn` that is called here; a step is run by `ctx.run(..)`, a part by \
            `ctx.part(\"name\", ..)`"
)]
pub trait HandedToCall<F: Flow> {
    #[doc(hidden)]
    fn handed(self) -> FlowCall<F>;
}

impl<F: Flow> HandedToCall<F> for FlowCall<F> {
    fn handed(self) -> Self {
        self
    }
}

/// The call of a part: [`PartCall`].
#[diagnostic::on_unimplemented(
    message = "`ctx.part` takes the call of a part, and this is none",
    label = "no part call, but `{Self}`",
    note = "help: write `#[flow(part)]` on the `async fn` that is called here; a step is run by `ctx.run(..)`, a flow by \
            `ctx.call(..)`, and what needs no context is called like any function"
)]
pub trait HandedToPart<T, P: Part> {
    #[doc(hidden)]
    fn handed(self) -> PartCall<T, P>;
}

impl<T, P: Part> HandedToPart<T, P> for PartCall<T, P> {
    fn handed(self) -> Self {
        self
    }
}
