//! Children: started once what led to them is durable, settled once, and told when nobody waits for them any more.
//! Not their own logs: the test answers for them.

use futures_util::future::{join, join_all};
use kernel::{
    EffectError, Event, ExecutionId, FrameId, FrameStatus, Kind, OnClose, Outcome, Parent, Status, Told,
    machine::{AttemptEnd, Call, Input, Offered, Op, Request},
};
use serde_json::json;

use crate::{delivery::replays, *};

fn calling(on_close: OnClose) -> Flow {
    flow(move |cx| async move {
        step(&cx, "before", json!(0)).await;
        ok(told(child(&cx, "ship", on_close).await))
    })
}

/// Waits for a child and for a person, and drops the one that comes second.
fn racing(on_close: OnClose) -> Flow {
    flow(move |cx| async move {
        let won = race(child(&cx, "ship", on_close), gate(&cx, "enough", None)).await;
        step(&cx, "after", json!(0)).await;
        ok(won.map_or_else(told, told))
    })
}

fn refused(mut made: Call, error: EffectError) -> Call {
    if let Some(Request { op: Op::Child { refuse, .. }, .. }) = made.request_mut() {
        *refuse = Some(error);
    }
    made
}

fn too_large() -> EffectError {
    EffectError::PayloadTooLarge { step: "ship".into(), what: "input".into(), size: 9, limit: 1 }
}

fn not_started(child: &ExecutionId) -> EffectError {
    EffectError::NotStarted { child: child.to_string(), reason: "no such flow".into() }
}

#[test]
fn a_child_starts_when_its_start_is_durable() {
    let flow = calling(OnClose::Cancel);
    let mut play = Play::start(&flow);
    play.end("before", AttemptEnd::Returned(payload(json!(0))));
    play.commands();
    assert!(play.in_flight.as_ref().unwrap().events.iter().any(|e| e.event.kind() == Kind::ChildStarted));
    assert!(play.children.is_empty(), "its start is on its way");
    play.refuse();
    play.commands();
    assert!(play.children.is_empty());
    play.write();
    play.commands();
    let [started] = play.children.as_slice() else { panic!("{:?}", play.children) };
    assert_eq!(started.child.as_str(), "test:ship");
    assert_eq!((started.flow.as_str(), &started.input), ("ship", &payload(json!("ship"))));
    assert_eq!(started.parent, Parent { execution: execution(), frame: id("ship") });
    assert_eq!(play.child_done("ship", json!("shipped"), 1), Offered::Accepted);
    play.pump();
    assert_eq!(play.output(), json!("shipped"));
    assert_eq!(play.consumed(), [1]);
    assert_eq!(play.children.len(), 1);
    replays(&play, &flow);
}

#[test]
fn the_first_request_of_a_flow_waits_for_the_log_too_and_is_made_once() {
    let flow = flow(|cx| async move { ok(told(child(&cx, "ship", OnClose::Cancel).await)) });
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.live();
    play.commands();
    assert!(play.children.is_empty(), "its start is not durable");
    play.pump();
    assert_eq!(play.children.len(), 1);
}

#[test]
fn a_child_is_asked_for_again_after_a_crash() {
    let flow = calling(OnClose::Cancel);
    let mut play = Play::start(&flow);
    play.done("before", json!(0));
    let first = play.children.clone();
    let mut play = Play::resume(&play.log, &flow);
    assert_eq!(play.children, first, "whether it was started then, nobody knows");
    play.child_done("ship", json!(1), 1);
    play.pump();
    assert_eq!(play.output(), json!(1));
    assert!(Play::resume(&play.log, &flow).children.is_empty());
    replays(&play, &flow);
}

