//! Refusals over REST: each has its status and its code, and says what to do.
//! Not who may call what: that is `guarded.rs`.

use serde_json::{Value, json};

use crate::support::{Shop, TOKEN, answer, patiently};

#[tokio::test]
async fn each_refusal_has_its_code() {
    patiently(async {
        let shop = Shop::open().await;
        let order = json!({"sku": "tea", "qty": 2});
        let started = json!({"flow": "checkout", "input": order, "id": "a"});
        assert_eq!(shop.json("post", "/v1/executions", started).await.0, 200);
        assert_eq!(shop.json("post", "/v1/executions", json!({"flow": "adder", "id": "b"})).await.0, 200);
        assert_eq!(shop.json("post", "/v1/executions", json!({"flow": "mailbox", "id": "m"})).await.0, 200);
        let (status, shown) = shop.json("post", "/v1/executions/b/cancel", json!({"reason": "over"})).await;
        assert_eq!(status, 200, "{shown}");
        shop.app.until(&"b".parse().unwrap(), &[]).await.unwrap();
        let yes = || json!({"answer": {"approved": true}});
        let cases = [
            ("post", "/v1/executions", json!({"flow": "checkout", "id": "a"}), 422, "invalid-payload"),
            ("post", "/v1/executions", json!({"flow": "adder", "id": "a"}), 409, "duplicate-start"),
            ("post", "/v1/executions", json!({"flow": "nope"}), 404, "unknown-flow"),
            ("post", "/v1/executions", json!({"flow": "adder", "id": "a b"}), 400, "invalid-id"),
            ("post", "/v1/executions", json!({"flow": "adder", "inptu": 1}), 400, "invalid-arguments"),
            ("post", "/v1/executions", json!({}), 400, "invalid-arguments"),
            (
                "post",
                "/v1/executions",
                json!({"flow": "adder", "lane": {"key": "a", "at_most": 0}}),
                400,
                "invalid-arguments",
            ),
            ("post", "/v1/executions", json!([1]), 400, "invalid-request"),
            ("get", "/v1/executions?limit=many", Value::Null, 400, "invalid-arguments"),
            ("get", "/v1/executions?status=asleep", Value::Null, 400, "invalid-arguments"),
            ("get", "/v1/executions/nope", Value::Null, 404, "unknown-execution"),
            ("get", "/v1/executions/a%20b", Value::Null, 400, "invalid-id"),
            ("get", "/v1/executions/nope/events", Value::Null, 404, "unknown-execution"),
            ("get", "/v1/executions/a/events?after=x", Value::Null, 400, "invalid-arguments"),
            ("get", "/v1/executions/a/projections/nope", Value::Null, 404, "unknown-projection"),
            ("post", "/v1/executions/a/gates/cashier", yes(), 404, "unknown-gate"),
            ("post", "/v1/executions/a/gates/manager%233.1", yes(), 422, "gate-repetition"),
            ("post", "/v1/executions/a/gates/manager", json!({"answer": 1}), 422, "invalid-payload"),
            (
                "post",
                "/v1/executions/a/gates/manager",
                json!({"gate": "x", "answer": 1}),
                400,
                "invalid-arguments",
            ),
            (
                "post",
                "/v1/executions/b/messages",
                json!({"topic": "numbers", "body": 1}),
                409,
                "already-ended",
            ),
            (
                "post",
                "/v1/executions/b/updates",
                json!({"topic": "numbers", "body": 1}),
                409,
                "update-not-taken",
            ),
            (
                "post",
                "/v1/executions/m/updates",
                json!({"topic": "letters", "body": "x", "wait": 0}),
                504,
                "no-reply-yet",
            ),
            ("post", "/v1/executions/m/messages", json!({"topic": "t", "body": 1}), 404, "unknown-topic"),
            (
                "post",
                "/v1/executions/m/messages",
                json!({"topic": "letters", "body": 1}),
                422,
                "invalid-payload",
            ),
            ("post", "/v1/executions/a/retry", json!({}), 409, "not-parked"),
            ("post", "/v1/executions/a/verdicts/x", json!({"verdict": "again"}), 409, "not-in-doubt"),
            ("post", "/v1/executions/a/forks", json!({"at": 999}), 422, "invalid-fork"),
            ("put", "/v1/branches/main", json!({"execution": "a", "from": "b"}), 404, "unknown-branch"),
            ("put", "/v1/branches/a%20b", json!({"execution": "a"}), 422, "invalid-branch"),
            ("get", "/v1/nope", Value::Null, 404, "unknown-route"),
            ("put", "/v1/executions", json!({}), 405, "method-not-allowed"),
        ];
        for (method, path, body, status, code) in cases {
            let (found, problem) = match method {
                "get" => shop.get(path).await,
                _ => shop.json(method, path, body).await,
            };
            assert_eq!((found, problem["code"].as_str()), (status, Some(code)), "{method} {path}: {problem}");
            assert_eq!(problem["type"], format!("urn:loom:problem:{code}"));
            assert_eq!(problem["status"], status);
            assert!(
                !problem["instance"].as_str().unwrap().is_empty()
                    && !problem["detail"].as_str().unwrap().is_empty()
            );
        }
    })
    .await;
}

