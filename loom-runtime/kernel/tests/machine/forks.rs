//! Forks: a branch is a copied prefix, a note of where it comes from, and stubs for what was open; it goes on for itself.
//! Not the making of one: here the test writes what the runtime would.

use std::collections::BTreeMap;

use kernel::{
    ChildSettled, Delivery, Digest, EffectError, Envelope, Event, ExecutionId, Fault, ForkPoint, Forked,
    FrameKind, FrameStatus, GivenAnswer, InDoubt, Kind, OnClose, Outcome, Parent, State, Status,
    StepCompleted,
    machine::{Input, Op, Request, Verdict},
};
use serde_json::json;

use crate::{delivery::replays, *};

fn forked(children: &[(&str, &str)]) -> Event {
    let from = ForkPoint { execution: "origin".parse().unwrap(), events: 0 };
    let children: BTreeMap<_, ExecutionId> =
        children.iter().map(|(frame, child)| (id(frame), child.parse().unwrap())).collect();
    Event::ExecutionForked(Forked { children, ..Forked::at(from) })
}

/// The first events of a log, and what is put behind them.
fn branch(log: &[Envelope], cut: usize, then: Vec<Event>) -> Vec<Envelope> {
    let at = log[cut - 1].at;
    let then = then.into_iter().zip(cut as u64..).map(|(mut event, sequence)| {
        if let Event::ExecutionForked(forked) = &mut event {
            forked.from.events = cut as u64;
        }
        envelope(sequence, at, event)
    });
    log[..cut].iter().cloned().chain(then).collect()
}

/// A branch for which every open step was put in doubt, as the runtime does.
fn branch_with_doubts(log: &[Envelope], cut: usize) -> Vec<Envelope> {
    let mut then = vec![forked(&[])];
    for (frame, known) in State::of(&log[..cut]).unwrap().frames {
        let is_open = matches!(known.status, FrameStatus::Open | FrameStatus::BackingOff);
        if is_open && matches!(known.kind, FrameKind::Step { .. }) {
            let (attempt, reason) = (known.attempt, "forked".into());
            then.push(Event::EffectIndoubt(InDoubt { frame, attempt, reason }));
        }
    }
    branch(log, cut, then)
}

fn asking() -> Flow {
    flow(|cx| async move {
        let work = told(step(&cx, "work", json!(0)).await);
        let (answer, charge) = futures_util::future::join(
            gate(&cx, "ask", None),
            step_of(&cx, "charge", Delivery::AtLeastOnce, 3),
        )
        .await;
        ok([work, told(answer), told(charge)])
    })
}

fn whole(flow: &Flow) -> Play {
    let mut play = Play::resume(&started_by("boss", "f"), flow);
    play.done("work", json!("worked"));
    play.answer("ask", json!("origin's"), 1);
    play.done("charge", json!("charged"));
    assert_eq!(play.closed, Some(Status::Completed));
    play
}

#[test]
fn every_branch_folds_replays_and_goes_on_by_itself() {
    let flow = asking();
    let play = whole(&flow);
    for cut in 1..play.log.len() {
        let log = branch_with_doubts(&play.log, cut);
        for seen in 1..=log.len() {
            let reading = Play::reading(&log[..seen], &flow, 9, CODE);
            assert_eq!(reading.state(), &State::of(&log[..seen]).unwrap(), "{cut}: {seen}");
            assert_eq!(reading.machine.fault(), None);
        }
        let mut fork = Play::resume(&log, &flow);
        let origin = fork.state().origin.clone().unwrap();
        assert_eq!((origin.execution.as_str(), origin.events), ("origin", cut as u64));
        let open: Vec<_> = pending(&State::of(&log).unwrap()).into_iter().collect();
        assert!(fork.invoked.iter().all(|(i, _)| !open.contains(&i.frame.to_string())), "{cut}: asked first");
        for _ in 0..10 {
            let in_doubt: Vec<_> = {
                let frames = fork.state().frames.iter();
                frames
                    .filter(|(_, f)| f.status == FrameStatus::InDoubt)
                    .map(|(id, _)| id.to_string())
                    .collect()
            };
            for frame in in_doubt {
                fork.verdict(&frame, Verdict::Done(payload(json!("by verdict"))), 7);
            }
            if fork.state().frames.get(&id("ask")).is_some_and(|f| f.status == FrameStatus::Open) {
                fork.answer("ask", json!("the branch's"), 8);
            }
            fork.pump();
            while let Some(next) = fork.runs().first().cloned() {
                fork.done(&next, json!("again"));
            }
        }
        let answered = play.log[..cut].iter().any(|e| e.event.kind() == Kind::GateAnswered);
        let answer = if answered { "origin's" } else { "the branch's" };
        assert_eq!(fork.output()[1], json!(answer), "{cut}");
        assert_eq!(fork.posted(), [""; 0], "nobody waits for a branch");
        replays(&fork, &flow);
    }
}

