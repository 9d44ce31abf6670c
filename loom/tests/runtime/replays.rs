//! Replay checks of many logs: of a store, of a directory, over runs and children, against code that has changed.
//! Not the check of one log: `checks.rs` has that.

use std::{collections::BTreeMap, path::Path, sync::Mutex};

use loom::{
    App, CheckedLogs, FrozenLog, LogSource, LogSourceError, Registry, Status, kernel::Fault,
    ports::ListFilter, prelude::*, replay_check, replay_check_all,
};

use crate::support::{Rig, World, id, log, on_every_store, patiently, registry};

#[step]
async fn tally(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("tally");
    Ok(n + 1)
}

#[step]
async fn other_tally(n: u32) -> loom::Result<u32> {
    Ok(n + 1)
}

/// Three runs, each with a step and a child.
#[flow]
async fn rounds(ctx: Ctx, n: u32) -> loom::Result<u32> {
    let n = ctx.run(tally(n)).await?;
    ctx.call(leaf(n)).await?;
    if n < 3 { ctx.continue_as_new(rounds(n)).await } else { Ok(n) }
}

#[flow]
async fn leaf(ctx: Ctx, n: u32) -> loom::Result<u32> {
    ctx.run(tally(n)).await
}

mod later {
    //! The flows of a later release, under the same names.
    use super::*;

    /// Computes another input and another outcome, and asks for the same.
    #[flow(name = "leaf")]
    pub(super) async fn shifted(ctx: Ctx, n: u32) -> loom::Result<u32> {
        Ok(ctx.run(tally(n + 100)).await? + 1)
    }

    /// Asks for another step from the third run on.
    #[flow(name = "rounds")]
    pub(super) async fn strays(ctx: Ctx, n: u32) -> loom::Result<u32> {
        let n = match n {
            2 => ctx.run(other_tally(n)).await?,
            _ => ctx.run(tally(n)).await?,
        };
        ctx.call(leaf(n)).await?;
        if n < 3 { ctx.continue_as_new(strays(n)).await } else { Ok(n) }
    }

    /// Waits where the first release is done.
    #[flow(name = "leaf")]
    pub(super) async fn waits(ctx: Ctx, n: u32) -> loom::Result<u32> {
        let n = ctx.run(tally(n)).await?;
        ctx.suspend::<bool>("sure").await?;
        Ok(n)
    }
}

/// How often the fickle flow was polled from its start, on each store.
static REPLAYS: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());

fn replays(store: String) -> u32 {
    let mut replays = REPLAYS.lock().unwrap();
    let count = replays.entry(store).or_default();
    *count += 1;
    *count
}

/// Every fourth time it does something else.
#[flow]
async fn fickle(ctx: Ctx, store: String) -> loom::Result<u32> {
    let first = ctx.run(tally(0)).await?;
    ctx.run(tally(first)).id("second").await?;
    if replays(store).is_multiple_of(4) {
        return ctx.run(tally(9)).id("odd").await;
    }
    ctx.run(tally(1)).id("even").await
}

fn all() -> Registry {
    registry!(flows: [rounds, leaf, fickle], steps: [tally, other_tally])
}

async fn run_rounds(app: &App, name: &str) {
    assert_eq!(app.start(rounds(0)).id(name).await.unwrap().result().await.unwrap(), 3);
}

async fn of_store(registry: &Registry, app: &App) -> CheckedLogs {
    let source = LogSource::Store(app.store(), ListFilter::default());
    replay_check_all(registry, source, |_| {}).await.unwrap()
}

async fn freeze(app: &App, directory: &Path, from_base: bool) {
    for row in app.list(&ListFilter::default()).await.unwrap() {
        let frozen = FrozenLog::of(app, &row.id, if from_base { row.base } else { 0 }).await.unwrap();
        std::fs::write(directory.join(frozen.file_name()), frozen.text()).unwrap();
    }
}

