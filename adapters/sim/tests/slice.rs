//! A slice of what the command runs: 2,000 executions, and that one seed is one history.
//! Not the planted bugs, which have a file of their own.

use sim::{Campaign, Plan, report, run};

/// B-cases of durability, ownership, order and delivery, all at once: see `sim::Rule`.
#[test]
fn two_thousand_executions_break_no_rule() {
    let tally = Campaign { seed: 1_000_000, executions: 2_000, jobs: 2 }.run(|| {}, |_| {});
    if let Some((plan, history)) = tally.failed {
        panic!("{}", report(&plan, &history));
    }
    assert_eq!(tally.executions, 2_000);
    // The worlds are what they are meant to be.
    for what in [
        "acknowledgement lost",
        "rejected",
        "done twice",
        "late",
        "slow",
        "cut off",
        "paused",
        "deploys",
        "died before a call",
        "died after a call",
        "messages",
        "answers",
        "cancels",
        "forks",
        "verdicts",
        "CHILD_SETTLED",
        "CONTINUED_AS_NEW",
        "CANCEL_REQUESTED",
        "EFFECT_INDOUBT",
        "EXECUTION_FAILED",
        "EXECUTION_FORKED",
        "GATE_EXPIRED",
        "MESSAGE_RECEIVED",
        "OUTCOME_DISCARDED",
        "STEP_ABANDONED",
        "TIMER_FIRED",
    ] {
        assert!(tally.counts.get(what).is_some_and(|often| *often > 0), "{what}: {:?}", tally.counts);
    }
}

#[test]
fn one_seed_is_one_history() {
    for seed in 0..8 {
        let plan = Plan::random(seed, 20);
        let (first, second) = (run(&plan), run(&plan));
        assert_eq!(first.logs, second.logs, "seed {seed}");
        assert_eq!((first.chronicle, first.counts), (second.chronicle, second.counts), "seed {seed}");
    }
}

/// What a report prints as a test is the same world.
#[test]
fn the_faults_that_struck_are_the_same_world() {
    for seed in 0..8 {
        let plan = Plan::random(seed, 10);
        let drawn = run(&plan);
        let listed = run(&plan.with(drawn.strikes.clone()));
        assert_eq!(drawn.logs, listed.logs, "seed {seed}");
    }
}
