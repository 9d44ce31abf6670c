//! A database server that is restarted, and cuts connections, under a program that goes on.
//! Not what a store owes by itself: that is in `adapters/postgres`. Where Postgres is not installed this is skipped.

use std::sync::Arc;

use loom::{App, Registry, Status, WorkerOptions, prelude::*};
use postgres::{Postgres, cluster::Cluster};
use sqlx::{Connection, PgConnection};

use crate::support::{World, id, patiently, registry, told};

#[step]
async fn tick(world: Res<World>, step: StepCx, n: u32) -> loom::Result<u32> {
    world.hit(format!("{} of {}", step.frame(), step.execution()));
    tokio::time::sleep(millis(2)).await;
    Ok(n)
}

#[step(at_most_once)]
async fn charge(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit(format!("charge of {}", step.execution()));
    Ok(100)
}

#[flow]
async fn ticking(ctx: Ctx, to: u32) -> loom::Result<u32> {
    let mut sum = 0;
    for n in 0..to {
        sum += ctx.run(tick(n)).await?;
    }
    Ok(sum + ctx.run(charge()).await? + ctx.suspend::<u32>("more").await?)
}

fn all() -> Registry {
    registry!(flows: [ticking], steps: [tick, charge])
}

/// A poll that nobody waits for: what another program does is heard of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_program_does_is_heard_of() {
    patiently(async {
        let Some(cluster) = Cluster::shared() else { return };
        let (schema, world) = (cluster.fresh(), World::default());
        let app = async |poll| {
            let store = Postgres::options().schema(schema.clone()).connect(cluster.url()).await.unwrap();
            let worker = WorkerOptions { poll, ..WorkerOptions::default() };
            let builder = App::builder().store(store).registry(all()).provide(world.clone());
            builder.worker(worker).build().unwrap()
        };
        let (works, asks) = (app(seconds(3_600)).await, app(millis(20)).await);
        works.work();
        // Wait until it listens.
        let mut other = PgConnection::connect(cluster.url()).await.unwrap();
        let listens = "SELECT count(*) FROM pg_stat_activity WHERE query = $1";
        let query = format!("LISTEN \"{schema}\"");
        while sqlx::query_scalar::<_, i64>(listens).bind(&query).fetch_one(&mut other).await.unwrap() == 0 {
            tokio::time::sleep(millis(5)).await;
        }
        works.start(ticking(1)).id("run").await.unwrap();
        let handle = asks.handle::<ticking>(&id("run"));
        handle.until(&[Status::Suspended]).await.unwrap();
        handle.resume("more", &5, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 105);
    })
    .await;
}

const FLOWS: usize = 12;

async fn program(url: &str, schema: &str, world: &World) -> App {
    let store = Postgres::options().schema(schema).patience(millis(500)).connect(url).await.unwrap();
    // Longer than any outage here: nothing is taken over, so no step has a reason to run twice.
    let worker = WorkerOptions { lease: seconds(60), poll: millis(20), ..WorkerOptions::default() };
    let builder = App::builder().store(store).registry(all()).provide(world.clone());
    builder.worker(worker).build().unwrap()
}

/// Starts flows, does something to the server until all of them wait, and ends them: every step ran once.
async fn every_step_runs_once(app: &App, world: &World, mut disturb: impl AsyncFnMut()) {
    let mut waiting = tokio::task::JoinSet::new();
    for n in 0..FLOWS {
        let app = app.clone();
        waiting.spawn(async move {
            let name = id(&format!("run-{n}"));
            // A start whose acknowledgement was lost has happened: then the id is taken, by this very start.
            while app.start(ticking(10)).id(name.as_str()).await.is_err() && app.row(&name).await.is_err() {}
            loop {
                match app.until(&name, &[Status::Suspended]).await {
                    Ok(status) => break assert_eq!(status, Status::Suspended),
                    Err(_) => tokio::time::sleep(millis(20)).await,
                }
            }
        });
    }
    for _ in 0..6 {
        disturb().await;
        tokio::time::sleep(millis(40)).await;
    }
    while let Some(waited) = waiting.join_next().await {
        waited.unwrap();
    }
    for n in 0..FLOWS {
        let handle = app.handle::<ticking>(&id(&format!("run-{n}")));
        handle.resume("more", &1_000, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 45 + 100 + 1_000);
        let told = told(app, handle.id()).await;
        assert!(!told.iter().any(|line| line.contains("attempt") || line.contains("INDOUBT")), "{told:?}");
    }
    let hits = world.all();
    assert_eq!(hits.len(), FLOWS * 11);
    assert!(hits.values().all(|count| *count == 1), "{hits:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_no_step_runs_twice_because_backends_are_terminated() {
    patiently(async {
        let Some(cluster) = Cluster::shared() else { return };
        let (schema, world) = (cluster.fresh(), World::default());
        let url = format!("{}?application_name={schema}", cluster.url());
        let app = program(&url, &schema, &world).await;
        let mut other = PgConnection::connect(cluster.url()).await.unwrap();
        every_step_runs_once(&app, &world, async || {
            let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
            sqlx::query(kill).bind(&schema).execute(&mut other).await.unwrap();
        })
        .await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b29_no_step_runs_twice_because_the_server_restarts() {
    patiently(async {
        if Cluster::shared().is_none() {
            return;
        }
        let cluster = Arc::new(std::sync::Mutex::new(Cluster::start().unwrap()));
        let url = cluster.lock().unwrap().url().to_owned();
        let world = World::default();
        let app = program(&url, "loom", &world).await;
        every_step_runs_once(&app, &world, async || {
            let cluster = cluster.clone();
            let restart = move || {
                let mut cluster = cluster.lock().unwrap();
                cluster.crash();
                cluster.start_again().unwrap();
            };
            tokio::task::spawn_blocking(restart).await.unwrap();
        })
        .await;
    })
    .await;
}
