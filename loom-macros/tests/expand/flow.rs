//! A flow with a branch, a gate and two kinds of repetition.

/// Sell an order.
#[flow]
async fn checkout(ctx: Ctx, order: Order) -> Result<Receipt, ShopError> {
    let hold = ctx.run(reserve(order.sku.clone(), order.qty)).await?;
    if order.qty > 100 {
        let answer = ctx.suspend::<Approval>("manager").timeout(days(3)).await?;
        if !answer.approved {
            ctx.run(release(hold)).await?;
            return Err(ShopError::Declined);
        }
    }
    for line in &order.lines {
        ctx.run(ship(line.clone())).await?;
    }
    let notices = order.lines.iter().map(|line| ctx.run(notify(line.clone())).key(&line.id));
    join_all(notices).await;
    ctx.part("pay", pay(order)).await
}
