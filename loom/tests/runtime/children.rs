//! Children in other processes, and what comes up from them: failures, cancels, refusals.
//! Not their creation in the store, nor the kernel's rules.

use loom::{
    App, ExecutionError, OnClose, Registry, Status, WorkerOptions,
    kernel::{Event, Fault},
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{
    LEASE, Process, Rig, Tap, World, count, id, log, on_every_store, registry, report, told, until, untold,
};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum Trouble {
    /// {0} is too many.
    #[failure(permanent)]
    TooMany(u32),
    #[failure(engine)]
    Engine(EffectError),
}

#[step]
async fn work(world: Res<World>, n: u32) -> Result<u32, Trouble> {
    world.hit(format!("work {n}"));
    world.pass("work").await;
    if n > 9 { Err(Trouble::TooMany(n)) } else { Ok(n) }
}

#[flow]
async fn child(ctx: Ctx, n: u32) -> Result<u32, Trouble> {
    ctx.run(work(n)).await
}

#[flow]
async fn waiting(ctx: Ctx) -> Result<u32, Trouble> {
    Ok(ctx.suspend::<u32>("answer").await?)
}

#[flow]
async fn parent(ctx: Ctx, n: u32) -> Result<u32, Trouble> {
    let n = ctx.call(child(n)).await?;
    Ok(n * 2)
}

/// Has something to do itself, and so stays where it is.
#[flow]
async fn busy_parent(ctx: Ctx, n: u32) -> Result<u32, Trouble> {
    let (child, own) = join!(ctx.call(child(n)), ctx.run(work(1)));
    Ok(child? * 2 + own?)
}

#[flow]
async fn parent_of_waiting(ctx: Ctx) -> Result<u32, Trouble> {
    ctx.call(waiting()).await
}

#[flow]
async fn grandparent(ctx: Ctx) -> Result<u32, Trouble> {
    ctx.call(parent_of_waiting()).await
}

#[flow]
async fn choosing(ctx: Ctx, id: String) -> Result<u32, Trouble> {
    ctx.call(child(1)).execution(id).await
}

/// Names an id for its child, and drops the call before it was begun.
#[flow]
async fn changing_its_mind(ctx: Ctx, id: String) -> Result<u32, Trouble> {
    let (call, soon) = (ctx.call(child(1)).execution(id), ctx.sleep_until(ctx.now()));
    let kept = select! {
        called = call => called?,
        () = soon => 0,
        () = std::future::ready(()) => 1,
    };
    ctx.run(work(kept)).await
}

/// Starts a child and leaves it, then does something.
#[flow]
async fn leaving(ctx: Ctx) -> Result<u32, Trouble> {
    drop(ctx.spawn(waiting()).on_close(OnClose::Abandon).await);
    let _ = ctx.run(work(1)).await?;
    ctx.run(work(2)).id("second").await
}

fn all() -> Registry {
    registry!(
        flows: [child, waiting, parent, busy_parent, parent_of_waiting, grandparent, choosing, changing_its_mind, leaving],
        steps: [work]
    )
}

/// A program that has room for one execution at a time: children go to others.
async fn narrow(rig: &Rig, tap: &Tap) -> App {
    let worker = WorkerOptions { running: 1, lease: LEASE, poll: millis(20), ..WorkerOptions::default() };
    rig.builder(all(), tap).await.worker(worker).build().unwrap()
}

fn failed<T: std::fmt::Debug>(result: Result<T, ExecutionError<Trouble>>) -> Trouble {
    match result {
        Err(ExecutionError::Failed(trouble)) => trouble,
        other => panic!("{other:?}"),
    }
}

on_every_store! {
    async fn a_child_runs_in_another_process_and_outlives_its_parents(rig: Rig) {
        for n in [4, 10] {
            let (rig, tap) = (rig.another(), Tap::default());
            let (a, b) = (narrow(&rig, &tap).await, rig.app(all()).await);
            let input = loom::kernel::Payload::encode(&n).unwrap();
            a.start_dynamic("busy_parent", input).id("p").alone().await.unwrap();
            b.work();
            rig.world.seen(&format!("work {n}"), 1).await;
            rig.world.seen("work 1", 1).await;
            let child = b.row(&id("p:child")).await.unwrap();
            assert_eq!(child.lease.unwrap().worker, b.worker());
            tap.freeze(true); // the parent's process is gone
            rig.world.open("work");
            let result = b.handle::<busy_parent>(&id("p")).result().await;
            if n == 4 { assert_eq!(result.unwrap(), 9) } else { assert_eq!(failed(result), Trouble::TooMany(10)) }
            assert_eq!(rig.world.count(&format!("work {n}")), 1, "the child was disturbed by nothing");
        }
    }

    async fn a_cancelled_child_is_a_typed_failure(rig: Rig) {
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        let handle = app.start(parent_of_waiting()).id("p").await.unwrap();
        until(|| async { other.gates(None).await.unwrap().len() == 1 }).await;
        other.cancel(&id("p:waiting"), "why", "ada").await.unwrap();
        assert_eq!(failed(handle.result().await), Trouble::Engine(EffectError::Cancelled));
    }

    /// A child that cannot be revived is cancelled all the same, and its parent hears of it.
    async fn a_cancelled_child_with_a_damaged_log_is_told_to_its_parent(rig: Rig) {
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        let handle = app.start(parent_of_waiting()).id("p").await.unwrap();
        let child = id("p:waiting");
        app.until(&id("p"), &[Status::Suspended]).await.unwrap();
        until(|| async { app.row(&child).await.is_ok_and(|row| row.status == Status::Suspended) }).await;
        tap.damage(&child, 1);
        app.resume(&"p:waiting/answer".parse().unwrap(), loom::kernel::Payload::encode(&1).unwrap(), "ada").await.unwrap();
        assert_eq!(app.until(&child, &[Status::Parked]).await.unwrap(), Status::Parked);
        app.cancel(&child, "why", "ada").await.unwrap();
        assert_eq!(app.until(&child, &[]).await.unwrap(), Status::Cancelled);
        assert_eq!(failed(handle.result().await), Trouble::Engine(EffectError::Cancelled));
    }

    /// The same for a parent: what it started is cancelled with it.
    async fn b70_a_cancelled_parent_with_a_damaged_log_takes_its_children_with_it(rig: Rig) {
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        app.start(parent_of_waiting()).id("p").await.unwrap();
        let (parent, child) = (id("p"), id("p:waiting"));
        app.until(&parent, &[Status::Suspended]).await.unwrap();
        until(|| async { app.row(&child).await.is_ok_and(|row| row.status == Status::Suspended) }).await;
        let last = app.row(&parent).await.unwrap().next - 1;
        tap.damage(&parent, last);
        app.cancel(&parent, "why", "ada").await.unwrap();
        assert_eq!(app.until(&parent, &[]).await.unwrap(), Status::Cancelled);
        assert_eq!(app.until(&child, &[]).await.unwrap(), Status::Cancelled);
    }

    async fn an_id_that_cannot_be_had_is_a_typed_failure(rig: Rig) {
        rig.world.open("work");
        let app = rig.app(all()).await;
        app.start(waiting()).id("other-flow").await.unwrap();
        app.start(child(2)).id("other-input").await.unwrap();
        app.start(child(1)).id("no-child").await.unwrap();
        for (wanted, why) in [
            ("other-flow", "an execution of `waiting`"),
            ("other-input", "with another input"),
            ("no-child", "not its child"),
            ("a/b", "a/b"),
        ] {
            let handle = app.start(choosing(wanted.into())).await.unwrap();
            match failed(handle.result().await) {
                Trouble::Engine(EffectError::NotStarted { child, reason }) => {
                    assert_eq!(child, wanted);
                    assert!(reason.contains(why), "{wanted}: {reason}");
                }
                other => panic!("{wanted}: {other:?}"),
            }
            loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
        }
        assert_eq!(app.row(&id("other-flow")).await.unwrap().status, Status::Suspended, "nobody cancelled it");
        // Free, it is had, and a second parent does not get it.
        let first = app.start(choosing("free".into())).await.unwrap();
        assert_eq!(first.result().await.unwrap(), 1);
        let second = app.start(choosing("free".into())).await.unwrap();
        assert!(matches!(failed(second.result().await), Trouble::Engine(EffectError::NotStarted { .. })));
    }

    /// Nobody is cancelled by a stranger who only named its id.
    async fn an_execution_that_is_no_child_is_not_cancelled_as_one(rig: Rig) {
        rig.world.open("work");
        let app = rig.app(all()).await;
        let stranger = app.start(waiting()).id("stranger").await.unwrap();
        stranger.until(&[Status::Suspended]).await.unwrap();
        let handle = app.start(changing_its_mind("stranger".into())).id("p").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 1);
        let told = told(&app, handle.id()).await;
        assert_eq!((count(&told, "CHILD_STARTED"), count(&told, "STEP_ABANDONED child")), (1, 1), "{told:?}");
        // What it was told comes before the answer.
        stranger.resume("answer", &7, "ada").await.unwrap();
        assert_eq!(stranger.result().await.unwrap(), 7);
    }

    async fn a_child_flow_that_the_program_lacks_is_a_typed_failure(rig: Rig) {
        let app = rig.app(untold(&registry!(flows: [parent_of_waiting], steps: []))).await;
        let handle = app.start(parent_of_waiting()).id("p").await.unwrap();
        match failed(handle.result().await) {
            Trouble::Engine(EffectError::NotStarted { reason, .. }) => assert!(reason.contains("`waiting`"), "{reason}"),
            other => panic!("{other:?}"),
        }
    }

    async fn b70_a_cancel_goes_down_three_levels(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(grandparent()).id("g").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 1 }).await;
        handle.cancel("why", "ada").await.unwrap();
        for level in ["g", "g:parent_of_waiting", "g:parent_of_waiting:waiting"] {
            assert_eq!(app.until(&id(level), &[]).await.unwrap(), Status::Cancelled, "{level}");
        }
        assert!(app.gates(None).await.unwrap().is_empty());
    }

    /// A parked child keeps its parent waiting, and goes on when it is mended.
    async fn a_child_that_parks_is_no_outcome(rig: Rig) {
        let without = rig.app(untold(&registry!(flows: [parent, child], steps: []))).await;
        let handle = without.start(parent(3)).id("p").await.unwrap();
        until(|| async { without.row(&id("p:child")).await.is_ok() }).await;
        assert_eq!(report(&without, &id("p:child")).await.fault, Fault::MissingStep);
        assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
        without.shutdown(seconds(1)).await;
        rig.world.open("work");
        let app = rig.app(all()).await;
        app.work();
        assert_eq!(app.handle::<parent>(&id("p")).result().await.unwrap(), 6);
    }

    /// B13: a child that nobody waits for has its own event, and what comes after it keeps its place.
    async fn b13_a_start_that_is_left_alone_owns_an_event(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move { drop(app.start(leaving()).id("run").await.unwrap()) }).await;
        rig.world.seen("work 1", 1).await;
        process.kill();
        rig.world.open("work");
        let app = rig.app(all()).await;
        app.work();
        until(|| async { app.row(&id("run")).await.unwrap().status.is_terminal() }).await;
        assert_eq!(app.handle::<leaving>(&id("run")).result().await.unwrap(), 2);
        let told = told(&app, &id("run")).await;
        assert_eq!(told[1..3], ["CHILD_STARTED waiting", "STEP_STARTED work"], "{told:?}");
        assert_eq!(count(&told, "CHILD_STARTED"), 1, "{told:?}");
        assert_eq!(rig.world.count("work 2"), 1);
        let child = log(&app, &id("run:waiting")).await;
        assert!(matches!(&child[0].event, Event::ExecutionStarted(e) if e.parent.as_ref().unwrap().execution == id("run")));
        assert_eq!(app.until(&id("run:waiting"), &[Status::Suspended]).await.unwrap(), Status::Suspended);
    }
}
