//! The macros that are read, with calls of `ctx` inside.
#![deny(warnings)]

use loom::prelude::*;
use serde_json::json;

#[step]
async fn price(sku: u32) -> loom::Result<u32> {
    Ok(sku)
}

#[flow]
async fn checkout(ctx: Ctx, sku: u32) -> loom::Result<String> {
    let list = vec![ctx.run(price(sku)).await?; 2];
    let pair = vec![ctx.random(), ctx.random(),];
    assert!(list.len() == pair.len(), "{} is not {}", list.len(), ctx.random());
    assert_eq!(list.len(), 2);
    if matches!(ctx.run(price(1)).id("one").await, Ok(n) if n > 0) {
        println!("{sku} {sku:?} {}", ctx.uuid());
    }
    let body = json!({ "id": ctx.uuid().to_string(), "list": [1, { "price": ctx.run(price(2)).id("two").await? }], "none": null });
    Ok(format!("{body} {price}", price = ctx.run(price(3)).id("three").await?))
}

fn main() {}
