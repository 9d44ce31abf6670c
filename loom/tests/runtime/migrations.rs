//! Code that changes under executions which go on: noted, or waited for. Two programs share a store, and have the same
//! flow by name with other bodies.
//! Not changes that one body tells apart: `ctx.changed` has its own cases.

use std::time::Duration;

use loom::{
    App, Flow, Registry, Status,
    kernel::{Event, Fault, Kind},
    ports::ListFilter,
    prelude::*,
};

use crate::support::{
    Rig, Tap, World, count, id, log, on_every_store, registry, report, told, until, untold,
};

#[step]
async fn price(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("price");
    Ok(n)
}

#[step]
async fn pay(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("pay");
    Ok(n)
}

#[step]
async fn insure(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("insure");
    Ok(n)
}

mod first {
    use super::*;
    #[flow(name = "sale")]
    pub(super) async fn sale(ctx: Ctx, n: u32) -> loom::Result<u32> {
        let cost = ctx.run(price(n)).await?;
        ctx.suspend::<bool>("go").await?;
        ctx.run(pay(cost)).await
    }
}

mod reworded {
    //! Other tokens, the same structure.
    use super::*;
    #[flow(name = "sale")]
    pub(super) async fn sale(ctx: Ctx, n: u32) -> loom::Result<u32> {
        let what_it_costs = ctx.run(price(n)).await?;
        let _ = ctx.suspend::<bool>("go").await?;
        ctx.run(pay(what_it_costs)).await
    }
}

mod longer {
    //! Another structure, of which every log of the first is a prefix up to the gate.
    use super::*;
    #[flow(name = "sale")]
    pub(super) async fn sale(ctx: Ctx, n: u32) -> loom::Result<u32> {
        let cost = ctx.run(price(n)).await?;
        ctx.suspend::<bool>("go").await?;
        let insured = ctx.run(insure(cost)).await?;
        ctx.run(pay(insured)).await
    }
}

mod renamed {
    //! A step whose function is called otherwise than it is.
    use super::*;

    #[step(name = "take-money")]
    pub(super) async fn charge(n: u32) -> loom::Result<u32> {
        Ok(n)
    }

    #[flow(name = "charged")]
    pub(super) async fn charged(ctx: Ctx, n: u32) -> loom::Result<u32> {
        ctx.run(charge(n)).await
    }
}

mod retyped {
    //! The same, but for the type of what the step takes.
    use super::*;

    #[step(name = "take-money")]
    pub(super) async fn charge(n: u64) -> loom::Result<u32> {
        Ok(u32::try_from(n).unwrap_or(u32::MAX))
    }

    #[flow(name = "charged")]
    pub(super) async fn charged(ctx: Ctx, n: u32) -> loom::Result<u32> {
        ctx.run(charge(n.into())).await
    }
}

#[test]
fn the_types_of_a_step_are_structure_whatever_it_is_called() {
    let of_before = registry!(flows: [renamed::charged], steps: [renamed::charge]);
    let of_after = registry!(flows: [retyped::charged], steps: [retyped::charge]);
    let before = of_before.code(<renamed::charged as Flow>::DESCRIPTOR);
    let after = of_after.code(<retyped::charged as Flow>::DESCRIPTOR);
    assert_ne!(before.structure, after.structure);
    assert_eq!(before.structure, of_before.code(<renamed::charged as Flow>::DESCRIPTOR).structure);
}

mod other {
    //! Asks for something else from the beginning.
    use super::*;
    #[flow(name = "sale")]
    pub(super) async fn sale(ctx: Ctx, n: u32) -> loom::Result<u32> {
        let insured = ctx.run(insure(n)).await?;
        let cost = ctx.run(price(insured)).await?;
        ctx.suspend::<bool>("go").await?;
        ctx.run(pay(cost)).await
    }
}

fn program<F: Flow>() -> Registry {
    registry!(flows: [F], steps: [price, pay, insure])
}

/// Starts a sale in the first program, up to its gate; then that program is gone.
async fn sold(rig: &Rig) {
    let app = rig.app(program::<first::sale>()).await;
    let handle = app.start(first::sale(7)).id("sale-1").await.unwrap();
    assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
    app.shutdown(Duration::from_secs(1)).await;
}

/// A program that works, in which the gate is answered.
async fn answered(rig: &Rig, registry: Registry) -> App {
    let app = rig.app(registry).await;
    app.work();
    app.handle::<first::sale>(&id("sale-1")).resume("go", &true, "ada").await.unwrap();
    app
}

