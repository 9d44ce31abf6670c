//! The port to archives: where the events are that logs no longer hold.
//! Not a tier of the log: nothing that runs ever reads one, people do.

use async_trait::async_trait;
use kernel::{Digest, ExecutionId};

use crate::FrozenLog;

/// Segments of logs, each kept for good under its execution and the sequences that it holds.
///
/// [`FolderArchive`](crate::FolderArchive) keeps them as files, [`MemoryArchive`](crate::MemoryArchive) for tests.
#[async_trait]
pub trait ArchiveStore: Send + Sync + 'static {
    /// Keeps a segment: some events of one log, dense and at least one. Durable when it returns, and then it answers the
    /// digest ([`FrozenLog::digest`]) of what it holds in that place, read again from where it is. One that is there
    /// already is a success; [`ArchiveError::Conflict`] when something else is there under the same sequences.
    async fn put(&self, segment: &FrozenLog) -> Result<Digest, ArchiveError>;

    /// All that is kept of one execution, in order and each event once. `None` when nothing is. Between two segments
    /// events may be missing: they are still in the log, or were lost.
    async fn read(&self, execution: &ExecutionId) -> Result<Option<FrozenLog>, ArchiveError>;

    /// The executions of which something is kept, in order of their ids.
    async fn executions(&self) -> Result<Vec<ExecutionId>, ArchiveError>;
}

/// Why an archive refused or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Something else is kept in that place.
    #[error(
        "the archive holds other events {from} to {until} of `{execution}` than its log: it is of another store; give \
         each store an archive of its own"
    )]
    Conflict {
        /// The execution.
        execution: ExecutionId,
        /// The first event.
        from: u64,
        /// The last one.
        until: u64,
    },
    /// What is kept is not what was put there.
    #[error("the archive is damaged: {0}")]
    Corrupt(String),
    /// The archive cannot be reached or written. The same segment may be put again.
    #[error("the archive is unavailable: {0}")]
    Unavailable(String),
}
