//! An end that waits for children: what is in the log meanwhile, who may take it over, and what cuts it short.
//! Not how a parent tells its children: that is in `children`.

use futures_util::future::join;
use kernel::{
    EffectError, End, Envelope, Event, Fault, Kind, OnClose, Outcome, ParkReport, Status,
    machine::{AttemptEnd, Input, Offered},
};
use serde_json::json;

use crate::{delivery::replays, *};

/// Drops its child when it is answered, and works on.
fn racing() -> Flow {
    flow(|cx| async move {
        let won = race(child(&cx, "ship", OnClose::Cancel), gate(&cx, "enough", None)).await;
        ok(won.map_or_else(told, told))
    })
}

/// Waits for a child that is never dropped.
fn calling() -> Flow {
    flow(|cx| async move { ok(told(child(&cx, "ship", OnClose::Cancel).await)) })
}

/// Code that does not come to where the others stand.
fn unfit() -> Flow {
    flow(|cx| async move { ok(told(step(&cx, "other", json!(0)).await)) })
}

/// Begins a call, which stays open.
async fn begin(call: &mut kernel::machine::Call) {
    std::future::poll_fn(|task| {
        let _ = std::pin::Pin::new(&mut *call).poll(task);
        std::task::Poll::Ready(())
    })
    .await;
}

fn ending(play: &Play) -> &End {
    &play.state().ending.as_ref().expect("how it ends is decided").end
}

fn gone(play: &mut Play, frame: &str, item: u64) -> Offered {
    let (reason, by) = ("no longer waited for".to_owned(), "test".to_owned());
    let (frame, child) = (id(frame), play.child_of(frame));
    let offered =
        play.offer(Input::ChildSettled { frame, child, outcome: Outcome::Cancelled { reason, by }, item });
    play.pump();
    offered
}

#[test]
fn b69_a_flow_that_has_returned_ends_once_the_losers_of_its_races_have() {
    let flow = racing();
    let mut play = Play::start(&flow);
    play.answer("enough", json!("enough"), 1);
    play.pump();
    assert_eq!(play.closed, None, "`ship` lives");
    assert_eq!(ending(&play), &End::Completed(payload(json!("enough"))));
    assert_eq!(play.posted(), ["cancel:test:ship to test:ship"], "once");
    assert_eq!(play.children.len(), 1, "it was started, which this owner knows");
    assert_eq!(gone(&mut play, "ship", 2), Offered::Accepted);
    assert_eq!(play.output(), json!("enough"));
    assert_eq!(
        play.told()[3..],
        [
            "GATE_ANSWERED enough",
            "STEP_ABANDONED ship",
            "EXECUTION_ENDING",
            "OUTCOME_DISCARDED ship",
            "EXECUTION_COMPLETED"
        ]
    );
    replays(&play, &flow);
}

#[test]
fn b69_nobody_is_needed_while_it_waits_and_no_code() {
    for by_cancel in [true, false] {
        let flow = racing();
        let mut play = Play::start(&flow);
        match by_cancel {
            true => play.cancel(1),
            false => play.answer("enough", json!("enough"), 1),
        };
        play.pump();
        assert_eq!(play.consumed(), [1], "the log holds it");
        assert!(!play.machine.is_busy(), "it may let go");
        // Something comes as it does: it still waits.
        assert_eq!(play.offer(Input::Suspend), Offered::Accepted);
        play.commands();
        play.refuse();
        play.message("news", json!(7), 2);
        assert_eq!(play.suspend(), Status::Suspended);
        assert_eq!(play.consumed(), [1, 2], "who sends something now is told now");
        let Event::ExecutionSuspended(suspended) = &play.log.last().unwrap().event else { panic!() };
        assert_eq!((&suspended.waiting[..], suspended.wake_at), (&[id("ship")][..], None));

        // Whoever takes it up is told nothing of the flow, and need not have it.
        let mut next = Play::resume_with(&play.log, &unfit(), kernel::Fingerprints { body: 9, structure: 9 });
        assert_eq!(next.closed, None);
        assert_eq!(next.children.len(), 1, "it may never have been started");
        assert!(!next.has(Kind::ExecutionMigrated));
        assert_eq!(gone(&mut next, "ship", 3), Offered::Accepted);
        let status = if by_cancel { Status::Cancelled } else { Status::Completed };
        assert_eq!(next.closed, Some(status));
        assert_eq!(next.log.iter().filter(|e| e.event.kind() == Kind::MessageDeadLettered).count(), 1);
        assert_eq!(next.consumed(), [3]);
        replays(&next, &flow);
    }
}

