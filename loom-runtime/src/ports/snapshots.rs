//! The port to snapshots: folded states that shorten the reading of long logs.
//! Not a part of any transition: a snapshot that is lost, late or wrong changes nothing but how long a read takes.

use async_trait::async_trait;
use kernel::{ExecutionId, Snapshot};

use super::StoreError;

/// Snapshots of executions, by what each is of and how many events it holds.
#[async_trait]
pub trait SnapshotStore: Send + Sync {
    /// Keeps a snapshot. One of the same position, and of the same ([`Snapshot::of`]), is replaced; one that was marked bad stays so, and this one is not
    /// kept. [`StoreError::Unknown`] when there is no such execution. Whether the log is as long as it says is not
    /// checked: who reads it does.
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError>;

    /// The newest snapshot `of` this, of at most so many events, that is not marked bad. `None` for an execution that there is not.
    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError>;

    /// Marks the snapshot `of` this after so many events as bad: it is never answered again. Without effect when there is none.
    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError>;

    /// Forgets all but the newest `keep` snapshots `of` this of an execution; marks of bad ones stay, and are not counted.
    async fn prune_snapshots(&self, execution: &ExecutionId, of: &str, keep: usize)
    -> Result<(), StoreError>;
}
