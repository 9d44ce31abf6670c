//! What an execution was told and has not taken in yet, and executions that only another program can take up.
//! Not how what it was told ends: `life.rs` has that.

use std::time::Duration;

use cli::Exit;
use loom::{
    Memory,
    kernel::{Cancelled, ChildStarted, Digest, End, Ending, Event, Fault, FrameId, OnClose, ParkReport},
};
use serde_json::{Value, json};

use crate::{
    made::{Made, claimed, doubtful, payload},
    support::Shell,
};

/// An order that waits for its manager.
async fn waiting_order(shell: &Shell) {
    let mut made = Made::new(&shell.store, "o", "checkout", json!({"sku": "tea", "qty": 12}));
    made.gate("manager", Some(Duration::from_secs(90))).suspended(&["manager"], None).store().await;
}

fn types(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn a_gate_with_an_answer_is_asked_no_more() {
    let shell = Shell::default();
    waiting_order(&shell).await;
    shell.run("list --gates").await.ends(Exit::Done).says("o/manager");
    let answer = r#"resume o/manager --answer '{"approved":true}' --by ann --detach"#;
    shell.run(answer).await.ends(Exit::Done);
    let said = shell.run("list --gates").await.ends(Exit::Done);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("", "no open gates\n"));
    let json = shell.run("list --gates --json").await.json();
    assert_eq!(json, json!({"gates": [], "more": false}));

    let said = shell.run("show o").await.ends(Exit::Done);
    let said = said.says("gate manager: answered by ann, not taken in yet").says("shop worker");
    assert!(!said.out.contains("shop resume"), "{}", said.out);
    let json = shell.run("show o --json").await.json();
    assert_eq!((types(&json["waits"]), types(&json["pending"])), (vec![], vec!["answer"]));
    assert_eq!((&json["pending"][0]["frame"], &json["pending"][0]["by"]), (&"manager".into(), &"ann".into()));
    assert_eq!(json["gates"][0]["answered_by"], "ann");
    let said = shell.run("resume o/boss --answer 1").await.ends(Exit::Refused);
    assert!(!said.err.contains("open is"), "{}", said.err);
}

#[tokio::test]
async fn an_answer_before_its_question_is_told_too() {
    let shell = Shell::default();
    shell.run(r#"start checkout --id o --input '{"sku":"tea","qty":12}' --detach"#).await.ends(Exit::Done);
    shell.run(r#"resume o/manager --answer '{"approved":true}' --detach"#).await.ends(Exit::Done);
    shell.run("show o").await.says("gate manager: answered by ada, not taken in yet");
}

#[tokio::test]
async fn a_cancel_that_is_not_taken_in() {
    let shell = Shell::default();
    waiting_order(&shell).await;
    shell.run("cancel o --reason 'no tea' --by bob --detach").await.ends(Exit::Done);
    let said = shell.run("show o").await.says("cancelled by bob, not taken in yet: no tea");
    assert!(!said.out.contains("shop resume"), "{}", said.out);
    assert_eq!(shell.run("list --gates").await.out, "");
    let json = shell.run("show o --json").await.json();
    assert_eq!((types(&json["waits"]), types(&json["pending"])), (vec![], vec!["cancel"]));
}

/// A worker of this code has no use for it either, and is not what helps.
#[tokio::test]
async fn a_cancel_that_waits_for_code_that_fits() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "b", "buggy", json!(null));
    made.started("pack", 1, json!(null)).parked(ParkReport::new(Fault::FlowPanicked, "a bug")).store().await;
    let said = shell.run("cancel b").await.ends(Exit::Parked);
    let said = said.says("not taken in yet").says("it waits for code that comes to where the log ends");
    assert!(!said.says("shop cancel b --force").out.contains("shop worker"));
    let said = shell.run("show b").await.says("shop cancel b --force");
    assert!(!said.out.contains("shop worker"), "{}", said.out);
    shell.run("cancel b --force").await.ends(Exit::Done);
}

/// Who, on what, and whether somebody waits; not what it says.
#[tokio::test]
async fn messages_that_are_not_taken_in() {
    let shell = Shell::default();
    waiting_order(&shell).await;
    let registry = loom::Registry::of([]);
    let app = loom::App::builder().store(shell.store.clone()).registry(registry).build().unwrap();
    let order = "o".parse().unwrap();
    app.send(&order, "news", "a secret").by("bob").await.unwrap();
    let asking = tokio::spawn({
        let (app, order) = (app.clone(), "o".parse().unwrap());
        async move { app.update::<u32>(app.send(&order, "price", "another secret").by("eve")).await }
    });
    while app.pending(&order).await.unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let said = shell.run("show o").await.ends(Exit::Done);
    let said = said.says("message on news: from bob, not taken in yet");
    let said = said.says("message on price: from eve, who waits for a reply, not taken in yet");
    assert!(!said.out.contains("secret"), "{}", said.out);
    let json = shell.run("show o --json").await.json();
    assert_eq!(types(&json["pending"]), ["message", "message"]);
    assert_eq!(
        (&json["pending"][0]["topic"], &json["pending"][1]["expects_reply"]),
        (&json!("news"), &json!(true))
    );
    assert!(!json["pending"].to_string().contains("secret"), "{json}");
    asking.abort();
}

