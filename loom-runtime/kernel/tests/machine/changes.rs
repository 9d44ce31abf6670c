//! `changed()`: new executions take the changed path, those that were past it keep to the old one, and both for ever.
//! Not the migration of a log to other code: see `divergence`.

use kernel::{Fingerprints, Kind, State, machine::Cx};
use serde_json::json;

use crate::{delivery::replays, *};

const NEW: Fingerprints = Fingerprints { body: 2, structure: 2 };

async fn did(cx: &Cx, frame: &str) -> serde_json::Value {
    told(step(cx, frame, json!(frame)).await)
}

/// Two steps, as they were at first.
fn old() -> Flow {
    flow(|cx| async move {
        did(&cx, "before").await;
        did(&cx, "tax").await;
        ok(did(&cx, "after").await)
    })
}

/// The second one was replaced.
fn new() -> Flow {
    flow(|cx| async move {
        did(&cx, "before").await;
        let changed = cx.changed(&id("new-tax"), here());
        did(&cx, if changed { "new-tax-step" } else { "tax" }).await;
        assert_eq!(cx.changed(&id("new-tax"), here()), changed, "it holds for the whole run");
        ok(did(&cx, "after").await)
    })
}

/// Every running step returns until the execution ends.
fn finish(play: &mut Play) {
    while let Some(next) = play.runs().first().cloned() {
        play.done(&next, json!(next));
    }
    assert_eq!(play.closed, Some(kernel::Status::Completed), "{:?}", play.state().parked);
}

fn took_new(log: &[kernel::Envelope]) -> bool {
    State::of(log).unwrap().frames.contains_key(&id("new-tax-step"))
}

#[test]
fn a_new_execution_takes_the_changed_path_and_it_is_recorded() {
    let flow = new();
    let mut play = Play::start(&flow);
    finish(&mut play);
    assert!(took_new(&play.log));
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::ChangeMarked).count(), 1);
    replays(&play, &flow);
    for cut in 1..play.log.len() {
        let mut again = Play::resume(&play.log[..cut], &flow);
        finish(&mut again);
        assert!(took_new(&again.log), "from {cut}");
        assert!(!State::of(&again.log).unwrap().frames.contains_key(&id("tax")), "from {cut}");
        replays(&again, &flow);
    }
}

#[test]
fn b14_an_old_execution_keeps_to_the_path_on_which_it_was() {
    let mut whole = Play::start(&old());
    finish(&mut whole);
    let started = |frame: &str| whole.told().iter().position(|told| *told == format!("STEP_STARTED {frame}"));
    let passed = started("tax").unwrap();
    for cut in 1..whole.log.len() {
        let mut play = Play::resume_with(&whole.log[..cut], &new(), NEW);
        finish(&mut play);
        assert_eq!(took_new(&play.log), cut <= passed, "from {cut}");
        assert_eq!(play.has(Kind::ChangeMarked), cut <= passed, "from {cut}");
        // And stays on it, whoever reads it later.
        for again in 1..play.log.len() {
            let mut later = Play::resume_with(&play.log[..again], &new(), NEW);
            finish(&mut later);
            if again > cut {
                assert_eq!(took_new(&later.log), cut <= passed, "from {cut}, then {again}");
            }
        }
    }
}

#[test]
fn an_execution_that_waits_past_the_place_keeps_to_the_old_path() {
    // What it waits for is all that is on record of its last pass.
    let ask = |cx: &Cx| gate(cx, "ask", None);
    let before = flow(move |cx| async move { ok(told(ask(&cx).await)) });
    let after = flow(move |cx| async move {
        let changed = cx.changed(&id("c"), here());
        ok((told(ask(&cx).await), changed, cx.changed(&id("later"), here())))
    });
    let mut play = Play::start(&before);
    play.suspend();
    let mut play = Play::resume_with(&play.log, &after, NEW);
    play.answer("ask", json!(1), 1);
    play.pump();
    assert_eq!(play.output(), json!([1, false, true]));
    let again = Play::reading(&play.log, &after, 9, NEW);
    assert_eq!((again.state(), again.machine.fault()), (play.state(), None));
}

