//! What readers of a live stream get: the chunks of running steps, and what becomes of them.
//! Not events: nothing of this is in the log, and a chunk that nobody reads is gone.

use kernel::{FrameId, Payload};
use serde::Serialize;

/// A piece of what a step says while it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chunk {
    /// The step's frame, `draft#3`.
    pub frame: FrameId,
    /// The attempt that says it, from 1.
    pub attempt: u32,
    /// Which chunk of the attempt, from 0, without gaps: one that is missing was lost.
    pub index: u64,
    /// What the step gave to [`StepCx::stream`](crate::StepCx::stream), as JSON.
    pub data: Payload,
}

/// One item of a live stream, in the order in which things happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Streamed {
    /// A step says something.
    Chunk(Chunk),
    /// Another attempt has begun: what this one said does not count, and no more of it comes.
    Superseded {
        /// The frame.
        frame: FrameId,
        /// The attempt that is dead.
        attempt: u32,
    },
    /// The frame has an outcome, or was abandoned, and that is recorded: no more of it comes.
    Ended {
        /// The frame.
        frame: FrameId,
        /// The attempt that spoke last.
        attempt: u32,
    },
    /// The reader was too slow: so many items were lost, the oldest first.
    Lagged {
        /// How many.
        missed: u64,
    },
}
