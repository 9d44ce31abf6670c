//! Every key, and none.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::prelude::*;
use loom::{Agent, Flow};

mod shop {
    use loom::prelude::*;

    /// Look up an order.
    #[tool(reads, effects("shop.read"))]
    pub(crate) async fn find_order(number: String) -> loom::Result<String> {
        Ok(number)
    }

    /// When a customer gets money back.
    #[skill(file = "refunds.md")]
    pub(crate) struct RefundRules;

    /// Pays nothing.
    #[policy]
    pub(crate) const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);
}
use shop::find_order;

/// You answer customers.
#[agent(
    model = "small",
    tools = [find_order],
    skills = [shop::RefundRules],
    max_turns = 8,
    budget(tokens = 50_000, usd = 2),
    policies = [shop::NO_PAYMENTS],
    effects("shop.read"),
    name = "front-desk",
)]
pub async fn support(ctx: Ctx, number: String) -> loom::Result<String> {
    ctx.run(find_order(number)).await
}

/// You do as you like.
#[agent]
pub(crate) async fn free(ctx: Ctx) -> loom::Result<()> {
    ctx.sleep(seconds(1)).await;
    Ok(())
}

fn main() {
    let agent = support::AGENT;
    assert_eq!((agent.name(), agent.flow.name), ("front-desk", support::DESCRIPTOR.name));
    assert_eq!(agent.budget.usd_micros, Some(2_000_000));
    assert_eq!(agent.tools.len() + agent.skills.len() + agent.policies().len(), 3);
    assert!(free::AGENT.model.is_none() && free::AGENT.tools.is_empty());
    let _ = (support(String::new()), free());
}
