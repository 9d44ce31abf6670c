//! Schedules: flows that start by themselves, mostly on a clock that the tests hold.
//! Not cron expressions and changes of clocks: those are tested where they are evaluated, in `loom/coordination`.

use std::time::Duration;

use loom::{
    App, CatchUp, Entry, Flow as _, FlowDescriptor, Overlap, Registry, ScheduleDescriptor, ScheduleError,
    Schedules as _, Status, nominal, prelude::*,
};

use crate::support::{
    Rig, Tap, World, id, on_both_in_virtual_time, on_every_store, registry, report as report_of, until,
};

const MINUTE: Duration = Duration::from_secs(60);

#[step]
async fn report(world: Res<World>, on: String) -> loom::Result<()> {
    world.hit(on);
    Ok(())
}

/// Reports at once, and then takes 25 minutes.
#[flow]
async fn slow(ctx: Ctx) -> loom::Result<()> {
    ctx.run(report(ctx.execution().to_string())).await?;
    ctx.sleep(minutes(25)).await;
    Ok(())
}

#[flow]
async fn quick(ctx: Ctx) -> loom::Result<()> {
    ctx.run(report(ctx.execution().to_string())).await
}

fn flow(of: &FlowDescriptor, schedule: ScheduleDescriptor) -> Registry {
    let flow = FlowDescriptor { schedule: Some(schedule), ..*of };
    Registry::of([Entry::Flow(Box::leak(Box::new(flow))), Entry::step::<report>()])
}

const EVERY_TEN: ScheduleDescriptor = ScheduleDescriptor::new("*/10 * * * *", "UTC");

async fn program(rig: &Rig, registry: Registry) -> App {
    limited(rig, registry, loom::Limits::default()).await
}

async fn limited(rig: &Rig, registry: Registry, limits: loom::Limits) -> App {
    let worker = loom::WorkerOptions {
        poll: Duration::from_secs(5),
        lease: Duration::from_secs(3600),
        ..loom::WorkerOptions::default()
    };
    let builder = rig.builder(registry, &Tap::default()).await;
    builder.worker(worker).limits(limits).runtime_clock().build().unwrap()
}

fn minutes_of(at: Timestamp) -> i64 {
    at.as_micros() / 60_000_000
}

/// Waits for a moment, on this clock, that is five minutes past a tenth minute.
async fn settle(app: &App) {
    while minutes_of(app.now()) % 10 != 5 {
        tokio::time::sleep(MINUTE).await;
    }
}

/// The runs that there are, in minutes after `from`, with their statuses.
async fn runs(app: &App, from: Timestamp) -> Vec<(i64, Status)> {
    let rows = app.list(&loom::ports::ListFilter::default()).await.unwrap();
    if let Some(row) = rows.iter().find(|row| row.status == Status::Parked) {
        panic!("{} is parked: {:?}", row.id, report_of(app, &row.id).await);
    }
    let of = |at: Timestamp| (at.as_micros() - from.as_micros()).div_euclid(60_000_000);
    rows.iter().filter_map(|row| Some((of(nominal(&row.id)?), row.status))).collect()
}

fn instants(runs: &[(i64, Status)]) -> Vec<i64> {
    runs.iter().map(|(at, _)| *at).collect()
}

/// A tenth minute that has just been, for offsets.
fn tenth(app: &App) -> Timestamp {
    Timestamp::from_micros(app.now().as_micros() / 600_000_000 * 600_000_000)
}

