//! Simulations: how an execution would go on, without anything that happens.
//! Not forks: those are created, and run.

use loom::{
    App, Ask, Asker, ForkError, Grant, Handle, Registry, Simulation, Status,
    kernel::{Fault, FrameKind, Outcome, Payload},
    prelude::*,
};

use crate::{
    decisions::choose,
    support::{Rig, World, id, in_short, log, on_every_store, registry, until},
};

/// Nobody survives it outside the origin's life.
#[step]
async fn act(step: StepCx, world: Res<World>, what: String) -> loom::Result<String> {
    assert!(world.count("over") == 0, "the body of a simulated step is never called");
    world.hit(format!("{what} of {}", step.execution()));
    if what == "fails" { Err(loom::Error::msg("as it did")) } else { Ok(format!("{what} done")) }
}

#[flow]
async fn child(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.run(act(format!("child {n}"))).await?;
    Ok(n * 2)
}

#[flow]
async fn planning(ctx: Ctx) -> loom::Result<String> {
    let first = ctx.run(act("first".into())).id("first").await?;
    let plan = ctx.suspend::<String>("plan").timeout(days(2)).await.unwrap_or_else(|_| "none".into());
    ctx.sleep(hours(1)).await;
    let second = ctx.run(act(plan.clone())).id("second").await.unwrap_or_else(|error| error.to_string());
    let twice = ctx.call(child(if plan == "other" { 2 } else { 1 })).await?;
    let started = ctx.now();
    let said = select! {
        said = ctx.receive::<String>("said") => said,
        () = ctx.sleep(days(300)).id("patience") => format!("nothing for {} days", ctx.now().since(started).as_secs() / 86_400),
    };
    Ok(format!("{first}, {second}, {twice}, {said}"))
}

/// Two choices in a loop, one in a part beside a step that needs no choice, a budget.
#[flow]
async fn choosing(ctx: Ctx, salt: String) -> loom::Result<Vec<u64>> {
    ctx.suspend::<bool>("go").await?;
    let mut chosen = Vec::new();
    for _ in 0..2 {
        let salt = salt.clone();
        chosen.push(ctx.decide("pick", move || u64::from(choose(&salt))).await);
    }
    let (last, acted) = join!(ctx.part("more", choose_more(salt)), ctx.run(act("beside".into())));
    acted?;
    chosen.extend([last, ctx.negotiate_budget("tokens", Ask::new("tokens", 100)).await.granted]);
    ctx.sleep(millis(5)).await;
    Ok(chosen)
}

#[flow(part)]
async fn choose_more(ctx: Ctx, salt: String) -> u64 {
    ctx.decide("pick", move || u64::from(choose(&salt))).await
}

/// A choice, a step or an hour, whichever comes first.
#[flow]
async fn hurried(ctx: Ctx, salt: String) -> loom::Result<String> {
    ctx.suspend::<bool>("go").await?;
    let by_choice = async { ctx.decide("choice", move || choose(&salt)).await.to_string() };
    let first = select! {
        chosen = by_choice => chosen,
        acted = ctx.run(act("hurried".into())) => acted?,
        () = ctx.sleep(hours(1)) => "late".into(),
    };
    ctx.suspend::<bool>("after").await?;
    Ok(first)
}

fn all() -> Registry {
    registry!(flows: [planning, child, quick, choosing, hurried], steps: [act])
}

/// An execution that has ended, after which no step may run. Its long sleep was not waited for.
async fn planned(rig: &Rig, plan: &str) -> (App, Handle<planning>) {
    let app = rig.app(all()).await;
    let handle = app.start(planning()).id("o").await.unwrap();
    handle.until(&[Status::Suspended]).await.unwrap();
    handle.resume("plan", plan, "ann").await.unwrap();
    let asleep = || async { handle.state().await.unwrap().frames.len() == 3 };
    until(asleep).await;
    handle.cancel("over", "ann").await.unwrap();
    handle.until(&[]).await.unwrap();
    rig.world.hit("over");
    (app, handle)
}

