//! The exit codes: what a script learns without reading a word.
//! Not the messages: those are [`crate::error`]'s and the renderers'.

use loom_runtime::Status;

/// How a command ended. The codes are part of the interface: see the [crate's docs](crate).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Exit {
    /// 0: it was done; an execution that was run has completed.
    Done,
    /// 1: the flow returned an error.
    Failed,
    /// 2: the command line, the JSON that it gave, or the program's wiring is not what was expected.
    Usage,
    /// 3: the execution waits.
    Waits,
    /// 4: the execution is parked.
    Parked,
    /// 5: the execution was cancelled.
    Cancelled,
    /// 6: there is no such thing, or it is not in a state that allows this.
    Refused,
    /// 7: the store cannot be opened, reached or read.
    Store,
    /// 8: standard output, or a file of `export`, cannot be written, and not because its reader has gone.
    Output,
    /// 9: a log does not agree with this program.
    Diverged,
    /// 130: a signal came before it was done.
    Interrupted,
}

impl Exit {
    /// The number that the process ends with.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::Waits => 3,
            Self::Parked => 4,
            Self::Cancelled => 5,
            Self::Refused => 6,
            Self::Store => 7,
            Self::Output => 8,
            Self::Diverged => 9,
            Self::Interrupted => 130,
        }
    }

    /// The code in one word, as errors in JSON name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Waits => "waits",
            Self::Parked => "parked",
            Self::Cancelled => "cancelled",
            Self::Refused => "refused",
            Self::Store => "store",
            Self::Output => "output",
            Self::Diverged => "diverged",
            Self::Interrupted => "interrupted",
        }
    }

    /// What an execution's status is for a command that ran it.
    pub(crate) const fn of(status: Status) -> Self {
        match status {
            Status::Completed => Self::Done,
            Status::Failed => Self::Failed,
            Status::Cancelled => Self::Cancelled,
            Status::Parked => Self::Parked,
            // Somebody else runs it, or nobody: in either case it is not at its end.
            Status::Suspended | Status::Running => Self::Waits,
        }
    }
}
