//! Runs: a flow that continues as new begins again, with nothing of the run before but its mail.
//! Not what a projection makes of them.

use std::sync::Arc;

use kernel::{
    Delivery, Digest, Envelope, Event, FrameStatus, Kind, OnClose, Parent, State, Status,
    machine::{AttemptEnd, Cx, FlowReturn, Input, Offered},
};
use serde_json::json;

use crate::{delivery::replays, *};

/// A flow that is told which run it is, counted by itself.
fn counting<F, R>(body: F) -> Flow
where
    F: Fn(Cx, u64) -> R + Send + Sync + 'static,
    R: Future<Output = FlowReturn> + Send + 'static,
{
    Arc::new(move |cx, input| Box::pin(body(cx, input.decode().unwrap_or(0))))
}

async fn next(cx: &Cx, run: u64) -> FlowReturn {
    cx.continue_as_new(payload(json!(run + 1)));
    std::future::pending().await
}

/// One step a run, of the same id in each.
fn rounds(last: u64) -> Flow {
    counting(move |cx, run| async move {
        let did = told(step(&cx, "work", json!(run)).await);
        if run == last { ok(did) } else { next(&cx, run).await }
    })
}

fn begins(log: &[Envelope]) -> Vec<usize> {
    let begins = |e: &&Envelope| matches!(e.event, Event::ContinuedAsNew(_));
    log.iter().filter(begins).map(|e| usize::try_from(e.sequence).unwrap()).collect()
}

/// From every run's first event, whatever the cut: the same state as from the start of the log, and no fault.
fn every_cut_of_every_run_replays(log: &[Envelope], flow: &Flow) {
    for cut in 1..=log.len() {
        let whole = State::of(&log[..cut]).unwrap();
        assert_eq!(Play::reading(&log[..cut], flow, 9, CODE).state(), &whole, "at {cut}");
        let base = usize::try_from(whole.base).unwrap();
        let run = &log[base..cut];
        assert_eq!(State::of(run).unwrap(), whole, "at {cut}, from {base}");
        let play = Play::reading(run, flow, 9, CODE);
        assert_eq!(play.state(), &whole, "at {cut}, from {base}");
        assert_eq!(play.machine.fault(), None, "at {cut}");
    }
}

#[test]
fn b57_an_update_without_a_reply_is_refused_as_its_run_ends() {
    let flow = counting(|cx, run| async move {
        if run > 0 {
            return ok(told(gate(&cx, "ask", None).await));
        }
        receive(&cx, "get", "orders").await;
        next(&cx, run).await
    });
    let mut play = Play::start(&flow);
    let (topic, body, by) = ("orders".into(), payload(json!(1)), "ann".into());
    let message = kernel::Message { topic, body, by, reply_to: Some("update-7".into()) };
    play.offer(Input::Message { message, item: 1 });
    play.pump();
    play.flush();
    assert_eq!(play.state().run, 1);
    let refused = play.log.iter().filter_map(|e| match &e.event {
        Event::MessageDeadLettered(letter) => letter.message.reply_to.as_deref(),
        _ => None,
    });
    assert_eq!(refused.collect::<Vec<_>>(), ["update-7"], "{:?}", play.told());
    replays(&play, &flow);
}

#[test]
fn a_run_begins_with_its_input_and_the_ids_of_the_one_before() {
    let flow = rounds(3);
    let mut play = Play::start(&flow);
    for run in 0..=3 {
        assert_eq!(play.running[0].input, payload(json!(run)));
        assert_eq!(play.state().run, run);
        play.done("work", json!(run));
    }
    assert_eq!(play.output(), json!(3));
    assert_eq!(begins(&play.log).len(), 3);
    every_cut_of_every_run_replays(&play.log, &flow);
    replays(&play, &flow);
}

#[test]
fn every_prefix_of_runs_goes_on_from_either_beginning() {
    let flow = rounds(2);
    let mut play = Play::start(&flow);
    (0..=2).for_each(|run| play.done("work", json!(run)));
    for cut in 1..play.log.len() {
        let base = usize::try_from(State::of(&play.log[..cut]).unwrap().base).unwrap();
        for from in [0, base] {
            let mut again = Play::resume(&play.log[from..cut], &flow);
            while again.closed.is_none() {
                let run = again.state().run;
                again.done("work", json!(run));
            }
            assert_eq!(again.output(), json!(2), "at {cut}, from {from}");
        }
    }
}

