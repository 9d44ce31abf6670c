//! The port to inboxes: everything that comes to an execution from outside waits here, in order, until its
//! owner moves it to the log.
//! Not a queue between executions, and not a broker: an item belongs to one execution. Executions post to each
//! other with their appends ([`Append::posts`](super::Append::posts)).

use async_trait::async_trait;
use kernel::{ExecutionId, Timestamp};
use serde::{Deserialize, Serialize};

use super::StoreError;

/// Position of an item: grows with every post, over all executions of a database; 0 is before the first. A store that is
/// several databases counts in each for itself: there it grows with every post to one execution, and no two items share one.
pub type InboxId = u64;

/// Inboxes of executions.
#[async_trait]
pub trait Inbox: Send + Sync {
    /// Adds an item, unless its key was used before on this execution (consumed or not). An ended execution
    /// refuses with [`StoreError::Terminal`], a missing one with [`StoreError::Unknown`]. A used key is
    /// answered first, so that a sender who lost the acknowledgement learns that the item is in, even when
    /// the execution has ended since. Durable when it returns.
    ///
    /// For a missing execution an [`early`](NewItem::early) item is kept instead, as durably, and answered as in
    /// an inbox: keys are unique among the early items of an id. The creation of that execution moves them
    /// into its inbox in its own transaction, with their positions and so in their order, and their keys count
    /// there. Until then nobody can read them. They are kept until [`prune_early`](Self::prune_early) takes them.
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError>;

    /// The unconsumed items of an execution newer than `after`, in order; none when it does not exist, early
    /// ones included.
    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError>;

    /// Forgets the early items that were posted before `before` (by their `at`) and whose execution still does not
    /// exist, and answers how many those are; in a `rehearsal` it only counts them. The keys of what is forgotten are
    /// free again. What has reached an inbox is not an early item any more.
    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError>;
}

/// An item to post.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewItem {
    /// To whom.
    pub execution: ExecutionId,
    /// What makes it unique: a gate's frame, a sender's key. `None` never collides.
    pub key: Option<String>,
    /// What it is, in the runtime's words.
    pub kind: String,
    /// JSON.
    pub payload: String,
    /// When.
    pub at: Timestamp,
    /// Whether it may wait for an execution that does not exist yet; makes no difference to one that does.
    pub early: bool,
}

/// The answer to a post.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Posted {
    /// It is in the inbox, or kept for it.
    Accepted(InboxId),
    /// An item with this key came before; `same` when kind and payload were equal.
    Duplicate {
        /// Whether the two are equal.
        same: bool,
    },
}

/// An item as read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxItem {
    /// Its position.
    pub id: InboxId,
    /// Its key.
    pub key: Option<String>,
    /// What it is.
    pub kind: String,
    /// JSON.
    pub payload: String,
    /// When it was posted.
    pub at: Timestamp,
}
