//! Waiting and ending: gates, timers, suspension, cancellation, and what comes while the owner lets go.
//! Not parking: that is what `faults`, `divergence` and `doubt` are about.

use futures_util::future::join;
use kernel::{
    Event, FrameStatus, Kind, Status,
    machine::{AttemptEnd, Input, Offered},
};
use serde_json::json;

use crate::{delivery::replays, *};

fn asking(timeout: Option<u64>) -> Flow {
    flow(move |cx| async move {
        let before = told(step(&cx, "before", json!(0)).await);
        let answer = told(gate(&cx, "ask", timeout).await);
        ok([before, answer])
    })
}

#[test]
fn b49_an_answer_that_comes_before_its_gate_is_kept() {
    let flow = asking(None);
    let mut play = Play::start(&flow);
    assert_eq!(play.answer("ask", json!("early"), 7), Offered::Accepted);
    play.flush();
    assert!(
        play.batches.iter().all(|b| b.consumed.is_empty()),
        "it stays in the inbox until it is in the log"
    );
    // A crash: the next owner reads the inbox again.
    let mut play = Play::resume(&play.log, &flow);
    play.answer("ask", json!("early"), 7);
    play.done("before", json!(1));
    assert_eq!(play.output(), json!([1, "early"]));
    let consumed: Vec<_> = play.batches.iter().flat_map(|b| b.consumed.clone()).collect();
    assert_eq!(consumed, [7]);
    replays(&play, &flow);
}

#[test]
fn a_gate_takes_one_answer() {
    let flow = flow(|cx| async move {
        let answer = told(gate(&cx, "ask", Some(60)).await);
        step(&cx, "after", answer.clone()).await;
        ok(answer)
    });
    let mut play = Play::start(&flow);
    play.answer("ask", json!("first"), 1);
    assert!(matches!(play.answer("ask", json!("second"), 2), Offered::Ignored(_)));
    assert_eq!(play.machine.next_due(), None, "and does not expire any more");
    play.pump();
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("first"));
    let consumed: Vec<_> = play.batches.iter().flat_map(|b| b.consumed.clone()).collect();
    assert_eq!(consumed, [1, 2], "the second is used up, too");
    let frame = &play.state().frames[&id("ask")];
    assert_eq!(frame.by.as_deref(), Some("ann"));
}

#[test]
fn an_answer_to_what_is_no_gate_has_no_effect() {
    let flow = flow(|cx| async move {
        let (a, t) = join(step(&cx, "a", json!(0)), sleep(&cx, "t", 5)).await;
        ok([told(a), told(t)])
    });
    let mut play = Play::start(&flow);
    assert!(matches!(play.answer("a", json!("forged"), 1), Offered::Ignored(_)));
    assert!(matches!(play.answer("t", json!("forged"), 2), Offered::Ignored(_)));
    play.done("a", json!("real"));
    play.wait(5);
    assert_eq!(play.output(), json!(["real", "fired"]));
    assert!(!play.has(Kind::GateAnswered));
    let consumed: Vec<_> = play.batches.iter().flat_map(|b| b.consumed.clone()).collect();
    assert_eq!(consumed, [1, 2]);
}

#[test]
fn a_gate_expires_across_owners() {
    let flow = asking(Some(30));
    let mut play = Play::start(&flow);
    play.done("before", json!(1));
    assert_eq!(play.suspend(), Status::Suspended);
    let Event::ExecutionSuspended(suspended) = &play.log.last().unwrap().event else { panic!() };
    assert_eq!((suspended.waiting.as_slice(), suspended.wake_at), ([id("ask")].as_slice(), Some(secs(30))));
    let mut play = Play::resume(&play.log, &flow);
    play.wait(29);
    assert_eq!(play.closed, None);
    play.wait(1);
    assert_eq!(play.output(), json!([1, "expired"]));
    replays(&play, &flow);
}

#[test]
fn b82_waiting_twice_runs_nothing_between_the_waits_again() {
    let flow = flow(|cx| async move {
        let mut counted = Vec::new();
        for i in 0..2 {
            counted.push(told(step(&cx, &format!("count#{i}"), json!(i)).await));
            gate(&cx, &format!("ask#{i}"), None).await;
        }
        ok(counted)
    });
    let mut play = Play::start(&flow);
    let mut runs = 0;
    for i in 0..2 {
        play.done(&format!("count#{i}"), json!(i));
        assert_eq!(play.suspend(), Status::Suspended);
        runs += play.invoked.len();
        for _ in 0..3 {
            play = Play::resume(&play.log, &flow); // for nothing
            runs += play.invoked.len();
            assert_eq!(play.suspend(), Status::Suspended);
        }
        play = Play::resume(&play.log, &flow);
        play.answer(&format!("ask#{i}"), json!(true), i);
        play.pump();
    }
    assert_eq!(play.output(), json!([0, 1]));
    assert_eq!(runs, 2, "each of the two ran once");
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::StepStarted).count(), 2);
}