#[test]
fn b78_an_open_gate_of_a_branch_is_its_own() {
    let flow = asking();
    let play = whole(&flow);
    let cut = play.told().iter().position(|t| t == "GATE_ANSWERED ask").unwrap();
    let fork = Play::resume(&branch_with_doubts(&play.log, cut), &flow);
    assert_eq!(fork.pending(), ["ask".to_owned(), "charge".to_owned()].into());
}

#[test]
fn a_step_in_doubt_parks_the_branch_until_somebody_says() {
    let flow = asking();
    let play = whole(&flow);
    let cut = play.told().iter().position(|t| t == "STEP_COMPLETED work").unwrap();
    let mut fork = Play::resume(&branch_with_doubts(&play.log, cut), &flow);
    assert!(fork.invoked.is_empty());
    assert_eq!(fork.suspend(), Status::Parked);
    assert_eq!(fork.parked(Fault::InDoubt).frame, Some(id("work")));
    let mut fork = Play::resume(&fork.log, &flow);
    fork.verdict("work", Verdict::Again, 1);
    fork.pump();
    assert_eq!(fork.runs(), ["work"]);
    assert_eq!(fork.running[0].attempt, 2);
}

#[test]
fn an_outcome_that_was_stubbed_is_told_to_the_flow() {
    let flow = asking();
    let play = whole(&flow);
    let cut = play.told().iter().position(|t| t == "STEP_COMPLETED work").unwrap();
    let (frame, output) = (id("work"), payload(json!("stubbed")));
    let stub = Event::StepCompleted(StepCompleted { frame, attempt: 1, output, by: Some("ann".into()) });
    let log = branch(&play.log, cut, vec![forked(&[]), stub]);
    let mut fork = Play::resume(&log, &flow);
    assert_eq!(fork.runs(), ["charge"], "it goes on behind the stub");
    fork.answer("ask", json!(1), 1);
    fork.done("charge", json!(2));
    assert_eq!(fork.output(), json!(["stubbed", 1, 2]));
    replays(&fork, &flow);
}

#[test]
fn what_comes_with_a_fork_is_recorded_wherever_the_cut_is() {
    let flow = asking();
    let play = whole(&flow);
    let by = || "ann".to_owned();
    let answer = GivenAnswer { answer: payload(json!("given")), by: by() };
    for cut in 1..play.log.len() {
        let state = State::of(&play.log[..cut]).unwrap();
        let open = |frame: &str| {
            state.frames.get(&id(frame)).filter(|f| f.status == FrameStatus::Open).map(|f| f.attempt)
        };
        let mut forked = Forked::at(ForkPoint { execution: "origin".parse().unwrap(), events: 0 });
        (forked.by, forked.answers) = (by(), [(id("ask"), answer.clone())].into());
        let mut doubts = Vec::new();
        for frame in ["work", "charge"] {
            let Some(attempt) = open(frame) else { continue };
            let (frame, reason) = (id(frame), Forked::DOUBT.into());
            if frame == id("work") {
                forked.stubs.insert(frame.clone(), Outcome::Completed(payload(json!("stubbed"))));
            } else {
                forked.rerun.insert(frame.clone());
            }
            doubts.push(Event::EffectIndoubt(InDoubt { frame, attempt, reason }));
        }
        doubts.insert(0, Event::ExecutionForked(forked));
        let log = branch(&play.log, cut, doubts);
        let mut fork = Play::resume(&log, &flow);
        fork.flush();
        // Whoever takes it over finds nothing to give any more.
        let mut fork = Play::resume(&fork.log, &flow);
        for _ in 0..4 {
            if let Some(next) = fork.runs().first().cloned() {
                fork.done(&next, json!("again"));
            }
        }
        let was_answered = play.log[..cut].iter().any(|e| e.event.kind() == Kind::GateAnswered);
        assert_eq!(fork.output()[1], json!(if was_answered { "origin's" } else { "given" }), "{cut}");
        if open("work").is_some() {
            assert_eq!(fork.output()[0], json!("stubbed"), "{cut}");
        }
        if let Some(attempt) = open("charge") {
            assert!(fork.state().frames[&id("charge")].attempt > attempt, "{cut}");
        }
        let answers = fork.told().iter().filter(|t| t.starts_with("GATE_ANSWERED")).count();
        assert_eq!(answers, 1, "{cut}");
        replays(&fork, &flow);
    }
}

