//! The tour: one order, one manager, one SIGKILL, and nothing done twice.
//! It uses nothing that a program of your own could not: the other process is this binary's `worker`.

#![allow(clippy::print_stdout, reason = "the tour talks")]

use std::{
    path::Path,
    process::{Command, Stdio},
};

use loom::{App, GateAddress, Payload, Status, prelude::*};
use serde_json::json;

use crate::{
    free_id, open,
    shop::{Order, checkout},
};

/// Runs it on the SQLite file `db`.
///
/// # Errors
/// Whatever goes wrong.
pub async fn run(db: &Path) -> loom::Result<()> {
    let app = open(db).await?;
    let id = free_id(&app).await?;
    let lines = ["cup", "pot", "tin"].map(str::to_owned).to_vec();
    println!("1. Start `{id}`: 120 boxes of tea. That many need a manager.");
    let order = app.start(checkout(Order { sku: "tea".into(), qty: 120, lines })).id(id.as_str()).await?;
    order.until(&[Status::Suspended]).await?;
    print_new(&app, &id, 0).await?;
    println!("   It waits at the gate `{id}/manager`, in {}: no process holds it.\n", db.display());

    println!("2. Another process works; we answer the gate from here.");
    let seen = app.row(&id).await?.next;
    app.shutdown(seconds(1)).await;
    let mut worker = Command::new(std::env::current_exe()?)
        .arg("worker")
        .env("CHECKOUT_DB", db)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let app = open(db).await?;
    let gate: GateAddress = format!("{id}/manager").parse()?;
    app.resume(&gate, Payload::encode(&json!({ "approved": true }))?, "ada").await?;
    until_shipping(&app, &id, seen).await?;
    worker.kill()?; // SIGKILL: no goodbye
    worker.wait()?;
    print_new(&app, &id, seen).await?;
    println!("   SIGKILL! Worker {} died while it shipped.\n", worker.id());

    println!("3. This process takes over as soon as the dead one's lease has run out.");
    let seen = app.row(&id).await?.next;
    app.work();
    let receipt = app.handle::<checkout>(&id).result().await?;
    print_new(&app, &id, seen).await?;
    println!("   {receipt:?}\n");

    println!("What the steps did to the world ({}):", db.with_extension("ledger").display());
    let ledger = std::fs::read_to_string(db.with_extension("ledger"))?;
    ledger.lines().filter(|line| line.starts_with(&format!("{id} "))).for_each(|line| println!("   {line}"));
    println!("   A parcel whose step was cut may show twice, with one key: that is what the key is for.");
    println!("   The charge is there once: it is `at_most_once`.\n");
    next_steps(&id, db);
    app.shutdown(seconds(1)).await;
    Ok(())
}

/// Waits until a parcel is recorded and the next one is under way.
async fn until_shipping(app: &App, id: &loom::ExecutionId, from: u64) -> loom::Result<()> {
    let mut events = app.events(id, from);
    while let Some(envelope) = events.next().await {
        if envelope?.event.frame().is_some_and(|frame| frame.as_str() == "ship#1") {
            break;
        }
    }
    Ok(())
}

async fn print_new(app: &App, id: &loom::ExecutionId, from: u64) -> loom::Result<()> {
    for envelope in app.log(id, from, 1_000).await? {
        let frame = envelope.event.frame().map_or("", |frame| frame.as_str());
        println!("   {:>3}  {:<20} {frame}", envelope.sequence, envelope.event.kind().name());
    }
    Ok(())
}

fn next_steps(id: &loom::ExecutionId, db: &Path) {
    let set =
        if db == Path::new("shop.db") { String::new() } else { format!("CHECKOUT_DB={} ", db.display()) };
    let run = format!("{set}cargo run -q -p checkout --");
    println!("Try it yourself:");
    println!("   {run} show {id}");
    println!("   {run} debug {id} --at 5");
    println!("   {run} graph checkout");
    println!(
        "   {run} start checkout --id mine --input '{{\"sku\":\"tea\",\"qty\":120,\"lines\":[\"cup\",\"pot\"]}}'"
    );
    println!("   {run} worker     # in another terminal; kill -9 it when you like, start it again");
    println!("   {run} resume mine/manager --answer '{{\"approved\":true}}' --by you");
}
