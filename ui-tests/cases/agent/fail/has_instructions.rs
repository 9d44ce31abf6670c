//! The doc comment is what the model is told to do.

use loom::prelude::*;

#[agent]
async fn support(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {}
