//! What can go wrong with a server, told so that its owner can mend it, and what is worth another try.
//! Not the refusals of an append: those are verdicts, decided from what a transaction reads.

use std::{io, time::Duration};

use loom_runtime::ports::StoreError;

use crate::schema;

/// Why a database cannot be used as a store. `server` is host, port and database, never a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The URL is none.
    #[error("not a Postgres URL ({reason}); give one like `postgres://user:password@host:5432/database`")]
    BadUrl {
        /// What is wrong with it.
        reason: String,
    },
    /// The name of the schema is none that this store takes.
    #[error(
        "`{schema}` cannot name the schema: give 1 to 63 lower-case letters, digits and `_`, not a digit first"
    )]
    BadSchema {
        /// The name.
        schema: String,
    },
    /// Nobody answers.
    #[error("{server} has not answered for {waited:?} ({reason}); start the server, or correct the URL")]
    Unreachable {
        /// Where.
        server: String,
        /// How long this process has waited.
        waited: Duration,
        /// What the connection said.
        reason: String,
    },
    /// The server does not let this role in, or has no such database.
    #[error("{server} refuses the connection: {reason}; correct user, password or database in the URL")]
    Refused {
        /// Where.
        server: String,
        /// What the server says.
        reason: String,
    },
    /// No encrypted connection is made, or the server's certificate is not trusted.
    #[error("{server} gives no connection that is safe enough ({reason}); {advice}")]
    Unsafe {
        /// Where.
        server: String,
        /// What is wrong.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// The role may not do what a store does.
    #[error(
        "{server}: {reason}; let the role own schema `{schema}`: `CREATE SCHEMA {schema} AUTHORIZATION <role>`; or, where \
         another role's tables are in it already, let that one run `GRANT USAGE ON SCHEMA {schema} TO <role>; GRANT SELECT, \
         INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO <role>; GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA \
         {schema} TO <role>`"
    )]
    NotAllowed {
        /// Where.
        server: String,
        /// The schema of the store.
        schema: String,
        /// What the server says.
        reason: String,
    },
    /// The server is a standby, or set to read only.
    #[error("{server} takes no writes; connect to the primary")]
    ReadOnly {
        /// Where.
        server: String,
    },
    /// A newer build has made the tables.
    #[error("schema `{schema}` of {server} has version {found}, this build knows {known} and older ones; use the build that wrote it, or a newer one", known = schema::VERSION)]
    NewerSchema {
        /// Where.
        server: String,
        /// The schema of the store.
        schema: String,
        /// The version found.
        found: i64,
    },
    /// A lock that a migration needs is held.
    #[error(
        "schema `{schema}` of {server} cannot be migrated now: another session holds one of its tables; end its transaction (`pg_stat_activity` shows it), then start again"
    )]
    Locked {
        /// Where.
        server: String,
        /// The schema of the store.
        schema: String,
    },
    /// Anything else.
    #[error("cannot use {server}: {reason}")]
    Other {
        /// Where.
        server: String,
        /// What the server says.
        reason: String,
    },
}

/// What went wrong, in the server's words if it has any: sqlx tells the line of the server's own source besides.
pub(crate) fn text(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |said| said.message().to_owned())
}

/// SQLSTATE, when the server itself reports.
fn code_of(error: &sqlx::Error) -> Option<String> {
    Some(error.as_database_error()?.code()?.into_owned())
}

/// Whether it is about encryption. A handshake that fails comes as data that is not valid.
fn is_of_tls(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(error) => error.kind() == io::ErrorKind::InvalidData,
        _ => false,
    }
}

/// What to do where there is no encrypted connection.
const SAFER: &str = if cfg!(feature = "tls") {
    "name the authority of its certificate in the URL (`sslrootcert=ca.pem`), and the host as the certificate does; or let \
     the server have `ssl = on`"
} else {
    "turn on the feature `tls` of `loom-durable`"
};