on_both_in_virtual_time! {
    async fn b65_a_run_longer_than_the_tick_fires_once_for_each_instant(rig: Rig) {
        let app = program(&rig, flow(slow::DESCRIPTOR, EVERY_TEN.overlap(Overlap::Allow))).await;
        settle(&app).await;
        let (start, others) = (tenth(&app), program(&rig, flow(slow::DESCRIPTOR, EVERY_TEN)).await);
        app.work();
        // Another worker of another version joins in later, and a third one.
        tokio::time::sleep(MINUTE * 58).await;
        assert_eq!(instants(&runs(&app, start).await), [10, 20, 30, 40, 50, 60]);
        assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
        assert_eq!(rig.world.all().len(), 6);
        let running = runs(&app, start).await.iter().filter(|(_, status)| !status.is_terminal()).count();
        assert_eq!(running, 3, "each takes 25 minutes");
        app.shutdown(Duration::ZERO).await;
        others.work();
        tokio::time::sleep(MINUTE * 60).await;
        let all = runs(&app, start).await;
        assert!(instants(&all).windows(2).all(|pair| pair[0] < pair[1] && pair[1] % 10 == 0), "{all:?}");
        assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
    }

    /// B65: two workers from the beginning, one of which goes.
    async fn b65_two_workers_start_each_instant_once(rig: Rig) {
        let one = program(&rig, flow(quick::DESCRIPTOR, EVERY_TEN)).await;
        let other = program(&rig, flow(quick::DESCRIPTOR, EVERY_TEN)).await;
        settle(&one).await;
        let start = tenth(&one);
        one.work();
        other.work();
        tokio::time::sleep(MINUTE * 58).await;
        assert_eq!(instants(&runs(&one, start).await), [10, 20, 30, 40, 50, 60]);
        one.shutdown(Duration::ZERO).await;
        tokio::time::sleep(MINUTE * 30).await;
        assert_eq!(runs(&other, start).await.len(), 9);
        assert_eq!(rig.world.all().values().copied().collect::<Vec<_>>(), [1; 9], "{:?}", rig.world.all());
    }

    /// B66: a year of nights in Lisbon. The one whose 01:30 there is not has a run at two; the one that has it twice, one.
    async fn b66_each_night_of_a_year_has_one_run(rig: Rig) {
        let nightly = ScheduleDescriptor::new("30 1 * * *", "Europe/Lisbon");
        let day = MINUTE * 60 * 24;
        let worker = loom::WorkerOptions { poll: day, lease: day * 90, ..loom::WorkerOptions::default() };
        let builder = rig.builder(flow(quick::DESCRIPTOR, nightly), &Tap::default()).await;
        let app = builder.worker(worker).runtime_clock().build().unwrap();
        app.work();
        tokio::time::sleep(day * 366).await;
        let mut nights = instants(&runs(&app, Timestamp::EPOCH).await);
        nights.sort_unstable();
        assert!((365..=367).contains(&nights.len()), "{}", nights.len());
        let apart: Vec<_> = nights.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let often = |minutes| apart.iter().filter(|gap| **gap == minutes).count();
        // 01:30 to 02:00 an hour ahead, and on to 01:30 there; 01:30 in summer to 01:30 in winter.
        let (short, long) = (often(23 * 60 + 30), often(25 * 60));
        assert!(short >= 1 && long >= 1, "{apart:?}");
        assert_eq!(often(24 * 60) + short + long, apart.len(), "{apart:?}");
        assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
    }

    /// B65: the cadence goes by nominal instants; what overlaps is left out, and the next one is not.
    async fn b65_skip_leaves_out_what_overlaps_and_nothing_else(rig: Rig) {
        let app = program(&rig, flow(slow::DESCRIPTOR, EVERY_TEN)).await;
        settle(&app).await;
        let start = tenth(&app);
        app.work();
        tokio::time::sleep(MINUTE * 90).await;
        assert_eq!(instants(&runs(&app, start).await), [10, 40, 70]);
    }

    async fn queue_lets_one_wait(rig: Rig) {
        let app = program(&rig, flow(slow::DESCRIPTOR, EVERY_TEN.overlap(Overlap::Queue))).await;
        settle(&app).await;
        let start = tenth(&app);
        app.work();
        // 10 runs until 35, 20 waits, 30 is left out; 20 runs until 60, 40 waits, 50 is left out; 40 begins.
        tokio::time::sleep(MINUTE * 58).await;
        let all = runs(&app, start).await;
        assert_eq!(instants(&all), [10, 20, 40], "{all:?}");
        assert!(all[0].1.is_terminal() && all[1].1.is_terminal() && !all[2].1.is_terminal(), "{all:?}");
    }

    async fn cancel_ends_the_running_one(rig: Rig) {
        let app = program(&rig, flow(slow::DESCRIPTOR, EVERY_TEN.overlap(Overlap::Cancel))).await;
        settle(&app).await;
        let start = tenth(&app);
        app.work();
        tokio::time::sleep(MINUTE * 28).await;
        let all = runs(&app, start).await;
        assert_eq!(instants(&all), [10, 20, 30]);
        assert_eq!((all[0].1, all[1].1), (Status::Cancelled, Status::Cancelled));
        assert!(!all[2].1.is_terminal(), "{all:?}");
    }
}

