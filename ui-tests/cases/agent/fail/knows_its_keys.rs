//! Unknown keys, and lists that are none.

use loom::prelude::*;

/// You answer customers.
#[agent(modle = "small", tools = find_order, skills = ["refunds"], budget(euro = 1))]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
