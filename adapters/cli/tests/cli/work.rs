//! Verbs that go on until somebody stops them, and stores that fail.
//! Not single commands that end by themselves: `life.rs` has those.

use std::time::Duration;

use cli::{Exit, Stop};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    made::{Made, claimed},
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
    assert!(said.starts_with("working: 6 flows, 5 steps") && said.ends_with("stopped\n"), "{said}");
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

#[tokio::test]
async fn a_second_signal_stops_at_once() {
    let shell = Shell::default();
    let worker = begin(&shell, "start slow --id s");
    for _ in 0..500 {
        if shell.run("logs s").await.out.contains("STEP_STARTED") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    worker.signals.send(()).unwrap();
    worker.has_said(&worker.err, "the next worker goes on with s").await;
    worker.signals.send(()).unwrap();
    let exit = tokio::time::timeout(Duration::from_secs(2), worker.ended).await.unwrap().unwrap();
    assert_eq!(exit, Exit::Interrupted);
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
async fn a_flow_of_another_program_is_left_alone() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "odd", "elsewhere", json!(1));
    made.suspended(&[], None).store().await;
    shell.run("cancel odd").await.ends(Exit::Waits);
    claimed(&shell.store, "odd").await;
    let said = shell.run("cancel odd").await.ends(Exit::Waits);
    said.says("odd running, by worker till-3");
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
