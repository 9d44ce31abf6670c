//! Inputs of older versions: of executions that are open, and of the runs that `continue_as_new` begins.
//! Not events: `events.rs` has those, and the same chains.

use std::time::Duration;

use loom::{
    App, ExecutionId, Registry, Status,
    kernel::{Event, Fault, Upcasted},
    prelude::*,
    replay_check,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{Process, Rig, World, id, log, on_every_store, registry, report, until};

#[step]
async fn tell(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit("tell");
    Ok(what)
}

/// What the first release carries from run to run.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Cursor1 {
    page: u32,
}

/// What the second does.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Cursor2 {
    page: u32,
    size: u32,
}

/// What the third does.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Cursor3 {
    offset: u32,
}

fn sized(old: Cursor1) -> Cursor2 {
    Cursor2 { page: old.page, size: 10 }
}

fn in_lines(old: Cursor2) -> Result<Cursor3, String> {
    old.page.checked_mul(old.size).map(|offset| Cursor3 { offset }).ok_or_else(|| "too far".into())
}

mod first {
    use super::*;
    #[flow(name = "poll")]
    pub(super) async fn poll(ctx: Ctx, at: Cursor1) -> loom::Result<String> {
        ctx.run(tell(format!("page {}", at.page))).await?;
        if ctx.suspend::<bool>("more").await? {
            return ctx.continue_as_new(poll(Cursor1 { page: at.page + 1 })).await;
        }
        Ok(format!("page {}", at.page))
    }
}

mod third {
    use super::*;
    #[flow(name = "poll", version = 3, upcast(1 => sized, 2 => in_lines))]
    pub(super) async fn poll(ctx: Ctx, at: Cursor3) -> loom::Result<String> {
        ctx.run(tell(format!("line {}", at.offset))).await?;
        if ctx.suspend::<bool>("more").await? {
            return ctx.continue_as_new(poll(Cursor3 { offset: at.offset + 1 })).await;
        }
        Ok(format!("line {}", at.offset))
    }
}

mod without_first {
    use super::*;
    #[flow(name = "poll", version = 3, upcast(2 => in_lines))]
    pub(super) async fn poll(ctx: Ctx, at: Cursor3) -> loom::Result<String> {
        ctx.run(tell(format!("line {}", at.offset))).await?;
        ctx.suspend::<bool>("more").await?;
        Ok(format!("line {}", at.offset))
    }
}

mod undeclared {
    use super::*;
    #[flow(name = "poll")]
    pub(super) async fn poll(ctx: Ctx, at: Cursor3) -> loom::Result<String> {
        ctx.run(tell(format!("line {}", at.offset))).await?;
        ctx.suspend::<bool>("more").await?;
        Ok(format!("line {}", at.offset))
    }
}

fn old() -> Registry {
    registry!(flows: [first::poll], steps: [tell])
}

fn new() -> Registry {
    registry!(flows: [third::poll], steps: [tell])
}

/// Starts in the first release, up to the gate of its second run.
async fn polled(rig: &Rig, page: u32) -> ExecutionId {
    let app = rig.app(old()).await;
    let handle = app.start(first::poll(Cursor1 { page })).id("poll").await.unwrap();
    waits(&app, 0).await;
    handle.resume("more", &true, "ada").await.unwrap();
    waits(&app, 1).await;
    app.shutdown(Duration::from_secs(1)).await;
    id("poll")
}

/// Waits until this run waits for its gate.
async fn waits(app: &App, run: u64) {
    until(|| async {
        let state = app.state(&id("poll"), None).await.unwrap();
        state.status == Status::Suspended && state.run == run
    })
    .await;
}

fn lined(old: Kid1) -> Kid2 {
    Kid2 { lines: old.page * 10 }
}
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Kid1 {
    page: u32,
}
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Kid2 {
    lines: u32,
}
impl Default for Kid1 {
    fn default() -> Self {
        Self { page: 4 }
    }
}
impl Default for Kid2 {
    fn default() -> Self {
        Self { lines: 44 }
    }
}
mod kids_before {
    use super::*;
    #[flow]
    pub(super) async fn kid(ctx: Ctx, of: Kid1) -> loom::Result<String> {
        ctx.run(tell(format!("page {}", of.page))).await
    }
    #[flow]
    pub(super) async fn parent(ctx: Ctx) -> loom::Result<String> {
        ctx.call(kid(Default::default())).await
    }
}
mod kids_after {
    use super::*;
    #[flow(version = 2, upcast(1 => lined))]
    pub(super) async fn kid(ctx: Ctx, of: Kid2) -> loom::Result<String> {
        ctx.run(tell(format!("line {}", of.lines))).await
    }
    #[flow]
    pub(super) async fn parent(ctx: Ctx) -> loom::Result<String> {
        ctx.call(kid(Default::default())).await
    }
}

