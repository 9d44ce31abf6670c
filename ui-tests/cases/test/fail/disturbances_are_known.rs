//! What a test is put through is among what there is.

use loom::testing::Test;

#[loom::test(crash = "every-evnt")]
async fn misspelt(_test: Test) {}

#[loom::test(crash = "every-await", replay = "always")]
async fn of_the_other_key(_test: Test) {}

#[loom::test(crahs = "every-event")]
async fn an_unknown_key(_test: Test) {}

#[loom::test(faults(runs = 0))]
async fn no_run(_test: Test) {}

#[loom::test(faults(seed = 99999999999999999999))]
async fn no_seed(_test: Test) {}

#[loom::test(faults(rounds = 5))]
async fn an_unknown_key_within(_test: Test) {}

fn main() {}
