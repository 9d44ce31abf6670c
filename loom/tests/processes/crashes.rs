//! SIGKILL, again and again: by steps that kill their process, and by a hand that kills workers.
//! Not rivals: those are alive.

use std::collections::BTreeMap;

use loom::{ExecutionError, Status, kernel::Fault, prelude::*};
use postgres::cluster::Cluster;

use crate::{
    child::{adding, bombing, killing, on_every_store, open, patiently, registry, start, start_with},
    ledger::Ledger,
};

/// Starts the flow in one process after the other, until one outlives it.
async fn until_outlived(dir: &tempfile::TempDir, flow: &str, takeovers: u32) -> usize {
    let mut killed = 0;
    while start_with(dir, &format!("start {flow}"), takeovers).was_killed().await {
        killed += 1;
        assert!(killed < 20, "{flow} kills for ever");
    }
    killed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b44_crashes_count_as_attempts() {
    patiently(async {
        let dir = tempfile::tempdir().unwrap();
        let world = Ledger::new(dir.path());
        assert_eq!(until_outlived(&dir, "killing", 10).await, 3);
        assert_eq!(world.count("killer"), 3, "attempts = 3: {:?}", world.lines());
        let app = open(&world).await;
        let handle = app.handle::<killing>(&"killing".parse().unwrap());
        match handle.result().await {
            Err(ExecutionError::Failed(error)) => {
                let exhausted = error.engine().cloned();
                assert!(matches!(exhausted, Some(EffectError::Exhausted { attempts: 3, .. })), "{error:?}");
            }
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b44_a_step_that_kills_its_process_parks_the_execution() {
    patiently(async {
        let dir = tempfile::tempdir().unwrap();
        let world = Ledger::new(dir.path());
        // The first owner, and as many that take over as are allowed.
        assert_eq!(until_outlived(&dir, "bombing", 2).await, 3);
        assert_eq!(world.count("bomb"), 3, "{:?}", world.lines());
        assert_eq!(world.count("saw parked"), 1);
        let app = open(&world).await;
        let handle = app.handle::<bombing>(&"bombing".parse().unwrap());
        let report = handle.state().await.unwrap().parked.unwrap();
        assert_eq!(report.fault, Fault::Poisoned);
        // The one that killed them has no outcome, and its start is in the log all the same.
        assert_eq!(
            report.message,
            "3 owners in a row vanished without an outcome; the last one had begun `bomb`"
        );
        // Other workers leave it alone: they would die of it. They have other work.
        let worker = start(&dir, "work");
        let other = app.start_dynamic("adding", loom::kernel::Payload::encode(&3).unwrap());
        let other = app.handle::<adding>(&other.id("other").detached().await.unwrap());
        assert_eq!(other.result().await.unwrap(), 3);
        worker.signal("KILL");
        assert!(worker.was_killed().await);
        assert_eq!(world.count("bomb"), 3, "{:?}", world.lines());
        assert_eq!(handle.status().await.unwrap(), Status::Parked);
        // Mended, and tried again by a person.
        world.open("mended");
        app.work();
        app.retry(handle.id()).await.unwrap();
        assert_eq!(handle.until(&[]).await.unwrap(), Status::Completed);
        assert_eq!(handle.result().await.unwrap(), 4);
    })
    .await;
}

on_every_store! {
    async fn killed_workers_lose_and_repeat_nothing_that_is_recorded(dir: TempDir, world: Ledger) {
        const RUNS: u32 = 12;
        const STEPS: u32 = 8;
        let app = open(&world).await;
        let mut handles = Vec::new();
        for n in 0..RUNS {
            let input = loom::kernel::Payload::encode(&STEPS).unwrap();
            let started = app.start_dynamic("adding", input).id(format!("run-{n}")).detached();
            handles.push(app.handle::<adding>(&started.await.unwrap()));
        }
        // Each worker is killed when it has done some work, in the middle of more.
        for killed in 1..=4 {
            let worker = start(&dir, "work");
            world.seen("add", killed * 20).await;
            worker.signal("KILL");
            assert!(worker.was_killed().await);
        }
        let _last = start(&dir, "work");
        let mut ran = BTreeMap::new();
        for handle in &handles {
            assert_eq!(handle.result().await.unwrap(), (0..STEPS).sum::<u32>());
        }
        world.lines().into_iter().for_each(|line| {
            let what = line.split(" by ").next().unwrap_or_default().to_owned();
            *ran.entry(what).or_insert(0_u32) += 1;
        });
        assert_eq!(ran.len() as u32, RUNS * STEPS, "every step ran");
        for handle in &handles {
            let log = app.log(handle.id(), 0, 10_000).await.unwrap();
            loom::replay_check(&registry(), &log).unwrap();
            for (frame, known) in handle.state().await.unwrap().frames {
                // Only what a kill cut runs again, and that is on record, except for the very first step: it may
                // begin before its start is durable.
                let runs = ran[&format!("add {frame} of {}", handle.id())];
                let unrecorded = u32::from(frame.as_str() == "add#0") * 4;
                assert!(
                    runs <= known.attempt + unrecorded,
                    "{frame}: {runs} runs, attempt {}",
                    known.attempt
                );
            }
        }
    }
}
