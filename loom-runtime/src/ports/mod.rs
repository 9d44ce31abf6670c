//! The ports: what the runtime needs of a store, as traits, and the values that cross them.
//! No store lives here; the complete in-memory one is [`crate::Memory`].
//!
//! A store keeps five things, and changes them together: the *events* of every execution, one
//! *execution row* each (status, next sequence, lease, wake-up, batch), the *inbox*, and the index of
//! *gates*. [`EventStore::append`] is one transaction over all of them.

mod content;
mod event_store;
mod gate_index;
mod inbox;
mod lease_store;

pub use event_store::{
    Append, BatchId, Close, Created, EventStore, ExecutionRow, ListFilter, NewExecution, StoreError,
};
pub use gate_index::{GateChange, GateIndex, GateRow, GateState};
pub use inbox::{Inbox, InboxId, InboxItem, NewItem, Posted};
pub use lease_store::{ClaimRequest, Claimed, Lease, LeaseStore, TakeUp, WorkerId};

/// A complete store: every port on one transactional backend.
pub trait Store: EventStore + LeaseStore + Inbox + GateIndex + 'static {}

impl<T: EventStore + LeaseStore + Inbox + GateIndex + 'static> Store for T {}
