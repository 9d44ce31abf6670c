//! At-most-once steps: no attempt by itself after one whose outcome nobody knows.
//! Not the retries of known failures: see `attempts`.

use kernel::{
    Delivery, EffectError, Event, Fault, FrameStatus, Status, machine::AttemptEnd, machine::Verdict,
};
use serde_json::json;

use crate::{delivery::replays, *};

fn charging() -> Flow {
    flow(|cx| async move {
        let charged = told(step_of(&cx, "charge", Delivery::AtMostOnce, 1).await);
        let mail = told(step(&cx, "mail", charged.clone()).await);
        ok([charged, mail])
    })
}

/// An owner died while the charge ran.
fn crashed() -> Vec<kernel::Envelope> {
    let play = Play::start(&charging());
    assert_eq!(play.runs(), ["charge"]);
    assert_eq!(play.invoked[0].1, 2, "its own start is durable before the body");
    play.log.clone()
}

fn doubts(log: &[kernel::Envelope]) -> Vec<(String, u32, String)> {
    let doubt = |e: &kernel::Envelope| match &e.event {
        Event::EffectIndoubt(d) => Some((d.frame.to_string(), d.attempt, d.reason.clone())),
        _ => None,
    };
    log.iter().filter_map(doubt).collect()
}

#[test]
fn a_crash_leaves_it_in_doubt_and_parks() {
    let mut play = Play::resume(&crashed(), &charging());
    assert!(play.running.is_empty());
    assert_eq!(play.suspend(), Status::Parked);
    let report = play.parked(Fault::InDoubt);
    assert_eq!(report.frame, Some(id("charge")));
    assert_eq!(doubts(&play.log), [("charge".into(), 1, "crash".into())]);
    // And again, for every owner that comes without a verdict: nothing runs, nothing is doubted twice.
    let mut again = Play::resume(&play.log, &charging());
    assert_eq!(again.suspend(), Status::Parked);
    assert_eq!(doubts(&again.log).len(), 1);
    assert!(again.invoked.is_empty());
}

#[test]
fn every_verdict_resolves_it() {
    let mut parked = Play::resume(&crashed(), &charging());
    parked.suspend();

    let mut play = Play::resume(&parked.log, &charging());
    play.verdict("charge", Verdict::Done(payload(json!("paid"))), 1);
    play.pump();
    assert!(matches!(&play.log.iter().rfind(|e| e.event.kind() == Kind::StepCompleted).unwrap().event,
        Event::StepCompleted(e) if e.by.as_deref() == Some("ann")));
    play.done("mail", json!("sent"));
    assert_eq!(play.output(), json!(["paid", "sent"]));
    replays(&play, &charging());

    let mut play = Play::resume(&parked.log, &charging());
    play.verdict("charge", Verdict::GiveUp, 1);
    play.pump();
    let outcome = play.state().frames[&id("charge")].outcome.clone();
    let by = "ann".into();
    assert_eq!(outcome, Some(kernel::Outcome::Failed(EffectError::InDoubt { attempt: 1, by }.into())));
    play.done("mail", json!("sent"));
    assert_eq!(play.output(), json!(["in_doubt", "sent"]));
    replays(&play, &charging());

    let mut play = Play::resume(&parked.log, &charging());
    play.verdict("charge", Verdict::Again, 1);
    play.pump();
    assert_eq!((play.runs(), play.running[0].attempt), (vec!["charge".into()], 2));
    let again =
        play.log.iter().find(|e| matches!(&e.event, Event::StepStarted(s) if s.attempt == 2)).unwrap();
    assert_eq!(again.meta.principal.as_deref(), Some("ann"), "who ran it again is on record");
    play.done("charge", json!("paid"));
    play.done("mail", json!("sent"));
    assert_eq!(play.output(), json!(["paid", "sent"]));
    replays(&play, &charging());
}

#[test]
fn a_verdict_for_what_is_not_in_doubt_has_no_effect() {
    let mut play = Play::start(&charging());
    let offered = play.verdict("charge", Verdict::Done(payload(json!("forged"))), 1);
    assert!(matches!(offered, kernel::machine::Offered::Ignored(_)));
    play.done("charge", json!("paid"));
    play.done("mail", json!("sent"));
    assert_eq!(play.output(), json!(["paid", "sent"]));
    assert!(play.batches.iter().any(|b| b.consumed == [1]));
}

