//! The replay check, and what two stores make of one flow: the same log.
//! Not the kernel's own replays.

use loom::{
    Registry, Status,
    kernel::{Envelope, Event, Fault},
    prelude::*,
    replay_check,
};

use crate::support::{Process, Rig, World, id, in_short, log, on_every_store, patiently, registry};

#[step]
async fn add(world: Res<World>, one: u32, other: u32) -> loom::Result<u32> {
    world.hit("add");
    Ok(one + other)
}

#[step(retry(attempts = 3, initial = "1ms"))]
async fn shaky(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("shaky");
    if step.attempt() < 3 { Err(loom::Error::msg("not yet")) } else { Ok(1) }
}

#[flow(part)]
async fn sum(ctx: Ctx, of: Vec<u32>) -> loom::Result<u32> {
    let mut sum = 0;
    for n in of {
        sum = ctx.run(add(sum, n)).await?;
    }
    Ok(sum)
}

#[event(name = "summed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Summed(u32);

/// Of everything something, in an order that no scheduler can change.
#[flow]
async fn everything(ctx: Ctx, of: Vec<u32>) -> loom::Result<String> {
    let chosen = ctx.decide("plan", || "by ten".to_owned()).await;
    let summed = ctx.part("sum", sum(of)).await?;
    ctx.emit(&Summed(summed));
    let shaken = ctx.run(shaky()).await?;
    ctx.sleep(millis(1)).await;
    let expired = ctx.suspend::<bool>("nobody").timeout(millis(1)).await.is_err();
    let answered = ctx.suspend::<u32>("somebody").await?;
    let lost = select! {
        _ = ctx.suspend::<bool>("never") => false,
        () = ctx.sleep(millis(2)).id("deadline") => true,
    };
    Ok(format!("{chosen} {summed} {shaken} {expired} {answered} {lost} {}", ctx.random()))
}

/// A clock that no macro sees.
fn hidden_clock() -> u128 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos()
}

/// The clock's value ends in the outcome, and changes nothing else.
#[flow]
async fn telling_the_time(ctx: Ctx) -> loom::Result<String> {
    ctx.run(add(1, 2)).await?;
    let read = hidden_clock();
    ctx.sleep(millis(1)).await;
    Ok(read.to_string())
}

/// A counter that a replay goes on with: it decides which steps run.
#[flow]
async fn counting(ctx: Ctx) -> loom::Result<u32> {
    let first = ctx.run(add(1, 2)).await?;
    ctx.suspend::<bool>("go").await?;
    if hidden_count() {
        ctx.run(add(first, 1)).id("odd").await
    } else {
        ctx.run(add(first, 2)).id("even").await
    }
}

fn hidden_count() -> bool {
    use std::sync::atomic::{AtomicBool, Ordering};
    static ODD: AtomicBool = AtomicBool::new(false);
    !ODD.fetch_xor(true, Ordering::SeqCst)
}

/// How often anybody has chosen, by whom it was for.
static CHOSEN: std::sync::Mutex<std::collections::BTreeMap<String, usize>> =
    std::sync::Mutex::new(std::collections::BTreeMap::new());

fn choose(who: String) -> u32 {
    *CHOSEN.lock().unwrap().entry(who).or_default() += 1;
    7
}

#[flow(name = "choosing")]
async fn choosing(ctx: Ctx, who: String) -> loom::Result<u32> {
    let one = ctx.run(add(1, 1)).id("first").await?;
    let other = ctx.decide("other", move || choose(who)).await;
    let sum = ctx.run(add(one, other)).id("sum").await?;
    ctx.suspend::<bool>("go").await?;
    Ok(sum)
}

/// A later one, which chooses something before it asks.
#[flow(name = "choosing")]
async fn choosing_more(ctx: Ctx, who: String) -> loom::Result<u32> {
    let one = ctx.run(add(1, 1)).id("first").await?;
    let also = who.clone();
    let other = ctx.decide("other", move || choose(who)).await;
    let sum = ctx.run(add(one, other)).id("sum").await?;
    ctx.decide("also", move || choose(also)).await;
    ctx.suspend::<bool>("go").await?;
    Ok(sum)
}

/// Another one, which chooses where the log has gone on since.
#[flow(name = "choosing")]
async fn choosing_otherwise(ctx: Ctx, who: String) -> loom::Result<u32> {
    let early = who.clone();
    let both = futures_util::future::join(
        ctx.decide("early", move || choose(early)),
        ctx.run(add(1, 1)).id("first"),
    );
    let (_, one) = both.await;
    let other = ctx.decide("other", move || choose(who)).await;
    ctx.run(add(one?, other)).id("sum").await
}

fn all() -> Registry {
    registry!(flows: [everything, telling_the_time, counting], steps: [add, shaky])
}

async fn run_everything(rig: &Rig) -> Vec<Envelope> {
    let app = rig.app(all()).await;
    let handle = app.start(everything(vec![1, 2, 3])).id("run").await.unwrap();
    handle.resume("somebody", &7, "ada").await.unwrap();
    let result = handle.result().await.unwrap();
    assert!(result.starts_with("by ten 6 1 true 7 true 0."), "{result}");
    log(&app, handle.id()).await
}