/// Nobody works from minute 15 to minute 52; the program that is to work then, and minute 0.
async fn after_downtime(rig: &Rig, schedule: ScheduleDescriptor) -> (App, Timestamp) {
    let first = program(rig, flow(quick::DESCRIPTOR, schedule)).await;
    settle(&first).await;
    let start = tenth(&first);
    first.work();
    tokio::time::sleep(MINUTE * 10).await;
    first.shutdown(Duration::ZERO).await;
    tokio::time::sleep(MINUTE * 38).await;
    (program(rig, flow(quick::DESCRIPTOR, schedule)).await, start)
}

/// What is made up for then.
async fn after_a_pause(rig: Rig, catch_up: CatchUp, overlap: Overlap) -> Vec<i64> {
    let (second, start) = after_downtime(&rig, EVERY_TEN.catch_up(catch_up).overlap(overlap)).await;
    second.work();
    tokio::time::sleep(MINUTE * 10).await;
    assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
    instants(&runs(&second, start).await)
}

on_both_in_virtual_time! {
    async fn catch_up_of_the_latest_all_or_none(rig: Rig) {
        let hour = MINUTE * 60;
        assert_eq!(after_a_pause(rig.another(), CatchUp::Latest { within: hour }, Overlap::Skip).await, [10, 50, 60]);
        assert_eq!(after_a_pause(rig.another(), CatchUp::Latest { within: MINUTE * 2 }, Overlap::Skip).await, [10, 60]);
        assert_eq!(after_a_pause(rig.another(), CatchUp::Skip, Overlap::Skip).await, [10, 60]);
        for overlap in [Overlap::Skip, Overlap::Allow, Overlap::Queue, Overlap::Cancel] {
            let all = after_a_pause(rig.another(), CatchUp::All { within: hour }, overlap).await;
            assert_eq!(all, [10, 20, 30, 40, 50, 60], "{overlap:?}");
            let some = after_a_pause(rig.another(), CatchUp::All { within: MINUTE * 25 }, overlap).await;
            assert_eq!(some, [10, 30, 40, 50, 60], "{overlap:?}");
        }
    }

    async fn a_paused_schedule_starts_nothing_and_goes_on_with_the_next_instant(rig: Rig) {
        let app = program(&rig, flow(quick::DESCRIPTOR, EVERY_TEN)).await;
        settle(&app).await;
        let start = tenth(&app);
        let schedule = app.schedule("quick").unwrap();
        // Before any worker has seen to it.
        schedule.pause("ada").await.unwrap();
        app.work();
        until(|| async { schedule.show().await.unwrap().paused.as_deref() == Some("ada") }).await;
        assert_eq!(schedule.show().await.unwrap().next, []);
        tokio::time::sleep(MINUTE * 30).await;
        assert_eq!(runs(&app, start).await, []);
        schedule.resume("bob").await.unwrap();
        until(|| async { schedule.show().await.unwrap().paused.is_none() }).await;
        let next: Vec<_> = schedule.show().await.unwrap().next.iter().map(|at| minutes_of(*at) % 10).collect();
        assert_eq!(next, [0; 5]);
        tokio::time::sleep(MINUTE * 10).await;
        assert_eq!(instants(&runs(&app, start).await), [40]);
    }

    /// What had come before it was told is seen to first, although nobody worked then: what may begin does, and what would
    /// have had to wait is told as left out.
    async fn a_pause_that_is_told_after_downtime_comes_after_what_was_due(rig: Rig) {
        for (overlap, begun, left_out) in
            [(Overlap::Allow, vec![10, 20, 30, 40, 50], vec![]), (Overlap::Queue, vec![10, 20], vec![30, 40, 50])]
        {
            let rig = rig.another();
            let schedule = EVERY_TEN.catch_up(CatchUp::All { within: MINUTE * 60 }).overlap(overlap);
            let (second, start) = after_downtime(&rig, schedule).await;
            second.schedule("quick").unwrap().pause("ada").await.unwrap();
            second.work();
            tokio::time::sleep(MINUTE * 20).await;
            assert_eq!(instants(&runs(&second, start).await), begun, "{overlap:?}");
            let told = second.schedule("quick").unwrap().show().await.unwrap();
            assert_eq!(told.paused.as_deref(), Some("ada"));
            let of = |at: &Timestamp| (at.as_micros() - start.as_micros()) / 60_000_000;
            assert_eq!(told.left_out.iter().map(of).collect::<Vec<_>>(), left_out, "{overlap:?}");
        }
    }

    /// What a new program says counts from then on; one without the schedule leaves it alone.
    async fn a_changed_expression_takes_effect_and_a_removed_schedule_stops(rig: Rig) {
        let first = program(&rig, flow(quick::DESCRIPTOR, EVERY_TEN)).await;
        settle(&first).await;
        let start = tenth(&first);
        first.work();
        tokio::time::sleep(MINUTE * 10).await;
        first.shutdown(Duration::ZERO).await;
        let hourly = ScheduleDescriptor::new("3,7 * * * *", "UTC");
        let second = program(&rig, flow(quick::DESCRIPTOR, hourly)).await;
        second.work();
        tokio::time::sleep(MINUTE * 60).await;
        let all = instants(&runs(&second, start).await);
        assert_eq!(all.len(), 3, "{all:?}");
        let of_the_hour = |after: i64| (minutes_of(start) + after) % 60;
        assert!(
            matches!(all[1..].iter().map(|at| of_the_hour(*at)).collect::<Vec<_>>()[..], [3, 7] | [7, 3]),
            "{all:?}"
        );
        second.shutdown(Duration::ZERO).await;
        let third = program(&rig, registry!(flows: [quick], steps: [report])).await;
        third.work();
        tokio::time::sleep(MINUTE * 120).await;
        assert_eq!(instants(&runs(&third, start).await), all);
        assert_eq!(third.schedules().await.unwrap(), []);
        third.shutdown(Duration::ZERO).await;
        // Back again: what was missed is the catch-up policy's.
        let fourth = program(&rig, flow(quick::DESCRIPTOR, hourly)).await;
        fourth.work();
        tokio::time::sleep(MINUTE).await;
        assert_eq!(runs(&fourth, start).await.len(), 4);
    }

    /// The keeper's log is cut into runs; what goes on is found again, and nothing is started twice.
    async fn a_schedule_lives_long(rig: Rig) {
        for overlap in [Overlap::Skip, Overlap::Allow, Overlap::Queue, Overlap::Cancel] {
            let rig = rig.another();
                let limits = loom::Limits { history: 60, ..loom::Limits::default() };
            let registry = flow(slow::DESCRIPTOR, EVERY_TEN.overlap(overlap));
            let app = limited(&rig, registry, limits).await;
            settle(&app).await;
            let start = tenth(&app);
            app.work();
            tokio::time::sleep(MINUTE * 730).await;
            let row = app.row(&id("schedule:slow")).await.unwrap();
            assert!(row.base > 60 && row.next - row.base <= 60 && row.status != Status::Parked, "{row:?}");
            let mut all = instants(&runs(&app, start).await);
            all.sort_unstable();
            let expected: Vec<i64> = match overlap {
                Overlap::Allow | Overlap::Cancel => (1..=73).map(|n| n * 10).collect(),
                Overlap::Skip => (0..25).map(|n| 10 + n * 30).collect(),
                // One after the other, each 25 minutes: whichever waits.
                Overlap::Queue => all.clone(),
            };
            assert_eq!(all, expected, "{overlap:?}");
            assert!(all.len() >= 24, "{overlap:?} {all:?}");
            assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
            let running = app.schedule("slow").unwrap().show().await.unwrap().running;
            let least = usize::from(overlap != Overlap::Allow);
            assert!((least..=3).contains(&running.len()), "{overlap:?} {running:?}");
        }
    }

    /// What an earlier run of the keeper has started, and what has ended since, holds nobody up and is not run again.
    async fn a_later_backfill_passes_over_what_has_run(rig: Rig) {
        let limits = loom::Limits { history: 60, ..loom::Limits::default() };
        let app = limited(&rig, flow(quick::DESCRIPTOR, EVERY_TEN), limits).await;
        let schedule = app.schedule("quick").unwrap();
        let (from, hour) = (Timestamp::from_micros(tenth(&app).as_micros() / 2), Duration::from_secs(3600));
        app.work();
        assert_eq!(schedule.backfill(from..from.plus(hour)).await.unwrap().len(), 6);
        tokio::time::sleep(MINUTE * 60 * 5).await;
        assert!(app.row(&id("schedule:quick")).await.unwrap().base > 60);
        // The same and more: the new ones come after the old ones.
        let all = schedule.backfill(from..from.plus(hour * 2)).await.unwrap();
        tokio::time::sleep(MINUTE * 5).await;
        for run in &all {
            assert_eq!(rig.world.count(run.as_str()), 1, "{run}");
        }
        assert!(schedule.show().await.unwrap().running.is_empty());
    }
}

