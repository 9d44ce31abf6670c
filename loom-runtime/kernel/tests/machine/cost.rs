//! B92: what a step costs does not grow with the history, nor a join with its width.
//! Not a benchmark: polls and commands are counted, never time.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use futures_util::future::join_all;
use kernel::machine::{AttemptEnd, Call, Settled};
use serde_json::json;

use crate::{delivery::replays, *};

/// Counts the polls of a durable call.
struct Counted(Call, Arc<AtomicUsize>);

impl Future for Counted {
    type Output = Settled;
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Settled> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Pin::new(&mut self.0).poll(task)
    }
}

fn sequential(steps: usize, polls: &Arc<AtomicUsize>) -> Flow {
    let polls = polls.clone();
    flow(move |cx| {
        let polls = polls.clone();
        async move {
            for i in 0..steps {
                Counted(step(&cx, &format!("s#{i}"), json!(i)), polls.clone()).await;
            }
            ok(steps)
        }
    })
}

fn wide(branches: usize, polls: &Arc<AtomicUsize>) -> Flow {
    let polls = polls.clone();
    flow(move |cx| {
        let polls = polls.clone();
        async move {
            let call = |i| Counted(step(&cx, &format!("s#{i}"), json!(i)), polls.clone());
            ok(join_all((0..branches).map(call)).await.len())
        }
    })
}

/// Ends what runs, first the newest; answers how many commands that took.
fn run_to_the_end(play: &mut Play) -> usize {
    let mut commands = 0;
    while play.closed.is_none() {
        while play.command() {
            commands += 1;
        }
        if play.in_flight.is_some() {
            play.write();
        } else if let Some(invoke) = play.running.pop() {
            let (frame, attempt, end) =
                (invoke.frame, invoke.attempt, AttemptEnd::Returned(payload(json!(0))));
            play.offer(kernel::machine::Input::Ended { frame, attempt, end });
        }
    }
    commands
}

#[test]
fn b92_ten_thousand_steps_in_a_row() {
    const STEPS: usize = 10_000;
    let polls = Arc::new(AtomicUsize::new(0));
    let flow = sequential(STEPS, &polls);
    let mut play = Play::start(&flow);
    let commands = run_to_the_end(&mut play);
    assert_eq!(play.output(), json!(STEPS));
    assert_eq!(polls.swap(0, Ordering::Relaxed), 2 * STEPS, "asked for, and told");
    assert!(commands <= 2 * STEPS + 2, "{commands}");
    replays(&play, &flow);
    assert_eq!(polls.load(Ordering::Relaxed), 2 * STEPS);
}

#[test]
fn b92_wide_joins() {
    for branches in [1_000, 10_000] {
        let polls = Arc::new(AtomicUsize::new(0));
        let flow = wide(branches, &polls);
        let mut play = Play::start(&flow);
        let commands = run_to_the_end(&mut play);
        assert_eq!(play.output(), json!(branches));
        let live = polls.swap(0, Ordering::Relaxed);
        assert!(live <= 2 * branches, "{live} polls for {branches} branches");
        assert!(commands <= 2 * branches + 2, "{commands}");
        replays(&play, &flow);
        let replayed = polls.load(Ordering::Relaxed);
        assert_eq!(replayed, live);
    }
}