#[test]
fn a_suspension_is_ignored_while_something_runs() {
    let mut play = Play::start(&asking(None));
    assert!(matches!(play.offer(Input::Suspend), Offered::Ignored(_)));
    play.done("before", json!(1));
    assert_eq!(play.suspend(), Status::Suspended);
}

#[test]
fn a_refused_suspension_goes_on_with_a_new_batch() {
    let flow = asking(None);
    let mut play = Play::start(&flow);
    play.done("before", json!(1));
    play.offer(Input::Suspend);
    play.commands();
    let refused = play.in_flight.clone().unwrap();
    assert!(refused.closes);
    play.refuse();
    play.answer("ask", json!("just in time"), 3);
    play.pump();
    assert_eq!(play.output(), json!([1, "just in time"]));
    assert_eq!(play.batches.last().unwrap().first, refused.first, "nothing of it was written");
    assert!(!play.has(Kind::ExecutionSuspended));
    replays(&play, &flow);
}

#[test]
fn an_answer_between_the_suspension_and_its_append_takes_it_back() {
    let mut play = Play::start(&asking(None));
    play.done("before", json!(1));
    play.offer(Input::Suspend);
    assert_eq!(play.answer("ask", json!("now"), 3), Offered::Accepted);
    play.pump();
    assert_eq!(play.output(), json!([1, "now"]));
    assert!(!play.has(Kind::ExecutionSuspended));
}

#[test]
fn an_answer_while_the_suspension_is_on_its_way_stays_in_the_inbox() {
    let mut play = Play::start(&asking(None));
    play.done("before", json!(1));
    play.offer(Input::Suspend);
    play.commands();
    assert!(matches!(play.answer("ask", json!("late"), 3), Offered::Ignored(_)));
    play.pump();
    assert_eq!(play.closed, Some(Status::Suspended));
    assert!(play.batches.iter().all(|b| b.consumed.is_empty()));
}

#[test]
fn an_end_is_tried_again_when_the_inbox_has_moved() {
    let flow = flow(|cx| async move { ok(told(step(&cx, "a", json!(0)).await)) });
    let mut play = Play::start(&flow);
    play.end("a", AttemptEnd::Returned(payload(json!(1))));
    play.commands();
    play.refuse();
    assert!(matches!(play.answer("ask", json!("to nobody"), 3), Offered::Ignored(_)));
    play.offer(Input::Noted { item: 4 });
    play.pump();
    assert_eq!(play.output(), json!(1));
    let mut consumed = play.batches.last().unwrap().consumed.clone();
    consumed.sort_unstable();
    assert_eq!(consumed, [3, 4]);
    assert_eq!(buried(&play), [buried_one("ask", "to nobody", "the execution ended")]);
    assert_ne!(play.batches[0].id, play.batches[1].id);
}

#[test]
fn b30_a_cancel_wins_over_an_end_that_is_not_written_and_loses_against_one_that_is() {
    let flow = flow(|cx| async move { ok(told(step(&cx, "a", json!(0)).await)) });
    let mut play = Play::start(&flow);
    play.end("a", AttemptEnd::Returned(payload(json!(1))));
    assert_eq!(play.cancel(1), Offered::Accepted);
    play.pump();
    assert_eq!(play.closed, Some(Status::Cancelled));
    assert_eq!(
        play.told(),
        [
            "EXECUTION_STARTED",
            "STEP_STARTED a",
            "STEP_COMPLETED a",
            "EXECUTION_ENDING",
            "EXECUTION_CANCELLED"
        ]
    );
    let Event::ExecutionEnding(ending) = &play.log[3].event else { panic!("{:?}", play.log[3]) };
    assert_eq!(ending.end, kernel::End::Completed(payload(json!(1))), "nothing is lost");
    assert_eq!(play.batches.last().unwrap().consumed, [1]);
    replays(&play, &flow);

    // Its append was on its way: refused, the cancel is latched; written, the end stands.
    for refused in [true, false] {
        let mut play = Play::start(&flow);
        play.end("a", AttemptEnd::Returned(payload(json!(1))));
        play.commands();
        if refused {
            play.refuse();
        }
        play.cancel(1);
        play.pump();
        let status = if refused { Status::Cancelled } else { Status::Completed };
        assert_eq!(play.closed, Some(status));
        assert_eq!(play.log.iter().filter(|e| is_end(e)).count(), 1);
        assert!(matches!(play.cancel(2), Offered::Ignored(_)));
        play.pump();
        assert_eq!(play.log.iter().filter(|e| is_end(e)).count(), 1);
    }
}

