//! The port to ownership: leases with a fencing generation.
//! Not a lock service: a lease never blocks anybody, it only decides whose appends count.

use async_trait::async_trait;
use kernel::{Digest, ExecutionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{ExecutionRow, StoreError};

/// A worker's identity, unique per boot: two processes, or two boots of one, never share it.
pub type WorkerId = String;

/// Who owns an execution, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The owner.
    pub worker: WorkerId,
    /// Fencing generation: grows with every claim of the execution, never shrinks.
    pub fence: u64,
    /// After this instant others may take over.
    pub until: Timestamp,
}

/// Ownership of executions.
#[async_trait]
pub trait LeaseStore: Send + Sync {
    /// Takes executions that are *due*, in order of their [turns](super::Turn): those of higher priority first, then a fair
    /// share for each lane, then the oldest wake-up or creation (the wake-up that has come, else the creation; then the
    /// id). Due is, when no lease of anybody holds at `now` (a lease holds up to and
    /// with its `until`):
    /// - a running one (its owner vanished, or handed it back);
    /// - a suspended one whose `wake_at` has come, or whose inbox has an unconsumed item newer than what its
    ///   last owner had seen when it closed;
    /// - a parked one with such an inbox item.
    ///
    /// One that was parked as [unfit](super::Close::unfit) for the claimer's [program](ClaimRequest::program) in its
    /// current run is left to other programs, for as long as they come in time.
    ///
    /// A [lane](super::Lane) holds its executions back. A claim takes one only if fewer than its lane's `at_most` are leased
    /// at `now`, itself not counted, and, where it has never been claimed, if fewer than its `rate` allows were
    /// claimed for the first time in the span that ends at `now`; of those that are due, the first in the order of
    /// priority, age and id. That holds for claims at once too; a claim may pass over a lane that another is busy with.
    /// A worker that renews a lease which had ended may bring its lane above `at_most`: it had not let go.
    ///
    /// A fair share: of equal priority that one goes first whose lane would have the least for its weight, counting
    /// what is leased at `now` and what the claim takes before it. Executions without a lane are a lane of
    /// weight 1 among the others. The count is of millionths, rounded down.
    ///
    /// Where much is due, a store may look at the first of each flow, lane and priority only, at least at as many as are asked
    /// for: those that anybody may take by their creation, those whose instant has come by that.
    ///
    /// A claim sets the status to running, gives the lease the next fence, and counts a take-over when a
    /// lease had expired (not when it was released). Two claims at once never get the same execution.
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError>;

    /// Extends every lease that `worker` holds, expired but not taken over included, and never shortens
    /// one; answers which those are, with their fences.
    async fn renew(&self, worker: &WorkerId, until: Timestamp)
    -> Result<Vec<(ExecutionId, u64)>, StoreError>;

    /// As [`renew`](Self::renew), but nothing that cannot be reached holds up what can: a store of several databases extends
    /// the leases in those that answer, and says which does not. Until one of these has renewed again, it claims nothing
    /// from it for this worker, which would be given its own executions.
    async fn renew_what_answers(&self, worker: &WorkerId, until: Timestamp) -> Result<Renewal, StoreError> {
        Ok(Renewal { held: self.renew(worker, until).await?, missing: None })
    }

    /// Hands an execution back: it stays running and is due at once. No-op when the fence is stale or the
    /// execution does not exist.
    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError>;

    /// The executions leased to `worker` that have unconsumed inbox items.
    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError>;

    /// Waits until another process has made something due, or posted something. Only a hint, so that it is found before
    /// the next poll: it may come late, for nothing, or never, which is all that a store without a way to tell can do.
    async fn news(&self) {
        std::future::pending().await
    }
}

/// What a renewal came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Renewal {
    /// Leases that the worker holds, with their fences.
    pub held: Vec<(ExecutionId, u64)>,
    /// Why these may not be all: of what is not among them, nothing is known then.
    pub missing: Option<StoreError>,
}

/// Who claims what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClaimRequest {
    /// The worker.
    pub worker: WorkerId,
    /// Its clock.
    pub now: Timestamp,
    /// Until when the leases hold.
    pub until: Timestamp,
    /// At most so many.
    pub limit: usize,
    /// Only this execution. It is still claimed only if due.
    pub execution: Option<ExecutionId>,
    /// Only these flows; `None` for all.
    pub flows: Option<Vec<String>>,
    /// The claimer's program, and an instant: what is unfit for this program is claimed only if it has been due since
    /// then, because nobody whose code fits comes for it. Due it is since its wake-up, else the oldest item that calls
    /// it (by the item's `at`); a running one since its lease ended, or without one since it last changed. `None`
    /// claims whatever is due, and so does a claim of one `execution`.
    pub program: Option<(Digest, Timestamp)>,
}

/// A claimed execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claimed {
    /// Its row, as the claim left it: running, with the new lease.
    pub row: ExecutionRow,
    /// The fence to append with.
    pub fence: u64,
    /// Why it was due.
    pub take_up: TakeUp,
}

/// Why an execution was due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TakeUp {
    /// Created, or handed back, without an owner.
    Unowned,
    /// Its owner's lease had expired.
    TakenOver,
    /// A suspended one that is to go on.
    Woken,
    /// A parked one that somebody asked to try again, or gave a verdict on.
    Retried,
}