#[test]
fn b69_a_cancel_wins_over_an_end_that_waits_and_force_waits_for_nobody() {
    let flow = racing();
    let mut play = Play::start(&flow);
    play.answer("enough", json!("enough"), 1);
    play.pump();
    assert_eq!(play.cancel(2), Offered::Accepted);
    play.pump();
    assert_eq!(play.closed, None, "`ship` lives");
    assert!(matches!(ending(&play), End::Cancelled(cancelled) if cancelled.reason == "enough"));
    assert_eq!(play.consumed(), [1, 2]);
    assert!(matches!(play.cancel(3), Offered::Ignored(_)), "it is being cancelled");
    assert_eq!(play.posted().len(), 1, "it was told");
    let mut again = Play::resume(&play.log, &flow);
    gone(&mut play, "ship", 4);
    assert_eq!(play.closed, Some(Status::Cancelled));
    replays(&play, &flow);

    // Here, and where another owner has found it.
    assert_eq!(again.cancel_by_force(4), Offered::Accepted);
    again.pump();
    assert_eq!(again.closed, Some(Status::Cancelled));
    assert_eq!(again.posted(), [""; 0], "it was told before");
    replays(&again, &flow);
    let mut at_once = Play::start(&calling());
    at_once.cancel_by_force(1);
    at_once.pump();
    assert_eq!(at_once.closed, Some(Status::Cancelled));
    assert_eq!(at_once.posted(), ["cancel:test:ship to test:ship"]);
    assert!(!at_once.has(Kind::ExecutionEnding));
}

#[test]
fn b70_a_child_that_nobody_can_have_started_is_not_waited_for_and_never_is() {
    // Dropped, or open at the end, before its start was on record.
    for dropped in [true, false] {
        let flow = flow(move |cx| async move {
            let call = child(&cx, "ship", OnClose::Cancel);
            match dropped {
                true => drop_begun(call).await,
                false => begin(Box::leak(Box::new(call))).await,
            }
            ok(())
        });
        let play = Play::start(&flow);
        assert_eq!(play.closed, Some(Status::Completed));
        assert!(play.children.is_empty());
        assert_eq!(play.posted(), [""; 0]);
        assert!(play.told().contains(&"OUTCOME_DISCARDED ship".to_owned()), "{:?}", play.told());
        replays(&play, &flow);
    }
}

#[test]
fn b70_a_child_that_may_not_have_been_started_is_told_before_it_is() {
    let flow = calling();
    // The owner dies between the record of the start and the start.
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.live();
    play.command();
    play.write();
    let mut next = Play::reading(&play.log, &flow, 2, CODE);
    next.live();
    next.cancel(1);
    next.commands();
    let told = next.in_flight.clone().unwrap();
    assert!(told.posts.iter().all(|post| post.early), "it may not be there to be told: {:?}", told.posts);
    assert!(next.children.is_empty(), "first it is told");
    next.pump();
    assert_eq!(next.children.len(), 1);
    assert_eq!(gone(&mut next, "ship", 2), Offered::Accepted);
    assert_eq!(next.closed, Some(Status::Cancelled));
    // It cannot be started either: then it has ended, too.
    let mut next = Play::resume(&play.log, &flow);
    next.cancel(1);
    next.pump();
    let (child, reason) = (next.child_of("ship").to_string(), "no such flow".to_owned());
    let error = EffectError::NotStarted { child, reason };
    assert_eq!(next.offer(Input::NotStarted { frame: id("ship"), error }), Offered::Accepted);
    next.pump();
    assert_eq!(next.closed, Some(Status::Cancelled));
}

#[test]
fn b13_a_child_that_goes_on_alone_is_started_by_whoever_takes_a_wait_over() {
    let flow = flow(|cx| async move {
        let won = race(child(&cx, "ship", OnClose::Cancel), gate(&cx, "enough", None)).await;
        drop_begun(child(&cx, "mail", OnClose::Abandon)).await;
        ok(won.map_or_else(told, told))
    });
    let mut play = Play::start(&flow);
    play.answer("enough", json!("enough"), 1);
    play.commands();
    play.write(); // and there it dies
    assert_eq!(play.told().last().unwrap(), "EXECUTION_ENDING");
    let mut next = Play::resume(&play.log, &flow);
    let started: Vec<_> = next.children.iter().map(|child| child.parent.frame.to_string()).collect();
    assert_eq!(started, ["mail", "ship"]);
    gone(&mut next, "ship", 2);
    assert_eq!(next.output(), json!("enough"), "it waits for the one alone");
}

