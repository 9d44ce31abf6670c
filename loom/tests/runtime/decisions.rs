//! What a flow decides, draws, tells and drops: the same on every replay, and once.
//! Not the failures of steps: those are in `retries.rs`.

use std::{collections::BTreeMap, sync::Mutex};

use futures_util::FutureExt;
use loom::{ExecutionError, Status, kernel::Event, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{
    Process, Rig, World, around_every_append, count, id, log, on_every_store, registry, told, until,
};

#[event(name = "noted")]
#[derive(Serialize, Deserialize, JsonSchema)]
struct Noted {
    turn: u32,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Drawn {
    uuids: Vec<String>,
    numbers: Vec<f64>,
    instants: Vec<i64>,
}

/// What the world sees of a value; the flow's own memory is not to be trusted here.
#[step]
async fn show(world: Res<World>, drawn: Drawn) -> loom::Result<Drawn> {
    world.hit(format!("show {}", serde_json::to_string(&drawn)?));
    Ok(drawn)
}

fn draw(drawn: &mut Drawn, uuid: loom::Uuid, number: f64, now: Timestamp) {
    drawn.uuids.push(uuid.to_string());
    drawn.numbers.push(number);
    drawn.instants.push(now.as_micros());
}

/// Draws at five positions, with a wait after each of them.
#[flow]
async fn drawing(ctx: Ctx) -> loom::Result<Drawn> {
    let mut drawn = Drawn { uuids: Vec::new(), numbers: Vec::new(), instants: Vec::new() };
    for _ in 0..5 {
        draw(&mut drawn, ctx.uuid(), ctx.random(), ctx.now());
        let shown = ctx.run(show(drawn.clone())).await?;
        if shown != drawn {
            return Err(loom::Error::msg("drawn anew"));
        }
        ctx.suspend::<bool>("turn").await?;
    }
    Ok(drawn)
}

#[flow]
async fn deciding(ctx: Ctx, salt: String) -> loom::Result<u32> {
    let chosen = ctx.decide("branch", move || choose(&salt)).await;
    ctx.emit(&Noted { turn: 1 });
    ctx.suspend::<bool>("one").await?;
    ctx.emit(&Noted { turn: 2 });
    ctx.suspend::<bool>("two").await?;
    Ok(chosen)
}

/// Two facts before the gate, from one place in a loop, one from a part, one after the gate.
#[flow]
async fn telling(ctx: Ctx) -> loom::Result<u32> {
    for turn in 0..2 {
        ctx.emit(&Noted { turn });
    }
    ctx.part("more", tell_more()).await;
    ctx.suspend::<bool>("go").await?;
    ctx.emit(&Noted { turn: 3 });
    Ok(4)
}

#[flow(part)]
async fn tell_more(ctx: Ctx) {
    ctx.emit(&Noted { turn: 2 });
}

/// How often it was asked, by the salt.
static CHOICES: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// Chooses something else each time.
pub(crate) fn choose(salt: &str) -> u32 {
    let mut choices = CHOICES.lock().unwrap();
    let asked = choices.entry(salt.into()).or_default();
    *asked += 1;
    *asked
}

#[step]
async fn branch(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit(format!("branch {n}"));
    if n == 3 { Err(loom::Error::msg("branch 3 fails")) } else { Ok(n) }
}

/// Five branches, one of which fails; the four results are used after a restart.
#[flow]
async fn branching(ctx: Ctx) -> loom::Result<u32> {
    let results = join_all((0..5_u32).map(|n| ctx.run(branch(n)).key(n))).await;
    ctx.suspend::<bool>("go").await?;
    Ok(results.into_iter().flatten().sum())
}

#[step]
async fn alpha(world: Res<World>) -> loom::Result<u32> {
    world.hit("alpha");
    world.pass("alpha").await;
    Ok(1)
}

#[step]
async fn beta(world: Res<World>) -> loom::Result<u32> {
    world.hit("beta");
    world.pass("beta").await;
    Ok(10)
}

#[step]
async fn gamma(world: Res<World>) -> loom::Result<u32> {
    world.hit("gamma");
    world.pass("gamma").await;
    Ok(100)
}

#[flow]
async fn joining(ctx: Ctx) -> loom::Result<u32> {
    let (a, b, c) = join!(ctx.run(alpha()), ctx.run(beta()), ctx.run(gamma()));
    Ok(a? + b? + c?)
}

/// Waits until it is told to stop, or for ever.
#[step]
async fn loser(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("loser");
    step.cancelled().await;
    world.hit("loser told");
    Ok(0)
}

#[flow]
async fn racing(ctx: Ctx) -> loom::Result<u32> {
    let won = select! {
        lost = ctx.run(loser()) => lost?,
        won = ctx.run(alpha()) => won?,
    };
    Ok(won + ctx.run(beta()).await?)
}

#[step]
async fn unsteady(world: Res<World>) -> loom::Result<u32> {
    world.hit("unsteady");
    assert!(world.count("mended") > 0, "not mended yet");
    Ok(1)
}

/// A step that panics beside one that runs.
#[flow]
async fn panicking(ctx: Ctx) -> loom::Result<u32> {
    let (a, b) = join!(ctx.run(alpha()), ctx.run(unsteady()));
    Ok(a? + b?)
}

fn all() -> loom::Registry {
    registry!(
        flows: [drawing, deciding, branching, joining, racing, panicking, telling],
        steps: [show, branch, alpha, beta, gamma, loser, unsteady]
    )
}

async fn start<F: loom::Flow>(process: &Process, call: impl FnOnce() -> loom::FlowCall<F> + Send + 'static) {
    let app = process.app.clone();
    process.run(async move { app.start(call()).id("run").await.map(drop).unwrap() }).await;
}

on_every_store! {
    /// A fact is in the log once, in its order, wherever the process dies and however often the flow passes it again.
    async fn facts_are_told_once_around_every_crash(rig: Rig) {
        let crashes = around_every_append(
            &rig,
            all,
            |app, run| async move {
                let handle = app.start(telling()).id(run.as_str()).await.unwrap();
                app.work();
                // A third owner, for the pass after a wait.
                handle.until(&[Status::Suspended]).await.unwrap();
                handle.resume("go", &true, "ada").await.unwrap();
                assert_eq!(handle.result().await.unwrap(), 4);
            }.boxed(),
            async |app, run| {
                let log = log(&app, &run).await;
                let facts: Vec<_> = log.iter().filter_map(|envelope| match &envelope.event {
                    Event::Domain(e) => Some((e.frame.as_str(), e.data.decode::<Noted>().unwrap().turn)),
                    _ => None,
                }).collect();
                assert_eq!(facts, [("emit#0", 0), ("emit#1", 1), ("more/emit", 2), ("emit~2", 3)]);
                loom::replay_check(&all(), &log).unwrap();
            },
        ).await;
        assert!(crashes >= 4, "only {crashes}");
    }

    async fn b103_what_is_drawn_is_the_same_after_every_crash(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        start(&process, drawing).await;
        process.app.until(&id("run"), &[Status::Suspended]).await.unwrap();
        process.kill();
        for turn in 0..5 {
            let process = Process::start(&rig, all()).await;
            process.work().await;
            let handle = process.app.handle::<drawing>(&id("run"));
            handle.resume(&format!("turn#{turn}"), &true, "ada").await.unwrap();
            if turn == 4 {
                let drawn = handle.result().await.unwrap();
                assert_eq!(drawn.uuids.len(), 5);
                let distinct: std::collections::BTreeSet<_> = drawn.uuids.iter().collect();
                assert_eq!(distinct.len(), 5, "another one at each position");
            } else {
                until(|| async {
                    count(&told(&process.app, &id("run")).await, "GATE_OPENED") == turn + 2
                }).await;
                process.app.until(&id("run"), &[Status::Suspended]).await.unwrap();
            }
            process.kill();
        }
        // Each of the five values was shown once, whatever was replayed in between.
        assert_eq!(rig.world.all().values().copied().collect::<Vec<_>>(), [1; 5], "{:?}", rig.world.all());
    }

    async fn a_choice_is_made_and_a_fact_told_once(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let salt = rig.name().to_owned();
        let of = salt.clone();
        start(&process, || deciding(of)).await;
        process.app.until(&id("run"), &[Status::Suspended]).await.unwrap();
        process.kill();
        let process = Process::start(&rig, all()).await;
        process.work().await;
        let handle = process.app.handle::<deciding>(&id("run"));
        for gate in ["one", "two"] {
            handle.resume(gate, &true, "ada").await.unwrap();
        }
        let chosen = handle.result().await.unwrap();
        assert_eq!(CHOICES.lock().unwrap()[&salt], 1, "asked once, and never on a replay");
        let told = told(&process.app, &id("run")).await;
        assert_eq!((count(&told, "DECISION_RECORDED"), count(&told, "DOMAIN")), (1, 2), "{told:?}");
        let state = handle.state().await.unwrap();
        let recorded = state.frames.values().find(|f| f.kind == loom::kernel::FrameKind::Decision).unwrap();
        let value = loom::kernel::Outcome::Completed(loom::kernel::Payload::encode(&chosen).unwrap());
        assert_eq!(recorded.outcome, Some(value));
    }

    async fn b72_four_results_are_kept_when_one_branch_fails(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        start(&process, branching).await;
        process.app.until(&id("run"), &[Status::Suspended]).await.unwrap();
        process.kill();
        let process = Process::start(&rig, all()).await;
        process.work().await;
        let handle = process.app.handle::<branching>(&id("run"));
        handle.resume("go", &true, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 1 + 2 + 4);
        assert_eq!(rig.world.all().values().copied().collect::<Vec<_>>(), [1; 5], "{:?}", rig.world.all());
    }

    async fn b02_a_join_of_three_steps_is_recovered_elsewhere_in_whatever_order_they_ended(rig: Rig) {
        let orders = [["alpha", "beta", "gamma"], ["gamma", "beta", "alpha"], ["beta", "gamma", "alpha"]];
        for order in orders {
            // The same database, another world: its doors are shut again.
            let rig = rig.in_another_world();
            let name = order.concat();
            let process = Process::start(&rig, all()).await;
            let (app, run) = (process.app.clone(), name.clone());
            process.run(async move { app.start(joining()).id(run).await.map(drop).unwrap() }).await;
            for (n, step) in order[..2].iter().enumerate() {
                rig.world.seen(step, 1).await;
                rig.world.open(step);
                let done = || async { count(&told(&process.app, &id(&name)).await, "STEP_COMPLETED") > n };
                until(done).await;
            }
            process.kill();
            rig.world.open(order[2]);
            let process = Process::start(&rig, all()).await;
            process.work().await;
            let handle = process.app.handle::<joining>(&id(&name));
            assert_eq!(handle.result().await.unwrap(), 111);
            assert_eq!([rig.world.count(order[0]), rig.world.count(order[1])], [1, 1], "{order:?}");
        }
    }

    async fn a_lost_branch_is_abandoned_and_its_step_told(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(racing()).id("run").await.unwrap();
        rig.world.seen("loser", 1).await;
        rig.world.open("alpha");
        // While the flow goes on, the loser learns that nobody waits for it.
        rig.world.seen("beta", 1).await;
        rig.world.seen("loser told", 1).await;
        rig.world.open("beta");
        assert_eq!(handle.result().await.unwrap(), 11);
        let told = told(&app, &id("run")).await;
        assert_eq!(told.iter().filter(|line| *line == "STEP_ABANDONED loser").count(), 1, "{told:?}");
    }

    /// Only a flow that drops a call abandons it: a shutdown, a lost lease, a panic and a crash do not.
    async fn nothing_but_the_flow_abandons_a_step(rig: Rig) {
        // A clean shutdown in the middle of a step.
        let app = rig.app(all()).await;
        let handle = app.start(joining()).id("run").await.unwrap();
        rig.world.seen("gamma", 1).await;
        app.shutdown(millis(10)).await;
        // A crash.
        let process = Process::start(&rig, all()).await;
        process.work().await;
        rig.world.seen("gamma", 2).await;
        process.kill();
        // A lost lease: the owner is frozen for longer than it holds, and then goes on.
        let frozen = Process::start(&rig, all()).await;
        frozen.work().await;
        rig.world.seen("gamma", 3).await;
        frozen.tap.freeze(true);
        let last = rig.app(all()).await;
        last.work();
        rig.world.seen("gamma", 4).await;
        frozen.tap.freeze(false);
        ["alpha", "beta", "gamma"].iter().for_each(|door| rig.world.open(door));
        let remote = last.handle::<joining>(handle.id());
        assert_eq!(remote.result().await.unwrap(), 111);
        let line = told(&last, handle.id()).await;
        assert_eq!(count(&line, "STEP_ABANDONED"), 0, "{line:?}");
        assert_eq!(count(&line, "STEP_COMPLETED"), 3, "{line:?}");
        last.shutdown(seconds(1)).await;
        // A panic beside a step that runs.
        let rig = rig.in_another_world();
        let app = rig.app(all()).await;
        let handle = app.start(panicking()).id("panic").await.unwrap();
        match handle.result().await {
            Err(ExecutionError::Parked(report)) => assert_eq!(report.fault, loom::kernel::Fault::StepPanicked),
            other => panic!("{other:?}"),
        }
        rig.world.hit("mended");
        rig.world.open("alpha");
        until(|| async {
            // Its first look at what is parked may have tried it before it was mended.
            let _ = app.retry(handle.id()).await;
            handle.status().await.unwrap() == Status::Completed
        })
        .await;
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "STEP_ABANDONED"), 0, "{told:?}");
    }
}
