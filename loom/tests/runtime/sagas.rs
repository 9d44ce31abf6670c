//! What is taken back when a flow cannot go on, and what becomes of it when that fails too.
//! Not cancels, which may take back as well (`cancels.rs`).

use std::time::Duration;

use loom::{Registry, Status, WorkerOptions, kernel::Fault, prelude::*};

use crate::support::{Process, Rig, Tap, World, id, on_every_store, registry, report, until};

#[step]
async fn reserve(world: Res<World>, what: String) -> loom::Result<()> {
    world.hit(format!("reserved {what}"));
    Ok(())
}

#[step]
async fn no_room(world: Res<World>) -> loom::Result<()> {
    world.hit("no room");
    Err(loom::Error::msg("no room"))
}

/// Undoing fails as long as the desk is closed.
#[step(retry(attempts = 3, initial = "1ms"))]
async fn release(world: Res<World>, what: String) -> loom::Result<()> {
    world.hit(format!("tried {what}"));
    if world.count("desk open") == 0 {
        return Err(loom::Error::msg("the desk is closed"));
    }
    world.hit(format!("released {what}"));
    Ok(())
}

/// Takes back what it has done; where that fails, a person is asked, and it is tried again.
#[flow]
async fn trip(ctx: Ctx) -> loom::Result<String> {
    ctx.run(reserve("flight".into())).await?;
    if let Err(why) = ctx.run(no_room()).await {
        for turn in 0u32.. {
            match ctx.run(release("flight".into())).key(turn).await {
                Ok(()) => return Ok(format!("{why}, all taken back")),
                Err(_) => ctx.suspend::<()>("operator").key(turn).await?,
            };
        }
    }
    Ok("booked".into())
}

/// Undoing has a bug.
#[step(name = "bad_release")]
async fn bad_release(world: Res<World>) -> loom::Result<()> {
    world.hit("tried");
    panic!("a bug of the undoing")
}

/// Found by that name, as after a deploy.
#[step(name = "bad_release")]
async fn good_release(world: Res<World>) -> loom::Result<()> {
    world.hit("mended");
    Ok(())
}

#[flow]
async fn unlucky(ctx: Ctx) -> loom::Result<String> {
    ctx.run(reserve("flight".into())).await?;
    let Err(why) = ctx.run(no_room()).await else { return Ok("booked".into()) };
    ctx.run(bad_release()).await?;
    Ok(format!("{why}, all taken back"))
}

#[flow]
async fn other(ctx: Ctx) -> loom::Result<()> {
    ctx.run(reserve("hotel".into())).await
}

/// Undoing lasts until it is told to stop, the first two times.
#[step]
async fn slow_release(world: Res<World>, step: StepCx) -> loom::Result<()> {
    if world.hit("slow") <= 2 {
        step.cancelled().await;
        world.hit("told to stop");
    }
    Ok(())
}

#[flow(name = "slow")]
async fn slow(ctx: Ctx) -> loom::Result<u32> {
    let Err(_) = ctx.run(no_room()).await else { return Ok(0) };
    ctx.run(slow_release()).await?;
    Ok(1)
}

/// The next release, which does more behind it.
#[flow(name = "slow")]
async fn slow_and_more(ctx: Ctx) -> loom::Result<u32> {
    let Err(_) = ctx.run(no_room()).await else { return Ok(0) };
    ctx.run(slow_release()).await?;
    if ctx.changed("more") {
        ctx.run(reserve("voucher".into())).await?;
        return Ok(2);
    }
    Ok(1)
}

fn today() -> Registry {
    registry!(
        flows: [trip, unlucky, other, slow],
        steps: [reserve, no_room, release, bad_release, slow_release]
    )
}

fn tomorrow() -> Registry {
    registry!(
        flows: [trip, unlucky, other, slow_and_more],
        steps: [reserve, no_room, release, good_release, slow_release]
    )
}

on_every_store! {
    /// An undoing that returns an error is an outcome, of which the flow makes what it likes: here it waits for a person.
    async fn b99_an_undoing_that_fails_can_wait_for_a_person(rig: Rig) {
        let app = rig.app(today()).await;
        let handle = app.start(trip()).id("trip").await.unwrap();
        assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
        assert_eq!(rig.world.count("tried flight"), 3, "its policy was kept");
        app.start(other()).await.unwrap().result().await.unwrap();
        rig.world.hit("desk open");
        handle.resume("operator#0", &(), "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "no room, all taken back");
        assert_eq!((rig.world.count("reserved flight"), rig.world.count("released flight")), (1, 1));
    }

    /// One that panics parks its own execution and nothing else, however often the program starts.
    async fn b99_an_undoing_that_panics_parks_it_alone(rig: Rig) {
        for start in 1..=2 {
            let app = rig.app(today()).await;
            app.work();
            if start == 1 {
                app.start(unlucky()).id("unlucky").await.unwrap();
            }
            let report = report(&app, &id("unlucky")).await;
            assert_eq!((report.fault, report.frame.unwrap().as_str()), (Fault::StepPanicked, "bad_release"));
            app.start(other()).await.unwrap().result().await.unwrap();
            app.shutdown(seconds(1)).await;
        }
        let app = rig.app(tomorrow()).await;
        app.work();
        until(|| async { app.row(&id("unlucky")).await.unwrap().status.is_terminal() }).await;
        assert_eq!(app.handle::<unlucky>(&id("unlucky")).result().await.unwrap(), "no room, all taken back");
        assert_eq!((rig.world.count("reserved flight"), rig.world.count("mended")), (1, 1));
    }

    /// What was taken over from a dead process counts at a shutdown like what was started here, and goes on in a program
    /// that has changed.
    async fn b102_a_shutdown_hands_back_what_was_taken_over(rig: Rig) {
        let dead = Process::start(&rig, today()).await;
        let app = dead.app.clone();
        dead.run(async move { drop(app.start(slow()).id("slow").await.unwrap()) }).await;
        rig.world.seen("slow", 1).await;
        dead.kill();
        let tap = Tap::default();
        tap.ahead(Duration::from_secs(3600));
        let worker = WorkerOptions { lease: Duration::from_secs(3600), ..WorkerOptions::default() };
        let app = rig.builder(today(), &tap).await.worker(worker).build().unwrap();
        app.work();
        rig.world.seen("slow", 2).await;
        app.shutdown(Duration::ZERO).await;
        assert_eq!(rig.world.count("told to stop"), 1, "it was told, and waited for");
        let row = app.row(&id("slow")).await.unwrap();
        assert_eq!((row.status, row.lease), (Status::Running, None));
        let app = rig.builder(tomorrow(), &tap).await.worker(worker).build().unwrap();
        app.work();
        assert_eq!(app.handle::<slow_and_more>(&id("slow")).result().await.unwrap(), 2);
    }
}