#[tokio::test]
async fn a_path_says_which_methods_it_takes() {
    patiently(async {
        let shop = Shop::open().await;
        let takes = [
            ("/v1/executions", "GET and POST"),
            ("/v1/branches/main", "PUT"),
            ("/v1/executions/a/gates/manager", "POST"),
            ("/healthz", "GET"),
        ];
        for (path, methods) in takes {
            let (status, problem) = answer(shop.request("delete", path)).await;
            assert_eq!(status, 405, "{problem}");
            assert_eq!(problem["detail"], format!("{path} does not take DELETE, but {methods}"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_limit_of_none_is_all() {
    patiently(async {
        let shop = Shop::open().await;
        for n in 0..3 {
            let start =
                json!({"flow": "checkout", "id": format!("run-{n}"), "input": {"sku": "tea", "qty": 1}});
            shop.json("post", "/v1/executions", start).await;
        }
        let (_, some) = shop.get("/v1/executions?limit=2").await;
        assert_eq!((some["executions"].as_array().unwrap().len(), &some["more"]), (2, &json!(true)));
        let (_, all) = shop.get("/v1/executions?limit=0").await;
        assert_eq!((all["executions"].as_array().unwrap().len(), &all["more"]), (3, &json!(false)));
        let (status, page) = shop.get("/v1/executions/run-0/log?limit=0").await;
        assert_eq!((status, &page["events"][0]["kind"]), (200, &json!("EXECUTION_STARTED")), "{page}");
        // In a `u32`, and not only by the schema.
        let start = json!({"flow": "checkout", "id": "run-3", "input": {"sku": "tea", "qty": 1.0}});
        let (status, problem) = shop.json("post", "/v1/executions", start).await;
        assert_eq!((status, &problem["code"]), (422, &json!("invalid-payload")), "{problem}");
        assert!(problem["detail"].as_str().unwrap().ends_with("(at /qty)"), "{problem}");
    })
    .await;
}

#[tokio::test]
async fn a_request_has_an_id() {
    patiently(async {
        let shop = Shop::open().await;
        let response = shop.request("get", "/v1/nope").header("x-request-id", "mine-7").send().await.unwrap();
        assert_eq!(response.headers()["x-request-id"], "mine-7");
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        let problem: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(problem["instance"], "mine-7");
        let response = shop.request("get", "/v1/abi").header("x-request-id", "not one").send().await.unwrap();
        assert_eq!(response.headers()["x-request-id"].len(), 36);
    })
    .await;
}

#[tokio::test]
async fn bodies_are_bounded_and_json() {
    patiently(async {
        let config = crate::support::config().body_limit(1_000);
        let shop = Shop::on(crate::support::app(loom::Memory::new()), config).await;
        let large = json!({"flow": "checkout", "input": "x".repeat(2_000)});
        let (status, problem) = shop.json("post", "/v1/executions", large.clone()).await;
        let size = large.to_string().len();
        assert_eq!((status, &problem["code"]), (413, &json!("payload-too-large")));
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.contains(&size.to_string()) && detail.contains("1000"), "{detail}");
        // One that does not say how long it is.
        let chunks = (0..20).map(|_| Ok::<_, std::io::Error>("x".repeat(100)));
        let stream = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
        let request = shop.request("post", "/v1/executions").header("content-type", "application/json");
        let (status, problem) = answer(request.body(stream)).await;
        assert_eq!((status, &problem["code"]), (413, &json!("payload-too-large")), "{problem}");
        let detail = problem["detail"].as_str().unwrap();
        assert!(detail.starts_with("the body is longer than the limit of 1000 bytes"), "{detail}");
        // What a page in a browser may send to anybody.
        let request = shop.request("post", "/v1/rpc").header("content-type", "text/plain").body("{}");
        let (status, problem) = answer(request).await;
        assert_eq!((status, &problem["code"]), (415, &json!("unsupported-media-type")), "{problem}");
        assert!(!problem.to_string().contains(TOKEN));
    })
    .await;
}
