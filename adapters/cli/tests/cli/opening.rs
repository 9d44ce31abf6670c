//! What is opened for a command, and what becomes of it when something outside fails: the store, the wiring, standard
//! output. Not what commands do with a store that works.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use cli::Exit;
use loom::{App, Entry, FlowDescriptor, Registry, Result};
use serde_json::Value;

use crate::{
    made::done,
    support::{Pipe, Said, Shell, words},
};

/// Runs `shop` as [`cli::main`] does; answers whether the store was opened too.
async fn main_with(line: &str, builder: Result<loom::AppBuilder>) -> (Said, bool) {
    let (out, err, opened) = (Pipe::default(), Pipe::default(), Arc::new(AtomicBool::new(false)));
    let mut console = Shell::default().console(&out, &err, "");
    let open = async || {
        opened.store(true, Ordering::Relaxed);
        builder
    };
    let exit = cli::main_with(open, words(line), &mut console).await;
    (Said { exit, out: out.text(), err: err.text() }, opened.load(Ordering::Relaxed))
}

#[tokio::test]
async fn what_needs_no_store_opens_none() {
    for (line, says) in [
        ("--help", "Usage: shop"),
        ("start --help", "--input"),
        ("flows", "checkout"),
        ("graph pay", "flowchart"),
        ("schema checkout", "qty"),
        ("completions bash", "shop"),
    ] {
        let (said, opened) = main_with(line, Ok(App::builder())).await;
        said.ends(Exit::Done).says(says);
        assert!(!opened, "{line}");
    }
    for line in ["strat till", "graph chekout", "start till --input"] {
        assert!(!main_with(line, Ok(App::builder())).await.1, "{line}");
    }
    let (said, opened) = main_with("start till --id c --input 1", Ok(App::builder())).await;
    said.ends(Exit::Done).says("c completed");
    assert!(opened);
}

#[tokio::test]
async fn a_store_that_does_not_open() {
    let locked = || Err(loom::Error::msg("`shop.db` is locked"));
    let (said, _) = main_with("list", locked()).await;
    assert_eq!(said.ends(Exit::Store).err, "error: `shop.db` is locked\n");
    let (said, _) = main_with("list --json", locked()).await;
    let said = said.ends(Exit::Store);
    let json: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!((&json["error"]["code"], &json["error"]["name"]), (&7.into(), &"store".into()));
}

#[tokio::test]
async fn a_program_that_is_wired_wrongly() {
    let till = Registry::linked().flow("till").unwrap();
    let location = loom::Location { line: 1, ..till.location };
    let other: &'static _ = Box::leak(Box::new(FlowDescriptor { location, ..*till }));
    let builder = App::builder().registry(Registry::of([Entry::Flow(till), Entry::Flow(other)]));
    let (said, _) = main_with("list --json", Ok(builder)).await;
    let said = said.ends(Exit::Usage).warns("flow `till` is defined twice");
    assert_eq!(serde_json::from_str::<Value>(&said.err).unwrap()["error"]["code"], 2);
}

#[tokio::test]
async fn mistakes_on_the_command_line_as_json() {
    let shell = Shell::default();
    for (line, part) in [
        ("strat till --json", "unrecognized subcommand 'strat'"),
        ("--json show", "<EXECUTION>"),
        ("--json", "requires a subcommand"),
        ("verdict o charge --json", "<VERDICT>"),
    ] {
        let said = shell.run(line).await.ends(Exit::Usage);
        let json: Value = serde_json::from_str(&said.err).unwrap();
        assert_eq!((&json["error"]["code"], &json["error"]["name"]), (&2.into(), &"usage".into()));
        assert!(json["error"]["message"].as_str().unwrap().contains(part), "{line}: {json}");
        assert!(json["error"]["help"].to_string().contains("Usage: shop"), "{line}: {json}");
    }
    shell.run("show -- --json --json").await.ends(Exit::Usage).warns("error: unexpected argument");
}

#[tokio::test]
async fn an_output_that_takes_nothing_is_an_error() {
    let shell = Shell::default();
    done(&shell.store).await;
    for line in ["list", "logs order-9", "flows", "start till --id c --input 1", "--help"] {
        let (out, err) = (Pipe::full_after(10), Pipe::default());
        let exit = cli::run_with(shell.app(), words(line), &mut shell.console(&out, &err, "")).await;
        assert_eq!((exit, exit.code()), (Exit::Output, 8), "{line}: {}", err.text());
        assert!(err.text().starts_with("error: standard output cannot be written: "), "{}", err.text());
    }
}

#[tokio::test]
async fn an_empty_store_may_be_the_wrong_one() {
    let shell = Shell::default();
    for line in [
        "show o",
        "logs o",
        "debug o",
        "cancel o",
        "resume o/manager --answer 1",
        "verdict o charge again",
        "retry o",
    ] {
        let said = shell.run(line).await.ends(Exit::Refused);
        said.warns("there is no execution `o`: the store is empty").warns("is it the store that was meant?");
    }
    shell.run("list").await.ends(Exit::Done).warns("no executions: the store is empty");
    done(&shell.store).await;
    let said = shell.run("list --status running").await.ends(Exit::Done);
    assert_eq!(said.err, "no executions\n");
}
