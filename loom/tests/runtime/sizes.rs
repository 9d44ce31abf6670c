//! Sizes and numbers: limits on what is written, and executions that are long or wide.
//! Not speed: nothing here looks at a clock.

use loom::{ExecutionError, Limits, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{Rig, Tap, World, count, on_every_store, registry, told};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum SizeError {
    /// Too many words.
    #[failure(permanent)]
    Wordy(String),
    #[failure(engine)]
    Engine(EffectError),
}

#[step(retry(attempts = 3, initial = "1ms"))]
async fn produce(world: Res<World>, bytes: usize) -> Result<String, SizeError> {
    world.hit("produce");
    Ok("x".repeat(bytes))
}

#[step(retry(attempts = 3, initial = "1ms"))]
async fn complain(bytes: usize) -> Result<(), SizeError> {
    Err(SizeError::Wordy("x".repeat(bytes)))
}

#[step]
async fn consume(world: Res<World>, text: String) -> Result<usize, SizeError> {
    world.hit("consume");
    Ok(text.len())
}

#[flow]
async fn producing(ctx: Ctx, bytes: usize) -> Result<usize, SizeError> {
    Ok(ctx.run(produce(bytes)).await?.len())
}

#[flow]
async fn complaining(ctx: Ctx, bytes: usize) -> Result<(), SizeError> {
    ctx.run(complain(bytes)).await
}

/// Feeds a step with more than it may be given.
#[flow]
async fn feeding(ctx: Ctx, bytes: usize) -> Result<usize, SizeError> {
    ctx.run(consume("x".repeat(bytes))).await
}

#[flow]
async fn returning(_ctx: Ctx, bytes: usize) -> Result<String, SizeError> {
    Ok("x".repeat(bytes))
}

#[flow]
async fn failing(_ctx: Ctx, bytes: usize) -> Result<(), SizeError> {
    Err(SizeError::Wordy("x".repeat(bytes)))
}

#[flow]
async fn feeding_text(ctx: Ctx, text: String) -> Result<usize, SizeError> {
    ctx.run(consume(text)).await
}

#[flow]
async fn deciding(ctx: Ctx, bytes: usize) -> Result<usize, SizeError> {
    Ok(ctx.decide("text", move || "x".repeat(bytes)).await.len())
}

#[flow]
async fn asking(ctx: Ctx) -> Result<String, SizeError> {
    Ok(ctx.suspend::<String>("text").await?)
}

/// How often each wide flow was polled, by its width.
static POLLS: std::sync::Mutex<std::collections::BTreeMap<u32, u32>> =
    std::sync::Mutex::new(std::collections::BTreeMap::new());

/// Passes polls on, and counts them.
async fn counted<T>(branches: u32, inner: impl Future<Output = T>) -> T {
    let mut inner = std::pin::pin!(inner);
    std::future::poll_fn(move |context| {
        *POLLS.lock().unwrap().entry(branches).or_default() += 1;
        inner.as_mut().poll(context)
    })
    .await
}

#[step]
async fn double(n: u32) -> Result<u32, SizeError> {
    Ok(n * 2)
}

#[flow]
async fn wide(ctx: Ctx, branches: u32) -> Result<u32, SizeError> {
    let all = counted(branches, try_join_all((0..branches).map(|n| ctx.run(double(n)).key(n)))).await?;
    Ok(all.into_iter().sum())
}

#[flow]
async fn lengthy(ctx: Ctx, steps: u32) -> Result<u32, SizeError> {
    let mut sum = 0_u32;
    for n in 0..steps {
        sum = sum.wrapping_add(ctx.run(double(n)).await?);
    }
    Ok(sum)
}

#[event(name = "counted")]
#[derive(Serialize, Deserialize, JsonSchema)]
struct Counted(u32);

/// Has so many events before it waits, and three more when it has ended.
#[flow]
async fn telling(ctx: Ctx, events: u32) -> Result<u32, SizeError> {
    for n in 0..events - 3 {
        ctx.emit(&Counted(n));
    }
    ctx.suspend::<u32>("go").await.map_err(SizeError::Engine)
}

/// Goes on after the limit was hit.
#[flow]
async fn coping(ctx: Ctx, bytes: usize) -> Result<bool, SizeError> {
    let refused = ctx.run(produce(bytes)).await.is_err();
    Ok(refused && ctx.run(double(1)).await? == 2)
}

fn all() -> loom::Registry {
    registry!(
        flows: [producing, complaining, feeding, feeding_text, returning, failing, deciding, asking, wide, lengthy, coping,
            telling],
        steps: [produce, complain, consume, double]
    )
}

fn too_large<T: std::fmt::Debug>(result: Result<T, ExecutionError<SizeError>>) -> (String, String, u64) {
    match result {
        Err(ExecutionError::Failed(SizeError::Engine(EffectError::PayloadTooLarge {
            step,
            what,
            limit,
            ..
        }))) => (step, what, limit),
        other => panic!("{other:?}"),
    }
}

fn named(step: &str, what: &str, limit: u64) -> (String, String, u64) {
    (step.into(), what.into(), limit)
}

on_every_store! {
    async fn b89_a_result_of_ten_megabytes_is_a_typed_failure_at_the_step(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(producing(10 << 20)).id("big").await.unwrap();
        assert_eq!(too_large(handle.result().await), named("produce", "outcome", 4 << 20));
        assert_eq!(rig.world.count("produce"), 1, "the same work would give the same size");
        let state = handle.state().await.unwrap();
        assert!(state.frames.values().all(|frame| frame.outcome.is_some()));
        // The flow may cope with it.
        assert!(app.start(coping(10 << 20)).id("cope").await.unwrap().result().await.unwrap());
        // One that fits, just.
        assert_eq!(app.start(producing((4 << 20) - 2)).await.unwrap().result().await.unwrap(), (4 << 20) - 2);
    }

    async fn b89_limits_can_be_set_and_hold_everywhere(rig: Rig) {
        let limits = Limits { payload: 1_000, failure: 100, ..Limits::default() };
        let app = rig.builder(all(), &Tap::default()).await.limits(limits).build().unwrap();
        assert_eq!(too_large(app.start(producing(2_000)).await.unwrap().result().await), named("produce", "outcome", 1_000));
        assert_eq!(too_large(app.start(feeding(2_000)).await.unwrap().result().await), named("consume", "input", 1_000));
        assert_eq!(rig.world.count("consume"), 0, "refused before it ran");
        assert_eq!(too_large(app.start(complaining(200)).await.unwrap().result().await), named("complain", "failure", 100));
        assert_eq!(too_large(app.start(returning(2_000)).await.unwrap().result().await), named("returning", "outcome", 1_000));
        let failed = app.start(failing(200)).await.unwrap();
        assert_eq!(too_large(failed.result().await), named("failing", "failure", 100));
        for handle in [failed.id(), app.start(returning(2_000)).id("again").await.unwrap().id()] {
            app.until(handle, &[]).await.unwrap();
            loom::replay_check(&all(), &crate::support::log(&app, handle).await).unwrap();
        }
        // Where nobody could be told of a failure, it is a fault.
        let report = match app.start(deciding(2_000)).await.unwrap().result().await {
            Err(ExecutionError::Parked(report)) => report.to_string(),
            other => panic!("{other:?}"),
        };
        assert!(report.contains("a decision is 2002 bytes, over the limit of 1000"), "{report}");
        let refused = app.start(feeding_text("x".repeat(2_000))).id("input").await.err().unwrap();
        assert!(refused.to_string().contains("2002 bytes, the limit is 1000"), "{refused}");
        assert!(app.row(&crate::support::id("input")).await.is_err(), "nothing was written");
        let asked = app.start(asking()).await.unwrap();
        let refused = asked.resume("text", &"x".repeat(2_000), "ada").await.unwrap_err();
        assert!(refused.to_string().contains("2002 bytes, the limit is 1000"), "{refused}");
        asked.resume("text", "short", "ada").await.unwrap();
        assert_eq!(asked.result().await.unwrap(), "short");
        assert_eq!(app.start(producing(900)).await.unwrap().result().await.unwrap(), 900);
    }

    async fn b89_b92_a_thousand_results_in_one_turn_take_a_poll_each(rig: Rig) {
        let app = rig.app(all()).await;
        let width = match rig.name() {
            "memory" => 1_000,
            "sqlite" => 1_001,
            _ => 1_002,
        }; // polls are counted by width
        let handle = app.start(wide(width)).id("wide").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), width * (width - 1));
        let polls = POLLS.lock().unwrap()[&width];
        assert!(polls <= 3 * width, "{polls} polls");
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "STEP_COMPLETED"), width as usize);
    }

    /// B40: whatever is read page by page is read whole: by the next owner, a fold, a stream, a reader with pages of
    /// its own.
    async fn b40_logs_that_end_around_the_edge_of_a_page_are_read_whole(rig: Rig) {
        let first = rig.app(all()).await;
        // The pages of the driver, of streams and of the fold.
        for events in [512_u32, 256, 1_000].into_iter().flat_map(|page| [page * 3 - 1, page * 3, page * 3 + 1]) {
            let handle = first.start(telling(events)).id(format!("run-{events}")).await.unwrap();
            handle.until(&[loom::Status::Suspended]).await.unwrap();
            assert_eq!(first.row(handle.id()).await.unwrap().next, u64::from(events));
        }
        first.shutdown(seconds(1)).await;
        let app = rig.app(all()).await;
        app.work();
        for row in app.list(&loom::ports::ListFilter::default()).await.unwrap() {
            let handle = app.handle::<telling>(&row.id);
            assert_eq!(handle.state().await.unwrap().next, row.next);
            handle.resume("go", &7, "ada").await.unwrap();
            assert_eq!(handle.result().await.unwrap(), 7, "{}", row.id);
            let (mut events, mut seen) = (handle.events(0), 0);
            while let Some(event) = events.next().await {
                assert_eq!(event.unwrap().sequence, seen);
                seen += 1;
            }
            assert_eq!(seen, row.next + 3, "{}", row.id);
            assert_eq!(handle.state().await.unwrap().next, seen);
            for page in [1_000, row.next as usize, row.next as usize + 1] {
                let mut read = Vec::new();
                loop {
                    let events = app.log(&row.id, read.len() as u64, page).await.unwrap();
                    if events.is_empty() {
                        break;
                    }
                    read.extend(events.iter().map(|envelope| envelope.sequence));
                }
                assert_eq!(read, (0..seen).collect::<Vec<_>>());
            }
        }
    }
}

/// The time that a step takes must not grow with the log: then this takes for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b92_ten_thousand_steps_one_after_the_other() {
    crate::support::patiently(async {
        let app = Rig::memory().app(all()).await;
        let handle = app.start(lengthy(10_000)).id("long").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), (0..10_000).map(|n| n * 2).sum::<u32>());
        assert_eq!(app.row(handle.id()).await.unwrap().next, 20_002);
    })
    .await;
}
