//! Structured concurrency: what parallel branches come to, in which order, and what becomes of those that are dropped.
//! Not named branches of an execution: those are forks, and the stores'.

use loom::{
    ExecutionError, Status,
    kernel::{Event, FrameStatus, Kind},
    prelude::*,
};

use crate::support::{Rig, World, count, id, log, on_every_store, registry, told, until};

#[step]
async fn door(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("begun");
    world.hit(format!("begun {n}"));
    world.pass(&format!("door {n}")).await;
    if n % 10 == 9 { Err(loom::Error::msg(format!("{n} fails"))) } else { Ok(n) }
}

/// Takes its time to stop.
#[step]
async fn slow_to_stop(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    world.hit("slow begun");
    step.cancelled().await;
    world.hit("slow told");
    world.pass("slow may stop").await;
    world.hit("slow stopped");
    Ok(77)
}

/// Heeds nothing.
#[step]
async fn runs_on(world: Res<World>) -> loom::Result<u32> {
    world.hit("runs on");
    world.pass("runs on").await;
    world.hit("ran on");
    Ok(1)
}

#[step]
async fn fails_after(world: Res<World>, after: String) -> loom::Result<u32> {
    world.seen(&after, 1).await;
    Err(loom::Error::msg("failed"))
}

#[flow]
async fn limited(ctx: Ctx, n: u32) -> loom::Result<Vec<u32>> {
    ctx.parallel((0..n).map(|n| ctx.run(door(n)).key(n))).limit(2).fail_fast().await
}

#[flow]
async fn unlimited(ctx: Ctx, of: Vec<u32>) -> loom::Result<Vec<String>> {
    let results = ctx.parallel(of.iter().map(|n| ctx.run(door(*n)).key(n))).await;
    Ok(results.into_iter().map(|result| result.map_or_else(|e| e.to_string(), |n| n.to_string())).collect())
}

#[flow]
async fn drained(ctx: Ctx, of: Vec<u32>) -> loom::Result<String> {
    match ctx.parallel(of.iter().map(|n| ctx.run(door(*n)).key(n))).drain().await {
        Ok(all) => Ok(format!("{all:?}")),
        Err(failures) => {
            let at: Vec<_> = failures.errors().map(|(at, error)| format!("{at}: {error}")).collect();
            Ok(at.join(", "))
        }
    }
}

#[flow]
async fn empty(ctx: Ctx) -> loom::Result<usize> {
    let none = Vec::<loom::Run<door>>::new();
    let fast = ctx.parallel(none).fail_fast().await?.len();
    let drained = ctx.parallel(Vec::<loom::Run<door>>::new()).limit(0).drain().await?.len();
    let plain = ctx.parallel(Vec::<loom::Run<door>>::new()).await.len();
    let scope = ctx.scope::<u32, loom::Error>().fail_fast().await?.len();
    ctx.scope::<u32, loom::Error>().detach();
    Ok(fast + drained + plain + scope)
}

#[flow]
async fn nested(ctx: Ctx) -> loom::Result<Vec<u32>> {
    let mut outer = ctx.scope::<Vec<u32>, loom::Error>();
    for group in [10, 20] {
        let inner = [0, 1].map(|n| ctx.run(door(group + n)).id("door").key(group + n));
        outer.add(ctx.parallel(inner).fail_fast());
    }
    Ok(outer.fail_fast().await?.concat())
}

/// The inner one fails; the outer one's other branch is dropped with it.
#[flow]
async fn nested_failure(ctx: Ctx) -> loom::Result<u32> {
    let mut outer = ctx.scope::<u32, loom::Error>();
    let (inner, slow) = (ctx.run(fails_after("slow begun".into())), ctx.run(slow_to_stop()));
    let inner = ctx.parallel([inner]).fail_fast();
    outer.add(async move { Ok(inner.await?.len() as u32) });
    outer.add(slow);
    Ok(outer.fail_fast().await?.len() as u32)
}

#[flow]
async fn beside_detached(ctx: Ctx) -> loom::Result<u32> {
    let mut scope = ctx.scope::<u32, loom::Error>();
    scope.add(ctx.run(fails_after("runs on".into())));
    scope.add(ctx.run(runs_on()).detached());
    Ok(scope.fail_fast().await?.len() as u32)
}

