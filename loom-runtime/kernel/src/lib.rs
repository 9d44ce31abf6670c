//! The pure core of Loom.
//! No clock, randomness, environment, file, network or async runtime: what the kernel needs of the world comes in as input.

mod ending;
mod event;
mod exchange;
mod failure;
mod fold;
mod id;
mod journal;
pub mod machine;
mod payload;
#[doc(hidden)]
pub mod planted;
mod report;
mod retry;
mod snapshot;
mod time;

pub use ending::{End, Ending};
pub use event::*;
pub use exchange::*;
pub use failure::{EffectError, Failed, RetryClass};
pub use fold::{Frame, FrameKind, FrameStatus, Outcome, State, Status, UnfoldableEvent};
pub use id::{ExecutionId, FrameId, InvalidId};
pub use journal::Batch;
pub use machine::Machine;
pub use payload::{Digest, InvalidPayload, Payload};
pub use report::{Fault, ParkReport, SourceLine, panic_text};
pub use retry::{Delivery, RetryPolicy};
pub use snapshot::{BadSnapshot, SNAPSHOT_SCHEMA, Snapshot};
pub use time::Timestamp;