#[test]
fn a_verdict_that_comes_while_it_parks_is_heard() {
    let mut play = Play::resume(&crashed(), &charging());
    play.offer(kernel::machine::Input::Suspend);
    play.commands();
    assert!(play.in_flight.as_ref().unwrap().closes);
    play.refuse(); // because the inbox holds:
    play.verdict("charge", Verdict::Again, 1);
    play.pump();
    assert_eq!(play.runs(), ["charge"]);
    play.done("charge", json!("paid"));
    play.done("mail", json!("sent"));
    assert_eq!(play.output(), json!(["paid", "sent"]));
}

#[test]
fn timeout_panic_and_engine_stops_leave_it_in_doubt() {
    for (end, reason) in [
        (AttemptEnd::Panicked("panic".into()), "panic"),
        (AttemptEnd::Stopped(EffectError::TimedOut { after_ms: 5 }), "timed_out"),
        (AttemptEnd::Stopped(EffectError::Cancelled), "cancelled"),
    ] {
        let mut play = Play::start(&charging());
        play.end("charge", end);
        play.pump();
        assert_eq!(play.state().frames[&id("charge")].status, FrameStatus::InDoubt);
        assert_eq!(play.suspend(), Status::Parked);
        assert_eq!(doubts(&play.log), [("charge".into(), 1, reason.into())]);
    }
}

#[test]
fn cancelling_the_execution_while_it_runs_notes_the_doubt() {
    let mut play = Play::start(&charging());
    play.cancel(1);
    play.pump();
    assert_eq!(play.closed, Some(Status::Cancelled));
    assert_eq!(doubts(&play.log), [("charge".into(), 1, "cancelled".into())]);
    assert_eq!(play.revoked, [("charge".into(), 1)]);
}

/// Flows that drop their charge once `quick` is there.
fn abandoning(attempts: u32) -> Flow {
    flow(move |cx| async move {
        let quick = async {
            step(&cx, "quick", json!(0)).await;
        };
        let _ = race(quick, step_of(&cx, "charge", Delivery::AtMostOnce, attempts)).await;
        step(&cx, "after", json!(0)).await;
        ok("moved on")
    })
}

#[test]
fn an_abandoned_attempt_is_in_doubt_and_the_flow_moves_on() {
    let mut play = Play::start(&abandoning(1));
    play.done("quick", json!(0));
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("moved on"));
    assert_eq!(doubts(&play.log), [("charge".into(), 1, "abandoned".into())]);
    let frame = &play.state().frames[&id("charge")];
    assert_eq!((frame.status, frame.doubt.as_deref()), (FrameStatus::Abandoned, Some("abandoned")));
    replays(&play, &abandoning(1));
}

#[test]
fn an_attempt_of_a_dead_owner_is_in_doubt_when_the_replay_drops_it() {
    let mut play = Play::start(&abandoning(1));
    play.done("quick", json!(0));
    play.flush();
    // The crash came after the outcome of `quick`, and before what the flow did then.
    let cut = play.log.iter().position(|e| e.event.kind() == Kind::StepCompleted).unwrap() + 1;
    let mut play = Play::resume(&play.log[..cut], &abandoning(1));
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("moved on"));
    assert_eq!(doubts(&play.log), [("charge".into(), 1, "abandoned".into())]);
}

#[test]
fn what_is_known_not_to_have_happened_is_not_in_doubt() {
    // Never handed out: dropped while it waits for its start to be durable.
    let mut play = Play::reading(&started(), &abandoning(1), 1, CODE);
    play.live();
    while play.command() && play.running.is_empty() {}
    assert_eq!(play.runs(), ["quick"]);
    play.end("quick", AttemptEnd::Returned(payload(json!(0))));
    play.pump();
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("moved on"));
    assert_eq!(doubts(&play.log), []);

    // Its failure is known, and it was waiting for another attempt.
    let mut play = Play::start(&abandoning(3));
    let class = kernel::RetryClass::Transient;
    play.end("charge", AttemptEnd::Failed { failure: failed("Busy"), class });
    play.done("quick", json!(0));
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("moved on"));
    assert_eq!(doubts(&play.log), []);
}

#[test]
fn what_is_in_doubt_already_is_not_doubted_again_when_it_is_dropped() {
    let mut play = Play::start(&abandoning(1));
    play.end("charge", AttemptEnd::Panicked("panic".into()));
    play.done("quick", json!(0));
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("moved on"));
    assert_eq!(doubts(&play.log), [("charge".into(), 1, "panic".into())]);
    assert_eq!(play.state().frames[&id("charge")].doubt.as_deref(), Some("panic"));
}

