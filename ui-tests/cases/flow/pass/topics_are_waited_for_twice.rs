//! Two waits on one topic, by one type under two paths; and a reply whose type is written.

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
    let asked = ctx.receive::<u32>("asked").update::<Option<Payment>>().await;
    let amount = asked.value;
    asked.accept(&None);
    Ok(first.amount + second.amount + amount)
}

fn main() {
    let messages = <checkout as loom::Flow>::DESCRIPTOR.all_messages();
    assert_eq!(messages.iter().map(|message| message.name).collect::<Vec<_>>(), ["payments", "asked"]);
    assert!(messages[0].reply.is_none() && messages[1].reply.is_some());
}
