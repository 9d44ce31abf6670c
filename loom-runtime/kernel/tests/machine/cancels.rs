//! Cancellation: a flow that listens is told and tidies up, any other is dropped, and both end as cancelled, once what
//! they had started has ended.
//! Not the cancel of one attempt by its time limit: see `attempts`.

use kernel::{
    Delivery, Event, Fault, Kind, OnClose, RetryClass, Status,
    machine::{AttemptEnd, Cx, Input, Offered, Settled},
};
use serde_json::json;

use crate::{delivery::replays, *};

/// Works until it is cancelled; then gives back what it has taken.
fn heeding() -> Flow {
    heeding_with(|_| ok("done"))
}

fn heeding_with(end: fn(serde_json::Value) -> kernel::machine::FlowReturn) -> Flow {
    flow(move |cx| async move {
        step(&cx, "take", json!(0)).await;
        match race(step(&cx, "work", json!(1)), cx.cancellation(here())).await {
            Ok(worked) => ok(told(worked)),
            Err(cancelled) => {
                let why = told(cancelled);
                end(told(step(&cx, "give-back", json!([why, cx.cancelled().unwrap().by])).await))
            }
        }
    })
}

fn at_work(flow: &Flow) -> Play {
    let mut play = Play::start(flow);
    play.done("take", json!(0));
    assert_eq!(play.runs(), ["work"]);
    play
}

