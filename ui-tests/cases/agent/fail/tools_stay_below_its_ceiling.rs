//! What an agent may not reach itself, no model may reach through its tools.

use loom::prelude::*;

/// Give the money back.
#[tool(effects("payments.write"))]
async fn refund(order: u32) -> loom::Result<u32> {
    Ok(order)
}

mod mail {
    use loom::prelude::*;

    /// Write to the customer.
    #[tool(effects("mail.send"))]
    pub async fn send(text: String) -> loom::Result<()> {
        let _ = text;
        Ok(())
    }
}

/// You answer customers.
#[agent(effects("mail.*"), tools = [refund, mail::send])]
async fn support(ctx: Ctx, question: String) -> loom::Result<String> {
    ctx.run(refund(1)).await?;
    Ok(question)
}

/// You think.
#[agent(effects(), tools = [mail::send])]
async fn thinker(_: Ctx, question: String) -> loom::Result<String> {
    Ok(question)
}

fn main() {}
