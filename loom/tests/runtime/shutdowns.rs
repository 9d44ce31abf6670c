//! Clean shutdowns: short steps finish, long ones are handed back, and another program goes on at once.
//! Not crashes.

use std::time::Duration;

use loom::{App, Status, kernel::Fault, prelude::*};

use crate::support::{
    Rig, Stop, Tap, World, count, id, on_both_in_virtual_time, on_every_store, registry, report, told, until,
};

#[step]
async fn short(world: Res<World>) -> loom::Result<u32> {
    world.hit("short");
    world.pass("short").await;
    world.hit("short done");
    Ok(1)
}

/// Goes on for ever in its first attempt.
#[step]
async fn long(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("long {}", step.attempt()));
    while step.attempt() == 1 {
        world.hit("long goes on");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(step.attempt())
}

#[flow]
async fn shortly(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.run(short()).await? + ctx.run(second()).await?)
}

#[step]
async fn second(world: Res<World>) -> loom::Result<u32> {
    world.hit("second");
    Ok(2)
}

#[flow]
async fn lengthy(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(long()).await
}

fn all() -> loom::Registry {
    registry!(flows: [shortly, lengthy, busily, neatly, stubbornly, doing],
        steps: [short, long, second, busy, neat, stubborn, done_all_the_same, breaks])
}

/// Heeds its cancellation, and takes a moment to tidy up.
#[step]
async fn neat(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("neat");
    if world.count("neat") > 1 {
        return Ok(7);
    }
    step.cancelled().await;
    world.hit("told");
    world.pass("tidied").await;
    world.hit("tidied");
    Err(loom::Error::msg("stopped half-way"))
}

#[flow]
async fn neatly(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(neat()).await
}

/// Is told to stop when it is as good as done.
#[step(at_most_once)]
async fn done_all_the_same(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("begun");
    step.cancelled().await;
    world.hit("told");
    Ok(7)
}

#[step]
async fn breaks(world: Res<World>) -> loom::Result<u32> {
    world.pass("break").await;
    match world.hit("broke") {
        1 => panic!("broken"),
        _ => Ok(1),
    }
}

#[flow]
async fn doing(ctx: Ctx) -> loom::Result<u32> {
    let (done, beside) = join!(ctx.run(done_all_the_same()), ctx.run(breaks()));
    Ok(done? + beside?)
}

struct Dropped(World);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.hit("dropped");
    }
}

/// Heeds its cancellation, and tidies up for ever.
#[step]
async fn stubborn(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("stubborn");
    if world.count("stubborn") > 1 {
        return Ok(7);
    }
    step.cancelled().await;
    let _dropped = Dropped(World::clone(&world));
    world.hit("told");
    std::future::pending().await
}

#[flow]
async fn stubbornly(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(stubborn()).await
}

/// Is mostly at work when it is cut off, and sees that only then.
#[step]
async fn busy(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("busy");
    while step.attempt() == 1 && world.count("busy") == 1 {
        std::thread::sleep(Duration::from_millis(20));
        tokio::task::yield_now().await;
    }
    Ok(7)
}

#[flow]
async fn busily(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(busy()).await
}

/// A program whose leases outlast the test: who takes something over was given it.
async fn app(rig: &Rig) -> App {
    let worker = loom::WorkerOptions { lease: Duration::from_secs(3600), ..Default::default() };
    rig.builder(all(), &Tap::default()).await.worker(worker).build().unwrap()
}