/// What a log says without when: kinds, frames, payloads of outcomes. Suspensions depend on timing.
fn essence(log: &[Envelope]) -> Vec<String> {
    let passing = |event: &Event| matches!(event, Event::ExecutionSuspended(_) | Event::ExecutionResumed(_));
    let told = log.iter().filter(|envelope| !passing(&envelope.event)).map(|envelope| {
        let outcome = match &envelope.event {
            Event::StepCompleted(e) => e.output.to_string(),
            Event::DecisionRecorded(e) => e.value.to_string(),
            Event::GateAnswered(e) => format!("{} by {}", e.answer, e.by),
            Event::Domain(e) => e.data.to_string(),
            _ => String::new(),
        };
        format!("{} {outcome}", in_short(&envelope.event))
    });
    told.collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_and_sqlite_give_the_same_log() {
    patiently(async {
        let (memory, sqlite) = (run_everything(&Rig::memory()).await, run_everything(&Rig::sqlite()).await);
        assert_eq!(essence(&memory), essence(&sqlite));
        assert!(memory.len() > 20);
    })
    .await;
}

on_every_store! {
    /// A check does nothing to the world: not even the closure of a choice that the log does not hold yet is run.
    async fn a_check_makes_no_choice(rig: Rig) {
        let app = rig.app(registry!(flows: [choosing], steps: [add])).await;
        let who = rig.name();
        let handle = app.start(choosing(who.into())).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        let log = log(&app, handle.id()).await;
        replay_check(&registry!(flows: [choosing], steps: [add]), &log).unwrap();
        // New code, where the log ends: a worker would go on, and so would the check, if it knew what is chosen.
        replay_check(&registry!(flows: [choosing_more], steps: [add]), &log).unwrap();
        let wrong = registry!(flows: [choosing_otherwise], steps: [add]);
        let report = replay_check(&wrong, &log).unwrap_err();
        assert_eq!((report.fault, report.frame.unwrap().as_str()), (Fault::Divergence, "early"));
        assert_eq!(CHOSEN.lock().unwrap()[who], 1);
    }

    async fn a_faithful_flow_passes_at_every_position(rig: Rig) {
        let log = run_everything(&rig).await;
        replay_check(&all(), &log).unwrap();
        for events in 1..log.len() {
            replay_check(&all(), &log[..events]).unwrap();
        }
        assert_eq!(rig.world.count("add"), 3, "a check runs no step");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hidden_clock_in_the_outcome_is_exposed() {
    patiently(async {
        let app = Rig::memory().app(all()).await;
        let handle = app.start(telling_the_time()).id("run").await.unwrap();
        handle.result().await.unwrap(); // nothing was seen while it ran
        let log = log(&app, handle.id()).await;
        let report = replay_check(&all(), &log).unwrap_err();
        assert_eq!(report.fault, Fault::Divergence);
        assert_eq!(report.sequence, Some(log.len() as u64 - 1));
        assert!(report.message.contains("outcome differs"), "{report}");
        // Before it ended, there was nothing to compare with.
        replay_check(&all(), &log[..log.len() - 1]).unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hidden_counter_that_chooses_a_step_is_exposed() {
    patiently(async {
        let rig = Rig::memory();
        let app = rig.app(all()).await;
        let handle = app.start(counting()).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        handle.resume("go", &true, "ada").await.unwrap();
        handle.result().await.unwrap();
        let log = log(&app, handle.id()).await;
        let report = replay_check(&all(), &log).unwrap_err();
        assert_eq!(report.fault, Fault::Divergence, "{report}");
        assert!(report.expected.as_deref().unwrap().contains("as `odd`"), "{report}");
        assert!(report.near.unwrap().file.ends_with("checks.rs"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_names_what_this_program_lacks() {
    patiently(async {
        let log = run_everything(&Rig::memory()).await;
        let without_step = registry!(flows: [everything], steps: [add]);
        let report = replay_check(&without_step, &log).unwrap_err();
        assert_eq!((report.fault, report.frame.unwrap().as_str()), (Fault::MissingStep, "shaky"));
        let without_flow = registry!(flows: [counting], steps: [add, shaky]);
        assert_eq!(replay_check(&without_flow, &log).unwrap_err().fault, Fault::MissingFlow);
        assert_eq!(replay_check(&all(), &[]).unwrap_err().fault, Fault::UnreadableLog);
        assert_eq!(replay_check(&all(), &log[1..]).unwrap_err().fault, Fault::UnreadableLog);
        let mut gap = log.clone();
        gap.remove(3);
        assert_eq!(replay_check(&all(), &gap).unwrap_err().fault, Fault::UnreadableLog);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_with_crashes_in_it_passes() {
    patiently(async {
        let rig = Rig::sqlite();
        for (append, after) in [(1, true), (0, false), (1, false), (0, true)] {
            let process = Process::start(&rig, all()).await;
            process.tap.stop_at(append, after);
            let app = process.app.clone();
            process
                .run(async move {
                    let call = everything(vec![1, 2, 3]);
                    app.start(call).id("run").await.map(drop).unwrap();
                    app.work();
                })
                .await;
            process.tap.stopped().await;
            process.kill();
        }
        let app = rig.app(all()).await;
        app.work();
        let handle = app.handle::<everything>(&id("run"));
        handle.resume("somebody", &7, "ada").await.unwrap();
        handle.result().await.unwrap();
        let log = log(&app, handle.id()).await;
        assert!(
            log.iter().any(|e| matches!(&e.event, Event::ExecutionResumed(r) if r.reason == "taken over"))
        );
        replay_check(&all(), &log).unwrap();
    })
    .await;
}