#[test]
fn seeds_keys_and_children_differ_by_run() {
    let flow = counting(|cx, run| async move {
        let drawn = cx.entropy(&id("uuid"));
        step(&cx, "work", json!(drawn)).await;
        child(&cx, "ship", OnClose::Cancel).await;
        if run == 2 { ok(()) } else { next(&cx, run).await }
    });
    let mut play = Play::start(&flow);
    for run in 0..=2 {
        play.done("work", json!(0));
        play.child_done("ship", json!(0), run);
        play.pump();
    }
    let keys: Vec<_> =
        play.invoked.iter().map(|(invoke, _)| (invoke.idempotency_key, &invoke.input)).collect();
    for (i, (key, drawn)) in keys.iter().enumerate() {
        assert!(keys[..i].iter().all(|(other, before)| other != key && before != drawn));
    }
    let children: Vec<_> = play.children.iter().map(|c| c.child.as_str()).collect();
    assert_eq!(children, ["test:ship", "test@1:ship", "test@2:ship"]);
    replays(&play, &flow);
}

#[test]
fn a_run_of_a_fork_draws_other_numbers_than_the_same_run_of_its_origin() {
    let seed_of = |execution: &str| {
        let flow = rounds(1);
        let config = kernel::machine::Config {
            execution: execution.parse().unwrap(),
            generation: 1,
            code: CODE,
            input_version: 1,
            history: 100,
            alarm: Arc::new(|| {}),
        };
        let mut machine = kernel::Machine::new(config, Box::new(move |cx, input| flow(cx, input)));
        let mut first = started().remove(0);
        first.execution = execution.parse().unwrap();
        machine.offer(Input::Recorded(first), secs(0));
        machine.offer(Input::Live { worker: "w".into(), reason: "test".into() }, secs(0));
        let end = AttemptEnd::Returned(payload(json!(0)));
        while machine.state().run == 0 {
            match machine.next_command() {
                Some(kernel::machine::Command::Append(_)) => drop(machine.offer(Input::Written, secs(0))),
                Some(kernel::machine::Command::Invoke(i)) => {
                    let (frame, attempt, end) = (i.frame, i.attempt, end.clone());
                    machine.offer(Input::Ended { frame, attempt, end }, secs(0));
                }
                other => panic!("{other:?}"),
            }
        }
        machine.state().seed
    };
    let seeds: [Digest; 2] = [seed_of("one"), seed_of("other")];
    assert_ne!(seeds[0], seeds[1]);
}

#[test]
fn a_flow_that_rolls_over_for_ever_appends_once_a_run() {
    let flow = counting(|cx, run| async move { next(&cx, run).await });
    let mut play = Play::reading(&started(), &flow, 1, CODE);
    play.live();
    for run in 1..=20 {
        play.commands();
        let batch = play.in_flight.clone().expect("an append");
        let kinds: Vec<_> = batch.events.iter().map(|e| e.event.kind()).collect();
        assert_eq!(kinds, [Kind::ContinuedAsNew], "run {run}");
        assert!(batch.progress && !batch.closes);
        play.write();
    }
    play.cancel(1);
    play.pump();
    assert_eq!(play.closed, Some(Status::Cancelled));
    every_cut_of_every_run_replays(&play.log, &flow);
}