on_every_store! {
    async fn a_short_step_finishes_and_its_outcome_is_kept(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(shortly()).id("run").await.unwrap();
        rig.world.seen("short", 1).await;
        let mut down = std::pin::pin!(first.shutdown(Duration::from_secs(60)));
        // Polled once, it is on its way down: nothing new begins.
        select! {
            () = &mut down => panic!("a step still runs"),
            () = std::future::ready(()) => {}
        }
        first.start(lengthy()).id("late").await.unwrap();
        rig.world.open("short");
        down.await;
        assert_eq!((rig.world.count("short done"), rig.world.count("second")), (1, 0));
        let line = told(&first, &id("run")).await;
        assert_eq!(count(&line, "STEP_COMPLETED short"), 1, "{line:?}");
        assert_eq!(first.row(&id("run")).await.unwrap().lease, None);
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<shortly>(handle.id()).result().await.unwrap(), 3);
        assert_eq!((rig.world.count("short"), rig.world.count("second")), (1, 1));
    }

    async fn that_a_step_was_cut_off_is_no_failure_of_it(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(busily()).id("run").await.unwrap();
        rig.world.seen("busy", 1).await;
        first.shutdown(Duration::ZERO).await;
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<busily>(handle.id()).result().await.unwrap(), 7);
        assert_eq!(rig.world.count("busy"), 2);
    }

    /// And what it says then is no outcome: nobody waited for it.
    async fn a_step_that_heeds_its_cancellation_tidies_up_before_it_is_handed_back(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(neatly()).id("run").await.unwrap();
        rig.world.seen("neat", 1).await;
        let mut down = std::pin::pin!(first.shutdown(Duration::ZERO));
        select! {
            () = &mut down => panic!("a step tidies up"),
            () = rig.world.seen("told", 1) => {}
        }
        assert_eq!(rig.world.count("tidied"), 0);
        assert!(first.row(&id("run")).await.unwrap().lease.is_some(), "nobody begins it anew beside that");
        rig.world.open("tidied");
        down.await;
        assert_eq!(rig.world.count("tidied"), 1);
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<neatly>(handle.id()).result().await.unwrap(), 7);
        assert_eq!(second.row(&id("run")).await.unwrap().takeovers, 0);
    }

    /// It happened, and is not asked about: neither after a shutdown, nor where the flow parked.
    async fn a_result_of_a_step_that_was_told_to_stop_counts(rig: Rig) {
        for parks in [false, true] {
            let (rig, name) = (rig.another(), id("run"));
            let first = app(&rig).await;
            first.start(doing()).id("run").await.unwrap();
            rig.world.seen("begun", 1).await;
            if parks {
                rig.world.open("break");
                assert_eq!(report(&first, &name).await.fault, Fault::StepPanicked);
            } else {
                first.shutdown(Duration::ZERO).await;
                rig.world.open("break");
                rig.world.hit("broke");
            }
            let line = told(&first, &name).await;
            assert_eq!(count(&line, "STEP_COMPLETED done_all_the_same"), 1, "{line:?}");
            let second = app(&rig).await;
            second.work();
            if parks {
                let _ = second.retry(&name).await; // unless its first look was quicker
            }
            // Nobody is asked for a verdict.
            until(|| async { second.row(&name).await.unwrap().status == Status::Completed }).await;
            assert_eq!(second.handle::<doing>(&name).result().await.unwrap(), 8);
            assert_eq!((rig.world.count("begun"), rig.world.count("told")), (1, 1));
        }
    }

    async fn a_long_step_is_handed_back_and_stops_before_another_begins(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(lengthy()).id("run").await.unwrap();
        rig.world.seen("long goes on", 3).await;
        first.shutdown(Duration::from_millis(10)).await;
        let so_far = rig.world.count("long goes on");
        let row = first.row(&id("run")).await.unwrap();
        assert_eq!((row.status, row.lease), (Status::Running, None));
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<lengthy>(handle.id()).result().await.unwrap(), 2);
        assert_eq!(rig.world.count("long goes on"), so_far, "the first attempt ended before");
        let row = second.row(&id("run")).await.unwrap();
        assert_eq!(row.takeovers, 0, "handing back is no crash");
    }

    async fn what_is_started_while_a_program_goes_down_is_handed_back(rig: Rig) {
        let tap = Tap::default();
        let worker = loom::WorkerOptions { lease: Duration::from_secs(3600), ..Default::default() };
        let first = rig.builder(all(), &tap).await.worker(worker).build().unwrap();
        // The start is on its way to the store when the program goes down.
        tap.freeze(true);
        let starting = tokio::spawn({
            let first = first.clone();
            async move { first.start(shortly()).id("run").await.map(drop) }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        first.shutdown(Duration::ZERO).await;
        tap.freeze(false);
        starting.await.unwrap().unwrap();
        // Its step would wait at the door for ever.
        until(|| async { first.row(&id("run")).await.unwrap().lease.is_none() }).await;
        rig.world.open("short");
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<shortly>(&id("run")).result().await.unwrap(), 3);
    }

    /// Whether it is cut off at the very moment, or answered late: nobody else could have it before its lease is over.
    async fn what_is_claimed_while_a_program_goes_down_is_handed_back(rig: Rig) {
        let (before, tap) = (app(&rig).await, Tap::default());
        before.shutdown(Duration::ZERO).await;
        before.start(shortly()).id("run").await.unwrap();
        let worker = loom::WorkerOptions { lease: Duration::from_secs(3600), ..Default::default() };
        let first = rig.builder(all(), &tap).await.worker(worker).build().unwrap();
        // The store has given it away, and its answer is on its way.
        tap.stop_at_write(Stop::After(0));
        first.work();
        tap.stopped().await;
        let mut down = std::pin::pin!(first.shutdown(Duration::ZERO));
        select! {
            () = &mut down => panic!("an answer is on its way"),
            () = std::future::ready(()) => {}
        }
        tap.freeze(false);
        down.await;
        assert_eq!(before.row(&id("run")).await.unwrap().lease, None);
        assert_eq!(rig.world.count("short"), 0);
    }

    async fn a_program_that_is_down_starts_nothing(rig: Rig) {
        let first = app(&rig).await;
        first.work();
        first.shutdown(Duration::ZERO).await;
        let handle = first.start(shortly()).id("run").await.unwrap();
        assert!(!first.take_up(&id("run")).await.unwrap());
        assert_eq!(first.row(handle.id()).await.unwrap().lease, None);
        rig.world.open("short");
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<shortly>(handle.id()).result().await.unwrap(), 3);
    }
}

on_both_in_virtual_time! {
    async fn a_step_that_tidies_up_for_ever_is_dropped(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(stubbornly()).id("run").await.unwrap();
        rig.world.seen("stubborn", 1).await;
        let begun = tokio::time::Instant::now();
        first.shutdown(Duration::from_secs(10)).await;
        assert_eq!(begun.elapsed().as_secs(), 15, "its grace, and five to tidy up");
        assert_eq!((rig.world.count("told"), rig.world.count("dropped")), (1, 1));
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<stubbornly>(handle.id()).result().await.unwrap(), 7);
    }
}
