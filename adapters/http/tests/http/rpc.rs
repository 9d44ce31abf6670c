//! JSON-RPC 2.0: calls, batches, notifications, and what the specification says of wrong ones.
//! Not what verbs do.

use serde_json::{Value, json};

use crate::support::{Shop, patiently};

#[tokio::test]
async fn the_specification_holds() {
    patiently(async {
        let shop = Shop::open().await;
        let rpc = async |body: Value| shop.json("post", "/v1/rpc", body).await;
        let call = |id: Value, method: &str, params: Value| {
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        };
        let (status, reply) = rpc(call(json!(1), "loom.start", json!({"flow": "adder", "id": "a"}))).await;
        assert_eq!((status, &reply["id"], &reply["result"]["execution"]), (200, &json!(1), &json!("a")), "{reply}");
        assert!(reply.get("error").is_none());
        let (_, reply) = rpc(call(json!("x"), "loom.show", json!({"execution": "nope"}))).await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!("x"), &json!(1001)), "{reply}");
        assert_eq!(reply["error"]["data"]["code"], "unknown-execution");
        assert!(reply.get("result").is_none());
        for (wrong, code) in [
            (call(json!(1), "loom.nope", json!({})), -32601),
            (call(json!(1), "list", json!({})), -32601),
            (call(json!(1), "loom.start", json!({"flow": 7})), -32602),
            (call(json!(1), "loom.start", json!(["adder"])), -32602),
            (call(json!([1]), "loom.list", json!({})), -32600),
            (json!({"jsonrpc": "1.0", "id": 1, "method": "loom.list"}), -32600),
            (json!({"id": 1}), -32600),
            (json!(7), -32600),
            (json!([]), -32600),
            (Value::Array(vec![call(json!(1), "loom.abi", json!({})); 101]), -32600),
        ] {
            let (status, reply) = rpc(wrong.clone()).await;
            assert_eq!((status, &reply["error"]["code"]), (200, &json!(code)), "{wrong} gave {reply}");
        }
        let request = shop.request("post", "/v1/rpc").header("content-type", "application/json").body("{not");
        let (_, reply) = crate::support::answer(request).await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&Value::Null, &json!(-32700)), "{reply}");
    })
    .await;
}

#[tokio::test]
async fn a_batch_is_done_in_order_and_notifications_are_silent() {
    patiently(async {
        let shop = Shop::open().await;
        let note = |params: Value| json!({"jsonrpc": "2.0", "method": "loom.start", "params": params});
        let list = json!({"jsonrpc": "2.0", "id": 9, "method": "loom.list", "params": {}});
        let notes =
            json!([note(json!({"flow": "adder", "id": "b"})), 7, list, note(json!({"flow": "nope"}))]);
        let (status, replies) = shop.json("post", "/v1/rpc", notes).await;
        assert_eq!((status, replies.as_array().unwrap().len()), (200, 2), "{replies}");
        assert_eq!(replies[0]["error"]["code"], -32600);
        assert_eq!(replies[1]["result"]["executions"][0]["execution"], "b", "{replies}");
        let (status, nothing) = shop.json("post", "/v1/rpc", note(json!({"flow": "adder", "id": "c"}))).await;
        assert_eq!((status, nothing), (204, json!("")));
        let (status, nothing) =
            shop.json("post", "/v1/rpc", json!([note(json!({"flow": "adder", "id": "c"}))])).await;
        assert_eq!((status, nothing), (204, json!("")));
        let (_, abi) = shop.get("/v1/abi").await;
        assert_eq!(abi["abi"], "1.0");
        for method in abi["methods"].as_array().unwrap() {
            let (_, reply) =
                shop.json("post", "/v1/rpc", json!({"jsonrpc": "2.0", "id": 1, "method": method})).await;
            assert_ne!(reply["error"]["code"], -32601, "{method}: {reply}");
        }
    })
    .await;
}
