//! What a schedule does about runs that would go on at once: whatever starts them, one at a time where they must not.
//! Not when they come due, nor what is made up for: see `schedules.rs`.

use std::time::Duration;

use loom::{
    App, CatchUp, Entry, Flow as _, FlowDescriptor, Overlap, Registry, ScheduleDescriptor, Schedules as _,
    Status, kernel::Event, nominal, prelude::*,
};

use crate::support::{Process, Rig, Tap, World, log, on_both_in_virtual_time, on_every_store, until};

const MINUTE: Duration = Duration::from_secs(60);
const EVERY_TEN: ScheduleDescriptor = ScheduleDescriptor::new("*/10 * * * *", "UTC");

#[step]
async fn mark(world: Res<World>, what: String) -> loom::Result<()> {
    world.hit(what);
    Ok(())
}

/// Takes 25 minutes, and five to tidy up.
#[flow]
async fn slow(ctx: Ctx) -> loom::Result<()> {
    select! {
        _ = ctx.cancelled() => {}
        () = ctx.sleep(minutes(25)) => return Ok(()),
    }
    ctx.sleep(minutes(5)).id("tidy").await;
    Ok(())
}

/// Goes on until it is told to end, and says so when it has tidied up.
#[flow]
async fn held(ctx: Ctx) -> loom::Result<()> {
    let me = ctx.execution().to_string();
    ctx.run(mark(format!("{me} began"))).id("began").await?;
    select! {
        _ = ctx.cancelled() => {}
        () = ctx.receive::<()>("end") => {}
    }
    ctx.run(mark(format!("{me} ended"))).id("ended").await
}

fn flow(of: &FlowDescriptor, schedule: ScheduleDescriptor) -> Registry {
    let flow = FlowDescriptor { schedule: Some(schedule), ..*of };
    Registry::of([Entry::Flow(Box::leak(Box::new(flow))), Entry::step::<mark>()])
}

async fn program(rig: &Rig, schedule: ScheduleDescriptor) -> App {
    let worker = loom::WorkerOptions {
        poll: Duration::from_secs(5),
        lease: Duration::from_secs(3600),
        ..loom::WorkerOptions::default()
    };
    let builder = rig.builder(flow(slow::DESCRIPTOR, schedule), &Tap::default()).await;
    builder.worker(worker).runtime_clock().build().unwrap()
}

/// Waits for a moment, on this clock, that is five minutes past a tenth minute; answers that tenth minute.
async fn settle(app: &App) -> Timestamp {
    while app.now().as_micros() / 60_000_000 % 10 != 5 {
        tokio::time::sleep(MINUTE).await;
    }
    Timestamp::from_micros(app.now().as_micros() / 600_000_000 * 600_000_000)
}

/// The runs in the order of their beginnings, in minutes after `from`: nominal instant, and whether it was cancelled. No
/// two of them have ever gone on at once.
async fn one_at_a_time(app: &App, from: Timestamp) -> Vec<(i64, bool)> {
    let minute = |at: Timestamp| (at.as_micros() - from.as_micros()).div_euclid(60_000_000);
    let mut runs = Vec::new();
    for row in app.list(&loom::ports::ListFilter::default()).await.unwrap() {
        assert_ne!(row.status, Status::Parked, "{}", row.id);
        let Some(at) = nominal(&row.id) else { continue };
        let log = log(app, &row.id).await;
        let end = row.status.is_terminal().then(|| log.last().unwrap().at);
        runs.push((log[0].at, end, minute(at), row.status == Status::Cancelled));
    }
    runs.sort_unstable_by_key(|run| run.0);
    for pair in runs.windows(2) {
        assert!(pair[0].1.is_some_and(|end| end <= pair[1].0), "two at once: {pair:?} of {runs:?}");
    }
    runs.into_iter().map(|(_, _, at, cancelled)| (at, cancelled)).collect()
}

/// From minute 15 to minute 52 nobody works; at minute 53 somebody wants the two instants before the first, and one now.
async fn pressed(rig: &Rig, overlap: Overlap) -> (App, Timestamp) {
    let schedule = EVERY_TEN.overlap(overlap).catch_up(CatchUp::All { within: MINUTE * 60 });
    let first = program(rig, schedule).await;
    let start = settle(&first).await;
    first.work();
    tokio::time::sleep(MINUTE * 10).await;
    first.shutdown(Duration::ZERO).await;
    tokio::time::sleep(MINUTE * 37).await;
    let second = program(rig, schedule).await;
    second.work();
    tokio::time::sleep(MINUTE).await;
    let of = second.schedule("slow").unwrap();
    let before = Timestamp::from_micros(start.as_micros() - 600_000_000);
    assert_eq!(of.backfill(before..start.plus(MINUTE * 5)).await.unwrap().len(), 2);
    of.trigger().await.unwrap();
    (second, start)
}

