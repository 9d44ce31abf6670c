//! What can go wrong with a file, told so that its owner can mend it.
//! Not the refusals of an append: those are verdicts, decided from what a transaction reads.

use std::{path::PathBuf, time::Duration};

use loom_runtime::ports::StoreError;
use sqlx::migrate::MigrateError;

use crate::schema;

/// Why a file cannot be used as a store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The directory is missing.
    #[error("cannot open `{path}`: there is no directory `{directory}`; create it, or give another path", path = .path.display(), directory = .directory.display())]
    MissingDirectory {
        /// The file.
        path: PathBuf,
        /// The directory that it would be in.
        directory: PathBuf,
    },
    /// The path names no file.
    #[error("cannot open {path:?}: give the path of a file; for a store without one use `Memory`")]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("`{path}` is not a SQLite database; give another path, or move that file away", path = .path.display())]
    NotADatabase {
        /// The file.
        path: PathBuf,
    },
    /// The file, or its directory, cannot be written.
    #[error("`{path}` cannot be written; give this user write permission on the file and on its directory, in which SQLite keeps the journal", path = .path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// Somebody holds a lock and does not give it up.
    #[error("`{path}` has been locked by another process for {waited:?}; end that process (a database tool with an open transaction, say), or wait longer with `busy_timeout`", path = .path.display())]
    Locked {
        /// The file.
        path: PathBuf,
        /// How long this process has waited.
        waited: Duration,
    },
    /// A newer build has written the file.
    #[error("`{path}` has schema version {found}, this build knows {known} and older ones; use the build that wrote it, or a newer one", path = .path.display(), known = schema::VERSION)]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version found.
        found: i64,
    },
    /// The file system cannot keep a write-ahead log.
    #[error("`{path}` is on a file system that cannot keep a write-ahead log (a network share, say); give a path on a local disk", path = .path.display())]
    NoWriteAheadLog {
        /// The file.
        path: PathBuf,
    },
    /// The file is damaged.
    #[error("`{path}` is damaged ({reason}); restore it from a backup, or recover it with `sqlite3 {path} .recover`", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
    /// Anything else.
    #[error("cannot open `{path}`: {reason}", path = .path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// What SQLite says.
        reason: String,
    },
}

/// SQLite's primary result codes (<https://sqlite.org/rescode.html>), as far as they are told apart here.
pub(crate) mod code {
    pub(crate) const ERROR: i32 = 1;
    pub(crate) const BUSY: i32 = 5;
    pub(crate) const LOCKED: i32 = 6;
    pub(crate) const READONLY: i32 = 8;
    pub(crate) const CORRUPT: i32 = 11;
    pub(crate) const FULL: i32 = 13;
    pub(crate) const CANTOPEN: i32 = 14;
    pub(crate) const CONSTRAINT: i32 = 19;
    pub(crate) const MISMATCH: i32 = 20;
    pub(crate) const NOTADB: i32 = 26;
}

/// The primary result code, when SQLite itself reports.
pub(crate) fn code_of(error: &sqlx::Error) -> Option<i32> {
    let extended: i32 = error.as_database_error()?.code()?.parse().ok()?;
    Some(extended & 0xff)
}

/// Whether another connection is in the way, for now.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    matches!(code_of(error), Some(code::BUSY | code::LOCKED))
}

/// Whether the stored data is at fault, of one execution perhaps, and not the disk or the connection.
pub(crate) fn is_of_data(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::ColumnDecode { .. })
        || matches!(code_of(error), Some(code::ERROR | code::CORRUPT | code::CONSTRAINT | code::MISMATCH))
}

/// A question about what is in another file of the fleet.
#[derive(Debug, thiserror::Error)]
#[error("elsewhere")]
struct Elsewhere;

/// The error of such a question, which ends the transaction that it is in.
pub(crate) fn elsewhere() -> sqlx::Error {
    sqlx::Error::AnyDriverError(Box::new(Elsewhere))
}

/// Whether it is that.
pub(crate) fn is_elsewhere(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::AnyDriverError(error) if error.is::<Elsewhere>())
}

pub(crate) fn open_error(path: PathBuf, waited: Duration, error: &sqlx::Error) -> OpenError {
    let reason = error.to_string();
    match code_of(error) {
        Some(code::NOTADB) => OpenError::NotADatabase { path },
        Some(code::READONLY) => OpenError::ReadOnly { path },
        Some(code::BUSY | code::LOCKED) => OpenError::Locked { path, waited },
        Some(code::CANTOPEN) if path.is_dir() => OpenError::NotAFile { path },
        Some(code::CANTOPEN) => OpenError::ReadOnly { path },
        Some(code::CORRUPT) => OpenError::Damaged { path, reason },
        _ => OpenError::Other { path, reason },
    }
}

pub(crate) fn migrate_error(path: PathBuf, waited: Duration, error: MigrateError) -> OpenError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            open_error(path, waited, &error)
        }
        MigrateError::VersionMissing(found) => OpenError::NewerSchema { path, found },
        MigrateError::VersionMismatch(_) => {
            let reason = "it was written by a build between two releases, whose tables differ; use that build, or \
                          start with a new file";
            OpenError::Other { path, reason: reason.into() }
        }
        other => OpenError::Other { path, reason: other.to_string() },
    }
}

/// The error of a store that cannot answer, with what to do about it where that is known.
pub(crate) fn unavailable(error: &sqlx::Error) -> StoreError {
    StoreError::Unavailable(match code_of(error) {
        Some(code::FULL) => "the disk is full; free some space, the store goes on by itself".into(),
        Some(code::READONLY) => "the file cannot be written; check its permissions".into(),
        Some(code::BUSY | code::LOCKED) => {
            "the file has been locked by another process for too long; end that process, or raise `busy_timeout`".into()
        }
        Some(code::NOTADB | code::CORRUPT) => return StoreError::Corrupt(error.to_string()),
        _ => error.to_string(),
    })
}

/// The error of a store whose writer is gone.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store was closed".into())
}
