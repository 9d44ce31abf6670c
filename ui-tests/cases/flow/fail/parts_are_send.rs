//! Non-`Send` capture: a guard held across a wait is reported where it is held.

use loom::prelude::*;

use std::sync::Mutex;

#[flow(part)]
async fn pay(ctx: Ctx, order: u32) -> u32 {
    let total = Mutex::new(order);
    let guard = total.lock().expect("not poisoned");
    ctx.sleep(days(1)).await;
    *guard
}

fn main() {}