/// Once a year: so that nothing happens by itself in these.
const YEARLY: ScheduleDescriptor = ScheduleDescriptor::new("30 4 1 1 *", "Europe/Zurich");

fn day(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

on_every_store! {
    /// However many workers there are, and however often it is asked for.
    async fn a_backfill_runs_each_instant_once(rig: Rig) {
        let registry = || flow(quick::DESCRIPTOR, YEARLY);
        let apps = [rig.app(registry()).await, rig.app(registry()).await, rig.app(registry()).await];
        apps.iter().for_each(App::work);
        let years = day(1_577_836_800_000_000)..day(1_735_700_000_000_000); // 2020 to 2024
        let schedule = apps[0].schedule("quick").unwrap();
        let runs = schedule.backfill(years.clone()).await.unwrap();
        assert_eq!(runs.len(), 5);
        assert_eq!(runs[0], id("quick@2020-01-01T03:30:00Z"));
        apps[1].schedule("quick").unwrap().backfill(years).await.unwrap();
        for run in &runs {
            rig.world.seen(run.as_str(), 1).await;
            assert_eq!(apps[2].until(run, &[]).await.unwrap(), Status::Completed);
        }
        // A run that comes after them.
        let last = apps[2].schedule("quick").unwrap().trigger().await.unwrap();
        rig.world.seen(last.as_str(), 1).await;
        assert!(nominal(&last).is_some());
        until(|| async { schedule.show().await.unwrap().running.is_empty() }).await;
        assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
        assert_eq!(rig.world.all().len(), 6);
    }

    async fn what_cannot_be_done_is_said(rig: Rig) {
        let app = rig.app(flow(quick::DESCRIPTOR, EVERY_TEN)).await;
        let unknown = app.schedule("slow").err().unwrap();
        assert!(matches!(&unknown, ScheduleError::Unknown { known, .. } if known == "quick"), "{unknown}");
        let years = day(1_577_836_800_000_000)..day(1_735_700_000_000_000);
        let many = app.schedule("quick").unwrap().backfill(years).await.unwrap_err();
        assert!(matches!(&many, ScheduleError::TooMany { .. }), "{many}");
        // A run of an instant that is to come would take the place of the scheduled one, unnoticed.
        let (now, ten) = (app.now(), MINUTE * 10);
        let next = app.schedules().await.unwrap()[0].next[0];
        let ahead = app.schedule("quick").unwrap().backfill(now..now.plus(ten * 2)).await.unwrap_err();
        assert!(matches!(&ahead, ScheduleError::Ahead { instant, .. } if *instant == next), "{ahead}");
        let back = app.schedule("quick").unwrap().backfill(now..day(0)).await.unwrap_err();
        assert!(back.to_string().contains("a range that ends after it begins"), "{back}");
        let between = next.plus(MINUTE)..next.plus(ten);
        let none = app.schedule("quick").unwrap().backfill(between).await.unwrap_err();
        assert!(matches!(&none, ScheduleError::Empty { .. }), "{none}");
        let shown = app.schedules().await.unwrap();
        assert_eq!((shown.len(), shown[0].status, shown[0].next.len()), (1, None, 5));
        // A cancelled one starts nothing any more, and says so.
        app.work();
        let keeper = shown[0].execution.clone();
        until(|| async { app.row(&keeper).await.is_ok() }).await;
        app.cancel(&keeper, "no longer", "ada").await.unwrap();
        assert_eq!(app.until(&keeper, &[]).await.unwrap(), Status::Cancelled);
        assert!(matches!(app.schedule("quick").unwrap().trigger().await, Err(ScheduleError::NotSent(_))));
        assert_eq!(app.schedules().await.unwrap()[0].next, []);
    }
}

#[test]
fn a_schedule_that_cannot_be_kept_is_refused() {
    let build = |schedule| {
        App::builder().registry(flow(quick::DESCRIPTOR, schedule)).provide(World::default()).build()
    };
    let wrong = build(ScheduleDescriptor::new("61 * * * *", "UTC")).err().unwrap();
    assert!(wrong.to_string().contains("schedule of flow `quick`"), "{wrong}");
    let wrong = build(ScheduleDescriptor::new("1 * * * *", "Mars/Olympus")).err().unwrap();
    assert!(wrong.to_string().contains("Mars/Olympus"), "{wrong}");
}
