//! Forks: what is copied, what is asked again, and whose children are whose.
//! Not how a machine goes on behind a cut: the kernel's own tests hold that at every event.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use loom::{
    App, ChildPolicy, ExecutionError, ForkError, FrameId, Handle, Registry, Status,
    kernel::{Event, FrameStatus, Kind, Outcome, Payload, Record, machine::Verdict},
    ports::GateState,
    prelude::*,
};

use crate::support::{
    Rig, Tap, World, count, id, in_short, log, on_every_store, patiently, registry, report, told,
};

#[step]
async fn note(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

/// Tells under which keys it was called.
#[step(at_most_once)]
async fn charge(step: StepCx, world: Res<World>) -> loom::Result<String> {
    world.hit(format!("charged {}", step.execution()));
    if world.count("slow") > 0 {
        world.pass("till").await;
    }
    Ok(step.idempotency_key().to_owned())
}

#[flow]
async fn deciding(ctx: Ctx) -> loom::Result<String> {
    ctx.run(note("looked".into())).await?;
    let answer = ctx.suspend::<String>("manager").await?;
    let key = ctx.run(charge()).await?;
    Ok(format!("{answer} {key}"))
}

#[flow]
async fn child(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let more = ctx.suspend::<u32>("go").await?;
    Ok(more + n)
}

#[flow]
async fn parent(ctx: Ctx) -> loom::Result<Vec<u32>> {
    let both = [1, 2].map(|n| ctx.call(child(n)).key(n));
    join_all(both).await.into_iter().collect()
}

/// Forks another execution from inside a step, under an id of its own choice.
#[step]
async fn branch_off(world: Res<World>, app: Res<Arc<OnceLock<App>>>, of: String) -> loom::Result<String> {
    let fork = app.get().unwrap().fork(&of.parse()?).id(format!("{of}-branch")).await?;
    if world.hit("forked") == 1 {
        world.pass("never").await;
    }
    Ok(fork.to_string())
}

#[flow]
async fn forking(ctx: Ctx, of: String) -> loom::Result<String> {
    ctx.run(branch_off(of)).await
}

/// Counts its runs, and asks in each.
#[flow]
async fn running(ctx: Ctx, run: u32) -> loom::Result<u32> {
    let more = ctx.suspend::<bool>("more").await?;
    if more { ctx.continue_as_new(running(run + 1)).await } else { Ok(run) }
}

#[flow]
async fn waiting(ctx: Ctx) -> loom::Result<String> {
    let far = ctx.sleep(days(300));
    let said = ctx.receive::<String>("said");
    select! {
        () = far => Ok("late".to_owned()),
        said = said => Ok(said),
    }
}

/// Takes a payment under an id that it draws, once it was told to.
#[flow]
async fn drawing(ctx: Ctx) -> loom::Result<Vec<String>> {
    let order = ctx.run(note(ctx.uuid().to_string())).id("order").await?;
    ctx.suspend::<bool>("pay").await?;
    let payment = ctx.run(note(ctx.uuid().to_string())).id("payment").await?;
    Ok(vec![order, payment])
}

/// Gives back what it has when it is cancelled.
#[flow]
async fn tidying(ctx: Ctx) -> loom::Result<String> {
    select! {
        _ = ctx.cancelled() => {}
        answer = ctx.suspend::<bool>("go") => return Ok(format!("{}", answer?)),
    }
    ctx.suspend::<bool>("given-back").await?;
    Ok("tidy".to_owned())
}

/// Calls a step as it is told, and says what became of it.
#[flow]
async fn planned(ctx: Ctx, call: (String, serde_json::Value)) -> loom::Result<String> {
    let done = ctx.execute("call", call.0, call.1).await;
    Ok(done.map_or_else(|error| error.to_string(), |_| "done".to_owned()))
}

fn all() -> Registry {
    registry!(
        flows: [deciding, child, parent, forking, running, waiting, drawing, tidying, planned],
        steps: [note, charge, branch_off]
    )
}

async fn app(rig: &Rig) -> App {
    let app = rig.builder(all(), &Tap::default()).await.provide(Arc::new(OnceLock::<App>::new()));
    app.build().unwrap()
}

async fn bytes(app: &App, of: &str) -> Vec<Record> {
    app.store().read(&id(of), 0, 10_000).await.unwrap()
}

fn json<T: serde::Serialize>(value: T) -> Payload {
    Payload::encode(&value).unwrap()
}

async fn answer<T: serde::Serialize>(app: &App, gate: &str, value: T) {
    app.resume(&gate.parse().unwrap(), json(value), "ann").await.unwrap();
}

/// How many events there are before the first of this kind and frame.
async fn before(app: &App, of: &str, what: &str) -> u64 {
    told(app, &id(of)).await.iter().position(|line| line == what).expect("it is in the log") as u64
}

/// A decision that was taken, and acted on.
async fn decided(app: &App, name: &str) -> Handle<deciding> {
    let handle = app.start(deciding()).id(name).await.unwrap();
    answer(app, &format!("{name}/manager"), "yes").await;
    handle.result().await.unwrap();
    handle
}

async fn output<T: serde::de::DeserializeOwned>(app: &App, of: &loom::ExecutionId) -> T {
    assert_eq!(app.until(of, &[]).await.unwrap(), Status::Completed);
    match app.state(of, None).await.unwrap().outcome {
        Some(Outcome::Completed(output)) => output.decode().unwrap(),
        other => panic!("{other:?}"),
    }
}

on_every_store! {
    /// B78: a fork before a decision asks again; the old answer is gone, unless it is asked for.
    async fn b78_a_fork_before_a_decision_asks_again(rig: Rig) {
        let app = app(&rig).await;
        let origin = decided(&app, "o").await;
        let cut = before(&app, "o", "GATE_ANSWERED manager").await;
        let fork = origin.fork().at(cut).id("again").await.unwrap();
        app.until(&fork, &[Status::Suspended]).await.unwrap();
        let gates = app.gates(Some(&fork)).await.unwrap();
        assert_eq!((gates.len(), gates[0].state), (1, GateState::Open), "asked again, at its own address");
        let old = app.gates(Some(origin.id())).await.unwrap();
        assert_eq!(old[0].state, GateState::Answered);
        answer(&app, "again/manager", "no").await;
        let told: String = output(&app, &fork).await;
        assert!(told.starts_with("no "), "{told}");
        // Its effects are its own: another key, once.
        assert_ne!(told[3..], origin.result().await.unwrap()[4..]);
        assert_eq!((rig.world.count("charged o"), rig.world.count("charged again")), (1, 1));
        assert_eq!(rig.world.count("looked"), 1, "what is copied is not done again");
        // Before the gate was asked at all: the same, and with the answer copied.
        for (name, cut) in [("early", 1), ("open", cut)] {
            let fork = app.fork(origin.id()).at(cut).id(name).copy_answers().rerun_all().await.unwrap();
            let told: String = output(&app, &fork).await;
            assert!(told.starts_with("yes "), "{told}");
            let log = log(&app, &fork).await;
            let by = log.iter().find_map(|e| match &e.event {
                Event::GateAnswered(e) => Some(e.by.clone()),
                _ => None,
            });
            assert_eq!(by.as_deref(), Some("ann"));
        }
        // Or given with the fork.
        let fork = app.fork(origin.id()).at(1).id("given").by("bob").stub("manager", "maybe").await.unwrap();
        assert!(output::<String>(&app, &fork).await.starts_with("maybe "));
    }

    /// B80: a fork at any cut is copied, and whatever is written to it afterwards, the origin stays as it is.
    async fn b80_a_fork_never_changes_where_it_came_from(rig: Rig) {
        let app = app(&rig).await;
        let origin = decided(&app, "o").await;
        let (records, row) = (bytes(&app, "o").await, app.row(origin.id()).await.unwrap());
        let gates = app.gates(Some(origin.id())).await.unwrap();
        for cut in 1..records.len() {
            let name = format!("f{cut}");
            let fork = origin.fork().at(cut as u64).id(name.as_str()).rerun_all().await.unwrap();
            app.until(&fork, &[Status::Suspended, Status::Parked]).await.unwrap();
            if !app.state(&fork, None).await.unwrap().frames.values().any(|f| f.outcome.is_some() && f.by.is_some()) {
                answer(&app, &format!("{name}/manager"), "fork").await;
            }
            output::<String>(&app, &fork).await;
            let copied = bytes(&app, &name).await;
            for (copy, original) in copied.iter().zip(&records[..cut]) {
                let meta: serde_json::Value = serde_json::from_str(&copy.meta).unwrap();
                assert_eq!(meta["origin"], format!("o@{}", original.sequence));
                assert_eq!(Record { meta: original.meta.clone(), ..copy.clone() }, *original);
            }
            assert_eq!(copied[cut].kind, "EXECUTION_FORKED");
            loom::replay_check(&all(), &log(&app, &fork).await).unwrap();
        }
        assert_eq!(bytes(&app, "o").await, records);
        assert_eq!(app.row(origin.id()).await.unwrap(), row);
        assert_eq!(app.gates(Some(origin.id())).await.unwrap(), gates);
        // A fork of a fork, and both go on.
        let second = app.fork(&id("f3")).at(4).id("g").rerun_all().stub("manager", "second").await.unwrap();
        assert!(output::<String>(&app, &second).await.starts_with("second "));
        let origin = app.state(&second, None).await.unwrap().origin.unwrap();
        assert_eq!((origin.execution.as_str(), origin.events), ("f3", 4));
    }

    /// B80: both go on, each its own way; neither sees anything of the other.
    async fn b80_origin_and_fork_go_on_apart(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(deciding()).id("o").await.unwrap();
        origin.until(&[Status::Suspended]).await.unwrap();
        let (begun, row) = (bytes(&app, "o").await, app.row(origin.id()).await.unwrap());
        let fork = origin.fork().id("f").await.unwrap();
        app.until(&fork, &[Status::Suspended]).await.unwrap();
        answer(&app, "f/manager", "no").await;
        assert!(output::<String>(&app, &fork).await.starts_with("no "));
        assert_eq!((bytes(&app, "o").await, app.row(origin.id()).await.unwrap()), (begun.clone(), row));
        assert_eq!(app.gates(Some(origin.id())).await.unwrap()[0].state, GateState::Open);
        let ended = bytes(&app, "f").await;
        answer(&app, "o/manager", "yes").await;
        assert!(origin.result().await.unwrap().starts_with("yes "));
        assert_eq!(bytes(&app, "f").await, ended);
        assert_eq!(bytes(&app, "o").await[..begun.len()], begun);
        assert_eq!((rig.world.count("charged o"), rig.world.count("charged f")), (1, 1));
    }

    async fn a_step_that_was_open_never_runs_by_itself(rig: Rig) {
        rig.world.hit("slow");
        let app = app(&rig).await;
        let origin = app.start(deciding()).id("o").await.unwrap();
        answer(&app, "o/manager", "yes").await;
        rig.world.seen("charged o", 1).await;
        let kept = app.fork(origin.id()).id("kept").await.unwrap();
        assert_eq!(report(&app, &kept).await.frame.unwrap().as_str(), "charge");
        assert_eq!(rig.world.count("charged kept"), 0);
        let state = app.state(&kept, None).await.unwrap();
        let charge = &state.frames[&FrameId::parsed("charge")];
        assert_eq!((charge.status, charge.doubt.as_deref()), (FrameStatus::InDoubt, Some("forked")));
        rig.world.open("till");
        app.judge(&kept, &FrameId::parsed("charge"), Verdict::Done(json("judged")), "bob").await.unwrap();
        assert_eq!(output::<String>(&app, &kept).await, "yes judged");
        let cut = before(&app, "o", "STEP_STARTED charge").await + 1;
        let again = app.fork(origin.id()).at(cut).id("again").rerun("charge").await.unwrap();
        assert!(output::<String>(&app, &again).await.starts_with("yes "));
        assert_eq!(rig.world.count("charged again"), 1);
        let told = told(&app, &again).await;
        assert_eq!(count(&told, "STEP_STARTED charge attempt 2"), 1, "{told:?}");
        let stubbed = app.fork(origin.id()).at(cut).id("stubbed").by("eve").stub("charge", "k").await.unwrap();
        assert_eq!(output::<String>(&app, &stubbed).await, "yes k");
        assert_eq!(rig.world.count("charged stubbed") + rig.world.count("charged kept"), 0);
        let said = log(&app, &stubbed).await.into_iter().find_map(|e| match e.event {
            Event::StepCompleted(e) if e.frame.as_str() == "charge" => e.by,
            _ => None,
        });
        assert_eq!(said.as_deref(), Some("eve"));
    }

    /// A call of a step that there is not, or with an input that does not fit, has nothing that could be in doubt.
    async fn a_call_that_was_refused_is_refused_again(rig: Rig) {
        let app = app(&rig).await;
        for (name, step, input) in
            [("unknown", "refund", serde_json::json!({})), ("misfit", "note", serde_json::json!({"what": 1}))]
        {
            let origin = app.start(planned((step.to_owned(), input))).id(name).await.unwrap();
            let said = origin.result().await.unwrap();
            let cut = before(&app, name, "STEP_STARTED call").await + 1;
            let fork = || origin.fork().at(cut);
            let forks = [fork(), fork().rerun("call"), fork().rerun_all()];
            for (n, fork) in forks.into_iter().enumerate() {
                let fork = fork.id(format!("{name}-{n}")).await.unwrap();
                assert_eq!(output::<String>(&app, &fork).await, said, "{fork}");
                let told = told(&app, &fork).await;
                let of_call: Vec<_> = told.iter().filter(|line| line.contains(" call")).collect();
                assert_eq!(of_call, ["STEP_STARTED call", "STEP_FAILED call"], "{fork}");
                loom::replay_check(&all(), &log(&app, &fork).await).unwrap();
            }
            let stubbed = fork().id(format!("{name}-stub")).stub("call", "made up").await.unwrap();
            assert_eq!(output::<String>(&app, &stubbed).await, "done");
        }
    }

    /// B75: children that are pending do not forbid a fork: each has its policy.
    async fn b75_pending_children_have_a_policy_each(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(parent()).id("p").await.unwrap();
        app.until(origin.id(), &[Status::Suspended]).await.unwrap();
        let cut = app.row(origin.id()).await.unwrap().next;
        // Its own, from the beginning.
        let own = app.fork(origin.id()).at(cut).id("own").await.unwrap();
        // One of the origin's, one made up.
        let stub = ChildPolicy::Stub(Outcome::Completed(json(50)));
        let mixed = origin.fork().at(cut).id("mixed").child("child#1", ChildPolicy::Share);
        let mixed = mixed.child("child#2", stub).await.unwrap();
        let cancelled = origin.fork().at(cut).id("cancelled").children(ChildPolicy::Cancel).await.unwrap();
        assert!(matches!(
            app.handle::<parent>(&cancelled).result().await,
            Err(ExecutionError::Failed(_))
        ));
        assert_eq!(told(&app, &cancelled).await.iter().filter(|t| t.starts_with("CHILD_SETTLED")).count(), 2);
        answer_when_asked(&app, "own:child#1/go", 10).await;
        answer_when_asked(&app, "own:child#2/go", 20).await;
        assert_eq!(output::<Vec<u32>>(&app, &own).await, [11, 22]);
        assert!(!origin.status().await.unwrap().is_terminal());
        answer(&app, "p:child#1/go", 100_u32).await;
        assert_eq!(output::<Vec<u32>>(&app, &mixed).await, [101, 50], "shared while it ran");
        answer(&app, "p:child#2/go", 200_u32).await;
        assert_eq!(origin.result().await.unwrap(), [101, 202]);
        assert!(app.row(&id("mixed:child#1")).await.is_err(), "no child of its own");
    }

    /// B73: the children have ended, after the parent had: a fork that shares them is told at once.
    async fn b73_a_child_that_has_ended_since_is_told(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(parent()).id("p").await.unwrap();
        answer_when_asked(&app, "p:child#1/go", 1).await;
        answer_when_asked(&app, "p:child#2/go", 2).await;
        origin.result().await.unwrap();
        let told = told(&app, origin.id()).await;
        let last_start = told.iter().rposition(|t| t.starts_with("CHILD_STARTED")).unwrap() as u64;
        // In the middle of the pass that asked for both, and at its end.
        for (name, cut) in [("whole", last_start + 1), ("half", last_start)] {
            let fork = app.fork(origin.id()).at(cut).id(name).children(ChildPolicy::Share).await.unwrap();
            if name == "half" {
                answer_when_asked(&app, "half:child#2/go", 7).await;
            }
            let expected = if name == "half" { [2, 9] } else { [2, 4] };
            assert_eq!(output::<Vec<u32>>(&app, &fork).await, expected, "{name}");
            loom::replay_check(&all(), &log(&app, &fork).await).unwrap();
        }
    }

    /// B73: the child ends at the very moment at which the fork begins to wait for it: it is told once, whoever is first.
    async fn b73_a_child_that_ends_just_now_is_told_once(rig: Rig) {
        let app = app(&rig).await;
        for n in 0..12 {
            let (name, twin) = (format!("p{n}"), format!("f{n}"));
            let origin = app.start(parent()).id(name.as_str()).await.unwrap();
            origin.until(&[Status::Suspended]).await.unwrap();
            let cut = app.row(origin.id()).await.unwrap().next;
            let fork = app.fork(origin.id()).at(cut).id(twin.as_str()).children(ChildPolicy::Share);
            let ends = async {
                answer_when_asked(&app, &format!("{name}:child#1/go"), 1).await;
                answer_when_asked(&app, &format!("{name}:child#2/go"), 2).await;
            };
            let (fork, ()) = tokio::join!(fork.into_future(), ends);
            let fork = fork.unwrap();
            assert_eq!(output::<Vec<u32>>(&app, &fork).await, [2, 4]);
            assert_eq!(origin.result().await.unwrap(), [2, 4]);
            assert_eq!(count(&told(&app, &fork).await, "CHILD_SETTLED"), 2);
        }
    }

    /// B76: parent and child are forked apart, and come together: the fork says which child is its own.
    async fn b76_a_forked_parent_adopts_a_forked_child(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(parent()).id("p").await.unwrap();
        for n in [1, 2] {
            answer_when_asked(&app, &format!("p:child#{n}/go"), 1).await;
        }
        origin.result().await.unwrap();
        let open = before(&app, "p:child#1", "GATE_ANSWERED go").await;
        let twin = app.fork(&id("p:child#1")).at(open).id("twin").await.unwrap();
        app.until(&twin, &[Status::Suspended]).await.unwrap();
        let told = told(&app, origin.id()).await;
        let cut = told.iter().rposition(|t| t.starts_with("CHILD_STARTED")).unwrap() as u64 + 1;
        let fork = app.fork(origin.id()).at(cut).id("fork");
        let fork = fork.children(ChildPolicy::Share).child("child#1", ChildPolicy::Adopt(twin.clone()));
        let fork = fork.await.unwrap();
        app.until(&fork, &[Status::Suspended]).await.unwrap();
        answer(&app, "twin/go", 40_u32).await;
        assert_eq!(output::<Vec<u32>>(&app, &fork).await, [41, 3]);
        assert_eq!(origin.result().await.unwrap(), [2, 3]);
        let nobody = app.fork(origin.id()).at(cut).child("child#1", ChildPolicy::Adopt(id("nobody"))).await;
        assert!(matches!(nobody, Err(ForkError::NoChild { .. })), "{nobody:?}");
    }

    /// B77: a step forks, and its process dies before that is recorded: one fork, under one id.
    async fn b77_a_fork_from_inside_a_flow_is_made_once(rig: Rig) {
        let tap = Tap::default();
        let first = program(&rig, &tap).await;
        decided(&first, "o").await;
        first.start(forking("o".into())).id("f").await.unwrap();
        rig.world.seen("forked", 1).await;
        tap.freeze(true);
        let second = program(&rig, &Tap::default()).await;
        second.work();
        assert_eq!(output::<String>(&second, &id("f")).await, "o-branch");
        assert_eq!(rig.world.count("forked"), 2);
        let ids: Vec<_> = second.list(&Default::default()).await.unwrap();
        let ids: Vec<_> = ids.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["f", "o", "o-branch"]);
        let told = told(&second, &id("o-branch")).await;
        assert_eq!(count(&told, "EXECUTION_FORKED"), 1);
    }

    async fn the_same_request_gives_the_same_fork_and_another_is_refused(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(deciding()).id("o").await.unwrap();
        app.until(origin.id(), &[Status::Suspended]).await.unwrap();
        let cut = app.row(origin.id()).await.unwrap().next;
        let fork = || app.fork(&id("o")).id("f").copy_answers();
        let made = fork().await.unwrap();
        answer(&app, "o/manager", "yes").await;
        origin.result().await.unwrap();
        for same in [fork(), fork().at(cut)] {
            assert_eq!(same.await.unwrap(), made);
        }
        let (one, two) = tokio::join!(app.fork(&id("o")).id("race").into_future(), app.fork(&id("o")).id("race").into_future());
        assert_eq!(one.unwrap(), two.unwrap());
        let other = decided(&app, "other").await;
        let refused = [
            (fork().at(1), "at another place"),
            (fork().stub("manager", "no"), "other stubs"),
            (app.fork(other.id()).id("f"), "another execution"),
            (app.fork(&id("o")).id("other"), "no fork"),
        ];
        for (fork, why) in refused {
            let error = fork.await.unwrap_err();
            assert!(matches!(&error, ForkError::Conflict { .. }) && error.to_string().contains(why), "{error}");
        }
    }

    async fn what_cannot_be_forked_says_why(rig: Rig) {
        let app = app(&rig).await;
        let origin = decided(&app, "o").await;
        let end = app.row(origin.id()).await.unwrap().next;
        assert!(matches!(app.fork(&id("nobody")).await, Err(ForkError::Unknown(_))));
        for cut in [0, end, end + 7] {
            let error = origin.fork().at(cut).await.unwrap_err();
            let most = end - 1;
            assert_eq!(error, ForkError::Cut { execution: id("o"), asked: cut, most });
            assert!(error.to_string().contains(&format!("1 to {most} events")), "{error}");
        }
        let cut = before(&app, "o", "GATE_ANSWERED manager").await;
        for fork in [
            origin.fork().at(cut).stub("chrge", "k"),
            origin.fork().at(cut).stub("note", "k"),
            origin.fork().at(cut).rerun("manager"),
            origin.fork().at(cut).child("manager", ChildPolicy::Cancel),
        ] {
            let error = fork.await.unwrap_err();
            assert!(matches!(&error, ForkError::UnknownFrame { .. }), "{error}");
            assert!(error.to_string().ends_with("open there: manager"), "{error}");
        }
        let error = origin.fork().at(cut).stub("manager", &7).await.unwrap_err();
        assert!(matches!(&error, ForkError::Invalid { .. }), "{error}");
        assert!(matches!(origin.fork().id("no/id").await, Err(ForkError::InvalidId(_))));
        assert_eq!(app.list(&Default::default()).await.unwrap().len(), 1, "nothing was written");
    }

    async fn a_fork_begins_in_the_run_of_its_cut(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(running(0)).id("o").await.unwrap();
        for run in 0..3_u64 {
            let in_run = || async {
                let row = app.row(&id("o")).await.unwrap();
                row.status == Status::Suspended && app.state(&id("o"), None).await.unwrap().run == run
            };
            crate::support::until(in_run).await;
            answer(&app, "o/more", run < 2).await;
        }
        assert_eq!(origin.result().await.unwrap(), 2);
        let log = log(&app, origin.id()).await;
        let starts: Vec<_> = log.iter().filter(|e| e.event.kind() == Kind::ContinuedAsNew).map(|e| e.sequence).collect();
        for (run, cut) in [(0, 2), (1, starts[0] + 2), (2, starts[1] + 1)] {
            let fork = app.fork(origin.id()).at(cut).id(format!("f{run}")).await.unwrap();
            app.until(&fork, &[Status::Suspended]).await.unwrap();
            let row = app.row(&fork).await.unwrap();
            assert_eq!(row.base, if run == 0 { 0 } else { starts[run - 1] });
            answer(&app, &format!("{fork}/more"), false).await;
            assert_eq!(output::<u32>(&app, &fork).await, run as u32);
        }
    }

    /// What was drawn before the cut is the origin's; what is drawn after it is drawn anew, by each fork for itself.
    async fn two_forks_do_not_draw_the_same_ids(rig: Rig) {
        let app = app(&rig).await;
        let handle = app.start(drawing()).id("draw").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        let forks = [app.fork(&id("draw")).id("one").await.unwrap(), app.fork(&id("draw")).id("two").await.unwrap()];
        let again = app.fork(&id("draw")).id("two").await.unwrap();
        assert_eq!(again, forks[1]);
        let mut drawn = Vec::new();
        for id in [handle.id(), &forks[0], &forks[1]] {
            app.handle::<drawing>(id).resume("pay", &true, "ada").await.unwrap();
            drawn.push(app.handle::<drawing>(id).result().await.unwrap());
            loom::replay_check(&all(), &log(&app, id).await).unwrap();
        }
        let orders: std::collections::BTreeSet<_> = drawn.iter().map(|drawn| &drawn[0]).collect();
        let payments: std::collections::BTreeSet<_> = drawn.iter().map(|drawn| &drawn[1]).collect();
        assert_eq!((orders.len(), payments.len()), (1, 3), "{drawn:?}");
        // A simulation is of the execution itself.
        let cut = before(&app, "draw", "GATE_ANSWERED pay").await;
        let simulated = app.simulate(&id("draw")).at(cut).gate("pay", &true).run().await.unwrap();
        assert_eq!(simulated.outcome, Some(Outcome::Completed(Payload::encode(&drawn[0]).unwrap())));
    }

    /// A cancel that was asked for before the cut holds in the fork: the flow was told, and is on its way out.
    async fn a_fork_of_one_that_is_being_cancelled_ends_cancelled(rig: Rig) {
        let app = app(&rig).await;
        let handle = app.start(tidying()).id("tidy").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        app.cancel(&id("tidy"), "enough", "ada").await.unwrap();
        let asked = async |of: &loom::ExecutionId| {
            crate::support::until(|| async {
                let gates = app.gates(Some(of)).await.unwrap();
                gates.iter().any(|gate| gate.frame.as_str() == "given-back" && gate.state == GateState::Open)
            })
            .await;
        };
        asked(handle.id()).await;
        let cut = before(&app, "tidy", "CANCEL_REQUESTED").await;
        let (uncancelled, cancelled) =
            (app.fork(&id("tidy")).at(cut).await.unwrap(), app.fork(&id("tidy")).await.unwrap());
        let state = app.state(&cancelled, None).await.unwrap();
        assert_eq!(state.cancel.map(|cancel| cancel.by).as_deref(), Some("ada"));
        asked(&cancelled).await;
        app.handle::<tidying>(&cancelled).resume("given-back", &true, "ada").await.unwrap();
        assert!(matches!(
            app.handle::<tidying>(&cancelled).result().await,
            Err(ExecutionError::Cancelled { by, .. }) if by == "ada"
        ));
        app.handle::<tidying>(&uncancelled).resume("go", &true, "ada").await.unwrap();
        assert_eq!(app.handle::<tidying>(&uncancelled).result().await.unwrap(), "true");
    }

    async fn timers_keep_their_instants_and_messages_are_its_own(rig: Rig) {
        let app = app(&rig).await;
        let origin = app.start(waiting()).id("o").await.unwrap();
        app.until(origin.id(), &[Status::Suspended]).await.unwrap();
        let fork = app.fork(origin.id()).id("f").await.unwrap();
        app.until(&fork, &[Status::Suspended]).await.unwrap();
        let (ours, theirs) = (app.row(&fork).await.unwrap().wake_at, app.row(origin.id()).await.unwrap().wake_at);
        assert!(ours.is_some() && ours == theirs);
        app.send(&fork, "said", "to the fork").await.unwrap();
        assert_eq!(output::<String>(&app, &fork).await, "to the fork");
        assert_eq!(origin.status().await.unwrap(), Status::Suspended);
        let kinds: BTreeMap<_, _> =
            log(&app, &fork).await.iter().map(|e| (in_short(&e.event), e.sequence)).collect();
        assert!(kinds.contains_key("EXECUTION_FORKED"));
    }
}

async fn program(rig: &Rig, tap: &Tap) -> App {
    let slot = Arc::new(OnceLock::new());
    let app = rig.builder(all(), tap).await.provide(slot.clone()).build().unwrap();
    assert!(slot.set(app.clone()).is_ok());
    app
}

/// A child may not be there yet.
async fn answer_when_asked(app: &App, gate: &str, value: u32) {
    let execution = id(gate.split_once('/').unwrap().0);
    let there = || async { app.row(&execution).await.is_ok() };
    patiently(crate::support::until(there)).await;
    answer(app, gate, value).await;
}
