//! At-most-once steps whose end nobody knows: in doubt, asked about, judged once.
//! Not crashes of real processes around a charge: those are the checkout example's.

use loom::{
    App, ControlError, ExecutionError, Handle, Registry, Status,
    kernel::{Fault, FrameId, Payload, machine::Verdict},
    ports::NewItem,
    prelude::*,
};

use crate::support::{Process, Rig, World, count, id, on_every_store, registry, report, told, until};

/// Charges, and may die of it in many ways.
#[step(at_most_once, timeout = "400ms")]
async fn charge(world: Res<World>, how: String) -> loom::Result<u32> {
    world.hit("charge");
    match how.as_str() {
        "crash" => world.pass("never").await,
        "timeout" => std::future::pending().await,
        "panic" => assert!(world.count("charge") > 1, "a bug after the charge"),
        _ => {}
    }
    Ok(7)
}

#[step]
async fn receipt(world: Res<World>, amount: u32) -> loom::Result<u32> {
    world.hit("receipt");
    Ok(amount)
}

#[flow]
async fn paying(ctx: Ctx, how: String) -> loom::Result<u32> {
    let paid = ctx.run(charge(how)).await?;
    ctx.run(receipt(paid)).await
}

/// The flow drops the charge, and goes on.
#[flow]
async fn losing_interest(ctx: Ctx) -> loom::Result<bool> {
    let lost = select! {
        _ = ctx.run(charge("timeout".into())) => false,
        () = ctx.sleep(millis(20)) => true,
    };
    ctx.run(receipt(0)).await?;
    Ok(lost)
}

/// Pays in each run.
#[flow]
async fn paying_daily(ctx: Ctx, day: u32) -> loom::Result<u32> {
    let paid = ctx.run(charge("timeout".into())).await?;
    ctx.run(receipt(paid)).await?;
    if day < 2 { ctx.continue_as_new(paying_daily(day + 1)).await } else { Ok(paid) }
}

fn all() -> Registry {
    registry!(flows: [paying, losing_interest, paying_daily], steps: [charge, receipt])
}

fn frame() -> FrameId {
    FrameId::parsed("charge")
}

/// A payment that stands in doubt, after this way to die.
async fn in_doubt(rig: &Rig, how: &'static str) -> (App, Handle<paying>) {
    if how == "crash" {
        let process = Process::start(rig, all()).await;
        let app = process.app.clone();
        process.run(async move { app.start(paying(how.into())).id("pay").await.map(drop).unwrap() }).await;
        rig.world.seen("charge", 1).await;
        process.kill();
    }
    let app = rig.app(all()).await;
    let handle = app.start(paying(how.into())).id("pay").await.unwrap();
    let report = report(&app, handle.id()).await;
    assert_eq!((report.fault, report.frame.as_ref()), (Fault::InDoubt, Some(&frame())), "{report}");
    (app, handle)
}

async fn ended(handle: &Handle<paying>) -> Result<u32, ExecutionError<loom::Error>> {
    until(|| async { handle.status().await.unwrap().is_terminal() }).await;
    handle.result().await
}

/// What is done has no result.
#[step(at_most_once, timeout = "400ms")]
async fn ring() -> loom::Result<()> {
    std::future::pending().await
}

#[flow]
async fn ringing(ctx: Ctx) -> loom::Result<()> {
    ctx.run(ring()).await
}

