//! Cancelling: at every stage of an execution, and at the very moment of its end.
//! Not a lost branch of a `select!`: that is in `decisions.rs`.

use loom::{ControlError, ExecutionError, Status, ports::StoreError, prelude::*};

use crate::support::{Rig, World, count, id, on_both, registry, report, told};

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

fn all() -> loom::Registry {
    registry!(flows: [running, waiting, broken, brief], steps: [endless, panics, quick])
}

fn was_cancelled<T: std::fmt::Debug>(result: Result<T, ExecutionError<loom::Error>>) {
    match result {
        Err(ExecutionError::Cancelled { reason, by }) => {
            assert_eq!((reason.as_str(), by.as_str()), ("why", "ada"))
        }
        other => panic!("{other:?}"),
    }
}

on_both! {
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
}
