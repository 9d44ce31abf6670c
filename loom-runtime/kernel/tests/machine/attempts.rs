//! Attempts of steps: when they are handed out, how they end, and how often there is another.
//! Not at-most-once steps: see `doubt`.

use futures_util::future::{join, join_all};
use kernel::{
    Delivery, EffectError, Event, Fault, FrameStatus, RetryClass, Status,
    machine::{AttemptEnd, Input, Offered},
};
use serde_json::json;

use crate::{delivery::replays, *};

fn one(mode: Delivery, attempts: u32) -> Flow {
    flow(move |cx| async move { ok(told(step_of(&cx, "work", mode, attempts).await)) })
}

fn fails(code: &str) -> AttemptEnd {
    AttemptEnd::Failed { failure: failed(code), class: RetryClass::Transient }
}

fn ended(frame: &str, attempt: u32, end: AttemptEnd) -> Input {
    Input::Ended { frame: id(frame), attempt, end }
}

fn returned(value: serde_json::Value) -> AttemptEnd {
    AttemptEnd::Returned(payload(value))
}

#[test]
fn b15_a_completion_that_comes_twice_counts_once() {
    let flow = flow(|cx| async move {
        let a = told(step(&cx, "a", json!(0)).await);
        ok([a, told(step(&cx, "b", json!(0)).await)])
    });
    let mut play = Play::start(&flow);
    play.done("a", json!(1));
    assert!(matches!(play.offer(ended("a", 1, returned(json!(1)))), Offered::Ignored(_)));
    assert_eq!(play.offer(ended("a", 1, returned(json!(2)))), Offered::Contradicts);
    assert_eq!(play.offer(ended("a", 1, fails("Late"))), Offered::Contradicts);
    assert!(matches!(play.offer(ended("a", 2, returned(json!(2)))), Offered::Ignored(_)));
    assert!(matches!(play.offer(ended("never", 1, returned(json!(2)))), Offered::Ignored(_)));
    play.done("b", json!(3));
    assert_eq!(play.output(), json!([1, 3]));
}

#[test]
fn an_end_of_an_earlier_attempt_comes_too_late() {
    let flow = one(Delivery::AtLeastOnce, 5);
    let mut play = Play::start(&flow);
    play.end("work", fails("Busy"));
    play.flush();
    let mut play = Play::resume(&play.log, &flow);
    play.wait(1);
    assert_eq!(play.running[0].attempt, 2);
    assert!(matches!(play.offer(ended("work", 1, returned(json!("old owner")))), Offered::Ignored(_)));
    play.done("work", json!("new owner"));
    assert_eq!(play.output(), json!("new owner"));
}

#[test]
fn a_failure_is_retried_when_it_is_due_and_then_is_the_outcome() {
    let flow = one(Delivery::AtLeastOnce, 3);
    let mut play = Play::start(&flow);
    for attempt in 1..=2 {
        assert_eq!(play.running[0].attempt, attempt);
        play.end("work", fails("Busy"));
        play.pump();
        assert_eq!(play.state().frames[&id("work")].status, FrameStatus::BackingOff);
        assert!(play.running.is_empty());
        play.flush();
        assert_eq!(play.suspend(), Status::Suspended); // nothing is held meanwhile
        let now = play.now;
        play = Play::resume(&play.log, &flow);
        assert_eq!(
            play.machine.next_due(),
            Some(kernel::Timestamp::from_micros(now.as_micros() + 1_000_000))
        );
        assert!(matches!(play.wait(0), Offered::Ignored(_)), "not before");
        play.wait(1);
    }
    play.end("work", fails("Busy"));
    play.pump();
    assert_eq!(play.output(), json!("Busy"));
    replays(&play, &flow);
}

#[test]
fn a_permanent_failure_is_not_retried_and_a_class_can_ask_for_more_time() {
    let flow = one(Delivery::AtLeastOnce, 3);
    let mut play = Play::start(&flow);
    play.end("work", AttemptEnd::Failed { failure: failed("No"), class: RetryClass::Permanent });
    play.pump();
    assert_eq!(play.output(), json!("No"));

    let mut play = Play::start(&flow);
    let class = RetryClass::After(std::time::Duration::from_secs(60));
    play.end("work", AttemptEnd::Failed { failure: failed("Limited"), class });
    assert_eq!(play.machine.next_due(), Some(secs(60)));
}

