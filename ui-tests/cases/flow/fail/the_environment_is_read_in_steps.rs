//! Variables, arguments, the current folder, other programs.

use loom::prelude::*;

use std::{env, process::Command};

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<usize> {
    let _ = ctx.now();
    if env::var("SHOP").is_ok() {
        Command::new("shop").status().ok();
    }
    env::current_dir().ok();
    Ok(env::args().count())
}

fn main() {}
