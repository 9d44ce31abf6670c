//! Cancelling: at every stage of an execution, and at the very moment of its end.
//! Not a lost branch of a `select!`: that is in `decisions.rs`.

use loom::{ControlError, ExecutionError, Status, ports::StoreError, prelude::*};

use crate::support::{
    LEASE, Process, Rig, Stop, Tap, World, count, id, on_every_store, registry, report, told,
};

#[step]
async fn endless(world: Res<World>, step: StepCx) -> loom::Result<()> {
    world.hit("running");
    step.cancelled().await;
    world.hit("told to stop");
    Ok(())
}

#[flow]
async fn running(ctx: Ctx) -> loom::Result<()> {
    ctx.run(endless()).await
}

#[flow]
async fn waiting(ctx: Ctx) -> loom::Result<bool> {
    Ok(ctx.suspend::<bool>("manager").await?)
}

#[step]
async fn panics(world: Res<World>) -> loom::Result<()> {
    world.hit("panics");
    panic!("a bug");
}

#[flow]
async fn broken(ctx: Ctx) -> loom::Result<()> {
    ctx.run(panics()).await
}

/// Says that it runs, and returns after `n` turns of the scheduler.
#[step]
async fn quick(world: Res<World>, step: StepCx, n: u32) -> loom::Result<u32> {
    world.hit(format!("quick {}", step.execution()));
    for _ in 0..n {
        tokio::task::yield_now().await;
    }
    Ok(n)
}

#[flow]
async fn brief(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.run(quick(n)).await
}

/// Fails until the end of days, an hour apart.
#[step(retry(attempts = 9, initial = "1h"))]
async fn backs_off(world: Res<World>) -> loom::Result<u32> {
    world.hit("backs off");
    Err(loom::Error::msg("not yet"))
}

#[flow]
async fn backing_off(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(backs_off()).await
}

/// Heeds nothing, and is done when it is done.
#[step]
async fn deaf(world: Res<World>) -> loom::Result<u32> {
    world.hit("deaf");
    world.pass("deaf").await;
    world.hit("deaf done");
    Ok(7)
}

#[flow]
async fn not_listening(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(deaf()).await
}

/// Two steps, each with events of its own before and after it.
#[flow]
async fn in_turns(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(quick(0)).id("first").await?;
    ctx.sleep(millis(1)).await;
    ctx.run(quick(0)).id("second").await
}

#[step]
async fn refund(world: Res<World>) -> loom::Result<()> {
    world.hit("refund");
    Ok(())
}

#[flow(name = "paid")]
async fn paid(ctx: Ctx) -> loom::Result<bool> {
    select! {
        _ = ctx.cancelled() => {
            ctx.run(refund()).await?;
            Ok(false)
        }
        delivered = ctx.suspend::<bool>("delivered") => Ok(delivered?),
    }
}

/// Has something to do until the test lets it go, although it was told to stop.
#[step]
async fn slow_to_stop(world: Res<World>, step: StepCx) -> loom::Result<()> {
    world.hit("works");
    step.cancelled().await;
    world.hit("told to stop");
    world.pass("stop").await;
    Ok(())
}

/// Panics the first time.
#[step]
async fn panics_once(world: Res<World>) -> loom::Result<()> {
    world.pass("panic").await;
    assert!(world.hit("panics once") > 1, "a bug");
    Ok(())
}

#[flow]
async fn listening(ctx: Ctx) -> loom::Result<bool> {
    let work = async { join!(ctx.run(panics_once()), ctx.run(slow_to_stop())) };
    select! {
        _ = ctx.cancelled() => {
            ctx.run(refund()).await?;
            Ok(false)
        }
        _ = work => Ok(true),
    }
}

/// Another program's, which does not come to where the log ends.
#[flow(name = "paid")]
async fn paid_otherwise(ctx: Ctx) -> loom::Result<bool> {
    ctx.run(quick(0)).await?;
    Ok(ctx.suspend::<bool>("delivered").await?)
}

fn all() -> loom::Registry {
    registry!(
        flows: [running, waiting, broken, brief, backing_off, not_listening, in_turns],
        steps: [endless, panics, quick, backs_off, deaf]
    )
}