fn all(runs: &[(i64, bool)]) -> Vec<i64> {
    assert!(runs.iter().all(|(_, cancelled)| !cancelled), "{runs:?}");
    runs.iter().map(|(at, _)| *at).collect()
}

on_both_in_virtual_time! {
    /// Made up for, backfilled, triggered, due: one after the other, the oldest of those that wait first.
    async fn queue_lets_no_two_run_at_once_whatever_started_them(rig: Rig) {
        let (app, start) = pressed(&rig, Overlap::Queue).await;
        tokio::time::sleep(MINUTE * 240).await;
        let runs = all(&one_at_a_time(&app, start).await);
        // 20 began when somebody worked again; 60 took the place of the one that may wait.
        assert_eq!(runs[..9], [10, 20, -10, 0, 30, 40, 50, 53, 60], "{runs:?}");
        let shown = app.schedule("slow").unwrap().show().await.unwrap();
        assert_eq!((shown.running.len(), shown.waiting.len()), (1, 1), "{shown:?}");
        let left_out: Vec<_> = shown.left_out.iter().map(|at| at.since(start).as_secs() / 60).collect();
        assert_eq!(left_out[..3], [70, 80, 90], "{left_out:?}");
    }

    /// What people want and what was missed waits; what comes due meanwhile is left out, and that is told.
    async fn skip_lets_no_two_run_at_once_and_tells_what_it_left_out(rig: Rig) {
        let (app, start) = pressed(&rig, Overlap::Skip).await;
        tokio::time::sleep(MINUTE * 200).await;
        let runs = all(&one_at_a_time(&app, start).await);
        assert_eq!(runs[..8], [10, 20, -10, 0, 30, 40, 50, 53], "{runs:?}");
        // The first one to come after 53 has ended.
        assert_eq!(runs.get(8), Some(&230), "{runs:?}");
        let shown = app.schedule("slow").unwrap().show().await.unwrap();
        let left_out: Vec<_> = shown.left_out.iter().map(|at| at.since(start).as_secs() / 60).collect();
        assert_eq!(left_out, [(60..=220).step_by(10).collect::<Vec<_>>(), vec![240, 250]].concat());
    }

    /// The newest wins. The one that it cancels has tidied up before it begins; those that wait in their turn do so.
    async fn cancel_awaits_the_end_of_what_it_cancels(rig: Rig) {
        let (app, start) = pressed(&rig, Overlap::Cancel).await;
        tokio::time::sleep(MINUTE * 124).await;
        let runs = one_at_a_time(&app, start).await;
        // 10 was over, or was told by 50, the last of what was missed; 53 was wanted, 60 came due, and so on.
        assert_eq!((runs[0].0, &runs[1..3]), (10, &[(50, true), (53, true)][..]), "{runs:?}");
        let cancelled: Vec<_> = (60..=160).step_by(10).map(|at| (at, true)).collect();
        assert_eq!(runs[3..runs.len() - 1], cancelled, "{runs:?}");
        let of = app.schedule("slow").unwrap();
        assert_eq!(of.show().await.unwrap().waiting.len(), 5, "{:?}", of.show().await);
        // Once nothing comes any more, those that people wanted have their turn.
        of.pause("ada").await.unwrap();
        tokio::time::sleep(MINUTE * 180).await;
        let runs = one_at_a_time(&app, start).await;
        assert_eq!(runs[runs.len() - 3..], [(170, false), (-10, false), (0, false)], "{runs:?}");
    }

    /// A pause drops what the schedule itself would start, and tells so; what people wanted is theirs.
    async fn a_pause_leaves_out_what_waits(rig: Rig) {
        let (app, start) = pressed(&rig, Overlap::Queue).await;
        let of = app.schedule("slow").unwrap();
        of.pause("ada").await.unwrap();
        tokio::time::sleep(MINUTE * 120).await;
        let runs = all(&one_at_a_time(&app, start).await);
        assert_eq!(runs, [10, 20, -10, 0, 53]);
        let shown = of.show().await.unwrap();
        let left_out: Vec<_> = shown.left_out.iter().map(|at| at.since(start).as_secs() / 60).collect();
        assert_eq!((left_out, shown.running, shown.waiting), (vec![30, 40, 50], vec![], vec![]));
    }

    /// A run that began under another policy is cancelled as the new one says.
    async fn a_new_policy_holds_for_what_goes_on(rig: Rig) {
        let first = program(&rig, EVERY_TEN.overlap(Overlap::Queue)).await;
        let start = settle(&first).await;
        first.work();
        tokio::time::sleep(MINUTE * 10).await;
        first.shutdown(Duration::ZERO).await;
        let second = program(&rig, EVERY_TEN.overlap(Overlap::Cancel)).await;
        second.work();
        tokio::time::sleep(MINUTE * 12).await;
        assert_eq!(one_at_a_time(&second, start).await, [(10, true), (20, false)]);
    }
}

