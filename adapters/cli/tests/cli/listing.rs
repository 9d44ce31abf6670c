//! What programs read: the documented shapes of `--json`.
//! Not what people see: `looks.rs` has that.

use cli::Exit;
use loom::kernel::{Fault, ParkReport};
use serde_json::{Value, json};

use crate::{
    made::{Made, busy_order, divergent, done, doubtful},
    support::{Pipe, Shell},
};

async fn shell() -> Shell {
    let shell = Shell::default();
    busy_order(&shell.store).await;
    doubtful(&shell.store).await;
    divergent(&shell.store).await;
    done(&shell.store).await;
    shell
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn list_as_json() {
    let shell = shell().await;
    let json = shell.run("list --json --limit 3").await.ends(Exit::Done).json();
    assert_eq!(json["more"], true);
    let ids: Vec<_> = json["executions"].as_array().unwrap().iter().map(|row| &row["execution"]).collect();
    assert_eq!(ids, ["order-7", "order-8", "order-9"]);
    let first = &json["executions"][0];
    assert_eq!(
        keys(first),
        ["created_at", "events", "execution", "flow", "status", "takeovers", "updated_at", "wake_at"]
    );
    assert_eq!(first["wake_at"], "2026-08-01T12:01:30.000000Z");
    let json = shell.run("list --json --status parked --status completed").await.json();
    assert_eq!(json["executions"].as_array().unwrap().len(), 3);
    let json = shell.run("list --json --status cancelled").await.ends(Exit::Done).json();
    assert_eq!(json, json!({"executions": [], "more": false}));
    shell.run("list --status asleep").await.ends(Exit::Usage).warns("suspended");
}

#[tokio::test]
async fn a_turn_is_told() {
    let shell = Shell::default();
    let order = r#"start checkout --input '{"sku":"tea","qty":12}' --detach"#;
    shell.run(&format!("{order} --id o --priority 5 --lane tenant-a --at-most 2")).await.ends(Exit::Done);
    shell.run(&format!("{order} --id p")).await.ends(Exit::Done);
    let json = shell.run("list --json").await.json();
    let [o, p] = [0, 1].map(|n| json["executions"][n].clone());
    assert_eq!((&o["priority"], &o["lane"]), (&json!(5), &json!({"key": "tenant-a", "at_most": 2})));
    assert_eq!((p.get("priority"), p.get("lane")), (None, None));
    shell.run("list").await.says("PRIORITY").says("LANE").says("tenant-a");
    shell.run("show o").await.says("priority  5").says("lane      tenant-a, at most 2 at once");
    assert!(!shell.run("show p").await.ends(Exit::Done).out.contains("lane"));
}

#[tokio::test]
async fn gates_as_json() {
    let json = shell().await.run("list --gates --json").await.json();
    assert_eq!(json["gates"].as_array().unwrap().len(), 1);
    let gate = &json["gates"][0];
    assert_eq!((&gate["address"], &gate["state"]), (&json!("order-7/cashier"), &json!("open")));
    assert_eq!(gate["schema"]["required"], json!(["approved"]));
    let json = shell().await.run("list --gates --flow till --json").await.json();
    assert_eq!(json, json!({"gates": [], "more": false}));
}

#[tokio::test]
async fn show_as_json() {
    let shell = shell().await;
    let json = shell.run("show order-7 --json").await.ends(Exit::Done).json();
    let kinds: Vec<_> = json["waits"].as_array().unwrap().iter().map(|wait| &wait["type"]).collect();
    assert_eq!(kinds, ["gate", "retry", "timer"]);
    assert_eq!(json["frames"][0]["frame"], "reserve");
    // Nothing is shortened.
    assert!(json["frames"][0]["outcome"]["completed"]["shelf"].as_str().unwrap().ends_with("any table"));
    assert_eq!(json["gates"].as_array().unwrap().len(), 3);
    let json = shell.run("show pay-1 --json").await.json();
    let wait = &json["waits"][0];
    assert_eq!(
        (&wait["type"], &wait["frame"], &wait["reason"]),
        (&json!("verdict"), &json!("charge"), &json!("crash"))
    );
    assert_eq!(wait["schema"]["type"], "string");
    assert_eq!(json["parked"]["fault"], "in_doubt");
}

#[tokio::test]
async fn logs_as_json_lines() {
    let said = shell().await.run("logs order-9 --json").await.ends(Exit::Done);
    let lines: Vec<Value> = said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 4);
    assert_eq!(keys(&lines[0]), ["at", "execution", "kind", "meta", "payload", "schema", "sequence"]);
    assert_eq!(
        lines[3],
        json!({"execution": "order-9", "sequence": 3, "kind": "EXECUTION_COMPLETED", "schema": 1,
            "at": "2026-08-01T11:00:03.003000Z", "payload": {"output": 1}, "meta": {}})
    );
}

