//! `cargo run -p schema-migration-planner`: without arguments a tour, with arguments the command line of a Loom program.
//! No logic: see `migrate.rs` and `tour.rs`.

use std::path::{Path, PathBuf};

use schema_migration_planner::{parts, target::Target, tour};

#[tokio::main]
async fn main() -> loom::Result<()> {
    let store = PathBuf::from(std::env::var("PLANNER_STORE").unwrap_or_else(|_| "planner.db".into()));
    let target = store.with_extension("people.db");
    if std::env::args().len() == 1 {
        return tour::run(&store, &target, Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/plan.json")))
            .await;
    }
    loom::cli::main(async || parts(&store, Target::open(&target).await?).await).await
}