/// Once a year: so that nothing happens by itself.
const YEARLY: ScheduleDescriptor = ScheduleDescriptor::new("30 4 1 1 *", "Europe/Zurich");

fn yearly(overlap: Overlap) -> Registry {
    flow(held::DESCRIPTOR, YEARLY.overlap(overlap))
}

on_every_store! {
    /// Workers that vanish do not let two runs go on at once either, nor one run twice.
    async fn queue_outlives_its_workers(rig: Rig) {
        let first = Process::start(&rig, yearly(Overlap::Queue)).await;
        let years = Timestamp::from_micros(1_577_836_800_000_000)..Timestamp::from_micros(1_735_700_000_000_000);
        let runs = first.app.schedule("held").unwrap().backfill(years.clone()).await.unwrap();
        first.work().await;
        rig.world.seen(&format!("{} began", runs[0]), 1).await;
        first.kill();
        let app = rig.app(yearly(Overlap::Queue)).await;
        app.work();
        let of = app.schedule("held").unwrap();
        of.backfill(years).await.unwrap();
        for (n, run) in runs.iter().enumerate() {
            rig.world.seen(&format!("{run} began"), 1).await;
            until(|| async { of.show().await.unwrap().running == [run.clone()] }).await;
            let began = rig.world.all().keys().filter(|what| what.ends_with("began")).count();
            assert_eq!(began, n + 1, "{:?}", rig.world.all());
            app.send(run, "end", &()).await.unwrap();
            assert_eq!(app.until(run, &[]).await.unwrap(), Status::Completed);
        }
        until(|| async { of.show().await.unwrap().waiting.is_empty() }).await;
        let all = rig.world.all();
        // The killed one may have been about to note that its first step was done.
        let ended: Vec<_> = all.iter().filter(|(what, _)| what.ends_with("ended")).map(|(_, n)| *n).collect();
        assert_eq!(ended, [1; 5], "{all:?}");
    }

    /// Wanted one right after the other: the newest runs, and whatever had begun before it has tidied up.
    async fn cancel_lets_the_newest_win_however_fast_they_come(rig: Rig) {
        let app = rig.app(yearly(Overlap::Cancel)).await;
        let of = app.schedule("held").unwrap();
        let mut wanted = Vec::new();
        for _ in 0..5 {
            wanted.push(of.trigger().await.unwrap());
        }
        app.work();
        let (last, earlier) = wanted.split_last().unwrap();
        rig.world.seen(&format!("{last} began"), 1).await;
        let begins = log(&app, last).await[0].at;
        for run in earlier {
            let Ok(row) = app.row(run).await else { continue };
            assert_eq!(row.status, Status::Cancelled, "{run}");
            let log = log(&app, run).await;
            assert!(log.last().unwrap().at <= begins, "{run}");
            // One that is cancelled within its first step has nothing to tidy up yet.
            let done = |frame: &str| {
                log.iter().any(|e| matches!(&e.event, Event::StepCompleted(e) if e.frame.as_str() == frame))
            };
            assert_eq!(done("began"), done("ended"), "{run}: {log:?}");
        }
        assert_eq!(of.show().await.unwrap().running, std::slice::from_ref(last));
        app.send(last, "end", &()).await.unwrap();
        assert_eq!(app.until(last, &[]).await.unwrap(), Status::Completed);
    }
}
