//! Gates: who may answer what, when, how often; and that an answer disturbs nobody.
//! Not timers of their own: those are in `timers.rs`.

use loom::{AnswerError, App, Handle, Status, kernel::Payload, ports::GateState, prelude::*};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Process, Rig, World, count, id, log, on_every_store, registry, told, until};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Approval {
    approved: bool,
    note: String,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum AskError {
    #[failure(engine)]
    Engine(EffectError),
}

#[step]
async fn note(world: Res<World>, what: String) -> Result<(), AskError> {
    world.hit(what);
    Ok(())
}

#[flow]
async fn asking(ctx: Ctx) -> Result<String, AskError> {
    ctx.run(note("before".into())).await?;
    let answer = ctx.suspend::<Approval>("manager").await?;
    ctx.run(note("after".into())).id("after").await?;
    Ok(answer.note)
}

#[flow]
async fn asking_for_a_while(ctx: Ctx) -> Result<bool, AskError> {
    Ok(ctx.suspend::<bool>("manager").timeout(millis(50)).await?)
}

/// Asks again and again, twice in a row.
#[flow]
async fn asking_twice(ctx: Ctx) -> Result<u32, AskError> {
    ctx.run(note("first".into())).id("first").await?;
    let one = ctx.suspend::<u32>("one").await?;
    ctx.run(note("second".into())).id("second").await?;
    let two = ctx.suspend::<u32>("two").await?;
    Ok(one + two)
}

#[flow(name = "asking_for_an_amount")]
async fn asking_for_much(ctx: Ctx) -> Result<u32, AskError> {
    Ok(ctx.suspend::<u32>("amount").await?)
}

/// The same in another release.
#[flow(name = "asking_for_an_amount")]
async fn asking_for_less(ctx: Ctx) -> Result<u32, AskError> {
    Ok(u32::from(ctx.suspend::<u8>("amount").await?))
}

#[flow(part)]
async fn approving(ctx: Ctx) -> Result<bool, AskError> {
    Ok(ctx.suspend::<bool>("approve").await?)
}

/// Asks under one name for two things, in a part that is called twice, and in a block with a label.
#[flow]
async fn asking_everywhere(ctx: Ctx) -> Result<u32, AskError> {
    let first = ctx.suspend::<bool>("sign").await?;
    let second = ctx.suspend::<Approval>("sign").id("countersign").await?;
    let third = ctx.part("stock", approving()).await?;
    let fourth = ctx.part("money", approving()).await?;
    let last = 'asked: {
        if !first {
            break 'asked 0;
        }
        ctx.suspend::<u32>("how-many").await?
    };
    Ok(last + u32::from(second.approved) + u32::from(third) + u32::from(fourth))
}

#[test]
fn gates_are_known_by_their_frames() {
    let gates = <asking_everywhere as loom::Flow>::DESCRIPTOR.all_gates();
    let frames: Vec<_> = gates.iter().map(|(frame, gate)| (frame.as_str(), gate.name)).collect();
    assert_eq!(
        frames,
        [
            ("sign", "sign"),
            ("countersign", "sign"),
            ("stock/approve", "approve"),
            ("money/approve", "approve"),
            ("how-many", "how-many"),
        ]
    );
    let schema = |at: usize| gates[at].1.answer.schema().to_value();
    assert_eq!((&schema(0)["type"], &schema(1)["title"]), (&json!("boolean"), &json!("Approval")));
}

#[flow]
async fn asking_often(ctx: Ctx, turns: u32) -> Result<u32, AskError> {
    let mut sum = 0;
    for _ in 0..turns {
        sum += ctx.suspend::<u32>("turn").await?;
    }
    Ok(sum)
}

/// Runs for as long as the test wants, so that the execution has an owner all the time.
#[step]
async fn held(world: Res<World>, step: StepCx) -> Result<(), AskError> {
    world.hit(format!("held {}", step.execution()));
    world.pass("enough").await;
    Ok(())
}