on_every_store! {
    /// K11: an open run of an older version goes on, is noted with both versions, and hands the new one to the next run.
    async fn k11_an_input_of_an_older_version_is_brought_to_that_of_today(rig: Rig) {
        let id = polled(&rig, 3).await;
        let app = rig.app(new()).await;
        app.work();
        let handle = app.handle::<third::poll>(&id);
        handle.resume("more", &true, "ada").await.unwrap();
        waits(&app, 2).await;
        let log_so_far = log(&app, &id).await;
        let noted: Vec<_> = log_so_far
            .iter()
            .filter_map(|envelope| match &envelope.event {
                Event::ExecutionMigrated(migrated) => Some(migrated.input),
                _ => None,
            })
            .collect();
        assert_eq!(noted, [Some(Upcasted { from: 1, to: 3 })]);
        let versions: Vec<_> = log_so_far
            .iter()
            .filter_map(|envelope| match &envelope.event {
                Event::ExecutionStarted(started) => Some((started.input_version, started.input.to_string())),
                Event::ContinuedAsNew(run) => Some((run.input_version, run.input.to_string())),
                _ => None,
            })
            .collect();
        let expected = [(1, r#"{"page":3}"#), (1, r#"{"page":4}"#), (3, r#"{"offset":41}"#)];
        assert_eq!(versions, expected.map(|(version, input)| (version, input.to_owned())), "4 pages of 10, and 1");
        handle.resume("more", &false, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), "line 41");
        assert_eq!(rig.world.count("tell"), 3, "no step was run again");
        // The log keeps what was written, and passes a check by the code that goes on, from every run.
        replay_check(&new(), &log(&app, &id).await).unwrap();
    }

    /// A version that nothing reads parks, says what to write, and goes on when that is there.
    async fn a_missing_upcaster_parks_with_help_and_goes_on_when_it_is_there(rig: Rig) {
        let id = polled(&rig, 3).await;
        let app = rig.app(registry!(flows: [without_first::poll], steps: [tell])).await;
        app.work();
        app.handle::<third::poll>(&id).resume("more", &false, "ada").await.unwrap();
        let report = report(&app, &id).await;
        assert_eq!(report.fault, Fault::Undecodable);
        assert!(report.message.contains("version 1; this program writes 3"), "{report}");
        assert!(report.message.contains("`1 => from_v1`"), "{report}");
        assert!(report.help.contains("upcasters") && report.wants.is_some(), "{report}");
        let base = app.row(&id).await.unwrap().base;
        assert!(base > 0 && report.sequence == Some(base), "the input is that of the second run: {report}");
        app.shutdown(Duration::ZERO).await;
        let app = rig.app(new()).await;
        app.work();
        assert_eq!(app.handle::<third::poll>(&id).result_after_parking(&app).await, "line 40");
    }

    /// An upcaster that fails is named, and says why; what it was given is not told.
    async fn an_upcaster_that_fails_is_named(rig: Rig) {
        let id = polled(&rig, u32::MAX - 1).await;
        let app = rig.app(new()).await;
        app.work();
        app.handle::<third::poll>(&id).resume("more", &false, "ada").await.unwrap();
        let report = report(&app, &id).await;
        assert!(report.message.contains("the upcaster of version 2, `in_lines`, says: too far"), "{report}");
        assert!(!report.to_string().contains("4294967"), "{report}");
    }

    /// A changed type without a version parks, and the help says how versions are declared.
    async fn a_changed_type_without_a_version_parks_with_help(rig: Rig) {
        let id = polled(&rig, 3).await;
        let app = rig.app(registry!(flows: [undeclared::poll], steps: [tell])).await;
        app.work();
        app.handle::<third::poll>(&id).resume("more", &false, "ada").await.unwrap();
        let report = report(&app, &id).await;
        assert!(report.help.contains("#[flow(version = 2, upcast(1 => from_v1))]"), "{report}");
    }

    /// A program that is older than the input does not guess: it waits for one that is as new.
    async fn an_input_of_a_newer_version_waits_for_a_newer_program(rig: Rig) {
        let app = rig.app(new()).await;
        app.start(third::poll(Cursor3 { offset: 7 })).id("poll").await.unwrap();
        waits(&app, 0).await;
        app.shutdown(Duration::from_secs(1)).await;
        let app = rig.app(old()).await;
        app.work();
        app.handle::<third::poll>(&id("poll")).resume("more", &false, "ada").await.unwrap();
        let report = report(&app, &id("poll")).await;
        assert!(report.message.contains("newer program") && report.help.contains("at least as new"), "{report}");
        app.shutdown(Duration::ZERO).await;
        let app = rig.app(new()).await;
        app.work();
        assert_eq!(app.handle::<third::poll>(&id("poll")).result_after_parking(&app).await, "line 7");
    }

    /// A child that was asked for in one release, and is first started in the next, has the input of the former: it is
    /// upcast like any other. The parent's own code is the same in both, and computes the input of the latter.
    async fn a_child_s_input_keeps_the_version_that_it_was_asked_for_with(rig: Rig) {
        let process = Process::start(&rig, registry!(flows: [kids_before::kid, kids_before::parent], steps: [tell])).await;
        process.tap.stop_at(0, true); // the parent, what it asks for, and not the child
        let app = process.app.clone();
        process.run(async move { app.start(kids_before::parent()).id("p").await.map(drop).unwrap() }).await;
        process.tap.stopped().await;
        process.kill();
        let app = rig.app(registry!(flows: [kids_after::kid, kids_after::parent], steps: [tell])).await;
        app.work();
        assert_eq!(app.handle::<kids_after::parent>(&id("p")).result().await.unwrap(), "line 40");
        let Event::ExecutionStarted(kid) = &log(&app, &id("p:kid")).await[0].event else { panic!() };
        assert_eq!(kid.input_version, 1);
    }
}

trait AfterParking {
    async fn result_after_parking(&self, app: &App) -> String;
}

impl AfterParking for loom::Handle<third::poll> {
    /// A parked execution is tried again by a program that fits, which takes a moment.
    async fn result_after_parking(&self, app: &App) -> String {
        until(|| async { app.row(self.id()).await.unwrap().status.is_terminal() }).await;
        self.result().await.unwrap()
    }
}
