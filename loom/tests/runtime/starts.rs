//! Starting: one id is one run, and nobody recovers what is alive.
//! Not what runs afterwards.

use loom::{App, StartError, Status, kernel::Payload, prelude::*};

use crate::support::{Process, Rig, Tap, World, count, id, on_every_store, registry, told, until};

#[step]
async fn greet(world: Res<World>, name: String) -> loom::Result<String> {
    world.hit("greet");
    Ok(format!("hello {name}"))
}

#[flow]
async fn greeting(ctx: Ctx, name: String) -> loom::Result<String> {
    ctx.run(greet(name)).await
}

/// Runs until a door opens.
#[step]
async fn linger(world: Res<World>) -> loom::Result<()> {
    world.hit("linger");
    world.pass("leave").await;
    Ok(())
}

#[flow]
async fn lingering(ctx: Ctx) -> loom::Result<()> {
    ctx.run(linger()).await
}

#[flow]
async fn counting(_ctx: Ctx, ms: u64) -> loom::Result<u64> {
    Ok(ms)
}

fn all() -> loom::Registry {
    registry!(flows: [greeting, lingering, counting], steps: [greet, linger])
}

on_every_store! {
    async fn b88_fifty_starts_of_one_id_are_one_run(rig: Rig) {
        let apps = [rig.app(all()).await, rig.app(all()).await];
        let starts = (0..50).map(|n| {
            let app = apps[n % 2].clone();
            tokio::spawn(async move { app.start(greeting("ada".into())).id("one").await.unwrap().result().await })
        });
        for result in join_all(starts).await {
            assert_eq!(result.unwrap().unwrap(), "hello ada");
        }
        assert_eq!(rig.world.count("greet"), 1);
        assert_eq!(count(&told(&apps[0], &id("one")).await, "EXECUTION_STARTED"), 1);
        assert_eq!(apps[0].list(&Default::default()).await.unwrap().len(), 1);
    }

    async fn b87_the_same_start_again_is_no_op_and_another_a_conflict(rig: Rig) {
        let app = rig.app(all()).await;
        for _ in 0..2 {
            // Both while it runs or has just ended, and long after.
            let handle = app.start(greeting("ada".into())).id("one").await.unwrap();
            assert_eq!(handle.result().await.unwrap(), "hello ada");
        }
        let other_input = app.start(greeting("bob".into())).id("one").await;
        assert!(
            matches!(&other_input, Err(StartError::Conflict { id, flow, what: "another input" })
                if id.as_str() == "one" && flow == "greeting"),
            "{:?}", other_input.err()
        );
        let other_flow = app.start(lingering()).id("one").await;
        assert!(
            matches!(&other_flow, Err(StartError::Conflict { what: "another flow", .. })),
            "{:?}", other_flow.err()
        );
        assert_eq!(rig.world.count("greet"), 1);
    }

    async fn b25_what_was_just_started_is_not_recovered(rig: Rig) {
        // Two workers that look for something to take up, while a third program starts executions.
        let others = [rig.app(all()).await, rig.app(all()).await];
        others.iter().for_each(App::work);
        let app = rig.app(all()).await;
        let mut handles = Vec::new();
        for n in 0..20 {
            handles.push(app.start(lingering()).id(format!("run-{n}")).await.unwrap());
        }
        rig.world.seen("linger", 20).await;
        // Longer than a lease, as heartbeats count it: it is renewed, so nobody takes over.
        tokio::time::sleep(crate::support::LEASE * 2).await;
        rig.world.open("leave");
        for handle in handles {
            handle.result().await.unwrap();
            let told = told(&app, handle.id()).await;
            assert_eq!(count(&told, "EXECUTION_RESUMED"), 0, "{told:?}");
            assert_eq!(count(&told, "STEP_STARTED"), 1);
        }
        assert_eq!(rig.world.count("linger"), 20);
    }

    async fn by_name_the_input_is_checked(rig: Rig) {
        let app = rig.app(all()).await;
        let wrong = app.start_dynamic("greeting", Payload::encode(&7).unwrap()).await.unwrap_err();
        assert!(matches!(&wrong, StartError::Input { flow, .. } if flow == "greeting"), "{wrong}");
        // The schema of a `u64` takes them all.
        for ms in ["1e3", "1.0", "18446744073709551616"] {
            let wrong = app.start_dynamic("counting", Payload::parse(ms).unwrap()).await.unwrap_err();
            assert!(matches!(&wrong, StartError::Input { reason, .. } if reason.contains("expected u64")), "{wrong}");
        }
        let unknown = app.start_dynamic("gretting", Payload::null()).await.unwrap_err();
        assert!(unknown.to_string().contains("greeting, lingering"), "{unknown}");
        let bad = app.start_dynamic("greeting", Payload::encode("ada").unwrap()).id("a/b").await.unwrap_err();
        assert!(matches!(bad, StartError::InvalidId(_)), "{bad}");
        assert!(app.list(&Default::default()).await.unwrap().is_empty());
        let id = app.start_dynamic("greeting", Payload::encode("ada").unwrap()).await.unwrap();
        assert_eq!(app.handle::<greeting>(&id).result().await.unwrap(), "hello ada");
    }

    async fn a_start_without_an_owner_waits_for_a_worker(rig: Rig) {
        let app = rig.app(all()).await;
        let started = app.start_dynamic("greeting", Payload::encode("ada").unwrap());
        let id = started.id("later").detached().await.unwrap();
        let row = app.row(&id).await.unwrap();
        assert_eq!((row.status, row.lease), (Status::Running, None));
        assert_eq!(rig.world.count("greet"), 0);
        let worker = rig.app(all()).await;
        worker.work();
        assert_eq!(app.handle::<greeting>(&id).result().await.unwrap(), "hello ada");
    }

    async fn one_execution_can_be_taken_up_alone(rig: Rig) {
        let app = rig.app(all()).await;
        for name in ["one", "two"] {
            let started = app.start_dynamic("greeting", Payload::encode(name).unwrap());
            started.id(name).detached().await.unwrap();
        }
        assert!(app.take_up(&id("one")).await.unwrap());
        app.handle::<greeting>(&id("one")).result().await.unwrap();
        assert!(!app.take_up(&id("one")).await.unwrap(), "it has ended");
        assert_eq!(app.row(&id("two")).await.unwrap().status, Status::Running);
        assert_eq!(rig.world.count("greet"), 1);
    }

    /// The store took the start, and nobody was told: the execution must not be held by a worker that does not
    /// know of it.
    async fn a_start_whose_acknowledgement_was_lost_runs_all_the_same(rig: Rig) {
        let process = Process::start_with(&rig, all(), Tap::default()).await;
        process.tap.lose(1);
        let app = process.app.clone();
        let lost = process.run(async move { app.start(greeting("ada".into())).id("one").await.err() }).await;
        assert!(matches!(lost, Some(StartError::Store(loom::ports::StoreError::Unavailable(_)))), "{lost:?}");
        // The caller does what callers do: it asks again.
        let app = process.app.clone();
        let result = process.run(async move {
            app.start(greeting("ada".into())).id("one").await.unwrap().result().await
        });
        assert_eq!(result.await.unwrap(), "hello ada");
        assert_eq!(rig.world.count("greet"), 1);
    }

    async fn claimed_executions_whose_acknowledgement_was_lost_run_all_the_same(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let started = process.app.start_dynamic("greeting", Payload::encode("ada").unwrap());
        let id = started.id("one").detached().await.unwrap();
        process.tap.lose(1);
        process.work().await;
        let app = &process.app;
        until(|| async { app.row(&id).await.unwrap().status == Status::Completed }).await;
        assert_eq!(rig.world.count("greet"), 1);
    }
}
