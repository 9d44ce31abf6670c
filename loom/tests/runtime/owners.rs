//! Owners: two programs that both believe they run one execution, and which of them counts.
//! Not real processes: those are in `tests/processes`.

use loom::{Registry, Status, prelude::*};

use crate::support::{Process, Rig, Tap, World, count, id, on_every_store, registry, told, until};

#[step]
async fn transact(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("transact {}", step.execution()));
    world.pass("committed").await;
    Ok(1)
}

#[step]
async fn send_mail(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("mail {}", step.execution()));
    Ok(2)
}

#[flow]
async fn mailing(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.run(transact()).await? + ctx.run(send_mail()).await?)
}

#[step]
async fn tell(world: Res<World>, step: StepCx, what: String) -> loom::Result<String> {
    world.hit(format!("{what} {}", step.execution()));
    Ok(what)
}

#[flow]
async fn receiving(ctx: Ctx) -> loom::Result<String> {
    let received = ctx.suspend::<String>("inbox").await?;
    ctx.run(tell(received)).await
}

/// Says how it ends: returned, or cut off.
struct Ending(World, String);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.hit(format!("{} ended", self.1));
    }
}

/// Does one thing after the other, for as long as it may.
#[step]
async fn ticking(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    let attempt = format!("attempt {}", step.attempt());
    let _ending = Ending((*world).clone(), attempt.clone());
    while world.count("enough") == 0 || step.attempt() == 1 {
        world.hit(attempt.clone());
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    Ok(step.attempt())
}

#[flow]
async fn clockwork(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(ticking()).await
}

fn all() -> Registry {
    registry!(
        flows: [mailing, receiving, clockwork],
        steps: [transact, send_mail, tell, ticking]
    )
}

on_every_store! {
    /// After a sleep of the whole machine, a worker's own executions look abandoned to it.
    async fn b25_a_worker_never_takes_over_what_it_runs(rig: Rig) {
        let tap = Tap::default();
        let worker = loom::WorkerOptions { lease: millis(300), poll: millis(5), ..Default::default() };
        let app = rig.builder(all(), &tap).await.worker(worker).build().unwrap();
        let handle = app.start(mailing()).id("run").await.unwrap();
        rig.world.seen("transact run", 1).await;
        for _ in 0..3 {
            tap.down(true);
            tokio::time::sleep(millis(450)).await;
            tap.down(false);
            tokio::time::sleep(millis(50)).await;
        }
        rig.world.open("committed");
        assert_eq!(handle.result().await.unwrap(), 3);
        assert_eq!((rig.world.count("transact run"), rig.world.count("mail run")), (1, 1));
        let told = told(&app, &id("run")).await;
        assert_eq!(count(&told, "EXECUTION_RESUMED"), 0, "{told:?}");
        assert_eq!(app.row(&id("run")).await.unwrap().takeovers, 0);
    }

    /// It takes up nothing else, but hears what others have to say to the one that it runs.
    async fn an_execution_that_runs_alone_hears_other_processes(rig: Rig) {
        let (alone, other) = (rig.app(all()).await, rig.app(all()).await);
        let input = loom::kernel::Payload::null();
        alone.start_dynamic("mailing", input).id("run").alone().await.unwrap();
        rig.world.seen("transact run", 1).await;
        other.cancel(&id("run"), "enough", "ada").await.unwrap();
        // The step still runs: nothing but the cancellation ends it.
        assert_eq!(other.until(&id("run"), &[]).await.unwrap(), Status::Cancelled);
        rig.world.open("committed");
        assert_eq!(rig.world.count("mail run"), 0);
    }

    async fn b28_who_loses_an_append_does_nothing_more(rig: Rig) {
        let old = Process::start(&rig, all()).await;
        let app = old.app.clone();
        old.run(async move { app.start(mailing()).id("run").await.map(drop).unwrap() }).await;
        rig.world.seen("transact run", 1).await;
        // The first owner no longer reaches the store, and does not know it.
        old.tap.freeze(true);
        let new = Process::start(&rig, all()).await;
        new.work().await;
        rig.world.seen("transact run", 2).await;
        // Both transactions return; the first owner's outcome is on its way.
        rig.world.open("committed");
        let handle = new.app.handle::<mailing>(&id("run"));
        assert_eq!(handle.result().await.unwrap(), 3);
        old.tap.freeze(false);
        // Whoever watches through the first owner sees the one outcome too.
        let app = old.app.clone();
        let seen = old.run(async move { app.handle::<mailing>(&id("run")).result().await.unwrap() }).await;
        assert_eq!(seen, 3);
        assert_eq!(rig.world.count("mail run"), 1);
        let told = told(&new.app, &id("run")).await;
        assert_eq!(count(&told, "STEP_COMPLETED transact"), 1, "{told:?}");
        // The first owner goes on with other work.
        let app = old.app.clone();
        let other = old.run(async move { app.start(mailing()).id("other").await.unwrap().result().await });
        assert_eq!(other.await.unwrap(), 3);
    }

    async fn b26_of_two_that_resume_at_the_same_instant_one_proceeds(rig: Rig) {
        const RUNS: usize = 100;
        let starter = rig.app(all()).await;
        let mut handles = Vec::new();
        for n in 0..RUNS {
            handles.push(starter.start(receiving()).id(format!("run-{n}")).await.unwrap());
        }
        for handle in &handles {
            assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
        }
        starter.shutdown(seconds(1)).await;
        for handle in &handles {
            handle.resume("inbox", "hello", "ada").await.unwrap();
        }
        let both = [rig.app(all()).await, rig.app(all()).await];
        let mut taken = 0;
        for handle in &handles {
            let (one, other) = join!(both[0].take_up(handle.id()), both[1].take_up(handle.id()));
            taken += usize::from(one.unwrap()) + usize::from(other.unwrap());
        }
        assert_eq!(taken, RUNS, "each of them by one");
        for handle in &handles {
            let seen = [both[0].handle::<receiving>(handle.id()), both[1].handle::<receiving>(handle.id())];
            for watcher in seen {
                assert_eq!(watcher.result().await.unwrap(), "hello");
            }
            let told = told(&both[0], handle.id()).await;
            assert_eq!((count(&told, "EXECUTION_RESUMED"), count(&told, "GATE_ANSWERED")), (1, 1), "{told:?}");
            assert_eq!(rig.world.count(&format!("hello {}", handle.id())), 1);
        }
    }

    /// Two programs that work, a crowd that answers, and no execution that is run by both.
    async fn b26_two_workers_share_a_crowd(rig: Rig) {
        let both = [rig.app(all()).await, rig.app(all()).await];
        both.iter().for_each(loom::App::work);
        let mut handles = Vec::new();
        for n in 0..100 {
            handles.push(both[n % 2].start(receiving()).id(format!("run-{n}")).await.unwrap());
        }
        for (n, handle) in handles.iter().enumerate() {
            let other = both[(n + 1) % 2].handle::<receiving>(handle.id());
            other.resume("inbox", "hello", "ada").await.unwrap();
        }
        for handle in &handles {
            assert_eq!(handle.result().await.unwrap(), "hello");
            assert_eq!(rig.world.count(&format!("hello {}", handle.id())), 1);
            let told = told(&both[0], handle.id()).await;
            assert!(count(&told, "EXECUTION_RESUMED") <= 1, "{told:?}");
        }
    }

    async fn b31_what_a_lost_owner_runs_is_cut_off(rig: Rig) {
        let old = Process::start(&rig, all()).await;
        let app = old.app.clone();
        old.run(async move { app.start(clockwork()).id("run").await.map(drop).unwrap() }).await;
        // Its start is on record: another owner's attempt is the second one.
        until(|| async { count(&told(&old.app, &id("run")).await, "STEP_STARTED") == 1 }).await;
        old.tap.freeze(true);
        let new = Process::start(&rig, all()).await;
        new.work().await;
        rig.world.seen("attempt 2", 1).await;
        assert_eq!(rig.world.count("attempt 1 ended"), 0, "it does not know yet");
        old.tap.freeze(false);
        rig.world.seen("attempt 1 ended", 1).await;
        let so_far = rig.world.count("attempt 1");
        rig.world.hit("enough");
        assert_eq!(new.app.handle::<clockwork>(&id("run")).result().await.unwrap(), 2);
        assert_eq!(rig.world.count("attempt 1"), so_far);
    }

    /// However many are due, no more than so many run at once; and all of them get their turn.
    async fn no_more_run_at_once_than_may(rig: Rig) {
        let worker = loom::WorkerOptions { running: 3, poll: millis(20), ..Default::default() };
        let app = rig.builder(all(), &Tap::default()).await.worker(worker).build().unwrap();
        let mut handles = Vec::new();
        for n in 0..12 {
            handles.push(app.start(mailing()).id(format!("run-{n}")).await.unwrap());
        }
        let begun = || rig.world.all().keys().filter(|what| what.starts_with("transact")).count();
        until(|| async { begun() == 3 }).await;
        tokio::time::sleep(millis(100)).await;
        assert_eq!(begun(), 3);
        rig.world.open("committed");
        for handle in handles {
            assert_eq!(handle.result().await.unwrap(), 3);
        }
    }

    async fn an_outcome_of_another_type_is_told_and_not_guessed(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(receiving()).id("run").await.unwrap();
        handle.resume("inbox", "hello", "ada").await.unwrap();
        handle.result().await.unwrap();
        match app.handle::<mailing>(handle.id()).result().await {
            Err(loom::ExecutionError::Undecodable { ty: "u32", .. }) => {}
            other => panic!("{other:?}"),
        }
    }

    async fn b31_a_frozen_owner_is_refused_when_it_thaws(rig: Rig) {
        let old = Process::start(&rig, all()).await;
        let app = old.app.clone();
        old.run(async move { app.start(mailing()).id("run").await.map(drop).unwrap() }).await;
        rig.world.seen("transact run", 1).await;
        rig.world.open("committed");
        old.tap.freeze(true); // with or without the outcome written
        let new = Process::start(&rig, all()).await;
        new.work().await;
        let handle = new.app.handle::<mailing>(&id("run"));
        until(|| async { handle.status().await.unwrap() == Status::Completed }).await;
        let before = told(&new.app, &id("run")).await;
        old.tap.freeze(false);
        let app = old.app.clone();
        old.run(async move { app.handle::<mailing>(&id("run")).result().await.map(drop).unwrap() }).await;
        assert_eq!(told(&new.app, &id("run")).await, before, "what has ended stays as it is");
        assert_eq!(count(&before, "EXECUTION_COMPLETED"), 1);
    }
}
