//! Messages: in order, kept until somebody takes them, and never out of the inbox before they are in the log.
//! Not updates' way back to their sender: that is the store's.

use futures_util::future::{join, join3};
use kernel::{
    Event, ExecutionId, Fault, FrameStatus, Kind, Message, Reply, Status, Told,
    machine::{Input, Offered},
};
use serde_json::{Value, json};

use crate::{delivery::replays, *};

/// Takes so many messages of one topic, one after the other, each after a step.
fn taking(times: u32) -> Flow {
    flow(move |cx| async move {
        let mut taken = Vec::new();
        for i in 0..times {
            step(&cx, &format!("work#{i}"), json!(i)).await;
            taken.push(told(receive(&cx, &format!("get#{i}"), "orders").await));
        }
        ok(taken)
    })
}

/// Frames and what they took; what nobody took, and why.
type Mail = (Vec<(String, Value)>, Vec<(Value, String)>);

/// What became of the messages of a log.
fn mail(log: &[kernel::Envelope]) -> Mail {
    let (mut taken, mut dead) = (Vec::new(), Vec::new());
    for envelope in log {
        match &envelope.event {
            Event::MessageReceived(e) => taken.push((e.frame.to_string(), e.message.body.decode().unwrap())),
            Event::MessageDeadLettered(e) => dead.push((e.message.body.decode().unwrap(), e.reason.clone())),
            _ => {}
        }
    }
    (taken, dead)
}

/// The newer code reads numbers, the older one only texts.
fn reading(check: kernel::machine::Check) -> Flow {
    flow(move |cx| async move { ok(told(receive_checked(&cx, "get", "orders", check).await)) })
}

#[test]
fn b58_a_message_that_foreign_code_cannot_read_is_left_to_the_code_of_the_log() {
    let (older, newer) = (
        reading(|body| body.decode::<String>().map(drop).map_err(|e| e.to_string())),
        reading(|body| body.decode::<u64>().map(drop).map_err(|e| e.to_string())),
    );
    let (v1, v2) =
        (kernel::Fingerprints { body: 1, structure: 1 }, kernel::Fingerprints { body: 2, structure: 1 });
    let mut play = Play::start(&older);
    assert_eq!(play.suspend(), Status::Suspended);
    let mut play = Play::resume_with(&play.log, &newer, v2);
    assert_eq!(play.suspend(), Status::Suspended);

    // A worker of the older release gets it, with a message that is not for it.
    let mut wrong = Play::resume_with(&play.log, &older, v1);
    wrong.message("orders", json!(7), 1);
    wrong.pump();
    let report = wrong.parked(Fault::Undecodable);
    assert_eq!((report.wants.as_deref(), report.frame), (Some("0000000000000002"), Some(id("get"))));
    assert_eq!(wrong.consumed(), [0_u64; 0], "it stays in the inbox");
    assert_eq!(wrong.state().code, v2, "the log is the newer code's");
    // The other reads it.
    let mut right = Play::resume_with(&wrong.log, &newer, v2);
    right.message("orders", json!(7), 1);
    right.pump();
    assert_eq!(right.output(), json!(7));
    replays(&right, &newer);
    // What that one cannot read either, nobody can.
    let mut right = Play::resume_with(&wrong.log, &newer, v2);
    right.message("orders", json!([]), 1);
    right.flush();
    assert_eq!((mail(&right.log).1.len(), right.consumed()), (1, vec![1]));
    // And if nobody else has come, the older one goes by what it can read.
    let mut alone = Play::resume_with(&wrong.log, &older, v1);
    alone.message("orders", json!(7), 1);
    alone.message("orders", json!("tea"), 2);
    alone.pump();
    assert_eq!(alone.output(), json!("tea"));
    assert_eq!(mail(&alone.log).1.len(), 1);
}

#[test]
fn messages_that_come_before_the_wait_are_kept_in_order() {
    let flow = taking(3);
    let mut play = Play::start(&flow);
    for item in 1..=3 {
        assert_eq!(play.message("orders", json!(item), item), Offered::Accepted);
    }
    play.flush();
    assert_eq!(play.consumed(), [0_u64; 0], "they stay in the inbox until they are in the log");
    play.done("work#0", json!(0));
    play.flush();
    assert_eq!(play.consumed(), [1]);
    // A crash: the next owner is told again of what is left.
    let mut play = Play::resume(&play.log, &flow);
    for item in 2..=3 {
        play.message("orders", json!(item), item);
    }
    play.done("work#1", json!(0));
    play.done("work#2", json!(0));
    assert_eq!(play.output(), json!([1, 2, 3]));
    assert_eq!(play.consumed(), [2, 3]);
    replays(&play, &flow);
}

