//! Batches: what leaves the machine for the store, and what it is told of it.
//! Not the store: whether it keeps its promises is the conformance kit's question.

use kernel::{Fault, ParkReport, Status, machine::AttemptEnd, machine::Input};
use serde_json::json;

use crate::*;

fn three() -> Flow {
    flow(|cx| async move {
        for i in 0..3 {
            step(&cx, &format!("s#{i}"), json!(i)).await;
        }
        ok(())
    })
}

#[test]
fn progress_is_an_outcome_and_nothing_else() {
    let flow = flow(|cx| async move {
        step_of(&cx, "a", kernel::Delivery::AtLeastOnce, 2).await;
        sleep(&cx, "t", 5).await;
        gate(&cx, "ask", None).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.flush(); // the start of `a`
    let class = kernel::RetryClass::Transient;
    play.end("a", AttemptEnd::Failed { failure: failed("Busy"), class });
    play.flush(); // to be tried again
    play.wait(1); // the second attempt: on record before it runs, since crashes count
    play.done("a", json!(1));
    play.flush(); // the outcome, and a timer
    play.wait(5);
    play.flush(); // the timer fired
    play.offer(Input::Suspend);
    play.pump();
    let progress: Vec<_> = play.batches.iter().map(|b| (b.progress, b.closes)).collect();
    let starts = (false, false);
    let expected = [starts, starts, starts, (true, false), (true, false), (false, true)];
    assert_eq!(progress, expected, "{:?}", play.batches);
}

#[test]
fn the_outcome_that_ends_it_is_progress() {
    let mut play = Play::start(&three());
    for i in 0..3 {
        play.done(&format!("s#{i}"), json!(i));
    }
    let last = play.batches.last().unwrap();
    assert!(last.progress && last.closes);
    assert_eq!(play.closed, Some(Status::Completed));
}

#[test]
fn a_refused_batch_comes_again_whole_under_a_new_id() {
    let mut play = Play::start(&three());
    for i in 0..2 {
        play.done(&format!("s#{i}"), json!(i));
    }
    play.offer(Input::Noted { item: 5 });
    play.end("s#2", AttemptEnd::Returned(payload(json!(2))));
    play.commands();
    let first = play.in_flight.clone().unwrap();
    assert_eq!(first.consumed, [5]);
    play.refuse();
    play.offer(Input::Noted { item: 6 });
    play.commands();
    let second = play.in_flight.clone().unwrap();
    assert_ne!(first.id, second.id);
    assert_eq!((first.first, &first.events), (second.first, &second.events));
    assert_eq!((second.consumed.as_slice(), second.progress, second.closes), ([5, 6].as_slice(), true, true));
    play.pump();
    assert_eq!(play.closed, Some(Status::Completed));
}

#[test]
fn what_happens_while_a_batch_is_on_its_way_goes_into_the_next() {
    let flow = flow(|cx| async move {
        let all = (0..4).map(|i| step(&cx, &format!("s#{i}"), json!(i)));
        futures_util::future::join_all(all).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.machine.flush();
    play.commands();
    assert_eq!(play.in_flight.as_ref().unwrap().events.len(), 4);
    for i in 0..3 {
        play.end(&format!("s#{i}"), AttemptEnd::Returned(payload(json!(i))));
    }
    play.machine.flush();
    play.commands();
    assert_eq!(play.batches.len(), 1, "one at a time");
    play.pump();
    assert_eq!(play.batches[1].events.len(), 3);
    play.done("s#3", json!(3));
    assert_eq!(play.closed, Some(Status::Completed));
}

#[test]
fn nothing_is_appended_until_something_waits_for_it_or_asks() {
    let flow = flow(|cx| async move {
        for i in 0..10 {
            step_of(&cx, &format!("pure#{i}"), kernel::Delivery::Pure, 1).await;
        }
        ok(())
    });
    let mut play = Play::start(&flow);
    for i in 0..9 {
        play.done(&format!("pure#{i}"), json!(i));
    }
    assert!(play.batches.is_empty() && play.machine.lags());
    play.machine.flush();
    play.pump();
    assert_eq!((play.batches.len(), play.machine.lags()), (1, false));
    play.machine.flush();
    play.pump();
    assert_eq!(play.batches.len(), 1, "an empty flush writes nothing");
    play.done("pure#9", json!(9));
    assert_eq!(play.batches.len(), 2);
}

#[test]
fn batches_of_two_owners_and_of_a_log_that_cannot_be_replayed_differ() {
    let flow = three();
    let id_of = |generation| {
        let mut play = Play::reading(&started(), &flow, generation, CODE);
        play.live();
        play.machine.flush();
        play.commands();
        play.batches[0].id
    };
    assert_eq!(id_of(1), id_of(1));
    assert_ne!(id_of(1), id_of(2));
    let parking = |generation| {
        let report = ParkReport::new(Fault::MissingFlow, "gone");
        let mut play = Play::reading(&[], &flow, generation, CODE);
        play.offer(Input::Fault(report));
        play.log = started();
        play.offer(Input::Recorded(play.log[0].clone()));
        play.live();
        play.pump();
        play
    };
    assert_ne!(parking(1).batches[0].id, parking(2).batches[0].id);
    let log = parking(1).log;
    let state = kernel::State::of(&log).unwrap();
    assert_eq!((state.status, state.parked.unwrap().fault), (Status::Parked, Fault::MissingFlow));
    assert_eq!(Play::resume(&log, &flow).runs(), ["s#0"], "and goes on when the flow is back");
}

#[test]
fn a_start_that_was_never_recorded_does_not_hang_the_owner() {
    let mut play = Play::reading(&[], &three(), 1, CODE);
    play.live();
    for _ in 0..10 {
        play.pump();
    }
    assert!(play.closed.is_some());
    assert!(play.batches.len() <= 1);
}
