//! Every mistake is reported, and those who use the event still compile.

use loom::prelude::*;

#[event(name = "Placed", version = 2)]
#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[flow]
async fn order(ctx: Ctx) -> loom::Result<()> {
    ctx.emit(&Placed);
    Ok(())
}

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u32);

#[projection]
impl Totals {
    #[on(Placed)]
    fn placed(&mut self, _: &Placed) {
        self.0 += 1;
    }
}

fn main() {}
