//! Time: durable timers, the flow's clock, back-offs; mostly on a clock that the tests hold.
//! Not timeouts of steps: those are in `retries.rs`.

use std::time::Duration;

use loom::{App, Status, kernel::Event, prelude::*};

use crate::support::{
    Process, Rig, Tap, World, count, id, log, on_both_in_virtual_time, on_every_store, registry, told, until,
};

#[flow]
async fn measuring(ctx: Ctx, wait: u64) -> loom::Result<(i64, i64, String)> {
    let child = ctx.uuid().to_string();
    let before = ctx.now();
    ctx.sleep(millis(wait)).await;
    let after = ctx.now();
    ctx.suspend::<bool>("go").await?;
    Ok((before.as_micros(), after.as_micros(), child))
}

#[flow]
async fn napping(ctx: Ctx, wait: u64) -> loom::Result<()> {
    ctx.sleep(millis(wait)).await;
    Ok(())
}

/// Always unlucky the first time.
#[step(retry(attempts = 2, initial = "1h", max = "1h"))]
async fn unlucky(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("unlucky");
    if step.attempt() == 1 { Err(loom::Error::msg("bad luck")) } else { Ok(step.attempt()) }
}

#[flow]
async fn backing_off(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(unlucky()).await
}

#[step]
async fn busy(world: Res<World>) -> loom::Result<()> {
    world.hit("busy");
    world.pass("done").await;
    Ok(())
}

#[flow]
async fn working(ctx: Ctx) -> loom::Result<()> {
    ctx.run(busy()).await
}

#[flow]
async fn until_an_instant(ctx: Ctx, micros: i64) -> loom::Result<i64> {
    ctx.sleep_until(Timestamp::from_micros(micros)).await;
    Ok(ctx.now().as_micros())
}

/// A hundred timers at one instant.
#[flow]
async fn a_hundred(ctx: Ctx, micros: i64) -> loom::Result<usize> {
    let at = Timestamp::from_micros(micros);
    let timers = (0..100).map(|n| ctx.sleep_until(at).key(n));
    Ok(join_all(timers).await.len())
}

/// Two timers of one instant: the first one's firing gives up the other.
#[flow]
async fn racing_timers(ctx: Ctx, micros: i64) -> loom::Result<String> {
    let at = Timestamp::from_micros(micros);
    loom::select! {
        () = ctx.sleep_until(at).id("one") => Ok("one".into()),
        () = ctx.sleep_until(at).id("other") => Ok("other".into()),
    }
}

#[step]
async fn at_once(world: Res<World>) -> loom::Result<u32> {
    world.hit("at once");
    Ok(7)
}

/// Something that is done soon, against three things that take hours.
#[flow]
async fn racing_waits(ctx: Ctx) -> loom::Result<u32> {
    loom::select! {
        () = ctx.sleep(hours(4)) => Ok(0),
        answer = ctx.suspend::<u32>("somebody").timeout(hours(4)) => Ok(answer?),
        message = ctx.receive::<u32>("anything") => Ok(message),
        done = ctx.run(at_once()) => done,
    }
}

fn all() -> loom::Registry {
    registry!(
        flows: [
            measuring, napping, backing_off, working, until_an_instant, a_hundred, racing_timers, racing_waits
        ],
        steps: [unlucky, busy, at_once]
    )
}

/// A program on the async runtime's clock, which the tests advance. Its worker looks once a minute.
async fn app(rig: &Rig) -> App {
    let worker = loom::WorkerOptions {
        poll: Duration::from_secs(60),
        lease: Duration::from_secs(3600),
        ..loom::WorkerOptions::default()
    };
    let builder = rig.builder(all(), &Tap::default()).await;
    builder.worker(worker).runtime_clock().build().unwrap()
}

const HOUR: Duration = Duration::from_secs(3600);

