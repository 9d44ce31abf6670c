//! Flows with a planted mistake each, and the text with which a test finds it.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use loom::{
    prelude::*,
    testing::{Tally, Test},
};

/// Holds what a failing test says to a file; `BLESS=1` writes it.
fn says(name: &str, test: fn()) {
    let panic = catch_unwind(AssertUnwindSafe(test)).expect_err("what is planted is found");
    let text = panic.downcast_ref::<String>().expect("a text").clone() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/testing/snapshots")
        .join(name)
        .with_extension("txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{} is out of date (BLESS=1 writes it); it is now:\n{text}", path.display());
}

/// Takes the money again when it is run again.
#[step]
async fn take(bank: Res<Tally>, amount: u32) -> loom::Result<u32> {
    bank.hit();
    Ok(amount)
}

#[flow]
async fn paying(ctx: Ctx, amount: u32) -> loom::Result<u32> {
    ctx.run(take(amount)).await
}

#[loom::test(crash = "every-event")]
#[should_panic(expected = "how often `charged` happened differs")]
async fn an_effect_that_is_made_again(mut test: Test) {
    let charged = test.tally("charged");
    test.provide(charged);
    assert_eq!(test.run(paying(30)).await?, 30);
}

#[test]
fn an_effect_that_is_made_again_is_found() {
    says("effect", an_effect_that_is_made_again);
}

/// The same at a bank that knows keys.
#[step]
async fn take_by_key(bank: Res<Tally>, step: StepCx, amount: u32) -> loom::Result<u32> {
    bank.hit_once(step.idempotency_key());
    Ok(amount)
}

#[flow]
async fn paying_by_key(ctx: Ctx, amount: u32) -> loom::Result<u32> {
    ctx.run(take_by_key(amount)).await
}

/// What the macro does not see into.
fn elapsed() -> u64 {
    static CLOCK: AtomicU64 = AtomicU64::new(0);
    CLOCK.fetch_add(1, Ordering::Relaxed)
}

#[flow]
async fn stamping(ctx: Ctx) -> loom::Result<u64> {
    ctx.run(take_by_key(1)).await?;
    Ok(elapsed())
}

#[loom::test(crash = "every-event")]
#[should_panic(expected = "the flow does not do again what its log says")]
async fn a_clock_in_a_helper(mut test: Test) {
    let charged = test.tally("charged");
    test.provide(charged);
    test.run(stamping()).await?;
}

#[step]
async fn hurried(step: StepCx) -> loom::Result<String> {
    Ok(format!("attempt {}", step.attempt()))
}

#[flow]
async fn hurrying(ctx: Ctx) -> loom::Result<String> {
    ctx.run(hurried()).await
}

#[loom::test(crash = "every-event")]
#[should_panic(expected = "the outcome of step `hurrying-1/hurried` differs")]
async fn an_outcome_that_depends_on_the_attempt(test: Test) {
    test.run(hurrying()).await?;
}

/// An effect of the flow itself, which every replay makes again.
fn ring() {
    BELL.with(|bell| {
        if let Some(bell) = &*bell.borrow() {
            bell.hit();
        }
    });
}

thread_local! {
    static BELL: RefCell<Option<Tally>> = const { RefCell::new(None) };
}

#[flow]
async fn ringing(ctx: Ctx) -> loom::Result<()> {
    ctx.run(hurried()).id("first").await?;
    ring();
    Ok(())
}

#[loom::test(crash = "every-event")]
#[should_panic(expected = "how often `rung` happened differs")]
async fn an_effect_outside_of_any_step(mut test: Test) {
    test.mock(hurried, || Ok(String::new()));
    let rung = test.tally("rung");
    BELL.with(|bell| *bell.borrow_mut() = Some(rung));
    test.run(ringing()).await?;
}

#[flow]
async fn ringing_between(ctx: Ctx) -> loom::Result<()> {
    ctx.run(hurried()).id("first").await?;
    ring();
    ctx.run(hurried()).id("second").await?;
    Ok(())
}

#[loom::test(replay = "every-await")]
#[should_panic(expected = "rebuilt from its log after every outcome,\nhow often `rung` happened differs")]
async fn an_effect_that_every_replay_makes(mut test: Test) {
    test.mock(hurried, || Ok(String::new()));
    let rung = test.tally("rung");
    BELL.with(|bell| *bell.borrow_mut() = Some(rung));
    test.run(ringing_between()).await?;
}

#[loom::test(faults(seed = 3, runs = 100))]
#[should_panic(expected = "runs = 1)`,\nhow often `charged` happened differs")]
async fn an_effect_that_faults_make_again(mut test: Test) {
    let charged = test.tally("charged");
    test.provide(charged);
    assert_eq!(test.run(paying(30)).await?, 30);
}

#[loom::test(crash = "every-event", replay = "every-await", faults(seed = 3, runs = 100))]
async fn an_effect_under_a_key_stands_everything(mut test: Test) {
    let charged = test.tally("charged");
    test.provide(charged);
    assert_eq!(test.run(paying_by_key(30)).await?, 30);
}

/// Asserts more than there is.
#[loom::test]
#[should_panic(expected = "the steps settled in another order")]
async fn steps_in_another_order(mut test: Test) {
    test.mock(hurried, || Ok("done".to_owned()));
    test.run(hurrying()).await?;
    loom::testing::assert_steps!(test, [hurried, take]);
}

/// Nobody answers.
#[flow]
async fn asking(ctx: Ctx) -> loom::Result<bool> {
    Ok(ctx.suspend::<bool>("approval").await?)
}

#[loom::test]
#[should_panic(expected = "script it with `test.answer")]
async fn a_gate_that_nobody_answers(test: Test) {
    test.run(asking()).await?;
}

#[loom::test]
#[should_panic(expected = "the scripted answer to gate `asking-1/approval` was not taken")]
async fn an_answer_that_does_not_fit(mut test: Test) {
    test.answer("approval", "yes");
    test.run(asking()).await?;
}

#[test]
fn what_they_say() {
    says("attempt", an_outcome_that_depends_on_the_attempt);
    says("outside", an_effect_outside_of_any_step);
    says("replay", an_effect_that_every_replay_makes);
    says("order", steps_in_another_order);
    says("stuck", a_gate_that_nobody_answers);
    says("unfit", an_answer_that_does_not_fit);
}
