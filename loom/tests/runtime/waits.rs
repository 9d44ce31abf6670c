//! Ends that wait: an execution is over once its children are, however it ends and whoever owns it by then.
//! Not what children are told, and not the attempts of steps: those are in `children.rs` and `cancels.rs`.

use loom::{
    App, ExecutionError, Registry, Status, WorkerOptions,
    kernel::{End, Event, Kind, Outcome},
    prelude::*,
};

use crate::support::{
    Process, Rig, Tap, World, brisk, count, id, log, on_every_store, registry, report, told, until,
};

/// Takes its time, until the test opens the door.
#[step]
async fn give_back(world: Res<World>, what: String) -> loom::Result<()> {
    world.hit(format!("gives back {what}"));
    world.pass("give back").await;
    Ok(())
}

/// Tidies up when it is cancelled.
#[flow]
async fn booking(ctx: Ctx, what: String) -> loom::Result<String> {
    select! {
        _ = ctx.cancelled() => {
            ctx.run(give_back(what.clone())).await?;
            Ok(what)
        }
        answer = ctx.suspend::<String>("confirmed") => Ok(answer?),
    }
}

#[flow]
async fn trip(ctx: Ctx) -> loom::Result<String> {
    ctx.call(booking("the hotel".into())).await
}

#[flow]
async fn journey(ctx: Ctx) -> loom::Result<String> {
    ctx.call(trip()).await
}

/// The first to be confirmed wins.
#[flow]
async fn either(ctx: Ctx) -> loom::Result<String> {
    select! {
        hotel = ctx.call(booking("a hotel".into())).id("hotel") => Ok(hotel?),
        flat = ctx.call(booking("a flat".into())).id("flat") => Ok(flat?),
    }
}

/// Goes on in a new run, and lets go of what this one has begun.
#[flow]
async fn again(ctx: Ctx, run: u32) -> loom::Result<u32> {
    if run > 0 {
        return Ok(run);
    }
    drop(ctx.spawn(booking("a room".into())).id("room").await);
    select! {
        lost = ctx.call(booking("a car".into())).id("car") => drop(lost?),
        won = ctx.suspend::<String>("instead") => drop(won?),
    };
    ctx.continue_as_new(again(run + 1)).await
}

/// Asks somebody beside its child.
#[flow]
async fn both(ctx: Ctx) -> loom::Result<String> {
    let (call, asked) =
        join!(ctx.call(booking("a train".into())), ctx.suspend::<String>("manager").timeout(days(3)));
    let (call, asked) = (call?, asked?);
    Ok(format!("{call}, {asked}"))
}

/// Works beside its child.
#[flow]
async fn carrying(ctx: Ctx) -> loom::Result<String> {
    let (call, own) = join!(ctx.call(booking("a bag".into())), ctx.run(give_back("itself".into())));
    own?;
    call
}

#[flow]
async fn asking(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.suspend::<u32>("manager").await?)
}

fn all() -> Registry {
    registry!(flows: [booking, trip, journey, either, again, both, carrying, asking], steps: [give_back])
}

async fn status(app: &App, name: &str) -> Status {
    app.row(&id(name)).await.unwrap().status
}

/// It waits for others and costs nothing: nobody holds it.
async fn is_left_alone(app: &App, name: &str) {
    until(|| async {
        let row = app.row(&id(name)).await.unwrap();
        assert!(!row.status.is_terminal(), "{name} has ended before its children have");
        row.status == Status::Suspended && row.lease.is_none()
    })
    .await;
}

fn cancelled<T: std::fmt::Debug>(result: Result<T, ExecutionError<loom::Error>>) {
    match result {
        Err(ExecutionError::Cancelled { reason, by }) => {
            assert_eq!((reason.as_str(), by.as_str()), ("why", "ada"))
        }
        other => panic!("{other:?}"),
    }
}