#[tokio::test]
async fn debug_as_json() {
    let json = shell().await.run("debug order-9 --at 3 --json").await.ends(Exit::Done).json();
    assert_eq!((&json["at"], &json["events"]), (&json!(3), &json!(4)));
    assert_eq!(json["event"]["kind"], "STEP_COMPLETED");
    assert_eq!(json["state"]["frames"]["ship#0"]["status"], "settled");
    assert_eq!(json["changes"], json!(["frame ship#0: started, attempt 1 → done, attempt 1: 0"]));
}

#[tokio::test]
async fn the_program_as_json() {
    let shell = Shell::default();
    let json = shell.run("flows --json").await.json();
    let pay = json["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == "pay").unwrap();
    assert_eq!((&pay["steps"], &pay["parts"]), (&json!(["price", "ship", "charge"]), &json!(["payment"])));
    let reserve = json["steps"].as_array().unwrap().iter().find(|step| step["name"] == "reserve").unwrap();
    assert_eq!((&reserve["retry"]["attempts"], &reserve["timeout_ms"]), (&json!(3), &json!(10_000)));
    assert_eq!((&reserve["delivery"], &reserve["reads"]), (&json!("at_least_once"), &json!(false)));
    let named = |kind: &str| {
        json[kind].as_array().unwrap().iter().map(|item| item["name"].clone()).collect::<Vec<_>>()
    };
    let kinds = ["agents", "tools", "events", "projections", "skills", "policies"];
    assert_eq!(
        kinds.map(named),
        [["support"], ["find_order"], ["desk.asked"], ["questions"], ["refunds"], ["no-payments"]]
    );
    let support = json["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == "support").unwrap();
    assert_eq!(json!([support["emits"], support["policies"]]), json!([["desk.asked"], ["no-payments"]]));
    let tidy = json["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == "tidy").unwrap();
    let schedule = &tidy["schedule"];
    assert_eq!(
        json!([schedule["cron"], schedule["time_zone"]]),
        json!(["0 18 * * MON-FRI", "Europe/Zurich"])
    );
    assert_eq!(
        (&schedule["overlap"], &schedule["catch_up"]["latest"]["within"]["secs"]),
        (&json!("skip"), &json!(86_400))
    );
    let find = json["steps"].as_array().unwrap().iter().find(|step| step["name"] == "find_order").unwrap();
    assert_eq!((&find["delivery"], &find["reads"]), (&json!("pure"), &json!(true)));
    assert_eq!(json["agents"][0]["budget"], json!({"tokens": 50_000, "usd_micros": 250_000}));
    let graph = shell.run("graph tidy --json").await.json();
    let exits: Vec<_> =
        graph["edges"].as_array().unwrap().iter().filter_map(|edge| edge["exit"].as_str()).collect();
    assert_eq!(exits, ["break", "continue", "break", "error", "return"]);
    assert_eq!(graph["tree"][0]["name"], "'shelves");
    assert_eq!(graph["tree"][0]["body"][0]["marks"], json!(["may_be_unbounded"]));
    assert_eq!(graph["tree"][0]["body"][1]["event"], "desk.asked");
    assert_eq!(graph["tree"][1]["marks"], json!(["unbounded"]));
    let graph = shell.run("graph checkout --json").await.json();
    let kinds: Vec<_> = graph["nodes"].as_array().unwrap().iter().map(|node| &node["kind"]).collect();
    assert_eq!(kinds, ["start", "step", "branch", "gate", "branch", "loop", "step", "end"]);
    let schema = shell.run("schema checkout --json").await.json();
    assert_eq!(keys(&schema), ["error", "flow", "gates", "input", "messages", "output"]);
    assert_eq!(keys(&schema["gates"]), ["manager"]);
    shell.run("completions bash").await.ends(Exit::Done).says("shop");
}

#[tokio::test]
async fn gates_are_listed_by_what_answers_them() {
    let shell = shell().await;
    let json = shell.run("flows --json").await.json();
    let signed = json["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == "signed").unwrap();
    let gates = signed["gates"].as_array().unwrap().iter().map(|gate| (&gate["frame"], &gate["name"]));
    assert_eq!(
        gates.collect::<Vec<_>>(),
        [(&json!("sign"), &json!("sign")), (&json!("countersign"), &json!("sign"))]
    );
    let schema = shell.run("schema signed --json").await.json();
    assert_eq!(keys(&schema["gates"]), ["countersign", "sign"]);
    let one = shell.run("schema signed --gate countersign --json").await.json();
    assert_eq!(one, schema["gates"]["countersign"]);
    shell.run("schema signed --gate cuntersign").await.warns("did you mean `countersign`");
}

#[tokio::test]
async fn what_this_build_cannot_read_is_shown_as_it_is() {
    let shell = Shell::default();
    let mut made = Made::new(&shell.store, "odd", "checkout", json!(null));
    made.started("ship#0", 1, json!({"parcel": 0})).store_with_unreadable().await;
    let said = shell.run("logs odd --json").await.ends(Exit::Done);
    assert_eq!(
        serde_json::from_str::<Value>(said.out.lines().last().unwrap()).unwrap()["payload"],
        json!({"crew": 2})
    );
    shell.run("logs odd").await.ends(Exit::Done).says("unreadable: event 2 is a MOON_LANDING");
    shell.run("show odd").await.ends(Exit::Done).says("MOON_LANDING").says("ship#0");
    shell.run("debug odd").await.ends(Exit::Done).warns("readable up to event 2");
}

#[tokio::test]
async fn a_reader_that_goes_is_no_error() {
    let shell = shell().await;
    for line in [&["shop", "logs", "order-7", "--json"][..], &["shop", "list"], &["shop", "--help"]] {
        let (out, err) = (Pipe::closing_after(10), Pipe::default());
        let exit = cli::run_with(shell.app(), line, &mut shell.console(&out, &err, "")).await;
        assert_eq!((exit, err.text().as_str()), (Exit::Done, ""));
    }
}

#[tokio::test]
async fn what_waits_for_code_is_listed_as_such() {
    let shell = Shell::default();
    let mut report =
        ParkReport::new(Fault::Divergence, "waiting for code 000000000000000a: the code differs");
    report.wants = Some("000000000000000a".into());
    Made::new(&shell.store, "old-1", "checkout", json!({"sku": "tea", "qty": 1}))
        .parked(report)
        .store()
        .await;
    divergent(&shell.store).await;
    let said = shell.run("list").await.ends(Exit::Done).says("parked: waiting for code 000000000000000a");
    assert_eq!(said.out.matches("waiting for code").count(), 1, "{}", said.out);
    let json = shell.run("list --json").await.json();
    assert_eq!(json["executions"][0]["waits_for_code"], "000000000000000a");
    assert!(json["executions"][1].get("waits_for_code").is_none());
}

#[tokio::test]
async fn schedules_as_json() {
    let shell = Shell::default();
    let json = shell.run("schedules --json").await.ends(Exit::Done).json();
    let tidy = &json["schedules"][0];
    assert_eq!((&tidy["flow"], &tidy["cron"]), (&json!("tidy"), &json!("0 18 * * MON-FRI")));
    assert_eq!((&tidy["overlap"], tidy["next"].as_array().unwrap().len()), (&json!("skip"), 5));
    let runs = shell.run("schedules backfill tidy 2025-12-01T00:00:00Z 2025-12-03T00:00:00Z --json").await;
    let runs = runs.ends(Exit::Done).json();
    assert_eq!(runs, json!({"runs": ["tidy@2025-12-01T17:00:00Z", "tidy@2025-12-02T17:00:00Z"]}));
    shell.run("schedules backfill tidy yesterday today").await.ends(Exit::Usage).warns("no instant");
    let ahead = shell.run("schedules backfill tidy 9000-01-01T00:00:00Z 9000-02-01T00:00:00Z").await;
    ahead.ends(Exit::Usage).warns("is due at 9000-01-01T17:00:00.000000Z, and now it is ");
    let back = shell.run("schedules backfill tidy 2025-12-03T00:00:00Z 2025-12-01T00:00:00Z").await;
    back.ends(Exit::Usage).warns("a range that ends after it begins");
    let weekend = shell.run("schedules backfill tidy 2025-12-06T00:00:00Z 2025-12-08T00:00:00Z").await;
    weekend.ends(Exit::Usage).warns("is never due from 2025-12-06T00:00:00.000000Z to 2025-12-08");
    shell.run("schedules pause nothing").await.ends(Exit::Refused).warns("scheduled are: tidy");
    shell.run("schedules pause tidy --by ada").await.ends(Exit::Done);
    shell.run("schedules trigger tidy").await.ends(Exit::Done);
}