on_every_store! {
    async fn a_verdict_of_nothing_is_no_giving_up(rig: Rig) {
        let app = rig.app(registry!(flows: [ringing], steps: [ring])).await;
        let handle = app.start(ringing()).id("ring").await.unwrap();
        report(&app, handle.id()).await;
        app.judge(handle.id(), &FrameId::parsed("ring"), Verdict::Done(Payload::null()), "ada").await.unwrap();
        until(|| async { handle.status().await.unwrap().is_terminal() }).await;
        handle.result().await.unwrap();
    }

    async fn whatever_ends_it_without_an_outcome_it_is_in_doubt_and_not_run_again(rig: Rig) {
        for how in ["crash", "timeout", "panic"] {
            let rig = rig.another();
            let (app, handle) = in_doubt(&rig, how).await;
            assert_eq!(rig.world.count("charge"), 1, "{how}");
            // A restart looks, and leaves it to a person.
            app.shutdown(seconds(1)).await;
            let again = rig.app(all()).await;
            again.work();
            tokio::time::sleep(millis(100)).await;
            assert_eq!(again.row(handle.id()).await.unwrap().status, Status::Parked);
            assert_eq!(rig.world.count("charge"), 1, "{how}");
            let done = Verdict::Done(Payload::encode(&7).unwrap());
            again.judge(handle.id(), &frame(), done, "ada").await.unwrap();
            assert_eq!(ended(&again.handle(handle.id())).await.unwrap(), 7);
            assert_eq!((rig.world.count("charge"), rig.world.count("receipt")), (1, 1), "{how}");
            let state = again.state(handle.id(), None).await.unwrap();
            assert_eq!(state.frames[&frame()].by.as_deref(), Some("ada"));
        }
    }

    async fn not_done_runs_it_again(rig: Rig) {
        let (app, handle) = in_doubt(&rig, "panic").await;
        app.judge(handle.id(), &frame(), Verdict::Again, "ada").await.unwrap();
        assert_eq!(ended(&handle).await.unwrap(), 7);
        assert_eq!(rig.world.count("charge"), 2);
    }

    /// Who has looked at the first attempt says nothing of the second one.
    async fn a_verdict_on_one_attempt_is_not_taken_for_another(rig: Rig) {
        let (app, handle) = in_doubt(&rig, "timeout").await;
        let done = || Verdict::Done(Payload::encode(&7).unwrap());
        let of_none = app.judge_attempt(handle.id(), &frame(), 2, done(), "bob").await.unwrap_err();
        assert!(matches!(of_none, ControlError::AnotherAttempt { asked: 2, in_doubt: 1, .. }), "{of_none}");
        app.judge_attempt(handle.id(), &frame(), 1, Verdict::Again, "ada").await.unwrap();
        rig.world.seen("charge", 2).await;
        assert_eq!(report(&app, handle.id()).await.fault, Fault::InDoubt);
        until(|| async { app.state(handle.id(), None).await.unwrap().frames[&frame()].attempt == 2 }).await;
        report(&app, handle.id()).await;
        // Bob has found the money of the first attempt; meanwhile Ada has had it run again.
        let late = app.judge_attempt(handle.id(), &frame(), 1, done(), "bob").await.unwrap_err();
        assert!(matches!(late, ControlError::AnotherAttempt { asked: 1, in_doubt: 2, .. }), "{late}");
        assert!(late.to_string().contains("attempt 2 is"), "{late}");
        app.judge_attempt(handle.id(), &frame(), 2, done(), "bob").await.unwrap();
        assert_eq!(ended(&handle).await.unwrap(), 7);
    }

    async fn given_up_is_a_typed_failure(rig: Rig) {
        let (app, handle) = in_doubt(&rig, "crash").await;
        app.judge(handle.id(), &frame(), Verdict::GiveUp, "ada").await.unwrap();
        match ended(&handle).await {
            Err(ExecutionError::Failed(error)) => {
                let by_ada = EffectError::InDoubt { attempt: 1, by: "ada".into() };
                assert_eq!(error.engine(), Some(&by_ada));
            }
            other => panic!("{other:?}"),
        }
        assert_eq!((rig.world.count("charge"), rig.world.count("receipt")), (1, 0));
    }

    async fn a_verdict_is_checked_and_given_once(rig: Rig) {
        let (app, handle) = in_doubt(&rig, "crash").await;
        for wrong in [Payload::encode("seven").unwrap(), Payload::encode(&7.0).unwrap()] {
            let wrong = app.judge(handle.id(), &frame(), Verdict::Done(wrong), "ada").await.unwrap_err();
            assert!(matches!(wrong, ControlError::Invalid { .. }), "{wrong}");
        }
        let other = app.judge(handle.id(), &FrameId::parsed("receipt"), Verdict::Again, "ada").await.unwrap_err();
        assert!(matches!(&other, ControlError::NotInDoubt { in_doubt, .. } if in_doubt == "charge"), "{other}");
        // Of many different verdicts at once, one counts.
        let verdicts = (0..20_u32).map(|n| {
            let (app, id) = (app.clone(), handle.id().clone());
            tokio::spawn(async move {
                let done = Verdict::Done(Payload::encode(&n).unwrap());
                app.judge(&id, &frame(), done, "ada").await.map(|()| n)
            })
        });
        let taken: Vec<_> = join_all(verdicts).await.into_iter().filter_map(|done| done.unwrap().ok()).collect();
        assert_eq!(taken.len(), 1, "{taken:?}");
        assert_eq!(ended(&handle).await.unwrap(), taken[0]);
    }

    async fn what_the_flow_has_moved_on_from_is_recorded_and_stops_nobody(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(losing_interest()).id("lose").await.unwrap();
        assert!(handle.result().await.unwrap());
        let told = told(&app, &id("lose")).await;
        assert_eq!((count(&told, "EFFECT_INDOUBT"), count(&told, "EXECUTION_PARKED")), (1, 0), "{told:?}");
    }

    /// The same frame is in doubt in run after run: each time it is judged anew, with the same words even; and what was
    /// said of one run is nothing to the next, however late it arrives.
    async fn a_verdict_is_about_one_run(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(paying_daily(0)).id("pay").await.unwrap();
        let in_doubt = async |run: u64| {
            until(|| async {
                let state = app.state(&id("pay"), None).await.unwrap();
                state.status == Status::Parked && state.run == run
            })
            .await;
        };
        for run in 0..=2 {
            in_doubt(run).await;
            if run == 1 {
                // Of the first run, and only now here.
                let payload = r#"{"run":0,"frame":"charge","attempt":1,"by":"ann","done":70,"again":false}"#;
                let (key, kind) = (Some("late".into()), "verdict".into());
                let (execution, at) = (id("pay"), Timestamp::EPOCH);
                let late = NewItem { execution, key, kind, payload: payload.into(), at, early: false };
                let parked = app.row(&id("pay")).await.unwrap().next;
                app.store().post(late).await.unwrap();
                until(|| async { app.row(&id("pay")).await.unwrap().next > parked }).await;
                in_doubt(run).await;
                assert!(app.store().pending(&id("pay"), 0).await.unwrap().is_empty(), "it was read");
            }
            let done = Verdict::Done(Payload::encode(&7).unwrap());
            app.judge(&id("pay"), &frame(), done, "ada").await.unwrap();
        }
        until(|| async { handle.status().await.unwrap().is_terminal() }).await;
        assert_eq!(handle.result().await.unwrap(), 7);
        assert_eq!((rig.world.count("charge"), rig.world.count("receipt")), (3, 3));
    }
}