fn is_end(envelope: &kernel::Envelope) -> bool {
    let kind = envelope.event.kind();
    matches!(kind, Kind::ExecutionCompleted | Kind::ExecutionFailed | Kind::ExecutionCancelled)
}

#[test]
fn b68_a_cancel_ends_it_in_every_state_of_a_step() {
    let flow = flow(|cx| async move { ok(told(step_of(&cx, "a", kernel::Delivery::AtMostOnce, 3).await)) });
    type Before = fn(&mut Play);
    let states: [(&str, Before); 5] = [
        ("queued", |_| {}),
        ("waiting for the log", |play| play.commands()),
        ("running", |play| play.pump()),
        ("backing off", |play| {
            play.pump();
            let class = kernel::RetryClass::Transient;
            play.end("a", AttemptEnd::Failed { failure: failed("Busy"), class });
        }),
        ("in doubt", |play| {
            play.pump();
            play.end("a", AttemptEnd::Panicked("panic".into()));
        }),
    ];
    for (state, before) in states {
        let mut play = Play::reading(&started(), &flow, 1, CODE);
        play.live();
        before(&mut play);
        play.cancel(1);
        play.pump();
        assert_eq!(play.closed, Some(Status::Cancelled), "{state}");
        assert!(play.running.is_empty());
        let doubts = play.log.iter().filter(|e| e.event.kind() == Kind::EffectIndoubt).count();
        assert_eq!(doubts, usize::from(matches!(state, "running" | "in doubt")), "{state}");
        replays(&play, &flow);
    }
}

#[test]
fn a_failure_of_the_flow_is_an_outcome() {
    let flow = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        Err(failed("Declined"))
    });
    let mut play = Play::start(&flow);
    play.done("a", json!(1));
    assert_eq!(play.closed, Some(Status::Failed));
    assert_eq!(play.state().outcome, Some(kernel::Outcome::Failed(failed("Declined"))));
    replays(&play, &flow);
}

#[test]
fn b63_the_loser_of_a_race_is_closed_when_the_flow_returns() {
    let flow = flow(|cx| async move {
        let won = race(step(&cx, "work", json!(0)), sleep(&cx, "four-hours", 4 * 3600)).await;
        ok(won.map_or_else(told, told))
    });
    let mut play = Play::start(&flow);
    play.done("work", json!(1));
    assert_eq!(play.output(), json!(1));
    assert_eq!(play.state().frames[&id("four-hours")].status, FrameStatus::Abandoned);
    assert_eq!(play.machine.next_due(), None);
    let last = play.told().split_off(4);
    assert_eq!(last, ["STEP_ABANDONED four-hours", "EXECUTION_COMPLETED"]);
    replays(&play, &flow);
}

#[test]
fn a_timer_that_lost_wakes_nobody_later() {
    let flow = flow(|cx| async move {
        let won = race(step(&cx, "work", json!(0)), sleep(&cx, "t", 5)).await;
        ok([won.map_or_else(told, told), told(gate(&cx, "ask", None).await)])
    });
    let mut play = Play::start(&flow);
    play.done("work", json!(1));
    assert_eq!(play.machine.next_due(), None);
    assert_eq!(play.suspend(), Status::Suspended);
    let Event::ExecutionSuspended(suspended) = &play.log.last().unwrap().event else { panic!() };
    assert_eq!(suspended.wake_at, None);
    assert_eq!(Play::resume(&play.log, &flow).machine.next_due(), None);
}

