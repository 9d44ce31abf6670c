//! Plans are carried out, killed in the middle and taken up, declined, taken back, denied.
//! Not a simulation: the process that dies is killed by the system, and the file is a real one.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by failing")]

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::Duration,
};

use loom::{App, ExecutionError, Handle, Status, kernel::Kind};
use schema_migration_planner::{
    migrate::{Approval, Report, migrate},
    parts,
    plan::Plan,
    steps::MigrationError,
    target::Target,
};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(60);

fn the_plan() -> Value {
    serde_json::from_str(include_str!("../plan.json")).unwrap()
}

/// A folder with a plan in it.
struct Place(tempfile::TempDir);

impl Place {
    fn with(plan: &Value) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        std::fs::write(place.plan(), plan.to_string()).unwrap();
        place
    }

    fn plan(&self) -> String {
        self.0.path().join("plan.json").display().to_string()
    }

    fn people(&self) -> PathBuf {
        self.0.path().join("people.db")
    }

    async fn target(&self) -> Target {
        Target::open(&self.people()).await.unwrap()
    }

    async fn app(&self) -> App {
        parts(&self.0.path().join("loom.db"), self.target().await).await.unwrap().build().unwrap()
    }

    async fn start(&self, app: &App) -> Handle<migrate> {
        app.start(migrate(self.plan())).id("run").await.unwrap()
    }
}

async fn result(run: &Handle<migrate>) -> Result<Report, ExecutionError<MigrationError>> {
    tokio::time::timeout(PATIENCE, run.result()).await.expect("it ends")
}

async fn failure(run: &Handle<migrate>) -> MigrationError {
    match result(run).await {
        Err(ExecutionError::Failed(error)) => error,
        other => panic!("{other:?}"),
    }
}

async fn answer(run: &Handle<migrate>, approved: bool) {
    tokio::time::timeout(PATIENCE, run.until(&[Status::Suspended])).await.expect("it asks").unwrap();
    run.resume("destroy", &Approval { approved }, "ada").await.unwrap();
}

/// The log replays, and says the same of itself at every prefix.
async fn replays(app: &App) {
    let log = app.log(&"run".parse().unwrap(), 0, 10_000).await.unwrap();
    loom::replay_check(app.registry(), &log).unwrap();
}

/// The child: begins, and dies by SIGKILL after the n-th change of the file, before its step could return. Does
/// nothing when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(folder) = std::env::var("KILL_IN") else { return };
    let at: usize = std::env::var("KILL_AT").unwrap().parse().unwrap();
    let folder = Path::new(&folder);
    let changes = AtomicUsize::new(0);
    let target = Target::open(&folder.join("people.db")).await.unwrap().after_each(move |_| {
        if changes.fetch_add(1, SeqCst) + 1 == at {
            let pid = std::process::id().to_string();
            let _ = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        }
    });
    let app = parts(&folder.join("loom.db"), target).await.unwrap().build().unwrap();
    let plan = folder.join("plan.json").display().to_string();
    let run = app.start(migrate(plan)).id("run").await.unwrap();
    answer(&run, true).await;
    let _ = result(&run).await;
}