/// What is detached detaches something in its turn.
#[flow]
async fn detaching_twice(ctx: Ctx) -> loom::Result<u32> {
    let (mut outer, mut inner) = (ctx.scope::<(), loom::Error>(), ctx.scope::<u32, loom::Error>());
    inner.add(ctx.run(door(1)));
    outer.add(async move {
        inner.detach();
        Ok(())
    });
    outer.detach();
    Ok(ctx.suspend::<u32>("end").await?)
}

#[flow]
async fn idle(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.suspend::<u32>("never").await?)
}

#[flow(part)]
async fn waiting_part(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.suspend::<u32>("inside").await?)
}

/// A limit around everything that can be waited for.
#[flow]
async fn out_of_time(ctx: Ctx) -> loom::Result<Vec<String>> {
    let limit = millis(10);
    let mut late = Vec::new();
    let mut note = |what: &str, late_error: Option<EffectError>| {
        late.push(format!("{what}: {late_error:?}"));
    };
    note("step", ctx.timeout(limit, ctx.run(door(1)).id("late-step")).id("t1").await.err());
    note("gate", ctx.timeout(limit, ctx.suspend::<u32>("late-gate")).id("t2").await.err());
    note("timer", ctx.timeout(limit, ctx.sleep(hours(1)).id("late-sleep")).id("t3").await.err());
    note("message", ctx.timeout(limit, ctx.receive::<u32>("late-topic")).id("t4").await.err());
    note("child", ctx.timeout(limit, ctx.call(idle()).id("late-child")).id("t5").await.err());
    let branches = [2, 3].map(|n| ctx.run(door(n)).id("late-branch").key(n));
    note("parallel", ctx.timeout(limit, ctx.parallel(branches)).id("t6").await.err());
    note("part", ctx.timeout(limit, ctx.part("late-part", waiting_part())).id("t7").await.err());
    let spawned = ctx.spawn(idle()).id("late-spawned").await;
    note("spawned", ctx.timeout(limit, spawned).id("t8").await.err());
    note(
        "timeout",
        ctx.timeout(limit, ctx.timeout(hours(1), ctx.suspend::<u32>("deep")).id("inner"))
            .id("t9")
            .await
            .err(),
    );
    Ok(late)
}

fn all() -> loom::Registry {
    registry!(
        flows: [
            limited, unlimited, drained, empty, nested, nested_failure, beside_detached, detaching_twice, idle,
            out_of_time
        ],
        steps: [door, slow_to_stop, runs_on, fails_after]
    )
}

