//! Divergence: a replay whose requests disagree with the log parks, with both sides in the report.
//! Not other faults: see `faults`. And not code that changed and still agrees: that is noted, here too.

use kernel::{Event, Fault, Fingerprints, ParkReport, Status};
use serde_json::json;

use crate::{delivery::replays, *};

/// Two steps, one after the other; a log of it that ends between them, or is complete.
fn original() -> Flow {
    flow(|cx| async move {
        let a = told(step(&cx, "a", json!("in")).await);
        ok(told(step(&cx, "b", a).await))
    })
}

fn log_of(flow: &Flow, ended: &[&str]) -> Vec<kernel::Envelope> {
    let mut play = Play::start(flow);
    for frame in ended {
        play.done(frame, json!(format!("{frame} out")));
    }
    if play.closed.is_none() {
        play.flush();
    }
    play.log.clone()
}

/// Other code replays the log of `original`, finds the divergence, and is mended.
#[track_caller]
fn diverges(ended: &[&str], other: &Flow) -> ParkReport {
    let log = log_of(&original(), ended);
    let mut play = Play::reading(&log, other, 50, CODE);
    play.live();
    play.pump();
    let report = play.parked(Fault::Divergence);
    let parked = play.log.last().unwrap();
    assert_eq!(parked.sequence as usize, play.log.len() - 1);
    assert!(play.invoked.is_empty(), "nothing runs");
    assert!(play.log.len() <= log.len() + 2, "{:?}", play.told()); // the taking-up, and the report
    let mut mended = Play::resume(&play.log, &original());
    while let Some(next) = mended.runs().first().cloned() {
        mended.done(&next, json!(format!("{next} out")));
    }
    assert_eq!(mended.output(), json!("b out"));
    replays(&mended, &original());
    report
}

#[test]
fn b06_another_step_is_reported_with_both_sides_position_and_line() {
    let line = line!() + 2;
    let other = flow(|cx| async move {
        step(&cx, "a2", json!("in")).await;
        ok(())
    });
    let report = diverges(&["a"], &other);
    assert_eq!(report.expected.as_deref(), Some("STEP_STARTED of step `a` as `a` at event 1"));
    assert_eq!(report.found.as_deref(), Some("asked for step `a2` as `a2`"));
    assert_eq!((report.sequence, report.frame), (Some(1), Some(id("a"))));
    let near = report.near.unwrap();
    assert!(near.file.ends_with("divergence.rs") && near.line == line, "{near}");
    assert_eq!(report.code.as_deref(), Some("0000000000000001"));
}

#[test]
fn a_missing_request_diverges() {
    let other = flow(|cx| async move {
        step(&cx, "a", json!("in")).await;
        sleep(&cx, "t", 1).await;
        ok(())
    });
    let report = diverges(&["a"], &other);
    assert!(report.expected.unwrap().contains("`b`"));
    assert_eq!(report.found.as_deref(), Some("asked for a timer as `t`"));

    let silent = flow(|cx| async move {
        futures_util::future::join(step(&cx, "a", json!("in")), std::future::pending::<()>()).await;
        ok(())
    });
    // That it is stuck as well says less.
    let report = diverges(&["a"], &silent);
    assert_eq!(report.found.as_deref(), Some("did not ask for it"));
}

#[test]
fn an_extra_request_diverges() {
    let other = flow(|cx| async move {
        let a = futures_util::future::join(step(&cx, "a", json!("in")), step(&cx, "extra", json!(0))).await.0;
        ok(told(step(&cx, "b", told(a)).await))
    });
    let report = diverges(&["a"], &other);
    assert_eq!(report.found.as_deref(), Some("asked for step `extra` as `extra`"));
    assert_eq!(report.frame, Some(id("extra")));
}

#[test]
fn another_step_or_kind_under_the_id_diverges() {
    let other = flow(|cx| async move {
        let mut a = step(&cx, "a", json!("in"));
        if let Some(kernel::machine::Request { op: kernel::machine::Op::Step { step, .. }, .. }) =
            a.request_mut()
        {
            *step = "renamed".into();
        }
        ok(told(a.await))
    });
    let report = diverges(&["a"], &other);
    assert_eq!(report.found.as_deref(), Some("step `renamed`"));
    let timer = flow(|cx| async move { ok(told(sleep(&cx, "a", 1).await)) });
    assert_eq!(diverges(&["a"], &timer).found.as_deref(), Some("a timer"));
}