fn cancelled(play: &Play) -> (&str, &str) {
    assert_eq!(play.closed, Some(Status::Cancelled), "{:?}", play.state());
    match &play.log.last().unwrap().event {
        Event::ExecutionCancelled(e) => (e.reason.as_str(), e.by.as_str()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_flow_that_listens_tidies_up_and_ends_cancelled_whatever_it_returns() {
    let ends: [fn(serde_json::Value) -> kernel::machine::FlowReturn; 2] = [ok, |_| Err(failed("No"))];
    for end in ends {
        let flow = heeding_with(end);
        let mut play = at_work(&flow);
        assert_eq!(play.cancel(1), Offered::Accepted);
        play.pump();
        assert_eq!(play.revoked, [("work".to_owned(), 1)]);
        assert_eq!(play.runs(), ["give-back"]);
        assert_eq!(play.running[0].input, payload(json!(["enough", "ann"])));
        play.done("give-back", json!(1));
        assert_eq!(cancelled(&play), ("enough", "ann"));
        assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::CancelRequested).count(), 1);
        replays(&play, &flow);
        every_prefix_goes_on(&play, &flow);
    }
}

/// Whatever owner comes after any event, it ends cancelled if it was asked to.
fn every_prefix_goes_on(play: &Play, flow: &Flow) {
    for cut in 1..play.log.len() {
        let mut again = Play::resume(&play.log[..cut], flow);
        assert_eq!(again.state().parked, None, "at {cut}");
        let asked = again.state().cancel.is_some();
        while let Some(next) = again.runs().first().cloned() {
            again.done(&next, json!(0));
        }
        let status = if asked { Status::Cancelled } else { Status::Completed };
        assert_eq!(again.closed, Some(status), "at {cut}: {:?}", told_log(&again.log));
    }
}

#[test]
fn a_flow_that_does_not_listen_now_is_dropped() {
    let mut play = Play::start(&heeding()); // not yet
    play.cancel(1);
    play.pump();
    assert_eq!(cancelled(&play), ("enough", "ann"));
    assert!(!play.has(Kind::CancelRequested));
    assert_eq!(play.revoked, [("take".to_owned(), 1)]);

    let over = flow(|cx| async move {
        let _ = race(step(&cx, "work", json!(1)), cx.cancellation(here())).await;
        ok(told(step(&cx, "after", json!(0)).await))
    });
    let mut play = Play::start(&over); // no longer
    play.done("work", json!(0));
    play.cancel(1);
    play.pump();
    cancelled(&play);
    assert!(!play.has(Kind::CancelRequested));
    replays(&play, &over);
}

#[test]
fn the_second_cancel_changes_nothing_and_force_drops_the_flow() {
    let flow = heeding();
    let mut play = at_work(&flow);
    play.cancel(1);
    assert!(matches!(play.cancel(2), Offered::Ignored(_)));
    play.pump();
    assert_eq!(play.runs(), ["give-back"]);
    assert_eq!(play.cancel_by_force(3), Offered::Accepted);
    play.pump();
    assert_eq!(cancelled(&play), ("enough", "ann"), "the first one stands");
    assert_eq!(play.consumed(), [1, 2, 3]);
    assert_eq!(play.revoked.last().unwrap().0, "give-back");
    replays(&play, &flow);

    let mut play = at_work(&flow);
    play.cancel_by_force(1);
    play.pump();
    assert_eq!(cancelled(&play), ("at once", "bob"));
    assert!(!play.has(Kind::CancelRequested));
    replays(&play, &flow);
}

#[test]
fn a_cancel_is_heeded_across_owners_and_suspensions() {
    let flow = flow(|cx| async move {
        told(cx.cancellation(here()).await);
        told(gate(&cx, "sure", None).await);
        ok(told(step(&cx, "tidy", json!(0)).await))
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.suspend(), Status::Suspended, "it waits to be cancelled, and for nothing else");
    let mut play = Play::resume(&play.log, &flow);
    play.cancel(1);
    assert_eq!(play.suspend(), Status::Suspended);
    let mut play = Play::resume(&play.log, &flow);
    assert!(matches!(play.cancel(2), Offered::Ignored(_)), "it is being cancelled already");
    play.answer("sure", json!(true), 3);
    play.pump();
    play.done("tidy", json!(0));
    assert_eq!(cancelled(&play), ("enough", "ann"));
    replays(&play, &flow);
    assert!(play.state().outcome.is_some());
}

#[test]
fn a_cancel_that_meets_a_suspension_is_heeded_after_it() {
    let flow = flow(|cx| async move {
        told(cx.cancellation(here()).await);
        ok(told(step(&cx, "tidy", json!(0)).await))
    });
    for refused in [true, false] {
        let mut play = Play::start(&flow);
        play.offer(Input::Suspend);
        play.commands();
        assert!(play.in_flight.as_ref().unwrap().closes);
        assert!(matches!(play.cancel(1), Offered::Ignored(_)), "it stays in the inbox");
        if refused {
            play.refuse();
        } else {
            play.pump();
            assert_eq!(play.closed, Some(Status::Suspended));
            assert_eq!(play.consumed(), [0_u64; 0]);
            play = Play::resume(&play.log, &flow);
        }
        assert_eq!(play.cancel(1), Offered::Accepted);
        play.pump();
        assert_eq!(play.runs(), ["tidy"], "refused: {refused}");
        play.done("tidy", json!(0));
        cancelled(&play);
        replays(&play, &flow);
    }
}

#[test]
fn a_listener_can_be_dropped_and_taken_up_again() {
    let flow = flow(|cx| async move {
        for i in 0..3 {
            let turn = race(step(&cx, &format!("turn#{i}"), json!(i)), cx.cancellation(here())).await;
            if turn.is_err() {
                // Told once, it is told whoever asks after that, at once.
                told(cx.cancellation(here()).await);
                return ok(told(step(&cx, "tidy", json!(i)).await));
            }
            step(&cx, &format!("deaf#{i}"), json!(i)).await;
        }
        ok("through")
    });
    let mut play = Play::start(&flow);
    play.done("turn#0", json!(0));
    play.done("deaf#0", json!(0));
    play.cancel(1);
    play.pump();
    play.done("tidy", json!(1));
    cancelled(&play);
    replays(&play, &flow);
    every_prefix_goes_on(&play, &flow);

    let mut play = Play::start(&flow);
    for i in 0..3 {
        play.done(&format!("turn#{i}"), json!(0));
        play.done(&format!("deaf#{i}"), json!(0));
    }
    assert_eq!(play.output(), json!("through"));
    replays(&play, &flow);
}

#[test]
fn two_listeners_are_told_in_one_pass() {
    let flow = flow(|cx| async move {
        let (a, b) = futures_util::future::join(cx.cancellation(here()), cx.cancellation(here())).await;
        ok([told(a), told(b)])
    });
    let mut play = Play::start(&flow);
    play.cancel(1);
    play.pump();
    cancelled(&play);
    replays(&play, &flow);
}

#[test]
fn b68_a_flow_that_listens_ends_cancelled_from_every_state_of_a_step() {
    let flow = flow(|cx| async move {
        let work = step_of(&cx, "a", Delivery::AtMostOnce, 3);
        match race(work, cx.cancellation(here())).await {
            Ok(done) => ok(told(done)),
            Err(_) => ok(told(step(&cx, "tidy", json!(0)).await)),
        }
    });
    type Before = fn(&mut Play);
    let states: [(&str, Before); 5] = [
        ("queued", |_| {}),
        ("waiting for the log", |play| play.commands()),
        ("running", |play| play.pump()),
        ("backing off", |play| {
            play.pump();
            play.end("a", AttemptEnd::Failed { failure: failed("Busy"), class: RetryClass::Transient });
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
        assert_eq!(play.runs(), ["tidy"], "{state}");
        play.done("tidy", json!(0));
        cancelled(&play);
        let doubts = play.log.iter().filter(|e| e.event.kind() == Kind::EffectIndoubt).count();
        assert_eq!(doubts, usize::from(matches!(state, "running" | "in doubt")), "{state}");
        replays(&play, &flow);
        every_prefix_folds(&play, &flow);
    }
}

fn every_prefix_folds(play: &Play, flow: &Flow) {
    for cut in 1..=play.log.len() {
        let again = Play::reading(&play.log[..cut], flow, 7, CODE);
        assert_eq!(again.state(), &kernel::State::of(&play.log[..cut]).unwrap());
        assert_eq!(again.machine.fault(), None, "at {cut}");
    }
}

#[test]
fn b69_an_execution_closes_when_its_revoked_attempts_have_ended() {
    let flow = flow(|cx| async move {
        let (a, b) = (step(&cx, "fast", json!(0)), step(&cx, "slow", json!(0)));
        match race(a, b).await {
            Ok(_) => Err(failed("FailFast")),
            Err(_) => ok(()),
        }
    });
    let mut play = Play::start(&flow);
    play.unheeding = true;
    play.done("fast", json!(0));
    assert_eq!(play.revoked, [("slow".to_owned(), 1)]);
    assert_eq!(play.closed, None, "`slow` still changes the world");
    assert!(play.machine.is_busy() && play.machine.has_running());
    assert!(!play.has(Kind::ExecutionFailed) && play.in_flight.is_none());
    play.end("slow", AttemptEnd::Returned(payload(json!("came through"))));
    play.pump();
    assert_eq!(play.closed, Some(Status::Failed));
    let told = play.told();
    assert_eq!(told[told.len() - 2..], ["OUTCOME_DISCARDED slow", "EXECUTION_FAILED"]);
    let outcome = &play.state().frames[&id("slow")].outcome;
    assert_eq!(*outcome, Some(kernel::Outcome::Completed(payload(json!("came through")))));
    assert!(matches!(
        play.offer(Input::Ended {
            frame: id("slow"),
            attempt: 1,
            end: AttemptEnd::Returned(payload(json!("twice")))
        }),
        Offered::Ignored(_)
    ));
    replays(&play, &flow);
}

#[test]
fn b69_a_cancel_waits_for_what_it_has_revoked_and_is_latched() {
    let flow = flow(|cx| async move { ok(told(step(&cx, "work", json!(0)).await)) });
    for force in [true, false] {
        let mut play = Play::start(&flow);
        play.unheeding = true;
        if force {
            play.cancel_by_force(1);
        } else {
            play.cancel(1);
        }
        play.pump();
        assert_eq!(play.closed, None);
        play.end("work", AttemptEnd::Returned(payload(json!("too late"))));
        play.pump();
        assert_eq!(play.closed, Some(Status::Cancelled), "it is not turned into a success");
        assert!(play.has(Kind::OutcomeDiscarded));
        replays(&play, &flow);
    }
}

#[test]
fn a_detached_step_is_not_waited_for() {
    let flow = flow(|cx| async move {
        drop_begun(detached_step(&cx, "audit")).await;
        let won = race(detached_step(&cx, "long"), step(&cx, "short", json!(0))).await;
        ok(won.map_or_else(told, told))
    });
    let mut play = Play::start(&flow);
    play.unheeding = true;
    assert_eq!(play.runs(), ["long", "short"], "what is dropped in the pass that asks for it is never begun");
    play.done("short", json!(1));
    assert_eq!(play.output(), json!(1));
    assert_eq!(play.revoked, []);
    assert!(!play.has(Kind::OutcomeDiscarded));
    replays(&play, &flow);
}

/// Two steps at once, one of which breaks the flow.
fn breaking(cx: &Cx) -> (kernel::machine::Call, kernel::machine::Call) {
    (step(cx, "a", json!(0)), step(cx, "b", json!(0)))
}

#[test]
fn an_end_while_the_execution_parks_is_kept_for_the_next_owner() {
    let broken = flow(|cx| async move {
        let (a, b) = breaking(&cx);
        futures_util::future::join(
            async {
                told(a.await);
                panic!("broken")
            },
            b,
        )
        .await;
        ok(())
    });
    let mended = flow(|cx| async move {
        let (a, b) = breaking(&cx);
        let (a, b) = futures_util::future::join(a, b).await;
        ok([told(a), told(b)])
    });
    type Ending = (fn() -> AttemptEnd, bool);
    let ends: [Ending; 3] = [
        (|| AttemptEnd::Returned(payload(json!("kept"))), true),
        (|| AttemptEnd::Failed { failure: failed("Busy"), class: RetryClass::Permanent }, false),
        (|| AttemptEnd::Stopped(kernel::EffectError::Cancelled), false),
    ];
    for (end, kept) in ends {
        let mut play = Play::start(&broken);
        play.unheeding = true;
        play.end("a", AttemptEnd::Returned(payload(json!(1))));
        play.pump();
        assert_eq!(play.closed, None, "`b` has not ended");
        play.end("b", end());
        play.pump();
        play.parked(Fault::FlowPanicked);
        assert!(!play.has(Kind::OutcomeDiscarded));
        let mut play = Play::resume(&play.log, &mended);
        assert_eq!(play.runs().is_empty(), kept, "it runs again only if it came to nothing");
        if !kept {
            play.done("b", json!("kept"));
        }
        assert_eq!(play.output(), json!([1, "kept"]));
        replays(&play, &mended);
    }
}

#[test]
fn a_cancel_while_it_waits_for_ends_is_the_end() {
    // The flow has returned, or is parked; an attempt has not ended.
    let returned = flow(|cx| async move {
        let (a, b) = breaking(&cx);
        ok(race(a, b).await.map_or_else(told, told))
    });
    let panicked = flow(|cx| async move {
        let (a, b) = breaking(&cx);
        let _ = race(a, b).await;
        panic!("broken")
    });
    for flow in [returned, panicked] {
        let mut play = Play::start(&flow);
        play.unheeding = true;
        play.end("a", AttemptEnd::Returned(payload(json!(1))));
        play.pump();
        assert_eq!(play.closed, None);
        assert_eq!(play.cancel(1), Offered::Accepted);
        play.pump();
        assert_eq!(play.closed, None, "still it waits");
        play.end("b", AttemptEnd::Stopped(kernel::EffectError::Cancelled));
        play.pump();
        cancelled(&play);
    }
}

#[test]
fn a_flow_that_is_cancelled_begins_no_run() {
    let flow = flow(|cx| async move {
        let _ = race(step(&cx, "work", json!(0)), cx.cancellation(here())).await;
        cx.continue_as_new(payload(json!(1)));
        std::future::pending().await
    });
    let mut play = Play::start(&flow);
    play.cancel(1);
    play.pump();
    cancelled(&play);
    assert!(!play.has(Kind::ContinuedAsNew));
    replays(&play, &flow);
}

#[test]
fn a_cancel_while_it_rolls_over_is_the_end() {
    let flow = flow(|cx| async move {
        let slow = step(&cx, "slow", json!(0));
        let _ = race(step(&cx, "work", json!(0)), slow).await;
        cx.continue_as_new(payload(json!(1)));
        std::future::pending().await
    });
    let mut play = Play::start(&flow);
    play.unheeding = true;
    play.done("work", json!(0));
    assert!(!play.has(Kind::ContinuedAsNew), "`slow` has not ended");
    assert_eq!(play.cancel(1), Offered::Accepted);
    play.pump();
    play.end("slow", AttemptEnd::Stopped(kernel::EffectError::Cancelled));
    play.pump();
    cancelled(&play);
    assert!(!play.has(Kind::ContinuedAsNew));
    replays(&play, &flow);
}

#[test]
fn a_full_run_keeps_the_cancel_that_filled_it() {
    let flow = heeding();
    let mut play = Play::reading_up_to(4, &started(), &flow, 1, CODE);
    play.live();
    play.pump();
    play.done("take", json!(0));
    play.cancel(1);
    play.pump();
    play.parked(Fault::HistoryTooLong);
    assert!(play.has(Kind::CancelRequested), "it is consumed, so it is on record");
    let mut play = Play::resume(&play.log, &flow);
    play.done("give-back", json!(0));
    cancelled(&play);
    replays(&play, &flow);
}

#[test]
fn the_request_is_settled_for_those_who_ask_later_and_children_can_be_tidied_up() {
    let flow = flow(|cx| async move {
        let call = child(&cx, "ship", OnClose::Cancel);
        match race(call, cx.cancellation(here())).await {
            Ok(done) => ok(told(done)),
            Err(Settled::Cancelled(_)) => ok(told(child(&cx, "undo", OnClose::Cancel).await)),
            Err(other) => panic!("{other:?}"),
        }
    });
    let mut play = Play::start(&flow);
    play.cancel(1);
    play.pump();
    assert_eq!(play.posted(), ["cancel:test:ship to test:ship"]);
    play.child_done("undo", json!(0), 2);
    play.pump();
    assert_eq!(play.closed, None, "`ship` tidies up too");
    play.child_done("ship", json!("given back"), 3);
    play.pump();
    cancelled(&play);
    assert_eq!(play.posted().len(), 1);
    replays(&play, &flow);
}

/// Code that does not come to where `heeding` stands.
fn unfit() -> Flow {
    flow(|cx| async move { ok(told(step(&cx, "other", json!(0)).await)) })
}

/// Code that comes there and breaks.
fn breaks_there() -> Flow {
    flow(|cx| async move {
        step(&cx, "take", json!(0)).await;
        panic!("broken")
    })
}

#[test]
fn k8_a_cancel_waits_for_code_that_can_tell_the_flow() {
    let fitting = heeding();
    let mut play = at_work(&fitting);
    play.flush();
    for (broken, fault) in [(unfit(), Fault::Divergence), (breaks_there(), Fault::FlowPanicked)] {
        let mut parked = Play::reading(&play.log, &broken, 7, CODE);
        parked.live();
        assert!(matches!(parked.cancel(1), Offered::Ignored(_)), "{fault}: it stays in the inbox");
        parked.pump();
        parked.parked(fault);
        assert_eq!(parked.consumed(), [0_u64; 0]);
        assert_eq!(parked.posted(), [""; 0], "this code would not get further the next time");

        let mut mended = Play::resume(&parked.log, &fitting);
        assert_eq!(mended.cancel(1), Offered::Accepted);
        mended.pump();
        assert_eq!(mended.runs(), ["give-back"], "{fault}");
        mended.done("give-back", json!(0));
        assert_eq!(cancelled(&mended), ("enough", "ann"));
        assert_eq!(mended.consumed(), [1]);
        replays(&mended, &fitting);
    }
}

#[test]
fn k8_force_ends_what_no_code_fits() {
    let mut play = at_work(&heeding());
    play.flush();
    for broken in [unfit(), breaks_there()] {
        let mut parked = Play::reading(&play.log, &broken, 7, CODE);
        parked.live();
        assert!(matches!(parked.cancel(1), Offered::Ignored(_)));
        assert_eq!(parked.cancel_by_force(2), Offered::Accepted);
        parked.pump();
        assert_eq!(cancelled(&parked), ("at once", "bob"));
        assert_eq!(parked.consumed(), [2]);
    }
}

#[test]
fn k8_a_parked_flow_that_replays_takes_a_cancel_as_always() {
    // A step has panicked: the code fits, whether it listens or not.
    let deaf = flow(|cx| async move { ok(told(step(&cx, "work", json!(1)).await)) });
    for (flow, listens) in [(heeding(), true), (deaf, false)] {
        let mut play = Play::start(&flow);
        if listens {
            play.done("take", json!(0));
        }
        play.end("work", AttemptEnd::Panicked("a bug".into()));
        assert_eq!(matches!(play.cancel(1), Offered::Ignored(_)), listens, "while it parks");
        play.pump();
        if !listens {
            cancelled(&play);
            continue;
        }
        play.parked(Fault::StepPanicked);
        assert_eq!(play.posted(), ["again:1 to test"], "the flow is to be told, and nobody else sees to it");
        let mut play = Play::reading(&play.log, &flow, 7, CODE);
        play.live();
        assert_eq!(play.cancel(1), Offered::Accepted);
        play.pump();
        assert_eq!(play.runs(), ["give-back"]);
        play.done("give-back", json!(0));
        cancelled(&play);
    }
}
