//! The desk of the shop: an agent, a tool, an event, and a flow that leaves its loops in every way.
//! Not run by these tests: they are shown.

use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Somebody asked.
#[event(name = "desk.asked", version = 2, upcast(1 => from_v1))]
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Asked {
    question: String,
}

fn from_v1(question: String) -> Asked {
    Asked { question }
}

/// Look up an order.
#[tool(reads, effects("shop.read"))]
pub(crate) async fn find_order(
    /// The number on the invoice.
    number: String,
) -> loom::Result<String> {
    Ok(number)
}

/// When a customer gets money back.
#[skill(file = "desk.rs")]
pub(crate) struct Refunds;

/// Pays nothing.
#[policy]
pub(crate) const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);

/// You answer customers.
#[agent(
    model = "small",
    tools = [find_order],
    skills = [Refunds],
    max_turns = 8,
    budget(tokens = 50_000, usd = 0.25),
    policies = [NO_PAYMENTS],
    effects("shop.*")
)]
pub(crate) async fn support(ctx: Ctx, question: String) -> loom::Result<String> {
    ctx.emit(&Asked { question: question.clone() });
    ctx.run(find_order(question)).await
}

/// Goes through the questions of the day.
#[flow(schedule = "0 18 * * MON-FRI", time_zone = "Europe/Zurich")]
pub(crate) async fn tidy(ctx: Ctx) -> loom::Result<()> {
    let asked = Asked { question: "where is it?".to_owned() };
    'shelves: for shelf in 0..3 {
        loop {
            let found = ctx.run(find_order(shelf.to_string())).await?;
            match found.len() {
                0 => break,
                1 => continue 'shelves,
                2 => break 'shelves,
                3 => return Ok(()),
                _ => ctx.sleep(seconds(1)).await,
            }
        }
        ctx.emit(&asked);
    }
    loop {
        ctx.sleep(days(1)).id("night").await;
    }
}

/// How many asked.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Questions {
    asked: u32,
}

#[projection]
impl Questions {
    #[on(Asked)]
    fn asked(&mut self, _: &Asked) {
        self.asked += 1;
    }

    #[on(step = find_order)]
    fn found(&mut self, _: loom::Result<String>) {
        self.asked -= 1;
    }

    #[on(lifecycle)]
    fn ended(&mut self, status: loom::Status) {
        self.asked += u32::from(status.is_terminal());
    }
}
