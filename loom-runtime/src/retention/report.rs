//! What a pass of retention did, or would do: counts, and what held things back.
//! Not a log: it names nobody but the pins.

use std::{collections::BTreeMap, fmt};

use kernel::{ExecutionId, Status};
use serde::Serialize;

/// What was moved to the archive and removed from the store; of a rehearsal, what would be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RetentionReport {
    /// Whether nothing was changed.
    pub rehearsal: bool,
    /// What went, by why it was due.
    pub removed: BTreeMap<Reason, Tally>,
    /// What was due and stayed, by what held it.
    pub held: Vec<Held>,
    /// Executions that changed while they were archived: the next pass finds them as they are then.
    pub moved: u64,
    /// Snapshots that were forgotten, of executions that stay.
    pub snapshots: u64,
    /// Messages that were forgotten, to executions that do not exist.
    pub early_messages: u64,
}

/// Why something is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It has completed, long enough ago.
    Completed,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Cancelled,
    /// It has begun anew: its earlier runs are.
    EarlierRuns,
}

/// How much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Executions.
    pub executions: u64,
    /// Events.
    pub events: u64,
    /// What their kinds, payloads and meta have in bytes.
    pub bytes: u64,
}

/// How much one thing held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Held {
    /// What.
    pub by: HeldBy,
    /// How many executions.
    pub executions: u64,
}

/// What holds an execution back that is due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum HeldBy {
    /// A pin of the policy on this execution.
    Execution(ExecutionId),
    /// A pin of the policy on the tree of this execution.
    Tree(ExecutionId),
    /// Its parent, in the run in which it started or called this child, has not ended.
    Parent(ExecutionId),
    /// A branch of this name points to it.
    Branch(String),
    /// The beginning of its log, or the log of its parent, cannot be read by this build, so that nobody knows whether it is
    /// still needed; or the store cannot read an event that would be moved, and then what comes before that may have been. It
    /// stays until it can be read, and holds nothing else up.
    Unreadable(ExecutionId),
}

impl Reason {
    pub(super) fn of(status: Status) -> Self {
        match status {
            Status::Completed => Self::Completed,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
            _ => Self::EarlierRuns,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::EarlierRuns => "earlier runs",
        })
    }
}

impl fmt::Display for HeldBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Execution(id) => write!(f, "the pin on `{id}`"),
            Self::Tree(id) => write!(f, "the pin on the tree of `{id}`"),
            Self::Parent(id) => write!(f, "its parent `{id}`"),
            Self::Branch(name) => write!(f, "branch `{name}`"),
            Self::Unreadable(id) => write!(f, "the log of `{id}`, which cannot be read"),
        }
    }
}
