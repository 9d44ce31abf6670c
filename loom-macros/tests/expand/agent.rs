//! An agent with a tool and a skill, under a policy.

/// Look up an order.
#[tool(reads)]
async fn find_order(
    /// The number on the invoice.
    number: String,
) -> Result<Order, ShopError> {
    shop::order(number).await
}

/// When a customer gets money back.
#[skill(file = "refunds.md")]
struct RefundRules;

/// Pays nothing.
#[policy]
const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);

/// You answer customers.
#[agent(
    model = "small",
    tools = [find_order],
    skills = [RefundRules],
    max_turns = 8,
    budget(tokens = 50_000, usd = 0.25),
    policies = [NO_PAYMENTS]
)]
async fn support(ctx: Ctx, number: String) -> Result<Answer, ShopError> {
    ctx.run(find_order(number)).await
}
