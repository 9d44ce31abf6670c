//! The descriptions: OpenAPI says what there is, and there is what it says; OpenRPC names the methods.
//! Not the prose in them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Shop, answer, patiently};

/// Every value of a key in a document, however deep.
fn all<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a Value>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| {
            if name == key {
                found.push(value);
            }
            all(value, key, found);
        }),
        Value::Array(items) => items.iter().for_each(|item| all(item, key, found)),
        _ => {}
    }
}

fn references_resolve(document: &Value) {
    let mut references = Vec::new();
    all(document, "$ref", &mut references);
    assert!(references.len() > 5, "there are some");
    for reference in references {
        let pointer = reference.as_str().unwrap().strip_prefix('#').expect("into the document");
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

#[tokio::test]
async fn openapi_is_what_it_should_be() {
    patiently(async {
        let shop = Shop::open().await;
        let (status, document) = shop.get("/v1/openapi.json").await;
        assert_eq!((status, &document["openapi"]), (200, &json!("3.1.0")));
        references_resolve(&document);
        let mut ids = BTreeSet::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            let in_path: BTreeSet<_> =
                path.split('{').skip(1).filter_map(|rest| rest.split('}').next()).collect();
            for (method, operation) in methods.as_object().unwrap() {
                let at = format!("{method} {path}");
                assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{at}: its id is taken");
                assert!(!operation["summary"].as_str().unwrap().is_empty(), "{at}");
                let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
                let declared = parameters.iter().filter(|parameter| parameter["in"] == "path");
                let declared: BTreeSet<_> =
                    declared.map(|parameter| parameter["name"].as_str().unwrap()).collect();
                assert_eq!(declared, in_path, "{at}");
                for parameter in &parameters {
                    assert!(parameter["schema"].is_object(), "{at}: {parameter}");
                    assert!(parameter["in"] != "path" || parameter["required"] == true, "{at}: {parameter}");
                }
                assert!(method != "get" || operation.get("requestBody").is_none(), "{at}");
                let responses = operation["responses"].as_object().unwrap();
                assert!(responses.contains_key("200") && responses.contains_key("401"), "{at}");
                for (status, response) in responses {
                    assert!(
                        status.parse::<u16>().is_ok() && response["description"].is_string(),
                        "{at}: {status}"
                    );
                }
            }
        }
        // Inputs of flows are components, and what they define, too.
        let input = document["x-loom-flows"]["checkout"]["$ref"].as_str().unwrap();
        assert_eq!(input, "#/components/schemas/flow.checkout.input");
        let input = &document["components"]["schemas"]["flow.checkout.input"];
        assert!(input.to_string().contains("sku") || input.to_string().contains("$ref"), "{input}");
        let codes =
            document["components"]["schemas"]["Problem"]["properties"]["code"]["enum"].as_array().unwrap();
        assert_eq!(codes.len(), loom_http::Code::ALL.len());
    })
    .await;
}

/// What is described is there. The reverse holds by construction, for one table makes both; the codes that each route
/// may answer show that no route is missing from the document that another test has called.
#[tokio::test]
async fn every_route_that_is_described_is_there() {
    patiently(async {
        let shop = Shop::open().await;
        let (_, document) = shop.get("/v1/openapi.json").await;
        let mut count = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            let concrete = path.replace("{call}", "get").replace(['{', '}'], "");
            for known in ["get", "post", "put", "delete", "patch"] {
                let request = shop.request(known, &concrete).header("content-type", "application/json");
                let response = request.send().await.unwrap();
                let code = match response.status().as_u16() {
                    200 | 204 => Value::Null,
                    _ => serde_json::from_str::<Value>(&response.text().await.unwrap()).unwrap()["code"]
                        .clone(),
                };
                assert_ne!(code, "unknown-route", "{known} {path}");
                let described = methods.get(known).is_some();
                assert_eq!(described, code != "method-not-allowed", "{known} {path}: {code}");
                count += usize::from(described);
            }
        }
        let (_, abi) = shop.get("/v1/abi").await;
        // Six are no verbs.
        assert_eq!(count, abi["methods"].as_array().unwrap().len() + 6);
    })
    .await;
}

#[tokio::test]
async fn openrpc_names_every_method() {
    patiently(async {
        let shop = Shop::open().await;
        let (_, document) = shop.get("/v1/openrpc.json").await;
        let (_, abi) = shop.get("/v1/abi").await;
        references_resolve(&document);
        let named: Vec<_> =
            document["methods"].as_array().unwrap().iter().map(|method| method["name"].clone()).collect();
        assert_eq!(Value::Array(named), abi["methods"]);
        let (status, _) = answer(shop.bare("get", "/v1/openrpc.json")).await;
        assert_eq!(status, 401);
    })
    .await;
}
