//! A test is an `async fn` over its `Test`.

use loom::{prelude::*, testing::Test};

#[flow]
async fn nothing(_ctx: Ctx) -> loom::Result<()> {
    Ok(())
}

#[loom::test]
fn is_not_async(test: Test) {
    let _ = test;
}

#[loom::test]
async fn takes_nothing() {}

#[loom::test]
async fn takes_more(test: Test, rounds: u32) {
    test.run(nothing()).await?;
}

#[loom::test]
async fn is_generic<T>(test: Test) {
    test.run(nothing()).await?;
}

#[loom::test]
struct Sample;

fn main() {}