#[test]
fn the_log_holds_what_is_consumed_in_the_same_batch() {
    let flow = taking(1);
    let mut play = Play::start(&flow);
    play.done("work#0", json!(0));
    play.flush();
    play.message("orders", json!("tea"), 7);
    play.pump();
    let batch = play.batches.iter().find(|batch| batch.consumed == [7]).unwrap();
    assert!(batch.events.iter().any(|e| e.event.kind() == Kind::MessageReceived));
    assert_eq!(play.consumed(), [7], "once");
}

#[test]
fn topics_are_apart() {
    let flow = flow(|cx| async move {
        let (a, b) = join(receive(&cx, "a", "left"), receive(&cx, "b", "right")).await;
        ok([told(a), told(b)])
    });
    let mut play = Play::start(&flow);
    play.message("right", json!("r"), 1);
    play.message("left", json!("l"), 2);
    play.pump();
    assert_eq!(play.output(), json!(["l", "r"]));
    replays(&play, &flow);
}

#[test]
fn the_frame_that_waits_longest_takes_the_next_message_whoever_owns_it() {
    let flow = flow(|cx| async move {
        // Not in the order of their ids.
        let (z, a, m) = join3(receive(&cx, "z", "t"), receive(&cx, "a", "t"), receive(&cx, "m", "t")).await;
        ok([told(z), told(a), told(m)])
    });
    let mut play = Play::start(&flow);
    play.message("t", json!(1), 1);
    play.flush();
    let mut play = Play::resume(&play.log, &flow);
    play.message("t", json!(2), 2);
    play.message("t", json!(3), 3);
    play.pump();
    assert_eq!(play.output(), json!([1, 2, 3]));
    let order: Vec<_> = mail(&play.log).0.into_iter().map(|(frame, _)| frame).collect();
    assert_eq!(order, ["z", "a", "m"]);
    replays(&play, &flow);
}

#[test]
fn b19_one_message_a_pass() {
    let flow = flow(|cx| async move {
        let seen = std::sync::Mutex::new(Vec::new());
        let one = async |frame: &str| {
            let got = told(receive(&cx, frame, "t").await);
            let order = {
                let mut seen = seen.lock().unwrap();
                seen.push(json!([frame, got]));
                json!(*seen)
            };
            step(&cx, &format!("{frame}-step"), order).await;
        };
        join(one("a"), one("b")).await;
        ok(())
    });
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.message("t", json!(1), 1); // ignored: the log comes first
    play.live();
    play.message("t", json!(1), 1);
    play.message("t", json!(2), 2);
    play.flush();
    let kinds: Vec<_> = play.told().split_off(3);
    assert_eq!(
        kinds,
        ["MESSAGE_RECEIVED a", "STEP_STARTED a-step", "MESSAGE_RECEIVED b", "STEP_STARTED b-step"]
    );
    replays(&play, &flow);
}

#[test]
fn an_item_that_is_offered_twice_is_one_message() {
    let flow = taking(2);
    let mut play = Play::start(&flow);
    for _ in 0..2 {
        play.message("orders", json!("once"), 4);
    }
    play.done("work#0", json!(0));
    play.done("work#1", json!(0));
    assert_eq!(play.closed, None);
    assert_eq!(play.pending(), ["get#1".to_owned()].into());
}

#[test]
fn a_receiver_that_was_dropped_takes_nothing() {
    let flow = flow(|cx| async move {
        let won = race(receive(&cx, "first", "t"), sleep(&cx, "patience", 5)).await;
        let second = told(receive(&cx, "second", "t").await);
        ok([won.map_or_else(told, told), second])
    });
    let mut play = Play::start(&flow);
    play.wait(5);
    play.message("t", json!("late"), 1);
    play.pump();
    assert_eq!(play.output(), json!(["fired", "late"]));
    assert_eq!(play.state().frames[&id("first")].status, FrameStatus::Abandoned);
    replays(&play, &flow);
}

fn only_numbers(body: &kernel::Payload) -> Result<(), String> {
    body.decode::<u64>().map(drop).map_err(|_| "expected a number".into())
}

#[test]
fn b58_what_cannot_be_read_is_dead_lettered_and_the_next_is_taken() {
    let flow = flow(|cx| async move { ok(told(receive_checked(&cx, "get", "t", only_numbers).await)) });
    let mut play = Play::start(&flow);
    play.message("t", json!("seven"), 1);
    assert_eq!(play.state().dead_letters, 1);
    play.message("t", json!(7), 2);
    play.pump();
    assert_eq!(play.output(), json!(7));
    assert_eq!(mail(&play.log).1, [(json!("seven"), "expected a number".to_owned())]);
    assert_eq!(play.consumed(), [1, 2]);
    replays(&play, &flow);
}

