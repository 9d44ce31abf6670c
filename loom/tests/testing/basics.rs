//! What a test is given: virtual time, mocks by function, answers, messages, the order of steps.

use std::time::{Duration, Instant};

use loom::{
    ExecutionError, Status,
    prelude::*,
    testing::{Test, assert_steps},
};

use crate::shop::{Approval, Order, Receipt, ShopError, charge, checkout, order, reserve, ship};

fn shop(test: &mut Test) {
    test.mock(reserve, |_: String, qty: u32| Ok(qty));
    test.mock(charge, |order: Order| Ok(order.total));
}

#[loom::test(crash = "every-event", replay = "every-await", faults(runs = 50))]
async fn an_order_survives_every_crash(mut test: Test) {
    shop(&mut test);
    test.answer("approval", Approval { approved: true });
    let receipt = test.run(checkout(order())).await?;
    assert_eq!(receipt, Receipt { total: 30, parcel: "parcel with tea".into() });
    assert_steps!(test, [reserve, charge, ship]);
}

#[loom::test]
async fn three_days_pass_in_no_time(mut test: Test) {
    shop(&mut test);
    let (begun, before) = (Instant::now(), test.now());
    let declined = test.run(checkout(order())).await;
    assert!(matches!(declined, Err(ExecutionError::Failed(ShopError::Declined))), "{declined:?}");
    assert_eq!(test.now().since(before), days(3));
    assert!(begun.elapsed() < Duration::from_secs(60), "virtual time is not real time");
    assert_eq!(test.calls(charge), 0);
    assert_steps!(test, [reserve]);
}

#[loom::test]
async fn a_mock_fails_twice_and_the_step_is_retried(mut test: Test) {
    shop(&mut test);
    let mut failures = 2;
    test.mock(reserve, move |_: String, qty: u32| {
        if failures == 0 {
            return Ok(qty);
        }
        failures -= 1;
        Err(ShopError::Unreachable)
    });
    test.answer_with("approval", |asked| Approval { approved: asked.execution.as_str() == "checkout-1" });
    assert_eq!(test.run(checkout(order())).await?.total, 30);
    assert_eq!((test.calls(reserve), test.calls(charge)), (3, 1));
    assert_eq!(test.now().to_string(), "2026-01-01T00:02:00.000000Z");
}

#[flow]
async fn counting(ctx: Ctx) -> loom::Result<u32> {
    let first = ctx.receive::<u32>("number").await;
    ctx.sleep(days(2)).await;
    Ok(first + ctx.receive::<u32>("number").id("second").await)
}

#[loom::test(crash = "every-event")]
async fn messages_and_time_come_from_outside(test: Test) -> Result<(), Box<dyn std::error::Error>> {
    let handle = test.start(counting()).await;
    test.send(handle.id(), "number", &1).await;
    test.advance(days(1)).await;
    assert!(!handle.status().await?.is_terminal());
    test.send(handle.id(), "number", &2).await;
    test.end(handle.id()).await;
    assert_eq!((handle.status().await?, handle.result().await?), (Status::Completed, 3));
    Ok(())
}

#[flow]
async fn drawing(ctx: Ctx) -> loom::Result<(String, String, f64)> {
    ctx.sleep(hours(1)).await;
    Ok((ctx.uuid().to_string(), ctx.now().to_string(), ctx.random()))
}

#[loom::test(crash = "every-event")]
async fn what_ctx_draws_is_the_same_in_every_round(test: Test) {
    let (_, now, _) = test.run(drawing()).await?;
    assert_eq!(now, "2026-01-01T01:00:00.000000Z");
}
