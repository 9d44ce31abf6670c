//! The SQLite file that is migrated, and what may be done to it.
//! Not the store of executions: that is another file, and Loom's.

use std::{path::Path, sync::Arc};

use loom::StepCx;
use sqlx::{
    Row, Sqlite, SqlitePool, Transaction,
    sqlite::{SqliteConnectOptions, SqlitePoolOptions},
};

type Hook = Arc<dyn Fn(&str) + Send + Sync>;

/// The file.
pub struct Target {
    pool: SqlitePool,
    after: Option<Hook>,
}

impl Target {
    /// Opens the file, and makes one with two tables of people if there is none.
    ///
    /// # Errors
    /// It cannot be opened.
    pub async fn open(file: &Path) -> Result<Self, sqlx::Error> {
        let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
        // One writer: SQLite has one anyway, and so nobody meets a locked file.
        let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await?;
        let target = Self { pool, after: None };
        let mut change = target.pool.begin().await?;
        for sql in [
            "CREATE TABLE IF NOT EXISTS applied (key TEXT PRIMARY KEY, what TEXT, result INTEGER)",
            "CREATE TABLE IF NOT EXISTS customers (id INTEGER PRIMARY KEY, first TEXT, last TEXT)",
            "CREATE TABLE IF NOT EXISTS suppliers (id INTEGER PRIMARY KEY, first TEXT, last TEXT)",
        ] {
            sqlx::query(sql).execute(&mut *change).await?;
        }
        let people: i64 = sqlx::query("SELECT count(*) FROM customers").fetch_one(&mut *change).await?.get(0);
        if people == 0 {
            for (table, count) in [("customers", 8), ("suppliers", 4)] {
                let sql = format!(
                    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})
                     INSERT INTO {table} (first, last) SELECT 'Ada' || i, 'Of {table}' FROM n"
                );
                sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut *change).await?;
            }
        }
        change.commit().await?;
        Ok(target)
    }

    /// Calls `hook` with every change once it is durable, before the step returns: where a test pulls the plug.
    #[must_use]
    pub fn after_each(mut self, hook: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.after = Some(Arc::new(hook));
        self
    }

    /// Makes a change, once for each idempotency key: the key is written in the same transaction. An attempt that is
    /// made again, because the process died before it could say that it was done, finds the key, and changes nothing.
    /// Answers how many rows the change met.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn change(&self, step: &StepCx, what: &str, sql: String) -> Result<u64, sqlx::Error> {
        let mut change: Transaction<'_, Sqlite> = self.pool.begin().await?;
        let key = step.idempotency_key();
        let done = sqlx::query("SELECT result FROM applied WHERE key = ?").bind(key);
        if let Some(row) = done.fetch_optional(&mut *change).await? {
            return Ok(row.get::<i64, _>(0).unsigned_abs());
        }
        let rows = sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&mut *change).await?.rows_affected();
        sqlx::query("INSERT INTO applied VALUES (?, ?, ?)")
            .bind(key)
            .bind(what)
            .bind(i64::try_from(rows).unwrap_or(i64::MAX))
            .execute(&mut *change)
            .await?;
        change.commit().await?;
        if let Some(hook) = &self.after {
            hook(what);
        }
        Ok(rows)
    }

    /// The only number of a query.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn count(&self, sql: String) -> Result<i64, sqlx::Error> {
        Ok(sqlx::query(sqlx::AssertSqlSafe(sql)).fetch_one(&self.pool).await?.get(0))
    }

    /// The columns of a table, in order.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn columns(&self, table: &str) -> Result<Vec<String>, sqlx::Error> {
        let rows = sqlx::query("SELECT name FROM pragma_table_info(?)").bind(table);
        Ok(rows.fetch_all(&self.pool).await?.iter().map(|row| row.get(0)).collect())
    }

    /// Every change that was made, in order.
    ///
    /// # Errors
    /// What SQLite says.
    pub async fn applied(&self) -> Result<Vec<String>, sqlx::Error> {
        let rows = sqlx::query("SELECT what FROM applied ORDER BY rowid").fetch_all(&self.pool).await?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }
}
