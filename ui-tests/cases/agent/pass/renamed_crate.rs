//! `crate = …` reaches the runtime under another name, from every item.

extern crate loom as weft;

use weft::prelude::*;

#[event(name = "placed", version = 2, upcast(1 => same), crate = ::weft)]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

fn same(old: serde_json::Value) -> serde_json::Value {
    old
}

/// Look up.
#[tool(crate = ::weft)]
async fn look(n: u32) -> weft::Result<u32> {
    Ok(n)
}

/// When.
#[skill(file = "refunds.md", crate = ::weft)]
struct Refunds;

/// What.
#[policy(crate = ::weft)]
const CAREFUL: Policy = Policy::new();

/// Do.
#[agent(tools = [look], skills = [Refunds], policies = [CAREFUL], crate = ::weft)]
async fn work(ctx: Ctx) -> weft::Result<u32> {
    ctx.emit(&Placed);
    ctx.run(look(1)).await
}

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u32);

#[projection(crate = ::weft)]
impl Totals {
    #[on(step = look)]
    fn looked(&mut self, outcome: weft::Result<u32>) {
        self.0 += outcome.unwrap_or_default();
    }
}

fn main() {
    let _ = work();
}
