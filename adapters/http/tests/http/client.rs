//! The Rust client: the verbs by the names that the app has, and typed errors.
//! Not the wire's own forms: `refused.rs` and `rpc.rs` have those.

use std::time::Duration;

use loom::{Lane, Status};
use loom_http::{Client, ClientError, Code, Heard, args};
use serde_json::{Value, json};

use crate::support::{Shop, app, config, id, patiently};

#[tokio::test]
async fn an_order_lives_and_ends() {
    patiently(async {
        let shop = Shop::open().await;
        let client = shop.client().by("ann");
        let order = json!({"sku": "tea", "qty": 2});
        let started = client.start("checkout", &order, Some("order-7")).await.unwrap();
        assert_eq!((started.execution.as_str(), started.flow.as_str()), ("order-7", "checkout"));
        assert_eq!(
            client.start("checkout", &order, Some("order-7")).await.unwrap().execution,
            started.execution
        );
        let order_7 = id("order-7");
        let gate = "order-7/manager".parse().unwrap();
        client.resume(&gate, &json!({"approved": true})).await.unwrap();
        assert_eq!(client.result::<String>(&order_7).await.unwrap(), "2 of tea");
        let mut heard = Vec::new();
        let mut events = client.events(&order_7, None);
        while let Some(item) = events.next().await {
            match item.unwrap() {
                Heard::Event(event) => heard.push(event),
                other => panic!("{other:?}"),
            }
        }
        let log = client.log(&order_7, 0, 1_000).await.unwrap();
        assert_eq!(heard, log);
        let shown = client.show(&order_7).await.unwrap();
        assert_eq!(shown.status, Status::Completed);
        assert_eq!(shown.rest["gates"][0]["state"], "answered");
        let answered =
            shown.rest["frames"].as_array().unwrap().iter().find(|frame| frame["frame"] == "manager");
        assert_eq!(answered.unwrap()["by"], "ann");
        let listed = client.list(&args::List::default()).await.unwrap();
        assert_eq!((listed.executions.len(), listed.more), (1, false));
        assert_eq!(client.state(&order_7, Some(1)).await.unwrap().next, 1);
        let again = client.resume(&gate, &json!({"approved": false})).await.unwrap_err();
        assert_eq!(again.code(), Some(Code::AlreadyAnswered), "{again}");
        assert!(client.gates(None).await.unwrap().gates.is_empty());
    })
    .await;
}

#[tokio::test]
async fn a_start_says_when_its_turn_comes() {
    patiently(async {
        let shop = Shop::open().await;
        let lane = json!({"key": "tenant-a", "at_most": 2, "rate": {"begins": 100, "within_ms": 60_000}, "weight": 3});
        let start = json!({"flow": "adder", "id": "sum", "priority": -5, "lane": lane});
        let started = shop.client().start_in_turn(&serde_json::from_value(start).unwrap()).await.unwrap();
        let turn = shop.app.row(&id("sum")).await.unwrap().turn;
        let rated = Lane::new("tenant-a").at_most(2).rate(100, Duration::from_secs(60)).weight(3);
        assert_eq!((turn.priority, turn.lane), (-5, Some(rated)));
        let listed = shop.client().list(&args::List::default()).await.unwrap();
        let shown = shop.client().show(&id("sum")).await.unwrap();
        for rest in [&started.rest, &listed.executions[0].rest, &shown.rest] {
            assert_eq!((&rest["priority"], &rest["lane"]), (&json!(-5), &lane));
        }
        shop.client().start("adder", &(), Some("usual")).await.unwrap();
        let usual = shop.client().show(&id("usual")).await.unwrap().rest;
        assert!(!usual.contains_key("priority") && !usual.contains_key("lane"), "{usual:?}");
    })
    .await;
}

