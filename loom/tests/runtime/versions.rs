//! Code that changes under executions, and code that does not keep to itself: versions, markers, divergences.
//! Not single faults and their reports, which are in `faults.rs`.

use std::{collections::BTreeMap, sync::Mutex};

use loom::{
    App, Registry, Status,
    kernel::{Event, Fault},
    prelude::*,
};

use crate::support::{Rig, World, count, id, log, on_every_store, registry, told, until};

#[step]
async fn note(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

#[flow(name = "taxed")]
async fn first_version(ctx: Ctx) -> loom::Result<String> {
    let tax = ctx.run(note("old tax".into())).id("tax").await?;
    ctx.suspend::<bool>("go").await?;
    Ok(tax)
}

#[flow(name = "taxed")]
async fn second_version(ctx: Ctx) -> loom::Result<String> {
    let tax = if ctx.changed("new-tax") {
        ctx.run(note("new tax".into())).id("new-tax-step").await?
    } else {
        ctx.run(note("old tax".into())).id("tax").await?
    };
    ctx.suspend::<bool>("go").await?;
    Ok(tax)
}

/// Keeps the second one's change, and has one behind the gate.
#[flow(name = "taxed")]
async fn third_version(ctx: Ctx) -> loom::Result<String> {
    let tax = if ctx.changed("new-tax") {
        ctx.run(note("new tax".into())).id("new-tax-step").await?
    } else {
        ctx.run(note("old tax".into())).id("tax").await?
    };
    ctx.suspend::<bool>("go").await?;
    if ctx.changed("receipt") {
        ctx.run(note("receipt".into())).id("receipt-step").await?;
        return Ok(format!("{tax} with receipt"));
    }
    Ok(tax)
}

fn first() -> Registry {
    registry!(flows: [first_version], steps: [note])
}

fn second() -> Registry {
    registry!(flows: [second_version], steps: [note])
}

fn third() -> Registry {
    registry!(flows: [third_version], steps: [note])
}

/// How often each salt was asked for.
static ASKED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

/// Past Loom: true for every fourth replay.
fn every_fourth(salt: &str) -> bool {
    let mut asked = ASKED.lock().unwrap();
    let times = asked.entry(salt.into()).or_default();
    *times += 1;
    times.is_multiple_of(4)
}

#[flow]
async fn unfaithful(ctx: Ctx, salt: String) -> loom::Result<u32> {
    if every_fourth(&salt) {
        ctx.run(note("odd".into())).id("odd").await?;
    } else {
        ctx.run(note("even".into())).id("even").await?;
    }
    for _ in 0..9 {
        ctx.suspend::<bool>("turn").await?;
    }
    Ok(9)
}

/// Starts an execution in a program, and stops that program when the execution waits.
async fn begin(rig: &Rig, registry: Registry, name: &str) {
    let app = rig.app(registry).await;
    app.start_dynamic("taxed", loom::kernel::Payload::null()).id(name).await.unwrap();
    app.until(&id(name), &[Status::Suspended]).await.unwrap();
    app.shutdown(seconds(1)).await;
}

async fn end(app: &App, name: &str) -> String {
    let handle = app.handle::<third_version>(&id(name));
    handle.resume("go", &true, "ada").await.unwrap();
    handle.result().await.unwrap()
}

on_every_store! {
    /// B14: what an execution does follows from its log, whatever versions there are by now, and whatever wakes it.
    async fn b14_each_execution_keeps_to_the_version_that_its_log_began_with(rig: Rig) {
        begin(&rig, first(), "one").await;
        begin(&rig, second(), "two").await;
        begin(&rig, third(), "three").await;
        let begun = rig.world.all();
        let app = rig.app(third()).await;
        app.work();
        let codes = async |name: &str| {
            let log = log(&app, &id(name)).await;
            let Event::ExecutionStarted(started) = &log[0].event else { panic!("{name}") };
            let moves: Vec<_> = log.iter().filter_map(|e| match &e.event {
                Event::ExecutionMigrated(moved) => Some((moved.from, moved.to)),
                _ => None,
            }).collect();
            (started.code, moves)
        };
        assert_eq!(end(&app, "one").await, "old tax with receipt");
        assert_eq!(end(&app, "two").await, "new tax with receipt");
        assert_eq!(end(&app, "three").await, "new tax with receipt");
        assert_eq!((begun["old tax"], begun["new tax"]), (1, 2));
        assert_eq!((rig.world.count("old tax"), rig.world.count("new tax")), (1, 2), "nothing was done again");
        let (third_code, moves) = codes("three").await;
        assert!(moves.is_empty());
        for name in ["one", "two"] {
            let (code, moves) = codes(name).await;
            assert_eq!(moves, [(code, third_code)], "{name}");
        }
        for name in ["one", "two", "three"] {
            loom::replay_check(&third(), &log(&app, &id(name)).await).unwrap();
        }
        let told = told(&app, &id("one")).await;
        assert_eq!(count(&told, "CHANGE_MARKED"), 1, "only behind what was there: {told:?}");
    }

    /// B14: an old execution is woken by a completion alone, in a program that has only new code, and crashes there.
    async fn b14_the_old_path_holds_through_every_wake(rig: Rig) {
        begin(&rig, first(), "one").await;
        for registry in [second(), third(), second()] {
            let app = rig.app(registry).await;
            app.work();
            // Something that only wakes it.
            app.send(&id("one"), "nobody", &1).await.unwrap();
            until(|| async { count(&told(&app, &id("one")).await, "EXECUTION_RESUMED") > 0 }).await;
            app.until(&id("one"), &[Status::Suspended]).await.unwrap();
            app.shutdown(seconds(1)).await;
        }
        let app = rig.app(third()).await;
        app.work();
        assert_eq!(end(&app, "one").await, "old tax with receipt");
        assert_eq!((rig.world.count("old tax"), rig.world.count("new tax")), (1, 0));
    }

    /// B05: no retry hides a divergence: each is in the log for ever, and a check fails on the first.
    async fn b05_every_divergence_stays_in_the_log(rig: Rig) {
        let salt = rig.name();
        let registry = || registry!(flows: [unfaithful], steps: [note]);
        let app = rig.app(registry()).await;
        let handle = app.start(unfaithful(salt.into())).id("run").await.unwrap();
        let mut seen = 0;
        let mut turn = 0;
        loop {
            match handle.until(&[Status::Suspended, Status::Parked]).await.unwrap() {
                Status::Parked => {
                    let report = handle.state().await.unwrap().parked.unwrap();
                    assert_eq!(report.fault, Fault::Divergence, "{report}");
                    seen += 1;
                    app.retry(handle.id()).await.unwrap();
                    until(|| async { handle.status().await.unwrap() != Status::Parked }).await;
                }
                Status::Suspended => {
                    let gate = format!("turn#{turn}");
                    let _ = handle.resume(&gate, &true, "ada").await;
                    let gates = app.gates(Some(handle.id())).await.unwrap();
                    let answered = |gate: &loom::ports::GateRow| gate.state == loom::ports::GateState::Answered;
                    turn = gates.iter().filter(|gate| answered(gate)).count();
                    tokio::time::sleep(millis(2)).await;
                }
                status => break assert_eq!(status, Status::Completed),
            }
        }
        assert!(seen >= 2, "{seen}");
        let log = log(&app, handle.id()).await;
        let counted = log.iter().filter(|e| match &e.event {
            Event::ExecutionParked(parked) => parked.report.fault == Fault::Divergence,
            _ => false,
        });
        assert_eq!(counted.count(), seen);
        assert_eq!(loom::replay_check(&registry(), &log).unwrap_err().fault, Fault::Divergence);
        assert_eq!((rig.world.count("odd"), rig.world.count("even")), (0, 1), "a divergent replay does nothing");
    }
}