#[test]
fn b62_a_timer_that_is_due_when_it_loses_has_one_recorded_end() {
    let flow = flow(|cx| async move {
        let won = race(step(&cx, "work", json!(0)), sleep(&cx, "t", 5)).await;
        ok(won.map_or_else(told, told))
    });
    for timer_first in [true, false] {
        let mut play = Play::start(&flow);
        play.now = secs(5);
        if timer_first {
            play.wait(0);
        } else {
            play.done("work", json!("work"));
        }
        assert_eq!(play.output(), json!(if timer_first { "fired" } else { "work" }));
        assert_eq!(play.has(Kind::TimerFired), timer_first);
        assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::StepAbandoned).count(), 1);
        assert!(matches!(play.wait(0), Offered::Ignored(_)));
        replays(&play, &flow);
    }
}

#[test]
fn timers_that_are_due_together_fire_in_order_one_delivery_each() {
    let flow = flow(|cx| async move {
        let order = std::sync::Mutex::new(Vec::new());
        let one = async |frame: &str, seconds| {
            sleep(&cx, frame, seconds).await;
            order.lock().unwrap().push((frame.to_owned(), cx.now().as_micros() / 1_000_000));
        };
        futures_util::future::join3(one("late", 3), one("early", 1), one("mid", 2)).await;
        ok(order.into_inner().unwrap())
    });
    let mut play = Play::start(&flow);
    play.wait(60);
    assert_eq!(play.output(), json!([["early", 60], ["mid", 60], ["late", 60]]));
    replays(&play, &flow);
}

#[test]
fn an_owner_that_hands_back_while_its_suspension_is_refused_starts_nothing() {
    let mut play = Play::start(&flow(|cx| async move {
        gate(&cx, "ask", None).await;
        ok(told(step(&cx, "after", json!(0)).await))
    }));
    play.offer(Input::Suspend);
    play.commands();
    play.offer(Input::HandBack);
    play.refuse();
    play.answer("ask", json!(true), 1);
    play.pump();
    assert!(play.invoked.is_empty());
    assert_eq!(play.offer(Input::HandBack), Offered::Accepted);
    play.pump();
    assert!(play.invoked.is_empty() && !play.machine.lags());
}

/// The dead letters of a log: topic, body, author and reason.
fn buried(play: &Play) -> Vec<(String, serde_json::Value, String, String)> {
    let dead = play.log.iter().filter_map(|e| match &e.event {
        Event::MessageDeadLettered(e) => Some(e.clone()),
        _ => None,
    });
    dead.map(|e| (e.message.topic, e.message.body.decode().unwrap(), e.message.by, e.reason)).collect()
}

fn buried_one(gate: &str, answer: &str, reason: &str) -> (String, serde_json::Value, String, String) {
    (format!("gate:{gate}"), json!(answer), "ann".into(), reason.into())
}

#[test]
fn an_accepted_answer_that_no_gate_takes_is_a_dead_letter() {
    let flow = asking(Some(30));
    let mut play = Play::start(&flow);
    play.answer("before", json!("forged"), 1);
    play.answer("never", json!("early"), 2);
    play.offer(Input::Answer {
        run: 7,
        frame: id("ask"),
        answer: payload(json!("of another")),
        by: "ann".into(),
        item: 3,
    });
    play.done("before", json!(1));
    play.now = secs(30);
    play.offer(Input::Tick); // the gate expires, and the flow returns
    play.answer("ask", json!("late"), 4);
    play.pump();
    assert_eq!(play.output(), json!([1, "expired"]));
    assert_eq!(
        buried(&play),
        [
            buried_one("before", "forged", "the frame is not a gate"),
            buried_one("ask", "of another", "the gate was another run's"),
            buried_one("never", "early", "the execution ended"),
            buried_one("ask", "late", "the execution ended"),
        ]
    );
    let mut consumed = play.consumed();
    consumed.sort_unstable();
    assert_eq!(consumed, [1, 2, 3, 4]);
    replays(&play, &flow);
}

#[test]
fn an_answer_to_a_gate_that_has_expired_is_on_record() {
    let flow = flow(|cx| async move {
        let answer = told(gate(&cx, "ask", Some(30)).await);
        step(&cx, "after", answer.clone()).await;
        ok(answer)
    });
    let mut play = Play::start(&flow);
    play.wait(30);
    assert!(matches!(play.answer("ask", json!("late"), 1), Offered::Ignored(_)));
    play.flush();
    assert_eq!(buried(&play), [buried_one("ask", "late", "the gate is closed")]);
    assert_eq!((play.consumed(), play.state().dead_letters), (vec![1], 1));
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("expired"));
    replays(&play, &flow);
}
