//! The embedded store of Loom: one SQLite file, any number of processes on one machine.
//! Not a server and not for network file systems: WAL needs memory that the processes share.
//!
//! ```no_run
//! # async fn main_() -> Result<(), Box<dyn std::error::Error>> {
//! use sqlite::Sqlite;
//! let store = Sqlite::open("shop.db").await?;
//! # store.close().await;
//! # Ok(()) }
//! ```
//!
//! One task writes. What is asked of it while a commit runs goes into the next one, over all executions
//! (group commit), and a transaction crosses to SQLite's thread once per kind of question and once for
//! everything that it writes; each crossing costs more than the statements. Every commit is synced
//! (`synchronous=FULL`) before it is acknowledged. No row is remembered from one transaction to the next:
//! another process may have changed it.

mod append;
mod branch;
mod claim;
mod create;
mod error;
mod gate;
mod open;
mod post;
mod read;
mod removal;
mod row;
mod schema;
mod script;
mod shard;
mod snapshot;
mod store;
mod writer;

pub use error::OpenError;
pub use open::SqliteOptions;
pub use store::Sqlite;
