//! The simulator finds each of ten planted bugs, and shows each in a small schedule.
//! Not the bugs, nor what finds them.
#![cfg(feature = "planted-bugs")]

use sim::{Bug, Campaign, find};

#[test]
#[ignore = "minutes: cargo test --release -p loom-durable-sim --features planted-bugs -- --ignored"]
fn each_planted_bug_is_found_within_twenty_thousand_executions() {
    let campaign = Campaign { seed: 0, executions: 20_000, jobs: 2 };
    let mut wrong = Vec::new();
    for bug in Bug::ALL {
        match find(bug, &campaign) {
            None => wrong.push(format!("{bug:?} was not found")),
            Some(found) if found.plan.executions.len() > 12 => wrong.push(format!("large: {found}")),
            Some(found) => {
                // What is printed says the same.
                let json = serde_json::to_string(&found.plan).unwrap();
                assert_eq!(serde_json::from_str::<sim::Plan>(&json).unwrap(), found.plan);
                assert!(!found.history.broken.is_empty());
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
