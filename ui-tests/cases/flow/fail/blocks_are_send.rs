//! Non-`Send` capture by an `async` block in a join.

use loom::prelude::*;

#[step]
async fn charge(order: u32) -> loom::Result<u32> {
    Ok(order)
}

use std::{cell::RefCell, rc::Rc};

#[flow]
async fn checkout(ctx: Ctx, order: u32) -> loom::Result<u32> {
    let total = Rc::new(RefCell::new(0));
    let add = async {
        *total.borrow_mut() += ctx.run(charge(order)).await?;
        Ok::<(), loom::Error>(())
    };
    add.await?;
    Ok(*total.borrow())
}

fn main() {}
