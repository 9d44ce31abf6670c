//! An end that is decided and not written yet: what the log holds of it while the execution waits for its children.
//! Not the waiting: that is [`crate::Machine`]'s.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::{Cancelled, Completed, Event, ExecutionFailure, Failed, FrameId, Payload};

/// Body of `EXECUTION_ENDING`: the flow is told nothing more, and is not needed any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// What comes once nothing is waited for any more; a cancel comes before it.
    pub end: End,
    /// The frames of the children that were told to stop, and have not ended.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub waiting: BTreeSet<FrameId>,
}

/// What a run comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The flow returned a value.
    Completed(Payload),
    /// The flow returned an error.
    Failed(Failed),
    /// Somebody cancelled it.
    Cancelled(Cancelled),
    /// The flow asked for another run, with this input.
    ContinuedAsNew(Payload),
}

impl End {
    /// The closing event; or the input of the next run.
    pub fn event(self) -> Result<Event, Payload> {
        Ok(match self {
            Self::Completed(output) => Event::ExecutionCompleted(Completed { output }),
            Self::Failed(failure) => Event::ExecutionFailed(ExecutionFailure { failure }),
            Self::Cancelled(cancelled) => Event::ExecutionCancelled(cancelled),
            Self::ContinuedAsNew(input) => return Err(input),
        })
    }

    /// What the flow returned, if it is about to end with this event.
    pub(crate) fn returned(event: &Event) -> Option<Self> {
        match event {
            Event::ExecutionCompleted(e) => Some(Self::Completed(e.output.clone())),
            Event::ExecutionFailed(e) => Some(Self::Failed(e.failure.clone())),
            _ => None,
        }
    }
}