#[test]
fn a_fork_in_the_middle_of_a_pass_comes_to_the_same_choice() {
    // The marker is not the first thing that the pass asks for.
    let flow = flow(|cx| async move {
        did(&cx, "before").await;
        let audit = gate(&cx, "audit", None);
        let work = async {
            let frame = if cx.changed(&id("c"), here()) { "new-tax-step" } else { "tax" };
            did(&cx, frame).await;
        };
        futures_util::future::join(work, audit).await;
        ok(())
    });
    let other = crate::flow(|cx| async move {
        did(&cx, "before").await;
        let audit = gate(&cx, "audit", None);
        let work = async {
            let frame = if cx.changed(&id("c"), here()) { "new-tax-step" } else { "tax" };
            did(&cx, frame).await;
        };
        // The gate first.
        futures_util::future::join(audit, work).await;
        ok(())
    });
    for flow in [flow, other] {
        let mut play = Play::start(&flow);
        play.done("before", json!(0));
        play.flush();
        assert!(took_new(&play.log));
        for cut in 1..=play.log.len() {
            let mut again = Play::resume(&play.log[..cut], &flow);
            if cut < 3 {
                again.done("before", json!(0));
            }
            assert_eq!(again.state().parked, None, "from {cut}");
            assert!(again.state().frames.contains_key(&id("new-tax-step")), "from {cut}");
        }
    }
}

#[test]
fn a_place_in_a_loop_keeps_to_what_its_run_took_first() {
    let turns = |cx: Cx, marked: bool| async move {
        let mut took = Vec::new();
        for i in 0..4 {
            did(&cx, &format!("turn#{i}")).await;
            let changed = marked && cx.changed(&id("c"), here());
            took.push(changed);
            did(&cx, &format!("{}#{i}", if changed { "new" } else { "old" })).await;
        }
        ok(took)
    };
    let before = flow(move |cx| turns(cx, false));
    let after = flow(move |cx| turns(cx, true));
    let mut play = Play::start(&before);
    for frame in ["turn#0", "old#0", "turn#1"] {
        play.done(frame, json!(0));
    }
    let mut play = Play::resume_with(&play.log, &after, NEW);
    finish(&mut play);
    assert_eq!(play.output(), json!([false, false, false, false]));
    let again = Play::reading(&play.log, &after, 9, NEW);
    assert_eq!((again.state(), again.machine.fault()), (play.state(), None));

    let mut play = Play::start(&after);
    finish(&mut play);
    assert_eq!(play.output(), json!([true, true, true, true]));
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::ChangeMarked).count(), 1);
    replays(&play, &after);
}

#[test]
fn each_turn_can_be_marked_by_its_own_id() {
    let turns = |cx: Cx, marked: bool| async move {
        let mut took = Vec::new();
        for i in 0..3 {
            let changed = marked && cx.changed(&id(&format!("c#{i}")), here());
            took.push(changed);
            did(&cx, &format!("{}#{i}", if changed { "new" } else { "old" })).await;
        }
        ok(took)
    };
    let (before, after) = (flow(move |cx| turns(cx, false)), flow(move |cx| turns(cx, true)));
    let mut play = Play::start(&before);
    play.done("old#0", json!(0));
    let mut play = Play::resume_with(&play.log, &after, NEW);
    finish(&mut play);
    assert_eq!(play.output(), json!([false, false, true]), "it had begun the second turn");
    let again = Play::reading(&play.log, &after, 9, NEW);
    assert_eq!((again.state(), again.machine.fault()), (play.state(), None));
}

#[test]
fn a_new_run_takes_the_changed_path() {
    let turns = |cx: Cx, input: kernel::Payload, marked: bool| async move {
        let run: u64 = input.decode().unwrap_or(0);
        let changed = marked && cx.changed(&id("c"), here());
        did(&cx, if changed { "new" } else { "old" }).await;
        if run == 1 {
            return ok(changed);
        }
        cx.continue_as_new(payload(json!(run + 1)));
        std::future::pending().await
    };
    let before: Flow = std::sync::Arc::new(move |cx, input| Box::pin(turns(cx, input, false)));
    let after: Flow = std::sync::Arc::new(move |cx, input| Box::pin(turns(cx, input, true)));
    let play = Play::start(&before);
    let mut play = Play::resume_with(&play.log, &after, NEW);
    finish(&mut play);
    assert_eq!(play.output(), json!(true));
    assert!(State::of(&play.log).unwrap().frames.contains_key(&id("new")));
    let again = Play::reading(&play.log, &after, 9, NEW);
    assert_eq!((again.state(), again.machine.fault()), (play.state(), None));
}

