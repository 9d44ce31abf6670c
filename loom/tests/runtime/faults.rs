//! Faults in code: each parks with a report that names it, and goes on once the code is mended.
//! Not failures: those are outcomes, and in `retries.rs`.

use loom::{
    App, ExecutionError, ExecutionId, Registry, Status,
    kernel::{Fault, ParkReport},
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{Rig, World, count, id, on_every_store, registry, report, told, untold};

#[step]
async fn first(world: Res<World>) -> loom::Result<u32> {
    world.hit("first");
    Ok(1)
}

#[step]
async fn extra(world: Res<World>) -> loom::Result<u32> {
    world.hit("extra");
    Ok(100)
}

#[step]
async fn last(world: Res<World>) -> loom::Result<u32> {
    world.hit("last");
    Ok(10)
}

#[flow(name = "changing")]
async fn as_written(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(first()).await?;
    ctx.suspend::<bool>("go").await?;
    Ok(one + ctx.run(last()).await?)
}

/// Somebody put a step in front of what executions have done already.
#[flow(name = "changing")]
async fn as_broken(ctx: Ctx) -> loom::Result<u32> {
    let hundred = ctx.run(extra()).await?;
    let one = ctx.run(first()).await?;
    ctx.suspend::<bool>("go").await?;
    Ok(hundred + one + ctx.run(last()).await?)
}

/// Changed where no execution has been yet.
#[flow(name = "changing")]
async fn as_extended(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(first()).await?;
    ctx.suspend::<bool>("go").await?;
    Ok(one + ctx.run(last()).await? + ctx.run(extra()).await?)
}

#[flow(name = "panicky")]
async fn panicky(ctx: Ctx) -> loom::Result<u32> {
    let single = ctx.run(first()).await?;
    assert!(single > 1, "one is {single}");
    Ok(single)
}

#[flow(name = "panicky")]
async fn panicky_mended(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(first()).await?;
    Ok(one + ctx.run(last()).await?)
}

#[flow(name = "panicky")]
async fn panicky_otherwise(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(last()).await
}

#[flow]
async fn for_ever(ctx: Ctx) -> loom::Result<()> {
    Ok(ctx.suspend::<()>("never").await?)
}

#[flow]
async fn panicky_parent(ctx: Ctx) -> loom::Result<u32> {
    let child = ctx.spawn(for_ever()).await;
    let single = ctx.run(first()).await?;
    assert!(single > 1, "one is {single}");
    drop(child);
    Ok(single)
}

#[step(name = "fragile")]
async fn fragile(world: Res<World>) -> loom::Result<u32> {
    world.hit("fragile");
    panic!("a bug in the step");
}

#[step(name = "fragile")]
async fn fragile_mended(world: Res<World>) -> loom::Result<u32> {
    world.hit("mended");
    Ok(5)
}

/// `fragile_mended` is found by its name, as after a deploy.
#[flow]
async fn fragile_flow(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(fragile()).await
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Old {
    qty: u32,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct New {
    quantity: u32,
}

#[step(name = "measure")]
async fn measure_old() -> loom::Result<Old> {
    Ok(Old { qty: 7 })
}

#[step(name = "measure")]
async fn measure_new() -> loom::Result<New> {
    Ok(New { quantity: 7 })
}

#[flow(name = "measured")]
async fn measured_old(ctx: Ctx) -> loom::Result<u32> {
    let old = ctx.run(measure_old()).id("measure").await?;
    ctx.suspend::<bool>("go").await?;
    Ok(old.qty)
}

#[flow(name = "measured")]
async fn measured_new(ctx: Ctx) -> loom::Result<u32> {
    let new = ctx.run(measure_new()).id("measure").await?;
    ctx.suspend::<bool>("go").await?;
    Ok(new.quantity)
}

/// Not over before the flow waits for it, however slow the machine is: one that is would park nothing.
async fn helper_that_sleeps() {
    tokio::time::sleep(seconds(3600)).await;
}

#[flow]
async fn sleeping_in_a_helper(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(first()).await?;
    helper_that_sleeps().await;
    Ok(one)
}

async fn helper_that_spawns() -> Result<u32, tokio::task::JoinError> {
    let task = tokio::spawn(async {
        helper_that_sleeps().await;
        1
    });
    task.await
}

#[flow]
async fn waiting_for_a_task(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(first()).await?;
    Ok(one + helper_that_spawns().await.unwrap_or(0))
}

/// A channel whose other end nobody holds on to is never ready.
async fn helper_that_never_ends() {
    std::future::pending().await
}

#[flow]
async fn waiting_for_nothing(ctx: Ctx) -> loom::Result<u32> {
    let one = ctx.run(first()).await?;
    helper_that_never_ends().await;
    Ok(one)
}

fn helper_that_reads_a_clock() -> u64 {
    use std::time::{SystemTime, UNIX_EPOCH};
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

#[step]
async fn takes(world: Res<World>, n: u64) -> loom::Result<u64> {
    world.hit("takes");
    Ok(n)
}

#[flow]
async fn a_clock_in_an_input(ctx: Ctx) -> loom::Result<u64> {
    let taken = ctx.run(takes(helper_that_reads_a_clock())).await?;
    ctx.suspend::<bool>("go").await?;
    Ok(taken)
}

#[flow]
async fn a_clock_in_an_id(ctx: Ctx) -> loom::Result<u64> {
    let taken = ctx.run(takes(1)).key(helper_that_reads_a_clock()).await?;
    ctx.suspend::<bool>("go").await?;
    Ok(taken)
}

#[flow]
async fn handing_a_call_away(ctx: Ctx) -> loom::Result<u32> {
    let call = ctx.run(first());
    helper_that_spawns_it(call).await;
    Ok(0)
}

async fn helper_that_spawns_it(call: impl Future<Output = loom::Result<u32>> + Send + 'static) {
    let _ = tokio::spawn(call).await;
}

fn line_of(fragment: &str) -> u32 {
    let at = include_str!("faults.rs").lines().position(|line| line.trim() == fragment);
    u32::try_from(at.unwrap_or_else(|| panic!("no line {fragment:?}")) + 1).unwrap()
}

fn near(report: &ParkReport, fragment: &str) {
    let near = report.near.as_ref().unwrap_or_else(|| panic!("no line: {report}"));
    assert!(near.file.ends_with("faults.rs"), "{report}");
    assert_eq!(near.line, line_of(fragment), "{report}");
}

fn mended() -> Registry {
    registry!(
        flows: [
            as_written, panicky_mended, fragile_flow, sleeping_in_a_helper, waiting_for_a_task, waiting_for_nothing,
            a_clock_in_an_input, a_clock_in_an_id, handing_a_call_away,
        ],
        steps: [first, last, fragile_mended, takes]
    )
}

/// Runs `F` up to its gate in the program `before`, and answers the gate in the program `after`.
async fn across<F: loom::Flow<Input = ()>>(rig: &Rig, before: Registry, after: Registry) -> App {
    let app = rig.app(before).await;
    let start = app.start_dynamic(F::DESCRIPTOR.name, loom::kernel::Payload::null()).id("run");
    let id = start.await.unwrap();
    assert_eq!(app.until(&id, &[Status::Suspended]).await.unwrap(), Status::Suspended);
    app.shutdown(seconds(1)).await;
    let app = rig.app(after).await;
    app.work();
    let gate = format!("{id}/go").parse().unwrap();
    app.resume(&gate, loom::kernel::Payload::encode(&true).unwrap(), "ada").await.unwrap();
    app
}

async fn result(app: &App, id: &ExecutionId) -> u32 {
    // A parked execution is tried again by a program of other code, which takes a moment.
    crate::support::until(|| async { app.row(id).await.unwrap().status.is_terminal() }).await;
    app.handle::<as_written>(id).result().await.unwrap()
}

on_every_store! {
    async fn b06_a_divergence_is_reported_and_goes_on_when_the_code_is_mended(rig: Rig) {
        let written = || registry!(flows: [as_written], steps: [first, last]);
        let broken = registry!(flows: [as_broken], steps: [first, extra, last]);
        let app = across::<as_written>(&rig, written(), broken).await;
        let report = report(&app, &id("run")).await;
        assert_eq!(report.fault, Fault::Divergence);
        assert!(report.expected.as_deref().unwrap().contains("step `first` as `first`"), "{report}");
        assert!(report.found.as_deref().unwrap().contains("step `extra` as `extra`"), "{report}");
        assert_eq!(report.sequence, Some(1), "{report}");
        near(&report, "let hundred = ctx.run(extra()).await?;");
        assert!(report.code.is_some() && !report.help.is_empty());
        // The handle tells the same, and nobody waits unknowingly.
        match app.handle::<as_broken>(&id("run")).result().await {
            Err(ExecutionError::Parked(told)) => assert_eq!(*told, report),
            other => panic!("{other:?}"),
        }
        assert_eq!(rig.world.count("extra"), 0, "a divergent pass does nothing");
        app.shutdown(seconds(1)).await;
        let app = rig.app(written()).await;
        app.work();
        // The program is the first one again, and agrees: nobody has to ask.
        assert_eq!(result(&app, &id("run")).await, 11);
        assert_eq!((rig.world.count("first"), rig.world.count("last")), (1, 1));
    }

    async fn a_change_behind_the_log_goes_on_and_is_noted(rig: Rig) {
        let written = registry!(flows: [as_written], steps: [first, last]);
        let extended = registry!(flows: [as_extended], steps: [first, extra, last]);
        let app = across::<as_written>(&rig, written, extended).await;
        assert_eq!(result(&app, &id("run")).await, 111);
        let told = told(&app, &id("run")).await;
        assert_eq!(count(&told, "EXECUTION_MIGRATED"), 1, "{told:?}");
    }

    async fn a_panic_of_the_flow_parks_and_a_mended_program_goes_on_by_itself(rig: Rig) {
        let app = rig.app(registry!(flows: [panicky], steps: [first])).await;
        app.start(panicky()).id("run").await.unwrap();
        let report = report(&app, &id("run")).await;
        assert_eq!(report.fault, Fault::FlowPanicked);
        assert!(report.message.contains("one is 1"), "{report}");
        near(&report, "let single = ctx.run(first()).await?;");
        app.shutdown(seconds(1)).await;
        let app = rig.app(mended()).await;
        app.work();
        assert_eq!(result(&app, &id("run")).await, 11);
        assert_eq!(rig.world.count("first"), 1);
    }

    /// Nobody takes it up again: the code may still panic there, and may not come there by another way.
    async fn what_a_panic_parked_and_force_ended_is_checked_up_to_the_parking(rig: Rig) {
        let panicking = registry!(flows: [panicky], steps: [first]);
        let app = rig.app(panicking.clone()).await;
        app.start(panicky()).id("run").await.unwrap();
        report(&app, &id("run")).await;
        let parked = app.log(&id("run"), 0, 100).await.unwrap();
        assert_eq!(loom::replay_check(&panicking, &parked).unwrap_err().fault, Fault::FlowPanicked);
        app.kill(&id("run"), "enough", "ada").await.unwrap();
        app.work();
        crate::support::until(|| async { app.row(&id("run")).await.unwrap().status.is_terminal() }).await;
        let ended = app.log(&id("run"), 0, 100).await.unwrap();
        for code in [panicking, mended()] {
            loom::replay_check(&code, &ended).unwrap();
        }
        let other = registry!(flows: [panicky_otherwise], steps: [first, last]);
        assert_eq!(loom::replay_check(&other, &ended).unwrap_err().fault, Fault::Divergence);
    }

    /// What became of its child is in the log behind the parking.
    async fn what_a_panic_parked_and_force_ended_with_a_child_is_checked_up_to_the_parking(rig: Rig) {
        let registry = registry!(flows: [panicky_parent, for_ever], steps: [first]);
        let app = rig.app(registry.clone()).await;
        app.start(panicky_parent()).id("run").await.unwrap();
        report(&app, &id("run")).await;
        app.kill(&id("run"), "enough", "ada").await.unwrap();
        crate::support::until(|| async { app.row(&id("run")).await.unwrap().status.is_terminal() }).await;
        let ended = crate::support::log(&app, &id("run")).await;
        let behind = ended.iter().rev().take_while(|envelope| !matches!(envelope.event, loom::kernel::Event::ExecutionParked(_)));
        assert!(behind.clone().any(|envelope| envelope.event.frame().is_some()), "{ended:?}");
        loom::replay_check(&registry, &ended).unwrap();
    }

    async fn a_panic_of_a_step_parks_and_a_mended_program_goes_on_by_itself(rig: Rig) {
        let app = rig.app(registry!(flows: [fragile_flow], steps: [fragile])).await;
        app.start(fragile_flow()).id("run").await.unwrap();
        let report = report(&app, &id("run")).await;
        assert_eq!(report.fault, Fault::StepPanicked);
        assert!(report.message.contains("a bug in the step"), "{report}");
        assert_eq!(report.frame.unwrap().as_str(), "fragile");
        // Not retried hot: neither by this program, nor by another start of the same.
        app.shutdown(seconds(1)).await;
        let again = rig.app(registry!(flows: [fragile_flow], steps: [fragile])).await;
        again.work();
        crate::support::until(|| async { rig.world.count("fragile") >= 1 }).await;
        again.shutdown(seconds(1)).await;
        let tries = rig.world.count("fragile");
        assert!(tries <= 2, "{tries}");
        let app = rig.app(mended()).await;
        app.work();
        assert_eq!(result(&app, &id("run")).await, 5);
        assert_eq!((rig.world.count("fragile"), rig.world.count("mended")), (tries, 1));
    }

    async fn a_removed_step_parks_until_it_is_back(rig: Rig) {
        let whole = || registry!(flows: [as_written], steps: [first, last]);
        let without = untold(&registry!(flows: [as_written], steps: [first]));
        let app = across::<as_written>(&rig, whole(), without).await;
        let report = report(&app, &id("run")).await;
        assert_eq!(report.fault, Fault::MissingStep);
        assert_eq!(report.frame.as_ref().unwrap().as_str(), "last");
        assert!(report.message.contains("`last`"), "{report}");
        app.shutdown(seconds(1)).await;
        let app = rig.app(whole()).await;
        app.work();
        assert_eq!(result(&app, &id("run")).await, 11);
    }

    async fn an_undecodable_outcome_parks_and_names_step_type_and_position(rig: Rig) {
        let old = || registry!(flows: [measured_old], steps: [measure_old]);
        let new = registry!(flows: [measured_new], steps: [measure_new]);
        let app = across::<measured_old>(&rig, old(), new).await;
        let report = report(&app, &id("run")).await;
        assert_eq!(report.fault, Fault::Undecodable, "{report}");
        assert_eq!(report.frame.as_ref().unwrap().as_str(), "measure");
        for words in ["`measure`", "New", "quantity"] {
            assert!(report.message.contains(words), "{words} is not in: {report}");
        }
        assert_eq!(report.sequence, Some(2), "{report}");
        assert!(!report.message.contains('7'), "no values in reports: {report}");
        app.shutdown(seconds(1)).await;
        let app = rig.app(old()).await;
        app.work();
        let _ = app.retry(&id("run")).await;
        assert_eq!(result(&app, &id("run")).await, 7);
    }

    async fn what_a_flow_waits_for_in_a_helper_parks_it_near_its_line(rig: Rig) {
        let app = rig.app(mended()).await;
        app.start(sleeping_in_a_helper()).id("sleeps").await.unwrap();
        app.start(waiting_for_a_task()).id("spawns").await.unwrap();
        app.start(waiting_for_nothing()).id("never").await.unwrap();
        for (name, line) in [
            ("sleeps", "helper_that_sleeps().await;"),
            ("spawns", "Ok(one + helper_that_spawns().await.unwrap_or(0))"),
            ("never", "helper_that_never_ends().await;"),
        ] {
            let report = report(&app, &id(name)).await;
            assert!(matches!(report.fault, Fault::Stuck | Fault::ForeignWake), "{name}: {report}");
            assert!(report.message.contains("Loom did not record"), "{report}");
            near(&report, line);
        }
        // Parked once each, and left alone.
        for name in ["sleeps", "spawns", "never"] {
            let told = told(&app, &id(name)).await;
            assert_eq!((count(&told, "EXECUTION_PARKED"), count(&told, "EXECUTION_RESUMED")), (1, 0), "{told:?}");
        }
    }

    async fn a_call_that_another_task_awaits_parks(rig: Rig) {
        let app = rig.app(mended()).await;
        app.start(handing_a_call_away()).id("run").await.unwrap();
        let report = report(&app, &id("run")).await;
        assert!(matches!(report.fault, Fault::OutsidePass | Fault::Stuck | Fault::ForeignWake), "{report}");
        near(&report, "helper_that_spawns_it(call).await;");
        assert_eq!(rig.world.count("first"), 0);
    }

    async fn a_hidden_clock_that_changes_an_input_or_an_id_parks(rig: Rig) {
        let input = "let taken = ctx.run(takes(helper_that_reads_a_clock())).await?;";
        let id_of = "let taken = ctx.run(takes(1)).key(helper_that_reads_a_clock()).await?;";
        for (name, found, line) in
            [("a_clock_in_an_input", "input digest", input), ("a_clock_in_an_id", "takes#", id_of)]
        {
            let rig = rig.another();
            let app = match name {
                "a_clock_in_an_input" => across::<a_clock_in_an_input>(&rig, mended(), mended()).await,
                _ => across::<a_clock_in_an_id>(&rig, mended(), mended()).await,
            };
            let report = report(&app, &id("run")).await;
            assert_eq!(report.fault, Fault::Divergence, "{name}: {report}");
            assert!(report.found.as_deref().unwrap().contains(found), "{report}");
            near(&report, line);
            assert_eq!(rig.world.count("takes"), 1, "it is not run for another input");
        }
    }

    async fn only_a_parked_execution_can_be_tried_again(rig: Rig) {
        let app = rig.app(mended()).await;
        let handle = app.start(panicky_mended()).id("run").await.unwrap();
        handle.result().await.unwrap();
        let refused = app.retry(handle.id()).await.unwrap_err();
        assert!(refused.to_string().contains("completed, not parked"), "{refused}");
    }
}
