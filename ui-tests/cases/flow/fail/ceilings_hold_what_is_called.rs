//! The classes are those of the step that runs, whatever type has the name that is called.

use loom::prelude::*;
use loom::{PartCall, StepCall};

mod harmless {
    use loom::prelude::*;

    #[step]
    pub async fn charge() -> loom::Result<()> {
        Ok(())
    }

    #[flow(part, effects())]
    pub async fn settle(ctx: Ctx) {
        let _ = ctx.now();
    }
}

use harmless::*;

#[step(effects("payments.write"))]
async fn pay() -> loom::Result<()> {
    Ok(())
}

#[flow(part, effects("payments.*"))]
async fn pay_all(ctx: Ctx) {
    let _ = ctx.now();
}

// Functions of the names of other types.
fn charge() -> StepCall<pay> {
    pay()
}

fn settle() -> PartCall<(), pay_all> {
    pay_all()
}

#[flow(effects("http"))]
async fn checkout(ctx: Ctx) -> loom::Result<()> {
    ctx.run(charge()).await?;
    ctx.part("settle", settle()).await;
    {
        use self::pay as charge;
        ctx.run(charge()).id("again").await
    }
}

fn main() {}