#[test]
fn children_start_in_the_order_of_their_calls_and_a_wide_join_appends_once() {
    let flow = flow(|cx| async move {
        let all = (0..50).map(|i| child(&cx, &format!("ship#{i}"), OnClose::Cancel));
        ok(join_all(all).await.into_iter().map(told).collect::<Vec<_>>())
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.batches.len(), 1);
    let frames: Vec<_> = play.children.iter().map(|c| c.parent.frame.to_string()).collect();
    assert_eq!(frames, (0..50).map(|i| format!("ship#{i}")).collect::<Vec<_>>());
    assert_eq!(play.suspend(), Status::Suspended);
    let mut play = Play::resume(&play.log, &flow);
    for i in (0..50).rev() {
        play.child_done(&format!("ship#{i}"), json!(i), i);
    }
    play.pump();
    assert_eq!(play.output(), json!((0..50).collect::<Vec<_>>()));
    replays(&play, &flow);
}

#[test]
fn ids_of_children_differ_by_parent_run_and_frame() {
    let parent: ExecutionId = "order-7".parse().unwrap();
    let part = FrameId::compose(None, "a", &[""; 0]);
    let frames = [
        FrameId::compose(Some(&part), "b", &[""; 0]), // a/b
        FrameId::compose(None, "a/b", &[""; 0]),      // a%2Fb
        FrameId::compose(None, "a%2Fb", &[""; 0]),
        FrameId::compose(None, "a:b", &[""; 0]),
        FrameId::compose(None, "a", &["b"]),
        FrameId::compose(None, "ä", &[""; 0]),
        FrameId::compose(None, &"long".repeat(80), &[""; 0]),
        FrameId::compose(None, &"long".repeat(81), &[""; 0]),
    ];
    let mut seen = std::collections::BTreeSet::new();
    for run in 0..3 {
        for frame in &frames {
            let child = parent.child(run, frame);
            assert!(child.as_str().parse::<ExecutionId>().is_ok(), "{child}");
            assert!(seen.insert(child.clone()), "{child} is another frame's, too");
        }
    }
    assert_eq!(parent.child(2, &frames[4]).as_str(), "order-7@2:a#b");
}

#[test]
fn a_child_settles_once_and_only_by_its_own_end() {
    let flow = flow(|cx| async move {
        let (a, b) = join(child(&cx, "a", OnClose::Cancel), child(&cx, "b", OnClose::Cancel)).await;
        ok([told(a), told(b)])
    });
    let mut play = Play::start(&flow);
    let (of_b, outcome) = (play.child_of("b"), Outcome::Completed(payload(json!("forged"))));
    let forged = Input::ChildSettled { frame: id("a"), child: of_b, outcome: outcome.clone(), item: 1 };
    assert!(matches!(play.offer(forged), Offered::Ignored(_)), "the wrong child");
    let unknown = Input::ChildSettled { frame: id("c"), child: execution(), outcome, item: 2 };
    assert!(matches!(play.offer(unknown), Offered::Ignored(_)), "no such frame");
    assert_eq!(play.child_done("a", json!(1), 3), Offered::Accepted);
    assert!(matches!(play.child_done("a", json!(2), 4), Offered::Ignored(_)), "the second time");
    play.child_done("b", json!(3), 5);
    play.pump();
    assert_eq!(play.output(), json!([1, 3]));
    assert_eq!(play.consumed(), [1, 2, 3, 4, 5], "all of them are used up");
    replays(&play, &flow);
}

#[test]
fn a_parent_sees_how_its_child_ended() {
    let outcomes = [
        (Outcome::Failed(failed("Declined")), json!("Declined")),
        (Outcome::Cancelled { reason: "enough".into(), by: "ann".into() }, json!("enough")),
    ];
    for (outcome, seen) in outcomes {
        let flow = calling(OnClose::Cancel);
        let mut play = Play::start(&flow);
        play.done("before", json!(0));
        let child = play.child_of("ship");
        play.offer(Input::ChildSettled { frame: id("ship"), child, outcome, item: 1 });
        play.pump();
        assert_eq!(play.output(), seen);
        replays(&play, &flow);
    }
}

#[test]
fn b70_a_child_that_lost_a_race_is_told_by_its_policy() {
    for on_close in [OnClose::Cancel, OnClose::Abandon] {
        let flow = racing(on_close);
        let mut play = Play::start(&flow);
        play.answer("enough", json!("enough"), 1);
        play.pump();
        let posted = play.posted();
        match on_close {
            OnClose::Cancel => assert_eq!(posted, ["cancel:test:ship to test:ship"]),
            OnClose::Abandon => assert_eq!(posted, [""; 0]),
        }
        let abandons = |e: &kernel::Envelope| e.event.kind() == Kind::StepAbandoned;
        let with = play.batches.iter().find(|b| b.events.iter().any(abandons)).unwrap();
        assert_eq!(with.posts.len(), posted.len(), "in one transition with the drop");
        // Its late end is told, and changes nothing.
        assert_eq!(play.child_done("ship", json!("late"), 2), Offered::Accepted);
        play.done("after", json!(0));
        assert_eq!(play.output(), json!("enough"));
        assert!(play.has(Kind::OutcomeDiscarded));
        let frame = &play.state().frames[&id("ship")];
        assert_eq!(frame.status, FrameStatus::Abandoned);
        assert_eq!(frame.outcome, Some(Outcome::Completed(payload(json!("late")))));
        assert_eq!(play.posted().len(), posted.len(), "the end tells nobody again");
        replays(&play, &flow);
    }
}

#[test]
fn b70_the_end_of_a_parent_tells_open_children_its_own_parent_and_watchers() {
    for on_close in [OnClose::Cancel, OnClose::Abandon] {
        let flow = calling(on_close);
        let mut play = Play::resume(&started_by("boss", "call#1"), &flow);
        let watcher = Parent { execution: "watcher".parse().unwrap(), frame: id("w") };
        assert_eq!(play.offer(Input::Watch { by: watcher.clone(), item: 1 }), Offered::Accepted);
        assert!(matches!(play.offer(Input::Watch { by: watcher, item: 2 }), Offered::Ignored(_)));
        play.done("before", json!(0));
        play.cancel(3);
        play.commands();
        if on_close == OnClose::Cancel {
            play.pump();
            assert_eq!(play.posted(), ["cancel:test:ship to test:ship"], "told before the end");
            assert_eq!(play.closed, None, "and waited for");
            let (reason, by) = ("closed".to_owned(), "test".to_owned());
            let (child, outcome) = (play.child_of("ship"), Outcome::Cancelled { reason, by });
            play.offer(Input::ChildSettled { frame: id("ship"), child, outcome, item: 4 });
            play.commands();
        }
        let closing = play.in_flight.clone().unwrap();
        assert!(closing.closes);
        play.refuse();
        play.pump();
        assert_eq!(play.closed, Some(Status::Cancelled));
        let last = play.batches.last().unwrap();
        let mut told: Vec<_> = last.posts.iter().map(|post| format!("{} to {}", post.key, post.to)).collect();
        told.sort_unstable();
        let expected = ["settled:test:call#1 to boss", "settled:test:w to watcher"];
        assert_eq!(told, expected, "once each, although the first try was refused");
        assert_eq!(closing.posts, last.posts);
        replays(&play, &flow);
    }
}

#[test]
fn what_a_parent_is_told_is_how_it_ended() {
    type End = fn(&mut Play);
    type Check = fn(&Outcome) -> bool;
    let ends: [(End, Check); 3] = [
        (|play| play.done("work", json!(true)), |o| matches!(o, Outcome::Completed(_))),
        (|play| play.done("work", json!(false)), |o| matches!(o, Outcome::Failed(_))),
        (
            |play| {
                play.cancel(1);
                play.pump();
            },
            |o| matches!(o, Outcome::Cancelled { .. }),
        ),
    ];
    for (end, is_it) in ends {
        let flow = flow(|cx| async move {
            match told(step(&cx, "work", json!(0)).await) {
                serde_json::Value::Bool(true) => ok(1),
                _ => Err(failed("No")),
            }
        });
        let mut play = Play::resume(&started_by("boss", "f"), &flow);
        end(&mut play);
        let posts = &play.batches.last().unwrap().posts;
        let [post] = posts.as_slice() else { panic!("{posts:?}") };
        let Told::Settled { frame, child, outcome } = &post.told else { panic!("{post:?}") };
        assert_eq!((frame, child), (&id("f"), &execution()));
        assert!(is_it(outcome), "{outcome:?}");
    }
}

#[test]
fn parking_and_suspending_tell_nobody() {
    let flow = calling(OnClose::Cancel);
    let mut play = Play::resume(&started_by("boss", "f"), &flow);
    play.done("before", json!(0));
    assert_eq!(play.suspend(), Status::Suspended);
    assert_eq!(play.posted(), [""; 0]);
    let panicking = crate::flow(|_| async move { panic!("broken") });
    let play = Play::resume(&play.log, &panicking);
    assert_eq!(play.closed, Some(Status::Parked));
    assert_eq!(play.posted(), [""; 0]);
}

#[test]
fn a_refused_child_fails_its_call_and_never_starts() {
    let flow =
        flow(|cx| async move { ok(told(refused(child(&cx, "ship", OnClose::Cancel), too_large()).await)) });
    let mut play = Play::start(&flow);
    play.pump();
    assert_eq!(play.output(), json!("payload_too_large"));
    assert!(play.children.is_empty());
    assert_eq!(play.told()[1..3], ["CHILD_STARTED ship", "CHILD_SETTLED ship"]);
    let Event::ChildStarted(started) = &play.log[1].event else { panic!() };
    assert_eq!(started.input, payload(json!(null)), "what is too large is not written");
    replays(&play, &flow);
    for cut in 1..play.log.len() {
        let again = Play::resume(&play.log[..cut], &flow);
        assert_eq!(again.output(), json!("payload_too_large"), "at {cut}");
        assert!(again.children.is_empty(), "at {cut}");
    }
}

#[test]
fn a_refused_child_that_is_dropped_is_not_this_executions_to_cancel() {
    let flow = flow(|cx| async move {
        drop_begun(refused(child(&cx, "ship", OnClose::Cancel), too_large())).await;
        told(gate(&cx, "ask", None).await);
        ok(())
    });
    let mut play = Play::start(&flow);
    play.flush();
    assert_eq!(play.posted(), [""; 0]);
    assert_eq!(play.closed, None);
}

#[test]
fn a_child_that_cannot_be_started_fails_its_call_once() {
    let flow = calling(OnClose::Cancel);
    let mut play = Play::start(&flow);
    play.done("before", json!(0));
    let (frame, child) = (id("ship"), play.child_of("ship"));
    let stranger = not_started(&"test@1:ship".parse().unwrap());
    assert!(matches!(
        play.offer(Input::NotStarted { frame: frame.clone(), error: stranger }),
        Offered::Ignored(_)
    ));
    let error = not_started(&child);
    assert_eq!(
        play.offer(Input::NotStarted { frame: frame.clone(), error: error.clone() }),
        Offered::Accepted
    );
    assert!(matches!(play.offer(Input::NotStarted { frame, error }), Offered::Ignored(_)));
    play.pump();
    assert_eq!(play.output(), json!("not_started"));
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::ChildSettled).count(), 1);
    replays(&play, &flow);
}

