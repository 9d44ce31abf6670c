//! Processes that run at once on one database: at the same instant, or one stopped for longer than its lease.
//! Not crashes: nobody dies here.

use chaos::Process;
use loom::{ExecutionId, Status, prelude::*};
use postgres::cluster::Cluster;

use crate::{
    child::{count, on_every_store, open, patiently, pausing, receiving, start, told},
    ledger::Ledger,
};

/// Stops a process, but not in the middle of a transaction: its locks would be held by who cannot let go (of Postgres,
/// for ten seconds).
async fn stop(process: &Process, world: &Ledger) {
    let store = open(world).await.store();
    let id: ExecutionId = "pausing".parse().unwrap();
    loop {
        process.signal("STOP");
        // A write that changes nothing: the fence is nobody's.
        let free = tokio::time::timeout(seconds(1), store.release(&id, 1_000_000)).await;
        if free.is_ok_and(|released| released.is_ok()) {
            return;
        }
        process.signal("CONT");
        tokio::time::sleep(millis(20)).await;
    }
}

on_every_store! {
    async fn b31_a_stopped_owner_is_refused_when_it_continues(dir: TempDir, world: Ledger) {
        let old = start(&dir, "start pausing");
        world.seen("one", 1).await;
        stop(&old, &world).await;
        let new = start(&dir, "work");
        world.seen(&format!("one by {}", new.id()), 1).await;
        world.open("go-on");
        let app = open(&world).await;
        let handle = app.handle::<pausing>(&"pausing".parse().unwrap());
        assert_eq!(handle.result().await.unwrap(), 3);
        let before = told(&app, handle.id()).await;
        old.signal("CONT");
        // Its step returns now; what comes after is not done, and it sees how the execution ended.
        let id = old.id();
        assert!(!old.was_killed().await);
        assert_eq!(world.count(&format!("saw completed by {id}")), 1, "{:?}", world.lines());
        assert_eq!(world.count("two"), 1, "{:?}", world.lines());
        assert_eq!(world.count(&format!("two by {}", new.id())), 1);
        assert_eq!(told(&app, handle.id()).await, before, "nothing is added");
        assert_eq!(count(&before, "EXECUTION_COMPLETED"), 1);
        assert_eq!(count(&before, "STEP_ABANDONED"), 0);
    }

    /// Stopped in the middle, and continued while the other still runs: neither outlasts the other by luck.
    async fn b31_a_stopped_owner_continues_while_another_runs(dir: TempDir, world: Ledger) {
        let old = start(&dir, "start pausing");
        world.seen("one", 1).await;
        stop(&old, &world).await;
        let new = start(&dir, "work");
        world.seen(&format!("one by {}", new.id()), 1).await;
        old.signal("CONT");
        world.open("go-on");
        let id = old.id();
        assert!(!old.was_killed().await);
        let app = open(&world).await;
        let handle = app.handle::<pausing>(&"pausing".parse().unwrap());
        assert_eq!(handle.result().await.unwrap(), 3);
        assert_eq!(world.count("two"), 1, "{:?}", world.lines());
        assert_eq!(world.count(&format!("two by {}", new.id())), 1, "{:?}", world.lines());
        assert_eq!(world.count(&format!("saw completed by {id}")), 1);
    }

    async fn b26_two_processes_take_up_the_same_at_the_same_instant(dir: TempDir, world: Ledger) {
        const RUNS: usize = 200;
        let app = open(&world).await;
        let mut handles = Vec::new();
        for n in 0..RUNS {
            handles.push(app.start(receiving()).id(format!("run-{n}")).await.unwrap());
        }
        for handle in &handles {
            assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
        }
        app.shutdown(seconds(1)).await;
        for handle in &handles {
            handle.resume("inbox", "hello", "ada").await.unwrap();
        }
        let ids = handles.iter().map(|handle| handle.id().to_string()).collect::<Vec<_>>().join(" ");
        let both = [
            start(&dir, &format!("take-up {ids}")),
            start(&dir, &format!("take-up {ids}")),
        ];
        world.seen("ready", 2).await;
        world.open("go");
        for process in both {
            assert!(!process.was_killed().await);
        }
        for handle in &handles {
            let id: &ExecutionId = handle.id();
            let lines = world.lines();
            let often = |line: &str| lines.iter().filter(|l| l.split(" by ").next() == Some(line)).count();
            assert_eq!(often(&format!("took {id}")), 1);
            assert_eq!(often(&format!("hello to {id}")), 1);
            assert_eq!(often(&format!("saw hello from {id}")), 2, "all observers see one outcome");
            let told = told(&app, id).await;
            assert_eq!(
                (count(&told, "EXECUTION_RESUMED"), count(&told, "GATE_ANSWERED")),
                (1, 1),
                "{told:?}"
            );
        }
    }
}
