//! What a flow or a step that is `pub` takes and gives is as visible as it: the compiler points at the type.

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Line {
    sku: String,
}

#[flow]
pub async fn sell(_ctx: Ctx, line: Line) -> loom::Result<()> {
    let _ = line.sku;
    Ok(())
}

#[step]
pub async fn find(sku: String) -> loom::Result<Line> {
    Ok(Line { sku })
}

#[step]
pub async fn takes_what_it_likes(line: Line) -> loom::Result<String> {
    Ok(line.sku)
}

fn main() {}