#[test]
fn another_input_diverges_without_showing_it() {
    let line = line!() + 1;
    let other = flow(|cx| async move { ok(told(step(&cx, "a", json!("secret")).await)) });
    let report = diverges(&["a"], &other);
    assert_eq!(report.frame, Some(id("a")));
    assert_eq!(report.near.as_ref().map(|near| near.line), Some(line));
    assert!(!report.to_string().contains("secret"), "a report holds no payload");
    // In the last, open segment too.
    let log = log_of(&original(), &[]);
    Play::resume(&log, &other).parked(Fault::Divergence);
}

/// Code that changed may ask with another input for what has been asked for: it gets the recorded outcome, and so does
/// every replay by that code. What it asks for itself is held against it again.
#[test]
fn other_code_may_compute_another_input_for_what_is_settled() {
    let other = flow(|cx| async move {
        let a = told(step(&cx, "a", json!("new in")).await);
        ok(told(step(&cx, "b", a).await))
    });
    let changed = Fingerprints { body: CODE.body + 1, ..CODE };
    let log = log_of(&original(), &[]);
    let mut play = Play::reading(&log, &other, 50, changed);
    play.live();
    play.pump();
    play.done("a", json!("a out"));
    play.done("b", json!("b out"));
    assert_eq!(play.output(), json!("b out"));

    let log = play.log.clone();
    let mut again = Play::reading(&log[..log.len() - 1], &other, 60, changed);
    again.live();
    again.pump();
    assert_eq!(again.output(), json!("b out"));
    let third = flow(|cx| async move {
        step(&cx, "a", json!("in")).await;
        ok(told(step(&cx, "b", json!("not what was asked")).await))
    });
    let mut play = Play::reading(&log[..log.len() - 1], &third, 70, changed);
    play.live();
    play.pump();
    assert_eq!(play.parked(Fault::Divergence).frame, Some(id("b")));

    // Code that no longer agrees at all waits for the code that wrote the log.
    let gone = flow(|_| async move { ok(()) });
    let mut play = Play::reading(&log[..log.len() - 1], &gone, 80, CODE);
    play.live();
    play.pump();
    let message = play.parked(Fault::Divergence).message;
    assert!(message.starts_with(&format!("waiting for code {:016x}: ", changed.body)), "{message}");
}

#[test]
fn another_outcome_diverges_and_an_ended_log_stays_as_it_is() {
    let other = flow(|cx| async move {
        let a = told(step(&cx, "a", json!("in")).await);
        step(&cx, "b", a).await;
        ok("something else")
    });
    let log = log_of(&original(), &["a", "b"]);
    let mut play = Play::reading(&log, &other, 50, CODE);
    play.live();
    play.commands();
    assert!(play.in_flight.is_none(), "nothing is appended to a log that has ended");
    assert_eq!(play.closed, Some(Status::Completed));
    assert_eq!(play.machine.fault().map(|report| report.fault), Some(Fault::Divergence), "but it is told");

    // Cut before the end, the same code is fine: the log does not hold an outcome yet.
    let mut play = Play::resume(&log[..log.len() - 1], &other);
    assert_eq!(play.output(), json!("something else"));
    play.commands();
}

#[test]
fn a_flow_that_returns_before_the_log_ends_diverges() {
    let other = flow(|cx| async move {
        step(&cx, "a", json!("in")).await;
        ok("early")
    });
    let report = diverges(&["a"], &other);
    assert!(report.found.is_some());
    // And where nothing was asked for any more but an outcome came: two branches, one of them given up.
    let both = flow(|cx| async move {
        futures_util::future::join(step(&cx, "x", json!(0)), step(&cx, "y", json!(0))).await;
        ok(())
    });
    let first = flow(|cx| async move {
        let (x, y) = (step(&cx, "x", json!(0)), step(&cx, "y", json!(0)));
        let _ = race(x, y).await;
        ok(())
    });
    let mut play = Play::start(&both);
    play.done("x", json!(0));
    play.done("y", json!(0));
    let log = play.log[..play.log.len() - 1].to_vec();
    let report = Play::resume(&log, &first).parked(Fault::Divergence);
    assert!(report.found.unwrap().contains("dropped `y`"));
}

#[test]
fn a_drop_that_the_log_holds_and_the_code_does_not_diverges() {
    let drops = flow(|cx| async move {
        let _ = race(step(&cx, "x", json!(0)), step(&cx, "y", json!(0))).await;
        step(&cx, "z", json!(0)).await;
        ok(())
    });
    let keeps = flow(|cx| async move {
        let y = step(&cx, "y", json!(0));
        let (_, _) = futures_util::future::join(
            async {
                step(&cx, "x", json!(0)).await;
                step(&cx, "z", json!(0)).await;
            },
            y,
        )
        .await;
        ok(())
    });
    let mut play = Play::start(&drops);
    play.done("x", json!(0));
    play.flush();
    let report = Play::resume(&play.log, &keeps).parked(Fault::Divergence);
    assert!(report.expected.unwrap().contains("STEP_ABANDONED"));
}

