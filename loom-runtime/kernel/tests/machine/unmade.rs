//! What is on record and was never handed out when the run ends: its end is in the log, and says so.
//! Not what runs then: see `cancels` and `doubt`.

use kernel::{
    Delivery, Event, FrameStatus, OnClose, Outcome, State, Status,
    machine::{Input, Verdict},
};
use serde_json::json;

use crate::{delivery::replays, *};

fn charging() -> Flow {
    flow(|cx| async move { ok(told(step_of(&cx, "charge", Delivery::AtMostOnce, 1).await)) })
}

/// Ended with the last step on record as not made, and not open any more.
#[track_caller]
fn assert_not_made(play: &Play, flow: &Flow, attempt: u32) {
    assert_eq!(play.closed, Some(Status::Cancelled));
    let Some(Event::StepFailed(last)) = play.log.iter().rev().nth(1).map(|e| &e.event) else {
        panic!("{:?}", play.told())
    };
    assert_eq!((last.frame.as_str(), last.attempt, last.not_made), ("charge", attempt, true));
    let frame = &State::of(&play.log).unwrap().frames[&id("charge")];
    assert_eq!((frame.status, frame.due, frame.doubt.as_ref()), (FrameStatus::Abandoned, None, None));
    replays(play, flow);
    // A branch from before the end need not ask anybody whether it has happened.
    let mut branch = Play::resume(&play.log[..play.log.len() - 1], flow);
    branch.wait(0);
    assert_eq!(branch.runs(), ["charge"]);
}

#[test]
fn a_cancel_in_the_pass_that_asks_for_a_step() {
    let flow = charging();
    for force in [false, true] {
        let mut play = Play::reading(&started(), &flow, 1, CODE);
        play.live();
        if force {
            play.cancel_by_force(1)
        } else {
            play.cancel(1)
        };
        play.pump();
        assert!(play.invoked.is_empty());
        assert_eq!(
            play.told(),
            ["EXECUTION_STARTED", "STEP_STARTED charge", "STEP_FAILED charge", "EXECUTION_CANCELLED"]
        );
        assert_not_made(&play, &flow, 1);
    }
}

#[test]
fn a_cancel_right_behind_the_answer_that_leads_to_a_step() {
    let flow = flow(|cx| async move {
        gate(&cx, "ask", None).await;
        ok(told(step_of(&cx, "charge", Delivery::AtMostOnce, 1).await))
    });
    let mut play = Play::start(&flow);
    play.answer("ask", json!("yes"), 1);
    play.cancel(2);
    play.pump();
    assert!(play.invoked.is_empty());
    assert_not_made(&play, &flow, 1);
}

#[test]
fn a_cancel_right_behind_the_verdict_or_the_take_over_that_repeats_a_step() {
    let flow = charging();
    let first = Play::start(&flow);
    let mut play = Play::resume(&first.log, &flow);
    play.verdict("charge", Verdict::Again, 1);
    play.cancel(2);
    play.pump();
    assert!(play.invoked.is_empty());
    assert_not_made(&play, &flow, 2);

    let flow = crate::flow(|cx| async move { ok(told(step(&cx, "charge", json!(0)).await)) });
    let mut first = Play::start(&flow);
    first.flush();
    let mut play = Play::reading(&first.log, &flow, 7, CODE);
    play.live();
    play.cancel(1);
    play.pump();
    assert_not_made(&play, &flow, 2);
}

#[test]
fn b69_a_child_that_was_never_started_is_told_of_by_force_too() {
    let flow = flow(|cx| async move { ok(told(child(&cx, "ship", OnClose::Cancel).await)) });
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.live();
    play.cancel_by_force(1);
    play.pump();
    assert!(play.children.is_empty());
    assert_eq!(
        play.told(),
        ["EXECUTION_STARTED", "CHILD_STARTED ship", "OUTCOME_DISCARDED ship", "EXECUTION_CANCELLED"]
    );
    let ship = &play.state().frames[&id("ship")];
    assert_eq!(ship.status, FrameStatus::Abandoned);
    assert!(
        matches!(&ship.outcome, Some(Outcome::Cancelled { reason, .. }) if reason.contains("not started"))
    );
    assert_eq!(play.posted(), [""; 0]);
    replays(&play, &flow);
    // The next owner, if this one dies before the end: the child was given up, and stays so.
    let mut next = Play::resume(&play.log[..3], &flow);
    assert!(next.children.is_empty());
    next.pump();
    assert_eq!(next.closed, Some(Status::Completed));
}

#[test]
fn b69_a_child_that_runs_is_told_once_and_left_by_force() {
    let flow = flow(|cx| async move { ok(told(child(&cx, "ship", OnClose::Cancel).await)) });
    for waits in [false, true] {
        let mut play = Play::start(&flow);
        assert_eq!(play.children.len(), 1);
        if waits {
            play.cancel(1);
            play.pump();
            assert_eq!(play.closed, None);
        }
        play.offer(Input::Tick);
        play.cancel_by_force(2);
        play.pump();
        assert_eq!(play.closed, Some(Status::Cancelled));
        assert_eq!(play.posted(), ["cancel:test:ship to test:ship"]);
        let ship = &play.state().frames[&id("ship")];
        assert_eq!((ship.status, ship.outcome.as_ref()), (FrameStatus::Abandoned, None));
        replays(&play, &flow);
    }
}
