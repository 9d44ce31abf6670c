//! What people are told to do next, where an execution does not go on by itself.
//! Not the doing: `life.rs` has that.

use cli::Exit;
use loom::{
    App, Limits,
    kernel::{ChildStarted, Digest, EffectError, Event, Fault, FrameId, OnClose, ParkReport},
};
use serde_json::json;

use crate::{
    made::{Made, payload},
    support::{Shell, words},
};

#[tokio::test]
async fn an_update_that_was_taken_is_not_said_to_wait_in_the_inbox() {
    let shell = Shell::default();
    shell.run("start clerk --id c").await.ends(Exit::Waits);
    let said = shell.run(r#"update c ask '"why"' --key k"#).await.ends(Exit::Waits);
    let said = said.says("gate boss").warns("was taken, and the flow has not replied yet").warns("--key k");
    assert!(!said.err.contains("inbox"), "{}", said.err);
    // The next one is behind it.
    let said = shell.run(r#"update c ask '"how"' --key l"#).await.ends(Exit::Waits);
    said.warns("is not taken yet: it waits in the inbox");
    shell.run("resume c boss true").await;
    shell.run(r#"update c ask '"why"' --key k"#).await.says("true\n");
}

/// The gate's address in one word or in two, the answer behind it or as an option.
#[tokio::test]
async fn answers_are_given_in_place() {
    let shell = Shell::default();
    let start = async |id: &str| {
        let line = format!(r#"start checkout '{{"sku":"tea","qty":12}}' --id {id}"#);
        shell.run(&line).await.ends(Exit::Waits);
    };
    for (id, answer) in [
        ("a", r#"resume a manager '{"approved":true}'"#),
        ("b", r#"resume b/manager '{"approved":true}'"#),
        ("c", r#"resume c manager --answer '{"approved":true}'"#),
    ] {
        start(id).await;
        shell.run(answer).await.ends(Exit::Done).says("completed");
    }
    start("d").await;
    shell.run_with_input("resume d manager -", r#"{"approved":true}"#).await.ends(Exit::Done);
    start("e").await;
    shell
        .run("resume e/manager")
        .await
        .ends(Exit::Usage)
        .warns("an answer is needed")
        .warns("open is `e/manager`");
    shell.run("resume e").await.ends(Exit::Usage).warns("is not a gate's address");
    shell.run("resume e manager 1 --answer 2").await.ends(Exit::Usage).warns("given once");
    shell.run("resume e/manager 1 2").await.ends(Exit::Usage).warns("one word more");
    shell.run("resume e manager yes").await.ends(Exit::Usage).warns("is not JSON");
}

#[tokio::test]
async fn a_check_of_flows_that_are_elsewhere_does_not_pass() {
    let shell = Shell::default();
    Made::new(&shell.store, "a1", "article", json!(1)).store().await;
    let said = shell.run("replay-check").await.ends(Exit::Refused);
    said.warns("nothing was checked: 1 log found").warns("`flows` lists");
    shell.run("replay-check --json").await.ends(Exit::Refused);
    shell.run("start till 1 --id t").await.ends(Exit::Done);
    shell.run("replay-check").await.ends(Exit::Done).warns("1 are of flows that another program has");
}

#[tokio::test]
async fn a_child_that_is_parked_is_named() {
    let shell = Shell::default();
    let mut child = Made::new(&shell.store, "kid", "buggy", json!(null));
    child.parked(ParkReport::new(Fault::FlowPanicked, "a bug")).store().await;
    let mut parent = Made::new(&shell.store, "p", "checkout", json!({"sku": "tea", "qty": 12}));
    let started = ChildStarted {
        frame: FrameId::parsed("call"),
        child: "kid".parse().unwrap(),
        flow: "buggy".into(),
        digest: Digest::of(b""),
        input: payload(json!(null)),
        input_version: 1,
        on_close: OnClose::Cancel,
    };
    parent.event(Event::ChildStarted(started)).suspended(&["call"], None).store().await;
    shell.run("show p").await.says("child call, as kid, which is parked").says("shop show kid");
    let json = shell.run("show p --json").await.json();
    assert_eq!(json["waits"][0]["status"], "parked");
}

#[tokio::test]
async fn an_execution_that_nobody_runs_asks_for_a_worker() {
    let shell = Shell::default();
    shell.run("start till 1 --id t --detach").await.ends(Exit::Done);
    shell.run("show t").await.says("none holds it: start one with `shop worker`");
    shell.run("start till 1 --id u").await.ends(Exit::Done);
    let said = shell.run("show u").await;
    assert!(!said.out.contains("none holds it"), "{}", said.out);
}

#[tokio::test]
async fn who_waits_for_code_is_sent_to_the_program_that_has_it() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "w", "till", json!(1));
    let mut report = ParkReport::new(Fault::Divergence, "waiting for code 00000000000000aa: it differs");
    report.wants = Some("00000000000000aa".into());
    made.parked(report).store().await;
    let said = shell.run("show w").await.says("with code 00000000000000aa");
    assert!(!said.out.contains("shop retry"), "{}", said.out);
    // What to compare that with.
    let flows = shell.run("flows --json").await.json();
    let till = flows["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == "till").unwrap();
    let code = till["code"].as_str().unwrap();
    assert!(code.len() == 16 && code.chars().all(|c| c.is_ascii_hexdigit()), "{code}");
    shell.run("flows").await.says(&format!("code     {code}"));
    shell.run("start till 1 --id t").await.ends(Exit::Done);
    let log = shell.run("logs t --json").await.out;
    let first: serde_json::Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    let body = first["payload"]["code"]["body"].to_string();
    assert!(
        body.contains(code) || body == u64::from_str_radix(code, 16).unwrap().to_string(),
        "{body} {code}"
    );
}

#[tokio::test]
async fn a_run_that_gets_long_says_so_before_it_parks() {
    let shell = Shell::default();
    let limits = Limits { history: 4, ..Limits::default() };
    let app = || App::builder().store(shell.store.clone()).limits(limits).build().unwrap();
    for (line, out) in [(r#"start checkout '{"sku":"tea","qty":12}' --id o"#, false), ("show o", true)] {
        let (printed, said) = (crate::support::Pipe::default(), crate::support::Pipe::default());
        let mut console = shell.console(&printed, &said, "");
        cli::run_with(app(), words(line), &mut console).await;
        let text = if out { printed.text() } else { said.text() };
        assert!(text.contains("of 4 events that a run may have"), "{line}: {text} {}", printed.text());
    }
    let (printed, said) = (crate::support::Pipe::default(), crate::support::Pipe::default());
    let mut console = shell.console(&printed, &said, "");
    let (stop, stopped) = tokio::sync::mpsc::unbounded_channel();
    console.stop = cli::Stop::Channel(stopped);
    stop.send(()).unwrap();
    assert_eq!(cli::run_with(app(), words("worker"), &mut console).await, Exit::Done);
    assert_eq!(said.text().matches("warning: o has 5 of 4 events").count(), 1, "{}", said.text());
}

#[tokio::test]
async fn a_refusal_is_told_once() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "d", "till", json!(1));
    let denied = EffectError::Denied { reason: "over the ceiling".into() };
    let failure = loom::kernel::ExecutionFailure { failure: denied.into() };
    made.event(Event::ExecutionFailed(failure)).store().await;
    let said = shell.run("show d").await.says("denied: over the ceiling");
    assert!(!said.out.contains("denied: denied"), "{}", said.out);
}

/// Not only how a failure is called, but what it is about, where it is first heard of.
#[tokio::test]
async fn a_failure_tells_its_fields() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "f", "till", json!(1));
    let mut failure = loom::kernel::Failed::from(EffectError::Cancelled);
    (failure.code, failure.message) = ("TooHigh".into(), "The price is too high.".into());
    (failure.engine, failure.error) = (None, Some(payload(json!({"TooHigh": {"limit": 12}}))));
    made.event(Event::ExecutionFailed(loom::kernel::ExecutionFailure { failure })).store().await;
    let said = shell.run("start till 1 --id f").await.ends(Exit::Failed);
    said.says("f failed: TooHigh: The price is too high.").says(r#"fields    {"TooHigh":{"limit":12}}"#);
}

/// One key, two senders: neither is told that it said something else.
#[tokio::test]
async fn a_key_of_another_sender_is_said_to_be_one() {
    let shell = Shell::default();
    shell.run("start account --id acc").await.ends(Exit::Waits);
    shell.run("send acc deposit 5 --key k --by ann").await.ends(Exit::Waits);
    shell.run("send acc deposit 5 --key k --by bob").await.ends(Exit::Refused).warns("by another sender");
}

#[tokio::test]
async fn a_cancel_by_force_runs_nothing_of_the_flow() {
    let shell = Shell::default();
    shell.run("start careful --id c").await.ends(Exit::Waits);
    shell.run("start careful --id d").await.ends(Exit::Waits);
    // Told, it asks whether all is in order first.
    shell.run("cancel c").await.ends(Exit::Waits).says("gate order");
    shell.run("cancel c --force").await.ends(Exit::Done).says("c cancelled by ada");
    shell.run("cancel d --force").await.ends(Exit::Done).says("cancelled");
    let log = shell.run("logs d").await.out;
    assert!(!log.contains("order"), "{log}");
}

#[tokio::test]
async fn what_is_mistyped_is_not_taken_for_nothing() {
    let shell = Shell::default();
    for line in ["archive list --archive /nowhere", "archive show o --archive /nowhere"] {
        shell.run(line).await.ends(Exit::Refused).warns("`/nowhere` is no folder");
    }
    let said = shell.run(&format!("show {}", "x".repeat(5_000))).await.ends(Exit::Usage);
    assert!(said.err.len() < 500, "{}", said.err);
    said.warns("cannot name an execution");
}

#[tokio::test]
async fn a_verdict_names_its_attempt() {
    let shell = Shell::default();
    crate::made::doubtful(&shell.store).await;
    shell.run("show pay-1").await.says("--attempt 1");
    let said = shell.run("verdict pay-1 charge again --attempt 2").await.ends(Exit::Refused);
    said.warns("attempt 2 of `charge` of `pay-1` is not in doubt: attempt 1 is");
    shell.run("verdict pay-1 charge give-up --attempt 1 --detach").await.ends(Exit::Done);
}
