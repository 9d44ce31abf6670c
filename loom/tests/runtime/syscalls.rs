//! Everything that a flow can ask for, with a crash before, between and after all writes that come of it: the end is
//! the one without a crash, in another process.
//! Not what each of them means: the other files say that.

use std::{collections::BTreeMap, sync::Arc};

use loom::{
    App, GateAddress, OnClose, Registry, SendError, Status,
    kernel::{Fault, FrameStatus, Payload, machine::Verdict},
    ports::{ListFilter, StoreError},
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::support::{Process, Rig, World, id, log, patiently_for, registry, until};

/// For hundreds of lives, most of which wait for a lease to run out.
const LONG: std::time::Duration = minutes(10);

#[step]
async fn note(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

#[step(pure)]
async fn reckon(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("reckoned");
    Ok(n + 1)
}

#[step(at_most_once)]
async fn pay(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    let _ = step.idempotency_key();
    world.hit("paid");
    Ok(5)
}

#[step(retry(attempts = 9, initial = "1ms"))]
async fn shaky(world: Res<World>) -> loom::Result<u32> {
    if world.hit("shaky") < 3 { Err(loom::Error::msg("not yet")) } else { Ok(3) }
}

#[step]
async fn fails_beside(world: Res<World>, step: StepCx) -> loom::Result<String> {
    world.seen(&format!("endless {}", step.execution()), 1).await;
    Err(loom::Error::msg("failed"))
}

#[step]
async fn endless(world: Res<World>, step: StepCx) -> loom::Result<String> {
    world.hit(format!("endless {}", step.execution()));
    step.cancelled().await;
    Ok("stopped".into())
}

#[event(name = "told")]
#[derive(Serialize, Deserialize, JsonSchema)]
struct Told(u32);

#[flow]
async fn running(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(note("first".into())).await?;
    Ok(ctx.run(reckon(1)).await? + ctx.run(shaky()).await?)
}

#[flow]
async fn paying(ctx: Ctx) -> loom::Result<u32> {
    let paid = ctx.run(pay()).await?;
    ctx.run(note("receipt".into())).await?;
    Ok(paid)
}

#[flow(part)]
async fn twice(ctx: Ctx, what: String) -> loom::Result<u32> {
    ctx.run(note(what.clone())).id("once").await?;
    ctx.run(note(what)).id("again").await?;
    Ok(2)
}

#[flow]
async fn in_parts(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.part("left", twice("left".into())).await? + ctx.part("right", twice("right".into())).await?)
}

#[flow]
async fn asking(ctx: Ctx) -> loom::Result<u32> {
    let answer = ctx.suspend::<u32>("manager").await?;
    ctx.run(note("answered".into())).await?;
    let late = ctx.suspend::<u32>("nobody").timeout(millis(5)).await.is_err();
    Ok(answer + u32::from(late))
}

#[flow]
async fn receiving(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.receive::<u32>("numbers").id("one").await;
    ctx.run(note("received".into())).await?;
    Ok(one * 10 + ctx.receive::<u32>("numbers").id("two").await)
}

#[flow]
async fn updated(ctx: Ctx) -> loom::Result<u32> {
    let update = ctx.receive::<u32>("deposit").update::<u32>().await;
    let value = update.value;
    ctx.run(note("booked".into())).await?;
    update.accept(&(value * 2));
    ctx.run(note("after".into())).id("after").await?;
    Ok(value)
}

/// Tells its parent.
#[flow]
async fn telling(ctx: Ctx, parent: String) -> loom::Result<u32> {
    ctx.run(note("child".into())).await?;
    ctx.send(&parent.parse()?, "news", &7_u32);
    Ok(1)
}

#[flow]
async fn sending(ctx: Ctx) -> loom::Result<u32> {
    let child = ctx.spawn(telling(ctx.execution().to_string())).await;
    let news = ctx.receive::<u32>("news").await;
    Ok(news + child.await?)
}

#[flow]
async fn child(ctx: Ctx, n: u32) -> loom::Result<u32> {
    match n {
        0 => Err(loom::Error::msg("none")),
        _ if n > 100 => Ok(ctx.suspend::<u32>("forever").await?),
        _ => {
            ctx.run(note(format!("child {n}"))).await?;
            Ok(n)
        }
    }
}

#[flow]
async fn calling(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.call(child(1)).id("one").await?;
    let failed = ctx.call(child(0)).id("none").await.is_err();
    Ok(one + u32::from(failed))
}

#[flow]
async fn spawning(ctx: Ctx) -> loom::Result<u32> {
    let held = ctx.spawn(child(2)).id("held").await;
    drop(ctx.spawn(child(200)).id("lost").await);
    drop(ctx.spawn(child(400)).id("alone").on_close(OnClose::Abandon).await);
    drop(ctx.spawn(child(4)).id("waited").wait().await);
    held.await
}

#[flow]
async fn sleeping(ctx: Ctx) -> loom::Result<u32> {
    ctx.sleep(millis(3)).await;
    ctx.run(note("awake".into())).await?;
    ctx.sleep_until(ctx.now()).id("past").await;
    Ok(1)
}

#[flow]
async fn limited(ctx: Ctx) -> loom::Result<String> {
    let in_time = ctx.timeout(hours(1), ctx.run(note("in time".into()))).id("long").await??;
    let late = ctx.timeout(millis(5), ctx.suspend::<u32>("nobody")).id("short").await;
    let child = ctx.timeout(millis(5), ctx.call(child(300))).id("lost").await;
    Ok(format!("{in_time} {} {}", late.is_err(), child.is_err()))
}

#[flow]
async fn deciding(ctx: Ctx) -> loom::Result<u32> {
    let chosen = ctx.decide("choice", || 4_u32).await;
    ctx.emit(&Told(chosen));
    ctx.run(note("told".into())).await?;
    ctx.emit(&Told(5));
    Ok(chosen)
}

#[flow]
async fn executing(ctx: Ctx) -> loom::Result<String> {
    let done =
        ctx.execute("chosen", "note", Payload::encode(&serde_json::json!({ "what": "executed" }))?).await?;
    let denied = ctx.execute("unknown", "nothing", Payload::null()).await;
    Ok(format!("{done} {}", denied.is_err()))
}

#[flow]
async fn changing(ctx: Ctx) -> loom::Result<bool> {
    ctx.run(note("before".into())).await?;
    let changed = ctx.changed("new");
    ctx.run(note(format!("changed {changed}"))).id("after").await?;
    Ok(changed)
}

#[flow]
async fn rolling(ctx: Ctx) -> loom::Result<u32> {
    let n = ctx.receive::<u32>("turns").await;
    ctx.run(note(format!("turn {n}"))).await?;
    if n < 2 { ctx.continue_as_new(rolling()).await } else { Ok(n) }
}

#[flow]
async fn tidying(ctx: Ctx) -> loom::Result<u32> {
    let (work, cancelled) = (ctx.suspend::<u32>("work"), ctx.cancelled());
    select! {
        done = work => Ok(done?),
        cancelled = cancelled => {
            ctx.run(note(format!("tidied up: {}", cancelled.reason))).await?;
            Ok(0)
        }
    }
}

#[flow]
async fn failing_fast(ctx: Ctx) -> loom::Result<String> {
    let mut scope = ctx.scope();
    scope.add(ctx.run(endless()));
    scope.add(ctx.run(fails_beside()));
    match scope.fail_fast().await {
        Ok(_) => Ok("nothing failed".into()),
        Err(error) => ctx.run(note(error.to_string())).await,
    }
}

#[flow]
async fn draining(ctx: Ctx) -> loom::Result<String> {
    let calls = [1, 0, 2, 0].iter().enumerate().map(|(at, n)| ctx.call(child(*n)).key(at));
    match ctx.parallel(calls).limit(2).drain().await {
        Ok(_) => Ok("nothing failed".into()),
        Err(failures) => Ok(failures.to_string()),
    }
}

#[flow]
async fn detaching(ctx: Ctx) -> loom::Result<u32> {
    let mut scope = ctx.scope();
    scope.add(ctx.run(endless()));
    scope.detach();
    ctx.run(note("beside".into())).await?;
    Ok(1)
}

#[flow]
async fn remembering(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(reckon(1)).id("memo").memo().await?;
    Ok(one + ctx.run(reckon(1)).id("memo").memo().await?)
}

fn all() -> Registry {
    registry!(
        flows: [
            running, paying, in_parts, asking, receiving, updated, telling, sending, child, calling, spawning, sleeping,
            limited, deciding, executing, changing, rolling, tidying, failing_fast, draining, detaching, remembering
        ],
        steps: [note, reckon, pay, shaky, fails_beside, endless]
    )
}

/// What comes from outside.
#[derive(Clone, Copy, Debug)]
enum Act {
    Answer(&'static str, u32),
    Send(&'static str, u32),
    Update(&'static str, u32, u32),
    CancelAt(&'static str),
}

use Act::{Answer, CancelAt, Send, Update};

/// The flow; what comes from outside meanwhile; how it ends.
const TABLE: &[(&str, &[Act], &str)] = &[
    ("running", &[], "5"),
    ("paying", &[], "5"),
    ("in_parts", &[], "4"),
    ("asking", &[Answer("run/manager", 8)], "9"),
    ("receiving", &[Send("numbers", 1), Send("numbers", 2)], "12"),
    ("updated", &[Update("deposit", 4, 8)], "4"),
    ("sending", &[], "8"),
    ("calling", &[], "2"),
    ("spawning", &[Answer("run:alone/forever", 3)], "2"),
    ("sleeping", &[], "1"),
    ("limited", &[], "\"in time true true\""),
    ("deciding", &[], "4"),
    ("executing", &[], r#""\"executed\" true""#),
    ("changing", &[], "true"),
    ("rolling", &[Send("turns", 0), Send("turns", 1), Send("turns", 2)], "2"),
    ("tidying", &[CancelAt("work")], "cancelled"),
    ("failing_fast", &[], "\"failed\""),
    ("draining", &[], "\"2 of 4 branches failed; branch 1: none; branch 3: none\""),
    ("detaching", &[], "1"),
    ("remembering", &[], "4"),
];

/// Does everything that comes from outside, over and over until it is taken.
async fn act(app: &App, acts: &[Act]) {
    let run = id("run");
    until(|| async { app.row(&run).await.is_ok() }).await;
    for (nth, act) in acts.iter().enumerate() {
        match *act {
            Answer(gate, answer) => {
                let (gate, answer) = (gate.parse().unwrap(), Payload::encode(&answer).unwrap());
                let GateAddress { execution, .. } = &gate;
                if *execution != run {
                    // Alone: whoever started it has ended.
                    assert_eq!(app.until(&run, &[]).await.unwrap(), Status::Completed);
                }
                app.resume(&gate, answer, "ada").await.unwrap();
            }
            Send(topic, n) => match app.send(&run, topic, &n).key(nth.to_string()).await {
                Ok(()) | Err(SendError::Store(StoreError::Terminal { .. })) => {}
                Err(error) => panic!("{error}"),
            },
            Update(topic, n, reply) => {
                let update = app.send(&run, topic, &n).key(nth.to_string());
                assert_eq!(app.update::<u32>(update).await.unwrap(), reply);
            }
            CancelAt(gate) => {
                let is_open = || async {
                    app.gates(Some(&run)).await.unwrap().iter().any(|open| open.frame.as_str() == gate)
                };
                until(is_open).await;
                app.cancel(&run, "why", "ada").await.unwrap();
            }
        }
    }
}

/// Waits until every execution has ended; who paid is asked when nobody knows.
async fn all_ended(app: &App, world: &World) {
    loop {
        let rows = app.list(&ListFilter::default()).await.unwrap();
        for row in rows.iter().filter(|row| row.status == Status::Parked) {
            let state = app.state(&row.id, None).await.unwrap();
            let Some(report) = state.parked else { continue };
            assert_eq!(report.fault, Fault::InDoubt, "{}: {report}", row.id);
            let paid = world.count("paid") > 0;
            let verdict = if paid { Verdict::Done(Payload::encode(&5).unwrap()) } else { Verdict::Again };
            let _ = app.judge(&row.id, &report.frame.unwrap(), verdict, "ada").await;
        }
        let run = rows.iter().any(|row| row.id == id("run"));
        if run && rows.iter().all(|row| row.status.is_terminal()) {
            return;
        }
        tokio::time::sleep(millis(5)).await;
    }
}

/// How everything ended: each execution's outcome, and its frames'.
async fn ends(app: &App) -> BTreeMap<String, Vec<String>> {
    let mut ends = BTreeMap::new();
    for row in app.list(&ListFilter::default()).await.unwrap() {
        let state = app.state(&row.id, None).await.unwrap();
        let frames = state.frames.iter().map(|(id, frame)| match frame.status {
            FrameStatus::Settled => format!("{id}: {:?}", frame.outcome),
            status => format!("{id}: {status:?}"),
        });
        let told = std::iter::once(format!("run {}: {:?}", state.run, state.outcome)).chain(frames).collect();
        ends.insert(row.id.to_string(), told);
        if let Err(report) = loom::replay_check(&all(), &log(app, &row.id).await) {
            panic!("{}: {report}", row.id);
        }
    }
    ends
}

/// One life of the flow, with a crash at a write if the process comes there. Answers how many writes it made.
async fn live(rig: &Rig, flow: &'static str, acts: &'static [Act], stop: Option<(usize, bool)>) -> usize {
    let (host, process) = (rig.app(all()).await, Process::start(rig, all()).await);
    if let Some((nth, after)) = stop {
        process.tap.stop_at_write(nth, after);
    }
    let (app, tap, world) = (process.app.clone(), process.tap.clone(), rig.world.clone());
    let begin = async move {
        let start = app.start_dynamic(flow, Payload::null()).id("run");
        start.await.unwrap();
    };
    let story = async {
        let begun = async { tokio::join!(act(&host, acts), all_ended(&host, &world)) };
        tokio::select! {
            _ = async { process.run(begin).await; std::future::pending::<()>().await } => {}
            () = tap.stopped() => {}
            _ = begun => {}
        }
    };
    story.await;
    let writes = tap.writes();
    process.kill();
    if stop.is_some() {
        let next = Process::start(rig, all()).await;
        let app = next.app.clone();
        next.run(async move { drop(app.start_dynamic(flow, Payload::null()).id("run").await.unwrap()) })
            .await;
        tokio::join!(act(&host, acts), all_ended(&host, &world));
        next.kill();
    }
    writes
}

/// Checks a row of the table: the end without a crash, then with one around every write.
async fn check(
    fresh: fn() -> Rig,
    at_once: Arc<Semaphore>,
    row: (&'static str, &'static [Act], &'static str),
) {
    let (flow, acts, expected) = row;
    let rig = fresh();
    let writes = live(&rig, flow, acts, None).await;
    let app = rig.app(all()).await;
    let calm = (ends(&app).await, rig.world.all());
    let outcome = app.state(&id("run"), None).await.unwrap().outcome;
    let outcome = match &outcome {
        Some(loom::kernel::Outcome::Completed(output)) => output.to_string(),
        Some(loom::kernel::Outcome::Cancelled { .. }) => "cancelled".into(),
        other => panic!("{flow}: {other:?}"),
    };
    assert_eq!(outcome, expected, "{flow}");
    let mut lives = JoinSet::new();
    for (nth, after) in (0..writes).flat_map(|nth| [(nth, false), (nth, true)]) {
        let (at_once, calm) = (at_once.clone(), calm.clone());
        lives.spawn(async move {
            let _turn = at_once.acquire_owned().await.unwrap();
            let rig = fresh();
            let told = format!("{flow}, stopped {} write {nth}", if after { "after" } else { "before" });
            let app = rig.app(all()).await;
            live(&rig, flow, acts, Some((nth, after))).await;
            assert_eq!(ends(&app).await, calm.0, "{told}");
            let (effects, calm) = (rig.world.all(), calm.1);
            assert_eq!(effects.keys().collect::<Vec<_>>(), calm.keys().collect::<Vec<_>>(), "{told}");
            for (effect, often) in effects {
                let most = calm[&effect] + usize::from(effect != "paid");
                assert!((calm[&effect]..=most).contains(&often), "{told}: {effect} happened {often} times");
            }
        });
    }
    while let Some(life) = lives.join_next().await {
        life.unwrap();
    }
}

async fn check_all(fresh: fn() -> Rig) {
    let at_once = Arc::new(Semaphore::new(40));
    let mut rows = JoinSet::new();
    for row in TABLE {
        rows.spawn(check(fresh, at_once.clone(), *row));
    }
    let mut failed = Vec::new();
    while let Some(row) = rows.join_next().await {
        failed.extend(row.err().map(|error| error.to_string()));
    }
    assert!(failed.is_empty(), "{} of {} rows failed:\n{}", failed.len(), TABLE.len(), failed.join("\n"));
}

/// B35, for everything that a flow can ask for.
mod b35_a_crash_around_every_write_of_every_call_changes_no_end {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn memory() {
        patiently_for(LONG, check_all(Rig::memory)).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn sqlite() {
        patiently_for(LONG, check_all(Rig::sqlite)).await;
    }
}
