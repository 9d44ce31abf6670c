//! Every kind of loop, nested, labelled, with values, conditions that call, keys at their own level.
#![deny(warnings)]

use loom::prelude::*;

#[step]
async fn more(n: u32) -> loom::Result<Option<u32>> {
    Ok(Some(n))
}

#[step]
async fn ship(n: u32) -> loom::Result<u32> {
    Ok(n)
}

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let mut total = 0;
    'orders: for n in 0..order {
        while let Some(m) = ctx.run(more(n)).await? {
            if m > 3 {
                continue 'orders;
            }
            total += ctx.run(ship(m)).await?;
        }
        for line in vec![1, 2] {
            ctx.run(ship(line)).id("line").key(format!("{n}-{line}")).await?;
        }
    }
    let first = loop {
        total += 1;
        if ctx.run(ship(total)).id("again").await? > 10 {
            break total;
        }
    };
    for untouched in 0..3 {
        total += untouched;
    }
    let once = loop {
        break ctx.run(ship(1)).id("once").await?;
    };
    Ok(total + first + once + 1 + loop { break 2 })
}

fn main() {}
