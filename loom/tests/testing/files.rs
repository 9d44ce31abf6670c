//! What is kept in files: golden logs and cassettes. Both are under `tests/testing/`, and `BLESS=1` writes those that are
//! missing; what is told of them then is no matter of these tests.

use loom::{prelude::*, testing::Test};

use crate::shop::{Approval, charge, checkout, order, reserve};

#[loom::test(crash = "every-event")]
async fn a_golden_log_is_held(mut test: Test) {
    test.mock(reserve, |_: String, qty: u32| Ok(qty));
    test.mock(charge, |order: crate::shop::Order| Ok(order.total));
    test.answer("approval", Approval { approved: true });
    test.run(checkout(order())).await?;
    test.capture("tests/testing/golden/checkout.jsonl");
}

#[test]
fn golden_logs_replay() {
    loom::testing::replay("tests/testing/golden");
}

/// The flow that wrote this log asked for a carrier first.
#[test]
#[should_panic(
    expected = "this program does not agree with the golden log tests/testing/diverged/checkout.jsonl"
)]
fn a_golden_log_of_other_code_is_refused() {
    loom::testing::replay("tests/testing/diverged/checkout.jsonl");
}

#[test]
#[should_panic(expected = "there is no golden log at `tests/testing/nowhere`")]
fn a_golden_log_that_is_missing_is_told_of() {
    loom::testing::replay("tests/testing/nowhere");
}

/// With `BLESS=1` nothing is missing.
fn unless_blessed(expected: &str) {
    assert!(std::env::var_os("BLESS").is_none(), "{expected}");
}

/// The pages of the world, which are there only when the cassette is recorded.
#[step(retry(attempts = 3, initial = "1s"))]
async fn fetch(step: StepCx, page: String) -> loom::Result<String> {
    if std::env::var_os("BLESS").is_none() {
        return Err(loom::Error::msg("the world is not there"));
    }
    match step.attempt() {
        1 => Err(loom::Error::msg("busy")),
        _ => Ok(format!("the page {page}")),
    }
}

#[flow]
async fn reading(ctx: Ctx, pages: Vec<String>) -> loom::Result<Vec<String>> {
    let mut read = Vec::new();
    for page in pages {
        read.push(ctx.run(fetch(page)).await?);
    }
    Ok(read)
}

#[loom::test(crash = "every-event")]
async fn a_cassette_answers_for_the_world(mut test: Test) {
    test.record(fetch, "tests/testing/cassettes/pages.json");
    let read = test.run(reading(vec!["one".into(), "two".into()])).await?;
    assert_eq!(read, ["the page one", "the page two"]);
}

#[loom::test]
#[should_panic(
    expected = "does not know what `fetch` answers to {\"page\":\"three\"}: `BLESS=1 cargo test` records it"
)]
async fn a_cassette_names_the_input_that_it_does_not_know(mut test: Test) {
    unless_blessed(
        "does not know what `fetch` answers to {\"page\":\"three\"}: `BLESS=1 cargo test` records it",
    );
    test.record(fetch, "tests/testing/cassettes/pages.json");
    test.run(reading(vec!["one".into(), "three".into()])).await?;
}

#[loom::test]
#[should_panic(expected = "tests/testing/cassettes/pages.json is of step `fetch`, and not of `ship`")]
async fn a_cassette_is_of_one_step(mut test: Test) {
    test.record(crate::shop::ship, "tests/testing/cassettes/pages.json");
}

#[loom::test]
#[should_panic(expected = "there is no cassette at tests/testing/cassettes/nowhere.json")]
async fn a_cassette_that_is_missing_is_told_of(mut test: Test) {
    unless_blessed("there is no cassette at tests/testing/cassettes/nowhere.json");
    test.record(fetch, "tests/testing/cassettes/nowhere.json");
}
