//! What plans may do: five steps, each with a typed input and its effect classes.
//! Not in which order: a plan says that.

use std::path::PathBuf;

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{plan::Plan, target::Target};

/// What can go wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure, thiserror::Error)]
pub enum MigrationError {
    /// The plan cannot be carried out as it is written.
    #[failure(permanent)]
    #[error("the plan cannot be followed: {0}")]
    BadPlan(String),
    /// SQLite says no.
    #[error("SQLite: {0}")]
    Database(String),
    /// The data are not as the plan expects them.
    #[failure(permanent)]
    #[error("{rows} rows of `{table}` have no `{column}`")]
    NotFilled {
        /// Where.
        table: String,
        /// What.
        column: String,
        /// How many.
        rows: i64,
    },
    /// Somebody said no, or nobody said anything.
    #[failure(permanent)]
    #[error("not approved: {0}")]
    Declined(String),
    /// A node failed, and everything was taken back that could be.
    #[failure(permanent)]
    #[error("`{node}` failed ({code}: {message}); {undone} changes were taken back")]
    TakenBack {
        /// The node of the plan.
        node: String,
        /// The failure's name.
        code: String,
        /// What it says.
        message: String,
        /// How much was undone.
        undone: usize,
    },
    /// The engine reports.
    #[failure(engine)]
    #[error(transparent)]
    Engine(EffectError),
}

impl From<sqlx::Error> for MigrationError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error.to_string())
    }
}

/// Read the plan. What was read is recorded: the file may change afterwards.
#[step(reads, effects("plan.read"))]
pub async fn load(file: String) -> Result<Plan, MigrationError> {
    let bad = |reason: String| MigrationError::BadPlan(format!("{file}: {reason}"));
    let text = std::fs::read_to_string(PathBuf::from(&file)).map_err(|e| bad(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| bad(e.to_string()))
}

/// Add a column, empty.
#[step(retry(attempts = 3, initial = "50ms"), effects("db.write"))]
pub async fn add_column(
    target: Res<Target>,
    step: StepCx,
    table: String,
    column: String,
    kind: String,
) -> Result<(), MigrationError> {
    let (named, of, kind) = (quoted(&column), quoted(&table), quoted(&kind));
    let sql = format!("ALTER TABLE {of} ADD COLUMN {named} {kind}");
    target.change(&step, &format!("add {table}.{column}"), sql).await?;
    Ok(())
}

/// Drop a column with everything in it; one that is not there is dropped already.
#[step(retry(attempts = 3, initial = "50ms"), effects("db.destroy"))]
pub async fn drop_column(
    target: Res<Target>,
    step: StepCx,
    table: String,
    column: String,
) -> Result<(), MigrationError> {
    if !target.columns(&table).await?.contains(&column) {
        return Ok(());
    }
    let sql = format!("ALTER TABLE {} DROP COLUMN {}", quoted(&table), quoted(&column));
    target.change(&step, &format!("drop {table}.{column}"), sql).await?;
    Ok(())
}

/// How far a backfill is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Filled {
    /// How many rows this batch met.
    pub rows: u64,
    /// Whether another batch may meet some.
    pub more: bool,
}

/// Fill a column from an SQL expression, for so many rows that have nothing in it.
#[step(retry(attempts = 3, initial = "50ms"), effects("db.write"))]
pub async fn backfill(
    target: Res<Target>,
    step: StepCx,
    table: String,
    column: String,
    value: String,
    batch: u64,
) -> Result<Filled, MigrationError> {
    let (of, named) = (quoted(&table), quoted(&column));
    let sql = format!(
        "UPDATE {of} SET {named} = {value} WHERE rowid IN
         (SELECT rowid FROM {of} WHERE {named} IS NULL AND ({value}) IS NOT NULL LIMIT {batch})"
    );
    let rows = target.change(&step, &format!("fill {table}.{column}"), sql).await?;
    step.stream(&format!("{table}: {rows} more rows"));
    Ok(Filled { rows, more: rows == batch })
}

/// See to it that a column has something in every row.
#[step(reads, effects("db.read"))]
pub async fn verify_filled(target: Res<Target>, table: String, column: String) -> Result<(), MigrationError> {
    let sql = format!("SELECT count(*) FROM {} WHERE {} IS NULL", quoted(&table), quoted(&column));
    match target.count(sql).await? {
        0 => Ok(()),
        rows => Err(MigrationError::NotFilled { table, column, rows }),
    }
}

/// A name as SQL takes it, whatever is in it.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