/// Killed after the first change, in the middle of the loops, and after somebody had agreed; then taken up here.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_migration_goes_on_and_does_nothing_twice() {
    for at in [1, 4, 8] {
        let place = Place::with(&the_plan());
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child", "--nocapture", "--test-threads=1"])
            .env("KILL_IN", place.0.path())
            .env("KILL_AT", at.to_string())
            .stdout(std::process::Stdio::null())
            .status()
            .unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9), "it was killed");
        // Somebody rewrites the plan meanwhile: what was read is recorded.
        std::fs::write(place.plan(), "{}").unwrap();
        let app = place.app().await;
        let run = place.start(&app).await;
        app.work();
        if at < 8 {
            answer(&run, true).await;
        }
        let report = result(&run).await.unwrap();
        assert_eq!(report.done, ["add", "fill", "verify", "drop-first", "drop-last"]);
        let target = place.target().await;
        for (table, people) in [("customers", 8), ("suppliers", 4)] {
            assert_eq!(target.columns(table).await.unwrap(), ["id", "name"]);
            let full = format!("SELECT count(*) FROM {table} WHERE name LIKE 'Ada% Of {table}'");
            assert_eq!(target.count(full).await.unwrap(), people);
        }
        // 8 rows by 3 are three batches, 4 are two: each is there once, wherever the process died.
        let mut applied = target.applied().await.unwrap();
        applied.sort();
        assert_eq!(
            applied,
            [
                "add customers.name",
                "add suppliers.name",
                "drop customers.first",
                "drop customers.last",
                "drop suppliers.first",
                "drop suppliers.last",
                "fill customers.name",
                "fill customers.name",
                "fill customers.name",
                "fill suppliers.name",
                "fill suppliers.name",
            ]
        );
        replays(&app).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_migration_is_taken_back() {
    let place = Place::with(&the_plan());
    let app = place.app().await;
    let run = place.start(&app).await;
    answer(&run, false).await;
    assert_eq!(failure(&run).await, MigrationError::Declined("somebody said no".into()));
    let target = place.target().await;
    assert_eq!(target.columns("customers").await.unwrap(), ["id", "first", "last"]);
    assert_eq!(target.columns("suppliers").await.unwrap(), ["id", "first", "last"]);
    replays(&app).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_check_takes_everything_back() {
    let place = Place::with(&the_plan());
    // Somebody without a last name has no name by this plan.
    let target = place.target().await;
    target.count("UPDATE customers SET last = NULL WHERE id = 3 RETURNING id".into()).await.unwrap();
    let app = place.app().await;
    let run = place.start(&app).await;
    match failure(&run).await {
        MigrationError::TakenBack { node, code, message, undone } => {
            assert_eq!((node.as_str(), code.as_str(), undone), ("verify", "NotFilled", 2));
            assert!(message.contains("not as the plan expects them"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(target.columns("customers").await.unwrap(), ["id", "first", "last"]);
    assert_eq!(target.columns("suppliers").await.unwrap(), ["id", "first", "last"]);
    replays(&app).await;
}

/// What a plan has not done it does not take back: the column that stands in its way is somebody else's.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_migration_leaves_what_was_there_before() {
    let place = Place::with(&the_plan());
    let app = place.app().await;
    let run = place.start(&app).await;
    answer(&run, true).await;
    result(&run).await.unwrap();
    let again = app.start(migrate(place.plan())).id("again").await.unwrap();
    match failure(&again).await {
        MigrationError::TakenBack { node, undone, .. } => assert_eq!((node.as_str(), undone), ("add", 0)),
        other => panic!("{other:?}"),
    }
    let target = place.target().await;
    assert_eq!(target.columns("customers").await.unwrap(), ["id", "name"]);
    let named = "SELECT count(*) FROM customers WHERE name IS NOT NULL".into();
    assert!(target.count(named).await.unwrap() > 0);
}

/// A plan that does not say that it destroys something is not believed; nor is one whose inputs do not fit.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_cannot_do_more_than_the_flow_may() {
    for (pointer, value, code) in [
        ("/nodes/3/destructive", json!(false), "denied"),
        ("/nodes/1/input/batch", json!("many"), "invalid_input"),
        ("/nodes/1/step", json!("fill_in_by_hand"), "unknown_step"),
    ] {
        let mut plan = the_plan();
        *plan.pointer_mut(pointer).unwrap() = value;
        let place = Place::with(&plan);
        let app = place.app().await;
        let run = place.start(&app).await;
        match failure(&run).await {
            MigrationError::TakenBack { code: found, undone: 2, .. } => assert_eq!(found, code),
            other => panic!("{pointer}: {other:?}"),
        }
        let columns = place.target().await.columns("customers").await.unwrap();
        assert_eq!(columns, ["id", "first", "last"], "{pointer}");
        let log = app.log(run.id(), 0, 10_000).await.unwrap();
        let denied = log.iter().filter(|e| e.event.kind() == Kind::EffectDenied).count();
        assert_eq!(denied, if code == "denied" { 2 } else { 0 });
        replays(&app).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_makes_no_sense_touches_nothing() {
    let place = Place::with(&json!({"name": "none", "nodes": [{"id": "a"}]}));
    let app = place.app().await;
    let run = place.start(&app).await;
    let MigrationError::BadPlan(reason) = failure(&run).await else { panic!() };
    assert!(reason.contains("missing field `step`"), "{reason}");
    assert!(place.target().await.applied().await.unwrap().is_empty());
}

#[test]
fn orders_are_found_and_mistakes_named() {
    let stages = |nodes: Value| {
        serde_json::from_value::<Plan>(json!({"name": "p", "nodes": nodes})).unwrap().stages().map(|stages| {
            let ids = |nodes: Vec<_>| {
                nodes
                    .into_iter()
                    .map(|node: schema_migration_planner::plan::Node| node.id)
                    .collect::<Vec<_>>()
            };
            (ids(stages.safe), ids(stages.destructive))
        })
    };
    let node = |id: &str, after: &[&str], destructive: bool| json!({"id": id, "step": "s", "after": after, "input": {}, "destructive": destructive});
    let (safe, destructive) = stages(json!([
        node("d", &["c"], false),
        node("c", &["a"], true),
        node("b", &["a"], false),
        node("a", &[], false),
    ]))
    .unwrap();
    assert_eq!((safe, destructive), (vec!["a".into(), "b".into()], vec!["c".into(), "d".into()]));
    for (nodes, says) in [
        (json!([node("a", &[], false), node("a", &[], false)]), "two nodes are named `a`"),
        (json!([node("a", &["x"], false)]), "`a` comes after `x`"),
        (json!([node("a", &["b"], false), node("b", &["a"], false)]), "`a` comes after itself"),
    ] {
        let reason = stages(nodes).unwrap_err();
        assert!(reason.contains(says), "{reason}");
    }
}