on_both_in_virtual_time! {
    async fn b16_now_is_a_function_of_the_position(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(measuring(3_600_000)).id("run").await.unwrap();
        tokio::time::sleep(HOUR).await; // asking all the while costs a store an hour's answers
        until(|| async { !first.gates(None).await.unwrap().is_empty() }).await;
        first.shutdown(Duration::ZERO).await;
        // Another program, much later: it replays everything before the gate.
        tokio::time::sleep(HOUR * 24).await;
        let second = app(&rig).await;
        second.work();
        let handle = second.handle::<measuring>(handle.id());
        handle.resume("go", &true, "ada").await.unwrap();
        let (before, after, _) = handle.result().await.unwrap();
        let slept = Duration::from_micros((after - before).unsigned_abs());
        assert!(slept >= HOUR && slept < HOUR + Duration::from_secs(120), "{slept:?}");
    }

    async fn b17_a_timer_keeps_its_instant_through_a_restart(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(napping(10_000)).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        first.shutdown(Duration::ZERO).await;
        tokio::time::sleep(HOUR).await;
        let second = app(&rig).await;
        second.work();
        second.handle::<napping>(handle.id()).result().await.unwrap();
        let events = log(&second, handle.id()).await;
        let set: Vec<_> = events
            .iter()
            .filter_map(|envelope| match &envelope.event {
                Event::TimerSet(timer) => Some((envelope.at, timer.fire_at)),
                _ => None,
            })
            .collect();
        assert_eq!(set.len(), 1, "it is not set again");
        assert_eq!(set[0].1.since(set[0].0), Duration::from_secs(10));
        let fired = events.iter().find(|envelope| matches!(envelope.event, Event::TimerFired(_))).unwrap();
        let late = fired.at.since(set[0].1);
        assert!(late >= HOUR - Duration::from_secs(10) && late < HOUR + Duration::from_secs(120), "{late:?}");
    }

    async fn b11_a_uuid_drawn_in_the_flow_is_the_same_for_a_query_while_it_waits(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(measuring(1)).id("run").await.unwrap();
        until(|| async { !first.gates(None).await.unwrap().is_empty() }).await;
        handle.until(&[Status::Suspended]).await.unwrap();
        // Looking at it replays nothing and changes nothing.
        let looks = [handle.state().await.unwrap(), first.state(handle.id(), None).await.unwrap()];
        assert_eq!(looks[0], looks[1]);
        let recorded = log(&first, handle.id()).await;
        loom::replay_check(&all(), &recorded).unwrap();
        handle.resume("go", &true, "ada").await.unwrap();
        let (.., child) = handle.result().await.unwrap();
        first.shutdown(Duration::ZERO).await;
        let recorded = log(&first, handle.id()).await;
        loom::replay_check(&all(), &recorded).unwrap();
        let Event::ExecutionCompleted(done) = &recorded.last().unwrap().event else { panic!() };
        assert!(done.output.as_str().contains(&child));
    }

    async fn timers_fire_when_they_are_due_and_not_before(rig: Rig) {
        let app = app(&rig).await;
        let mut handles = Vec::new();
        for wait in [1_u64, 49, 50, 51, 1_000, 60_000, 86_400_000] {
            handles.push((wait, app.start(napping(wait)).await.unwrap()));
        }
        for (wait, handle) in handles {
            tokio::time::sleep(millis(wait)).await;
            handle.result().await.unwrap();
            let events = log(&app, handle.id()).await;
            let at = |kind: &str| events.iter().find(|e| e.event.kind().name() == kind).unwrap().at;
            let took = at("TIMER_FIRED").since(at("TIMER_SET"));
            // On this clock nothing else takes time.
            assert!(took >= millis(wait) && took <= millis(wait + 5), "{wait} ms took {took:?}");
        }
    }

    async fn a_hundred_timers_of_one_instant_all_fire_at_it_or_late(rig: Rig) {
        for down in [false, true] {
            let rig = rig.another();
                let mut app = app(&rig).await;
            let at = app.now().plus(HOUR);
            let handle = app.start(a_hundred(at.as_micros())).id("run").await.unwrap();
            let mut alone = Vec::new();
            for _ in 0..100 {
                alone.push(app.start(until_an_instant(at.as_micros())).await.unwrap().id().clone());
            }
            handle.until(&[Status::Suspended]).await.unwrap();
            if down {
                app.shutdown(Duration::ZERO).await;
                tokio::time::sleep(HOUR * 3).await;
                app = self::app(&rig).await;
                app.work();
            }
            let handle = app.handle::<a_hundred>(handle.id());
            assert_eq!(handle.result().await.unwrap(), 100);
            let events = log(&app, handle.id()).await;
            let set = events.iter().filter(|e| matches!(&e.event, Event::TimerSet(timer) if timer.fire_at == at));
            let fired = events.iter().filter(|e| matches!(e.event, Event::TimerFired(_)) && e.at >= at);
            assert_eq!((set.count(), fired.count()), (100, 100), "down: {down}");
            for id in alone {
                let fired = app.handle::<until_an_instant>(&id).result().await.unwrap();
                assert!(fired >= at.as_micros(), "{id}");
            }
        }
    }

    /// B60: what a duration has beyond microseconds is cut off before it is recorded.
    async fn b60_a_timer_is_set_and_fires_in_whole_microseconds(rig: Rig) {
        let app = app(&rig).await;
        let at = app.now().plus(Duration::from_nanos(1_234_567_999));
        let handle = app.start(until_an_instant(at.as_micros())).await.unwrap();
        assert!(handle.result().await.unwrap() >= at.as_micros());
        let told = told(&app, handle.id()).await;
        assert_eq!((count(&told, "TIMER_SET"), count(&told, "TIMER_FIRED")), (1, 1), "{told:?}");
        let events = log(&app, handle.id()).await;
        assert!(events.iter().any(|e| matches!(&e.event, Event::TimerSet(timer) if timer.fire_at == at)));
    }
}