#[test]
fn what_a_run_left_behind_is_over() {
    let flow = counting(|cx, run| async move {
        if run == 0 {
            let all = futures_util::future::join_all([
                step(&cx, "work", json!(0)),
                gate(&cx, "ask", Some(60)),
                sleep(&cx, "t", 60),
                child(&cx, "ship", OnClose::Cancel),
                child(&cx, "mail", OnClose::Abandon),
                receive(&cx, "get", "topic"),
            ]);
            // None of it is dropped: it is open when the run ends.
            let quick = async {
                step(&cx, "quick", json!(0)).await;
                next(&cx, run).await
            };
            return futures_util::future::join(all, quick).await.1;
        }
        ok(told(gate(&cx, "ask", None).await))
    });
    let mut play = Play::start(&flow);
    play.unheeding = true;
    play.answer("later", json!("early, for a gate that never opens"), 1);
    play.done("quick", json!(0));
    assert_eq!(play.state().run, 0, "`work` has not ended");
    assert!(play.machine.is_busy());
    assert!(matches!(play.wait(600), Offered::Ignored(_)), "nothing fires any more");
    play.end("work", AttemptEnd::Returned(payload(json!("late"))));
    play.pump();
    assert_eq!(play.state().run, 0, "`ship` has not ended");
    assert_eq!(play.posted(), ["cancel:test:ship to test:ship"]);
    let with = play.batches.iter().find(|batch| !batch.posts.is_empty()).unwrap();
    assert!(with.events.iter().any(|e| e.event.kind() == Kind::ExecutionEnding), "with the end of the run");
    play.child_done("ship", json!("late"), 9);
    play.pump();
    assert_eq!(play.state().run, 1);
    play.flush();
    assert_eq!(play.posted().len(), 1);
    assert_eq!(play.consumed(), [9, 1], "the early answer is used up");
    assert_eq!(play.pending(), ["ask".to_owned()].into());
    assert_eq!(play.machine.next_due(), None);
    // What comes for the run before finds nobody.
    assert!(matches!(play.answer("ask", json!("for the first gate"), 2), Offered::Ignored(_)));
    let run = play.state().base;
    let answer = |answer: &str, item| Input::Answer {
        run,
        frame: id("ask"),
        answer: payload(json!(answer)),
        by: "ann".into(),
        item,
    };
    assert_eq!(play.offer(answer("for the second", 3)), Offered::Accepted);
    play.pump();
    assert_eq!(play.output(), json!("for the second"));
    assert_eq!(play.consumed(), [9, 1, 2, 3]);
    every_cut_of_every_run_replays(&play.log, &flow);
}

#[test]
fn an_end_or_a_child_of_the_run_before_is_not_taken_for_one_of_this() {
    let flow = counting(|cx, run| async move {
        let (a, b) = (child(&cx, "ship", OnClose::Cancel), step(&cx, "work", json!(run)));
        if run == 0 {
            let _ = race(a, b).await;
            return next(&cx, run).await;
        }
        let (a, b) = futures_util::future::join(a, b).await;
        ok([told(a), told(b)])
    });
    let mut play = Play::start(&flow);
    let old = play.child_of("ship");
    play.done("work", json!(0));
    assert_eq!(play.state().run, 0, "its end would be taken for that of the next run's");
    play.child_done("ship", json!("at last"), 9);
    play.pump();
    assert_eq!(play.state().run, 1);
    let outcome = kernel::Outcome::Completed(payload(json!("the old one")));
    let late = Input::ChildSettled { frame: id("ship"), child: old.clone(), outcome, item: 1 };
    assert!(matches!(play.offer(late), Offered::Ignored(_)));
    let error = kernel::EffectError::NotStarted { child: old.to_string(), reason: "late".into() };
    assert!(matches!(play.offer(Input::NotStarted { frame: id("ship"), error }), Offered::Ignored(_)));
    play.child_done("ship", json!("ship"), 2);
    play.done("work", json!("work"));
    assert_eq!(play.output(), json!(["ship", "work"]));
    replays(&play, &flow);
}

#[test]
fn a_detached_attempt_of_the_run_before_does_not_settle_the_same_id_of_the_next() {
    let flow = counting(|cx, run| async move {
        let detached = detached_step(&cx, "audit");
        if run == 0 {
            let _ = race(detached, step(&cx, "quick", json!(0))).await;
            return next(&cx, run).await;
        }
        ok(told(detached.await))
    });
    let mut play = Play::start(&flow);
    play.done("quick", json!(0));
    assert_eq!(play.state().run, 0, "its end would be taken for that of the next run's");
    assert_eq!(play.revoked, [], "it is not stopped either");
    assert_eq!(play.runs(), ["audit"]);
    play.end("audit", AttemptEnd::Returned(payload(json!("of the first run"))));
    play.pump();
    assert_eq!(play.state().run, 1);
    play.done("audit", json!("of the second run"));
    assert_eq!(play.output(), json!("of the second run"));
    replays(&play, &flow);
}

