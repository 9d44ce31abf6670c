//! The life of executions through the verbs that run them, and how each ends.
//! Not what the listings look like: `snapshots.rs` has those.

use crate::support::{Shell, shop};
use cli::Exit;
use serde_json::json;

#[tokio::test]
async fn a_start_that_completes() {
    let shell = Shell::default();
    let said = shell.run(r#"start checkout --id order-1 --input '{"sku":"tea","qty":2}'"#).await;
    assert_eq!(said.ends(Exit::Done).out, "order-1 completed: 1\n");
    let said = shell.run(r#"start checkout --id order-1 --input '{"sku":"tea","qty":2}' --json"#).await;
    let json = said.ends(Exit::Done).json();
    assert_eq!((&json["status"], &json["outcome"]), (&json!("completed"), &json!({"completed": 1})));
    assert_eq!(json["waits"], json!([]));
}

#[tokio::test]
async fn a_start_that_waits_says_for_what_and_the_printed_command_works() {
    let shell = Shell::default();
    let said = shell.run_with_input("start checkout --id order-2 -", r#"{"sku":"tea","qty":12}"#).await;
    let said = said
        .ends(Exit::Waits)
        .says("gate manager, until ")
        .says(r#"{"approved": boolean, "note"?: string | null}"#);
    let command = said.out.lines().find_map(|line| line.split_once("shop ").map(|(_, words)| words)).unwrap();
    assert_eq!(command, r#"resume order-2/manager --answer '{"approved":true}'"#);
    shell.run(command).await.ends(Exit::Done).says("order-2 completed: 1");
    shell.run(&command.replace("true", "false")).await.ends(Exit::Refused).warns("was answered before");
    // The same words by the same person are no second answer.
    shell.run(command).await.ends(Exit::Done);
    shell.run(&format!("{command} --by bob")).await.ends(Exit::Refused);
}

#[tokio::test]
async fn a_flow_that_fails() {
    let shell = Shell::default();
    shell.run(r#"start checkout --id o --input '{"sku":"tea","qty":12}'"#).await.ends(Exit::Waits);
    let said = shell.run(r#"resume o/manager --answer '{"approved":false}' --json"#).await.ends(Exit::Failed);
    assert_eq!(said.json()["outcome"]["failed"]["code"], "Declined");
    shell
        .run(r#"start checkout --id o --input '{"sku":"tea","qty":12}'"#)
        .await
        .ends(Exit::Failed)
        .says("o failed: Declined");
}

#[tokio::test]
async fn detached_verbs_only_record() {
    let shell = Shell::default();
    let said = shell.run(r#"start checkout --id o --input '{"sku":"tea","qty":12}' --detach"#).await;
    assert_eq!(said.ends(Exit::Done).out, "o\n");
    let said = shell.run("show o --json").await;
    assert_eq!((said.json()["status"].clone(), said.json()["events"].clone()), (json!("running"), json!(1)));
    // An answer may come before the question.
    shell
        .run(r#"resume o/manager --answer '{"approved":true}' --detach"#)
        .await
        .ends(Exit::Done)
        .says("answered by ada");
    let said = shell.run(r#"start checkout --id o --input '{"sku":"tea","qty":12}'"#).await;
    said.ends(Exit::Done).says("o completed: 1");
}

#[tokio::test]
async fn parts_joins_and_near_timers() {
    let shell = Shell::default();
    let said = shell.run("start pay --id p --input 2").await.ends(Exit::Waits);
    said.says("gate till/cashier").says("shop resume p/till/cashier --answer");
    let said = shell.run(r#"resume p/till/cashier --answer '{"approved":true}' --by bob"#).await;
    said.ends(Exit::Done).says(r#"p completed: "receipt for 6""#);
}

#[tokio::test]
async fn far_timers_are_left_to_a_worker() {
    let shell = Shell::default();
    let said = shell.run("start tomorrow --id t").await.ends(Exit::Waits);
    said.says("timer sleep, due ").says("shop worker");
}

#[tokio::test]
async fn doubt_waits_for_a_verdict() {
    let shell = Shell::default();
    let said = shell.run("start till --id c1 --input 13").await.ends(Exit::Parked);
    said.says("in_doubt")
        .says("shop verdict c1 charge done --result '\"…\"'")
        .says("shop verdict c1 charge give-up");
    shell.run("verdict c1 reserve again").await.ends(Exit::Refused).warns("in doubt are: charge");
    shell.run("verdict c1 charge done").await.ends(Exit::Usage).warns("--result");
    shell.run("verdict c1 charge done --result 5").await.ends(Exit::Usage).warns("does not fit");
    let said = shell.run(r#"verdict c1 charge done --result '"receipt"' --by bob"#).await;
    said.ends(Exit::Done).says(r#"c1 completed: "receipt""#);

    shell.run("start till --id c2 --input 13").await.ends(Exit::Parked);
    shell.run("verdict c2 charge again").await.ends(Exit::Parked);
    let said = shell.run("verdict c2 charge give-up --json").await.ends(Exit::Failed);
    assert_eq!(said.json()["outcome"]["failed"]["code"], "Engine");
}

#[tokio::test]
async fn a_parked_execution_is_tried_again() {
    let shell = Shell::default();
    let said = shell.run("start buggy --id b").await.ends(Exit::Parked);
    said.says("index out of bounds").says("flow_panicked").says("help").says("shop retry b");
    shell.run("retry b").await.ends(Exit::Parked);
    shop::MENDED.store(true, std::sync::atomic::Ordering::Relaxed);
    let said = shell.run("retry b --json").await.ends(Exit::Done);
    assert_eq!(said.json()["outcome"], json!({"completed": 1}));
    shell.run("retry b").await.ends(Exit::Refused).warns("not parked");
}

#[tokio::test]
async fn cancelling() {
    let shell = Shell::default();
    shell.run("start tomorrow --id t").await.ends(Exit::Waits);
    shell
        .run("cancel t --reason 'no more tea' --by bob")
        .await
        .ends(Exit::Done)
        .says("t cancelled by bob: no more tea");
    shell.run("start tomorrow --id t").await.ends(Exit::Cancelled);
    shell.run("cancel t").await.ends(Exit::Done);
    shell.run("start till --id c --input 1").await.ends(Exit::Done);
    shell.run("cancel c").await.ends(Exit::Refused).warns("already completed");
}

#[tokio::test]
async fn mistakes_are_explained() {
    let shell = Shell::default();
    shell
        .run("start chekout")
        .await
        .ends(Exit::Refused)
        .warns("there is no flow `chekout`")
        .warns("did you mean `checkout`?");
    shell
        .run("start zebra")
        .await
        .ends(Exit::Refused)
        .warns("there are: account, buggy, careful, checkout, clerk, pay, ");
    shell
        .run("start checkout --input tea")
        .await
        .ends(Exit::Usage)
        .warns("is not JSON")
        .warns("quotes of its own");
    shell
        .run("start till tea")
        .await
        .ends(Exit::Usage)
        .warns("the input is not JSON")
        .warns("quotes of its own");
    shell.run("start tomorrow 0").await.ends(Exit::Usage).warns("flow `tomorrow`").warns("it takes null");
    shell.run("start till").await.ends(Exit::Usage).warns("it takes integer").warns("shop start till 0");
    shell.run("start till 5 --input 5").await.ends(Exit::Usage).warns("cannot be used with");
    shell.run("start till 5").await.ends(Exit::Done).says("receipt for 5");
    shell
        .run("start checkout --input 7")
        .await
        .ends(Exit::Usage)
        .warns(r#"it takes {"qty": integer, "sku": string}"#);
    shell.run("start checkout --input-file /no/such/file").await.ends(Exit::Usage).warns("cannot be read");
    shell.run("start till --input 1 --id a/b").await.ends(Exit::Usage).warns("cannot name an execution");
    shell.run("start till --input 1 --id c").await.ends(Exit::Done);
    shell.run("start till --input 2 --id c").await.ends(Exit::Refused).warns("another input");
    shell.run("strat till").await.ends(Exit::Usage).warns("'start'");
    shell.run("").await.ends(Exit::Usage).warns("Usage:");

    shell.run(r#"start checkout --id order-7 --input '{"sku":"tea","qty":12}'"#).await.ends(Exit::Waits);
    shell.run("show order-8").await.ends(Exit::Refused).warns("did you mean `order-7`?");
    shell.run("show zebra").await.ends(Exit::Refused).warns("`list` prints");
    shell.run("resume order-7 --answer 1").await.ends(Exit::Usage).warns("open is `order-7/manager`");
    shell
        .run("resume order-7/boss --answer 1")
        .await
        .ends(Exit::Refused)
        .warns("shop resume order-7/manager --answer");
    shell
        .run("resume order-7/manager --answer 1")
        .await
        .ends(Exit::Usage)
        .warns("does not fit")
        .warns("it expects {");
    let said = shell.run("show order-8 --json").await.ends(Exit::Refused);
    let error: serde_json::Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!((&error["error"]["code"], &error["error"]["name"]), (&json!(6), &json!("refused")));
    assert_eq!(said.out, "");
}

#[tokio::test]
async fn json_that_is_not_whole() {
    let shell = Shell::default();
    shell.run("start tomorrow --id t").await.ends(Exit::Waits);
    let said = shell.run(r#"resume t/manager --answer '{"ok":true'"#).await.ends(Exit::Usage);
    let said = said.warns("the JSON of `--answer` is incomplete").warns("its end is missing");
    assert!(!said.err.contains("quotes of its own"), "{}", said.err);
    let said = shell.run("start till --input ''").await.ends(Exit::Usage);
    let said = said.warns("`--input` is empty, and not JSON");
    assert!(!said.err.contains("quotes of its own"), "{}", said.err);
    shell.run_with_input("start till -", " ").await.ends(Exit::Usage).warns("standard input is empty");
    shell.run_with_input("start till -", "[1").await.ends(Exit::Usage).warns("standard input is incomplete");
    shell.run("start till --input -5").await.ends(Exit::Usage).warns("does not fit");
    let deep = |levels| format!("start till --input {}{}", "[".repeat(levels), "]".repeat(levels));
    shell.run(&deep(127)).await.ends(Exit::Usage).warns("does not fit");
    let said = shell.run(&deep(128)).await.ends(Exit::Usage);
    let said = said.warns("more than 127 levels deep").warns("make it flatter");
    assert!(!said.err.contains("recursion") && !said.err.contains("incomplete"), "{}", said.err);
    shell.run("resume t/manager").await.ends(Exit::Usage).warns("an answer is needed");
    let large = format!("start till --input '\"{}\"'", "x".repeat(5 << 20));
    shell.run(&large).await.ends(Exit::Usage).warns("does not fit");
    let large = format!("start checkout --input '{{\"sku\":\"{}\",\"qty\":1}}'", "x".repeat(5 << 20));
    let said = shell.run(&large).await.ends(Exit::Usage);
    said.warns("store it elsewhere and pass a reference, or raise `Limits::payload`");
}

#[tokio::test]
async fn ids_that_begin_like_options() {
    let shell = Shell::default();
    let start = r#"start checkout --id=-x --input '{"sku":"tea","qty":12}'"#;
    let said = shell.run(start).await.ends(Exit::Waits);
    let command = said.out.lines().find_map(|line| line.split_once("shop ").map(|(_, words)| words)).unwrap();
    assert_eq!(command, r#"resume --answer '{"approved":true}' -- -x/manager"#);
    shell.run(command).await.ends(Exit::Done).says("-x completed: 1");
    shell.run("cancel -- -x").await.ends(Exit::Refused).warns("`show -- -x` tells how it ended");
    shell.run("start till --id=-c --input 13").await.ends(Exit::Parked);
    let said = shell.run("show -- -c").await.ends(Exit::Done);
    said.says("shop verdict --attempt 1 -- -c charge again")
        .says("shop verdict --result '\"…\"' --attempt 1 -- -c charge done");
    shell.run("verdict -- -c charge again").await.ends(Exit::Parked);
    shell.run("list --limit 1").await.ends(Exit::Done).warns("--after=-c");
    shell.run("list --limit 1 --after=-c").await.ends(Exit::Done).says("-x");
}