fn was_cancelled<T: std::fmt::Debug>(result: Result<T, ExecutionError<loom::Error>>) {
    match result {
        Err(ExecutionError::Cancelled { reason, by }) => {
            assert_eq!((reason.as_str(), by.as_str()), ("why", "ada"))
        }
        other => panic!("{other:?}"),
    }
}

on_every_store! {
    async fn a_running_one_is_cancelled_and_its_step_told(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(running()).id("run").await.unwrap();
        rig.world.seen("running", 1).await;
        handle.cancel("why", "ada").await.unwrap();
        was_cancelled(handle.result().await);
        rig.world.seen("told to stop", 1).await;
        handle.cancel("again", "bob").await.unwrap();
        was_cancelled(handle.result().await);
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "EXECUTION_CANCELLED"), 1, "{told:?}");
        assert_eq!(count(&told, "STEP_ABANDONED"), 0, "{told:?}");
    }

    async fn a_suspended_one_is_cancelled_by_another_program(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(waiting()).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        let other = rig.app(all()).await;
        other.cancel(handle.id(), "why", "ada").await.unwrap();
        was_cancelled(handle.result().await);
        assert!(app.gates(None).await.unwrap().is_empty());
    }

    async fn a_parked_one_is_cancelled(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(broken()).id("run").await.unwrap();
        report(&app, handle.id()).await;
        handle.cancel("why", "ada").await.unwrap();
        assert_eq!(handle.until(&[]).await.unwrap(), Status::Cancelled);
        was_cancelled(handle.result().await);
        assert_eq!(rig.world.count("panics"), 1, "cancelling runs nothing");
    }

    /// A cancel that comes while a flow parks which would tidy up: the flow is told, though nobody else retries it.
    async fn k8_a_cancel_is_not_lost_to_a_fault_on_the_way(rig: Rig) {
        let app = rig.app(registry!(flows: [listening], steps: [panics_once, slow_to_stop, refund])).await;
        let handle = app.start(listening()).id("run").await.unwrap();
        rig.world.seen("works", 1).await;
        rig.world.open("panic");
        rig.world.seen("told to stop", 1).await;
        handle.cancel("why", "ada").await.unwrap();
        rig.world.open("stop");
        assert_eq!(app.until(handle.id(), &[]).await.unwrap(), Status::Cancelled);
        was_cancelled(handle.result().await);
        assert_eq!(rig.world.count("refund"), 1);
    }

    /// Code that does not fit leaves the cancel to code that does: the flow tidies up.
    async fn k8_a_cancel_waits_for_code_that_fits(rig: Rig) {
        let fitting = || registry!(flows: [paid], steps: [refund]);
        let app = rig.app(fitting()).await;
        let name = app.start(paid()).id("run").await.unwrap().id().clone();
        app.until(&name, &[Status::Suspended]).await.unwrap();
        app.shutdown(seconds(1)).await;

        let other = rig.app(registry!(flows: [paid_otherwise], steps: [quick])).await;
        other.cancel(&name, "why", "ada").await.unwrap();
        other.work();
        report(&other, &name).await;
        other.shutdown(seconds(1)).await;
        assert_eq!(rig.world.count("refund"), 0);

        let app = rig.app(fitting()).await;
        app.work();
        assert_eq!(app.until(&name, &[]).await.unwrap(), Status::Cancelled);
        was_cancelled(app.handle::<paid>(&name).result().await);
        assert_eq!(rig.world.count("refund"), 1, "{:?}", told(&app, &name).await);
    }

    async fn k8_force_ends_what_no_code_here_fits(rig: Rig) {
        let app = rig.app(registry!(flows: [paid], steps: [refund])).await;
        let name = app.start(paid()).id("run").await.unwrap().id().clone();
        app.until(&name, &[Status::Suspended]).await.unwrap();
        app.shutdown(seconds(1)).await;
        let other = rig.app(registry!(flows: [paid_otherwise], steps: [quick])).await;
        other.kill(&name, "why", "ada").await.unwrap();
        other.work();
        was_cancelled(other.handle::<paid_otherwise>(&name).result().await);
        assert_eq!(rig.world.count("refund"), 0);
    }

    async fn an_ended_one_is_not_cancelled(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(brief(1)).id("run").await.unwrap();
        handle.result().await.unwrap();
        let refused = handle.cancel("why", "ada").await.unwrap_err();
        let terminal = StoreError::Terminal { execution: id("run"), status: Status::Completed };
        assert_eq!(refused, ControlError::Store(terminal));
        let unknown = app.cancel(&id("nobody"), "why", "ada").await.unwrap_err();
        assert_eq!(unknown, ControlError::Store(StoreError::Unknown(id("nobody"))));
    }

    async fn b30_a_cancel_that_races_the_end_is_latched_or_refused(rig: Rig) {
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        for n in 0..80 {
            let handle = app.start(brief(n % 10)).id(format!("run-{n}")).await.unwrap();
            let (remote, world) = (other.handle::<brief>(handle.id()), rig.world.clone());
            let cancel = tokio::spawn(async move {
                world.seen(&format!("quick {}", remote.id()), 1).await;
                for _ in 0..n / 10 {
                    tokio::task::yield_now().await;
                }
                remote.cancel("why", "ada").await
            });
            let (result, accepted) = join!(handle.result(), cancel);
            match accepted.unwrap() {
                Ok(()) => was_cancelled(result),
                Err(ControlError::Store(StoreError::Terminal { status: Status::Completed, .. })) => {
                    assert_eq!(result.unwrap(), n % 10);
                }
                Err(other) => panic!("{other}"),
            }
            let told = told(&app, handle.id()).await;
            let ends = count(&told, "EXECUTION_CANCELLED") + count(&told, "EXECUTION_COMPLETED");
            assert_eq!(ends, 1, "{told:?}");
        }
    }

    /// B68: a cancel while a step waits for its next attempt.
    async fn b68_a_step_that_backs_off_is_cancelled(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(backing_off()).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        handle.cancel("why", "ada").await.unwrap();
        was_cancelled(handle.result().await);
        assert_eq!(rig.world.count("backs off"), 1);
    }

    /// B68: a cancel while a step runs that takes its time: the end waits for it, and is no other.
    async fn b68_a_step_that_ends_meanwhile_changes_nothing(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(not_listening()).id("run").await.unwrap();
        rig.world.seen("deaf", 1).await;
        handle.cancel("why", "ada").await.unwrap();
        rig.world.open("deaf");
        was_cancelled(handle.result().await);
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "STEP_COMPLETED"), 0, "{told:?}");
        assert!(rig.world.count("deaf done") <= 1);
    }

    /// B68: a cancel around each write of a life of steps, with a crash right behind it.
    async fn b68_a_cancel_at_any_write_ends_it(rig: Rig) {
        for nth in 0.. {
            let stop = if nth % 2 == 0 { Stop::Before(nth / 2) } else { Stop::After(nth / 2) };
            let name = format!("run-{nth}");
            let process = Process::start(&rig, all()).await;
            process.tap.stop_at_write(stop);
            let (app, run, tap) = (process.app.clone(), name.clone(), process.tap.clone());
            process.run(async move {
                let life = async {
                    let handle = app.start(in_turns()).id(run).await.unwrap();
                    handle.result().await
                };
                tokio::select! {
                    biased;
                    () = tap.stopped() => {}
                    _ = life => {}
                }
            }).await;
            // Nobody waits for the killed one's lease, each time.
            let later = Tap::default();
            later.ahead(LEASE);
            let app = rig.builder(all(), &later).await.build().unwrap();
            // The owner is frozen where it stands; the cancel comes before the next one takes up.
            let cancelled = app.cancel(&id(&name), "why", "ada").await;
            let stopped = process.tap.is_frozen();
            process.kill();
            match cancelled {
                Ok(()) => {
                    app.work();
                    was_cancelled(app.handle::<in_turns>(&id(&name)).result().await);
                }
                Err(ControlError::Store(StoreError::Unknown(_))) => assert_eq!(stop, Stop::Before(0)),
                Err(ControlError::Store(StoreError::Terminal { status, .. })) => assert_eq!(status, Status::Completed),
                Err(other) => panic!("{other}"),
            }
            app.shutdown(seconds(1)).await;
            if !stopped {
                assert!(nth >= 6, "only {nth}");
                break;
            }
        }
    }
}
