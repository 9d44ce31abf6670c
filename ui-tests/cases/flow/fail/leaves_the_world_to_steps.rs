//! Files, environment and processes are for steps, inside known macros as well.

use loom::prelude::*;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    let _ = ctx.now();
    println!("{:?}", std::env::var("HOME"));
    let _ = std::fs::read("order.json");
    std::process::exit(1);
}

fn main() {}