const ENDS: [&str; 3] = ["EXECUTION_COMPLETED", "EXECUTION_FAILED", "EXECUTION_CANCELLED"];

on_both_in_virtual_time! {
    /// B62: whichever comes first is recorded, once; what comes second changes nothing.
    async fn b62_a_cancel_at_the_instant_at_which_a_timer_is_due(rig: Rig) {
        let (mut cancelled, mut completed) = (0, 0);
        // Around the instant, and with nobody at work until both are due: in either order of posting and waking.
        for (early, down) in (0..=3_u64).map(|early| (early, false)).chain([(0, true), (1, true)]) {
            let rig = rig.another();
                let mut app = app(&rig).await;
            let at = app.now().plus(HOUR);
            let handle = app.start(until_an_instant(at.as_micros())).id("run").await.unwrap();
            handle.until(&[Status::Suspended]).await.unwrap();
            if down {
                app.shutdown(Duration::ZERO).await;
                app = self::app(&rig).await;
            }
            // One millisecond is what the runtime's timers tell apart.
            tokio::time::sleep(at.since(app.now()) + millis(1) - millis(early)).await;
            let first = app.cancel(handle.id(), "enough", "ada").await;
            app.work();
            let status = app.until(handle.id(), &[]).await.unwrap();
            let told = told(&app, handle.id()).await;
            assert_eq!(ENDS.iter().map(|end| count(&told, end)).sum::<usize>(), 1, "{told:?}");
            let fired = count(&told, "TIMER_FIRED");
            match status {
                Status::Completed => assert_eq!(fired, 1, "{told:?}"),
                Status::Cancelled => assert!(first.is_ok(), "{first:?} {told:?}"),
                other => panic!("{other} {told:?}"),
            }
            cancelled += usize::from(status == Status::Cancelled);
            completed += usize::from(status == Status::Completed);
            // Once more, either way: nothing happens.
            let again = app.cancel(handle.id(), "enough", "ada").await;
            assert_eq!(again.is_ok(), status == Status::Cancelled);
            tokio::time::sleep(HOUR).await;
            assert_eq!(self::told(&app, handle.id()).await, told);
            loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
        }
        assert!(cancelled > 0 && completed > 0, "both orders were seen: {cancelled} and {completed}");
    }

    /// B62: a timer that is given up at its instant does not fire as well.
    async fn b62_of_two_timers_of_one_instant_one_fires(rig: Rig) {
        let app = app(&rig).await;
        let at = app.now().plus(HOUR);
        let handle = app.start(racing_timers(at.as_micros())).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "one");
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "TIMER_FIRED"), 1, "{told:?}");
        assert_eq!(count(&told, "STEP_ABANDONED other"), 1, "{told:?}");
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    /// B63: the end does not wait for what lost, and the log says that it is over.
    async fn b63_the_losing_waits_of_a_race_are_closed_at_the_return(rig: Rig) {
        let app = app(&rig).await;
        let start = app.now();
        let handle = app.start(racing_waits()).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 7);
        assert!(app.now().since(start) < Duration::from_secs(60), "on this clock nothing else takes time");
        let row = app.row(handle.id()).await.unwrap();
        assert_eq!((row.status, row.wake_at), (Status::Completed, None));
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "STEP_ABANDONED"), 3, "{told:?}");
        assert!(told.last().unwrap().starts_with("EXECUTION_COMPLETED"), "{told:?}");
        assert!(app.gates(None).await.unwrap().is_empty(), "nobody is asked any more");
        let state = handle.state().await.unwrap();
        assert!(state.frames.values().all(|frame| frame.status != loom::kernel::FrameStatus::Open));
        tokio::time::sleep(HOUR * 5).await;
        assert_eq!(self::told(&app, handle.id()).await, told);
    }

    async fn an_instant_that_has_passed_is_over_at_once(rig: Rig) {
        let app = app(&rig).await;
        let handle = app.start(until_an_instant(1)).await.unwrap();
        assert!(handle.result().await.unwrap() > 1);
    }

    async fn b47_a_back_off_has_a_wake_up_and_running_work_is_never_suspended(rig: Rig) {
        let first = app(&rig).await;
        let handle = first.start(backing_off()).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        let row = first.row(handle.id()).await.unwrap();
        let wake = row.wake_at.expect("somebody must wake it").since(row.updated_at);
        assert!(wake <= HOUR && wake > HOUR - Duration::from_secs(60), "{wake:?}");
        // It is woken, by another program, without anybody asking.
        first.shutdown(Duration::ZERO).await;
        let second = app(&rig).await;
        second.work();
        assert_eq!(second.handle::<backing_off>(handle.id()).result().await.unwrap(), 2);
        // A step that takes days: its execution is held all the while, since only this program can end it.
        let held = second.start(working()).id("busy").await.unwrap();
        rig.world.seen("busy", 1).await;
        for _ in 0..48 {
            tokio::time::sleep(HOUR).await;
            let row = second.row(held.id()).await.unwrap();
            assert_eq!(row.status, Status::Running);
            assert_eq!(row.lease.expect("it is held").fence, 1);
        }
        rig.world.open("done");
        held.result().await.unwrap();
        assert_eq!(count(&told(&second, held.id()).await, "EXECUTION_SUSPENDED"), 0);
    }
}

on_every_store! {
    async fn a_sleep_goes_on_through_a_crash(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move {
            let handle = app.start(napping(300)).id("run").await.unwrap();
            handle.until(&[Status::Suspended]).await.unwrap();
        }).await;
        process.kill();
        let app = rig.app(all()).await;
        app.work();
        let handle = app.handle::<napping>(&id("run"));
        handle.result().await.unwrap();
        let events = log(&app, handle.id()).await;
        let at = |kind: &str| events.iter().find(|e| e.event.kind().name() == kind).unwrap().at;
        assert!(at("TIMER_FIRED").since(at("TIMER_SET")) >= millis(300));
        assert_eq!(events.iter().filter(|e| matches!(e.event, Event::TimerSet(_))).count(), 1);
    }
}