#[test]
fn a_child_that_could_not_be_started_and_is_no_longer_waited_for_harms_nobody() {
    let flow = racing(OnClose::Cancel);
    let mut play = Play::start(&flow);
    let (frame, error) = (id("ship"), not_started(&play.child_of("ship")));
    play.answer("enough", json!("enough"), 1);
    assert_eq!(play.offer(Input::NotStarted { frame, error }), Offered::Accepted, "nobody need wait for it");
    let (frame, error) = (id("after"), not_started(&execution()));
    assert!(matches!(play.offer(Input::NotStarted { frame, error }), Offered::Ignored(_)), "no child at all");
    play.pump();
    play.done("after", json!(0));
    assert_eq!(play.output(), json!("enough"));
}

#[test]
fn a_child_that_goes_on_alone_is_started_though_nobody_ever_waits_for_it() {
    // Dropped at once; and by a flow that returns in the same pass, or goes on.
    for returns in [true, false] {
        let flow = flow(move |cx| async move {
            drop_begun(child(&cx, "mail", OnClose::Abandon)).await;
            drop_begun(child(&cx, "never", OnClose::Cancel)).await;
            if !returns {
                step(&cx, "after", json!(0)).await;
            }
            ok(())
        });
        let mut play = Play::reading(&started(), &flow, 1, CODE);
        play.live();
        play.commands();
        assert!(!play.in_flight.as_ref().unwrap().closes, "it starts before the end is written");
        play.write();
        let log = play.log.clone();
        play.pump();
        if !returns {
            play.done("after", json!(0));
        }
        assert_eq!(play.closed, Some(Status::Completed));
        let started: Vec<_> = play.children.iter().map(|c| c.child.as_str()).collect();
        assert_eq!(started, ["test:mail"]);
        replays(&play, &flow);
        // The owner died before it started it: the next one does, before the end.
        let play = Play::resume(&log, &flow);
        let started: Vec<_> = play.children.iter().map(|c| c.child.as_str()).collect();
        assert_eq!(started, ["test:mail"]);
        assert_eq!(play.closed.is_some(), returns);
    }
}

