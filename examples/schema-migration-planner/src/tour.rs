//! The tour: a plan, its loops, the gate, and what became of the file.
//! It uses nothing that a program of your own could not.

#![allow(clippy::print_stdout, reason = "the tour talks")]

use std::{path::Path, sync::Arc};

use loom::{App, Status, prelude::*};

use crate::{
    migrate::{Approval, migrate},
    parts,
    target::Target,
};

/// Carries `plan` out on `file`, with executions in `store`.
///
/// # Errors
/// Whatever goes wrong.
pub async fn run(store: &Path, file: &Path, plan: &Path) -> loom::Result<()> {
    // A file of its own each time, so that the tour can be taken again.
    let _ = std::fs::remove_file(file);
    let shown = Arc::new(Target::open(file).await?);
    println!("1. {} has two tables of people, with two names each:", file.display());
    show(&shown).await?;
    let app = parts(store, Target::open(file).await?).await?.build()?;
    let taken = app.list(&Default::default()).await?;
    let is_free = |id: &String| taken.iter().all(|row| row.id.as_str() != id);
    let free = (1..).map(|n| format!("names-{n}")).find(is_free).unwrap_or_default();
    println!("\n2. `{free}` follows {}: read at run time, walked node by node.", plan.display());
    let run = app.start(migrate(plan.display().to_string())).id(free).await?;
    let mut live = run.stream();
    tokio::spawn(async move {
        while let Some(item) = live.next().await {
            if let loom::Streamed::Chunk(chunk) = item {
                println!("   … {}", chunk.data.as_str().trim_matches('"'));
            }
        }
    });
    run.until(&[Status::Suspended]).await?;
    let seen = print_log(&app, run.id(), 0).await?;
    println!("   Nothing is lost so far; the rest waits at the gate `{}/destroy`:", run.id());
    show(&shown).await?;

    println!("\n3. Ada agrees.");
    run.resume("destroy", &Approval { approved: true }, "ada").await?;
    let report = run.result().await?;
    print_log(&app, run.id(), seen).await?;
    println!("   {report:?}");
    show(&shown).await?;
    app.shutdown(seconds(1)).await;
    println!(
        "\nTry it yourself, on files of your own: copy {} to my-plan.json, say there that `drop-first` is not",
        plan.display()
    );
    println!(
        "`destructive`, and `show mine` tells that it was denied; or answer `{{\"approved\":false}}`, and see"
    );
    println!("everything taken back:");
    println!("   export PLANNER_STORE=mine.db");
    println!(
        "   cargo run -q -p schema-migration-planner -- start migrate --id mine --input '\"my-plan.json\"'"
    );
    Ok(())
}

async fn print_log(app: &App, id: &loom::ExecutionId, from: u64) -> loom::Result<u64> {
    let log = app.log(id, from, 1_000).await?;
    for envelope in &log {
        let frame = envelope.event.frame().map_or("", |frame| frame.as_str());
        println!("   {:>3}  {:<20} {frame}", envelope.sequence, envelope.event.kind().name());
    }
    Ok(from + log.len() as u64)
}

async fn show(target: &Target) -> loom::Result<()> {
    for table in ["customers", "suppliers"] {
        println!("   {table}({})", target.columns(table).await?.join(", "));
    }
    Ok(())
}
