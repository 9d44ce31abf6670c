//! The context is followed by the name of its parameter.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn price(sku: u32) -> loom::Result<u32> {
    Ok(sku)
}

#[flow]
async fn checkout(cx: loom::Ctx, mut sku: u32) -> loom::Result<u32> {
    #![allow(unused_variables)]
    let unused = 1;
    sku += 1;
    for ctx in 0..sku {
        cx.run(price(ctx)).await?;
    }
    Ok(sku)
}

fn main() {}
