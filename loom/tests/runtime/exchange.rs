//! What executions tell each other, and what people tell them: messages, updates, children, new runs.
//! Not the kernel's rules for these: those are held by its own tests, over random histories.

use std::time::Duration;

use loom::{
    ExecutionError, OnClose, SendError, Status, UpdateError,
    kernel::{Envelope, Event, Kind},
    ports::StoreError,
    prelude::*,
};

use crate::support::{Rig, count, id, log, on_every_store, registry, told};

#[step]
async fn note(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

use crate::support::World;

/// Adds up numbers until it is told to stop, beginning a new run after every second one.
#[flow]
async fn adder(ctx: Ctx, sum: u32) -> loom::Result<u32> {
    let mut sum = sum;
    for _ in 0..2 {
        let next = ctx.receive::<u32>("numbers").await;
        if next == 0 {
            return Ok(sum);
        }
        sum += next;
        ctx.run(note(format!("sum {sum}"))).await?;
    }
    ctx.continue_as_new(adder(sum)).await
}

#[flow]
async fn account(ctx: Ctx) -> loom::Result<i64> {
    let mut balance = 0_i64;
    while balance < 100 {
        let update = ctx.receive::<i64>("deposit").update::<i64>().await;
        if update.value < 0 {
            update.reject("deposits are positive");
            continue;
        }
        balance += update.value;
        update.accept(&balance);
    }
    Ok(balance)
}

#[flow]
async fn child(ctx: Ctx, n: u32) -> loom::Result<u32> {
    if n == 13 {
        return Err(loom::Error::msg("unlucky"));
    }
    if n > 100 {
        ctx.suspend::<u32>("forever").await?;
    }
    ctx.run(note(format!("child {n}"))).await?;
    Ok(n * 2)
}

#[flow]
async fn parent(ctx: Ctx, numbers: Vec<u32>) -> loom::Result<Vec<u32>> {
    let children = numbers.iter().map(|n| ctx.call(child(*n)).key(n));
    ctx.parallel(children).fail_fast().await
}

#[flow]
async fn spawner(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let handle = ctx.spawn(child(n)).await;
    ctx.spawn(child(n + 1)).id("left-alone").on_close(OnClose::Abandon).await;
    match ctx.timeout(Duration::from_millis(50), handle).await {
        Ok(outcome) => outcome,
        Err(_) => Ok(0),
    }
}

#[flow]
async fn tidy(ctx: Ctx) -> loom::Result<u32> {
    let work = ctx.suspend::<u32>("work");
    loom::select! {
        done = work => Ok(done?),
        cancelled = ctx.cancelled() => {
            ctx.run(note(format!("tidied up: {}", cancelled.reason))).await?;
            Ok(0)
        }
    }
}

/// Takes two numbers that its parent sends before it can exist.
#[flow]
async fn taker(ctx: Ctx) -> loom::Result<u32> {
    let mut sum = 0;
    for _ in 0..2 {
        sum += ctx.receive::<u32>("numbers").await;
    }
    Ok(sum)
}

#[flow]
async fn teller(ctx: Ctx) -> loom::Result<u32> {
    let child = ctx.spawn(taker()).await;
    for n in 1..=2_u32 {
        ctx.send(child.id(), "numbers", &n);
    }
    child.await
}

fn all() -> loom::Registry {
    registry!(flows: [taker, teller, adder, account, child, parent, spawner, tidy], steps: [note])
}

/// What the flow was told, in the order of the log.
fn received(log: &[Envelope]) -> Vec<u32> {
    let bodies = log.iter().filter_map(|envelope| match &envelope.event {
        Event::MessageReceived(e) => Some(e.message.body.decode().unwrap()),
        _ => None,
    });
    bodies.collect()
}

on_every_store! {
    /// B55: messages outlive runs, in order; none is lost, none is taken twice.
    async fn b55_messages_go_on_into_new_runs(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(adder(0)).id("sum").await.unwrap();
        for n in 1..=25_u32 {
            handle.send("numbers", &n).key(n.to_string()).await.unwrap();
            handle.send("numbers", &n).key(n.to_string()).await.unwrap();
        }
        handle.send("numbers", "not a number").await.unwrap();
        handle.send("numbers", &0).await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 325);
        let log = log(&app, handle.id()).await;
        let of = |kind| log.iter().filter(|e| e.event.kind() == kind).count();
        assert_eq!((of(Kind::MessageReceived), of(Kind::MessageDeadLettered)), (26, 1));
        assert_eq!(of(Kind::ContinuedAsNew), 12);
        assert_eq!(received(&log), (1..=25).chain([0]).collect::<Vec<_>>());
        assert!(matches!(
            handle.send("numbers", &1).await,
            Err(SendError::Store(StoreError::Terminal { status: Status::Completed, .. }))
        ));
    }

    /// B55: somebody sends all the while, from another program, to a flow that begins a new run every two messages.
    async fn b55_a_steady_stream_goes_on_through_every_run(rig: Rig) {
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        let handle = app.start(adder(0)).id("sum").await.unwrap();
        for n in (1..=100_u32).chain([0]) {
            other.send(handle.id(), "numbers", &n).await.unwrap();
            if n % 10 == 0 {
                tokio::time::sleep(millis(5)).await;
            }
        }
        assert_eq!(handle.result().await.unwrap(), 5_050);
        let log = log(&app, handle.id()).await;
        assert_eq!(received(&log), (1..=100).chain([0]).collect::<Vec<_>>());
        assert_eq!(log.iter().filter(|e| e.event.kind() == Kind::ContinuedAsNew).count(), 50);
        assert!(rig.world.all().values().all(|often| *often == 1), "{:?}", rig.world.all());
    }

    /// B54: a message to nobody is refused on every store, unless it is sent to wait.
    async fn b54_a_message_before_the_start(rig: Rig) {
        let app = rig.app(all()).await;
        let to = id("later");
        assert!(matches!(
            app.send(&to, "numbers", &7).await,
            Err(SendError::Store(StoreError::Unknown(_)))
        ));
        app.send(&to, "numbers", &7).early().await.unwrap();
        app.send(&to, "numbers", &0).early().await.unwrap();
        let handle = app.start(adder(1)).id("later").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 8);
    }

    /// A child may be told something in the very pass that asks for it.
    async fn a_child_hears_what_it_was_told_before_it_was(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(teller()).id("teller").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 3);
    }

    async fn updates_are_answered_or_refused(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(account()).id("account").await.unwrap();
        assert_eq!(handle.update::<_, i64>("deposit", &30).await.unwrap(), 30);
        let refused = handle.update::<_, i64>("deposit", &-1).await.unwrap_err();
        assert!(matches!(&refused, UpdateError::Rejected { reason } if reason.contains("positive")), "{refused}");
        let unreadable = handle.update::<_, i64>("deposit", "all of it").await.unwrap_err();
        assert!(matches!(&unreadable, UpdateError::Rejected { .. }), "{unreadable}");
        assert_eq!(handle.update::<_, i64>("deposit", &70).await.unwrap(), 100);
        assert_eq!(handle.result().await.unwrap(), 100);
        let late = handle.update::<_, i64>("deposit", &1).await.unwrap_err();
        assert!(matches!(&late, UpdateError::Ended { status: Status::Completed, .. }), "{late}");
    }

    async fn children_are_called_and_their_outcomes_come_up(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(parent(vec![1, 2, 3])).id("p").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), [2, 4, 6]);
        assert_eq!(app.row(&id("p:child#2")).await.unwrap().status, Status::Completed);
        let handle = app.start(parent(vec![1, 13, 200])).id("q").await.unwrap();
        match handle.result().await {
            Err(ExecutionError::Failed(error)) => assert_eq!(error.to_string(), "unlucky"),
            other => panic!("{other:?}"),
        }
        assert_eq!(app.until(&id("q:child#200"), &[]).await.unwrap(), Status::Cancelled);
    }

    /// B70: what nobody waits for any more is cancelled, unless it is said to go on.
    async fn b70_a_lost_child_is_cancelled_and_an_abandoned_one_is_not(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(spawner(200)).id("s").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 0);
        assert_eq!(app.until(&id("s:child"), &[]).await.unwrap(), Status::Cancelled);
        let alone = id("s:left-alone");
        app.until(&alone, &[Status::Suspended]).await.unwrap();
        app.resume(&"s:left-alone/forever".parse().unwrap(), loom::kernel::Payload::encode(&1).unwrap(), "ann")
            .await
            .unwrap();
        assert_eq!(app.until(&alone, &[]).await.unwrap(), Status::Completed);
    }

    async fn a_flow_that_heeds_its_cancel_tidies_up(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(tidy()).id("t").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        handle.cancel("enough", "ada").await.unwrap();
        assert!(matches!(
            handle.result().await,
            Err(ExecutionError::Cancelled { reason, by }) if reason == "enough" && by == "ada"
        ));
        rig.world.seen("tidied up: enough", 1).await;
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "CANCEL_REQUESTED"), 1, "{told:?}");
    }
}