async fn ends(app: &App) {
    until(|| async { app.row(&id("sale-1")).await.unwrap().status.is_terminal() }).await;
    assert_eq!(app.handle::<first::sale>(&id("sale-1")).result().await.unwrap(), 7);
}

/// From which code to which the execution has gone over.
async fn migrations(app: &App) -> Vec<(u64, u64)> {
    let of = |event: &Event| match event {
        Event::ExecutionMigrated(migrated) => Some((migrated.from.body, migrated.to.body)),
        _ => None,
    };
    log(app, &id("sale-1")).await.iter().filter_map(|envelope| of(&envelope.event)).collect()
}

on_every_store! {
    /// K11: other code of the same structure, and code that is compatible so far, go on and are noted once.
    async fn k11_code_that_agrees_with_the_log_goes_on_and_is_noted(rig: Rig) {
        for (registry, insured) in [(program::<reworded::sale>(), 0), (program::<longer::sale>(), 1)] {
            let rig = rig.another();
            sold(&rig).await;
            let app = answered(&rig, registry).await;
            ends(&app).await;
            let log = log(&app, &id("sale-1")).await;
            let Event::ExecutionStarted(started) = &log[0].event else { panic!("{:?}", log[0]) };
            let migrated = migrations(&app).await;
            assert_eq!(migrated.len(), 1);
            assert!(migrated[0].0 == started.code.body && migrated[0].1 != started.code.body);
            assert_eq!(app.state(&id("sale-1"), None).await.unwrap().code.body, migrated[0].1);
            assert_eq!((rig.world.count("price"), rig.world.count("insure")), (1, insured));
        }
    }

    /// The same program again notes nothing.
    async fn the_same_code_is_not_noted(rig: Rig) {
        sold(&rig).await;
        let app = answered(&rig, program::<first::sale>()).await;
        ends(&app).await;
        assert_eq!(migrations(&app).await, []);
    }

    /// B86: code that does not fit parks it, by the name of the code that is waited for; programs that fit no better
    /// leave it as it is; the first program goes on by itself, each time that it comes back.
    async fn b86_k11_what_waits_for_code_goes_on_when_that_comes_back(rig: Rig) {
        sold(&rig).await;
        let app = answered(&rig, program::<other::sale>()).await;
        let report = report(&app, &id("sale-1")).await;
        let started = app.state(&id("sale-1"), Some(1)).await.unwrap().code;
        assert_eq!(report.fault, Fault::Divergence);
        assert_eq!(report.wants, Some(format!("{:016x}", started.body)));
        assert!(report.message.starts_with("waiting for code "), "{report}");
        let row = app.row(&id("sale-1")).await.unwrap();
        assert_eq!(app.parked(&row).await.unwrap(), Some(report));
        assert_eq!(migrations(&app).await, []);
        // This program and others like it look again and again, and touch nothing.
        for _ in 0..3 {
            let again = rig.app(program::<other::sale>()).await;
            again.work();
            tokio::time::sleep(Duration::from_millis(300)).await;
            again.shutdown(Duration::ZERO).await;
        }
        let parked = told(&app, &id("sale-1")).await;
        assert_eq!(count(&parked, "EXECUTION_PARKED"), 1, "{parked:?}");
        assert_eq!(app.row(&id("sale-1")).await.unwrap().next, row.next);
        app.shutdown(Duration::ZERO).await;
        let app = rig.app(program::<first::sale>()).await;
        app.work();
        ends(&app).await;
        assert_eq!((rig.world.count("price"), rig.world.count("pay"), rig.world.count("insure")), (1, 1, 0));
        assert_eq!(migrations(&app).await, []);
    }

    /// A worker with the fitting code that runs already takes it up, without a restart and without a person.
    async fn a_worker_that_fits_and_runs_already_takes_it_over(rig: Rig) {
        sold(&rig).await;
        let wrong = answered(&rig, program::<other::sale>()).await;
        report(&wrong, &id("sale-1")).await;
        let right = rig.app(program::<longer::sale>()).await; // beside it, as in a rolling deploy
        right.work();
        ends(&right).await;
        let told = told(&right, &id("sale-1")).await;
        assert!(count(&told, "EXECUTION_PARKED") <= 2, "it is not handed to and fro: {told:?}");
        assert_eq!(migrations(&right).await.len(), 1);
    }

    /// And again after a second change: a try that was used up for one parking is not for the next.
    async fn a_program_that_comes_back_twice_goes_on_twice(rig: Rig) {
        mod twice {
            use super::*;
            #[flow(name = "twice")]
            pub(super) async fn twice(ctx: Ctx) -> loom::Result<u32> {
                ctx.suspend::<bool>("one").await?;
                let n = ctx.run(price(1)).await?;
                ctx.suspend::<bool>("two").await?;
                ctx.run(pay(n)).await
            }
        }
        mod wrong {
            use super::*;
            #[flow(name = "twice")]
            pub(super) async fn twice(ctx: Ctx) -> loom::Result<u32> {
                ctx.run(insure(1)).await
            }
        }
        let mine = || registry!(flows: [twice::twice], steps: [price, pay, insure]);
        let theirs = || registry!(flows: [wrong::twice], steps: [price, pay, insure]);
        let app = rig.app(mine()).await;
        app.start(twice::twice()).id("t").await.unwrap().until(&[Status::Suspended]).await.unwrap();
        app.shutdown(Duration::from_secs(1)).await;
        for gate in ["one", "two"] {
            let app = rig.app(theirs()).await;
            app.work();
            app.handle::<twice::twice>(&id("t")).resume(gate, &true, "ada").await.unwrap();
            report(&app, &id("t")).await;
            app.shutdown(Duration::from_secs(1)).await;
            let app = rig.app(mine()).await;
            app.work();
            until(|| async {
                let status = app.row(&id("t")).await.unwrap().status;
                if gate == "one" { status == Status::Suspended } else { status == Status::Completed }
            })
            .await;
            app.shutdown(Duration::from_secs(1)).await;
        }
        let app = rig.app(mine()).await;
        let parked = app.list(&ListFilter { statuses: vec![Status::Parked], ..ListFilter::default() }).await.unwrap();
        assert!(parked.is_empty());
        let log = log(&app, &id("t")).await;
        assert_eq!(log.iter().filter(|e| e.event.kind() == Kind::ExecutionParked).count(), 2);
    }

    /// Workers of two releases on one store: each execution is found by the other release's worker to wait for code once
    /// at most, however often it wakes, and all of them end on code that fits.
    async fn two_releases_side_by_side_hand_nothing_to_and_fro(rig: Rig) {
        mod old {
            use super::*;
            #[flow(name = "turns")]
            pub(super) async fn turns(ctx: Ctx) -> loom::Result<u32> {
                let n = ctx.run(price(7)).await?;
                for _ in 0..4 {
                    ctx.suspend::<bool>("turn").await?;
                }
                ctx.run(pay(n)).await
            }
        }
        mod new {
            use super::*;
            #[flow(name = "turns")]
            pub(super) async fn turns(ctx: Ctx) -> loom::Result<u32> {
                let n = ctx.run(insure(7)).await?;
                for _ in 0..4 {
                    ctx.suspend::<bool>("turn").await?;
                }
                ctx.run(pay(n)).await
            }
        }
        // A lease that a busy machine does not outlast: after that long an execution is taken for forsaken.
        let worker = loom::WorkerOptions { poll: Duration::from_millis(20), ..Default::default() };
        let program = async |registry| {
            let builder = rig.builder(registry, &Tap::default()).await.worker(worker);
            builder.build().unwrap()
        };
        let old = program(registry!(flows: [old::turns], steps: [price, pay, insure])).await;
        let new = program(registry!(flows: [new::turns], steps: [price, pay, insure])).await;
        let names: Vec<_> = (0..6).map(|n| format!("turns-{n}")).collect();
        for (n, name) in names.iter().enumerate() {
            let app = [&old, &new][n % 2];
            app.start_dynamic("turns", loom::kernel::Payload::null()).id(name.as_str()).await.unwrap();
        }
        old.work();
        new.work();
        for turn in 0..4 {
            for name in &names {
                let handle = old.handle::<old::turns>(&id(name));
                until(|| async {
                    let gates = old.gates(Some(handle.id())).await.unwrap();
                    gates.iter().filter(|gate| gate.frame.as_str().starts_with("turn")).count() > turn
                })
                .await;
                handle.resume(&format!("turn#{turn}"), &true, "ada").await.unwrap();
            }
        }
        for (n, name) in names.iter().enumerate() {
            until(|| async { old.row(&id(name)).await.unwrap().status.is_terminal() }).await;
            assert_eq!(old.handle::<old::turns>(&id(name)).result().await.unwrap(), 7);
            let told = told(&old, &id(name)).await;
            assert!(count(&told, "EXECUTION_PARKED") <= 1, "{name}: {told:?}");
            assert_eq!(count(&told, "STEP_COMPLETED insure"), n % 2, "{told:?}");
            assert_eq!(count(&told, "EXECUTION_MIGRATED"), 0, "{told:?}");
        }
    }

    /// B58: a message that the older of two releases cannot read is not dead-lettered by it: the log is the newer one's, and
    /// that one gets it. What neither can read is told of.
    async fn b58_a_message_for_the_newer_release_is_left_to_it(rig: Rig) {
        mod older {
            use super::*;
            #[flow(name = "orders")]
            pub(super) async fn orders(ctx: Ctx) -> loom::Result<u32> {
                Ok(u32::try_from(ctx.receive::<String>("order").await.len())?)
            }
        }
        mod newer {
            use super::*;
            #[flow(name = "orders")]
            pub(super) async fn orders(ctx: Ctx) -> loom::Result<u32> {
                Ok(ctx.receive::<u32>("order").await)
            }
        }
        // A lease that a busy machine does not outlast: after that long an execution is taken for forsaken.
        let worker = loom::WorkerOptions { poll: Duration::from_millis(20), ..Default::default() };
        let program = async |registry| {
            let builder = rig.builder(registry, &Tap::default()).await.worker(worker);
            builder.build().unwrap()
        };
        let newer = || registry!(flows: [newer::orders], steps: []);
        let app = program(newer()).await;
        let names: Vec<_> = (0..3).map(|n| format!("orders-{n}")).collect();
        for name in &names {
            app.start(newer::orders()).id(name.as_str()).await.unwrap().until(&[Status::Suspended]).await.unwrap();
        }
        app.shutdown(Duration::from_secs(1)).await;
        let older = program(registry!(flows: [older::orders], steps: [])).await;
        older.work();
        older.send(&id("orders-0"), "order", &7).await.unwrap();
        let left = report(&older, &id("orders-0")).await;
        assert_eq!(left.fault, Fault::Undecodable);
        assert!(left.message.contains("`order`") && left.wants.is_some(), "{left}");
        // From now on side by side.
        let app = program(newer()).await;
        app.work();
        for name in &names[1..2] {
            older.send(&id(name), "order", &7).await.unwrap();
        }
        older.send(&id("orders-2"), "order", &[true]).await.unwrap();
        for (n, name) in names.iter().enumerate() {
            let dead = || async { count(&told(&app, &id(name)).await, "MESSAGE_DEAD_LETTERED") };
            if n == 2 {
                until(|| async { dead().await == 1 }).await;
                continue;
            }
            until(|| async { app.row(&id(name)).await.unwrap().status.is_terminal() }).await;
            assert_eq!(app.handle::<newer::orders>(&id(name)).result().await.unwrap(), 7);
            assert_eq!(dead().await, 0);
        }
    }

    /// The same for a step that only one of them has: its flow's code is the same in both.
    async fn a_worker_without_a_step_leaves_what_needs_it_to_others(rig: Rig) {
        mod flows {
            use super::*;
            #[flow(name = "needs")]
            pub(super) async fn needs(ctx: Ctx) -> loom::Result<u32> {
                let mut sum = 0;
                for n in 0..3 {
                    ctx.suspend::<bool>("turn").await?;
                    sum += ctx.run(pay(n)).await?;
                }
                Ok(sum)
            }
        }
        let with = || registry!(flows: [flows::needs], steps: [pay]);
        let app = rig.app(with()).await;
        app.start(flows::needs()).id("n").await.unwrap().until(&[Status::Suspended]).await.unwrap();
        app.shutdown(Duration::from_secs(1)).await;
        let with = rig.app(with()).await;
        let handle = with.handle::<flows::needs>(&id("n"));
        let without = rig.app(untold(&registry!(flows: [flows::needs], steps: []))).await;
        without.work();
        handle.resume("turn#0", &true, "ada").await.unwrap();
        assert_eq!(report(&without, &id("n")).await.fault, Fault::MissingStep);
        with.work();
        for turn in 1..3 {
            until(|| async { with.gates(Some(handle.id())).await.unwrap().len() > turn }).await;
            handle.until(&[Status::Suspended]).await.unwrap();
            // Where it is answered it is looked for first.
            let here = without.handle::<flows::needs>(handle.id());
            here.resume(&format!("turn#{turn}"), &true, "ada").await.unwrap();
        }
        until(|| async { handle.status().await.unwrap().is_terminal() }).await;
        assert_eq!(handle.result().await.unwrap(), 3);
        let told = told(&with, &id("n")).await;
        assert_eq!(count(&told, "EXECUTION_PARKED"), 1, "{told:?}");
    }
}
