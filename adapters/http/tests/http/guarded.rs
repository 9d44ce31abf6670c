//! Tokens: who may do what, and what a server refuses to be.
//! Not the comparison of tokens: that is tested where it is.

use loom::Memory;
use loom_http::{Client, Config, ServeError, Server};
use serde_json::json;

use crate::support::{READ, Shop, TOKEN, WORK, answer, app, patiently};

#[tokio::test]
async fn each_role_does_its_own() {
    patiently(async {
        let shop = Shop::open().await;
        let with = |token: &str, method: &str, path: &str| {
            let request =
                shop.bare(method, path).bearer_auth(token).header("content-type", "application/json");
            let body = if path.ends_with("claim") {
                r#"{"worker":"w","now":1,"until":2,"limit":1,"execution":null,"flows":null}"#
            } else {
                r#"{"flow":"adder"}"#
            };
            answer(if method == "post" { request.body(body) } else { request })
        };
        let cases = [
            (TOKEN, "post", "/v1/executions", 200),
            (TOKEN, "get", "/v1/executions", 200),
            (TOKEN, "post", "/v1/store/claim", 403),
            (READ, "post", "/v1/executions", 403),
            (READ, "get", "/v1/executions", 200),
            (READ, "get", "/v1/openapi.json", 200),
            (READ, "post", "/v1/store/claim", 403),
            (WORK, "post", "/v1/executions", 403),
            (WORK, "get", "/v1/executions", 403),
            (WORK, "get", "/v1/executions/x/events", 403),
            (WORK, "get", "/v1/openapi.json", 403),
            ("somebody else's token", "get", "/v1/executions", 401),
            ("somebody else's token", "get", "/v1/nope", 401),
        ];
        for (token, method, path, status) in cases {
            let (found, body) = with(token, method, path).await;
            assert_eq!(found, status, "{token}: {method} {path}: {body}");
        }
        let response = shop.bare("get", "/v1/executions").send().await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["www-authenticate"] == "Bearer"),
            (401, true)
        );
        // Over JSON-RPC, too: each call of a batch by itself.
        let batch = json!([
            {"jsonrpc": "2.0", "id": 1, "method": "loom.list"},
            {"jsonrpc": "2.0", "id": 2, "method": "loom.start", "params": {"flow": "adder"}},
        ]);
        let request =
            shop.bare("post", "/v1/rpc").bearer_auth(READ).header("content-type", "application/json");
        let (_, replies) = answer(request.body(batch.to_string())).await;
        assert!(
            replies[0]["result"].is_object() && replies[1]["error"]["data"]["code"] == "forbidden",
            "{replies}"
        );
    })
    .await;
}

#[tokio::test]
async fn a_token_is_made_unless_set() {
    patiently(async {
        let config = Config::new().bind(([127, 0, 0, 1], 0).into());
        let server = Server::bind(app(Memory::new()), config).await.unwrap();
        let token = server.token().expect("one was made").to_owned();
        let url = format!("http://{}", server.address());
        tokio::spawn(server.run());
        assert!(token.len() >= 32);
        let client = Client::new(&url).unwrap();
        assert!(client.gates(None).await.is_err());
        assert!(client.token(&token).gates(None).await.is_ok());
    })
    .await;
}

#[tokio::test]
async fn an_open_server_answers_to_its_own_name() {
    patiently(async {
        let config = Config::new().bind(([127, 0, 0, 1], 0).into()).without_token();
        let shop = Shop::on(app(Memory::new()), config).await;
        assert_eq!(answer(shop.bare("get", "/v1/executions")).await.0, 200);
        let (status, problem) =
            answer(shop.bare("get", "/v1/executions").header("host", "evil.example")).await;
        assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{problem}");
        let (status, problem) = answer(shop.bare("post", "/v1/store/claim")).await;
        assert_eq!(status, 403, "no worker's token, no workers: {problem}");
    })
    .await;
}

#[tokio::test]
async fn a_server_is_not_exposed_by_accident() {
    let refused = async |config: Config| match Server::bind(app(Memory::new()), config).await {
        Ok(server) => panic!("it listens on {}", server.address()),
        Err(error) => error,
    };
    let everywhere = || Config::new().bind(([0, 0, 0, 0], 0).into());
    for config in [everywhere(), everywhere().without_token()] {
        let error = refused(config).await;
        assert!(matches!(error, ServeError::Exposed { .. }), "{error}");
        assert!(error.to_string().contains("Config::token"), "{error}");
    }
    assert!(Server::bind(app(Memory::new()), everywhere().token(TOKEN)).await.is_ok());
    let local = || Config::new().bind(([127, 0, 0, 1], 0).into());
    assert!(matches!(refused(local().token("short")).await, ServeError::WeakToken { .. }));
    assert!(matches!(refused(local().token(TOKEN).read_token(TOKEN)).await, ServeError::SharedToken { .. }));
}