on_every_store! {
    async fn no_more_branches_than_the_limit_run_at_once(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(limited(6)).id("run").await.unwrap();
        for n in 0..6_u32 {
            // In any order: now the older, now the newer one of the two.
            rig.world.seen("begun", (n as usize + 2).min(6)).await;
            rig.world.open(&format!("door {}", [1, 2, 0, 4, 3, 5][n as usize]));
        }
        assert_eq!(handle.result().await.unwrap(), [0, 1, 2, 3, 4, 5]);
        let told = told(&app, handle.id()).await;
        for events in 0..told.len() {
            let until_then = &told[..events];
            assert!(count(until_then, "STEP_STARTED") <= count(until_then, "STEP_COMPLETED") + 2, "{until_then:?}");
        }
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    async fn results_are_in_the_order_of_the_branches(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(unlimited(vec![5, 9, 3])).id("run").await.unwrap();
        rig.world.seen("begun", 3).await;
        for (nth, n) in [3, 9, 5].into_iter().enumerate() {
            rig.world.open(&format!("door {n}"));
            if nth < 2 {
                let ends = || async {
                    let told = told(&app, handle.id()).await;
                    count(&told, "STEP_COMPLETED") + count(&told, "STEP_FAILED") == nth + 1
                };
                until(ends).await;
            }
        }
        assert_eq!(handle.result().await.unwrap(), ["5", "9 fails", "3"]);
    }

    async fn a_drain_reports_every_error(rig: Rig) {
        let app = rig.app(all()).await;
        ["1", "2", "9", "19"].iter().for_each(|n| rig.world.open(&format!("door {n}")));
        let handle = app.start(drained(vec![9, 1, 19, 2])).await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "0: 9 fails, 2: 19 fails");
        let handle = app.start(drained(vec![1, 2])).await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "[1, 2]");
    }

    async fn no_branches_are_done_at_once(rig: Rig) {
        let app = rig.app(all()).await;
        assert_eq!(app.start(empty()).await.unwrap().result().await.unwrap(), 0);
    }

    async fn scopes_nest(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(nested()).id("run").await.unwrap();
        rig.world.seen("begun", 4).await;
        [21, 11, 20, 10].iter().for_each(|n| rig.world.open(&format!("door {n}")));
        assert_eq!(handle.result().await.unwrap(), [10, 11, 20, 21]);
    }

    /// B69: the end comes after what was started has stopped, and the log holds what that came to.
    async fn b69_an_execution_ends_after_the_branches_that_it_dropped(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(nested_failure()).id("run").await.unwrap();
        rig.world.seen("slow told", 1).await;
        assert!(!handle.status().await.unwrap().is_terminal());
        rig.world.open("slow may stop");
        match handle.result().await {
            Err(ExecutionError::Failed(error)) => assert_eq!(error.to_string(), "failed"),
            other => panic!("{other:?}"),
        }
        assert_eq!(rig.world.count("slow stopped"), 1, "nothing changes the world after the end");
        let log = log(&app, handle.id()).await;
        let at = |kind| log.iter().position(|e| e.event.kind() == kind);
        let (dropped, discarded) = (at(Kind::StepAbandoned), at(Kind::OutcomeDiscarded));
        assert!(dropped < discarded && discarded < at(Kind::ExecutionFailed), "{:?}", told(&app, handle.id()).await);
        let Event::OutcomeDiscarded(discarded) = &log[discarded.unwrap()].event else { panic!() };
        assert!(format!("{:?}", discarded.outcome).contains("77"), "{discarded:?}");
        loom::replay_check(&all(), &log).unwrap();
    }

    /// B69: a cancel that is accepted while it ends is its end.
    async fn b69_a_cancel_while_dropped_branches_stop_is_latched(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(nested_failure()).id("run").await.unwrap();
        rig.world.seen("slow told", 1).await;
        handle.cancel("why", "ada").await.unwrap();
        rig.world.open("slow may stop");
        assert!(matches!(handle.result().await, Err(ExecutionError::Cancelled { .. })));
        assert_eq!(rig.world.count("slow stopped"), 1);
    }

    /// B69: what is declared detached is not waited for.
    async fn b69_a_detached_step_outlives_its_execution(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(beside_detached()).id("run").await.unwrap();
        assert!(matches!(handle.result().await, Err(ExecutionError::Failed(_))));
        assert_eq!(rig.world.count("ran on"), 0);
        rig.world.open("runs on");
        rig.world.seen("ran on", 1).await;
        let told = told(&app, handle.id()).await;
        assert_eq!(told.last().unwrap(), "EXECUTION_FAILED");
    }

    async fn what_is_detached_by_what_is_detached_begins_at_once(rig: Rig) {
        let app = rig.app(all()).await;
        rig.world.open("door 1");
        let handle = app.start(detaching_twice()).id("run").await.unwrap();
        until(|| async { count(&told(&app, handle.id()).await, "EXECUTION_SUSPENDED") == 1 }).await;
        assert_eq!(rig.world.count("begun 1"), 1);
        handle.resume("end", &5, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 5);
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    async fn whatever_is_waited_for_can_be_late(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(out_of_time()).id("run").await.unwrap();
        let late = handle.result().await.unwrap();
        let kinds = ["step", "gate", "timer", "message", "child", "parallel", "part", "spawned", "timeout"];
        assert_eq!(late, kinds.map(|kind| format!("{kind}: Some(TimedOut {{ after_ms: 10 }})")));
        for child in ["run:late-child", "run:late-spawned"] {
            assert_eq!(app.until(&id(child), &[]).await.unwrap(), Status::Cancelled, "{child}");
        }
        let state = handle.state().await.unwrap();
        let left: Vec<_> = state
            .frames
            .iter()
            .filter(|(frame, known)| {
                let timer = frame.as_str().starts_with('t');
                known.status != if timer { FrameStatus::Settled } else { FrameStatus::Abandoned }
            })
            .map(|(frame, known)| (frame.to_string(), known.status))
            .collect();
        // The handle of a spawned child is dropped, and the child goes on until its parent ends.
        assert_eq!(left, []);
        assert!(app.gates(None).await.unwrap().is_empty());
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }
}