#[test]
fn a_panic_while_a_message_is_read_parks_and_leaves_it_in_the_inbox() {
    fn broken(_: &kernel::Payload) -> Result<(), String> {
        panic!("no such field")
    }
    let broken_flow = flow(|cx| async move { ok(told(receive_checked(&cx, "get", "t", broken).await)) });
    let mut play = Play::start(&broken_flow);
    play.message("t", json!(7), 1);
    play.pump();
    let report = play.parked(Fault::FlowPanicked);
    assert!(report.message.contains("no such field"), "{report}");
    assert_eq!(play.consumed(), [0_u64; 0]);
    let mended = flow(|cx| async move { ok(told(receive(&cx, "get", "t").await)) });
    let mut play = Play::resume(&play.log, &mended);
    play.message("t", json!(7), 1);
    play.pump();
    assert_eq!(play.output(), json!(7));
}

#[test]
fn what_nobody_took_is_dead_lettered_with_every_end() {
    type End = fn(&mut Play);
    let endings: [(&str, End); 3] = [
        ("returns", |play| play.done("work#0", json!(0))),
        ("is cancelled", |play| {
            play.cancel(9);
            play.pump();
        }),
        ("is refused once", |play| {
            play.end("work#0", kernel::machine::AttemptEnd::Returned(payload(json!(0))));
            play.commands();
            assert!(play.in_flight.as_ref().unwrap().closes);
            play.refuse();
            play.message("other", json!("at the last moment"), 5);
            play.pump();
        }),
    ];
    for (how, end) in endings {
        let flow = taking(1);
        let mut play = Play::start(&flow);
        play.message("orders", json!("taken"), 1);
        play.message("orders", json!("left"), 2);
        play.message("other", json!("for nobody"), 3);
        end(&mut play);
        assert!(play.closed.unwrap().is_terminal(), "{how}");
        let (taken, dead) = mail(&play.log);
        let more = usize::from(how == "is refused once");
        assert_eq!(taken.len(), usize::from(how != "is cancelled"), "{how}");
        assert_eq!(taken.len() + dead.len(), 3 + more, "{how}: every message is told of, once");
        assert!(dead.iter().all(|(_, reason)| reason == "the execution ended"), "{how}");
        let last = play.log.last().unwrap().event.kind();
        assert!(!matches!(last, Kind::MessageDeadLettered), "{how}: the end comes last");
        let written = play.batches.last().unwrap();
        let mut consumed = written.consumed.clone();
        consumed.sort_unstable();
        consumed.retain(|item| *item != 9);
        assert_eq!(consumed.len(), 3 + more, "{how}: in one batch with the end");
        replays(&play, &flow);
    }
}

#[test]
fn an_execution_lets_go_with_undelivered_mail_in_its_inbox() {
    let flow = flow(|cx| async move {
        let answer = told(gate(&cx, "ask", None).await);
        ok([answer, told(receive(&cx, "get", "t").await)])
    });
    let mut play = Play::start(&flow);
    play.message("t", json!("mail"), 1);
    assert_eq!(play.suspend(), Status::Suspended);
    assert_eq!(play.consumed(), [0_u64; 0]);
    assert_eq!(play.state().dead_letters, 0);
    let mut play = Play::resume(&play.log, &flow);
    play.message("t", json!("mail"), 1);
    play.answer("ask", json!("yes"), 2);
    play.pump();
    assert_eq!(play.output(), json!(["yes", "mail"]));
    assert_eq!(play.consumed(), [2, 1]);
    replays(&play, &flow);
}

#[test]
fn a_suspension_waits_for_messages_and_is_refused_when_one_has_come() {
    let flow = flow(|cx| async move { ok(told(receive(&cx, "get", "t").await)) });
    let mut play = Play::start(&flow);
    play.offer(Input::Suspend);
    play.commands();
    let Event::ExecutionSuspended(suspended) = &play.in_flight.as_ref().unwrap().events.last().unwrap().event
    else {
        panic!()
    };
    assert_eq!(suspended.waiting, [id("get")]);
    play.refuse();
    play.message("t", json!("just in time"), 1);
    play.pump();
    assert_eq!(play.output(), json!("just in time"));
    assert!(!play.has(Kind::ExecutionSuspended));
    replays(&play, &flow);
}

#[test]
fn a_run_that_is_full_keeps_the_message_that_filled_it() {
    let flow = taking(2);
    let mut play = Play::reading_up_to(4, &started(), &flow, 1, CODE);
    play.live();
    play.pump();
    play.message("orders", json!("a"), 1);
    play.done("work#0", json!(0)); // the start, its own start, its end, the wait: and the message is one too many
    play.parked(Fault::HistoryTooLong);
    assert_eq!(play.consumed(), [1]);
    assert_eq!(mail(&play.log).0.len(), 1, "what is consumed is in the log");
    let mut play = Play::resume(&play.log, &flow);
    play.message("orders", json!("b"), 2);
    play.done("work#1", json!(0));
    assert_eq!(play.output(), json!(["a", "b"]));
    replays(&play, &flow);
}

