//! A plan that is read at run time migrates an SQLite file: loops over tables, a gate before what is lost for good, and a
//! way back. Not a migration tool: there are five steps, enough to see how an interpreter flow is made.

pub mod migrate;
pub mod plan;
pub mod steps;
pub mod target;
pub mod tour;

use std::path::Path;

use loom::{App, AppBuilder, WorkerOptions, prelude::*};
use target::Target;

/// The parts of the program: executions are kept in `store`, and what is migrated is `target`.
///
/// # Errors
/// One of the files cannot be opened.
pub async fn parts(store: &Path, target: Target) -> loom::Result<AppBuilder> {
    // A short lease, so that nobody waits long for a take-over while trying things out.
    let worker = WorkerOptions { lease: seconds(2), ..WorkerOptions::default() };
    Ok(App::builder().store(Sqlite::open(store).await?).provide(target).worker(worker))
}