#[test]
fn b70_the_next_run_begins_once_the_children_of_this_one_have_ended() {
    let rolling = |input: &'static str| {
        let flow: Flow = std::sync::Arc::new(move |cx, given| {
            Box::pin(async move {
                if given != payload(json!(null)) {
                    return ok(told(receive(&cx, "get", "news").await));
                }
                drop_begun(child(&cx, "ship", OnClose::Cancel)).await;
                let held = child(&cx, "pack", OnClose::Cancel);
                let (_, ()) = join(held, async {
                    gate(&cx, "go", None).await;
                    cx.continue_as_new(payload(json!(input)));
                    std::future::pending().await
                })
                .await;
                unreachable!("a run that is over")
            })
        });
        flow
    };
    let flow = rolling("next");
    let mut play = Play::start(&flow);
    play.message("news", json!(7), 1);
    play.answer("go", json!(0), 2);
    play.pump();
    assert_eq!((play.state().run, play.closed), (0, None), "`pack` lives");
    assert_eq!(ending(&play), &End::ContinuedAsNew(payload(json!("next"))));
    assert_eq!(play.suspend(), Status::Suspended);
    // Other code has not decided it otherwise: it is on record.
    let mut play = Play::resume(&play.log, &rolling("another"));
    assert_eq!(
        play.machine.fault().map(|report| report.fault),
        Some(Fault::Divergence),
        "told, not recorded"
    );
    play.message("news", json!(7), 1);
    assert_eq!(gone(&mut play, "pack", 3), Offered::Accepted);
    assert_eq!(play.state().run, 1);
    assert_eq!(play.machine.fault(), None);
    assert_eq!(play.state().input, payload(json!("next")));
    assert_eq!(play.output(), json!(7), "messages are for the next run");
    replays(&play, &flow);
}

#[test]
fn b69_what_ends_an_execution_stays_in_the_inbox_until_the_end_is_on_record() {
    let flow = flow(|cx| async move {
        told(step(&cx, "work", json!(0)).await);
        ok(())
    });
    let mut play = Play::start(&flow);
    play.unheeding = true;
    play.cancel(1);
    play.commands();
    play.machine.flush();
    play.pump();
    assert_eq!(play.closed, None, "`work` has not stopped");
    assert_eq!(
        play.consumed(),
        [0_u64; 0],
        "were the owner to die now, nobody else would know of the cancel"
    );
    play.end("work", AttemptEnd::Stopped(EffectError::Cancelled));
    play.pump();
    assert_eq!(play.closed, Some(Status::Cancelled));
    assert_eq!(play.consumed(), [1]);
}

#[test]
fn b49_an_answer_that_was_there_before_its_gate_is_told_of_when_that_goes_at_once() {
    // The flow drops the gate in the pass that asks for it; or ends in that pass, or begins another run.
    for how in ["drops it", "ends", "goes on as new"] {
        let flow = flow(move |cx| async move {
            told(step(&cx, "work", json!(0)).await);
            let mut asked = gate(&cx, "ask", None);
            match how {
                "drops it" => drop_begun(asked).await,
                "ends" => begin(Box::leak(Box::new(asked))).await,
                _ => {
                    begin(&mut asked).await;
                    cx.continue_as_new(payload(json!(1)));
                    std::future::pending::<()>().await;
                }
            }
            ok(())
        });
        let mut play = Play::start(&flow);
        play.answer("ask", json!("early"), 1);
        play.done("work", json!(0));
        play.flush();
        let letters = play.log.iter().filter_map(|e| match &e.event {
            Event::MessageDeadLettered(letter) => Some(letter.message.topic.clone()),
            _ => None,
        });
        assert_eq!(letters.collect::<Vec<_>>(), ["gate:ask"], "{how}: {:?}", play.told());
        assert_eq!(play.consumed(), [1], "{how}");
    }
}