#[test]
fn a_run_that_is_full_keeps_the_end_of_the_child_that_filled_it() {
    let flow = calling(OnClose::Cancel);
    let mut play = Play::reading_up_to(4, &started(), &flow, 1, CODE);
    play.live();
    play.pump();
    play.done("before", json!(0));
    play.child_done("ship", json!("shipped"), 1);
    play.pump();
    play.parked(kernel::Fault::HistoryTooLong);
    assert_eq!(play.consumed(), [1]);
    assert!(play.has(Kind::ChildSettled));
    let play = Play::resume(&play.log, &flow);
    assert_eq!(play.output(), json!("shipped"));
    replays(&play, &flow);
}

#[test]
fn another_flow_or_input_under_the_id_of_a_child_is_a_divergence() {
    let flow = calling(OnClose::Cancel);
    let mut play = Play::start(&flow);
    play.done("before", json!(0));
    let other = |change: fn(&mut Op)| {
        crate::flow(move |cx| async move {
            step(&cx, "before", json!(0)).await;
            let mut made = child(&cx, "ship", OnClose::Cancel);
            change(&mut made.request_mut().unwrap().op);
            ok(told(made.await))
        })
    };
    let another_flow = other(|op| {
        if let Op::Child { flow, .. } = op {
            *flow = "fly".into();
        }
    });
    let another_input = other(|op| {
        if let Op::Child { input, .. } = op {
            *input = payload(json!("else"));
        }
    });
    for changed in [another_flow, another_input.clone()] {
        let play = Play::resume(&play.log, &changed);
        let report = play.parked(kernel::Fault::Divergence);
        assert_eq!(report.frame, Some(id("ship")));
    }
    let code = kernel::Fingerprints { body: 2, structure: 1 };
    let play = Play::resume_with(&play.log, &another_input, code);
    assert_eq!(play.closed, None, "other code may compute another input: {:?}", play.state().parked);
    assert_eq!(play.children[0].input, payload(json!("ship")), "the recorded one holds");
}