#[test]
fn b44_a_crash_counts_as_an_attempt_when_the_policy_counts() {
    let flow = one(Delivery::AtLeastOnce, 3);
    let mut log = started();
    for attempt in 1..=3 {
        let mut play = Play::resume(&log, &flow);
        assert_eq!(play.running[0].attempt, attempt);
        play.flush(); // and then its process dies
        log = play.log.clone();
    }
    let play = Play::resume(&log, &flow);
    assert!(play.running.is_empty());
    assert_eq!(play.output(), json!("exhausted"));
    replays(&play, &flow);

    // With one attempt only a returned error settles it: the lease row counts the take-overs.
    let flow = one(Delivery::AtLeastOnce, 1);
    let mut log = started();
    for attempt in 1..=6 {
        let mut play = Play::resume(&log, &flow);
        assert_eq!(play.running[0].attempt, attempt);
        play.flush();
        log = play.log.clone();
    }
}

#[test]
fn stops_of_the_engine_are_retried_and_then_exhausted() {
    let stop = || AttemptEnd::Stopped(EffectError::TimedOut { after_ms: 5 });
    let flow = one(Delivery::AtLeastOnce, 2);
    let mut play = Play::start(&flow);
    play.end("work", stop());
    play.wait(1);
    play.end("work", stop());
    play.pump();
    assert_eq!(play.output(), json!("exhausted"));
    let flow = one(Delivery::AtLeastOnce, 1);
    let mut play = Play::start(&flow);
    play.end("work", stop());
    play.pump();
    assert_eq!(play.output(), json!("timed_out"));
    replays(&play, &flow);
}

#[test]
fn a_refused_outcome_is_final() {
    let mut play = Play::start(&one(Delivery::AtLeastOnce, 5));
    let error =
        EffectError::PayloadTooLarge { step: "work".into(), what: "outcome".into(), size: 2, limit: 1 };
    play.end("work", AttemptEnd::Refused(error));
    play.pump();
    assert_eq!(play.output(), json!("payload_too_large"));
}

#[test]
fn a_panicking_step_parks_and_goes_on_once_mended() {
    let flow = one(Delivery::AtLeastOnce, 1);
    let mut play = Play::start(&flow);
    play.end("work", AttemptEnd::Panicked("panic".into()));
    play.pump();
    let report = play.parked(Fault::StepPanicked);
    assert_eq!(report.frame, Some(id("work")));
    let mut play = Play::resume(&play.log, &flow);
    assert_eq!(play.running[0].attempt, 2);
    play.done("work", json!("mended"));
    assert_eq!(play.output(), json!("mended"));
}

