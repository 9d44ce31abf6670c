//! The thin shell of Loom: ports, driver, context, registry and the in-memory store around the pure kernel.
//! No event is interpreted here, and no outside thing is named: the first is the kernel's, the second the adapters'.

#[doc(hidden)]
pub mod __v1;
mod app;
mod ceiling;
mod clock;
mod code;
#[cfg(feature = "conformance")]
pub mod conformance;
mod context;
mod descriptor;
mod failure;
mod flow;
mod inbox_item;
mod limits;
mod memory;
pub mod ports;
mod registry;
mod replay_check;
pub mod shape;
mod step;
mod worker;

pub use app::{
    AnswerError, App, AppBuilder, BuildError, ControlError, Events, ExecutionError, GateAddress, Handle,
    Start, StartDynamic, StartError,
};
pub use context::{Ctx, Decide, DomainEvent, PartRun, Run, Sleep, Suspend, Uuid};
pub use descriptor::{
    Arm, FlowDescriptor, GateDescriptor, Invoke, Location, Node, PartDescriptor, PartFn, ResourceDescriptor,
    RunFlow, SchemaFn, Site, StepDescriptor,
};
pub use failure::{Error, Failure, Result};
pub use flow::{Flow, FlowCall, Part, PartCall};
pub use kernel::{
    self, Delivery, EffectError, ExecutionId, FrameId, RetryClass, RetryPolicy, Status, Timestamp,
};
pub use limits::Limits;
pub use memory::Memory;
pub use registry::{Entry, Registry, RegistryError};
pub use replay_check::replay_check;
pub use step::{MissingResource, Res, Resources, Step, StepBody, StepCall, StepCx};
pub use worker::WorkerOptions;
