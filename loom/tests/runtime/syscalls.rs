//! Everything that a flow can ask for, with a crash before, between and after all writes that come of it, and with a
//! shutdown beside each: the end is the one without, in another process.
//! Not what each of them means: the other files say that.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use loom::{
    App, AppBuilder, Ask, Entry, GateAddress, OnClose, Registry, SendError, Status, UpdateError,
    WorkerOptions,
    kernel::{Fault, FrameStatus, Payload, Snapshot, machine::Verdict},
    ports::{ListFilter, SnapshotStore as _, StoreError},
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::support::{
    LEASE, Process, Rig, Stop, Tap, World, Write, brisk, id, log, patiently_for, registry, until,
};

/// For a thousand lives.
const LONG: Duration = minutes(10);

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

/// Longer than it takes until its lease is renewed.
#[step]
async fn lasts(world: Res<World>) -> loom::Result<u32> {
    world.hit("lasts");
    tokio::time::sleep(LEASE / 2).await;
    Ok(6)
}

#[step]
async fn speaks(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("speaks");
    step.stream("Dear");
    step.stream(" Ada");
    Ok(2)
}

/// What was drawn is its input: another one, after a crash, would be a divergence.
#[step]
async fn look(world: Res<World>, _drawn: (i64, String, f64, u64)) -> loom::Result<String> {
    world.hit("looked");
    Ok("seen".into())
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

#[step]
async fn breaks(world: Res<World>) -> loom::Result<String> {
    world.hit("broke");
    Err(loom::Error::msg("broken"))
}

/// B100: a diamond, taken back from its end: what was done last first, both sides at once.
#[flow]
async fn unwinding(ctx: Ctx) -> loom::Result<String> {
    ctx.run(note("top".into())).id("top").await?;
    let (left, right) =
        join!(ctx.run(note("left".into())).id("left"), ctx.run(note("right".into())).id("right"));
    (left?, right?);
    let Err(why) = ctx.run(breaks()).await else { return Ok("done".into()) };
    let (left, right) = join!(
        ctx.run(note("no left".into())).id("left.undone"),
        ctx.run(note("no right".into())).id("right.undone")
    );
    (left?, right?);
    ctx.run(note("no top".into())).id("top.undone").await?;
    Ok(why.to_string())
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

#[flow]
async fn refusing(ctx: Ctx) -> loom::Result<u32> {
    let update = ctx.receive::<u32>("deposit").update::<u32>().await;
    ctx.run(note("looked at".into())).await?;
    let value = update.value;
    update.reject("too little");
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

#[flow]
async fn lasting(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.run(lasts()).await? + ctx.run(speaks()).await?)
}

#[flow]
async fn drawing(ctx: Ctx) -> loom::Result<String> {
    for _ in 0..2 {
        let drawn = (ctx.now().as_micros(), ctx.uuid().to_string(), ctx.random(), ctx.history().0);
        ctx.run(look(drawn)).await?;
        ctx.sleep(millis(3)).await;
    }
    let drawn = (ctx.now().as_micros(), ctx.uuid().to_string(), ctx.random(), ctx.history().0);
    ctx.run(look(drawn)).id("last").await
}

#[flow]
async fn negotiating(ctx: Ctx) -> loom::Result<u64> {
    let grant = ctx.negotiate_budget("draft", Ask::new("tokens", 8)).await;
    ctx.run(note(grant.to_string())).await?;
    Ok(grant.granted)
}

#[flow]
async fn by_name(ctx: Ctx, turn: Option<u32>) -> loom::Result<String> {
    if turn.is_none() {
        return ctx.continue_dynamic(Payload::encode(&1)?).await;
    }
    let one = ctx.call_dynamic("one", "child", Payload::encode(&3)?).await?;
    let none = ctx.call_dynamic("none", "nothing", Payload::null()).await.is_err();
    Ok(format!("{one} {none}"))
}

fn all() -> Registry {
    registry!(
        flows: [
            running, paying, unwinding, in_parts, asking, receiving, updated, refusing, telling, sending, child, calling, spawning,
            sleeping, limited, deciding, executing, changing, rolling, tidying, failing_fast, draining, detaching,
            remembering, lasting, drawing, negotiating, by_name
        ],
        steps: [note, reckon, pay, shaky, breaks, fails_beside, endless, lasts, speaks, look]
    )
}

/// A program that has this flow, what it may start, and every step: a wide one takes long to build, a thousand times.
fn program(flow: &str) -> Registry {
    let all = all();
    let flows = all.flows().filter(|known| [flow, "child", "telling"].contains(&known.name)).map(Entry::Flow);
    Registry::of(flows.chain(all.steps().map(Entry::Step)))
}

/// What comes from outside.
#[derive(Clone, Copy, Debug)]
enum Act {
    Answer(&'static str, u32),
    Send(&'static str, u32),
    Update(&'static str, u32, Result<u32, &'static str>),
    CancelAt(&'static str),
}

use Act::{Answer, CancelAt, Send, Update};

/// The flow; what comes from outside meanwhile; how it ends.
const TABLE: &[(&str, &[Act], &str)] = &[
    ("running", &[], "5"),
    ("paying", &[], "5"),
    ("unwinding", &[], "\"broken\""),
    ("in_parts", &[], "4"),
    ("asking", &[Answer("run/manager", 8)], "9"),
    ("receiving", &[Send("numbers", 1), Send("numbers", 2)], "12"),
    ("updated", &[Update("deposit", 4, Ok(8))], "4"),
    ("refusing", &[Update("deposit", 4, Err("too little"))], "4"),
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
    ("lasting", &[], "8"),
    ("drawing", &[], "\"seen\""),
    ("negotiating", &[], "8"),
    ("by_name", &[], "\"3 true\""),
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
                match (app.update::<u32>(update).await, reply) {
                    (Ok(accepted), Ok(reply)) => assert_eq!(accepted, reply),
                    (Err(UpdateError::Rejected { reason }), Err(why)) => assert_eq!(reason, why),
                    (said, reply) => panic!("{said:?}, and not {reply:?}"),
                }
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
async fn ends(rig: &Rig, flow: &str) -> BTreeMap<String, Vec<String>> {
    let (app, store) = (&rig.app(program(flow)).await, rig.store(&Tap::default()).await);
    let mut ends = BTreeMap::new();
    for row in app.list(&ListFilter::default()).await.unwrap() {
        let state = app.state(&row.id, None).await.unwrap();
        let frames = state.frames.iter().map(|(id, frame)| match frame.status {
            FrameStatus::Settled => format!("{id}: {:?}", frame.outcome),
            status => format!("{id}: {status:?}"),
        });
        let told = std::iter::once(format!("run {}: {:?}", state.run, state.outcome)).chain(frames).collect();
        ends.insert(row.id.to_string(), told);
        let log = log(app, &row.id).await;
        if let Some(snapshot) = store.newest_snapshot(&row.id, Snapshot::STATE, u64::MAX).await.unwrap() {
            // Somebody may have kept it who is dead, or was about to forget older ones.
            let at = snapshot.sequence as usize;
            let mut restored = snapshot.restore(&log[at - 1].encode().unwrap()).unwrap();
            log[at..].iter().for_each(|envelope| restored.apply(envelope).unwrap());
            assert_eq!(restored, state, "{}, from its snapshot at {at}", row.id);
        }
        if let Err(report) = loom::replay_check(app.registry(), &log) {
            panic!("{}: {report}", row.id);
        }
    }
    ends
}

/// Keeps snapshots too: those are writes like any other.
fn snapping(builder: AppBuilder) -> AppBuilder {
    builder.worker(WorkerOptions { snapshot_every: 3, ..brisk() })
}

/// One life of the flow, with a crash at a write, or a shutdown, if the processes come there: the one that works, and
/// the one from which everything comes. Answers the tap that both hang on.
async fn live(rig: &Rig, flow: &'static str, acts: &'static [Act], stop: Option<Stop>) -> Tap {
    let tap = Tap::default();
    if let Some(stop) = stop {
        tap.stop_at_write(stop);
    }
    let host = rig.builder(program(flow), &tap).await.build().unwrap();
    let process = Process::start_building(rig, program(flow), tap.clone(), snapping).await;
    let start = async |process: &Process| {
        let app = process.app.clone();
        process
            .run(async move { drop(app.start_dynamic(flow, Payload::null()).id("run").await.unwrap()) })
            .await;
    };
    let story = async {
        tokio::join!(start(&process), act(&host, acts), all_ended(&host, &rig.world));
    };
    let ended = tokio::select! {
        () = story => true,
        () = tap.come() => false,
    };
    if let (false, Some(Stop::Beside(_))) = (ended, stop) {
        let app = process.app.clone();
        process.run(async move { app.shutdown(Duration::ZERO).await }).await;
        // What was on its way into this process when it went down is handed back a moment later.
        until(|| async {
            let rows = host.list(&ListFilter::default()).await.unwrap();
            rows.iter().all(|row| row.lease.is_none())
        })
        .await;
    }
    process.kill();
    if !ended {
        let later = Tap::default();
        later.ahead(LEASE);
        let host = rig.app(program(flow)).await;
        let next = Process::start_building(rig, program(flow), later, snapping).await;
        tokio::join!(start(&next), act(&host, acts), all_ended(&host, &rig.world));
        next.kill();
    }
    tap
}

/// Checks a row of the table: the end without a crash, then with one around every write. Answers what was written.
async fn check(
    fresh: fn() -> Rig,
    at_once: Arc<Semaphore>,
    row: (&'static str, &'static [Act], &'static str),
) -> BTreeSet<Write> {
    let (flow, acts, expected) = row;
    let turn = at_once.clone().acquire_owned().await.unwrap();
    let rig = fresh();
    let tap = live(&rig, flow, acts, None).await;
    let app = rig.app(program(flow)).await;
    let calm = (ends(&rig, flow).await, rig.world.all());
    let outcome = app.state(&id("run"), None).await.unwrap().outcome;
    let outcome = match &outcome {
        Some(loom::kernel::Outcome::Completed(output)) => output.to_string(),
        Some(loom::kernel::Outcome::Cancelled { .. }) => "cancelled".into(),
        other => panic!("{flow}: {other:?}"),
    };
    assert_eq!(outcome, expected, "{flow}");
    drop((app, turn));
    let (mut lives, mut kinds) = (JoinSet::new(), tap.kinds());
    let stops = |nth| [Stop::Before(nth), Stop::After(nth), Stop::Beside(nth)];
    for stop in (0..tap.writes()).flat_map(stops) {
        let (at_once, calm) = (at_once.clone(), calm.clone());
        lives.spawn(async move {
            let _turn = at_once.acquire_owned().await.unwrap();
            let rig = fresh();
            let told = format!("{flow}, stopped {stop:?}");
            let tap = tokio::time::timeout(minutes(1), live(&rig, flow, acts, Some(stop))).await;
            let tap = tap.unwrap_or_else(|_| panic!("{told}: this hangs"));
            assert_eq!(ends(&rig, flow).await, calm.0, "{told}");
            let (effects, calm) = (rig.world.all(), calm.1);
            assert_eq!(effects.keys().collect::<Vec<_>>(), calm.keys().collect::<Vec<_>>(), "{told}");
            for (effect, often) in effects {
                let most = calm[&effect] + usize::from(effect != "paid");
                assert!((calm[&effect]..=most).contains(&often), "{told}: {effect} happened {often} times");
            }
            tap.kinds()
        });
    }
    while let Some(life) = lives.join_next().await {
        kinds.extend(life.unwrap());
    }
    kinds
}

async fn check_all(fresh: fn() -> Rig) {
    let at_once = Arc::new(Semaphore::new(12));
    let mut rows = JoinSet::new();
    for row in TABLE {
        rows.spawn(check(fresh, at_once.clone(), *row));
    }
    let (mut failed, mut kinds) = (Vec::new(), BTreeSet::new());
    while let Some(row) = rows.join_next().await {
        match row {
            Ok(row) => kinds.extend(row),
            Err(error) => failed.push(error.to_string()),
        }
    }
    assert!(failed.is_empty(), "{} of {} rows failed:\n{}", failed.len(), TABLE.len(), failed.join("\n"));
    let every = [
        Write::Create,
        Write::Append,
        Write::Consume,
        Write::Tell,
        Write::Claim,
        Write::Renew,
        Write::Release,
        Write::Post,
        Write::PutSnapshot,
        Write::PruneSnapshots,
    ];
    assert_eq!(kinds, every.into(), "what was written, and what can be");
}

/// The table leaves nothing out: neither a syscall of the design, nor a method of the context.
#[test]
fn everything_that_a_flow_can_ask_for_is_in_the_table() {
    let (own, ctx) = (include_str!("syscalls.rs"), include_str!("../../../loom-runtime/src/context/ctx.rs"));
    let (_, methods) = ctx.split_once("\nimpl Ctx {").unwrap();
    let (methods, _) = methods.split_once("\n}\n").unwrap();
    let public = methods.lines().filter_map(|line| {
        let line = line.trim_start().strip_prefix("pub ")?;
        line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")
    });
    let names: Vec<_> = public.filter_map(|line| line.split(['<', '(']).next()).collect();
    let is_called =
        |name: &str| own.contains(&format!("ctx.{name}(")) || own.contains(&format!("ctx.{name}::<"));
    let missing: Vec<_> = names.iter().filter(|name| !name.starts_with("__") && !is_called(name)).collect();
    assert!(missing.is_empty(), "in no flow of the table: {missing:?}");
    assert!(names.len() > 20, "{names:?}");
    let also = ["select! {", "step.stream(", "update.accept(", "update.reject(", ".memo()", ".detach()"];
    let missing: Vec<_> = also.iter().filter(|call| own.matches(**call).count() < 2).collect();
    assert!(missing.is_empty(), "in no flow of the table: {missing:?}");
    let rows: BTreeSet<_> = TABLE.iter().map(|(flow, ..)| *flow).collect();
    let registry = all();
    let flows = registry.flows().map(|flow| flow.name).filter(|name| !["child", "telling"].contains(name));
    assert_eq!(flows.collect::<BTreeSet<_>>(), rows, "each flow but the children has a row");
}

/// B35, for everything that a flow can ask for.
mod b35_a_crash_or_shutdown_at_any_write_of_any_call_changes_no_end {
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
