//! B42: a server whose store is down says so, and starts nothing.
//! Not how a store comes back: its next answer shows that.

use std::time::Duration;

use loom_http::Client;
use serde_json::json;

use crate::support::{Shop, answer, app, config, patiently};

#[tokio::test]
async fn b42_a_healthy_server_needs_no_token_to_say_so() {
    patiently(async {
        let shop = Shop::open().await;
        assert_eq!(answer(shop.bare("get", "/healthz")).await, (200, json!({"status": "ok"})));
    })
    .await;
}

#[tokio::test]
async fn b42_a_store_that_is_down_starts_nothing() {
    patiently(async {
        // Nobody listens there.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let store = Client::new(&format!("http://{free}")).unwrap().store();
        let shop = Shop::on(app(store), config()).await;
        let (status, problem) = answer(shop.bare("get", "/healthz")).await;
        assert_eq!((status, &problem["code"]), (503, &json!("store-unavailable")), "{problem}");
        assert!(!problem.to_string().contains(&free.to_string()), "whoever asks has no token: {problem}");
        let (status, problem) =
            shop.json("post", "/v1/executions", json!({"flow": "adder", "id": "a"})).await;
        assert_eq!((status, &problem["code"]), (503, &json!("store-unavailable")), "{problem}");
        let (status, problem) = shop.get("/v1/executions").await;
        assert_eq!((status, &problem["code"]), (503, &json!("store-unavailable")), "{problem}");
    })
    .await;
}

#[tokio::test]
async fn b42_a_store_that_hangs_is_not_waited_for() {
    patiently(async {
        // Connections are taken, and nothing is ever said.
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", silent.local_addr().unwrap());
        tokio::spawn(async move {
            let mut held = Vec::new();
            while let Ok((connection, _)) = silent.accept().await {
                held.push(connection);
            }
        });
        let store = Client::new(&url).unwrap().store();
        let shop = Shop::on(app(store), config().health_timeout(Duration::from_millis(50))).await;
        let (status, problem) = answer(shop.bare("get", "/healthz")).await;
        assert_eq!((status, &problem["code"]), (503, &json!("store-unavailable")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains("50 ms"), "{problem}");
    })
    .await;
}