fn came_to<T: serde::de::DeserializeOwned>(simulation: &Simulation) -> T {
    match &simulation.outcome {
        Some(Outcome::Completed(output)) => output.decode().unwrap(),
        other => panic!("{other:?}: asked {:?}, {:?}", simulation.asked, simulation.state.parked),
    }
}

fn output(simulation: &Simulation) -> String {
    came_to(simulation)
}

fn numbers(simulation: &Simulation) -> Vec<u64> {
    came_to(simulation)
}

fn asked(simulation: &Simulation) -> Vec<&str> {
    simulation.asked.iter().map(|asked| asked.frame.as_str()).collect()
}

on_every_store! {
    async fn nothing_happens_and_nothing_is_written(rig: Rig) {
        let (app, origin) = planned(&rig, "good").await;
        let (rows, gates) = (app.list(&Default::default()).await.unwrap(), app.gates(None).await.unwrap());
        let (before, world) = (log(&app, origin.id()).await, rig.world.all());
        for cut in 1..before.len() as u64 {
            let simulate = || {
                let simulate = origin.simulate().at(cut).gate("plan", "other");
                simulate.stub("second", "second done").stub("child", &7).stub("act", "any").unanswered("said")
            };
            let simulation = simulate().run().await.unwrap();
            let plan = if cut > 4 { "" } else { ", second done, 7" };
            assert!(output(&simulation).contains(plan), "{cut}: {simulation:?}");
            assert!(output(&simulation).ends_with("nothing for 300 days"), "{cut}");
            assert_eq!(simulate().run().await.unwrap(), simulation, "the same again");
            loom::replay_check(&all(), &simulation.log).unwrap();
            assert_eq!(simulation.state, loom::kernel::State::of(&simulation.log).unwrap());
        }
        assert_eq!(app.list(&Default::default()).await.unwrap(), rows);
        assert_eq!(app.gates(None).await.unwrap(), gates);
        assert_eq!((log(&app, origin.id()).await, rig.world.all()), (before, world));
    }

    async fn what_nobody_answers_stops_it_and_is_asked(rig: Rig) {
        let (app, origin) = planned(&rig, "good").await;
        // The first step is answered from the log, the gate is not.
        let simulation = origin.simulate().at(1).run().await.unwrap();
        assert_eq!(asked(&simulation), ["plan"]);
        assert_eq!((&simulation.outcome, simulation.state.status), (&None, Status::Running));
        assert!(matches!(&simulation.asked[0].kind, FrameKind::Gate { gate } if gate == "plan"));
        let timed = origin.simulate().at(1).unanswered("plan").run().await.unwrap();
        assert_eq!(asked(&timed), ["second"], "the gate has expired, two days later");
        assert_eq!(timed.asked[0].input.as_ref().unwrap().as_str(), r#"{"what":"none"}"#);
        let copied = app.simulate(&id("o")).at(1).copy_answers().run().await.unwrap();
        assert_eq!(copied.asked[0].input.as_ref().unwrap().as_str(), r#"{"what":"good"}"#);
        // By a closure, which is asked once for each, and may not know.
        let by = |known: bool| {
            let calls = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
            let seen = calls.clone();
            let simulate = origin.simulate().at(1).gate("plan", "other").answer(move |invoke| {
                seen.lock().unwrap().push((invoke.frame.to_string(), invoke.input.as_str().to_owned()));
                known.then(|| Payload::encode("made up").unwrap())
            });
            (simulate, calls)
        };
        let (simulate, calls) = by(false);
        assert_eq!(asked(&simulate.run().await.unwrap()), ["second"]);
        assert_eq!(calls.lock().unwrap().len(), 1);
        let (simulate, calls) = by(true);
        let simulation = simulate.run().await.unwrap();
        assert_eq!(asked(&simulation), ["child"]);
        assert_eq!(calls.lock().unwrap()[0], ("second".to_owned(), r#"{"what":"other"}"#.to_owned()));
        let (simulate, _) = by(true);
        let simulation = simulate.stub("child", &7).run().await.unwrap();
        assert_eq!(asked(&simulation), ["said"], "a message is asked for, though a timer would end the wait");
        let (simulate, _) = by(true);
        let simulation = simulate.stub("child", &7).message("said", "hello").run().await.unwrap();
        assert_eq!(output(&simulation), "first done, made up, 7, hello");
    }

    /// The origin's outcomes answer, failures and children too, but only for the same step with the same input.
    async fn the_log_answers_what_it_has_answered(rig: Rig) {
        let app = rig.builder(all(), &Default::default()).await.runtime_clock().build().unwrap();
        let origin = app.start(quick("fails".into())).id("o").await.unwrap();
        let told = origin.result().await.unwrap();
        rig.world.hit("over");
        let world = rig.world.all();
        let end = app.row(origin.id()).await.unwrap().next;
        for cut in 1..end {
            let simulation = origin.simulate().at(cut).run().await.unwrap();
            assert_eq!(output(&simulation), told, "{cut}");
        }
        let stubbed = origin.simulate().at(1).stub("act", "stub").run().await.unwrap();
        assert_eq!(asked(&stubbed), ["child"], "the input of the child is another one");
        assert_eq!(rig.world.all(), world);
    }

    /// The flow's own closures never run, unless that is asked for: a stub, the log or a closure chooses.
    async fn decisions_are_answered_and_not_made(rig: Rig) {
        let salt = format!("simulated {:?}", rig.name());
        let builder = rig.builder(all(), &Default::default()).await;
        let app = builder.budgets(|ask: &Ask, _: &Asker| ask.amount / 2).build().unwrap();
        let origin = app.start(choosing(salt.clone())).id("o").await.unwrap();
        origin.until(&[Status::Suspended]).await.unwrap();
        // Before it has chosen anything, nobody knows what it will; what needs no choice goes on beside it.
        let first = origin.simulate().gate("go", &true).run().await.unwrap();
        assert_eq!((asked(&first), &first.outcome), (vec!["pick#0"], &None));
        assert_eq!((&first.asked[0].kind, &first.asked[0].input), (&FrameKind::Decision, &None));
        assert_eq!((first.state.status, &first.state.parked), (Status::Running, &None));
        let second = origin.simulate().gate("go", &true).stub("pick#0", &7).run().await.unwrap();
        assert_eq!(asked(&second), ["pick#1"]);
        let third = origin.simulate().gate("go", &true).stub("pick#0", &7).stub("pick#1", &8).run().await.unwrap();
        assert_eq!(asked(&third), ["act", "more/pick"]);
        let stubbed = || origin.simulate().gate("go", &true).stub("pick", &7).stub("act", "stub");
        assert_eq!(numbers(&stubbed().run().await.unwrap()), [7, 7, 7, 100]);
        let less = stubbed().stub("tokens", &Grant { resource: "tokens".into(), asked: 100, granted: 3 });
        let less = less.run().await.unwrap();
        assert_eq!(numbers(&less), [7, 7, 7, 3]);
        assert_eq!(less.state, loom::kernel::State::of(&less.log).unwrap());
        assert_eq!(choose(&salt), 1, "no closure ran");
        // By a closure, which may not know.
        let by = |known: &'static str| {
            let simulate = origin.simulate().gate("go", &true).stub("act", "stub");
            simulate.decide(move |frame| Payload::encode(&9).ok().filter(|_| frame.base() == known))
        };
        assert_eq!(numbers(&by("pick").run().await.unwrap()), [9, 9, 9, 100]);
        assert_eq!(asked(&by("another").run().await.unwrap()), ["pick#0"]);
        assert_eq!(choose(&salt), 2, "no closure ran");
        // What does not fit is a fault of the simulation's.
        let wrong = stubbed().stub("pick", "text").run().await.unwrap();
        assert_eq!(wrong.state.parked.map(|report| report.fault), Some(Fault::Undecodable));
        // Only if it is let, the flow chooses what nobody else does.
        let own = origin.simulate().gate("go", &true).stub("pick#1", &7).stub("act", "stub").run_decisions();
        assert_eq!(numbers(&own.run().await.unwrap()), [3, 7, 4, 100]);
        // From its own log, once it has chosen. The negotiator's word is in there too.
        origin.resume("go", &true, "ann").await.unwrap();
        assert_eq!(origin.result().await.unwrap(), [5, 6, 7, 50]);
        rig.world.hit("over");
        let end = app.row(origin.id()).await.unwrap().next;
        for cut in 1..end {
            let simulation = origin.simulate().at(cut).copy_answers().gate("go", &true).run().await.unwrap();
            assert_eq!(numbers(&simulation), [5, 6, 7, 50], "{cut}");
        }
        assert_eq!(choose(&salt), 8, "no closure ran");
    }

    /// It is a question like any other: timers wait for it, and it is gone when the flow drops it.
    async fn a_decision_that_nobody_makes_is_waited_for(rig: Rig) {
        let app = rig.app(all()).await;
        let origin = app.start(hurried(format!("hurried {:?}", rig.name()))).id("o").await.unwrap();
        origin.until(&[Status::Suspended]).await.unwrap();
        let simulate = || origin.simulate().gate("go", &true);
        assert_eq!(asked(&simulate().run().await.unwrap()), ["act", "choice"]);
        let dropped = simulate().stub("act", "acted").run().await.unwrap();
        assert_eq!(asked(&dropped), ["after"]);
        let ended = simulate().stub("act", "acted").gate("after", &true).run().await.unwrap();
        assert_eq!(output(&ended), "acted");
        let late = simulate().unanswered("act").unanswered("choice").gate("after", &true).run().await.unwrap();
        assert_eq!(output(&late), "late");
        assert_eq!(late.state, loom::kernel::State::of(&late.log).unwrap());
    }

    async fn mistakes_are_told(rig: Rig) {
        let (app, origin) = planned(&rig, "good").await;
        let wrong = origin.simulate().at(1).gate("plan", &7).run().await.unwrap_err();
        assert!(matches!(&wrong, ForkError::Invalid { frame, .. } if frame.as_str() == "plan"), "{wrong}");
        let wrong = origin.simulate().at(1).gate("plan", "x").stub("second", &7).run().await.unwrap_err();
        assert!(matches!(&wrong, ForkError::Invalid { frame, .. } if frame.as_str() == "second"), "{wrong}");
        assert!(matches!(origin.simulate().at(99).run().await, Err(ForkError::Cut { .. })));
        assert!(matches!(app.simulate(&id("nobody")).run().await, Err(ForkError::Unknown(_))));
        let unused = origin.simulate().at(1).stub("secnd", "x").gate("plan", "x").run().await.unwrap();
        assert_eq!(unused.unused, ["secnd"]);
        let other = rig.builder(registry!(flows: [child], steps: [act]), &Default::default()).await;
        let other = other.build().unwrap();
        let error = other.simulate(origin.id()).run().await.unwrap_err();
        assert!(error.to_string().contains("no flow `planning`; it has: child"), "{error}");
        // Code that no longer fits the log says so, and nothing is parked but the simulation.
        let changed = registry!(flows: [changed::planning], steps: [act]);
        let other = rig.builder(changed, &Default::default()).await.build().unwrap();
        let simulation = other.simulate(origin.id()).at(5).run().await.unwrap();
        assert_eq!(simulation.state.parked.as_ref().map(|report| report.fault), Some(Fault::Divergence));
        assert!(simulation.asked.is_empty() && simulation.outcome.is_none());
        let shape: Vec<_> = simulation.log.iter().map(|e| in_short(&e.event)).collect();
        assert_eq!(shape.last().unwrap(), "EXECUTION_PARKED");
    }
}

mod changed {
    use super::*;

    #[flow]
    pub(super) async fn planning(ctx: Ctx) -> loom::Result<String> {
        ctx.suspend::<String>("another").await.map_err(loom::Error::from)
    }
}

/// Ends without waiting for anybody.
#[flow]
async fn quick(ctx: Ctx, what: String) -> loom::Result<String> {
    let acted = ctx.run(act(what)).await.unwrap_or_else(|error| error.to_string());
    let n = u32::try_from(acted.len())?;
    let twice = ctx.call(child(n)).await?;
    Ok(format!("{acted}, {twice}"))
}