#[tokio::test]
async fn updates_messages_and_queries() {
    patiently(async {
        let shop = Shop::open().await;
        let client = shop.client();
        client.start("adder", &(), Some("sum")).await.unwrap();
        let sum = id("sum");
        assert_eq!(client.update::<i64>(&sum, "numbers", &40).await.unwrap(), 40);
        let refused = client.update::<i64>(&sum, "numbers", &-1).await.unwrap_err();
        assert_eq!(refused.code(), Some(Code::UpdateRejected), "{refused}");
        client.send(&sum, "numbers", &2, Some("two")).await.unwrap();
        client.send(&sum, "numbers", &2, Some("two")).await.unwrap();
        let reused = client.send(&sum, "numbers", &3, Some("two")).await.unwrap_err();
        assert_eq!(reused.code(), Some(Code::KeyReused), "{reused}");
        assert_eq!(client.update::<i64>(&sum, "numbers", &8).await.unwrap(), 50);
        assert_eq!(client.query::<Value>(&sum, "sums").await.unwrap(), json!({"added": [40, 2, 8]}));
        let unknown = client.query::<Value>(&sum, "totals").await.unwrap_err();
        assert_eq!(unknown.code(), Some(Code::UnknownProjection), "{unknown}");
        client.cancel(&sum, "enough").await.unwrap();
        match client.result::<i64>(&sum).await {
            Err(ClientError::Cancelled { reason, .. }) => assert_eq!(reason, "enough"),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn doubts_forks_and_failures() {
    patiently(async {
        let shop = Shop::open().await;
        let client = shop.client();
        client.start("till", &13, Some("t")).await.unwrap();
        let till = id("t");
        let parked = client.result::<String>(&till).await.unwrap_err();
        assert_eq!(parked.code(), Some(Code::Parked), "{parked}");
        let verdict = args::Verdict::Done(json!("paid in cash"));
        client.judge(&till, "charge", verdict).await.unwrap();
        assert_eq!(client.result::<String>(&till).await.unwrap(), "paid in cash");
        client.start("checkout", &json!({"sku": "tea", "qty": 1}), Some("o")).await.unwrap();
        client.resume(&"o/manager".parse().unwrap(), &json!({"approved": false})).await.unwrap();
        match client.result::<String>(&id("o")).await {
            Err(ClientError::Failed(failed)) => assert_eq!(failed.code, "Declined"),
            other => panic!("{other:?}"),
        }
        let fork =
            args::Fork { execution: "o".into(), at: Some(3), id: Some("o2".into()), ..Default::default() };
        client.fork(fork).await.unwrap();
        client.resume(&"o2/manager".parse().unwrap(), &json!({"approved": true})).await.unwrap();
        assert_eq!(client.result::<String>(&id("o2")).await.unwrap(), "1 of tea");
        let promoted: Value =
            client.call("promote", &json!({"branch": "main", "execution": "o2"})).await.unwrap();
        assert_eq!(promoted["version"], 1);
        let diff: Value = client.call("diff", &json!({"a": "o", "b": "o2"})).await.unwrap();
        assert_eq!(diff["shared"], 3);
        let asked = json!({"execution": "o", "at": 3, "gates": {"manager": {"approved": true}}});
        let simulated: Value = client.call("simulate", &asked).await.unwrap();
        assert_eq!(simulated["outcome"], json!({"completed": "1 of tea"}));
    })
    .await;
}

/// A verdict that nobody has taken in yet is waited for: the execution is parked no longer than that takes.
#[tokio::test]
async fn a_parked_one_that_was_judged_is_waited_for() {
    patiently(async {
        let memory = loom::Memory::new();
        let shop = Shop::on(app(memory.clone()), config().without_work()).await;
        let client = shop.client();
        client.start("till", &13, Some("t")).await.unwrap();
        let till = id("t");
        let first = app(memory.clone());
        first.work();
        let parked = client.result::<String>(&till).await.unwrap_err();
        assert_eq!(parked.code(), Some(Code::Parked), "{parked}");
        first.shutdown(Duration::from_secs(5)).await;
        client.judge(&till, "charge", args::Verdict::Done(json!("paid in cash"))).await.unwrap();
        let now: Value = client.call("result", &json!({"execution": "t"})).await.unwrap();
        assert_eq!((&now["status"], now.get("outcome")), (&json!("parked"), None));
        let waiting = tokio::spawn(async move { client.result::<String>(&till).await });
        app(memory).work();
        assert_eq!(waiting.await.unwrap().unwrap(), "paid in cash");
    })
    .await;
}

#[test]
fn an_address_is_checked_at_once() {
    assert!(matches!(Client::new("shop"), Err(ClientError::Url(_))));
    assert!(matches!(Client::new("ftp://shop"), Err(ClientError::Url(_))));
    if cfg!(not(feature = "tls")) {
        assert!(matches!(Client::new("https://shop"), Err(ClientError::NoTls(_))));
    }
    // The feature is one of the crate that programs depend on.
    let said = ClientError::NoTls("https://shop".into()).to_string();
    assert!(said.ends_with("turn on the feature `tls` of `loom-durable`"), "{said}");
}