/// The change without its marker: all that were on the old path have ended.
fn retired() -> Flow {
    flow(|cx| async move {
        did(&cx, "before").await;
        did(&cx, "new-tax-step").await;
        let later = cx.changed(&id("later"), here());
        did(&cx, if later { "later-step" } else { "after" }).await;
        ok(later)
    })
}

#[test]
fn a_marker_that_was_taken_out_of_the_code_is_passed_over() {
    let mut whole = Play::start(&new());
    finish(&mut whole);
    let ends = whole.log.len() - 1; // as it ended, the old code has asked for `after`
    let asked = whole.told().iter().position(|told| told == "STEP_STARTED after").unwrap();
    for cut in 1..ends {
        let mut play = Play::resume_with(&whole.log[..cut], &retired(), NEW);
        finish(&mut play);
        let state = State::of(&play.log).unwrap();
        assert!(took_new(&play.log), "from {cut}");
        assert_eq!(state.frames.contains_key(&id("later-step")), cut <= asked, "from {cut}");
        let again = Play::reading(&play.log, &retired(), 9, NEW);
        assert_eq!((again.state(), again.machine.fault()), (&state, None), "from {cut}");
    }
    // The log ends with the marker, or with what it led to, and the code goes on in that very pass.
    let pass = flow(|cx| async move {
        let (c, d) = (cx.changed(&id("c"), here()), cx.changed(&id("d"), here()));
        ok((c, d, did(&cx, "work").await))
    });
    let mut play = Play::start(&pass);
    play.flush();
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::ChangeMarked).count(), 2);
    let without_c = flow(|cx| async move {
        let d = cx.changed(&id("d"), here());
        ok((d, did(&cx, "work").await, cx.changed(&id("c"), here())))
    });
    for cut in 1..=play.log.len() {
        let mut later = Play::resume_with(&play.log[..cut], &without_c, NEW);
        finish(&mut later);
        assert_eq!(later.output()[0], json!(true), "from {cut}");
        assert_eq!(later.output()[2], json!(true), "from {cut}: in the log already, or taken anew");
        let marked = later.log.iter().filter(|e| e.event.kind() == Kind::ChangeMarked).count();
        assert_eq!(marked, 2, "from {cut}");
        let again = Play::reading(&later.log, &without_c, 9, NEW);
        assert_eq!((again.state(), again.machine.fault()), (later.state(), None), "from {cut}");
    }
}

#[test]
fn without_its_marker_the_old_path_is_a_divergence() {
    let mut play = Play::start(&new());
    play.done("before", json!(0));
    play.flush();
    assert!(took_new(&play.log));
    let report = Play::resume_with(&play.log, &old(), NEW).parked(kernel::Fault::Divergence);
    assert_eq!(report.frame, Some(id("new-tax-step")));
    // And an execution that was on it has nowhere to go in the code that has lost it.
    let mut play = Play::start(&old());
    play.done("before", json!(0));
    play.flush();
    assert_eq!(
        Play::resume_with(&play.log, &retired(), NEW).parked(kernel::Fault::Divergence).frame,
        Some(id("tax"))
    );
}

#[test]
fn a_marker_and_a_step_may_have_one_name() {
    let flow = flow(|cx| async move {
        let changed = cx.changed(&id("tax"), here());
        did(&cx, "tax").await;
        ok((changed, cx.changed(&id("tax"), here())))
    });
    let mut play = Play::start(&flow);
    finish(&mut play);
    assert_eq!(play.output(), json!([true, true]));
    assert!(play.told().contains(&"CHANGE_MARKED tax".to_owned()), "{:?}", play.told());
    assert!([id("tax"), id("tax").marker()].iter().all(|frame| play.state().frames.contains_key(frame)));
    replays(&play, &flow);
    for cut in 1..play.log.len() {
        let mut again = Play::resume(&play.log[..cut], &flow);
        finish(&mut again);
        assert_eq!(again.output(), play.output(), "from {cut}");
    }
}
