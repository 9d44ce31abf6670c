//! Random flows under random schedules: the standing properties of the machine.
//! Not named flows: those are in the other modules, each with what it is an example of.

use std::collections::BTreeMap;

use kernel::{Event, State, Status};
use proptest::{prelude::*, strategy::ValueTree};

use crate::{
    program::{Program, Trace, any_program, flow_of},
    world::{World, in_run},
    *,
};

/// More cases with `LOOM_KERNEL_CASES=1000`.
#[allow(clippy::disallowed_methods, reason = "a test's own setting")]
fn cases(few: u32) -> ProptestConfig {
    let cases = std::env::var("LOOM_KERNEL_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(few);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 2000, ..ProptestConfig::default() }
}

fn value(log: &[kernel::Envelope]) -> serde_json::Value {
    match &log.last().unwrap().event {
        Event::ExecutionCompleted(e) => e.output.decode::<serde_json::Value>().unwrap()["value"].clone(),
        other => panic!("ends with {other:?}"),
    }
}

/// Runs a program to its end under one schedule.
fn history(program: &Program, seed: u64, crash_odds: Option<usize>) -> (World, Flow, Trace) {
    let trace = Trace::default();
    let flow = flow_of(program, &trace);
    let mut world = World::new(&flow, seed);
    world.crash_odds = crash_odds;
    assert_eq!(world.run(), Status::Completed);
    (world, flow, trace)
}

fn ends(event: &Event) -> bool {
    matches!(event, Event::ExecutionCompleted(_) | Event::ExecutionFailed(_) | Event::ExecutionCancelled(_))
}

fn is_last_attempt(frame: &kernel::Frame) -> bool {
    let broken = matches!(&frame.kind, kernel::FrameKind::Step { step, .. } if step == "broken");
    broken && frame.status == kernel::FrameStatus::Open && frame.attempt == 2
}

fn assert_bodies(world: &World) {
    let mut allowed: BTreeMap<String, u32> = BTreeMap::new();
    let mut at_most_once = Vec::new();
    let mut run = 0;
    for event in &world.log {
        match &event.event {
            Event::ContinuedAsNew(e) => run = e.run,
            Event::StepStarted(e) if e.attempt == 1 && e.delivery == kernel::Delivery::AtMostOnce => {
                at_most_once.push(in_run(run, &e.frame));
            }
            // Its outcome is known, and the policy asks for another attempt.
            Event::StepFailed(e) if e.retry_at.is_some() => {
                *allowed.entry(in_run(run, &e.frame)).or_default() += 1
            }
            _ => {}
        }
    }
    for frame in at_most_once {
        let ran = world.bodies.get(&frame).copied().unwrap_or(0);
        let again = world.again.get(&frame).copied().unwrap_or(0);
        let allowed = 1 + again + allowed.get(&frame).copied().unwrap_or(0);
        assert!(ran <= allowed, "`{frame}` ran {ran} times, at most {allowed} allowed");
    }
}

/// The same program beside children: one that is awaited, one that loses a race, and one that each run leaves behind.
fn with_children(Program { runs, mut leaves, node }: Program) -> Program {
    use crate::program::{How, Node};
    let child = |how| Node::Child(how, kernel::OnClose::Cancel);
    let lost =
        Node::Race(Box::new(child("broken")), Box::new(Node::Step("ok", kernel::Delivery::AtLeastOnce)));
    leaves.push(child("ok"));
    Program { runs, leaves, node: Node::Join(How::All, vec![node, lost, child("ok")]) }
}

/// How often an owner has let go of an end that waited.
fn waits_for_children(log: &[kernel::Envelope]) -> usize {
    let (mut ending, mut waits) = (false, 0);
    for envelope in log {
        match envelope.event.kind() {
            Kind::ExecutionEnding => ending = true,
            Kind::ContinuedAsNew => ending = false,
            Kind::ExecutionSuspended if ending => waits += 1,
            _ => {}
        }
    }
    waits
}

proptest! {
    #![proptest_config(cases(24))]

    /// B22 and B21: whatever the flow and the schedule, every prefix of the log folds, replays without a fault, asks
    /// for what was pending then, and goes on to the same end.
    #[test]
    fn b21_b22_every_prefix_replays(program in any_program(), seed: u64, crashing: bool) {
        let (world, flow, _) = history(&program, seed, crashing.then_some(25));
        let end = value(&world.log);
        // Of a long log, as many prefixes as time allows; which ones, the seed says.
        let stride = world.log.len() / 60 + 1;
        let first = 1 + usize::try_from(seed % stride as u64).unwrap();
        for cut in (first..=world.log.len()).step_by(stride) {
            let prefix = &world.log[..cut];
            let folded = State::of(prefix).unwrap();
            // The last run alone says as much as the whole.
            let run = &prefix[usize::try_from(folded.base).unwrap()..];
            prop_assert_eq!(&State::of(run).unwrap(), &folded);
            let alone = Play::reading(run, &flow, 1_000, CODE);
            prop_assert_eq!(alone.state(), &folded);
            prop_assert_eq!(alone.machine.fault(), None);
            let mut play = Play::reading(prefix, &flow, 1_000, CODE);
            prop_assert_eq!(play.state(), &folded);
            if cut == world.log.len() {
                continue;
            }
            play.live();
            prop_assert_eq!(&play.state().parked, &None);
            let pending = play.pending();
            drop(play);
            match world.quiet.get(&(cut as u64)) {
                // A crash in its last attempt settles a step, and so moves the flow on.
                _ if folded.frames.values().any(is_last_attempt) => {}
                None => {}
                Some(then) => prop_assert_eq!(then, &pending),
            }
            let mut continued = World::over(prefix.to_vec(), &flow, seed ^ cut as u64);
            prop_assert_eq!(continued.run(), Status::Completed);
            prop_assert_eq!(value(&continued.log), end.clone());
            for (frame, _) in folded.frames.iter().filter(|(_, f)| f.settled.is_some()) {
                let ran = continued.bodies.contains_key(&in_run(folded.run, frame));
                prop_assert!(!ran, "`{}` ran again", frame);
            }
        }
    }

    /// Owners that die anywhere, any number of times, change nothing of the end; what is settled stays settled, and no
    /// at-most-once body runs again unless a person said so.
    #[test]
    fn crashes_anywhere_change_nothing(program in any_program(), seed: u64) {
        let (calm, ..) = history(&program, seed, None);
        let end = value(&calm.log);
        for odds in [4, 10, 30] {
            let flow = flow_of(&program, &Trace::default());
            let mut world = World::new(&flow, seed.wrapping_add(odds));
            (world.crash_odds, world.hand_backs) = (Some(odds as usize), odds != 4);
            prop_assert_eq!(world.run(), Status::Completed);
            prop_assert_eq!(value(&world.log), end.clone());
            assert_bodies(&world);
        }
    }

    /// The same, with one crash at every single point of a history.
    #[test]
    fn a_crash_at_every_point_changes_nothing(program in any_program(), seed: u64) {
        let (calm, flow, _) = history(&program, seed, None);
        let end = value(&calm.log);
        let stride = usize::try_from(calm.points / 60 + 1).unwrap();
        for point in (1..=calm.points).step_by(stride) {
            let mut world = World::new(&flow, seed);
            world.crash_at = Some(point);
            prop_assert_eq!(world.run(), Status::Completed);
            prop_assert_eq!(value(&world.log), end.clone());
            assert_bodies(&world);
        }
    }

    /// B19: what the flow saw, in order and with its instants, is the same on replay as it was live.
    #[test]
    fn b19_live_order_is_replay_order(program in any_program(), seed: u64, crashing: bool) {
        let (world, flow, trace) = history(&program, seed, crashing.then_some(25));
        let live = std::mem::take(&mut *trace.lock().unwrap());
        for _ in 0..2 {
            let play = Play::reading(&world.log, &flow, 1_000, CODE);
            prop_assert_eq!(play.state(), &State::of(&world.log).unwrap());
            prop_assert_eq!(&*trace.lock().unwrap(), &live);
        }
    }

    /// B30 and B68: a cancel at any point ends it, once; what ran then is revoked, and in doubt where that matters.
    #[test]
    fn b30_b68_a_cancel_at_any_point_ends_it(program in any_program(), seed: u64, crashing: bool) {
        let (calm, flow, trace) = history(&program, seed, None);
        let stride = usize::try_from(calm.points / 30 + 1).unwrap();
        for point in (1..=calm.points).step_by(stride) {
            let mut world = World::new(&flow, seed);
            world.cancel_at = Some(point);
            world.crash_odds = crashing.then_some(30);
            let status = world.run();
            prop_assert!(matches!(status, Status::Completed | Status::Cancelled));
            prop_assert_eq!(world.log.iter().filter(|e| ends(&e.event)).count(), 1);
            assert_bodies(&world);
            let state = State::of(&world.log).unwrap();
            let play = Play::reading(&world.log, &flow, 1_000, CODE);
            prop_assert_eq!(play.state(), &state);
            prop_assert_eq!(play.machine.fault(), None);
        }
        drop(trace);
    }

    /// B69 and B70: whoever owns it and whenever it is cancelled, it does not end, nor go on as new, while a child lives
    /// that does not go on by itself: [`World`] looks at every append. And what it comes to is the same.
    #[test]
    fn b69_b70_no_end_while_a_child_lives(program in any_program().prop_map(with_children), seed: u64) {
        let flow = flow_of(&program, &Trace::default());
        let run = |cancel_at, crash_odds| {
            let mut world = World::new(&flow, seed);
            (world.slow_children, world.hand_backs) = (true, true);
            (world.cancel_at, world.crash_odds) = (cancel_at, crash_odds);
            (world.run(), world)
        };
        let (status, calm) = run(None, None);
        prop_assert_eq!(status, Status::Completed);
        let (status, crashing) = run(None, Some(15));
        prop_assert_eq!((status, value(&crashing.log)), (Status::Completed, value(&calm.log)));
        let stride = usize::try_from(calm.points / 20 + 1).unwrap();
        for point in (1..=calm.points).step_by(stride) {
            for odds in [None, Some(15)] {
                let (_, cancelled) = run(Some(point), odds);
                let play = Play::reading(&cancelled.log, &flow, 1_000, CODE);
                prop_assert_eq!(play.state(), &State::of(&cancelled.log).unwrap());
                prop_assert_eq!(play.machine.fault(), None);
            }
        }
    }

    /// A cancel by force ends it too, at any point; it waits for no child.
    #[test]
    fn a_cancel_by_force_at_any_point_ends_it(program in any_program(), seed: u64, before in 0..20_u64) {
        let (calm, flow, _) = history(&program, seed, None);
        let stride = usize::try_from(calm.points / 20 + 1).unwrap();
        for point in (1..=calm.points).step_by(stride) {
            let mut world = World::new(&flow, seed);
            (world.cancel_at, world.force_at) = (Some(point.saturating_sub(before)), Some(point));
            world.crash_odds = Some(30);
            world.run();
            prop_assert_eq!(world.log.iter().filter(|e| ends(&e.event)).count(), 1);
            let play = Play::reading(&world.log, &flow, 1_000, CODE);
            prop_assert_eq!(play.state(), &State::of(&world.log).unwrap());
            prop_assert_eq!(play.machine.fault(), None);
        }
    }

    /// B49: answers that come before their gates are kept until the gates open, whoever owns the execution then.
    #[test]
    fn b49_early_answers_are_kept(program in any_program(), seed: u64) {
        let (calm, flow, _) = history(&program, seed, None);
        let mut world = World::new(&flow, !seed);
        let first_run = calm.log.iter().take_while(|e| e.event.kind() != Kind::ContinuedAsNew);
        for event in first_run.filter(|e| e.event.kind() == Kind::GateOpened) {
            world.answer(0, event.event.frame().unwrap().as_str());
        }
        world.crash_odds = Some(20);
        prop_assert_eq!(world.run(), Status::Completed);
        prop_assert_eq!(value(&world.log), value(&calm.log));
    }
}

/// The generator and the schedules reach what the properties are about.
#[test]
fn random_histories_reach_every_kind_of_event() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut kinds: BTreeMap<Kind, u32> = BTreeMap::new();
    let mut lengths = Vec::new();
    for seed in 0..200 {
        let program = any_program().new_tree(&mut runner).unwrap().current();
        let (world, flow, _) = history(&program, seed, Some(20));
        lengths.push(world.log.len());
        let mut cancelled = World::new(&flow, seed);
        cancelled.cancel_at = Some(world.points / 2);
        cancelled.run();
        for event in world.log.iter().chain(&cancelled.log) {
            *kinds.entry(event.event.kind()).or_default() += 1;
        }
    }
    for kind in [
        Kind::ExecutionSuspended,
        Kind::ExecutionResumed,
        Kind::ExecutionParked,
        Kind::StepStarted,
        Kind::StepCompleted,
        Kind::StepFailed,
        Kind::StepAbandoned,
        Kind::DecisionRecorded,
        Kind::TimerSet,
        Kind::TimerFired,
        Kind::GateOpened,
        Kind::GateAnswered,
        Kind::GateExpired,
        Kind::EffectIndoubt,
        Kind::Domain,
        Kind::MessageAwaited,
        Kind::MessageReceived,
        Kind::MessageDeadLettered,
        Kind::MessageSent,
        Kind::ChildStarted,
        Kind::ChildSettled,
        Kind::OutcomeDiscarded,
        Kind::CancelRequested,
        Kind::ExecutionCancelled,
        Kind::ExecutionEnding,
        Kind::ChangeMarked,
        Kind::ContinuedAsNew,
    ] {
        assert!(kinds.get(&kind).copied().unwrap_or(0) > 10, "{}: {kinds:?}", kind.name());
    }
    let waited = (0..40).filter(|seed| {
        let program = with_children(any_program().new_tree(&mut runner).unwrap().current());
        let mut world = World::new(&flow_of(&program, &Trace::default()), *seed);
        (world.slow_children, world.cancel_at) = (true, Some(12));
        world.run();
        waits_for_children(&world.log) > 0
    });
    let waited = waited.count();
    assert!(waited > 10, "{waited} times an owner let go while the end waited");
    lengths.sort_unstable();
    assert!(lengths[100] >= 20 && lengths[199] >= 80, "{lengths:?}");
}