#[test]
fn what_is_sent_leaves_with_its_event_and_once() {
    let flow = flow(|cx| async move {
        let to: ExecutionId = "other".parse().unwrap();
        for i in 0..2 {
            cx.send(&id("tell"), here(), to.clone(), "news", payload(json!(i)));
            step(&cx, &format!("work#{i}"), json!(i)).await;
        }
        ok(())
    });
    let play = Play::start(&flow);
    assert_eq!(play.posted(), ["sent:test@0:tell to other"]);
    let batch = &play.batches[0];
    assert!(batch.events.iter().any(|e| e.event.kind() == Kind::MessageSent));
    let Told::Message(Message { topic, by, .. }) = &batch.posts[0].told else { panic!() };
    assert_eq!((topic.as_str(), by.as_str()), ("news", "test"));
    let mut play = Play::resume(&play.log, &flow);
    play.done("work#0", json!(0));
    play.flush();
    assert_eq!(play.posted(), ["sent:test@0:tell:1 to other"], "the first is not sent again");
    // Refused with its batch, it leaves with the next.
    play.end("work#1", kernel::machine::AttemptEnd::Returned(payload(json!(1))));
    play.commands();
    play.refuse();
    play.pump();
    assert_eq!(play.closed, Some(Status::Completed));
    replays(&play, &flow);
}

#[test]
fn posts_of_a_refused_end_are_kept_and_its_last_ones_taken_back() {
    let flow = flow(|cx| async move {
        step(&cx, "work", json!(0)).await;
        cx.send(&id("tell"), here(), "other".parse().unwrap(), "news", payload(json!(1)));
        ok(())
    });
    let mut play = Play::resume(&started_by("boss", "f"), &flow);
    play.end("work", kernel::machine::AttemptEnd::Returned(payload(json!(0))));
    play.commands();
    play.refuse();
    play.cancel(1);
    play.pump();
    assert_eq!(play.closed, Some(Status::Cancelled));
    let posts = &play.batches.last().unwrap().posts;
    assert_eq!(
        posts.iter().map(|post| post.key.as_str()).collect::<Vec<_>>(),
        ["sent:test@0:tell", "settled:test:f"]
    );
    let Told::Settled { outcome, .. } = &posts[1].told else { panic!() };
    assert!(matches!(outcome, kernel::Outcome::Cancelled { .. }), "as it ended in the end: {outcome:?}");
}

#[test]
fn a_reply_is_written_without_being_asked_for() {
    let flow = flow(|cx| async move {
        let kernel::machine::Settled::Received(update) = receive(&cx, "get", "t").await else { panic!() };
        cx.reply(&id("reply"), here(), update.reply_to.unwrap(), Reply::Accepted(update.body));
        told(gate(&cx, "ask", None).await);
        ok(())
    });
    let mut play = Play::start(&flow);
    let message =
        Message { topic: "t".into(), body: payload(json!(1)), by: "ann".into(), reply_to: Some("k".into()) };
    play.offer(Input::Message { message, item: 1 });
    play.pump();
    assert!(play.has(Kind::UpdateAnswered), "somebody waits for it");
    assert_eq!(play.consumed(), [1]);
    replays(&play, &flow);
}

#[test]
fn b55_messages_survive_runs_in_order() {
    const MESSAGES: u64 = 200;
    // Takes three a run, and rolls over.
    let flow: Flow = std::sync::Arc::new(|cx, input| {
        Box::pin(async move {
            let mut taken: Vec<u64> = input.decode().unwrap_or_default();
            for i in 0..3 {
                let got = told(receive(&cx, &format!("get#{i}"), "t").await);
                taken.push(got.as_u64().unwrap());
                if taken.len() as u64 == MESSAGES {
                    return ok(taken);
                }
            }
            cx.continue_as_new(payload(json!(taken)));
            std::future::pending().await
        })
    });
    for crashing in [false, true] {
        let mut play = Play::start(&flow);
        let (mut inbox, mut next) = (std::collections::BTreeMap::new(), 0);
        while play.closed.is_none() {
            for _ in 0..7 {
                if next < MESSAGES {
                    inbox.insert(next, next);
                    play.message("t", json!(next), next);
                    next += 1;
                }
            }
            play.pump();
            for item in play.consumed() {
                assert!(inbox.remove(&item).is_some(), "{item} was consumed twice");
            }
            play.batches.clear();
            if crashing && play.closed.is_none() {
                play = Play::resume(&play.log, &flow);
                for (item, body) in &inbox {
                    play.message("t", json!(body), *item);
                }
            }
        }
        assert_eq!(play.output(), json!((0..MESSAGES).collect::<Vec<_>>()));
        assert!(play.state().run >= 60, "{}", play.state().run);
        replays(&play, &flow);
    }
}
