//! The port to the index of gates: what is asked of people, and how it ended.
//! Not the truth: the log is; the rows change in the same transaction.

use async_trait::async_trait;
use kernel::{ExecutionId, FrameId, Timestamp};
use serde::{Deserialize, Serialize};

use super::StoreError;

/// The index of gates.
#[async_trait]
pub trait GateIndex: Send + Sync {
    /// The gates of one execution, or the open ones of all when `execution` is `None`; in order of execution
    /// id and opening.
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError>;
}

/// One gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateRow {
    /// Who asks.
    pub execution: ExecutionId,
    /// The run that opened it: the row's `base` after that append.
    pub run: u64,
    /// The frame; `execution/frame` is the gate's address.
    pub frame: FrameId,
    /// Its declared name.
    pub gate: String,
    /// JSON Schema of an answer.
    pub schema: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it expires.
    pub expires_at: Option<Timestamp>,
    /// Where it stands.
    pub state: GateState,
}

/// Where a gate stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GateState {
    /// It waits for an answer.
    Open,
    /// It was answered.
    Answered,
    /// Nobody answered in time.
    Expired,
    /// The flow no longer asks, or has ended.
    Abandoned,
}

impl GateState {
    /// The state in one word, as stores and people write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered => "answered",
            Self::Expired => "expired",
            Self::Abandoned => "abandoned",
        }
    }

    /// The state with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Open, Self::Answered, Self::Expired, Self::Abandoned]
            .into_iter()
            .find(|state| state.name() == name)
    }
}

/// A change of the index, part of an append or a creation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum GateChange {
    /// A gate was opened, in the run that the execution is in after this append, wherever in it the new run
    /// begins. A frame opens one gate in its life within a run: a second time changes nothing.
    Opened {
        /// The frame.
        frame: FrameId,
        /// Its declared name.
        gate: String,
        /// JSON Schema of an answer.
        schema: String,
        /// When it expires.
        expires_at: Option<Timestamp>,
    },
    /// It is open no longer, whichever run opened it. Changes nothing when it is not open: the first end
    /// stays.
    Closed {
        /// The frame.
        frame: FrameId,
        /// How it ended; never [`GateState::Open`].
        state: GateState,
    },
    /// Every gate that is still open, of every run, is abandoned: the execution, or its run, has ended.
    AbandonAll,
}