#[test]
fn a_divergence_early_in_a_long_log_parks_at_its_end() {
    let mut log = started();
    let long = flow(|cx| async move {
        for i in 0..50 {
            step(&cx, &format!("s#{i}"), json!(i)).await;
        }
        gate(&cx, "ask", None).await;
        ok(())
    });
    for i in 0..50 {
        let mut play = Play::resume(&log, &long);
        play.done(&format!("s#{i}"), json!(i));
        play.flush();
        log = play.log.clone();
    }
    let other = flow(|cx| async move { ok(told(step(&cx, "s#0", json!("other")).await)) });
    let play = Play::resume(&log, &other);
    let report = play.parked(Fault::Divergence);
    assert_eq!(report.sequence, Some(1));
    assert_eq!(play.log.len(), log.len() + 1, "the report is the next event of the log");
    let mut play = Play::resume(&play.log, &long);
    play.answer("ask", json!(1), 1);
    play.pump();
    assert_eq!(play.output(), json!(null));
}

#[test]
fn a_log_with_a_gap_parks() {
    let mut log = log_of(&original(), &["a"]);
    log.remove(2);
    let mut play = Play::reading(&log, &original(), 9, CODE);
    play.live();
    play.commands();
    let batch = play.batches.pop().unwrap();
    let Event::ExecutionParked(parked) = &batch.events.last().unwrap().event else { panic!("{batch:?}") };
    assert_eq!((parked.report.fault, parked.report.sequence), (Fault::UnreadableLog, Some(3)));
    assert!(play.invoked.is_empty());
}

#[test]
fn an_event_about_a_frame_that_was_never_opened_parks() {
    let mut log = log_of(&original(), &[]);
    let event = Event::TimerFired(kernel::Fired { frame: id("nowhere") });
    log.push(envelope(log.len() as u64, secs(1), event));
    let mut play = Play::reading(&log, &original(), 9, CODE);
    play.live();
    play.commands();
    assert!(play.invoked.is_empty());
    let batch = play.batches.pop().unwrap();
    assert!(
        matches!(&batch.events[0].event, Event::ExecutionParked(p) if p.report.fault == Fault::UnreadableLog)
    );
}

#[test]
fn behaviours_of_the_engine_that_this_build_does_not_know_park() {
    let mut log = started();
    let Event::ExecutionStarted(started) = &mut log[0].event else { unreachable!() };
    started.flags = vec![7];
    let play = Play::resume(&log, &original());
    let report = play.parked(Fault::UnreadableLog);
    assert!(report.message.contains('7'), "{report}");
    assert!(play.invoked.is_empty());
}

#[test]
fn other_code_with_the_same_requests_is_noted_as_migrated() {
    let other = Fingerprints { body: 2, structure: 1 };
    let log = log_of(&original(), &["a"]);
    let mut play = Play::resume_with(&log, &original(), other);
    play.done("b", json!("b out"));
    assert_eq!(play.output(), json!("b out"));
    let noted: Vec<_> = play
        .log
        .iter()
        .filter_map(|e| match &e.event {
            Event::ExecutionMigrated(m) => Some((m.from, m.to)),
            _ => None,
        })
        .collect();
    assert_eq!(noted, [(CODE, other)]);
    assert_eq!(play.state().code, other);
    replays(&play, &original());
    // Noted once: the next owner with the same code adds nothing.
    let cut = play.log.iter().position(|e| e.event.kind() == Kind::ExecutionMigrated).unwrap() + 1;
    let next = Play::resume_with(&play.log[..cut], &original(), other);
    assert!(!next.log[cut..].iter().any(|e| e.event.kind() == Kind::ExecutionMigrated));
}

#[test]
fn other_code_that_diverges_is_not_noted_as_going_on() {
    let other = flow(|cx| async move { ok(told(step(&cx, "else", json!(0)).await)) });
    let log = log_of(&original(), &["a"]);
    let play = Play::resume_with(&log, &other, Fingerprints { body: 9, structure: 9 });
    let report = play.parked(Fault::Divergence);
    assert_eq!(report.code.as_deref(), Some("0000000000000009"));
    assert!(!play.has(Kind::ExecutionMigrated));
    assert_eq!(play.state().code, CODE);
}
