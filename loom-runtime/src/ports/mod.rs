//! The ports: what the runtime needs of a store, as traits, and the values that cross them.
//! No store lives here; the complete in-memory one is [`crate::Memory`].
//!
//! A store keeps these things, and changes them together: the *events* of every execution, one
//! *execution row* each (status, next sequence, run, lease, wake-up, batch), the *inbox*, and the index of
//! *gates*. [`EventStore::append`] is one transaction over all of them. Beside them it keeps *branches*
//! and *snapshots*, each changed by itself. What is [removed](EventStore::remove) from logs is in an *archive*,
//! which is no part of a store.
//!
//! What crosses a port is JSON, if it has to be: a worker without a database has a store on the other side of a network.

mod archive;
mod branches;
mod caveat;
mod content;
mod event_store;
mod gate_index;
mod inbox;
mod lease_store;
mod shard;
mod snapshots;
mod turn;

use std::any::Any;

pub use archive::{ArchiveError, ArchiveStore};
pub use branches::{BranchRegistry, BranchRow, SetBranch};
pub use caveat::Caveat;
pub use event_store::{
    Append, BatchId, Close, Created, EventStore, ExecutionRow, ListFilter, NewExecution, Removal, StoreError,
};
pub use gate_index::{GateChange, GateIndex, GateRow, GateState};
pub use inbox::{Inbox, InboxId, InboxItem, NewItem, Posted};
pub use lease_store::{ClaimRequest, Claimed, Lease, LeaseStore, Renewal, TakeUp, WorkerId};
pub use shard::{
    Due, LaneUse, MEMBERS, Membership, PackedExecution, PackedItem, PackedSnapshot, Parcel, Place,
    PlaceChange, RESERVED, SLOTS, Shard, Slot, Standing, item_content, next_position,
};
pub use snapshots::SnapshotStore;
pub use turn::{Lane, Rate, Turn};

/// A complete store: every port on one transactional backend. It is [`Any`], so that whoever has an app can tell whether its
/// store is one that can do more, such as several databases at once.
pub trait Store: EventStore + LeaseStore + Inbox + GateIndex + BranchRegistry + SnapshotStore + Any {}

impl<T> Store for T where
    T: EventStore + LeaseStore + Inbox + GateIndex + BranchRegistry + SnapshotStore + 'static
{
}
