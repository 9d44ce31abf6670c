//! A mock takes what the step's function takes, and gives what it gives.

use loom::{prelude::*, testing::Test};

#[step]
async fn charge(order: String, amount: u32) -> loom::Result<u32> {
    let _ = order;
    Ok(amount)
}

fn no_step(amount: u32) -> u32 {
    amount
}

fn of_another_arity(test: &mut Test) {
    test.mock(charge, |amount: u32| Ok(amount));
}

fn of_another_outcome(test: &mut Test) {
    test.mock(charge, |_: String, _: u32| Ok("paid"));
}

fn of_no_step(test: &mut Test) {
    test.mock(no_step, |amount: u32| Ok(amount));
}

fn main() {}
