//! How much of the logs of what runs a worker keeps in memory at once, however many executions are woken.
//! Not what that is in bytes of a process: the bench `rehydration` measures it.

use std::time::Duration;

use loom::{App, ExecutionId, Registry, Status, WorkerOptions, prelude::*};

use crate::support::{LEASE, Rig, Tap, World, brisk, on_every_store, registry, until};

/// Of a log below.
const LOG: u64 = 64 * 1024;

#[step]
async fn page(number: u64) -> loom::Result<String> {
    Ok(number.to_string().repeat(8 * 1024))
}

/// Is inside for a while, or for as long as its door is shut; answers how many were inside with it.
#[step]
async fn inside(world: Res<World>, door: Option<String>) -> loom::Result<usize> {
    let among = world.hit("in") - world.count("out");
    match door {
        Some(door) => world.pass(&door).await,
        None => tokio::time::sleep(Duration::from_millis(20)).await,
    }
    world.hit("out");
    Ok(among)
}

/// Has a log of eight pages by the time it waits for somebody, who says where it goes then.
#[flow]
async fn writing(ctx: Ctx) -> loom::Result<usize> {
    for number in 0..8 {
        ctx.run(page(number)).await?;
    }
    let door = ctx.suspend::<Option<String>>("door").await?;
    ctx.run(inside(door)).await
}

fn all() -> Registry {
    registry!(flows: [writing], steps: [page, inside])
}

async fn app(rig: &Rig, worker: WorkerOptions) -> App {
    rig.builder(all(), &Tap::default()).await.worker(worker).build().unwrap()
}

/// So many that wait, and a program that wakes them and does nothing else.
async fn waiting(rig: &Rig, many: usize) -> (App, Vec<ExecutionId>) {
    let idle = app(rig, WorkerOptions { recover: false, ..brisk() }).await;
    let mut ids = Vec::new();
    for n in 0..many {
        let handle = idle.start(writing()).id(format!("run-{n}")).await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        ids.push(handle.id().clone());
    }
    (idle, ids)
}

async fn wake(by: &App, id: &ExecutionId, door: Option<&str>) {
    by.handle::<writing>(id).resume("door", &door, "ada").await.unwrap();
}

async fn woken(rig: &Rig, many: usize, door: Option<&str>) -> Vec<ExecutionId> {
    let (idle, ids) = waiting(rig, many).await;
    for id in &ids {
        wake(&idle, id, door).await;
    }
    ids
}

on_every_store! {
    async fn b95_what_is_woken_at_once_has_so_much_memory(rig: Rig) {
        let ids = woken(&rig, 24, None).await;
        let app = app(&rig, WorkerOptions { memory: 4 * LOG, ..brisk() }).await;
        app.work();
        for id in &ids {
            let among = app.handle::<writing>(id).result().await.unwrap();
            assert!(among <= 3, "{among} at once: half of the memory is two logs, and one may come on top");
        }
    }

    async fn b95_a_log_that_is_larger_than_all_is_taken_up_by_itself(rig: Rig) {
        let ids = woken(&rig, 5, None).await;
        let app = app(&rig, WorkerOptions { memory: 1, ..brisk() }).await;
        app.work();
        for id in &ids {
            assert_eq!(app.handle::<writing>(id).result().await.unwrap(), 1);
        }
    }

    async fn b95_what_waits_for_memory_too_long_goes_to_another_worker(rig: Rig) {
        let (idle, ids) = waiting(&rig, 2).await;
        wake(&idle, &ids[0], Some("shut")).await;
        let full = app(&rig, WorkerOptions { memory: 1, ..brisk() }).await;
        full.work();
        rig.world.seen("in", 1).await;
        wake(&idle, &ids[1], None).await;
        until(|| async { full.row(&ids[1]).await.unwrap().lease.is_some() }).await;
        let other = app(&rig, brisk()).await;
        other.work();
        other.handle::<writing>(&ids[1]).result().await.unwrap();
        rig.world.open("shut");
        other.handle::<writing>(&ids[0]).result().await.unwrap();
        assert_eq!(rig.world.count("in"), 2, "neither was taken from its owner");
    }

    async fn b95_what_waits_for_memory_is_handed_back_at_once_by_a_shutdown(rig: Rig) {
        let ids = woken(&rig, 2, Some("shut")).await;
        let worker = WorkerOptions { memory: 1, lease: LEASE * 3600, ..brisk() };
        let full = app(&rig, worker).await;
        full.work();
        rig.world.seen("in", 1).await;
        full.shutdown(Duration::ZERO).await;
        assert_eq!(rig.world.count("in"), 1);
        rig.world.open("shut");
        let other = app(&rig, worker).await;
        other.work();
        for id in &ids {
            other.handle::<writing>(id).result().await.unwrap();
        }
    }
}
