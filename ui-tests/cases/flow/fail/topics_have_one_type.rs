//! Whoever sends on a topic knows one type, and whoever asks on it gets one.

use loom::prelude::*;

mod till {
    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    pub struct Payment {
        pub amount: u32,
    }
}

use till::Payment;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u32> {
    let first = ctx.receive::<Payment>("payments").await;
    let second = ctx.receive::<till::Payment>("payments").id("second").await;
    let third = ctx.receive::<Vec<u32>>("payments").id("third").await;
    let asked = ctx.receive::<u32>("asked").update::<u32>().await;
    ctx.receive::<u32>("asked").id("again").update::<String>().await.reject("no");
    let _ = ctx.receive::<u32>("asked").id("silent").await;
    let _ = ctx.receive::<u32>("heard").await;
    ctx.receive::<u32>("heard").id("answered").update::<u32>().await.reject("no");
    Ok(first.amount + second.amount + asked.value + third[0])
}

fn main() {}
