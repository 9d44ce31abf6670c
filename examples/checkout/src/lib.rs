//! An order that reserves, asks a manager, ships and charges, and survives SIGKILL.
//! Not a shop: what a step does to the world is one line in a ledger file, so that it can be counted.

pub mod shop;
pub mod tour;

use std::path::Path;

use loom::{App, AppBuilder, ExecutionId, WorkerOptions, prelude::*};

/// The parts of the program, on the SQLite file `db`; effects go to the ledger beside it, `db.ledger`.
///
/// # Errors
/// The file cannot be opened as a Loom store.
pub async fn parts(db: &Path) -> loom::Result<AppBuilder> {
    let warehouse = shop::Warehouse::new(&db.with_extension("ledger"), pace());
    Ok(parts_on(warehouse, Sqlite::open(db).await?))
}

/// The program on the SQLite file `db`.
///
/// # Errors
/// The file cannot be opened as a Loom store, or the program is wired wrongly.
pub async fn open(db: &Path) -> loom::Result<App> {
    Ok(parts(db).await?.build()?)
}

/// The program on whatever store.
///
/// # Errors
/// The program is wired wrongly.
pub fn app(warehouse: shop::Warehouse, store: impl loom::ports::Store) -> Result<App, loom::BuildError> {
    parts_on(warehouse, store).build()
}

fn parts_on(warehouse: shop::Warehouse, store: impl loom::ports::Store) -> AppBuilder {
    // A short lease, so that nobody waits long for a take-over while trying things out.
    let worker = WorkerOptions { lease: seconds(2), ..WorkerOptions::default() };
    App::builder().store(store).provide(warehouse).worker(worker)
}

/// How long each step takes: `CHECKOUT_PACE` in milliseconds, 200 unless set.
fn pace() -> std::time::Duration {
    let set = std::env::var("CHECKOUT_PACE").ok().and_then(|text| text.parse().ok());
    millis(set.unwrap_or(200))
}

/// The id `order-n` for the first n that is free.
///
/// # Errors
/// The store fails.
pub async fn free_id(app: &App) -> loom::Result<ExecutionId> {
    let taken = app.list(&Default::default()).await?;
    let is_free = |id: &ExecutionId| taken.iter().all(|row| row.id != *id);
    let ids = (1..).filter_map(|n| format!("order-{n}").parse().ok());
    ids.into_iter().find(is_free).ok_or_else(|| loom::Error::msg("no id is free"))
}