#[flow]
async fn asking_while_running(ctx: Ctx, turns: u32) -> Result<u32, AskError> {
    let asked = async {
        let mut sum = 0;
        for turn in 0..turns {
            sum += ctx.suspend::<u32>("turn").key(turn).await?;
        }
        Ok::<_, AskError>(sum)
    };
    let (held, sum) = join!(ctx.run(held()), asked);
    held?;
    sum
}

#[flow(part)]
async fn approval(ctx: Ctx) -> Result<bool, AskError> {
    Ok(ctx.suspend::<bool>("approve").await?)
}

#[flow]
async fn asking_in_a_part(ctx: Ctx) -> Result<bool, AskError> {
    Ok(ctx.part("pay", approval()).await? && ctx.part("ship", approval()).await?)
}

#[flow]
async fn changing_its_mind(ctx: Ctx) -> Result<bool, AskError> {
    let answered = select! {
        _ = ctx.suspend::<bool>("manager") => true,
        _ = ctx.sleep(millis(20)) => false,
    };
    ctx.suspend::<bool>("afterwards").await?;
    Ok(answered)
}

fn all() -> loom::Registry {
    registry!(
        flows: [asking, asking_for_a_while, asking_twice, asking_often, asking_while_running, asking_in_a_part, changing_its_mind],
        steps: [note, held]
    )
}

async fn asked(app: &App) -> Handle<asking> {
    let handle = app.start(asking()).id("ask").await.unwrap();
    assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
    handle
}

fn yes() -> Approval {
    Approval { approved: true, note: "fine".into() }
}

