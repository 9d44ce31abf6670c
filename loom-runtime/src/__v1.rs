//! What generated code reaches the runtime through, version 1. Not for people: it may change with any release,
//! together with the macros.

pub mod stub;

pub use futures_util::future::BoxFuture;
pub use linkme;
pub use schemars;
pub use serde;
pub use serde_json;
pub use tokio;
pub use uuid;

pub use crate::{
    agent::{Agent, AgentDescriptor, Budget},
    app::project_as_json,
    awaited::{Anything, Awaited, DurableTimer, RecordedWork},
    callee::{
        Given, GivesFlow, GivesOther, GivesPart, GivesStep, ceiling_of, given, given_as, part_of, step_of,
    },
    ceiling::Ceiling,
    context::{Ctx, ExecuteError},
    data_type::DataType,
    descriptor::{
        Arm, Callee, FlowDescriptor, FlowFn, GateDescriptor, InputVersions, Location, LoopBound,
        MessageDescriptor, NamedAt, Node, ParallelPolicy, PartDescriptor, PartFn, ResourceDescriptor,
        SchemaFn, Site, StepDescriptor, StepFn,
    },
    domain_event::{DomainEvent, EventDescriptor, event},
    failure::{EngineField, Failure},
    first_ready::{FirstReady, TakesFirstReady},
    flow::{Flow, FlowCall, Part, PartCall, run_flow},
    inert::{AnyValue, FlowOnItsOwn, Made, PartOnItsOwn, StepOnItsOwn},
    policy::{NamedPolicy, Policy, PolicyDescriptor},
    projection::{Fact, FoldError, Held, Projection, ProjectionDescriptor, StepOutcome},
    reached::{
        AnyFunction, Named, NoClock, NoRandomness, NoSleeping, NoSpawning, NothingOutside, clock, outside,
        randomness, sleeping, spawning,
    },
    recorded::{Codec, Recorded, codec, recorded},
    registry::{AGENTS_V1, EVENTS_V1, FLOWS_V1, POLICIES_V1, PROJECTIONS_V1, SKILLS_V1, STEPS_V1, TOOLS_V1},
    schedule::{CatchUp, Overlap, ScheduleDescriptor},
    seen::Seen,
    service::SERVICES_V1,
    skill::{Skill, SkillDescriptor},
    step::{
        MissingResource, Res, Step, StepArguments, StepCall, StepCx, StepEnv, StepResult, invoke, invoke_with,
    },
    tool::{Tool, ToolDescriptor},
    upcaster::{FromAny, Infallible, IsEvent, TakenBy, Typed, TypedEnd, UpcastError, Upcaster},
};
pub use kernel::{Delivery, EffectError, RetryClass, RetryPolicy, Status};

/// The JSON Schema of `T`.
pub fn schema_of<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::schema_for!(T)
}

/// Waits for the first of several futures, in the order in which they are written.
///
/// Two branches can be ready in one pass; the order then decides, so it must not be random. `biased;`, which
/// tokio wants in front of them, changes nothing here.
#[macro_export]
macro_rules! select {
    (biased; $($tokens:tt)*) => {
        $crate::__v1::tokio::select! { biased; $($tokens)* }
    };
    ($($tokens:tt)*) => {
        $crate::__v1::tokio::select! { biased; $($tokens)* }
    };
}
