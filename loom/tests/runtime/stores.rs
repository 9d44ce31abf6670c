//! Stores that fail: down, slow, damaged, forgetful. Nothing is lost, and what is wrong is told.
//! Not what a store owes: that is the conformance kit.

use loom::{
    Registry, StartError, Status,
    kernel::{Fault, Payload},
    ports::StoreError,
    prelude::*,
};

use crate::support::{
    Process, Rig, Tap, World, count, id, log, on_every_store, registry, report, told, until, untold,
};

#[step]
async fn one(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("one {}", step.execution()));
    world.pass("one").await;
    Ok(1)
}

#[step]
async fn two(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("two {}", step.execution()));
    Ok(2)
}

#[step(at_most_once)]
async fn charge(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("charge {}", step.execution()));
    Ok(10)
}

#[flow]
async fn adding(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.run(one()).await? + ctx.run(two()).await? + ctx.suspend::<u32>("three").await?)
}

#[flow]
async fn charging(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.run(one()).await? + ctx.run(charge()).await?)
}

fn all() -> Registry {
    registry!(flows: [adding, charging], steps: [one, two, charge])
}

on_every_store! {
    /// Every poll tells the driver of what waits in its inbox: it reads that once, and does its work in between.
    async fn an_inbox_that_is_slow_to_read_starves_nobody(rig: Rig) {
        rig.world.open("one");
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        app.start_dynamic("adding", Payload::null()).id("a").detached().await.unwrap();
        // It stays in the inbox until it is asked for.
        app.resume(&"a/three".parse().unwrap(), Payload::encode(&3).unwrap(), "ada").await.unwrap();
        tap.slow_inbox(std::time::Duration::from_millis(60)); // thrice as long as a poll
        app.work();
        assert_eq!(app.handle::<adding>(&id("a")).result().await.unwrap(), 6);
    }

    async fn b41_one_corrupt_log_among_a_hundred_stops_no_other(rig: Rig) {
        rig.world.open("one");
        let first = rig.app(all()).await;
        for n in 0..100 {
            first.start(adding()).id(format!("run-{n}")).await.unwrap();
        }
        for n in 0..100 {
            first.until(&id(&format!("run-{n}")), &[Status::Suspended]).await.unwrap();
        }
        first.shutdown(seconds(1)).await;
        let tap = Tap::default();
        tap.damage(&id("run-42"), 2);
        let app = rig.builder(all(), &tap).await.build().unwrap();
        for n in 0..100 {
            let gate = format!("run-{n}/three").parse().unwrap();
            app.resume(&gate, Payload::encode(&3).unwrap(), "ada").await.unwrap();
        }
        app.work();
        for n in (0..100).filter(|n| *n != 42) {
            let handle = app.handle::<adding>(&id(&format!("run-{n}")));
            assert_eq!(handle.result().await.unwrap(), 6);
        }
        assert_eq!(app.until(&id("run-42"), &[Status::Parked]).await.unwrap(), Status::Parked);
        let row = app.row(&id("run-42")).await.unwrap();
        assert_eq!(row.status, Status::Parked, "quarantined, and listed");
        // The report is the last event, readable although the log is not.
        let last = app.log(&id("run-42"), row.next - 1, 1).await.unwrap();
        let loom::kernel::Event::ExecutionParked(parked) = &last[0].event else { panic!("{last:?}") };
        assert_eq!((parked.report.fault, parked.report.sequence), (Fault::UnreadableLog, Some(2)));
        let refused = app.handle::<adding>(&id("run-42")).state().await.unwrap_err();
        assert!(matches!(&refused, StoreError::Corrupt(what) if what.contains("event 2")), "{refused}");
        app.shutdown(seconds(1)).await;
        // Once the damage is mended, it goes on, and its answer was kept.
        let app = rig.app(all()).await;
        app.work();
        let _ = app.retry(&id("run-42")).await; // unless its first look was quicker
        until(|| async { app.row(&id("run-42")).await.unwrap().status == Status::Completed }).await;
        assert_eq!(rig.world.count("one run-42"), 1);
    }

    async fn what_cannot_be_read_can_still_be_cancelled(rig: Rig) {
        rig.world.open("one");
        let first = rig.app(all()).await;
        let handle = first.start(adding()).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        first.shutdown(seconds(1)).await;
        let tap = Tap::default();
        tap.damage(handle.id(), 2);
        let app = rig.builder(all(), &tap).await.build().unwrap();
        app.work();
        app.cancel(handle.id(), "beyond repair", "ada").await.unwrap();
        assert_eq!(app.until(handle.id(), &[]).await.unwrap(), Status::Cancelled);
    }

    async fn b42_without_its_store_nothing_is_started(rig: Rig) {
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        tap.down(true);
        let refused = app.start(adding()).id("run").await.err().expect("it must not run without a store");
        assert!(matches!(&refused, StartError::Store(StoreError::Unavailable(_))), "{refused}");
        assert!(refused.to_string().contains("unavailable"), "{refused}");
        assert!(app.list(&Default::default()).await.is_err());
        app.work();
        assert_eq!(rig.world.all().len(), 0);
        // It is back, and so is everything else.
        tap.down(false);
        rig.world.open("one");
        let handle = app.start(adding()).id("run").await.unwrap();
        handle.resume("three", &3, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 6);
    }

    async fn b42_a_store_that_goes_down_in_between_loses_nothing(rig: Rig) {
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        let handle = app.start(adding()).id("run").await.unwrap();
        rig.world.seen("one run", 1).await;
        tap.down(true);
        rig.world.open("one");
        // Its outcome cannot be recorded, so nothing that follows from it happens; longer than a lease.
        tokio::time::sleep(crate::support::LEASE * 2).await;
        assert_eq!(rig.world.count("two run"), 0);
        assert!(handle.resume("three", &3, "ada").await.is_err());
        tap.down(false);
        handle.resume("three", &3, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 6);
        assert_eq!((rig.world.count("one run"), rig.world.count("two run")), (1, 1));
        assert_eq!(count(&told(&app, &id("run")).await, "EXECUTION_RESUMED taken"), 0);
    }

    async fn a_store_that_is_down_at_boot_delays_what_is_parked_and_forgets_nothing(rig: Rig) {
        let first = rig.app(untold(&registry!(flows: [adding], steps: [one]))).await;
        rig.world.open("one");
        let handle = first.start(adding()).id("run").await.unwrap();
        handle.resume("three", &3, "ada").await.unwrap();
        assert_eq!(report(&first, handle.id()).await.fault, Fault::MissingStep);
        first.shutdown(seconds(1)).await;
        // The mended program comes up before its store does.
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        tap.down(true);
        app.work();
        tokio::time::sleep(millis(100)).await;
        tap.down(false);
        let handle = app.handle::<adding>(handle.id());
        until(|| async { handle.status().await.unwrap() == Status::Completed }).await;
        assert_eq!(handle.result().await.unwrap(), 6);
    }

    async fn a_store_that_panics_stops_an_owner_and_not_the_execution(rig: Rig) {
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        let handle = app.start(adding()).id("run").await.unwrap();
        rig.world.seen("one run", 1).await;
        tap.panic();
        rig.world.open("one");
        handle.resume("three", &3, "ada").await.unwrap();
        until(|| async { handle.status().await.unwrap() == Status::Completed }).await;
        assert_eq!(handle.result().await.unwrap(), 6);
    }

    /// B29: each write happens, and nobody is told. The owner repeats itself, and is recognised.
    async fn b29_a_lost_acknowledgement_is_no_conflict(rig: Rig) {
        rig.world.open("one");
        let tap = Tap::default();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        let handle = app.start(adding()).id("run").await.unwrap();
        tap.lose(3);
        handle.resume("three", &3, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 6);
        let told = told(&app, &id("run")).await;
        assert_eq!(count(&told, "STEP_STARTED"), 2, "{told:?}");
        assert_eq!(tap.refused(), 0);
    }

    /// The lease ran out while the store was away: an at-most-once step must not begin, and must not be forgotten.
    async fn an_at_most_once_step_waits_for_a_valid_lease(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move { app.start(charging()).id("run").await.map(drop).unwrap() }).await;
        rig.world.seen("one run", 1).await;
        process.tap.freeze(true);
        rig.world.open("one");
        tokio::time::sleep(crate::support::LEASE * 2).await;
        process.tap.freeze(false);
        let handle = process.app.handle::<charging>(&id("run"));
        until(|| async {
            handle.status().await.unwrap() == Status::Completed
        }).await;
        assert_eq!(rig.world.count("charge run"), 1);
    }

    /// Its start was recorded, the answer took longer than the lease, and another owner has it in doubt by now.
    async fn an_at_most_once_step_of_a_lost_owner_does_not_begin(rig: Rig) {
        let old = Process::start(&rig, all()).await;
        let app = old.app.clone();
        old.run(async move { app.start(charging()).id("run").await.map(drop).unwrap() }).await;
        until(|| async { count(&told(&old.app, &id("run")).await, "STEP_STARTED one") == 1 }).await;
        old.tap.stop_at(old.tap.appends(), true);
        rig.world.open("one");
        old.tap.stopped().await;
        let new = Process::start(&rig, all()).await;
        new.work().await;
        assert_eq!(report(&new.app, &id("run")).await.fault, Fault::InDoubt);
        old.tap.freeze(false);
        // The first owner is done with it when it has begun and ended something else.
        let app = old.app.clone();
        let other = old.run(async move { app.start(charging()).id("other").await.unwrap().result().await });
        assert_eq!(other.await.unwrap(), 11);
        assert_eq!((rig.world.count("charge run"), rig.world.count("charge other")), (0, 1));
        let again = loom::kernel::machine::Verdict::Again;
        new.app.judge(&id("run"), &loom::kernel::FrameId::parsed("charge"), again, "ada").await.unwrap();
        until(|| async { new.app.row(&id("run")).await.unwrap().status == Status::Completed }).await;
        assert_eq!(rig.world.count("charge run"), 1);
    }

    /// A crash before and after every append of a flow with two steps and a gate.
    async fn b35_b45_a_crash_around_every_append_loses_and_repeats_nothing(rig: Rig) {
        rig.world.open("one");
        let mut crashes = 0;
        for after in [false, true] {
            for append in 0.. {
                let name = format!("run-{append}-{after}");
                let process = Process::start(&rig, all()).await;
                process.tap.stop_at(append, after);
                let (app, run, tap) = (process.app.clone(), name.clone(), process.tap.clone());
                let outlived = process.run(async move {
                    let handle = app.start(adding()).id(run).await.unwrap();
                    let finish = async {
                        handle.until(&[Status::Suspended]).await.unwrap();
                        handle.resume("three", &3, "ada").await.unwrap();
                        handle.result().await.unwrap();
                    };
                    tokio::select! {
                        biased;
                        () = tap.stopped() => false,
                        () = finish => true,
                    }
                }).await;
                let crashed = process.tap.is_frozen();
                process.kill();
                let app = rig.app(all()).await;
                app.work();
                let handle = app.handle::<adding>(&id(&name));
                // It may have been answered before, or have ended: the same answer again is no error.
                handle.resume("three", &3, "ada").await.unwrap();
                until(|| async { handle.status().await.unwrap() == Status::Completed }).await;
                assert_eq!(handle.result().await.unwrap(), 6);
                let events = log(&app, handle.id()).await;
                let told = told(&app, handle.id()).await;
                assert_eq!(count(&told, "GATE_ANSWERED"), 1, "{told:?}");
                assert_eq!(count(&told, "STEP_COMPLETED"), 2, "{told:?}");
                loom::replay_check(&all(), &events).unwrap();
                app.shutdown(seconds(1)).await;
                if outlived && !crashed {
                    break;
                }
                crashes += 1;
            }
        }
        assert!(crashes >= 6, "only {crashes}");
    }
}

/// A report of a log that is damaged where its start is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_without_its_start_is_quarantined() {
    crate::support::patiently(async {
        let rig = Rig::sqlite();
        rig.world.open("one");
        let first = rig.app(all()).await;
        let handle = first.start(adding()).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        first.shutdown(seconds(1)).await;
        let tap = Tap::default();
        tap.damage(handle.id(), 0);
        let app = rig.builder(all(), &tap).await.build().unwrap();
        app.work();
        app.handle::<adding>(handle.id()).resume("three", &3, "ada").await.unwrap();
        assert_eq!(app.until(handle.id(), &[Status::Parked]).await.unwrap(), Status::Parked);
        tap.mend();
        let report = report(&app, handle.id()).await;
        assert_eq!(report.fault, Fault::UnreadableLog);
    })
    .await;
}
