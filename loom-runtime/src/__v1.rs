//! What generated code reaches the runtime through, version 1. Not for people: it may change with any release,
//! together with the macros.

pub use futures_util::future::BoxFuture;
pub use linkme;
pub use schemars;
pub use serde;
pub use tokio;

pub use crate::{
    ceiling::Ceiling,
    context::Ctx,
    descriptor::{
        Arm, FlowDescriptor, GateDescriptor, Location, Node, PartDescriptor, ResourceDescriptor, SchemaFn,
        Site, StepDescriptor,
    },
    failure::Failure,
    flow::{Flow, FlowCall, Part, PartCall, run_flow},
    registry::{FLOWS_V1, STEPS_V1},
    step::{MissingResource, Res, Step, StepCall, StepCx, StepEnv, StepResult, invoke},
};
pub use kernel::{Delivery, EffectError, RetryClass, RetryPolicy};

/// The JSON Schema of `T`.
pub fn schema_of<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::schema_for!(T)
}

/// Waits for the first of several futures, in the order in which they are written.
///
/// Two branches can be ready in one pass; the order then decides, so it must not be random.
#[macro_export]
macro_rules! select {
    ($($tokens:tt)*) => {
        $crate::__v1::tokio::select! { biased; $($tokens)* }
    };
}
