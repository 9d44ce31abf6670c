//! The simulator finds each of ten planted bugs: `cargo test --release -p loom-durable-sim --features planted-bugs`.
//! Not the bugs, nor what finds them.
#![cfg(feature = "planted-bugs")]

use sim::{Bug, Campaign, find};

#[test]
#[ignore = "minutes: cargo test --release -p loom-durable-sim --features planted-bugs -- --ignored"]
fn each_planted_bug_is_found_within_twenty_thousand_executions() {
    let missed: Vec<_> = Bug::ALL
        .into_iter()
        .filter(|bug| find(*bug, &Campaign { seed: 0, executions: 20_000, jobs: 2 }).is_none())
        .collect();
    assert!(missed.is_empty(), "{missed:?}");
}