#[test]
fn b73_b76_children_that_are_not_its_own_are_watched() {
    let flow = parenting();
    let mut play = Play::start(&flow);
    play.flush();
    let from = ForkPoint { execution: "origin".parse().unwrap(), events: 0 };
    let adopted = [(id("b"), "elsewhere".parse().unwrap())].into();
    let forked = Event::ExecutionForked(Forked { adopted, ..Forked::at(from) });
    // In the middle of a pass too: a first child is open, the second is asked for by the branch itself.
    for cut in [play.log.len(), play.log.len() - 1] {
        let forked = match (&forked, cut == play.log.len()) {
            (Event::ExecutionForked(f), false) => Event::ExecutionForked(Forked::at(f.from.clone())),
            (whole, _) => whole.clone(),
        };
        let mut fork = Play::resume(&branch(&play.log, cut, vec![forked]), &flow);
        fork.flush();
        let watched: BTreeMap<_, _> =
            fork.watched.iter().map(|(child, by)| (by.frame.to_string(), child.to_string())).collect();
        let started: Vec<_> = fork.children.iter().map(|c| c.parent.frame.to_string()).collect();
        let whole = [("a", "test:a"), ("b", "elsewhere")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        if cut == play.log.len() {
            assert_eq!((watched, started), (whole.into(), vec![]));
        } else {
            assert_eq!((watched.len(), started), (1, vec!["b".to_owned()]));
        }
        fork.child_done("a", json!(1), 1);
        fork.child_done("b", json!(2), 2);
        fork.pump();
        fork.child_done("c", json!(3), 3);
        fork.pump();
        assert_eq!(fork.output(), json!([1, 2, 3]));
        replays(&fork, &flow);
    }
}

fn parenting() -> Flow {
    flow(|cx| async move {
        let (a, b) =
            futures_util::future::join(child(&cx, "a", OnClose::Cancel), child(&cx, "b", OnClose::Cancel))
                .await;
        ok([told(a), told(b), told(child(&cx, "c", OnClose::Cancel).await)])
    })
}

#[test]
fn b75_b76_a_branch_has_its_own_children() {
    let flow = parenting();
    let mut play = Play::start(&flow);
    play.flush();
    let cut = play.log.len();
    let log = branch(&play.log, cut, vec![forked(&[("a", "branch:a"), ("b", "branch:b")])]);
    let mut fork = Play::resume(&log, &flow);
    let mut started: Vec<_> = fork.children.iter().map(|c| c.child.to_string()).collect();
    started.sort_unstable();
    assert_eq!(started, ["branch:a", "branch:b"]);
    let outcome = Outcome::Completed(payload(json!("the origin's")));
    let theirs = Input::ChildSettled { frame: id("a"), child: "test:a".parse().unwrap(), outcome, item: 1 };
    assert!(matches!(fork.offer(theirs), kernel::machine::Offered::Ignored(_)));
    fork.child_done("a", json!(1), 2);
    fork.child_done("b", json!(2), 3);
    fork.pump();
    fork.child_done("c", json!(3), 4);
    fork.pump();
    assert_eq!(fork.output(), json!([1, 2, 3]));
    replays(&fork, &flow);
}

#[test]
fn b73_a_child_that_has_ended_since_is_stubbed() {
    let flow = parenting();
    let mut play = Play::start(&flow);
    play.flush();
    let outcome = Outcome::Completed(payload(json!("shared")));
    let stub = Event::ChildSettled(ChildSettled { frame: id("a"), outcome });
    let log = branch(&play.log, play.log.len(), vec![forked(&[("b", "branch:b")]), stub]);
    let mut fork = Play::resume(&log, &flow);
    let started: Vec<_> = fork.children.iter().map(|c| c.child.as_str()).collect();
    assert_eq!(started, ["branch:b"]);
    fork.child_done("b", json!(2), 1);
    fork.pump();
    fork.child_done("c", json!(3), 2);
    fork.pump();
    assert_eq!(fork.output(), json!(["shared", 2, 3]));
    replays(&fork, &flow);
}

#[test]
fn a_branch_never_cancels_the_children_of_its_origin() {
    let flow = flow(|cx| async move {
        let both = futures_util::future::join(
            child(&cx, "theirs", OnClose::Cancel),
            child(&cx, "own", OnClose::Cancel),
        );
        let _ = race(both, gate(&cx, "enough", None)).await;
        ok(told(gate(&cx, "ask", None).await))
    });
    for dropped in [true, false] {
        let mut play = Play::start(&flow);
        play.flush();
        let log = branch(&play.log, play.log.len(), vec![forked(&[("own", "branch:own")])]);
        let mut fork = Play::resume(&log, &flow);
        if dropped {
            fork.answer("enough", json!(0), 1);
            fork.flush();
        } else {
            fork.cancel(1);
            fork.pump();
        }
        assert_eq!(fork.posted(), ["cancel:test:own to branch:own"], "dropped: {dropped}");
        replays(&fork, &flow);
        if dropped {
            assert!(Play::resume(&fork.log, &flow).children.is_empty(), "nobody starts theirs again");
        }
    }
}

#[test]
fn a_branch_of_a_parked_suspended_or_cancelled_prefix_runs_and_stays_cancelled() {
    let flow = flow(|cx| async move {
        let won = race(gate(&cx, "ask", None), cx.cancellation(here())).await;
        ok((won.map_or_else(told, told), told(gate(&cx, "last", None).await)))
    });
    let mut play = Play::resume(&started_by("boss", "f"), &flow);
    let by = Parent { execution: "watcher".parse().unwrap(), frame: id("w") };
    play.offer(Input::Watch { by, item: 1 });
    play.suspend();
    let mut play = Play::resume(&play.log, &flow);
    play.cancel(2);
    play.flush();
    play.offer(Input::Fault(kernel::ParkReport::new(Fault::MissingStep, "gone")));
    play.pump();
    assert_eq!(play.closed, Some(Status::Parked));
    for cut in 1..=play.log.len() {
        let log = branch(&play.log, cut, vec![forked(&[])]);
        let state = State::of(&log).unwrap();
        assert_eq!((state.status, &state.parked), (Status::Running, &None), "{cut}");
        let is_cancelled = play.log[..cut].iter().any(|e| e.event.kind() == Kind::CancelRequested);
        assert_eq!(state.cancel.is_some(), is_cancelled, "{cut}");
        assert_eq!((&state.parent, state.watchers.len()), (&None, 0), "{cut}");
        let mut fork = Play::resume(&log, &flow);
        fork.answer("ask", json!(1), 1);
        fork.answer("last", json!(2), 2);
        fork.pump();
        if is_cancelled {
            assert_eq!(fork.closed, Some(Status::Cancelled), "{cut}: the flow was told, and took that path");
        } else {
            assert_eq!(fork.output()[1], json!(2), "{cut}");
        }
        assert_eq!(fork.posted(), [""; 0], "{cut}");
        replays(&fork, &flow);
    }
}

/// What a pass draws is its origin's up to the cut, and its own from there on, wherever in the pass that is.
#[test]
fn a_branch_draws_its_own_entropy_behind_the_cut() {
    let flow = flow(|cx| async move {
        let mut drawn = Vec::new();
        let mut draw = |site: &str| {
            drawn.push(cx.entropy(&id(site)));
            json!(drawn)
        };
        let first = draw("a");
        told(step(&cx, "first", first).await);
        let (b, c) = (draw("b"), draw("c"));
        cx.emit(&id("noted"), here(), "noted", 1, payload(json!(c)));
        draw("d");
        told(step(&cx, "second", json!(b)).await);
        draw("d");
        told(gate(&cx, "ask", None).await);
        ok(json!(drawn))
    });
    let finish = |mut play: Play| {
        for frame in ["first", "second"] {
            if play.runs().iter().any(|runs| runs == frame) {
                play.done(frame, json!(0));
            }
        }
        play.answer("ask", json!(0), 1);
        play.pump();
        replays(&play, &flow);
        let mut drawn: Vec<serde_json::Value> = serde_json::from_value(play.output()).unwrap();
        drawn.drain(..).map(|bytes| bytes.to_string()).collect::<Vec<_>>()
    };
    let mut origin = Play::start(&flow);
    origin.flush();
    origin.done("first", json!(0));
    origin.done("second", json!(0));
    let log = origin.log.clone();
    let theirs = finish(origin);
    let kinds: Vec<_> = log.iter().map(|e| e.event.kind()).collect();
    let at = |kind| kinds.iter().position(|k| *k == kind).unwrap();
    let (told, noted) = (at(Kind::StepCompleted), at(Kind::Domain));
    assert!(told < noted && noted + 1 < log.len(), "{kinds:?}");
    // How many draws are the origin's: all before the cut, and in its pass those before what the log holds of it.
    for (cut, kept) in [(1, 0), (told, 1), (told + 1, 1), (noted + 1, 3), (noted + 2, 4)] {
        let forks = ["x", "y"].map(|seed| {
            let from = ForkPoint { execution: "origin".parse().unwrap(), events: 0 };
            let seed = Some(Digest::of(seed.as_bytes()));
            let rerun = ["first", "second"].map(id).into();
            let mut then = vec![Event::ExecutionForked(Forked { seed, rerun, ..Forked::at(from) })];
            for (frame, f) in State::of(&log[..cut]).unwrap().frames {
                if f.status == FrameStatus::Open && matches!(f.kind, FrameKind::Step { .. }) {
                    then.push(Event::EffectIndoubt(InDoubt { frame, attempt: 1, reason: "forked".into() }));
                }
            }
            finish(Play::resume(&branch(&log, cut, then), &flow))
        });
        for (n, origin) in theirs.iter().enumerate() {
            let drawn = forks.each_ref().map(|fork| &fork[n]);
            if n < kept {
                assert_eq!(drawn, [origin, origin], "{cut}: draw {n}");
            } else {
                assert!(drawn[0] != origin && drawn[1] != origin && drawn[0] != drawn[1], "{cut}: draw {n}");
            }
        }
    }
}

#[test]
fn a_branch_of_a_later_run_remembers_its_origin_in_the_next() {
    let flow: Flow = std::sync::Arc::new(|cx, input| {
        Box::pin(async move {
            let run: u64 = input.decode().unwrap_or(0);
            told(gate(&cx, "ask", None).await);
            if run == 2 {
                return ok(run);
            }
            cx.continue_as_new(payload(json!(run + 1)));
            std::future::pending().await
        })
    });
    let answer = |play: &mut Play, item| {
        let (run, answer, by) = (play.state().base, payload(json!(item)), "ann".into());
        play.offer(Input::Answer { run, frame: id("ask"), answer, by, item });
        play.pump();
    };
    let mut play = Play::start(&flow);
    answer(&mut play, 1);
    play.flush();
    let mut fork = Play::resume(&branch(&play.log, play.log.len(), vec![forked(&[])]), &flow);
    answer(&mut fork, 2);
    fork.flush();
    let state = fork.state().clone();
    assert_eq!((state.run, state.origin.clone().unwrap().execution.as_str()), (2, "origin"));
    let base = usize::try_from(state.base).unwrap();
    assert_eq!(State::of(&fork.log[base..]).unwrap(), state);
    answer(&mut fork, 3);
    assert_eq!(fork.output(), json!(2));
    replays(&fork, &flow);
}

#[test]
fn a_fork_that_does_not_fit_its_prefix_changes_nothing() {
    let flow = asking();
    let mut play = Play::start(&flow);
    play.flush();
    let state = State::of(&play.log).unwrap();
    for (frame, child) in [("work", "branch:work"), ("nowhere", "branch:x")] {
        let mut after = state.clone();
        let event = envelope(state.next, secs(9), forked(&[(frame, child)]));
        assert!(after.apply(&event).is_err(), "{frame}");
        assert_eq!(after, state);
    }
}

/// Calls an at-most-once step that is refused, or by now is not.
fn calling(refuse: Option<EffectError>) -> Flow {
    flow(move |cx| {
        let refuse = refuse.clone();
        async move {
            let mut call = step_of(&cx, "charge", Delivery::AtMostOnce, 3);
            if let Some(Request { op: Op::Step { refuse: refused, .. }, .. }) = call.request_mut() {
                *refused = refuse;
            }
            ok([told(call.await)])
        }
    })
}

#[test]
fn a_call_that_was_refused_is_refused_again_and_never_in_doubt() {
    let flow = calling(Some(EffectError::UnknownStep { step: "charge".into() }));
    let mut play = Play::start(&flow);
    play.pump();
    let cut = play.told().iter().position(|t| t == "STEP_STARTED charge").unwrap() + 1;
    assert_eq!(play.output(), json!(["unknown_step"]));
    // A crash between the two events, a fork, and a fork of an earlier release, which put it in doubt.
    let rerun = Event::ExecutionForked(Forked {
        rerun: [id("charge")].into(),
        ..Forked::at(ForkPoint { execution: "origin".parse().unwrap(), events: 0 })
    });
    let doubt = || InDoubt { frame: id("charge"), attempt: 1, reason: Forked::DOUBT.into() };
    for then in [vec![], vec![forked(&[])], vec![rerun, Event::EffectIndoubt(doubt())]] {
        let doubted = then.len() == 2;
        let mut again = Play::resume(&branch(&play.log, cut, then), &flow);
        again.pump();
        assert!(again.invoked.is_empty());
        assert_eq!(again.output(), json!(["unknown_step"]));
        assert_eq!(
            again.told().iter().filter(|t| t.starts_with("EFFECT_INDOUBT")).count(),
            usize::from(doubted)
        );
        assert_eq!(again.told().iter().filter(|t| t.starts_with("STEP_STARTED")).count(), 1);
        replays(&again, &flow);
    }
    let mut parked = Play::resume(&branch_with_doubts(&play.log, cut), &flow);
    parked.verdict("charge", Verdict::Again, 1);
    parked.pump();
    assert_eq!(parked.output(), json!(["unknown_step"]));
}

#[test]
fn a_call_that_was_refused_and_would_not_be_now_is_made() {
    let play = {
        let mut play = Play::start(&calling(Some(EffectError::UnknownStep { step: "charge".into() })));
        play.pump();
        play
    };
    let cut = play.told().iter().position(|t| t == "STEP_STARTED charge").unwrap() + 1;
    let flow = calling(None);
    let mut again = Play::resume(&branch(&play.log, cut, vec![forked(&[])]), &flow);
    again.pump();
    assert_eq!((again.runs(), again.running[0].attempt), (vec!["charge".to_owned()], 2));
    // From here on it may have happened.
    let taken_over = Play::resume(&again.log, &flow);
    assert!(taken_over.invoked.is_empty());
    assert_eq!(taken_over.state().frames[&id("charge")].status, FrameStatus::InDoubt);
    again.done("charge", json!("charged"));
    assert_eq!(again.output(), json!(["charged"]));
    replays(&again, &flow);
}