/// The kinds of events from the decision on.
fn since_the_decision(told: &[String]) -> Vec<&str> {
    let at = told.iter().position(|event| event == "EXECUTION_ENDING").expect("it had to wait");
    let passing = |event: &&str| !matches!(*event, "EXECUTION_SUSPENDED" | "EXECUTION_RESUMED");
    told[at..].iter().map(String::as_str).filter(passing).collect()
}

on_every_store! {
    /// B70, B69: three levels of which the last one has something to give back.
    async fn b69_b70_each_level_ends_after_the_one_below(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(journey()).id("j").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 1 }).await;
        handle.cancel("why", "ada").await.unwrap();
        rig.world.seen("gives back the hotel", 1).await;
        is_left_alone(&app, "j").await;
        is_left_alone(&app, "j:trip").await;
        // A second cancel changes nothing.
        handle.cancel("again", "bob").await.unwrap();
        app.cancel(&id("j:trip"), "again", "bob").await.unwrap();
        rig.world.open("give back");
        cancelled(handle.result().await);
        for level in ["j:trip:booking", "j:trip", "j"] {
            assert_eq!(status(&app, level).await, Status::Cancelled, "{level} when the highest has ended");
            loom::replay_check(&all(), &log(&app, &id(level)).await).unwrap();
        }
        let told = told(&app, &id("j")).await;
        assert_eq!(
            since_the_decision(&told),
            ["EXECUTION_ENDING", "OUTCOME_DISCARDED trip", "EXECUTION_CANCELLED"]
        );
        assert_eq!(count(&told, "EXECUTION_ENDING"), 1, "{told:?}");
    }

    /// B69: a result is not told while what lost the race for it still works.
    async fn b69_a_result_waits_for_the_losers(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(either()).id("e").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 2 }).await;
        app.handle::<booking>(&id("e:flat")).resume("confirmed", &"the flat", "ada").await.unwrap();
        rig.world.seen("gives back a hotel", 1).await;
        is_left_alone(&app, "e").await;
        assert!(app.state(&id("e"), None).await.unwrap().ending.is_some());
        rig.world.open("give back");
        assert_eq!(handle.result().await.unwrap(), "the flat");
        let log = log(&app, &id("e")).await;
        let lost = log.iter().find_map(|e| match &e.event {
            Event::OutcomeDiscarded(lost) => lost.outcome.clone(),
            _ => None,
        });
        assert!(matches!(lost, Some(Outcome::Cancelled { .. })), "{lost:?}");
        loom::replay_check(&all(), &log).unwrap();
    }

    /// B69: whoever takes over goes on waiting; nothing is told or run twice.
    async fn b69_a_wait_survives_its_owners(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move { drop(app.start(trip()).id("t").await.unwrap()) }).await;
        let other = rig.app(all()).await;
        until(|| async { other.gates(None).await.unwrap().len() == 1 }).await;
        other.cancel(&id("t"), "why", "ada").await.unwrap();
        rig.world.seen("gives back the hotel", 1).await;
        until(|| async { other.state(&id("t"), None).await.unwrap().ending.is_some() }).await;
        process.kill();
        rig.world.open("give back");
        other.work();
        cancelled(other.handle::<trip>(&id("t")).result().await);
        assert_eq!(status(&other, "t:booking").await, Status::Cancelled);
        let told = told(&other, &id("t")).await;
        assert_eq!(count(&told, "EXECUTION_ENDING"), 1, "{told:?}");
    }

    /// Nobody can answer what is not asked any more; and who looks sees what is waited for.
    async fn b69_gates_are_closed_while_the_end_waits(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(both()).id("b").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 2 }).await;
        handle.cancel("why", "ada").await.unwrap();
        rig.world.seen("gives back a train", 1).await;
        is_left_alone(&app, "b").await;
        assert!(app.gates(None).await.unwrap().iter().all(|gate| gate.execution != *handle.id()));
        handle.resume("manager", "yes", "bob").await.unwrap_err();
        let view = loom::view::Look::at(&app, handle.id()).await.unwrap();
        assert!(matches!(&view.waits[..], [loom::view::Wait::Child { child, .. }] if child == "b:booking"), "{view:?}");
        rig.world.open("give back");
        cancelled(handle.result().await);
    }

    /// By force, nobody is waited for: neither from the start, nor in the midst of the wait.
    async fn b70_force_ends_a_wait(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(trip()).id("t").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 1 }).await;
        handle.cancel("gently", "bob").await.unwrap();
        rig.world.seen("gives back the hotel", 1).await;
        is_left_alone(&app, "t").await;
        app.kill(&id("t"), "why", "ada").await.unwrap();
        app.until(&id("t"), &[]).await.unwrap();
        assert!(!status(&app, "t:booking").await.is_terminal(), "it still gives back");
        let other = app.start(trip()).id("u").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 1 }).await;
        app.kill(other.id(), "why", "ada").await.unwrap();
        cancelled(other.result().await);
        rig.world.seen("gives back the hotel", 2).await;
        assert!(!status(&app, "u:booking").await.is_terminal(), "it still gives back");
        rig.world.open("give back");
        for child in ["t:booking", "u:booking"] {
            assert_eq!(app.until(&id(child), &[]).await.unwrap(), Status::Cancelled);
        }
    }

    /// B69: a run is over before the next one begins.
    async fn b69_the_next_run_waits_for_the_children_of_this_one(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(again(0)).id("a").await.unwrap();
        until(|| async { app.gates(None).await.unwrap().len() == 3 }).await;
        handle.resume("instead", &"a bicycle", "ada").await.unwrap();
        rig.world.seen("gives back a car", 1).await;
        rig.world.seen("gives back a room", 1).await;
        is_left_alone(&app, "a").await;
        assert_eq!(app.state(&id("a"), None).await.unwrap().run, 0);
        rig.world.open("give back");
        assert_eq!(handle.result().await.unwrap(), 1);
        for child in ["a:car", "a:room"] {
            assert_eq!(status(&app, child).await, Status::Cancelled);
        }
        loom::replay_check(&all(), &log(&app, &id("a")).await).unwrap();
    }

    /// B30, B69: an answer and then a cancel, both accepted before the end is written. The cancel is latched, and what
    /// the flow has come to is on record.
    async fn b30_b69_a_cancel_wins_over_an_answer_that_was_not_acted_on(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move { drop(app.start(asking()).id("run").await.unwrap()) }).await;
        let other = rig.app(all()).await;
        other.until(&id("run"), &[Status::Suspended]).await.unwrap();
        process.kill();
        let handle = other.handle::<asking>(&id("run"));
        handle.resume("manager", &7, "bob").await.unwrap();
        handle.cancel("why", "ada").await.unwrap();
        other.work();
        cancelled(handle.result().await);
        let log = log(&other, &id("run")).await;
        let would = log.iter().find_map(|envelope| match &envelope.event {
            Event::ExecutionEnding(ending) => Some(ending.end.clone()),
            _ => None,
        });
        assert_eq!(would, Some(End::Completed(loom::kernel::Payload::encode(&7).unwrap())));
        assert!(log.iter().any(|envelope| envelope.event.kind() == Kind::GateAnswered), "the answer was taken");
        loom::replay_check(&all(), &log).unwrap();
    }

    /// A program does not end what it cannot read because a newer one wrote it: that one has to be asked. By force, it does.
    async fn k8_a_log_of_a_newer_build_is_not_ended_by_an_older_one(rig: Rig) {
        for force in [false, true] {
            let (rig, tap) = (rig.another(), Tap::default());
            let app = rig.app(all()).await;
            let handle = app.start(booking("a boat".into())).id("b").await.unwrap();
            handle.until(&[Status::Suspended]).await.unwrap();
            app.shutdown(seconds(1)).await;
            rig.world.open("give back");

            let older = rig.builder(all(), &tap).await.build().unwrap();
            let last = older.row(&id("b")).await.unwrap().next - 1;
            tap.newer(&id("b"), last);
            match force {
                true => older.kill(&id("b"), "why", "ada").await.unwrap(),
                false => older.cancel(&id("b"), "why", "ada").await.unwrap(),
            }
            older.work();
            if force {
                assert_eq!(older.until(&id("b"), &[]).await.unwrap(), Status::Cancelled);
                continue;
            }
            let newer = rig.app(all()).await;
            assert!(report(&newer, &id("b")).await.wants.is_some(), "it waits for code");
            assert_eq!(rig.world.count("gives back a boat"), 0);
            // Beside the older one, it can read it: the flow is told, and tidies up.
            newer.work();
            newer.until(&id("b"), &[]).await.unwrap();
            cancelled(newer.handle::<booking>(&id("b")).result().await);
            assert_eq!(rig.world.count("gives back a boat"), 1);
        }
    }

    /// B69: whoever cannot read a log waits for the children that the rest of it tells of; also one that takes over.
    async fn b69_an_end_without_a_readable_log_waits_for_the_children(rig: Rig) {
        for damaged in [Kind::ExecutionStarted, Kind::GateOpened] {
            let rig = rig.another();
            let first = rig.app(all()).await;
            let handle = first.start(both()).id("b").await.unwrap();
            until(|| async { first.gates(None).await.unwrap().len() == 2 }).await;
            first.until(handle.id(), &[Status::Suspended]).await.unwrap();
            first.shutdown(seconds(1)).await;
            let log = log(&first, handle.id()).await;
            let at = log.iter().find(|envelope| envelope.event.kind() == damaged).unwrap().sequence;

            let damage = || {
                let tap = Tap::default();
                tap.damage(&id("b"), at);
                tap
            };
            let process = Process::start_with(&rig, all(), damage()).await;
            process.work().await;
            first.cancel(handle.id(), "why", "ada").await.unwrap();
            rig.world.seen("gives back a train", 1).await;
            is_left_alone(&first, "b").await;
            process.kill();
            rig.world.open("give back");

            let tap = damage();
            tap.ahead(crate::support::LEASE);
            let process = Process::start_with(&rig, all(), tap).await;
            process.work().await;
            assert_eq!(first.until(handle.id(), &[]).await.unwrap(), Status::Cancelled);
            assert_eq!(status(&first, "b:booking").await, Status::Cancelled, "it ended before");
            let told = told(&first, handle.id()).await;
            assert_eq!(
                since_the_decision(&told),
                ["EXECUTION_ENDING", "OUTCOME_DISCARDED booking", "EXECUTION_CANCELLED"]
            );
            assert_eq!(count(&told, "EXECUTION_PARKED"), 0, "{told:?}");
            process.kill();
        }
    }

    /// B69: nobody runs the flow of one whose owners vanish, and its end is like any other.
    async fn b69_an_end_of_a_poisoned_one_waits_for_the_children(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move { drop(app.start(carrying()).id("c").await.unwrap()) }).await;
        rig.world.seen("gives back itself", 1).await;
        let looks = rig.app(all()).await;
        until(|| async { looks.gates(None).await.unwrap().len() == 1 }).await;
        process.kill();
        looks.cancel(&id("c"), "why", "ada").await.unwrap();

        let tap = Tap::default();
        tap.ahead(crate::support::LEASE);
        let worker = WorkerOptions { takeovers: 0, ..brisk() };
        let app = rig.builder(all(), &tap).await.worker(worker).build().unwrap();
        app.work();
        rig.world.seen("gives back a bag", 1).await;
        is_left_alone(&app, "c").await;
        rig.world.open("give back");
        cancelled(app.handle::<carrying>(&id("c")).result().await);
        assert_eq!(status(&app, "c:booking").await, Status::Cancelled);
        assert_eq!(rig.world.count("gives back itself"), 1, "its step is not run again");
    }
}