#[test]
fn a_default_step_waits_for_what_led_to_it_and_a_pure_one_does_not() {
    let flow = flow(|cx| async move {
        step_of(&cx, "read", Delivery::Pure, 1).await;
        let both =
            join(step_of(&cx, "pure", Delivery::Pure, 1), step_of(&cx, "effect", Delivery::AtLeastOnce, 1));
        both.await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.end("read", returned(json!(1)));
    while play.command() {}
    assert_eq!(play.runs(), ["pure"], "the outcome of `read` is not durable yet");
    assert!(play.in_flight.is_some(), "it is on its way");
    play.write();
    play.commands();
    assert_eq!(play.runs(), ["pure", "effect"]);
    assert!(play.log.iter().any(|e| e.event.kind() == Kind::StepCompleted));
}

#[test]
fn a_choice_is_durable_before_the_effect_that_follows_from_it() {
    let flow = flow(|cx| async move {
        decide(&cx, "which", json!("left")).await;
        step(&cx, "go", json!(0)).await;
        ok(())
    });
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.live();
    play.commands();
    assert!(play.running.is_empty());
    play.write();
    play.commands();
    assert_eq!(play.runs(), ["go"]);
    assert!(play.has(Kind::DecisionRecorded));
}

#[test]
fn siblings_do_not_wait_for_each_others_starts() {
    let flow = flow(|cx| async move {
        ok(join_all((0..3).map(|i| step(&cx, &format!("s#{i}"), json!(i)))).await.len())
    });
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.live();
    play.commands();
    assert_eq!(play.runs(), ["s#0", "s#1", "s#2"]);
    assert!(play.in_flight.is_none(), "no write before the effects");
}

#[test]
fn attempts_are_handed_out_in_the_order_in_which_they_were_asked_for() {
    let names = ["z", "a", "m#10", "m#9"];
    let flow = flow(move |cx| async move { ok(join_all(names.map(|n| step(&cx, n, json!(0)))).await.len()) });
    assert_eq!(Play::start(&flow).runs(), names);
}

#[test]
fn nothing_is_handed_out_once_the_owner_drains() {
    let flow = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        step(&cx, "b", json!(0)).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.machine.hold();
    play.done("a", json!(0));
    assert!(play.running.is_empty() && !play.machine.has_running());
    play.offer(Input::HandBack);
    play.pump();
    assert!(!play.machine.lags());
    assert_eq!(Play::resume(&play.log, &flow).runs(), ["b"]);
}

#[test]
fn handing_back_is_no_attempt() {
    // The last attempt was on record but never handed out: the next owner makes it.
    let flow = flow(|cx| async move {
        step(&cx, "first", json!(0)).await;
        ok(told(step_of(&cx, "work", Delivery::AtLeastOnce, 2).await))
    });
    let mut play = Play::start(&flow);
    play.done("first", json!(0));
    play.end("work", fails("Busy"));
    play.machine.hold();
    play.wait(1);
    assert!(play.running.is_empty());
    play.offer(Input::HandBack);
    play.pump();
    assert!(play.log.iter().any(|e| matches!(&e.event, Event::StepStarted(s) if s.attempt == 2)));
    let mut play = Play::resume(&play.log, &flow);
    play.wait(0);
    assert_eq!(play.runs(), ["work"]);
    play.done("work", json!("at last"));
    assert_eq!(play.output(), json!("at last"));
    assert!(!play.has(Kind::StepAbandoned));
}

/// Owners, a second apart, that are told to drain before they have handed anything out.
fn deploys(log: Vec<kernel::Envelope>, flow: &Flow, times: u32) -> Vec<kernel::Envelope> {
    (0..times).fold(log, |log, _| {
        let mut play = Play::reading(&log, flow, log.len() as u64, CODE);
        play.now = play.now.plus(std::time::Duration::from_secs(1));
        play.live();
        play.offer(Input::Tick);
        play.machine.hold();
        play.offer(Input::HandBack);
        play.pump();
        assert!(play.invoked.is_empty() && !play.machine.lags());
        play.log
    })
}

#[test]
fn as_many_bodies_run_as_the_policy_says_whatever_shutdowns_lie_between() {
    let crashes = |bodies, mode| bodies == 1 && mode == Delivery::AtLeastOnce;
    for mode in [Delivery::AtLeastOnce, Delivery::AtMostOnce] {
        for (attempts, first, then) in [(2, 2, 0), (2, 0, 3), (2, 4, 4), (3, 1, 2), (3, 0, 0)] {
            let (flow, case) = (one(mode, attempts), format!("{mode:?} {attempts} {first} {then}"));
            let (mut log, mut bodies) = (started(), 0);
            let output = loop {
                log = deploys(log, &flow, if bodies == 0 { first } else { then });
                let mut play = Play::resume(&log, &flow);
                play.wait(if bodies == 0 || then > 0 { 0 } else { 9 });
                assert_eq!(play.runs(), ["work"], "{case}, after {bodies}");
                bodies += 1;
                if !crashes(bodies, mode) {
                    play.end("work", fails("Busy"));
                    let due = retries(attempts).next(bodies, RetryClass::Transient, play.now);
                    assert_eq!(play.machine.next_due(), due, "{case}, after {bodies}");
                }
                play.flush(); // and then its process dies
                log = play.log.clone();
                if play.closed.is_some() {
                    replays(&play, &flow);
                    break play.output();
                }
            };
            assert_eq!((bodies, output), (attempts, json!("Busy")), "{case}");
        }
    }
}

#[test]
fn what_is_exhausted_says_how_often_it_was_made() {
    let flow = one(Delivery::AtLeastOnce, 2);
    let mut log = deploys(started(), &flow, 3);
    for _ in 0..2 {
        let mut play = Play::resume(&log, &flow);
        play.wait(0);
        assert_eq!(play.runs(), ["work"]);
        play.flush(); // and then its process dies
        log = play.log;
    }
    let play = Play::resume(&log, &flow);
    let Some(kernel::Outcome::Failed(failure)) = &play.state().frames[&id("work")].outcome else { panic!() };
    assert_eq!(failure.code, "exhausted");
    assert!(failure.message.contains('2') && !failure.message.starts_with('5'), "{}", failure.message);
}
