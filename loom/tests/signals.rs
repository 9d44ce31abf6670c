//! What programs tell through `tracing`, held against the table in the operations guide: names, levels, fields.
//! Not what the events of a log are: those are the kernel's.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use loom::{
    App, AppBuilder, Entry, ExecutionId, Registry, Status,
    ports::{ClaimRequest, LeaseStore},
    prelude::*,
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};

/// A name, as it is written in the table: its level, and its fields in order of the alphabet.
type Signal = (String, String, BTreeSet<String>);

const GUIDE: &str = include_str!("../docs/operations.md");

fn documented() -> BTreeSet<Signal> {
    let table = GUIDE.split("| name | level | fields | when |").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let fields = cells[3].split_whitespace().map(|field| field.trim_matches('`').to_owned());
        (cells[1].trim_matches('`').to_owned(), cells[2].to_owned(), fields.collect())
    })
    .collect()
}

/// Collects what it hears of this project.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<BTreeSet<Signal>>>);

impl Ear {
    fn heard(&self, of: &Metadata<'_>, name: String) {
        let fields = of.fields().iter().map(|field| field.name().to_owned());
        let fields = fields.filter(|field| field != "message").collect();
        self.0.lock().unwrap().insert((name, of.level().to_string().to_lowercase(), fields));
    }
}

impl Subscriber for Ear {
    fn enabled(&self, of: &Metadata<'_>) -> bool {
        ["loom_runtime", "sqlite"].iter().any(|ours| of.target().split("::").next() == Some(ours))
            && *of.level() <= Level::TRACE
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.heard(span.metadata(), span.metadata().name().to_owned());
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.heard(event.metadata(), message.0);
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[step(retry(attempts = 3, initial = "1ms"))]
async fn unsteady(step: StepCx) -> loom::Result<u32> {
    if step.attempt() == 1 { Err(loom::Error::msg("not yet")) } else { Ok(1) }
}

#[step(at_most_once)]
async fn broken() -> loom::Result<u32> {
    panic!("a bug after the charge")
}

#[flow]
async fn working(ctx: Ctx, run: u32) -> loom::Result<u32> {
    ctx.run(unsteady()).await?;
    if run == 0 {
        return ctx.continue_as_new(working(1)).await;
    }
    ctx.suspend::<bool>("gate").await?;
    Ok(run)
}

#[flow]
async fn doubtful(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(broken()).await
}

fn parts() -> AppBuilder {
    App::builder().registry(Registry::of([
        Entry::flow::<working>(),
        Entry::flow::<doubtful>(),
        Entry::step::<unsteady>(),
        Entry::step::<broken>(),
    ]))
}

/// What an operator relies on, in one small run on SQLite.
const EXPECTED: [&str; 18] = [
    "appended",
    "attempt",
    "attempt ended",
    "attempt started",
    "claimed",
    "committed",
    "dead letter",
    "effect in doubt",
    "execution let go",
    "execution parked",
    "execution started",
    "execution taken up",
    "registered",
    "run continued as new",
    "taken over from a lost owner",
    "worker draining",
    "worker started",
    "worker stopped",
];

#[tokio::test]
async fn a_run_tells_what_the_guide_says() {
    let ear = Ear::default();
    tracing::subscriber::set_global_default(ear.clone()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path().join("app.db")).await.unwrap();
    let app = parts().store(store.clone()).build().unwrap();
    let parked = app.start(doubtful()).await.unwrap();
    assert_eq!(parked.until(&[Status::Parked]).await.unwrap(), Status::Parked);
    let id: ExecutionId = "order-7".parse().unwrap();
    let waiting = app.start(working(0)).id(id.as_str()).await.unwrap();
    waiting.until(&[Status::Suspended]).await.unwrap();
    app.send(&id, "nobody-reads-this", &1).await.unwrap();
    app.shutdown(seconds(5)).await;
    // A worker takes it up with the answer, and is never heard of again.
    let next = parts().store(store.clone()).build().unwrap();
    next.handle::<working>(&id).resume("gate", &true, "ann").await.unwrap();
    let now = next.now();
    let gone = ClaimRequest {
        worker: "gone".into(),
        now,
        until: now,
        limit: 1,
        execution: Some(id.clone()),
        flows: None,
        program: None,
    };
    assert_eq!(store.claim(&gone).await.unwrap().len(), 1);
    next.work();
    assert_eq!(next.handle::<working>(&id).result().await.unwrap(), 1);
    next.shutdown(seconds(5)).await;

    let heard = ear.0.lock().unwrap().clone();
    let documented = documented();
    let strange: Vec<_> = heard.difference(&documented).collect();
    assert!(
        strange.is_empty(),
        "not in loom/docs/operations.md, or with another level or fields: {strange:#?}"
    );
    let names: BTreeSet<_> = heard.iter().map(|(name, ..)| name.as_str()).collect();
    let silent: Vec<_> = EXPECTED.iter().filter(|name| !names.contains(*name)).collect();
    assert!(silent.is_empty(), "not heard: {silent:?}; heard: {names:?}");
}

/// Every call of a `tracing` macro in a file, with the file.
fn told_in(path: &Path, all: &mut BTreeMap<Signal, String>) {
    let source = fs::read_to_string(path).unwrap();
    for call in source.split("tracing::").skip(1) {
        let Some((level, rest)) = call.split_once("!(") else { continue };
        if !["trace", "debug", "info", "warn", "error", "info_span"].contains(&level) {
            continue;
        }
        let arguments = arguments(rest);
        let name = arguments.iter().find(|argument| argument.starts_with('"')).unwrap();
        let fields = arguments.iter().filter(|a| !a.starts_with('"') && !a.starts_with("parent:"));
        let fields = fields.map(|field| {
            let field = field.split('=').next().unwrap().trim();
            field.trim_start_matches(['%', '?']).to_owned()
        });
        let signal =
            (name.trim_matches('"').to_owned(), level.trim_end_matches("_span").to_owned(), fields.collect());
        all.insert(signal, path.display().to_string());
    }
}

/// The arguments of a call, from behind its opening parenthesis on.
fn arguments(rest: &str) -> Vec<String> {
    let (mut all, mut depth, mut quoted) = (vec![String::new()], 0, false);
    for c in rest.chars() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => break,
            ')' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                all.push(String::new());
                continue;
            }
            _ => {}
        }
        all.last_mut().unwrap().push(c);
    }
    all.iter().map(|argument| argument.trim().to_owned()).filter(|argument| !argument.is_empty()).collect()
}

fn sources(folder: &Path, all: &mut BTreeMap<Signal, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            told_in(&path, all);
        }
    }
}

#[test]
fn the_guide_lists_everything_that_is_told() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut told = BTreeMap::new();
    let rooms = ["loom-runtime", "loom/coordination"];
    for folder in rooms.into_iter().chain(["adapters/sqlite", "adapters/postgres", "adapters/shards"]) {
        sources(&root.join(folder).join("src"), &mut told);
    }
    let documented = documented();
    let missing: Vec<_> = told.iter().filter(|(signal, _)| !documented.contains(*signal)).collect();
    assert!(missing.is_empty(), "add these to loom/docs/operations.md: {missing:#?}");
    let gone: Vec<_> = documented.iter().filter(|signal| !told.contains_key(*signal)).collect();
    assert!(gone.is_empty(), "loom/docs/operations.md tells of what is told no more: {gone:#?}");
}