#[test]
fn an_at_most_once_attempt_is_in_doubt_when_its_run_is_over_also_after_a_crash() {
    let flow = counting(|cx, run| async move {
        let charge = step_of(&cx, "charge", Delivery::AtMostOnce, 1);
        if run == 0 {
            // Both stay open: the run ends without dropping them.
            let mut both = Box::pin(futures_util::future::join(charge, async {
                step(&cx, "quick", json!(0)).await;
                next(&cx, run).await
            }));
            return std::future::poll_fn(|task| both.as_mut().poll(task)).await.1;
        }
        ok(told(charge_again(&cx).await))
    });
    async fn charge_again(cx: &Cx) -> kernel::machine::Settled {
        step_of(cx, "charge", Delivery::AtMostOnce, 1).await
    }
    let doubts = |play: &Play| play.log.iter().filter(|e| e.event.kind() == Kind::EffectIndoubt).count();
    let mut play = Play::start(&flow);
    play.end("quick", AttemptEnd::Returned(payload(json!(0))));
    play.pump();
    assert_eq!((play.state().run, doubts(&play)), (1, 1));
    replays(&play, &flow);
    // The owner died when only the end of `quick` was on record.
    let at = play.log.iter().position(|e| matches!(&e.event, Event::StepCompleted(_))).unwrap();
    let mut again = Play::resume(&play.log[..=at], &flow);
    assert_eq!((again.state().run, doubts(&again)), (1, 1), "{:?}", again.told());
    again.done("charge", json!("once"));
    assert_eq!(again.output(), json!("once"));
    replays(&again, &flow);
}

#[test]
fn who_waits_for_the_execution_is_told_by_its_last_run() {
    let flow = rounds(2);
    let mut play = Play::resume(&started_by("boss", "f"), &flow);
    play.offer(Input::Watch {
        by: Parent { execution: "watcher".parse().unwrap(), frame: id("w") },
        item: 1,
    });
    play.done("work", json!(0));
    play.done("work", json!(1));
    assert_eq!(play.posted(), [""; 0]);
    // From the log of the last run alone, too.
    let run = play.log[*begins(&play.log).last().unwrap()..].to_vec();
    for log in [play.log.clone(), run] {
        let mut play = Play::resume(&log, &flow);
        play.done("work", json!(2));
        assert_eq!(play.posted(), ["settled:test:f to boss", "settled:test:w to watcher"]);
    }
}

#[test]
fn an_owner_that_drains_begins_no_run() {
    for early in [true, false] {
        let flow = counting(|cx, run| async move {
            step_of(&cx, "work", Delivery::AtMostOnce, 1).await;
            if run == 1 { ok(()) } else { next(&cx, run).await }
        });
        let mut play = Play::start(&flow);
        if early {
            play.machine.hold();
        }
        play.end("work", AttemptEnd::Returned(payload(json!(0))));
        assert_eq!(play.offer(Input::HandBack), Offered::Accepted);
        play.pump();
        assert_eq!((play.state().run, play.invoked.len()), (0, 1));
        assert!(!play.machine.lags());
        let mut play = Play::resume(&play.log, &flow);
        assert_eq!(play.state().run, 1);
        play.done("work", json!(0));
        assert_eq!(play.closed, Some(Status::Completed), "nothing is in doubt: {:?}", play.told());
        replays(&play, &flow);
    }
}

