//! The thin shell of Loom: ports, driver, context, registry and the in-memory store around the pure kernel.
//! What events mean is the kernel's to say, and outside things are the adapters' to name.

#[doc(hidden)]
pub mod __v1;
mod agent;
mod app;
mod archive;
mod awaited;
mod budget;
mod callee;
mod ceiling;
mod chunk;
mod clock;
mod code;
#[cfg(feature = "conformance")]
pub mod conformance;
mod context;
mod data_type;
mod descriptor;
mod diff;
mod domain_event;
mod entropy;
mod failure;
mod first_ready;
mod flow;
mod flow_input;
mod handed;
mod inbox_item;
mod inert;
mod limits;
mod memory;
mod policy;
pub mod ports;
mod projection;
mod reached;
mod recorded;
mod registry;
mod replay_check;
mod retention;
mod schedule;
mod seen;
mod service;
pub mod shape;
mod skill;
mod step;
mod tool;
mod transcript;
mod turns;
mod upcaster;
pub mod view;
mod worker;

pub use agent::{Agent, AgentDescriptor, Budget};
pub use app::{
    AnswerError, App, AppBuilder, Asked, BranchError, BuildError, ChildPolicy, ControlError, Events,
    ExecutionError, Fork, ForkError, GateAddress, Handle, Pending, ProjectError, Said, SendError,
    SendMessage, SentUpdate, Simulate, Simulation, Start, StartDynamic, StartError, StepStream, UpdateError,
};
pub use archive::{FolderArchive, MemoryArchive};
pub use budget::{Ask, Asker, Grant, Negotiate};
pub use chunk::{Chunk, Streamed};
pub use context::{
    CallDynamic, Cancellation, Child, ChildCall, Ctx, Decide, Drain, Execute, ExecuteError, FailFast,
    Failures, NegotiateBudget, Parallel, PartRun, Receive, ReceiveUpdate, Run, Scope, Sleep, Spawn, Suspend,
    Timeout, Update, Uuid,
};
pub use data_type::{DataType, Misread, read_json};
pub use descriptor::{
    Arm, Callee, Callees, FlowDescriptor, FlowFn, GateDescriptor, InputVersions, Invoke, Location, LoopBound,
    MessageDescriptor, Node, ParallelPolicy, PartDescriptor, PartFn, ResourceDescriptor, RunFlow, SchemaFn,
    Site, StepDescriptor, StepFn,
};
pub use diff::{Aspect, Changed, Diff, End, Parting, RunDiff, diff};
pub use domain_event::{DomainEvent, EventDescriptor, EventError, read_event};
pub use failure::{Error, Failure, Result};
pub use flow::{Flow, FlowCall, Part, PartCall};
pub use kernel::{
    self, Cancelled, Delivery, EffectError, ExecutionId, FrameId, OnClose, Payload, RetryClass, RetryPolicy,
    Status, Timestamp,
};
pub use limits::Limits;
pub use memory::Memory;
pub use policy::{NamedPolicy, Policy, PolicyDescriptor};
pub use ports::Lane;
pub use projection::{Fact, Fold, FoldError, ProjectFn, Projection, ProjectionDescriptor, StepOutcome};
pub use recorded::{Codec, Received, Recorded};
pub use registry::{Entry, Registry, RegistryError};
pub use replay_check::{
    CheckedLogs, DivergedLog, FrozenLog, FrozenLogError, LogSource, LogSourceError, replay, replay_check,
    replay_check_all,
};
pub use retention::{
    Held, HeldBy, Keep, KeepFlow, Pinned, Reason, Retention, RetentionError, RetentionPolicy,
    RetentionReport, Tally,
};
pub use schedule::{CatchUp, Overlap, ScheduleDescriptor};
pub use service::Service;
pub use skill::{Skill, SkillDescriptor};
pub use step::{MissingResource, Res, Resources, Step, StepBody, StepCall, StepCx};
pub use tool::{Tool, ToolDescriptor};
pub use transcript::{Passage, Transcript};
pub use turns::Starting;
pub use upcaster::UpcastError;
pub use worker::WorkerOptions;
