//! Verbs that go on until somebody stops them, and stores that fail.
//! Not single commands that end by themselves: `life.rs` has those.

use std::time::Duration;

use cli::{Exit, Stop};
use loom::ports::{Membership, Shard};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    made::{Made, claimed, divergent},
    support::{Pipe, Shell, broken::Broken, words},
};

/// A command that runs in the background.
struct Running {
    out: Pipe,
    err: Pipe,
    signals: mpsc::UnboundedSender<()>,
    ended: tokio::task::JoinHandle<Exit>,
}

fn begin(shell: &Shell, line: &str) -> Running {
    let (out, err) = (Pipe::default(), Pipe::default());
    let (signals, stop) = mpsc::unbounded_channel();
    let mut console = shell.console(&out, &err, "");
    console.stop = Stop::Channel(stop);
    let (app, line) = (shell.app(), words(line));
    let ended = tokio::spawn(async move { cli::run_with(app, line, &mut console).await });
    Running { out, err, signals, ended }
}

impl Running {
    async fn has_said(&self, pipe: &Pipe, part: &str) {
        for _ in 0..500 {
            if pipe.text().contains(part) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{part:?} was never said: {} {}", self.out.text(), self.err.text());
    }
}

#[tokio::test]
async fn a_worker_takes_up_what_is_due_until_it_is_stopped() {
    let shell = Shell::default();
    shell.run("start till --id c --input 5 --detach").await.ends(Exit::Done);
    let logs = begin(&shell, "logs c --follow");
    logs.has_said(&logs.out, "EXECUTION_STARTED").await;
    let worker = begin(&shell, "worker --grace 2s");
    logs.has_said(&logs.out, "EXECUTION_COMPLETED").await;
    assert_eq!(logs.ended.await.unwrap(), Exit::Done);
    worker.signals.send(()).unwrap();
    assert_eq!(worker.ended.await.unwrap(), Exit::Done);
    let said = worker.err.text();
    assert!(said.starts_with("working: 14 flows, 6 steps") && said.ends_with("stopped\n"), "{said}");
}

#[tokio::test]
async fn a_worker_tells_programs_what_it_does() {
    let shell = Shell::default();
    let worker = begin(&shell, "worker --json");
    worker.has_said(&worker.out, "working").await;
    worker.signals.send(()).unwrap();
    assert_eq!(worker.ended.await.unwrap(), Exit::Done);
    let last = worker.out.text();
    let last: serde_json::Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!(last, json!({"event": "stopped", "clean": true}));
    shell.run("worker --grace soon").await.ends(Exit::Usage).warns("30s");
}

/// One of several databases, without a slot of its own.
async fn one_of_several() -> Shell {
    let shell = Shell::default();
    let member = Membership { name: "two".into(), fleet: "f".into(), ordinal: 1 };
    shell.store.join(&member, false, 0).await.unwrap();
    shell
}

#[tokio::test]
async fn one_of_several_databases_says_so() {
    let shell = one_of_several().await;
    let warning = "warning: this is database `two`, one of several, with 0 of 1024 slots";
    shell.run("list").await.ends(Exit::Done).warns(warning).warns("Shards::open");
    let said = shell.run("list --json").await.ends(Exit::Done);
    let told: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert!(told["warning"].as_str().unwrap().starts_with("this is database `two`"), "{told}");
    for line in ["show order-7", "start till --id order-7 --input 5"] {
        let said = shell.run(line).await.ends(Exit::Refused);
        said.warns("`order-7` is not in this database, which is one of several")
            .warns("help: let the program open all");
    }
    let worker = begin(&shell, "worker --json");
    worker.has_said(&worker.out, r#"{"event":"warning","message":"this is database `two`"#).await;
    worker.signals.send(()).unwrap();
    assert_eq!(worker.ended.await.unwrap(), Exit::Done);
    assert_eq!(worker.err.text(), "");
}

/// A start of a flow whose only step takes so long, and has begun.
async fn begun(shell: &Shell, line: &str) -> Running {
    let running = begin(shell, line);
    for _ in 0..500 {
        if shell.run("logs s").await.out.contains("STEP_STARTED") {
            return running;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{line} never began");
}

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let shell = Shell::default();
    let start = begun(&shell, "start slow --id s --input 3600000").await;
    start.signals.send(()).unwrap();
    start.has_said(&start.err, "running steps have 10s; again to stop at once").await;
    start.signals.send(()).unwrap();
    let exit = tokio::time::timeout(Duration::from_secs(2), start.ended).await.unwrap().unwrap();
    assert_eq!(exit, Exit::Interrupted);
    assert_eq!(start.out.text(), "s stopped at once: the next worker takes it over when its lease ends\n");

    let worker = begun(&shell, "worker").await;
    worker.has_said(&worker.err, "working").await;
    for _ in 0..2 {
        worker.signals.send(()).unwrap();
    }
    let exit = tokio::time::timeout(Duration::from_secs(2), worker.ended).await.unwrap();
    assert!(exit.is_ok());
}

#[tokio::test]
async fn what_ends_after_a_signal_is_told() {
    let shell = Shell::default();
    let start = begun(&shell, "start slow --id s --input 300").await;
    start.signals.send(()).unwrap();
    assert_eq!(start.ended.await.unwrap(), Exit::Done);
    assert_eq!(start.out.text(), "s completed: 300\n");

    let start = begun(&Shell::default(), "start slow --id s --input 300 --json").await;
    start.signals.send(()).unwrap();
    assert_eq!((start.ended.await.unwrap(), start.err.text().as_str()), (Exit::Done, ""));
    let json: serde_json::Value = serde_json::from_str(&start.out.text()).unwrap();
    assert_eq!(json["outcome"], json!({"completed": 300}));
}

#[tokio::test]
async fn who_waits_for_a_lease_says_so() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "t", "till", json!(1));
    made.suspended(&[], None).store().await;
    shell.run("cancel t --detach").await.ends(Exit::Done);
    claimed(&shell.store, "t").await;
    let cancel = begin(&shell, "cancel t");
    cancel.has_said(&cancel.err, "t waits for the lease of worker till-3, at most ").await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    assert_eq!(cancel.err.text().matches("waits for").count(), 1, "{}", cancel.err.text());
    cancel.signals.send(()).unwrap();
    assert_eq!(cancel.ended.await.unwrap(), Exit::Interrupted);
    assert_eq!(cancel.out.text(), "t is still run by worker till-3\n");
}

#[tokio::test]
async fn a_worker_tells_what_parks() {
    let shell = Shell::default();
    divergent(&shell.store).await;
    let worker = begin(&shell, "worker");
    worker.has_said(&worker.err, "working").await;
    shell.run("start till --id c --input 13 --detach").await.ends(Exit::Done);
    worker.has_said(&worker.err, "c parked: in_doubt: ").await;
    worker.signals.send(()).unwrap();
    assert_eq!(worker.ended.await.unwrap(), Exit::Done);
    let said = worker.err.text();
    assert!(said.contains("; shop show c\n"), "{said}");
    assert_eq!(said.matches("c parked").count(), 1, "{said}");

    let worker = begin(&shell, "worker --json");
    shell.run("start till --id d --input 13 --detach").await.ends(Exit::Done);
    worker.has_said(&worker.out, r#""event":"parked","execution":"d""#).await;
    assert!(!worker.out.text().contains(r#""execution":"c""#), "{}", worker.out.text());
    worker.signals.send(()).unwrap();
    assert_eq!(worker.ended.await.unwrap(), Exit::Done);
}

#[tokio::test]
async fn a_worker_warns_of_flows_that_it_does_not_have() {
    let shell = Shell::default();
    for (id, flow) in [("a1", "article"), ("a2", "article"), ("b1", "book")] {
        Made::new(&shell.store, id, flow, json!(1)).suspended(&[], None).store().await;
    }
    let worker = begin(&shell, "worker");
    let warning =
        "warning: 3 executions of flows that this program does not have: `article` (2), `book` (1); ";
    worker.has_said(&worker.err, warning).await;
    worker.signals.send(()).unwrap();
    assert_eq!(worker.ended.await.unwrap(), Exit::Done);
}

#[tokio::test]
async fn following_ends_when_asked() {
    let shell = Shell::default();
    shell.run("start tomorrow --id t").await.ends(Exit::Waits);
    let logs = begin(&shell, "logs t --follow --json");
    logs.has_said(&logs.out, "EXECUTION_SUSPENDED").await;
    logs.signals.send(()).unwrap();
    assert_eq!(logs.ended.await.unwrap(), Exit::Done);
}

#[tokio::test]
async fn a_store_that_cannot_be_reached() {
    for line in
        ["list", "show o", "start till --input 1", "worker", "logs o --json", "resume o/manager --answer 1"]
    {
        let (out, err) = (Pipe::default(), Pipe::default());
        let app = loom::App::builder().store(Broken).build().unwrap();
        let exit = cli::run_with(app, words(line), &mut Shell::default().console(&out, &err, "")).await;
        assert_eq!((exit, exit.code()), (Exit::Store, 7), "{line}: {}", err.text());
        assert!(err.text().contains("the disk is on fire"), "{line}: {}", err.text());
    }
}
