//! Why there is no fork.
//! Not why a fork does not go on: that is its own log's to say.

use kernel::{ExecutionId, FrameId, InvalidId};

use crate::ports::StoreError;

/// Why an execution was not forked, or not simulated. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForkError {
    /// There is no such execution.
    #[error("there is no execution `{0}` to fork")]
    Unknown(ExecutionId),
    /// The log cannot be cut there.
    #[error("`{execution}` can be forked after 1 to {most} events, not after {asked}")]
    Cut {
        /// The origin.
        execution: ExecutionId,
        /// The cut that was asked for.
        asked: u64,
        /// The last one that is possible: the end, or just before it for an ended execution.
        most: u64,
    },
    /// The log no longer begins with its first event.
    #[error(
        "`{execution}` cannot be forked any more: a fork begins with all events before its cut, and those before {first} \
         were moved to the archive. `App::archived` reads them there; an execution that is to be forked later is pinned, with \
         `RetentionPolicy::pins`"
    )]
    Archived {
        /// The origin.
        execution: ExecutionId,
        /// The sequence of the first event that its log still holds.
        first: u64,
    },
    /// Something is said of a frame that it cannot be said of at this cut.
    #[error("`{frame}` is no {expected} after {events} events of `{execution}`; open there: {open}")]
    UnknownFrame {
        /// The origin.
        execution: ExecutionId,
        /// The cut.
        events: u64,
        /// The frame.
        frame: FrameId,
        /// What it would have to be.
        expected: &'static str,
        /// The frames that are open at the cut.
        open: String,
    },
    /// A stub does not fit the schema of the step or gate.
    #[error("the stub of `{frame}` does not fit: {reason}")]
    Invalid {
        /// The frame.
        frame: FrameId,
        /// What is wrong, and where.
        reason: String,
    },
    /// An execution that the fork is to wait for does not exist.
    #[error(
        "there is no execution `{child}` that `{frame}` could wait for: let the fork start its own, or stub it"
    )]
    NoChild {
        /// The child's frame.
        frame: FrameId,
        /// The execution.
        child: ExecutionId,
    },
    /// The id is taken.
    #[error("execution `{id}` exists already, and is {what}: choose another id, or use what there is")]
    Conflict {
        /// The id.
        id: ExecutionId,
        /// What has it.
        what: &'static str,
    },
    /// This program does not have the flow, so that it cannot simulate it.
    #[error("this program has no flow `{flow}`; it has: {known}")]
    UnknownFlow {
        /// The flow.
        flow: String,
        /// The names that there are.
        known: String,
    },
    /// The id cannot name an execution.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}