/// Whether another try, on another connection, may well succeed.
pub(crate) fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        _ if is_of_tls(error) => false,
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::WorkerCrashed => true,
        // What a connection says that was cut in the middle of an answer.
        sqlx::Error::Protocol(_) | sqlx::Error::BeginFailed => true,
        _ => code_of(error).is_some_and(|code| {
            code.starts_with("08")          // connection failures
                || code.starts_with("57P")  // shut down, crashed, starting, terminated
                || code == "53300"          // too many connections
                || code == "25006"          // a standby: the primary has moved
                || code == "40001"
                || code == "40P01" // serialisation, deadlock
        }),
    }
}

/// Whether the question or stored data is at fault, of one execution perhaps, or a lock of somebody else's on it:
/// then its neighbours in a group must not suffer.
pub(crate) fn is_of_one(error: &sqlx::Error) -> bool {
    is_of_data(error) || is_elsewhere(error) || code_of(error).as_deref() == Some(LOCK_TIMEOUT)
}

/// Whether it is about what is in another database of the fleet.
pub(crate) fn is_elsewhere(error: &sqlx::Error) -> bool {
    code_of(error).as_deref() == Some("LM001")
}

const LOCK_TIMEOUT: &str = "55P03";

/// Whether the stored data, or what is to be stored, is at fault.
pub(crate) fn is_of_data(error: &sqlx::Error) -> bool {
    let of_data = |code: String| ["21", "22", "23", "54"].iter().any(|class| code.starts_with(class));
    matches!(error, sqlx::Error::ColumnDecode { .. }) || code_of(error).is_some_and(of_data)
}

/// The error of a store that cannot answer, with what to do about it where that is known.
pub(crate) fn unavailable(error: &sqlx::Error) -> StoreError {
    StoreError::Unavailable(match (error, code_of(error).as_deref()) {
        (sqlx::Error::PoolClosed, _) => return closed(),
        (_, Some("53100")) => {
            "the server's disk is full; free some space, the store goes on by itself".into()
        }
        (_, Some("53300")) => {
            "the server has no connection left; raise its max_connections, or run fewer workers".into()
        }
        (_, Some("25006")) => "the server takes no writes: it is a standby, or set to read only".into(),
        (_, Some(LOCK_TIMEOUT)) => {
            "another session has held a lock for too long; `pg_stat_activity` shows it".into()
        }
        (_, Some("42P01")) => {
            "the tables are gone: somebody has dropped them, or the schema, or has revoked the role's USAGE of it".into()
        },
        _ => text(error),
    })
}

/// The error of a store that was closed.
pub(crate) fn closed() -> StoreError {
    StoreError::Unavailable("the store was closed".into())
}

/// The error of an answer that does not come.
pub(crate) fn silent(waited: Duration) -> sqlx::Error {
    let text = format!("the server has not answered for {waited:?}");
    sqlx::Error::Io(io::Error::new(io::ErrorKind::TimedOut, text))
}

pub(crate) fn connect_error(
    server: String,
    schema: &str,
    waited: Duration,
    error: &sqlx::Error,
) -> ConnectError {
    let reason = text(error);
    let schema = schema.to_owned();
    match code_of(error).as_deref() {
        Some("25006") => ConnectError::ReadOnly { server },
        // The catalogue has the table, for everybody; a schema that the role may not use is passed over by names.
        Some("42P01") => {
            let reason = format!("the role may not use schema `{schema}`");
            ConnectError::NotAllowed { server, schema, reason }
        }
        Some("42501") => ConnectError::NotAllowed { server, schema, reason },
        Some(LOCK_TIMEOUT) => ConnectError::Locked { server, schema },
        Some(code) if code.starts_with("28") || code == "3D000" => ConnectError::Refused { server, reason },
        _ if is_of_tls(error) => ConnectError::Unsafe { server, reason, advice: SAFER },
        _ if is_passing(error) => ConnectError::Unreachable { server, waited, reason },
        _ => ConnectError::Other { server, reason },
    }
}
