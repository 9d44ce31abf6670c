//! No name is not the program's own choice.

use loom::prelude::*;

/// You answer customers.
#[agent(model = "")]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
