//! What a test is given: virtual time, mocks by function, answers, messages, the order of steps.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use loom::{
    ExecutionError, FrameId, Payload, Status,
    kernel::machine::Verdict,
    prelude::*,
    testing::{Tally, Test, assert_steps},
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

#[loom::test(crash = "every-event")]
async fn a_refused_charge_is_refused_once(mut test: Test) {
    shop(&mut test);
    test.mock(charge, |_: Order| Err(ShopError::Declined));
    test.answer("approval", Approval { approved: true });
    let declined = test.run(checkout(order())).await;
    assert!(matches!(declined, Err(ExecutionError::Failed(ShopError::Declined))), "{declined:?}");
    assert_eq!(test.calls(charge), 1, "what is in doubt is judged by how the body has ended");
}

/// Who runs the body that began last.
struct Watch {
    begun: AtomicUsize,
    ghosts: Tally,
}

/// Notices when another process has begun it since.
#[step]
async fn haunt(watch: Res<Watch>) -> loom::Result<u64> {
    let mine = watch.begun.fetch_add(1, Ordering::Relaxed);
    tokio::time::sleep(hours(3)).await;
    if watch.begun.load(Ordering::Relaxed) != mine + 1 {
        watch.ghosts.hit();
    }
    Ok(0)
}

/// Takes its time, and must not be made twice.
#[step(at_most_once)]
async fn transfer() -> loom::Result<u32> {
    tokio::time::sleep(hours(2)).await;
    Ok(7)
}

#[step]
async fn note(at: u64) -> loom::Result<u64> {
    tokio::time::sleep(hours(at)).await;
    Ok(at)
}

#[flow]
async fn side_by_side(ctx: Ctx) -> loom::Result<u64> {
    let (transferred, early, late) = try_join!(ctx.run(transfer()), ctx.run(note(1)), ctx.run(haunt()))?;
    Ok(u64::from(transferred) + early + late)
}

/// A body of a dead process that went on would come to its end when another one has begun.
#[loom::test(crash = "every-event", replay = "every-await", faults(runs = 20))]
async fn what_a_crash_cuts_off_does_not_go_on(mut test: Test) {
    let ghosts = test.tally("ghosts");
    test.provide(Watch { begun: AtomicUsize::new(0), ghosts });
    assert_eq!(test.run(side_by_side()).await?, 8);
}

#[flow]
async fn naming(ctx: Ctx) -> loom::Result<String> {
    ctx.sleep(hours(1)).await;
    Ok(ctx.uuid().to_string())
}

#[flow]
async fn generations(ctx: Ctx, left: u32) -> loom::Result<String> {
    let name = ctx.call(naming()).await?;
    if left > 0 {
        return ctx.continue_as_new(generations(left - 1)).await;
    }
    Ok(name)
}

#[loom::test(crash = "every-event", faults(runs = 20))]
async fn children_and_later_runs_are_crashed_too(test: Test) {
    test.run(generations(2)).await?;
    assert_eq!(test.app().list(&Default::default()).await?.len(), 4, "{}", test.timeline());
}

#[flow(schedule = "* * * * *")]
async fn every_minute(_ctx: Ctx) -> loom::Result<()> {
    Ok(())
}

#[loom::test]
async fn nothing_starts_by_itself(test: Test) {
    test.start(counting()).await;
    test.advance(days(2)).await;
    assert_eq!(test.app().list(&Default::default()).await?.len(), 1, "{}", test.timeline());
}

#[step]
async fn wave() -> loom::Result<()> {
    Err(loom::Error::msg("nobody is there"))
}

#[step]
async fn add(a: u32, b: u32, c: Option<u32>) -> loom::Result<u32> {
    Ok(a + b + c.unwrap_or(0))
}

/// A step may be more public than what it takes.
#[allow(private_interfaces, unreachable_pub, reason = "that is what is tried")]
mod inner {
    use loom::prelude::*;

    #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
    struct Hidden(u32);

    #[step]
    #[allow(dead_code, reason = "nobody can call it")]
    pub async fn hides(it: Hidden) -> loom::Result<u32> {
        Ok(it.0)
    }
}

#[flow]
async fn sum(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(wave()).await?;
    ctx.run(add(1, 2, None)).await
}

#[loom::test(crate = ::weft)]
async fn mocks_are_of_every_arity(mut test: Test) {
    test.mock(wave, || Ok(()));
    test.mock(add, |a: u32, b: u32, c: Option<u32>| Ok(a * 10 + b + c.unwrap_or(0)));
    assert_eq!(test.run(sum()).await?, 12);
    assert_steps!(test, [wave, add]);
}

/// A test that fails says so, whatever it returns.
#[loom::test]
#[should_panic(expected = "the test failed with \"not today\"")]
async fn an_error_of_the_body_is_the_end(test: Test) -> Result<(), &'static str> {
    let _ = test.now();
    Err("not today")
}

/// Nobody knows, and no crash is why: that is for the test to say.
#[step(at_most_once, timeout = "1m")]
async fn stall() -> loom::Result<()> {
    tokio::time::sleep(hours(1)).await;
    Ok(())
}

#[flow]
async fn stalling(ctx: Ctx) -> loom::Result<()> {
    ctx.run(note(1)).await?;
    ctx.run(stall()).await
}

#[loom::test(replay = "every-await")]
async fn a_timeout_in_doubt_waits_for_the_test(test: Test) {
    let parked = test.run(stalling()).await;
    assert!(matches!(parked, Err(ExecutionError::Parked(_))), "{parked:?}");
    let (id, stall) = ("stalling-1".parse()?, FrameId::parsed("stall"));
    test.app().judge(&id, &stall, Verdict::Done(Payload::null()), "ada").await?;
    test.advance(minutes(1)).await;
    assert_eq!(test.app().row(&id).await?.status, Status::Completed);
}
