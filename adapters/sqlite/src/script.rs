//! Statements that go to SQLite's thread together, and the transaction that is made of them.
//! Not a query builder: the texts are constants of this crate, values are always bound.

use std::sync::Arc;

use crate::shard::{self, Part};
use loom_runtime::kernel::Record;
use sqlx::{
    Arguments, AssertSqlSafe, Encode, Executor, Sqlite, Type,
    sqlite::{SqliteArguments, SqliteConnection, SqliteRow},
};

/// Rows in one statement; 7 values each, far from SQLite's limit of 32,766.
pub(crate) const ROWS_AT_ONCE: usize = 1_000;

/// SQL and its values, in order.
#[derive(Default)]
pub(crate) struct Script {
    sql: String,
    arguments: SqliteArguments,
}

impl Script {
    /// Adds a part of a statement. Its parameters are `?`: a numbered one would count from the start of the script.
    pub(crate) fn sql(&mut self, sql: &str) -> &mut Self {
        self.sql.push_str(sql);
        self
    }

    /// Adds `rows` parenthesised rows of `columns` parameters.
    pub(crate) fn rows(&mut self, rows: usize, columns: usize) -> &mut Self {
        for row in 0..rows {
            self.sql.push_str(if row == 0 { "(?" } else { ",(?" });
            self.sql.extend(std::iter::repeat_n(",?", columns - 1));
            self.sql.push(')');
        }
        self
    }

    /// Binds the next parameter.
    pub(crate) fn bind<'v, T: Encode<'v, Sqlite> + Type<Sqlite>>(&mut self, value: T) -> &mut Self {
        self.arguments.add(value).expect("numbers, texts and bytes always encode");
        self
    }

    /// Runs everything in one crossing, and returns the rows.
    pub(crate) async fn fetch(
        self,
        on: impl Executor<'_, Database = Sqlite>,
    ) -> sqlx::Result<Vec<SqliteRow>> {
        sqlx::query_with(AssertSqlSafe(self.sql), self.arguments).fetch_all(on).await
    }
}

/// An event and whose it is, ready to be bound.
#[derive(Clone)]
pub(crate) struct EventRow {
    pub(crate) execution: i64,
    pub(crate) sequence: i64,
    pub(crate) kind: Arc<str>,
    pub(crate) at: i64,
    pub(crate) schema: i64,
    pub(crate) payload: Arc<str>,
    pub(crate) meta: Arc<str>,
}

impl EventRow {
    /// The event of a record.
    pub(crate) fn new(execution: i64, record: &Record) -> Self {
        Self {
            execution,
            sequence: integer(record.sequence),
            kind: record.kind.as_str().into(),
            at: record.at.as_micros(),
            schema: record.schema.into(),
            payload: record.payload.as_str().into(),
            meta: record.meta.as_str().into(),
        }
    }
}

/// A write transaction. What it writes is collected, and crosses with the next question or with the commit.
///
/// Dropping it in the middle leaves the connection inside a transaction: the writer then drops the connection.
pub(crate) struct Transaction<'c> {
    connection: &'c mut SqliteConnection,
    script: Script,
    events: Vec<EventRow>,
    /// Known from the first question on.
    part: Option<Part>,
}

impl<'c> Transaction<'c> {
    /// A transaction that takes the write lock with its first question.
    pub(crate) fn begin(connection: &'c mut SqliteConnection) -> Self {
        let mut script = Script::default();
        script.sql("BEGIN IMMEDIATE;").sql(shard::PART);
        Self { connection, script, events: Vec::new(), part: None }
    }

    /// Where to add statements, each with its `;`.
    pub(crate) fn script(&mut self) -> &mut Script {
        &mut self.script
    }

    /// Writes an event with the commit.
    pub(crate) fn event(&mut self, event: EventRow) {
        self.events.push(event);
    }

    /// Runs what was added, and returns the rows of the questions among it.
    pub(crate) async fn fetch(&mut self) -> sqlx::Result<Vec<SqliteRow>> {
        let mut rows = std::mem::take(&mut self.script).fetch(&mut *self.connection).await?;
        if self.part.is_none() {
            let first = rows.drain(..1).next().ok_or(sqlx::Error::RowNotFound)?;
            self.part = Some(Part::read(&first)?);
        }
        Ok(rows)
    }

    /// The file's part in a fleet, once something was asked.
    pub(crate) fn part(&self) -> &Part {
        static WHOLE: Part = Part::WHOLE;
        self.part.as_ref().unwrap_or(&WHOLE)
    }

    /// Writes the rest and commits.
    pub(crate) async fn commit(mut self) -> sqlx::Result<()> {
        for events in self.events.chunks(ROWS_AT_ONCE) {
            let script = &mut self.script;
            script.sql("INSERT INTO events (execution, sequence, kind, at, schema, payload, meta) VALUES ");
            script.rows(events.len(), 7).sql(";");
            for event in events {
                script.bind(event.execution).bind(event.sequence).bind(event.kind.clone()).bind(event.at);
                script.bind(event.schema).bind(event.payload.clone()).bind(event.meta.clone());
            }
        }
        self.script.sql("COMMIT;");
        self.script.fetch(&mut *self.connection).await.map(drop)
    }
}

/// Sequences, fences and positions as SQLite keeps them. They count up from 0, one at a time.
pub(crate) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