#[test]
fn mail_and_watches_that_come_while_it_rolls_over_are_the_next_runs() {
    let flow = counting(|cx, run| async move {
        if run == 0 {
            let _ = race(step(&cx, "quick", json!(0)), step(&cx, "slow", json!(0))).await;
            return next(&cx, run).await;
        }
        ok(told(receive(&cx, "get", "t").await))
    });
    let mut play = Play::start(&flow);
    play.unheeding = true;
    play.done("quick", json!(0));
    assert_eq!(play.message("t", json!("mail"), 1), Offered::Accepted);
    let by = Parent { execution: "watcher".parse().unwrap(), frame: id("w") };
    assert_eq!(play.offer(Input::Watch { by, item: 2 }), Offered::Accepted);
    assert!(matches!(play.answer("ask", json!(0), 3), Offered::Ignored(_)));
    assert!(matches!(play.offer(Input::Suspend), Offered::Ignored(_)));
    play.end("slow", AttemptEnd::Stopped(kernel::EffectError::Cancelled));
    play.pump();
    assert_eq!(play.output(), json!("mail"));
    let mut consumed = play.consumed();
    consumed.sort_unstable();
    assert_eq!(consumed, [1, 2, 3]);
    assert_eq!(play.posted(), ["settled:test:w to watcher"]);
    every_cut_of_every_run_replays(&play.log, &flow);
}

#[test]
fn another_input_for_the_next_run_is_a_divergence_but_for_other_code() {
    let mut play = Play::start(&rounds(1));
    play.done("work", json!(0));
    let other = counting(|cx, run| async move {
        step(&cx, "work", json!(run)).await;
        next(&cx, run + 7).await
    });
    let report = Play::resume(&play.log, &other).parked(kernel::Fault::Divergence);
    assert!(report.to_string().contains("another run"), "{report}");
    let code = kernel::Fingerprints { body: 2, structure: 1 };
    let play = Play::resume_with(&play.log, &other, code);
    assert_eq!(play.closed, None, "{:?}", play.state().parked);
    let returning = counting(|cx, run| async move { ok(told(step(&cx, "work", json!(run)).await)) });
    let report = Play::resume(&play.log, &returning).parked(kernel::Fault::Divergence);
    assert!(report.to_string().contains("the flow returned"), "{report}");
}

#[test]
fn a_run_that_is_too_long_parks_and_goes_on_with_a_higher_limit() {
    let flow = flow(|cx| async move {
        for i in 0..5 {
            step(&cx, &format!("work#{i}"), json!(i)).await;
        }
        ok(cx.events())
    });
    let mut play = Play::reading_up_to(6, &started(), &flow, 1, CODE);
    play.live();
    play.pump();
    for i in 0..3 {
        play.done(&format!("work#{i}"), json!(i));
    }
    let report = play.parked(kernel::Fault::HistoryTooLong);
    assert!(report.message.contains("run 0 has 7 events, the limit is 6"), "{report}");
    let mut again = Play::resume(&play.log, &flow);
    assert_eq!(again.runs(), ["work#3"], "the end that was one too many is not lost");
    again.done("work#3", json!(3));
    again.done("work#4", json!(4));
    assert_eq!(again.closed, Some(Status::Completed));
    replays(&again, &flow);
    // Under a limit that is still too low, it parks again, and loses nothing.
    let mut play = Play::reading_up_to(6, &play.log, &flow, 2, CODE);
    play.live();
    play.pump();
    play.done("work#3", json!(3));
    play.parked(kernel::Fault::HistoryTooLong);
    assert!(play.state().frames[&id("work#3")].status == FrameStatus::Settled);
}

#[test]
fn the_limit_is_a_runs_own() {
    let flow = counting(|cx, run| async move {
        step(&cx, "work", json!(run)).await;
        if run == 30 { ok(cx.events()) } else { next(&cx, run).await }
    });
    let mut play = Play::reading_up_to(5, &started(), &flow, 1, CODE);
    play.live();
    play.pump();
    (0..=30).for_each(|run| play.done("work", json!(run)));
    assert_eq!(play.output(), json!(3), "and so is its length");
    replays(&play, &flow);
}

#[test]
fn a_run_of_an_engine_that_this_one_does_not_know_is_not_replayed() {
    let mut play = Play::start(&rounds(1));
    play.done("work", json!(0));
    let at = begins(&play.log)[0];
    let mut log = play.log.clone();
    if let Event::ContinuedAsNew(run) = &mut log[at].event {
        run.flags = vec![7];
    }
    for from in [0, at] {
        let play = Play::resume(&log[from..], &rounds(1));
        let report = play.parked(kernel::Fault::UnreadableLog);
        assert!(report.message.contains("behaviour 7"), "{report}");
    }
}
