//! Messages and updates from the command line, and what it tells of the topics of flows and executions.
//! Not their order, nor what becomes of those that nobody can read: the runtime's tests have that.

use cli::Exit;
use serde_json::{Value, json};

use crate::{
    looks::session,
    support::{Shell, snapshot},
};

/// An account that waits for the first time.
async fn opened() -> Shell {
    let shell = Shell::default();
    shell.run("start account --id acc-1").await.ends(Exit::Waits);
    shell
}

#[tokio::test]
async fn a_session() {
    let commands = [
        "update acc-1 deposit 30 --key d1",
        "update acc-1 deposit 30 --key d1",
        "update acc-1 deposit 31 --key d1",
        "update acc-1 deposit -5",
        "update acc-1 deposit much",
        "update acc-1 deposit '\"much\"'",
        "update acc-1 deposits 1",
        "send acc-1 stop",
        "send acc-1 close '{\"why\":\"moved\"}'",
        "send acc-1 close",
        "send acc-2 close",
        "send acc-1 deposit 12",
        "send acc-1 close '{\"by\":\"ann\"}'",
        "send acc-1 sure",
        "send acc-1 sure",
        "update acc-1 deposit 1",
        "update acc-1 deposit 30 --key d1",
    ];
    snapshot("messages", &session(&opened().await, &commands).await);
}