#[test]
fn a_call_over_its_limit_never_ran_and_so_is_never_in_doubt() {
    let error =
        EffectError::PayloadTooLarge { step: "charge".into(), what: "input".into(), size: 9, limit: 1 };
    let refusal = error.clone();
    let flow = flow(move |cx| {
        let error = error.clone();
        async move {
            let mut charge = step_of(&cx, "charge", Delivery::AtMostOnce, 3);
            if let Some(kernel::machine::Request { op: kernel::machine::Op::Step { refuse, .. }, .. }) =
                charge.request_mut()
            {
                *refuse = Some(error);
            }
            ok(told(charge.await))
        }
    });
    let play = Play::start(&flow);
    assert_eq!(play.output(), json!("payload_too_large"));
    assert!(play.invoked.is_empty());
    replays(&play, &flow);
    for cut in 1..play.log.len() {
        let play = Play::resume(&play.log[..cut], &flow);
        assert_eq!(play.output(), json!("payload_too_large"), "cut at {cut}");
        assert!(play.invoked.is_empty());
        assert_eq!(doubts(&play.log), []);
        let outcome = play.state().frames[&id("charge")].outcome.clone();
        assert_eq!(outcome, Some(kernel::Outcome::Failed(refusal.clone().into())));
    }
}

#[test]
fn handing_back_before_the_attempt_was_handed_out_leaves_no_doubt() {
    let mut play = Play::reading(&started(), &charging(), 1, CODE);
    play.live();
    play.commands();
    assert!(play.in_flight.is_some() && play.running.is_empty());
    play.offer(kernel::machine::Input::HandBack);
    play.pump();
    assert!(play.invoked.is_empty());
    let mut next = Play::resume(&play.log, &charging());
    next.wait(0);
    assert_eq!(next.runs(), ["charge"]);
    assert_eq!(doubts(&next.log), []);
}

#[test]
fn parking_before_the_attempt_was_handed_out_leaves_no_doubt() {
    let branches = |mended: bool| {
        flow(move |cx| async move {
            let panics = async {
                step(&cx, "other", json!(0)).await;
                assert!(mended, "a fault in code");
                told(step_of(&cx, "charge2", Delivery::AtMostOnce, 1).await)
            };
            let charge = async {
                step(&cx, "first", json!(0)).await;
                told(step_of(&cx, "charge", Delivery::AtMostOnce, 1).await)
            };
            ok(futures_util::future::join(charge, panics).await)
        })
    };
    let mut play = Play::start(&branches(false));
    play.end("first", AttemptEnd::Returned(payload(json!(0)))); // `charge` is asked for, not handed out
    play.end("other", AttemptEnd::Returned(payload(json!(0))));
    play.pump();
    play.parked(Fault::FlowPanicked);
    let mut play = Play::resume(&play.log, &branches(true));
    play.wait(0);
    assert_eq!(doubts(&play.log), []);
    assert_eq!(play.runs(), ["charge2", "charge"]);
    play.done("charge", json!("paid"));
    play.done("charge2", json!("paid"));
    assert_eq!(play.output(), json!(["paid", "paid"]));
    replays(&play, &branches(true));
}

#[test]
fn a_fault_that_was_found_before_the_body_leaves_no_doubt() {
    use kernel::{ParkReport, machine::Input};
    let report = |fault| ParkReport::new(fault, "before the body").frame(&id("charge"));
    for fault in [Fault::MissingStep, Fault::MissingResource, Fault::Undecodable] {
        for by_the_driver in [true, false] {
            let mut play = Play::start(&charging());
            match by_the_driver {
                true => drop(play.offer(Input::Fault(report(fault)))),
                false => drop(play.end("charge", AttemptEnd::Fault(report(fault)))),
            }
            play.pump();
            play.parked(fault);
            let mut play = Play::resume(&play.log, &charging());
            play.wait(0);
            assert_eq!(play.runs(), ["charge"], "{fault}");
            play.done("charge", json!("paid"));
            play.done("mail", json!("sent"));
            assert_eq!(play.output(), json!(["paid", "sent"]));
            assert_eq!(doubts(&play.log), []);
        }
    }
    // One that was found after it does: the effect has happened, its outcome cannot be kept.
    let mut play = Play::start(&charging());
    play.end("charge", AttemptEnd::Fault(report(Fault::Unserializable)));
    play.pump();
    play.parked(Fault::Unserializable);
    let mut play = Play::resume(&play.log, &charging());
    play.wait(0);
    assert!(play.runs().is_empty());
    assert_eq!(doubts(&play.log).len(), 1);
}
