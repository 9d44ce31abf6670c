//! Opening a file: checks, migrations, the writing connection and the readers.
//! Not what is asked of it afterwards.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection,
    migrate::MigrateError,
    sqlite::{
        SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous,
    },
};
use tokio::sync::mpsc;

use crate::{
    OpenError, Sqlite, error, schema,
    writer::{QUEUE, Writer},
};

/// How long SQLite itself waits for the lock, before the writer asks again. Short: its waits grow to 100 ms,
/// and between the commits of a busy process the lock is free for far less.
pub(crate) const LOCK_POLL: Duration = Duration::from_millis(15);

/// How to open a file. The defaults suit most programs.
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    busy_timeout: Duration,
    readers: u32,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(10), readers: 2 }
    }
}

impl SqliteOptions {
    /// How long another process may hold the file's lock before a call fails as unavailable; 10 s unless told.
    #[must_use]
    pub fn busy_timeout(mut self, busy_timeout: Duration) -> Self {
        self.busy_timeout = busy_timeout;
        self
    }

    /// How many connections read, at least 1; 2 unless told. Each has a thread.
    #[must_use]
    pub fn readers(mut self, readers: u32) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Opens the file, and creates it if it is missing. To be called within a tokio runtime, which then runs
    /// the writing task.
    ///
    /// # Errors
    /// [`OpenError`] says what is wrong with the file and what to do.
    pub async fn open(self, path: impl AsRef<Path>) -> Result<Sqlite, OpenError> {
        let path = path.as_ref().to_path_buf();
        check(&path)?;
        let base = SqliteConnectOptions::new().filename(&path).foreign_keys(true).disable_statement_logging();
        let writing = base
            .clone()
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(LOCK_POLL)
            .statement_cache_capacity(256)
            // Rows of one answer that wait on SQLite's side: enough for a group, else two threads take turns.
            .row_buffer_size(1_024);
        let connection = self.prepare(&path, &writing).await?;
        let reading = base
            .pragma("query_only", "ON")
            .busy_timeout(self.busy_timeout)
            .row_buffer_size(1_024)
            .thread_name(|n| format!("loom-sqlite-read-{n}"));
        let readers = SqlitePoolOptions::new()
            .max_connections(self.readers)
            // A connection to a file does not go stale, and the test would cost another crossing.
            .test_before_acquire(false)
            .connect_lazy_with(reading);
        let (requests, waiting) = mpsc::channel(QUEUE);
        tokio::spawn(Writer::new(writing, self.busy_timeout, connection).run(waiting));
        Ok(Sqlite::new(requests, readers))
    }

    /// Connects and migrates, as often as it takes while another process is in the way.
    async fn prepare(
        &self,
        path: &Path,
        options: &SqliteConnectOptions,
    ) -> Result<SqliteConnection, OpenError> {
        let started = Instant::now();
        loop {
            let error = match connect(options).await {
                Ok(connection) => return Ok(connection),
                Err(Failed::NoWriteAheadLog) => return Err(OpenError::NoWriteAheadLog { path: path.into() }),
                Err(Failed::Migrating(error)) => error,
            };
            let busy = match &error {
                MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                    error::is_busy(error)
                }
                _ => false,
            };
            let waited = started.elapsed();
            if !busy || waited >= self.busy_timeout {
                return Err(error::migrate_error(path.into(), waited, error));
            }
            // Switching to WAL does not wait by itself.
            tokio::time::sleep(LOCK_POLL).await;
        }
    }
}

enum Failed {
    NoWriteAheadLog,
    Migrating(MigrateError),
}

impl From<sqlx::Error> for Failed {
    fn from(error: sqlx::Error) -> Self {
        Self::Migrating(MigrateError::Execute(error))
    }
}

async fn connect(options: &SqliteConnectOptions) -> Result<SqliteConnection, Failed> {
    let mut connection = options.connect().await?;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut connection).await?;
    if mode != "wal" {
        return Err(Failed::NoWriteAheadLog);
    }
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    schema::migrate(&mut transaction).await.map_err(Failed::Migrating)?;
    transaction.commit().await?;
    Ok(connection)
}

/// What SQLite would report as "unable to open database file", or take for a store in memory.
fn check(path: &Path) -> Result<(), OpenError> {
    let in_memory = path.as_os_str().is_empty() || path.as_os_str() == ":memory:";
    if in_memory || path.is_dir() {
        return Err(OpenError::NotAFile { path: path.into() });
    }
    match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() && !directory.is_dir() => {
            Err(OpenError::MissingDirectory { path: path.into(), directory: directory.into() })
        }
        _ => Ok(()),
    }
}
