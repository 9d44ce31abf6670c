//! What an editor makes of half-typed flows: rust-analyzer completes, and explains, in a small crate that uses the macros.
//! By command: `cargo test -p loom-durable-ui-tests --test editor -- --ignored`.
//! Needs `rustup component add rust-analyzer`.

mod server;

use server::Server;

/// What stands above every case.
const SHOP: &str = r#"use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub struct Order {
    pub sku: String,
    pub quantity: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    pub total_in_cents: u64,
}

/// Takes the money.
#[step]
async fn charge(order: Order) -> loom::Result<Receipt> {
    Ok(Receipt { total_in_cents: 100 * u64::from(order.quantity) })
}
"#;

/// Where the cursor is.
const CURSOR: &str = "$0";

/// What is typed below the shop, and what the editor offers at the cursor.
const COMPLETIONS: &[(&str, &str, &str)] = &[
    (
        "the fields of what a step gives",
        "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    let receipt = ctx.run(charge(order)).await?;
    receipt.$0
}",
        "total_in_cents",
    ),
    (
        "the fields of the input, in the middle of a statement",
        "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    let sku = order.$0
    let receipt = ctx.run(charge(order)).await?;
    Ok(receipt.total_in_cents)
}",
        "quantity",
    ),
    (
        "the calls of a context",
        "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    ctx.$0
}",
        "suspend",
    ),
    (
        "a step, in a call that is not closed",
        "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    ctx.run(cha$0
}",
        "charge",
    ),
    (
        "the fields of what a step gives, below a mistake",
        "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    let now = std::time::SystemTime::now();
    let receipt = ctx.run(charge(order)).await?;
    receipt.$0
}",
        "total_in_cents",
    ),
    (
        "what a start of a flow takes, when the flow has a mistake",
        "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    charge(order).await
}
fn caller(app: &loom::App, order: Order) { app.start(buy(order)).$0 }",
        "id",
    ),
    (
        "the keys of a step",
        "#[step(ret$0)]\nasync fn send(order: Order) -> loom::Result<u32> { Ok(1) }",
        "retry",
    ),
    (
        "the keys of a flow",
        "#[flow(sche$0)]\nasync fn nightly(ctx: Ctx) -> loom::Result<u32> { Ok(1) }",
        "schedule",
    ),
];

/// What is typed, and what the editor shows of the word at the cursor.
const HOVERS: &[(&str, &str, &str)] = &[(
    "the docs of a step, where it is run",
    "#[flow]\nasync fn buy(ctx: Ctx, order: Order) -> loom::Result<u64> {
    let receipt = ctx.run(cha$0rge(order)).await?;
    Ok(receipt.total_in_cents)
}",
    "Takes the money.",
)];

#[test]
#[ignore = "it needs rust-analyzer, which reads every dependency"]
fn an_editor_completes_and_explains_in_half_typed_flows() {
    let mut server = Server::start(SHOP);
    let mut missing = Vec::new();
    for (what, typed, expected) in COMPLETIONS {
        let (text, at) = cursor(typed);
        let offered = server.completions(&text, at);
        if !offered.iter().any(|label| label.starts_with(expected)) {
            missing.push(format!("{what}: `{expected}` is not among {offered:?}"));
        }
    }
    for (what, typed, expected) in HOVERS {
        let (text, at) = cursor(typed);
        let shown = server.hover(&text, at);
        if !shown.contains(expected) {
            missing.push(format!("{what}: {expected:?} is not in {shown:?}"));
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The whole file without its cursor, and the line and column of that.
fn cursor(typed: &str) -> (String, (usize, usize)) {
    let marked = format!("{SHOP}\n{typed}\n");
    let (before, after) = marked.split_once(CURSOR).expect("a cursor");
    let line = before.matches('\n').count();
    let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1);
    (format!("{before}{after}"), (line, column))
}
