//! Identity of frames: ids come from the call, never from who ran first, what it was given, or where in the log it is.
//! Not the ids' text: that is composed by the macros and tested at `FrameId`.

use std::collections::BTreeSet;

use futures_util::future::{join_all, join3};
use kernel::{Event, Fault, Status, machine::AttemptEnd};
use serde_json::json;

use crate::{delivery::replays, world::Choices, *};

fn eight_branches() -> Flow {
    flow(|cx| async move {
        let branches = (0..8).map(|i| {
            let cx = cx.clone();
            async move {
                step(&cx, &format!("first#{i}"), json!(i)).await;
                told(step(&cx, &format!("second#{i}"), json!(i)).await)
            }
        });
        ok(join_all(branches).await)
    })
}

#[test]
fn b01_branches_draw_the_same_ids_however_they_are_scheduled() {
    let flow = eight_branches();
    for seed in 0..100 {
        let mut choices = Choices(seed);
        let mut play = Play::start(&flow);
        let mut ids = BTreeSet::new();
        let mut ended = 0;
        while play.closed.is_none() {
            let runs = play.runs();
            let next = runs[choices.below(runs.len())].clone();
            ids.insert(next.clone());
            play.done(&next, json!(next));
            ended += 1;
            if ended == 8 {
                play.machine.flush();
                play.pump();
                let log = std::mem::take(&mut play.log);
                play = Play::resume(&log, &flow);
            }
        }
        assert_eq!(play.output(), json!((0..8).map(|i| format!("second#{i}")).collect::<Vec<_>>()));
        let names = |step: &str| (0..8).map(move |i| format!("{step}#{i}")).collect::<Vec<_>>();
        assert_eq!(ids, names("first").into_iter().chain(names("second")).collect());
        replays(&play, &flow);
    }
}

#[test]
fn b02_three_steps_awaited_together_recover_in_any_order() {
    let flow = flow(|cx| async move {
        let (a, b, c) =
            join3(step(&cx, "a", json!(1)), step(&cx, "b", json!(2)), step(&cx, "c", json!(3))).await;
        ok([told(a), told(b), told(c)])
    });
    for order in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"], ["c", "b", "a"]] {
        let mut play = Play::start(&flow);
        play.done(order[0], json!(order[0]));
        play.flush();
        let mut play = Play::resume(&play.log, &flow);
        assert_eq!(play.running.len(), 2);
        play.done(order[1], json!(order[1]));
        play.flush();
        let mut play = Play::resume(&play.log, &flow);
        play.done(order[2], json!(order[2]));
        assert_eq!(play.output(), json!(["a", "b", "c"]));
        replays(&play, &flow);
    }
}

