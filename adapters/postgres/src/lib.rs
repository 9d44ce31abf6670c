//! The store of a fleet: one Postgres database, any number of workers on any number of machines.
//! Not for one machine that has no server yet: the SQLite store needs none.
//!
//! ```no_run
//! # async fn main_() -> Result<(), Box<dyn std::error::Error>> {
//! use postgres::Postgres;
//! let store = Postgres::connect("postgres://shop:secret@db.internal/shop").await?;
//! # store.close().await;
//! # Ok(()) }
//! ```
//!
//! Tables live in a schema of their own (`loom` unless told), are made and migrated by whoever connects first,
//! and may be beside your own tables. A role that may create that schema, or owns it, is all that is needed, and a
//! server of version 12 or later.
//!
//! **Transactions.** What is appended, created or posted while a commit runs goes into the next one, over all
//! executions of this process; each gets its own verdict. Statements take many rows (`UNNEST`): an append of one
//! execution or of 64 is four round trips. Rows are locked in the order of their ids, so processes do not
//! deadlock; nothing is remembered of a row from one transaction to the next.
//!
//! **Outages.** Connections that are cut (a restart, a fail-over, `pg_terminate_backend`) are made anew, and what
//! was under way is asked again for [`patience`](PostgresOptions::patience): a commit whose acknowledgement was
//! lost is recognised by its batch id. After that callers get
//! [`Unavailable`](loom_runtime::ports::StoreError::Unavailable), and workers go on asking with the same batch.
//! A connection whose client is gone gives its locks back after ten seconds. What a server has acknowledged and lost all
//! the same (a fail-over to a standby that lagged) happens again: let it replicate synchronously.
//!
//! **Hints.** Workers poll; what another process posts or starts is told to them by NOTIFY, so that they look at
//! once. One connection of a worker listens.
//!
//! **Poolers.** Connections are set up once (`SET search_path` and others) and use prepared statements: put a
//! pooler in between in session mode only.
//!
//! **Standbys.** [`Replica`] sends what only looks (lists, logs, gates) to a streaming standby, and everything that decides to the
//! primary.
//!
//! **Encryption.** Turn on the feature `tls`, which the facade has too; `sslmode` in the URL says what is demanded. Where the
//! network is not yours, that is `?sslmode=verify-full`: the server's certificate must name the host, and come from a public
//! authority or from that of `&sslrootcert=ca.pem`. `require` encrypts, and takes any certificate.

mod append;
mod branch;
mod claim;
#[cfg(feature = "cluster")]
pub mod cluster;
mod connect;
mod create;
mod error;
mod gate;
mod head;
mod hint;
mod lane;
mod link;
mod post;
mod queue;
mod read;
mod removal;
mod replica;
mod row;
mod schema;
mod shard;
mod snapshot;
mod store;

pub use connect::PostgresOptions;
pub use error::ConnectError;
pub use replica::Replica;
pub use store::Postgres;
