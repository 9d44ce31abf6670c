//! `cargo run -p schema-migration-planner`: without arguments a tour, with arguments the command line of a Loom program.
//! No logic: see `migrate.rs` and `tour.rs`.

use std::path::{Path, PathBuf};

use schema_migration_planner::{parts, target::Target, tour};

#[tokio::main]
async fn main() -> loom::Result<()> {
    if std::env::args().len() == 1 {
        // Nothing is left of it.
        let directory = std::env::temp_dir().join(format!("schema-migration-planner-{}", std::process::id()));
        std::fs::create_dir_all(&directory)?;
        let (store, target) = (directory.join("planner.db"), directory.join("people.db"));
        let plan = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/plan.json"));
        let toured = tour::run(&store, &target, plan).await;
        std::fs::remove_dir_all(&directory)?;
        return toured;
    }
    let store = PathBuf::from(std::env::var("PLANNER_STORE").unwrap_or_else(|_| "planner.db".into()));
    let target = store.with_extension("people.db");
    loom::cli::main(async || parts(&store, Target::open(&target).await?).await).await
}