#[tokio::test]
async fn an_account_adds_up() {
    let shell = opened().await;
    let said = shell.run("update acc-1 deposit 30 --json").await.ends(Exit::Done);
    assert_eq!(said.json(), json!({"execution": "acc-1", "topic": "deposit", "reply": 30}));
    let said = shell.run("update acc-1 deposit -5 --json").await.ends(Exit::Refused);
    let error: Value = serde_json::from_str(&said.err).unwrap();
    assert_eq!(error["error"]["message"], "the update was rejected: nobody deposits a debt");
    // An update may be sent as a message: nobody hears of its reply.
    shell.run_with_input("send acc-1 deposit -", "12").await.ends(Exit::Waits);
    let said = shell.run(r#"send acc-1 close '{"by":"ann"}' --json"#).await.ends(Exit::Waits);
    assert_eq!(said.json()["waits"][0]["topic"], "sure");
    // A message may be sent as an update: it is replied to with `null`.
    let said = shell.run("update acc-1 sure").await.ends(Exit::Done);
    assert_eq!((said.out.as_str(), said.err.as_str()), ("null\n", ""));
    shell.run("show acc-1").await.ends(Exit::Done).says("output    42");
}

#[tokio::test]
async fn an_update_leaves_with_its_reply_though_the_flow_never_rests() {
    let shell = Shell::default();
    shell.run("start ticker --id t --detach").await.ends(Exit::Done);
    let asked = async { shell.run("update t ticks null --json").await };
    let said = tokio::time::timeout(std::time::Duration::from_secs(60), asked).await.expect("it leaves");
    let said = said.ends(Exit::Done);
    assert_eq!((said.json()["topic"].clone(), said.err.as_str()), (json!("ticks"), ""));
    // Nobody holds it any more.
    assert_eq!(shell.run("show t --json").await.json()["worker"], Value::Null);
}

#[tokio::test]
async fn one_that_waits_for_a_message_tells_how_to_send_it() {
    let shell = opened().await;
    let said = shell.run("show acc-1").await.ends(Exit::Done);
    let waits = "\nWAITS FOR\n  message deposit#0\n".replace("deposit#0", "deposit#0, on deposit")
        + "    expects  integer\n    update   shop update acc-1 deposit 0\n    replies  integer\n"
        + "  message close#0, on close\n    expects  {\"by\": string}\n"
        + "    send     shop send acc-1 close '{\"by\":\"…\"}'\n";
    let said = said.says(&waits);
    // What it prints can be run.
    for command in said.out.lines().filter_map(|line| line.split_once("shop ").map(|(_, command)| command)) {
        let exit = shell.run(command).await.exit;
        assert!(matches!(exit, Exit::Done | Exit::Waits), "{command}: {exit:?}");
    }
    let waits = shell.run("show acc-1 --json").await.json()["waits"].clone();
    assert_eq!((&waits[0]["type"], &waits[0]["topic"]), (&"message".into(), &"sure".into()));
    assert_eq!((&waits[0]["schema"]["type"], &waits[0]["reply"]), (&"null".into(), &Value::Null));
}

#[tokio::test]
async fn a_message_that_is_not_taken_in() {
    let shell = opened().await;
    let said = shell.run("send acc-1 deposit 5 --by ann --detach").await.ends(Exit::Done);
    assert_eq!(said.out, "deposit sent to acc-1 by ann\n");
    shell.run("send acc-1 sure --detach").await.ends(Exit::Done);
    let said = shell.run("show acc-1").await.says("message on deposit: from ann, not taken in yet\n");
    let said = said.says("message on sure: from ada, not taken in yet\n").says("message close#0, on close");
    assert!(!said.out.contains("message deposit#0"), "it waits for it no more:\n{}", said.out);
    let pending = shell.run("show acc-1 --json").await.json()["pending"].clone();
    assert_eq!((&pending[0]["type"], &pending[0]["topic"]), (&"message".into(), &"deposit".into()));

    // `sure` waits in the inbox until the flow asks.
    let said = shell.run("update acc-1 sure --key s").await.ends(Exit::Waits);
    said.warns("is not taken yet").warns("shop update acc-1 sure null --key s");
    let said = shell.run("update acc-1 sure --json").await.ends(Exit::Waits);
    assert_eq!(said.json()["status"], "suspended");
    shell.run(r#"send acc-1 close '{"by":"ann"}'"#).await.ends(Exit::Done).says("completed: 5");
}

#[tokio::test]
async fn what_was_taken_in_is_told_with_the_replies() {
    let shell = opened().await;
    let said = shell.run("show acc-1").await.ends(Exit::Done);
    assert!(!said.out.contains("MESSAGES"), "{}", said.out);
    assert_eq!(shell.run("show acc-1 --json").await.json()["received"], json!([]));
    shell.run("update acc-1 deposit 5 --by ann").await.ends(Exit::Done);
    shell.run("update acc-1 deposit -- -1").await.ends(Exit::Refused);
    shell.run("send acc-1 deposit 7").await.ends(Exit::Waits);
    shell.run("send acc-1 sure --detach").await.ends(Exit::Done);
    shell.run("send acc-1 sure --detach").await.ends(Exit::Done);
    shell.run(r#"send acc-1 close '{"by":"ann"}' --by bob"#).await.ends(Exit::Done);
    let said = shell.run("show acc-1").await.ends(Exit::Done);
    let (_, table) = said.out.split_once("\nMESSAGES\n").expect("a section");
    let rows: Vec<String> =
        table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let received = shell.run("show acc-1 --json").await.json()["received"].clone();
    let at = |n: usize| received[n]["sequence"].as_u64().expect("a sequence");
    let expected = [
        "TOPIC FROM EVENT SAYS REPLY".to_owned(),
        format!("deposit ann {} 5 5", at(0)),
        format!("deposit ada {} -1 rejected: nobody deposits a debt", at(1)),
        format!("deposit ada {} 7", at(2)),
        format!("close bob {} {{\"by\":\"ann\"}}", at(3)),
        format!("sure ada {} null", at(4)),
        format!("sure ada {} null dead letter: the execution ended", at(5)),
    ];
    assert_eq!(rows, expected);
    assert_eq!(received[0]["reply"], json!({"accepted": 5}));
    assert_eq!(received[1]["reply"], json!({"rejected": "nobody deposits a debt"}));
    assert_eq!((&received[2]["expects_reply"], &received[2]["reply"]), (&json!(false), &Value::Null));
    assert_eq!((&received[3]["frame"], &received[3]["body"]), (&json!("close#3"), &json!({"by": "ann"})));
    assert_eq!(
        (&received[5]["frame"], &received[5]["dead_letter"]),
        (&Value::Null, &json!("the execution ended"))
    );
    // Each is at the event that it says.
    let log = shell.run("logs acc-1 --json").await.out;
    for message in received.as_array().expect("a list") {
        let event = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let event = event.into_iter().find(|event| event["sequence"] == message["sequence"]).unwrap();
        assert_eq!(event["payload"]["message"]["body"], message["body"]);
    }
}

#[tokio::test]
async fn gates_and_topics_are_told_apart() {
    let shell = opened().await;
    let said = shell.run("resume acc-1/deposit --answer 1").await.ends(Exit::Refused);
    said.warns("`deposit` is a topic, it takes integer:\n    shop send acc-1 deposit 0");
    shell.run(r#"start checkout '{"sku":"tea","qty":12}' --id o"#).await.ends(Exit::Waits);
    let said = shell.run("send o manager true").await.ends(Exit::Refused);
    said.warns("it waits for: none").warns("`manager` is a gate").warns("shop resume o/manager --answer");
}

#[tokio::test]
async fn a_key_is_taken_once() {
    let shell = opened().await;
    for _ in 0..2 {
        shell.run("send acc-1 deposit 5 --key k").await.ends(Exit::Waits);
    }
    shell.run("update acc-1 deposit 1").await.ends(Exit::Done).says("6\n");
    let said = shell.run("send acc-1 deposit 7 --key k").await.ends(Exit::Refused);
    said.warns("the key \"k\" was used before").warns("show acc-1");
}

#[tokio::test]
async fn schemas_of_all_that_has_a_name() {
    let shell = Shell::default();
    let flow = shell.run("schema account --json").await.ends(Exit::Done).json();
    assert_eq!(flow["messages"]["deposit"]["message"]["type"], "integer");
    assert_eq!(flow["messages"]["deposit"]["reply"]["type"], "integer");
    assert_eq!(flow["messages"]["close"]["reply"], Value::Null);
    let topic = shell.run("schema account --topic deposit --json").await.ends(Exit::Done).json();
    assert_eq!(topic, flow["messages"]["deposit"]);
    let told = shell.run("flows --json").await.json();
    let flows = told["flows"].as_array().unwrap();
    let told = flows.iter().find(|flow| flow["name"] == "account").unwrap();
    assert_eq!(told["messages"][0]["name"], "deposit");
    assert_eq!(told["messages"][0]["reply"], flow["messages"]["deposit"]["reply"]);

    let step = shell.run("schema charge --json").await.ends(Exit::Done).json();
    assert_eq!((&step["step"], &step["tool"]), (&"charge".into(), &Value::Null));
    assert_eq!(step, shell.run("schema --step charge --json").await.ends(Exit::Done).json());
    assert_eq!(step, shell.run("schema till --step charge --json").await.ends(Exit::Done).json());
    let tool = shell.run("schema find_order --json").await.ends(Exit::Done).json();
    assert_eq!((&tool["tool"], &tool["input"]["type"]), (&"find_order".into(), &"object".into()));
    let event = shell.run("schema desk.asked --json").await.ends(Exit::Done).json();
    assert_eq!((&event["event"], &event["version"]), (&"desk.asked".into(), &2.into()));
    assert_eq!(event, shell.run("schema --event desk.asked --json").await.ends(Exit::Done).json());

    let said = shell.run("schema desk.aksed").await.ends(Exit::Refused);
    said.warns("there is no flow, step, tool or event `desk.aksed`").warns("did you mean `desk.asked`?");
    shell.run("schema acount").await.ends(Exit::Refused).warns("did you mean `account`?");
    shell.run("schema account --topic depsit").await.ends(Exit::Refused).warns("did you mean `deposit`?");
    shell.run("schema --event asked").await.ends(Exit::Refused).warns("did you mean `desk.asked`?");
    shell.run("schema").await.ends(Exit::Usage);
}