#[test]
fn b57_an_update_without_a_reply_is_refused_once_though_the_end_waits() {
    let flow = flow(|cx| async move {
        let update = receive(&cx, "get", "orders").await;
        let won = race(child(&cx, "ship", OnClose::Cancel), gate(&cx, "enough", None)).await;
        ok([told(update), won.map_or_else(told, told)])
    });
    let mut play = Play::start(&flow);
    let (topic, body, by) = ("orders".into(), payload(json!(1)), "ann".into());
    let message = kernel::Message { topic, body, by, reply_to: Some("update-7".into()) };
    play.offer(Input::Message { message, item: 1 });
    play.pump();
    play.answer("enough", json!(0), 2);
    play.pump();
    let refused =
        |play: &Play| play.log.iter().filter(|e| e.event.kind() == Kind::MessageDeadLettered).count();
    assert_eq!((refused(&play), play.closed), (1, None), "its sender does not wait for the child");
    assert_eq!(play.suspend(), Status::Suspended);
    let mut play = Play::resume(&play.log, &flow);
    gone(&mut play, "ship", 3);
    assert_eq!((refused(&play), play.closed), (1, Some(Status::Completed)));
    replays(&play, &flow);
}

/// An owner who does not run the flow: one event of the log cannot be read, or all owners before it have vanished.
fn unrun(log: &[Envelope], hole: Option<u64>, wants: Option<&str>) -> Play {
    let mut play = Play::reading(&[], &racing(), log.len() as u64, CODE);
    let fault = |fault| ParkReport { wants: wants.map(Into::into), ..ParkReport::new(fault, "no flow") };
    if hole.is_none() {
        play.offer(Input::Fault(fault(Fault::Poisoned)));
    }
    for event in log {
        let (at, next) = (event.sequence, event.sequence + 1);
        play.offer(match hole == Some(at) {
            true => Input::Unreadable { next, report: fault(Fault::UnreadableLog).at(at) },
            false => Input::Recorded(event.clone()),
        });
    }
    play.log = log.to_vec();
    play.live();
    play
}

#[test]
fn b69_an_end_without_the_flow_waits_for_the_children_all_the_same() {
    let mut play = Play::start(&racing());
    play.suspend();
    let (log, child) = (play.log, 1);
    assert_eq!(log[child].event.kind(), Kind::ChildStarted);
    let holes = (0..log.len()).filter(|at| *at != child).map(|at| Some(at as u64));
    for hole in holes.chain([None]) {
        let mut play = unrun(&log, hole, None);
        play.pump();
        let fault = if hole.is_some() { Fault::UnreadableLog } else { Fault::Poisoned };
        let report = play.parked(fault);
        assert_eq!((report.sequence, report.code), (hole, None), "as it was found");

        let mut play = unrun(&log, hole, None);
        assert_eq!(play.cancel(1), Offered::Accepted);
        play.pump();
        assert!(matches!(ending(&play), End::Cancelled(_)), "{hole:?}");
        assert_eq!(play.posted(), ["cancel:test:ship to test:ship"]);
        assert_eq!((play.children.len(), play.consumed()), (1, vec![1]), "it may never have been started");
        assert_eq!((play.suspend(), play.invoked.len()), (Status::Suspended, 0));

        // Whoever takes it up can read no more of it, and goes on waiting.
        let mut next = unrun(&play.log, hole, None);
        next.pump();
        assert_eq!((next.closed, next.posted().len(), next.children.len()), (None, 0, 1), "{hole:?}");
        assert_eq!(gone(&mut next, "ship", 2), Offered::Accepted);
        assert_eq!((next.closed, next.has(Kind::ExecutionParked)), (Some(Status::Cancelled), false));
    }
}

#[test]
fn b69_without_the_flow_nothing_is_guessed() {
    let mut play = Play::start(&racing());
    play.suspend();
    let log = play.log;
    // A newer build wrote it, which can tell the flow. By force, it ends at once.
    for hole in [Some(2), None] {
        let mut play = unrun(&log, hole, Some("newer"));
        assert!(matches!(play.cancel(1), Offered::Ignored(_)), "{hole:?}");
        assert_eq!(play.cancel_by_force(2), Offered::Accepted);
        play.pump();
        assert_eq!((play.closed, play.has(Kind::ExecutionEnding)), (Some(Status::Cancelled), false));
        assert_eq!(play.posted(), ["cancel:test:ship to test:ship"]);
    }
    // It has returned, by a log that is damaged: a person has to see that first. Without damage, no code is needed.
    let mut play = Play::start(&racing());
    play.answer("enough", json!("enough"), 1);
    play.pump();
    for hole in [Some(2), None] {
        let mut next = unrun(&play.log, hole, None);
        next.pump();
        match hole {
            Some(_) => drop(next.parked(Fault::UnreadableLog)),
            None => {
                gone(&mut next, "ship", 2);
                assert_eq!(next.output(), json!("enough"));
            }
        }
    }
}
