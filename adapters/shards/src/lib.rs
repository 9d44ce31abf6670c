//! Several databases as one store, and moving executions between them while everybody works.
//! Not a database: each member is a store of its own, of any kind.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use loom_runtime::Memory; // or `Postgres`, or `Sqlite`: whatever is a `Shard`
//! use shards::Shards;
//!
//! // One that is there already, with all its executions, and one that is new and empty.
//! let (old, new) = (Memory::new(), Memory::new());
//! let store = Shards::open([("eu-1", old), ("eu-2", new)]).await?; // a store like any other: `.store(store)`
//!
//! // Half of everything moves to the new one; workers go on meanwhile.
//! store.spread().await?;
//! assert_eq!(store.census().await?.iter().map(|of| of.slots).collect::<Vec<_>>(), [512, 512]);
//! # Ok(()) }
//! ```
//!
//! # Where an execution is
//!
//! By its id: `SHA-256(id)`, its first two bytes, modulo 1,024, is its [`Slot`](loom_runtime::ports::Slot). Every slot has
//! its [`Place`](loom_runtime::ports::Place) in every database, and nowhere else: configuration says how to reach the
//! databases, what is in them they say themselves. A database takes creations, appends, posts and claims only for slots
//! that are *here*, and looks within the transaction that writes; so a worker with an old map is refused, looks again, and
//! asks the right one. One database at most has a slot *here*; while it has just arrived there and is still *leaving*
//! elsewhere, the higher epoch is right.
//!
//! # A move
//!
//! | step | source | target | after a crash |
//! |---|---|---|---|
//! | 1 | here | away → coming, then emptied | the next mover takes over |
//! | 2 | here → leaving: frozen | coming | so it does, and writers wait |
//! | 3 | leaving | coming: copied, again from the start if need be | the same |
//! | 4 | leaving | coming → here, with a higher epoch: **this is the move** | the next mover tidies up |
//! | 5 | leaving → away, then emptied | here | the same |
//!
//! Each step is one compare-and-set in one database, after which everybody who was writing has finished. All of an
//! execution goes along: row, lease and fence, log, inbox with its used keys and positions, gates, timers, snapshots,
//! programs that do not fit, batches that tell a lost acknowledgement. So its owner does not even notice: an append that is
//! refused in the middle is sent again, with the same batch, and is accepted where the execution is then. Frozen is a slot
//! only from step 2 to 4; for as long callers wait, and get
//! [`Unavailable`](loom_runtime::ports::StoreError::Unavailable), which everybody retries, if it takes longer than the
//! [patience](Options::patience). Whoever takes a move over has a name of its own, and from then on the one before fills
//! nothing any more. What was begun is finished by any [`move_slots`](Shards::move_slots) of these slots, or by
//! [`finish`](Shards::finish).
//!
//! # Between executions
//!
//! What an append posts to an execution in another slot goes, in the append's transaction, to the *outbox* of its own
//! slot: early items of an id that no execution has. It is delivered before the append is answered; what a crash
//! prevents is delivered by the next worker that claims. Delivered is in order, at least once, and taken once: by the key of
//! the item, or one that its batch gives it. Between append and delivery there is a moment in which the event is there and
//! the post is not, which a single database does not have.
//!
//! # What holds, and what does not
//!
//! - Every promise of the ports holds, except: *positions* of items grow in each inbox, but not from one inbox to
//!   another. Of a removal and a branch that is set at the same moment, both may succeed: then the branch points to an
//!   execution whose events are in the archive.
//! - Claims ask every database, and choose over all of them: priority, fair share, age. A database that is away holds
//!   nobody else up. A *lane* is counted over all: what is claimed beyond its `at_most`, by two processes at once, is handed
//!   back before anybody runs it. Its *rate* is exact among the workers of one process; processes that claim at the same
//!   instant may begin as many more as they are. What a database has counted of a rate does not move.
//! - Lists, pages and gates are over all, in order. They fail if one database does, by an error that names it. Leases are renewed
//!   wherever they can be: what runs in a database that is away for longer than a lease holds its steps back that run at most
//!   once, and nothing else does. (Not over HTTP: a remote worker is told all or nothing.)
//! - Branches belong to the slot of their name. They are early items too, so that they move like everything else.
//! - Archives are no part of a store: all members share the worker's one.
//! - At most 64 databases.

mod branch;
mod claim;
mod error;
mod fleet;
mod map;
mod mover;
mod outbox;
mod plan;
mod renewal;
mod reserved;
mod route;
mod store;

pub use error::{MoveError, OpenError};
pub use fleet::{Options, Population, Shards};
pub use mover::Stage;
pub use plan::{Change, Crossing};