#[tokio::test]
async fn a_verdict_and_a_retry_that_are_not_taken_in() {
    let shell = Shell::default();
    doubtful(&shell.store).await;
    shell.run("verdict pay-1 charge give-up --by bob --detach").await.ends(Exit::Done);
    let said = shell.run("show pay-1").await;
    let said = said.says("a verdict on charge: given by bob, not taken in yet");
    assert!(!said.out.contains("shop verdict") && !said.out.contains("shop retry"), "{}", said.out);

    let mut made = Made::new(&shell.store, "b", "buggy", json!(null));
    made.parked(ParkReport::new(Fault::FlowPanicked, "a bug")).store().await;
    shell.run("retry b --detach").await.ends(Exit::Done);
    let said = shell.run("show b").await.says("to be tried again, not taken in yet");
    assert!(!said.out.contains("shop retry"), "{}", said.out);
}

async fn elsewhere(store: &Memory, id: &str) {
    let mut made = Made::new(store, id, "article", json!(1));
    made.gate("editor", None).suspended(&["editor"], None).store().await;
}

#[tokio::test]
async fn what_another_program_goes_on_with() {
    const RECORDED: &str = "this program has no flow `article`: recorded; a program that has it goes on. If it was \
                            renamed: #[flow(name = \"article\")]\n";
    let shell = Shell::default();
    elsewhere(&shell.store, "a1").await;
    let said = shell.run(r#"resume a1/editor --answer '{"approved":true}'"#).await.ends(Exit::Done);
    assert_eq!(said.out, RECORDED);
    let said = shell.run("cancel a1").await.ends(Exit::Done);
    assert_eq!(said.out, RECORDED);
    let said = shell.run("cancel a1 --json").await.ends(Exit::Done);
    assert_eq!((&said.json()["unknown_flow"], said.err.as_str()), (&true.into(), ""));
    shell.run("cancel a1 --detach").await.ends(Exit::Done).warns(RECORDED);
    let mut made = Made::new(&shell.store, "a2", "article", json!(1));
    made.parked(ParkReport::new(Fault::FlowPanicked, "a bug")).store().await;
    let said = shell.run("retry a2").await.ends(Exit::Done);
    assert_eq!(said.out, RECORDED);

    shell.run("show a1").await.ends(Exit::Done).says("this program has no flow `article`");
    let said = shell.run("list").await.says("article (not here)");
    said.warns("this program has no flow `article`").warns("#[flow(name = \"article\")]");
    assert_eq!(shell.run("list --json").await.json()["executions"][0]["unknown_flow"], true);
}

#[tokio::test]
async fn one_that_another_program_runs_is_only_told() {
    let shell = Shell::default();
    elsewhere(&shell.store, "a1").await;
    shell.run("cancel a1").await.ends(Exit::Done);
    claimed(&shell.store, "a1").await;
    shell.run("cancel a1").await.ends(Exit::Done).says("recorded");
}

/// It only waits, and says for what it does.
#[tokio::test]
async fn an_end_that_waits_for_children() {
    let shell = Shell::default();
    let (child, frame) = ("t:booking".parse().unwrap(), FrameId::parsed("booking"));
    let started = ChildStarted {
        frame: frame.clone(),
        child,
        flow: "careful".into(),
        digest: Digest::of(b"null"),
        input: payload(json!(null)),
        input_version: 1,
        on_close: OnClose::Cancel,
    };
    let end = End::Cancelled(Cancelled { reason: "no tea".into(), by: "bob".into() });
    let ending = Ending { end, waiting: [frame].into() };
    let mut made = Made::new(&shell.store, "t", "checkout", json!({"sku": "tea", "qty": 2}));
    made.event(Event::ChildStarted(started)).event(Event::ExecutionEnding(ending));
    made.suspended(&["booking"], None).store().await;
    let ends = "is cancelled by bob: no tea, once t:booking has ended";
    let said = shell.run("show t").await.ends(Exit::Done).says(&format!("  ends      {ends}"));
    said.says("child booking, as t:booking");
    shell.run("cancel t").await.says("t suspended, it waits for").says(ends);
    let json = shell.run("show t --json").await.json();
    assert_eq!(json["ends"], json!({"cancelled": {"reason": "no tea", "by": "bob"}}));
    assert_eq!((types(&json["waits"]), &json["outcome"]), (vec!["child"], &json!(null)));
}
