//! Steps that are chosen at run time, `ctx.execute`: flows that walk a plan which is data.
//! Not the rules of the macro for such calls: those are `loom-macros`' own tests.

use std::collections::BTreeMap;

use futures_util::FutureExt;
use loom::{
    ExecuteError, ExecutionError, Limits, Status,
    kernel::{Fault, FrameId, Kind, Payload},
    prelude::*,
    replay_check,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::support::{
    Process, Rig, Tap, World, around_every_append, count, id, log, on_every_store, registry, report, told,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum Broken {
    #[failure(permanent)]
    TooMuch { by: u64 },
    #[failure(engine)]
    Engine(EffectError),
}

/// Has nothing in common with [`Broken`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum Stuck {
    Late,
    #[failure(engine)]
    Engine(EffectError),
}

#[step]
async fn double(world: Res<World>, n: u64) -> Result<u64, Broken> {
    world.hit(format!("double {n}"));
    if n > 1_000 { Err(Broken::TooMuch { by: n - 1_000 }) } else { Ok(2 * n) }
}

#[step(at_most_once, effects("bank.write"))]
async fn pay(world: Res<World>, step: StepCx, n: u64) -> loom::Result<u64> {
    world.hit(format!("pay {n} {}", step.execution()));
    world.pass("bank").await;
    Ok(n)
}

#[step(effects("mail.send"))]
async fn mail(world: Res<World>, n: u64) -> loom::Result<u64> {
    world.hit(format!("mail {n}"));
    Ok(n)
}

/// The plan, as somebody wrote it: JSON that nobody compiled.
#[step]
async fn load(world: Res<World>, name: String) -> loom::Result<Blueprint> {
    world.hit(format!("load {name}"));
    Ok(serde_json::from_str(
        r#"{"nodes": [
            {"kind": "call", "id": "first/one", "step": "double", "n": 3},
            {"kind": "each", "id": "each", "step": "double", "of": {"a": 10, "b.c": 20}},
            {"kind": "repeat", "times": 2, "nodes": [
                {"kind": "call", "id": "inner", "step": "double", "n": 5},
                {"kind": "call", "id": "paid", "step": "pay", "n": 7}
            ]}
        ]}"#,
    )?)
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Blueprint {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Node {
    Call { id: String, step: String, n: u64 },
    Each { id: String, step: String, of: BTreeMap<String, u64> },
    Repeat { times: u32, nodes: Vec<Node> },
}

#[flow]
async fn interpret(ctx: Ctx, name: String) -> loom::Result<u64> {
    let blueprint = ctx.run(load(name)).await?;
    ctx.part("plan", walk(blueprint.nodes)).await
}

#[flow(part)]
async fn walk(ctx: Ctx, nodes: Vec<Node>) -> loom::Result<u64> {
    let mut sum = 0;
    for node in nodes {
        sum += match node {
            Node::Call { id, step, n } => ctx.execute(id, step, json!({ "n": n })).await?.decode::<u64>()?,
            Node::Each { id, step, of } => {
                let calls = of.iter().map(|(key, n)| ctx.execute(&id, &step, json!({ "n": n })).key(key));
                let mut all = 0;
                for output in try_join_all(calls).await? {
                    all += output.decode::<u64>()?;
                }
                all
            }
            Node::Repeat { times, nodes } => {
                let mut all = 0;
                for _ in 0..times {
                    all += Box::pin(ctx.part("again", walk(nodes.clone()))).await?;
                }
                all
            }
        };
    }
    Ok(sum)
}

/// Ids in a closure that vary by themselves, in a loop.
#[flow]
async fn naming(ctx: Ctx, names: Vec<String>) -> loom::Result<usize> {
    let mut all = 0;
    for round in 0..2_u64 {
        let calls = names.iter().map(|name| ctx.execute(name, "double", json!({ "n": round })));
        all += join_all(calls).await.into_iter().flatten().count();
    }
    Ok(all)
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Told {
    code: String,
    said: String,
    own: Option<Broken>,
}

/// One call; what it fails with is the flow's output.
#[flow]
async fn calling(ctx: Ctx, call: (String, Value)) -> loom::Result<Told> {
    let (step, mut input) = call;
    if input["pad"] == true {
        input["pad"] = "x".repeat(2_000).into();
    }
    Ok(match ctx.execute("call", step, input).await {
        Ok(output) => Told { code: "ok".into(), said: output.as_str().into(), own: None },
        Err(error) => Told { code: error.code().into(), said: error.to_string(), own: error.own::<Broken>() },
    })
}

/// As [`calling`], with `?`: what it fails with is the flow's failure.
#[flow]
async fn asking(ctx: Ctx, call: (String, Value)) -> Result<String, Broken> {
    Ok(ctx.execute("call", call.0, call.1).await?.as_str().into())
}

/// As [`asking`], with an enum that is not the step's.
#[flow]
async fn forwarding(ctx: Ctx, call: (String, Value)) -> Result<String, Stuck> {
    Ok(ctx.execute("call", call.0, call.1).await?.as_str().into())
}

#[flow(effects("mail.*", "bank.*"))]
async fn posting(ctx: Ctx, steps: Vec<String>) -> loom::Result<Vec<String>> {
    let mut said = Vec::new();
    for step in &steps {
        said.push(code(ctx.execute(step, step, json!({ "n": 1 })).await));
    }
    said.extend(ctx.part("letters", letters(steps)).await);
    Ok(said)
}

/// Less than the flow that it is a part of.
#[flow(part, effects("mail.*"))]
async fn letters(ctx: Ctx, steps: Vec<String>) -> Vec<String> {
    let mut said = Vec::new();
    for step in &steps {
        said.push(code(ctx.execute(step, step, json!({ "n": 2 })).await));
    }
    said
}

fn code(outcome: Result<Payload, ExecuteError>) -> String {
    outcome.map_or_else(|error| error.code().to_owned(), |_| "ok".into())
}

fn all() -> loom::Registry {
    registry!(
        flows: [interpret, naming, calling, asking, forwarding, posting],
        steps: [double, pay, mail, load]
    )
}

fn without_pay() -> loom::Registry {
    registry!(flows: [interpret, naming, calling, posting], steps: [double, mail, load])
}

fn frames(told: &[String]) -> Vec<&str> {
    told.iter().filter_map(|line| line.strip_prefix("STEP_STARTED ")).collect()
}

on_every_store! {
    /// Every id is the plan's own, escaped, below the loops and parts that lead to it; a crash anywhere repeats nothing.
    async fn a_plan_that_is_data_is_walked_once(rig: Rig) {
        rig.world.open("bank");
        let crashes = around_every_append(
            &rig,
            all,
            |app, run| async move {
                let handle = app.start(interpret("monday".into())).id(run.as_str()).await.unwrap();
                app.work();
                // A payment that was cut is asked about: this bank's book says what happened.
                loop {
                    match handle.result().await {
                        Ok(sum) => break assert_eq!(sum, 6 + 60 + 2 * 17),
                        Err(ExecutionError::Parked(report)) if report.fault == Fault::InDoubt => {
                            let verdict = loom::kernel::machine::Verdict::Done(Payload::encode(&7_u64).unwrap());
                            let _ = app.judge(&run, &report.frame.unwrap(), verdict, "ada").await;
                            app.until(&run, &[Status::Running, Status::Suspended]).await.unwrap();
                        }
                        Err(other) => panic!("{other:?}"),
                    }
                }
            }.boxed(),
            async |app, run| {
                let log = log(&app, &run).await;
                let told = told(&app, &run).await;
                let once = count(&told, "STEP_COMPLETED");
                assert_eq!(once, 8, "{told:?}");
                for frame in [
                    "load", "plan/first%2Fone#0", "plan/each#1.a", "plan/each#1.b%2Ec",
                    "plan/again#2.0/inner#0", "plan/again#2.0/paid#1",
                    "plan/again#2.1/inner#0", "plan/again#2.1/paid#1",
                ] {
                    assert!(frames(&told).contains(&frame), "{frame}: {told:?}");
                }
                assert!(rig.world.count(&format!("pay 7 {run}")) <= 2);
                replay_check(&all(), &log).unwrap();
            },
        ).await;
        assert!(crashes >= 8, "only {crashes}");
    }

    async fn ids_that_vary_need_no_key_in_a_closure(rig: Rig) {
        let app = rig.app(all()).await;
        let names = vec!["a".to_owned(), "b".to_owned()];
        let handle = app.start(naming(names)).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 4);
        assert_eq!(frames(&told(&app, handle.id()).await), ["a#0", "b#0", "a#1", "b#1"]);
        replay_check(&all(), &log(&app, handle.id()).await).unwrap();
        // One id twice is a fault in the plan, and said so.
        let twice = vec!["a".to_owned(), "a".to_owned()];
        let handle = app.start(naming(twice)).id("twice").await.unwrap();
        let report = report(&app, handle.id()).await;
        assert_eq!((report.fault, report.frame), (Fault::StepIdReused, Some(FrameId::parsed("a#0"))));
    }

    /// What cannot run is told by type, recorded, and has touched nothing; the step's own error comes back as it was.
    async fn what_fails_is_told_by_type(rig: Rig) {
        let limits = Limits { payload: 2_000, ..Limits::default() };
        let app = rig.builder(all(), &Tap::default()).await.limits(limits).build().unwrap();
        let long = json!({ "n": 1, "pad": true });
        for (run, step, input, code, says) in [
            ("ok", "double", json!({"n": 4}), "ok", "8"),
            ("own", "double", json!({"n": 1_005}), "TooMuch", "step `double` failed with TooMuch"),
            ("unknown", "triple", json!({"n": 4}), "unknown_step", "no step `triple`"),
            ("typed", "double", json!({"n": "four"}), "invalid_input", "(at /n)"),
            ("missing", "double", json!({}), "invalid_input", "\"n\" is a required property"),
            ("more", "double", json!({"n": 4, "m": 1}), "invalid_input", "m"),
            ("long", "double", long, "payload_too_large", "over the limit of 2000"),
        ] {
            let before = rig.world.all();
            let handle = app.start(calling((step.into(), input))).id(run).await.unwrap();
            let told = handle.result().await.unwrap();
            assert_eq!(told.code, code, "{run}: {told:?}");
            assert!(told.said.contains(says), "{run}: {told:?}");
            assert!(!told.said.contains("four"), "a value has no place in a message: {told:?}");
            let own = (run == "own").then_some(Broken::TooMuch { by: 5 });
            assert_eq!(told.own, own);
            if !matches!(run, "ok" | "own") {
                assert_eq!(rig.world.all(), before, "{run}");
            }
            replay_check(&all(), &log(&app, handle.id()).await).unwrap();
        }
    }

    /// `?` makes the flow's failure of it: the step's own error where the flow's enum has it, else the engine's variant.
    async fn a_question_mark_makes_the_flows_own_failure(rig: Rig) {
        let app = rig.app(all()).await;
        app.work();
        let call = |n: u64| ("double".to_owned(), json!({ "n": n }));
        let none = ("triple".to_owned(), json!({ "n": 1 }));
        let unknown = EffectError::UnknownStep { step: "triple".into() };
        let ran = app.start(asking(call(2))).await.unwrap().result().await;
        assert_eq!(ran.unwrap(), "4");
        for (n, own) in [(call(1_005), Broken::TooMuch { by: 5 }), (none.clone(), Broken::Engine(unknown.clone()))] {
            let handle = app.start(asking(n)).await.unwrap();
            let Err(ExecutionError::Failed(failed)) = handle.result().await else { panic!("it did not fail") };
            assert_eq!(failed, own);
            replay_check(&all(), &log(&app, handle.id()).await).unwrap();
        }
        let (code, message) = ("TooMuch".to_owned(), "TooMuch".to_owned());
        let other = EffectError::StepFailed { step: "double".into(), code, message };
        for (n, engine) in [(call(1_005), other), (none, unknown)] {
            let handle = app.start(forwarding(n)).await.unwrap();
            let Err(ExecutionError::Failed(failed)) = handle.result().await else { panic!("it did not fail") };
            assert_eq!(failed, Stuck::Engine(engine));
            replay_check(&all(), &log(&app, handle.id()).await).unwrap();
        }
    }

    /// The run-time floor of ceilings: of the flow, and of the part that is nearer.
    async fn a_denied_effect_is_an_event_and_never_runs(rig: Rig) {
        rig.world.open("bank");
        let app = rig.app(all()).await;
        let steps = ["mail", "pay"].map(str::to_owned).to_vec();
        let handle = app.start(posting(steps)).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), ["ok", "ok", "ok", "denied"]);
        assert_eq!((rig.world.count("pay 1 run"), rig.world.count("pay 2 run"), rig.world.count("mail 2")), (1, 0, 1));
        let log = log(&app, handle.id()).await;
        let denied: Vec<_> = log.iter().filter(|e| e.event.kind() == Kind::EffectDenied).collect();
        assert_eq!(denied.len(), 1);
        let loom::kernel::Event::EffectDenied(event) = &denied[0].event else { panic!() };
        assert_eq!(event.frame.as_str(), "letters/pay#1");
        assert!(event.reason.contains("`bank.write` of step `pay`"), "{}", event.reason);
        let next = &log[denied[0].sequence as usize + 1];
        assert!(matches!(&next.event, loom::kernel::Event::StepFailed(e) if e.frame == event.frame));
        replay_check(&all(), &log).unwrap();
    }

    /// A step that was taken on and is not in the next program is a fault of the deploy: nothing fails for it.
    async fn a_step_that_the_next_program_lacks_parks(rig: Rig) {
        let process = Process::start(&rig, all()).await;
        let app = process.app.clone();
        process.run(async move {
            app.start(calling(("double".into(), json!({"n": 4})))).id("done").await.unwrap().result().await.unwrap();
            app.start(calling(("pay".into(), json!({"n": 4})))).id("run").await.unwrap();
        }).await;
        rig.world.seen("pay 4 run", 1).await;
        process.kill();
        let lacking = rig.app(without_pay()).await;
        lacking.work();
        assert_eq!(report(&lacking, &id("run")).await.fault, Fault::InDoubt);
        let again = loom::kernel::machine::Verdict::Again;
        let frame = FrameId::parsed("call");
        lacking.judge(&id("run"), &frame, again, "ada").await.unwrap();
        crate::support::until(|| async {
            report(&lacking, &id("run")).await.fault == Fault::MissingStep
        }).await;
        lacking.shutdown(seconds(1)).await;
        rig.world.open("bank");
        let whole = rig.app(all()).await;
        whole.work();
        let handle = whole.handle::<calling>(&id("run"));
        crate::support::until(|| async { handle.status().await.unwrap() == Status::Completed }).await;
        assert_eq!(handle.result().await.unwrap().said, "4");
        assert_eq!(rig.world.count("pay 4 run"), 2);
    }
}
