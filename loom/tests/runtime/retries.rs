//! Failures, retries, timeouts, silence: how often a step is tried, and what the flow is told in the end.
//! Not crashes of whole processes: those are in `tests/processes`.

use std::time::Duration;

use loom::{ExecutionError, kernel::Event, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{LEASE, Process, Rig, World, count, id, log, on_every_store, registry, told};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum ShopError {
    /// Nothing will help.
    #[failure(permanent)]
    Declined { reason: String },
    /// Come back later.
    #[failure(retry_after = "80ms")]
    Busy,
    /// It may pass.
    Unreachable(u32),
    #[failure(engine)]
    Engine(EffectError),
}

/// Fails as often as it is told to.
#[step(retry(attempts = 4, initial = "1ms"))]
async fn flaky(world: Res<World>, step: StepCx, fails: u32, how: ShopError) -> Result<u32, ShopError> {
    world.hit("flaky");
    if step.attempt() <= fails { Err(how) } else { Ok(step.attempt()) }
}

#[flow]
async fn trying(ctx: Ctx, plan: (u32, ShopError)) -> Result<u32, ShopError> {
    let (fails, how) = plan;
    ctx.run(flaky(fails, how)).await
}

/// Catches the step's failure, waits for a restart, and hands on what it caught.
#[flow]
async fn remembering(ctx: Ctx, how: ShopError) -> Result<String, ShopError> {
    let caught = ctx.run(flaky(9, how)).await.unwrap_err();
    ctx.suspend::<bool>("go").await?;
    match caught {
        ShopError::Declined { reason } => Ok(reason),
        other => Err(other),
    }
}

#[step(timeout = "40ms", retry(attempts = 2, initial = "1ms"))]
async fn slow(world: Res<World>, step: StepCx) -> Result<(), ShopError> {
    world.hit(format!("slow {}", step.attempt()));
    std::future::pending().await
}

#[flow]
async fn slowly(ctx: Ctx) -> Result<(), ShopError> {
    ctx.run(slow()).await
}

#[flow]
async fn slowly_by_call(ctx: Ctx) -> Result<(), ShopError> {
    ctx.run(flaky_never()).timeout(millis(30)).await
}

#[step]
async fn flaky_never(world: Res<World>) -> Result<(), ShopError> {
    world.hit("never");
    std::future::pending().await
}

/// Silent in its first attempt, which then returns all the same; lively in its second.
#[step(heartbeat = "150ms", retry(attempts = 3, initial = "1ms"))]
async fn heard(world: Res<World>, step: StepCx, beats: u32) -> Result<u32, ShopError> {
    world.hit(format!("attempt {}", step.attempt()));
    if step.attempt() == 1 && beats == 0 {
        world.pass("late").await;
        return Ok(1);
    }
    for _ in 0..beats {
        tokio::time::sleep(Duration::from_millis(25)).await;
        step.heartbeat();
    }
    Ok(step.attempt())
}

#[flow]
async fn listening(ctx: Ctx, beats: u32) -> Result<u32, ShopError> {
    ctx.run(heard(beats)).await
}

#[step]
async fn long(world: Res<World>) -> Result<(), ShopError> {
    world.hit("long");
    tokio::time::sleep(LEASE * 3).await;
    Ok(())
}

#[flow]
async fn lengthy(ctx: Ctx) -> Result<(), ShopError> {
    ctx.run(long()).await
}

fn all() -> loom::Registry {
    registry!(
        flows: [trying, remembering, slowly, slowly_by_call, listening, lengthy],
        steps: [flaky, slow, flaky_never, heard, long]
    )
}

fn declined() -> ShopError {
    ShopError::Declined { reason: "no money".into() }
}

fn failed<T: std::fmt::Debug>(result: Result<T, ExecutionError<ShopError>>) -> ShopError {
    match result {
        Err(ExecutionError::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

on_every_store! {
    async fn what_passes_is_tried_again(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(trying((3, ShopError::Unreachable(7)))).id("try").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 4);
        let told = told(&app, handle.id()).await;
        assert_eq!((count(&told, "STEP_STARTED"), count(&told, "STEP_FAILED")), (4, 3), "{told:?}");
    }

    async fn what_does_not_pass_fails_with_its_own_variant(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(trying((9, ShopError::Unreachable(7)))).id("try").await.unwrap();
        assert_eq!(failed(handle.result().await), ShopError::Unreachable(7));
        assert_eq!(rig.world.count("flaky"), 4, "attempts = 4");
    }

    async fn a_permanent_failure_is_not_tried_again(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(trying((1, declined()))).id("try").await.unwrap();
        assert_eq!(failed(handle.result().await), declined());
        assert_eq!(rig.world.count("flaky"), 1);
    }

    async fn retry_after_is_waited_for(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(trying((1, ShopError::Busy))).id("try").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 2);
        let events = log(&app, handle.id()).await;
        let failed = events.iter().find_map(|envelope| match &envelope.event {
            Event::StepFailed(e) => Some((envelope.at, e.retry_at.unwrap())),
            _ => None,
        });
        let (failed_at, retry_at) = failed.unwrap();
        assert_eq!(retry_at.since(failed_at), Duration::from_millis(80), "the log's own instants");
        let again = events.iter().rfind(|e| matches!(&e.event, Event::StepStarted(s) if s.attempt == 2)).unwrap();
        assert!(again.at >= retry_at);
    }

    async fn a_failure_is_rebuilt_after_a_restart_without_running_anything(rig: Rig) {
        for (name, how, runs) in [("declined", declined(), 1), ("unreachable", ShopError::Unreachable(3), 4)] {
            let before = rig.world.count("flaky");
            let process = Process::start(&rig, all()).await;
            let (app, error) = (process.app.clone(), how.clone());
            process.run(async move {
                let handle = app.start(remembering(error)).id(name).await.unwrap();
                handle.until(&[loom::Status::Suspended]).await.unwrap();
            }).await;
            process.kill();
            let app = rig.app(all()).await;
            app.work();
            let handle = app.handle::<remembering>(&id(name));
            handle.resume("go", &true, "ada").await.unwrap();
            match how {
                ShopError::Declined { reason } => assert_eq!(handle.result().await.unwrap(), reason),
                other => assert_eq!(failed(handle.result().await), other),
            }
            assert_eq!(rig.world.count("flaky") - before, runs);
            app.shutdown(seconds(1)).await;
        }
    }

    async fn a_step_that_takes_too_long_is_stopped_and_tried_again(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(slowly()).id("slow").await.unwrap();
        match failed(handle.result().await) {
            ShopError::Engine(EffectError::Exhausted { attempts: 2, last }) => {
                assert_eq!(last, "timed out after 40 ms");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((rig.world.count("slow 1"), rig.world.count("slow 2")), (1, 1));
    }

    async fn a_call_sets_its_own_timeout(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(slowly_by_call()).id("slow").await.unwrap();
        let timed_out = ShopError::Engine(EffectError::TimedOut { after_ms: 30 });
        assert_eq!(failed(handle.result().await), timed_out);
    }

    async fn b34_a_silent_attempt_is_given_up_and_its_result_refused(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(listening(0)).id("silent").await.unwrap();
        let result = tokio::spawn({
            let handle = handle.clone();
            async move { handle.result().await }
        });
        rig.world.seen("attempt 1", 1).await;
        rig.world.seen("attempt 2", 1).await;
        rig.world.open("late");
        assert_eq!(result.await.unwrap().unwrap(), 2, "the second attempt's result stands");
        let told = told(&app, handle.id()).await;
        assert!(told.contains(&"STEP_STARTED heard attempt 2".to_owned()), "{told:?}");
        assert_eq!(count(&told, "STEP_COMPLETED"), 1);
    }

    async fn b34_a_lively_attempt_outlives_lease_and_silence_limit(rig: Rig) {
        // 90 beats, 25 ms apart: longer than the lease twice over, never silent for 150 ms.
        let worker = rig.app(all()).await;
        worker.work();
        let app = rig.app(all()).await;
        let handle = app.start(listening(90)).id("lively").await.unwrap();
        let result = handle.result().await.unwrap();
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "EXECUTION_RESUMED"), 0, "{told:?}");
        assert_eq!(result as usize, count(&told, "STEP_STARTED"));
    }

    async fn b97_a_step_longer_than_any_lease_runs_once(rig: Rig) {
        let worker = rig.app(all()).await;
        worker.work();
        let app = rig.app(all()).await;
        let handle = app.start(lengthy()).id("long").await.unwrap();
        handle.result().await.unwrap();
        assert_eq!(rig.world.count("long"), 1);
        assert_eq!(count(&told(&app, handle.id()).await, "EXECUTION_RESUMED"), 0);
    }
}
