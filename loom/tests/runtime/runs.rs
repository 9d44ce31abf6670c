//! Runs of one execution: what people see of it once it began anew, and what they may still say to it.
//! Not messages across runs, which are in `exchange.rs`, nor the kernel's rules.

use loom::{AnswerError, Limits, OnClose, Status, UpdateError, kernel::Fault, ports::GateState, prelude::*};

use crate::support::{Rig, Tap, World, count, id, log, on_every_store, registry, report, told, until};

#[step]
async fn note(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

#[flow]
async fn rounds(ctx: Ctx, n: u32) -> loom::Result<u32> {
    if ctx.suspend::<bool>("more").await? { ctx.continue_as_new(rounds(n + 1)).await } else { Ok(n) }
}

/// Asks two people, and takes the first answer; in the next run again.
#[flow]
async fn polling(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let (one, other) = (ctx.suspend::<u32>("one"), ctx.suspend::<u32>("other"));
    let answer = select! {
        a = one => a?,
        b = other => b?,
    };
    if n == 0 { ctx.continue_as_new(polling(answer)).await } else { Ok(answer) }
}

#[flow]
async fn child(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.run(note(format!("child {n}"))).await?;
    Ok(n)
}

#[flow]
async fn with_children(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let got = ctx.call(child(n)).await?;
    if n < 2 { ctx.continue_as_new(with_children(n + 1)).await } else { Ok(got) }
}

/// Gives the child of every run the same id.
#[flow]
async fn with_one_child(ctx: Ctx, turn: u32) -> loom::Result<u32> {
    let got = ctx.call(child(7)).execution("the-one").await?;
    if turn < 2 { ctx.continue_as_new(with_one_child(turn + 1)).await } else { Ok(got) }
}

#[flow]
async fn gated_child(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.suspend::<bool>("go").await?;
    ctx.run(note(format!("child {n}"))).await?;
    Ok(n)
}

/// Begins anew at once, with children that its end would wait for: one is let go, one is held, and so is a gate.
#[flow]
async fn with_awaited_children(ctx: Ctx, n: u32) -> loom::Result<u32> {
    drop(ctx.spawn(gated_child(n)).id("left").wait().await);
    let held = ctx.spawn(gated_child(n + 10)).id("held").wait().await;
    let gate = ctx.suspend::<bool>("gate");
    let next = async {
        if n < 1 { ctx.continue_as_new(with_awaited_children(n + 1)).await } else { Ok::<_, loom::Error>(n) }
    };
    select! {
        asked = gate => { asked?; held.await },
        next = next => next,
    }
}

/// Begins anew at once, and leaves a child behind.
#[flow]
async fn with_lonely_children(ctx: Ctx, n: u32) -> loom::Result<u32> {
    drop(ctx.spawn(child(n)).id("alone").on_close(OnClose::Abandon).await);
    if n < 1 { ctx.continue_as_new(with_lonely_children(n + 1)).await } else { Ok(n) }
}

#[flow]
async fn growing(ctx: Ctx) -> loom::Result<u32> {
    for n in 0..10 {
        ctx.run(note(format!("turn {n}"))).await?;
    }
    Ok(10)
}

/// Begins anew before its run gets too long.
#[flow]
async fn careful(ctx: Ctx, done: u32) -> loom::Result<u32> {
    let mut done = done;
    while done < 30 {
        ctx.run(note(format!("careful {done}"))).await?;
        done += 1;
        let (events, most) = ctx.history();
        if events > most / 2 {
            return ctx.continue_as_new(careful(done)).await;
        }
    }
    Ok(done)
}

/// Begins anew while somebody waits for its reply.
#[flow]
async fn forgetful(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let update = ctx.receive::<u32>("deposit").update::<u32>().await;
    ctx.run(note(format!("took {}", update.value))).await?;
    if update.value == 0 {
        return ctx.continue_as_new(forgetful(n + 1)).await;
    }
    if update.value == 1 {
        ctx.suspend::<bool>("never").await?;
    }
    update.accept(&n);
    Ok(n)
}

fn all() -> loom::Registry {
    registry!(
        flows: [rounds, polling, child, with_children, with_one_child, gated_child, with_awaited_children, with_lonely_children, growing, careful, forgetful],
        steps: [note]
    )
}

on_every_store! {
    async fn the_same_gate_is_asked_anew_in_each_run(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(rounds(0)).id("run").await.unwrap();
        for run in 0..3_u64 {
            let open = || async {
                let gates = app.gates(None).await.unwrap();
                gates.len() == 1 && app.state(handle.id(), None).await.unwrap().run == run
            };
            until(open).await;
            let state = handle.state().await.unwrap();
            assert_eq!((state.input.to_string(), state.base > 0), (run.to_string(), run > 0));
            assert_eq!(state.frames.keys().map(|frame| frame.as_str()).collect::<Vec<_>>(), ["more"]);
            // It is held to its schema in every run: an answer of another shape would park the execution.
            let wrong = handle.resume("more", "perhaps", "ada").await.unwrap_err();
            assert!(matches!(wrong, AnswerError::Invalid { .. }), "run {run}: {wrong}");
            // The same answer by the same person is another one in another run.
            handle.resume("more", &(run < 2), "ada").await.unwrap();
        }
        assert_eq!(handle.result().await.unwrap(), 2);
        let gates = app.gates(Some(handle.id())).await.unwrap();
        assert!(gates.iter().all(|gate| gate.state == GateState::Answered), "{gates:?}");
        let base = |n: usize| gates[n].run;
        assert!(base(0) == 0 && base(0) < base(1) && base(1) < base(2), "{gates:?}");
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    async fn a_gate_that_an_earlier_run_dropped_can_be_answered_in_this_one(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(polling(0)).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        handle.resume("one", &1, "ada").await.unwrap();
        until(|| async { handle.state().await.unwrap().run == 1 && handle.status().await.unwrap() == Status::Suspended }).await;
        handle.resume("other", &2, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 2);
    }

    async fn children_of_another_run_have_other_ids(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(with_children(0)).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 2);
        for (child, n) in [("run:child", 0), ("run@1:child", 1), ("run@2:child", 2)] {
            assert_eq!(app.handle::<child>(&id(child)).result().await.unwrap(), n);
            assert_eq!(rig.world.count(&format!("child {n}")), 1);
        }
    }

    /// A child that an earlier run has had under this id is had again, with what it came to.
    async fn a_child_of_an_earlier_run_tells_this_one_too(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(with_one_child(0)).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 7);
        assert_eq!(rig.world.count("child 7"), 1);
        let told = told(&app, handle.id()).await;
        assert_eq!((count(&told, "CHILD_STARTED"), count(&told, "CHILD_SETTLED")), (3, 3), "{told:?}");
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    /// Also where the process ends meanwhile.
    async fn a_run_waits_for_its_children_before_the_next_one_begins(rig: Rig) {
        let (app, tap) = (rig.app(all()).await, Tap::default());
        let first = rig.builder(all(), &tap).await.build().unwrap();
        let handle = first.start(with_awaited_children(0)).id("run").await.unwrap();
        for (run, children) in [(0, ["run:left", "run:held"]), (1, ["run@1:left", "run@1:held"])] {
            for child in children {
                until(|| async { app.row(&id(child)).await.is_ok_and(|row| row.status == Status::Suspended) }).await;
                assert_eq!(app.state(handle.id(), None).await.unwrap().run, run);
                app.handle::<gated_child>(&id(child)).resume("go", &true, "ada").await.unwrap();
                app.handle::<gated_child>(&id(child)).result().await.unwrap();
                if child == "run:left" {
                    tap.freeze(true); // the first process is gone
                    app.work();
                }
            }
        }
        assert_eq!(app.handle::<with_awaited_children>(handle.id()).result().await.unwrap(), 1);
        for note in ["child 0", "child 10", "child 1", "child 11"] {
            assert_eq!(rig.world.count(note), 1, "{note}");
        }
        let told = told(&app, handle.id()).await;
        let rolled = told.iter().position(|event| event.starts_with("CONTINUED_AS_NEW")).unwrap();
        assert_eq!(count(&told[..rolled], "CHILD_SETTLED"), 2, "{told:?}");
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    async fn a_child_that_a_run_leaves_behind_is_started_all_the_same(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(with_lonely_children(0)).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 1);
        assert_eq!(app.handle::<child>(&id("run:alone")).result().await.unwrap(), 0);
        assert_eq!(app.handle::<child>(&id("run@1:alone")).result().await.unwrap(), 1);
    }

    async fn a_run_that_gets_too_long_parks_with_help_and_goes_on_under_a_higher_limit(rig: Rig) {
        let limits = Limits { history: 12, ..Limits::default() };
        let app = rig.builder(all(), &Tap::default()).await.limits(limits).build().unwrap();
        let handle = app.start(growing()).id("run").await.unwrap();
        let report = report(&app, handle.id()).await;
        assert_eq!(report.fault, Fault::HistoryTooLong);
        assert!(report.message.contains("the limit is 12"), "{report}");
        assert!(report.help.contains("continue_as_new"), "{report}");
        let careful = app.start(careful(0)).id("careful").await.unwrap();
        assert_eq!(careful.result().await.unwrap(), 30);
        assert!(careful.state().await.unwrap().run > 3);
        app.shutdown(seconds(1)).await;
        let app = rig.app(all()).await;
        app.work();
        let _ = app.retry(handle.id()).await; // another file may be another program, which tries by itself
        until(|| async { app.row(handle.id()).await.unwrap().status == Status::Completed }).await;
        assert_eq!((0..10).map(|n| rig.world.count(&format!("turn {n}"))).sum::<usize>(), 10);
        assert_eq!((0..30).map(|n| rig.world.count(&format!("careful {n}"))).sum::<usize>(), 30);
    }

    /// B57: who waits for a reply is told when the run, or the execution, ends without one.
    async fn b57_an_update_in_progress_is_refused_when_its_run_ends(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(forgetful(0)).id("run").await.unwrap();
        let left = handle.update::<_, u32>("deposit", &0).await.unwrap_err();
        assert!(matches!(&left, UpdateError::Rejected { reason } if reason.contains("run ended")), "{left}");
        assert_eq!(handle.update::<_, u32>("deposit", &2).await.unwrap(), 1);
        assert_eq!(handle.result().await.unwrap(), 1);
        let told = told(&app, handle.id()).await;
        assert_eq!((count(&told, "MESSAGE_DEAD_LETTERED"), count(&told, "UPDATE_ANSWERED")), (1, 1), "{told:?}");
        loom::replay_check(&all(), &log(&app, handle.id()).await).unwrap();
    }

    async fn b57_an_update_in_progress_is_refused_when_the_execution_is_cancelled(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(forgetful(0)).id("run").await.unwrap();
        let (other, run) = (app.clone(), handle.id().clone());
        let waits = tokio::spawn(async move { other.handle::<forgetful>(&run).update::<_, u32>("deposit", &1).await });
        until(|| async { app.gates(None).await.unwrap().len() == 1 }).await;
        handle.cancel("why", "ada").await.unwrap();
        let left = waits.await.unwrap().unwrap_err();
        assert!(matches!(&left, UpdateError::Rejected { reason } if reason.contains("ended")), "{left}");
    }
}
