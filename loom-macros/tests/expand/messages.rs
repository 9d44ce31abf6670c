//! A flow that waits for messages: one that nobody answers, and an update.

/// Keep an account.
#[flow]
async fn account(ctx: Ctx) -> loom::Result<u32> {
    let deposit = ctx.receive::<u32>("deposit").update::<Balance>().await;
    deposit.accept(&Balance::of(1));
    Ok(ctx.receive::<bank::Word>("close").timeout(days(1)).await.last)
}