on_every_store! {
    /// Before they are open, and each by its own type.
    async fn gates_are_answered_wherever_they_stand(rig: Rig) {
        let app = rig.app(registry!(flows: [asking_everywhere], steps: [])).await;
        let handle = app.start(asking_everywhere()).id("run").await.unwrap();
        handle.resume("how-many", &40, "ada").await.unwrap();
        for frame in ["money/approve", "stock/approve", "sign"] {
            handle.resume(frame, &true, "ada").await.unwrap();
        }
        let wrong = handle.resume("countersign", &true, "ada").await.unwrap_err();
        assert!(matches!(wrong, AnswerError::Invalid { .. }), "{wrong}");
        handle.resume("countersign", &json!({"approved": true, "note": ""}), "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 43);
    }

    async fn an_answer_of_another_shape_is_refused_and_the_gate_stays_open(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = asked(&app).await;
        let wrong = handle.resume("manager", &json!({"approved": "yes", "note": "x"}), "ada").await.unwrap_err();
        assert!(matches!(wrong, AnswerError::Invalid { .. }));
        assert!(wrong.to_string().contains("/approved"), "{wrong}");
        let missing = handle.resume("manager", &json!({"approved": true}), "ada").await.unwrap_err();
        assert!(missing.to_string().contains("note"), "{missing}");
        let gates = app.gates(Some(handle.id())).await.unwrap();
        assert_eq!(gates[0].state, GateState::Open);
        handle.resume("manager", &yes(), "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "fine");
    }

    /// A JSON Schema takes `1.0` for an integer, and knows no widths.
    async fn an_answer_that_does_not_read_as_the_type_is_refused_too(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(asking_twice()).id("ask").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        for gate in ["one", "two"] {
            for answer in ["1.0", "1e3", "4294967296", "18446744073709551616", "-1"] {
                let answer = Payload::parse(answer).unwrap();
                let wrong = handle.resume(gate, &answer, "ada").await.unwrap_err();
                assert!(matches!(wrong, AnswerError::Invalid { .. }), "{gate} {answer}: {wrong}");
            }
        }
        let wrong = handle.resume("one", &1.0, "ada").await.unwrap_err().to_string();
        assert!(wrong.contains("floating point, expected u32: a whole number from 0 to 4294967295"), "{wrong}");
        assert!(app.pending(handle.id()).await.unwrap().is_empty());
        handle.resume("one", &u32::MAX, "ada").await.unwrap();
        handle.resume("two", &0, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), u32::MAX);
    }

    /// The gate was opened by code that reads more than this program's.
    async fn an_answer_is_held_to_the_code_that_asks(rig: Rig) {
        let old = rig.app(registry!(flows: [asking_for_much], steps: [])).await;
        let handle = old.start(asking_for_much()).id("ask").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        old.shutdown(seconds(1)).await;
        let new = rig.app(registry!(flows: [asking_for_less], steps: [])).await;
        let address = "ask/amount".parse().unwrap();
        let wrong = new.resume(&address, Payload::encode("x").unwrap(), "ada").await.unwrap_err();
        assert!(matches!(wrong, AnswerError::Invalid { .. }), "{wrong}");
        new.resume(&address, Payload::encode(&300).unwrap(), "ada").await.unwrap();
        new.shutdown(seconds(1)).await;
        let old = rig.app(registry!(flows: [asking_for_much], steps: [])).await;
        old.work();
        assert_eq!(old.handle::<asking_for_much>(handle.id()).result().await.unwrap(), 300);
    }

    /// A program without the flow's code knows the schema alone. The retry that a worker makes by itself is used up.
    async fn an_answer_that_never_read_parks_and_leaves_no_retry_behind(rig: Rig) {
        let first = rig.app(all()).await;
        let handle = first.start(asking_twice()).id("ask").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        first.shutdown(seconds(1)).await;
        let without = rig.app(registry!(flows: [], steps: [note])).await;
        without.resume(&"ask/one".parse().unwrap(), Payload::encode(&1.0).unwrap(), "ada").await.unwrap();
        without.shutdown(seconds(1)).await;
        let app = rig.app(all()).await;
        app.work();
        let (app, id) = (&app, handle.id());
        until(|| async { count(&told(app, id).await, "EXECUTION_PARKED") == 2 }).await;
        assert!(app.pending(id).await.unwrap().is_empty(), "{:?}", app.pending(id).await);
        let report = app.state(id, None).await.unwrap().parked.unwrap();
        assert!(report.message.contains("the answer to gate `one` does not read as u32"), "{}", report.message);
    }

    async fn an_answer_is_given_once(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = asked(&app).await;
        handle.resume("manager", &yes(), "ada").await.unwrap();
        // The same answer by the same person is a retry, at any time.
        handle.resume("manager", &yes(), "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "fine");
        handle.resume("manager", &yes(), "ada").await.unwrap();
        let other = Approval { approved: false, note: "no".into() };
        for (answer, by) in [(&other, "ada"), (&yes(), "bob")] {
            let refused = handle.resume("manager", answer, by).await.unwrap_err();
            assert!(matches!(refused, AnswerError::AlreadyAnswered(_)), "{refused}");
        }
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "GATE_ANSWERED"), 1, "{told:?}");
        let events = log(&app, handle.id()).await;
        let by = events.iter().find_map(|e| match &e.event {
            loom::kernel::Event::GateAnswered(answered) => Some(answered.by.clone()),
            _ => None,
        });
        assert_eq!(by.as_deref(), Some("ada"));
    }

    async fn of_fifty_different_answers_one_counts(rig: Rig) {
        let apps = [rig.app(all()).await, rig.app(all()).await];
        let handle = asked(&apps[0]).await;
        let answers = (0..50).map(|n| {
            let handle = apps[n % 2].handle::<asking>(handle.id());
            tokio::spawn(async move {
                let answer = Approval { approved: true, note: n.to_string() };
                handle.resume("manager", &answer, "ada").await.map(|()| n)
            })
        });
        let taken: Vec<_> = join_all(answers).await.into_iter().filter_map(|done| done.unwrap().ok()).collect();
        assert_eq!(taken.len(), 1, "{taken:?}");
        assert_eq!(handle.result().await.unwrap(), taken[0].to_string());
    }

    async fn an_unknown_gate_is_refused_with_those_that_are_open(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = asked(&app).await;
        let unknown = handle.resume("boss", &true, "ada").await.unwrap_err();
        assert!(matches!(&unknown, AnswerError::UnknownGate { open, .. } if open == "manager"), "{unknown}");
        let nobody = app.handle::<asking>(&id("nobody")).resume("manager", &yes(), "ada").await.unwrap_err();
        assert!(nobody.to_string().contains("nobody"), "{nobody}");
        assert!("no-slash".parse::<loom::GateAddress>().is_err());
    }

    async fn a_gate_that_nobody_answers_expires_as_a_typed_failure(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(asking_for_a_while()).id("ask").await.unwrap();
        match handle.result().await {
            Err(loom::ExecutionError::Failed(AskError::Engine(EffectError::TimedOut { after_ms: 50 }))) => {}
            other => panic!("{other:?}"),
        }
        let late = handle.resume("manager", &true, "ada").await.unwrap_err();
        assert!(
            matches!(&late, AnswerError::Closed { state: GateState::Expired, .. }),
            "{late}"
        );
    }

    async fn a_gate_that_the_flow_dropped_is_closed(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(changing_its_mind()).id("ask").await.unwrap();
        until(|| async { app.gates(Some(handle.id())).await.unwrap().len() == 2 }).await;
        let closed = handle.resume("manager", &true, "ada").await.unwrap_err();
        assert!(matches!(&closed, AnswerError::Closed { state: GateState::Abandoned, .. }), "{closed}");
        handle.resume("afterwards", &true, "ada").await.unwrap();
        assert!(!handle.result().await.unwrap());
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "STEP_ABANDONED"), 1, "{told:?}");
    }

    async fn b49_an_answer_before_its_gate_is_kept_through_a_crash(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move {
            let handle = app.start(asking_twice()).id("ask").await.unwrap();
            handle.until(&[Status::Suspended]).await.unwrap();
            // The second gate is not open yet.
            handle.resume("two", &40, "ada").await.unwrap();
        }).await;
        process.kill();
        let process = Process::start(&rig, all()).await;
        process.work().await;
        let handle = process.app.handle::<asking_twice>(&id("ask"));
        assert!(app_told(&process.app).await.iter().all(|line| line != "GATE_OPENED two"));
        handle.resume("one", &2, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 42);
    }

    async fn b82_work_between_two_waits_is_not_run_again(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(asking_twice()).id("ask").await.unwrap();
        for (gate, n) in [("one", 1), ("two", 2)] {
            until(|| async { !app.gates(None).await.unwrap().is_empty() }).await;
            handle.until(&[Status::Suspended]).await.unwrap();
            handle.resume(gate, &n, "ada").await.unwrap();
        }
        assert_eq!(handle.result().await.unwrap(), 3);
        assert_eq!((rig.world.count("first"), rig.world.count("second")), (1, 1));
    }

    async fn b86_a_wait_outlives_the_program_that_asked(rig: Rig) {
        let first = rig.app(all()).await;
        let handle = asked(&first).await;
        first.shutdown(seconds(1)).await;
        // A deploy that has lost the flow: the execution stays, is listed, and its answer is kept.
        let without = rig.app(registry!(flows: [asking_twice], steps: [note, held])).await;
        without.work();
        let gate = "ask/manager".parse().unwrap();
        without.resume(&gate, Payload::encode(&yes()).unwrap(), "ada").await.unwrap();
        without.start(asking_twice()).id("another").await.unwrap().until(&[Status::Suspended]).await.unwrap();
        let row = without.row(handle.id()).await.unwrap();
        assert_eq!((row.status, row.flow.as_str()), (Status::Suspended, "asking"));
        without.shutdown(seconds(1)).await;
        let with = rig.app(all()).await;
        with.work();
        assert_eq!(with.handle::<asking>(handle.id()).result().await.unwrap(), "fine");
        assert_eq!((rig.world.count("before"), rig.world.count("after")), (1, 1));
    }

    async fn b84_a_gate_in_a_loop_has_an_address(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(asking_often(6)).id("ask").await.unwrap();
        for turn in 0..6 {
            let open = loop {
                let open = app.gates(None).await.unwrap();
                if open.iter().any(|gate| gate.frame.as_str() == format!("turn#{turn}")) {
                    break open;
                }
                tokio::time::sleep(millis(2)).await;
            };
            assert_eq!(open.len(), 1, "the earlier ones are closed: {open:?}");
            let forgotten = handle.resume("turn", &turn, "ada").await.unwrap_err();
            assert!(matches!(forgotten, AnswerError::Repetition { loops: 1, .. }), "{forgotten}");
            assert!(forgotten.to_string().contains("`ask/turn#0`; open gates: turn#"), "{forgotten}");
            for nowhere in ["x/turn#0", "turn#0.1.2", "turns#0"] {
                assert!(handle.resume(nowhere, &turn, "ada").await.is_err(), "{nowhere}");
            }
            handle.resume(&format!("turn#{turn}"), &turn, "ada").await.unwrap();
        }
        assert_eq!(handle.result().await.unwrap(), 15);
    }

    async fn a_gate_in_a_part_has_an_address_before_and_after_it_is_open(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(asking_in_a_part()).id("ask").await.unwrap();
        handle.resume("ship/approve", &true, "ada").await.unwrap();
        let wrong = handle.resume("pay/approve", "yes", "ada").await.unwrap_err();
        assert!(matches!(wrong, AnswerError::Invalid { .. }), "{wrong}");
        handle.until(&[Status::Suspended]).await.unwrap();
        assert_eq!(app.gates(None).await.unwrap()[0].frame.as_str(), "pay/approve");
        handle.resume("pay/approve", &true, "ada").await.unwrap();
        assert!(handle.result().await.unwrap());
    }

    /// Early, timely, repeated and refused answers from another program, to executions that run all the while.
    async fn a_thousand_answers_disturb_no_owner(rig: Rig) {
        const EXECUTIONS: u32 = 5;
        const TURNS: u32 = 100;
        let (owner, other) = (rig.app(all()).await, rig.app(all()).await);
        let mut handles = Vec::new();
        for n in 0..EXECUTIONS {
            let handle = owner.start(asking_while_running(TURNS)).id(format!("ask-{n}")).await.unwrap();
            rig.world.seen(&format!("held ask-{n}"), 1).await;
            handles.push(handle);
        }
        let answers = handles.iter().map(|handle| {
            let handle = other.handle::<asking_while_running>(handle.id());
            tokio::spawn(async move {
                let mut refused = 0;
                for turn in (0..TURNS).rev() {
                    // From the last to the first: all but the last one answered are early.
                    let gate = format!("turn#{turn}");
                    handle.resume(&gate, &turn, "ada").await.unwrap();
                    refused += u32::from(handle.resume(&gate, &(turn + 1), "bob").await.is_err());
                    if turn % 10 == 0 {
                        refused += u32::from(handle.resume(&gate, "no number", "bob").await.is_err());
                        refused += u32::from(handle.resume("unknown", &0, "bob").await.is_err());
                    }
                }
                refused
            })
        });
        for refused in join_all(answers).await {
            assert_eq!(refused.unwrap(), TURNS + TURNS / 5);
        }
        for handle in &handles {
            // All of them arrive while it runs, and the owner is still the first one.
            until(|| async { count(&told(&owner, handle.id()).await, "GATE_ANSWERED") == TURNS as usize }).await;
            let row = owner.row(handle.id()).await.unwrap();
            assert_eq!((row.status, row.takeovers), (Status::Running, 0));
            assert_eq!(row.lease.unwrap().fence, 1);
        }
        rig.world.open("enough");
        for handle in &handles {
            assert_eq!(handle.result().await.unwrap(), (0..TURNS).sum::<u32>());
            let told = told(&owner, handle.id()).await;
            assert_eq!(count(&told, "EXECUTION_RESUMED"), 0, "{told:?}");
            assert_eq!(rig.world.count(&format!("held {}", handle.id())), 1);
        }
    }
}

async fn app_told(app: &App) -> Vec<String> {
    told(app, &id("ask")).await
}
