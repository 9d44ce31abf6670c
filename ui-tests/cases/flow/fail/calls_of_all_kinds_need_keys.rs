//! Each kind of call says how it is told apart from itself.

use loom::prelude::*;

#[flow]
async fn audit(ctx: Ctx, line: u32) -> loom::Result<u32> {
    ctx.sleep(days(1)).await;
    Ok(line)
}

#[flow]
async fn checkout(ctx: Ctx, lines: Vec<u32>) -> loom::Result<()> {
    join_all(lines.iter().map(|line| ctx.call(audit(*line)))).await;
    join_all(lines.iter().map(|line| ctx.spawn(audit(*line)))).await;
    join_all(lines.iter().map(|line| ctx.execute("probe", "probe", line))).await;
    join_all(lines.iter().map(|line| ctx.decide("way", move || line + 1))).await;
    join_all(lines.iter().map(|_| ctx.sleep(days(1)))).await;
    join_all(lines.iter().map(|_| ctx.receive::<u32>("payments"))).await;
    Ok(())
}

fn main() {}
