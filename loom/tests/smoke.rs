//! smoke
use loom::prelude::*;
use loom::{App, Status};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema, Failure)]
enum ShopError {
    /// The manager said no.
    Declined,
    #[failure(engine)]
    Engine(EffectError),
}
#[derive(Debug, Serialize, Deserialize, schemars::JsonSchema)]
struct Approval {
    approved: bool,
}

/// Reserve.
#[step(retry(attempts = 3, initial = "10ms"))]
async fn reserve(step: StepCx, sku: String, qty: u32) -> Result<String, ShopError> {
    let _ = step.attempt();
    Ok(format!("{sku}:{qty}"))
}

#[step]
async fn ship(line: u32) -> Result<u32, ShopError> {
    Ok(line * 2)
}

#[flow]
async fn checkout(ctx: Ctx, qty: u32) -> Result<u32, ShopError> {
    let hold = ctx.run(reserve("tea".to_owned(), qty)).await?;
    assert_eq!(hold, format!("tea:{qty}"));
    if qty > 10 {
        let answer = ctx.suspend::<Approval>("manager").timeout(days(3)).await?;
        if !answer.approved {
            return Err(ShopError::Declined);
        }
    }
    let mut sum = 0;
    for line in 0..qty {
        sum += ctx.run(ship(line)).await?;
    }
    ctx.sleep(millis(100)).await;
    Ok(sum)
}

#[tokio::test]
async fn works() {
    let app = App::builder().build().unwrap();
    let h = app.start(checkout(3)).await.unwrap();
    assert_eq!(h.result().await.unwrap(), 6);
    let h = app.start(checkout(12)).id("o").await.unwrap();
    assert_eq!(h.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
    h.resume("manager", &Approval { approved: true }, "me").await.unwrap();
    let r = h.result().await.unwrap();
    for e in app.log(h.id(), 0, 100).await.unwrap() {
        println!("{} {:?}", e.sequence, e.event);
    }
    assert_eq!(r, 132);
}