#[test]
fn b08_two_loops_of_identical_calls_have_their_own_ids() {
    let flow = flow(|cx| async move {
        let loops = ["left", "right"].map(|side| {
            let cx = cx.clone();
            async move {
                for i in 0..20 {
                    step(&cx, &format!("{side}#{i}"), json!("same host")).await;
                }
            }
        });
        join_all(loops).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    while let Some(next) = play.runs().pop() {
        play.done(&next, json!(null));
    }
    assert_eq!(play.closed, Some(Status::Completed));
    assert_eq!(play.state().frames.len(), 40);
    replays(&play, &flow);
}

#[test]
fn b08_b09_an_id_that_is_issued_twice_names_both_sites() {
    for concurrent in [true, false] {
        let flow = flow(move |cx| async move {
            let first = step(&cx, "pay", json!(1));
            if concurrent {
                join_all([first, step(&cx, "pay", json!(2))]).await;
            } else {
                first.await;
                step(&cx, "pay", json!(2)).await;
            }
            ok(())
        });
        let mut play = Play::start(&flow);
        if !concurrent {
            play.done("pay", json!(1));
        }
        let report = play.parked(Fault::StepIdReused);
        assert_eq!(report.frame, Some(id("pay")));
        assert_eq!(report.message.matches("identity.rs:").count(), 2, "{report}");
        let near = report.near.unwrap();
        assert!(report.message.ends_with(&format!("then at {near} (step `pay`)")), "{}", report.message);
    }
}

#[test]
fn b09_a_decision_and_a_step_cannot_share_an_id() {
    let flow = flow(|cx| async move {
        decide(&cx, "x", json!(1)).await;
        step(&cx, "x", json!(1)).await;
        ok(())
    });
    Play::start(&flow).parked(Fault::StepIdReused);
}

#[test]
fn b09_memo_asks_for_the_first_outcome_before_and_after_it_is_there() {
    let flow = flow(|cx| async move {
        let one = step(&cx, "rate", json!(1));
        let both = join_all([one, memo(step(&cx, "rate", json!(1)))]).await;
        let later = memo(step(&cx, "rate", json!(1))).await;
        ok(both.into_iter().chain([later]).map(told).collect::<Vec<_>>())
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.runs(), ["rate"]);
    play.done("rate", json!(7));
    assert_eq!(play.output(), json!([7, 7, 7]));
    assert_eq!(play.invoked.len(), 1);
    replays(&play, &flow);
}

/// What was computed of one input is not the answer for another.
#[test]
fn b09_memo_with_another_input_is_no_second_call() {
    let flow = flow(|cx| async move {
        step(&cx, "rate", json!(1)).await;
        memo(step(&cx, "rate", json!(2))).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.done("rate", json!(7));
    let report = play.parked(Fault::StepIdReused);
    for named in [
        "`.memo()` and another input",
        &payload(json!(1)).digest().to_string(),
        &payload(json!(2)).digest().to_string(),
    ] {
        assert!(report.message.contains(named), "{named}: {}", report.message);
    }
}

#[test]
fn memo_does_not_join_another_kind_of_call() {
    let flow = flow(|cx| async move {
        join_all([step(&cx, "x", json!(1)), memo(sleep(&cx, "x", 1))]).await;
        ok(())
    });
    Play::start(&flow).parked(Fault::StepIdReused);
}

#[test]
fn dropping_one_of_two_holders_of_a_memo_abandons_nothing() {
    let flow = flow(|cx| async move {
        let lost = step(&cx, "rate", json!(1));
        let kept = memo(step(&cx, "rate", json!(1)));
        let quick = async {
            step(&cx, "quick", json!(0)).await;
        };
        let raced = race(quick, lost);
        let (_, kept) = futures_util::future::join(raced, kept).await;
        ok(told(kept))
    });
    let mut play = Play::start(&flow);
    play.done("quick", json!(0));
    play.done("rate", json!(7));
    assert_eq!(play.output(), json!(7));
    assert!(!play.has(Kind::StepAbandoned));
    replays(&play, &flow);
}

#[test]
fn b10_a_counter_of_the_flows_own_starts_anew_on_replay() {
    let flow = flow(|cx| async move {
        let mut counter = 0;
        for _ in 0..30 {
            counter += 1;
            step(&cx, &format!("n#{counter}"), json!(counter)).await;
        }
        ok(counter)
    });
    let mut play = Play::start(&flow);
    for n in 1..=30 {
        if n % 7 == 0 {
            play.flush();
            play = Play::resume(&play.log, &flow);
        }
        play.done(&format!("n#{n}"), json!(n));
    }
    assert_eq!(play.output(), json!(30));
}

#[test]
fn b72_four_of_five_results_are_kept_when_one_fails() {
    let flow = flow(|cx| async move {
        let all = join_all((0..5).map(|i| step(&cx, &format!("node#{i}"), json!(i)))).await;
        ok(all.into_iter().map(told).collect::<Vec<_>>())
    });
    let mut play = Play::start(&flow);
    for i in [0, 2, 4] {
        play.done(&format!("node#{i}"), json!(i));
    }
    let class = kernel::RetryClass::Permanent;
    play.end("node#1", AttemptEnd::Failed { failure: failed("Broken"), class });
    play.flush();
    let mut play = Play::resume(&play.log, &flow);
    assert_eq!(play.runs(), ["node#3"], "nothing else runs again");
    play.done("node#3", json!(3));
    assert_eq!(play.output(), json!([0, "Broken", 2, 3, 4]));
}

#[test]
fn every_attempt_of_a_frame_has_one_idempotency_key_and_no_other_frame_has_it() {
    let flow = flow(|cx| async move {
        join_all([step_of(&cx, "a", kernel::Delivery::AtLeastOnce, 3), step(&cx, "b", json!(0))]).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    let key = |play: &Play, frame| {
        play.running.iter().find(|r| r.frame == id(frame)).map(|r| r.idempotency_key).unwrap()
    };
    let first = key(&play, "a");
    assert_ne!(first, key(&play, "b"));
    let class = kernel::RetryClass::Transient;
    play.end("a", AttemptEnd::Failed { failure: failed("Busy"), class });
    play.wait(1);
    let again = play.running.iter().find(|r| r.frame == id("a")).unwrap();
    assert_eq!((again.attempt, again.idempotency_key), (2, first));
    assert!(play.log.iter().all(|e| match &e.event {
        Event::StepStarted(s) => s.input.is_some() == (s.attempt == 1),
        _ => true,
    }));
}