on_every_store! {
    /// Logs with runs and children pass from their beginning and from their current run, as stored and as frozen.
    async fn runs_and_children_are_checked(rig: Rig) {
        let app = rig.app(all()).await;
        run_rounds(&app, "one").await;
        let steps = rig.world.count("tally");
        let checked = of_store(&all(), &app).await;
        assert_eq!((checked.logs, checked.foreign, checked.diverged), (4, 0, vec![]));
        for from_base in [false, true] {
            let dir = tempfile::tempdir().unwrap();
            freeze(&app, dir.path(), from_base).await;
            let mut told = Vec::new();
            let source = LogSource::Directory(dir.path().into());
            let frozen = replay_check_all(&all(), source, |logs| told.push(logs)).await.unwrap();
            assert_eq!((frozen.logs, &frozen.diverged), (4, &vec![]));
            assert_eq!(told, [1, 2, 3, 4]);
            assert_eq!(frozen.events == checked.events, !from_base);
        }
        assert_eq!(rig.world.count("tally"), steps, "a check runs no step");
    }

    /// What only the third run does otherwise is found there, and named; from the log's current run as well.
    async fn a_divergence_in_a_later_run_is_found(rig: Rig) {
        let app = rig.app(all()).await;
        run_rounds(&app, "one").await;
        let program = registry!(flows: [later::strays, leaf], steps: [tally, other_tally]);
        let checked = of_store(&program, &app).await;
        let [found] = &checked.diverged[..] else { panic!("{checked:?}") };
        assert_eq!((found.log.as_str(), found.report.fault), ("one", Fault::Divergence));
        assert!(found.report.message.contains("in run 2"), "{}", found.report);
        let base = app.row(&id("one")).await.unwrap().base;
        let run = app.log(&id("one"), base, 1_000).await.unwrap();
        assert_eq!(replay_check(&program, &run).unwrap_err().sequence, found.report.sequence);
    }

    /// Other code may compute other inputs and another value, but not wait where the log has ended; flows that it does
    /// not have are another program's.
    async fn changed_code_is_held_to_what_a_worker_holds_it_to(rig: Rig) {
        let app = rig.app(all()).await;
        run_rounds(&app, "one").await;
        let shifted = of_store(&registry!(flows: [later::shifted], steps: [tally]), &app).await;
        assert_eq!((shifted.logs, shifted.foreign, shifted.diverged), (3, 1, vec![]));
        let waits = of_store(&registry!(flows: [later::waits], steps: [tally]), &app).await;
        assert_eq!(waits.diverged.len(), 3);
        assert!(waits.diverged.iter().all(|found| found.report.fault == Fault::Divergence));
    }

    /// After a migration the log has been written by two programs, and each half is held to its own.
    async fn a_migrated_log_agrees_with_the_program_that_took_it_over(rig: Rig) {
        mod first {
            use super::*;
            #[flow(name = "moved")]
            pub(super) async fn moved(ctx: Ctx, n: u32) -> loom::Result<u32> {
                let n = ctx.run(tally(n)).await?;
                ctx.suspend::<bool>("go").await?;
                ctx.run(tally(n)).id("last").await
            }
        }
        mod second {
            use super::*;
            #[flow(name = "moved")]
            pub(super) async fn moved(ctx: Ctx, n: u32) -> loom::Result<u32> {
                let n = ctx.run(tally(n + 50)).await?;
                ctx.suspend::<bool>("go").await?;
                ctx.run(tally(n + 50)).id("last").await
            }
        }
        let (one, two) = (registry!(flows: [first::moved], steps: [tally]), registry!(flows: [second::moved], steps: [tally]));
        let app = rig.app(one.clone()).await;
        let handle = app.start(first::moved(1)).id("m").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        app.shutdown(std::time::Duration::ZERO).await;
        let app = rig.app(two.clone()).await;
        app.work();
        let handle = app.handle::<second::moved>(&id("m"));
        handle.resume("go", &true, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 53);
        let log = log(&app, &id("m")).await;
        replay_check(&two, &log).unwrap();
        replay_check(&one, &log).unwrap();
    }

    /// B05: what diverges on one replay in four is found by a check, although it ran without a word.
    async fn b05_a_flow_that_diverges_now_and_then_fails_the_check(rig: Rig) {
        let app = rig.app(all()).await;
        app.start(fickle(rig.name().into())).id("f").await.unwrap().result().await.unwrap();
        let checked = of_store(&all(), &app).await;
        let [found] = &checked.diverged[..] else { panic!("{checked:?}") };
        assert_eq!(found.report.fault, Fault::Divergence);
        assert!(found.report.near.as_ref().unwrap().file.ends_with("replays.rs"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_are_no_logs_are_findings() {
    patiently(async {
        let app = Rig::memory().app(all()).await;
        run_rounds(&app, "one").await;
        let dir = tempfile::tempdir().unwrap();
        let source = || LogSource::Directory(dir.path().into());
        let empty = replay_check_all(&all(), source(), |_| {}).await;
        assert!(matches!(empty, Err(LogSourceError::Empty(_))), "a check of nothing does not pass");
        freeze(&app, dir.path(), false).await;
        let whole = std::fs::read_to_string(dir.path().join("one.jsonl")).unwrap();
        std::fs::write(dir.path().join("README.md"), "no log").unwrap();
        std::fs::write(dir.path().join("empty.jsonl"), "").unwrap();
        std::fs::write(dir.path().join("half.jsonl"), &whole[..whole.len() - 20]).unwrap();
        let without_start = whole.split_once('\n').unwrap().1;
        std::fs::write(dir.path().join("late.jsonl"), without_start).unwrap();
        std::fs::write(dir.path().join("newer.jsonl"), whole.replace("CHILD_STARTED", "CHILD_ADOPTED"))
            .unwrap();
        let checked = replay_check_all(&all(), source(), |_| {}).await.unwrap();
        assert_eq!(checked.logs, 8);
        let found: Vec<_> =
            checked.diverged.iter().map(|found| (found.log.as_str(), found.report.fault)).collect();
        let expected = ["empty.jsonl", "half.jsonl", "late.jsonl", "newer.jsonl"];
        assert_eq!(found, expected.map(|name| (name, Fault::UnreadableLog)));
        let cut =
            format!("line {} is no event of a frozen log: expected one as a whole", whole.lines().count());
        let says =
            ["expected the start of an execution in line 1", &cut, "does not begin with EXECUTION_STARTED"];
        for (found, says) in checked.diverged.iter().zip(says) {
            let report = &found.report;
            assert!(
                report.message.contains(says) && report.help.contains("damaged or cut short"),
                "{report}"
            );
        }
        assert!(
            checked.diverged[3].report.help.contains("at least as new"),
            "{}",
            checked.diverged[3].report
        );
        // Of a directory every file counts, whatever this program has.
        let lacking = registry!(flows: [leaf], steps: [tally]);
        let checked = replay_check_all(&lacking, source(), |_| {}).await.unwrap();
        assert!(
            checked
                .diverged
                .iter()
                .any(|found| found.log == "one.jsonl" && found.report.fault == Fault::MissingFlow)
        );
    })
    .await;
}
