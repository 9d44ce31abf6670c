//! Verbs as JSON-RPC 2.0: the wire ABI. One call, a batch, notifications.
//! Not the stream of events, which is SSE alone: JSON-RPC over POST answers once.

use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{
    guard::Role,
    rest::position,
    route::{Route, VERBS},
    verbs::Host,
};
use crate::{Code, Problem};

/// How many calls a batch has at most.
const BATCH: usize = 100;

/// What a call came to.
#[derive(Serialize)]
struct Reply {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    id: Value,
}

impl Reply {
    fn of(id: Value, came: Result<Box<RawValue>, Problem>) -> Self {
        match came {
            Ok(result) => Self { jsonrpc: "2.0", result: Some(result), error: None, id },
            Err(problem) => Self::error(id, problem.code.rpc(), &problem),
        }
    }

    fn error(id: Value, code: i64, problem: &Problem) -> Self {
        let error = json!({"code": code, "message": problem.detail, "data": problem});
        Self { jsonrpc: "2.0", result: None, error: Some(error), id }
    }
}

/// Answers a body; `None` when it holds only notifications.
pub(super) async fn answer(host: &Host, role: Role, body: &[u8], request: &str) -> Option<String> {
    let wrong = |detail: String| Problem {
        request: Some(request.into()),
        ..Problem::new(Code::InvalidRequest, detail)
    };
    let body: Value = match serde_json::from_slice(body) {
        Ok(body) => body,
        // "Parse error", which no route has.
        Err(e) => {
            return Some(tell(&Reply::error(
                Value::Null,
                -32700,
                &wrong(format!("no JSON: {}", position(&e))),
            )));
        }
    };
    match body {
        Value::Array(calls) if calls.is_empty() => {
            Some(tell(&Reply::of(Value::Null, Err(wrong("the batch is empty".into())))))
        }
        Value::Array(calls) if calls.len() > BATCH => {
            let detail = format!("the batch has {} calls, the limit is {BATCH}: send several", calls.len());
            Some(tell(&Reply::of(Value::Null, Err(wrong(detail)))))
        }
        Value::Array(calls) => {
            let mut replies = Vec::new();
            // In order, as they may depend on each other.
            for one in calls {
                replies.extend(call(host, role, one, request).await);
            }
            (!replies.is_empty()).then(|| tell(&replies))
        }
        one => call(host, role, one, request).await.map(|reply| tell(&reply)),
    }
}

fn tell(reply: &impl Serialize) -> String {
    serde_json::to_string(reply).unwrap_or_else(|_| "null".into())
}

async fn call(host: &Host, role: Role, call: Value, request: &str) -> Option<Reply> {
    let mut call = match call {
        Value::Object(call) => call,
        _ => Map::new(),
    };
    let id = call.remove("id");
    let parts = (call.remove("jsonrpc"), call.remove("method"), call.remove("params"));
    let known_id = !matches!(id, Some(Value::Array(_) | Value::Object(_) | Value::Bool(_)));
    let came = match parts {
        (Some(Value::String(version)), Some(Value::String(method)), params)
            if version == "2.0" && known_id =>
        {
            match named(&method) {
                Some(route) => {
                    tracing::debug!(request, method, "called");
                    called(host, role, route, params).await
                }
                None => {
                    let detail = format!("there is no method {method:?}: `loom.abi` lists them");
                    Err(Problem::new(Code::UnknownRoute, detail))
                }
            }
        }
        _ => {
            let detail = "expected {\"jsonrpc\": \"2.0\", \"method\": …, \"params\": {…}, \"id\": …}";
            let problem =
                Problem { request: Some(request.into()), ..Problem::new(Code::InvalidRequest, detail) };
            let id = id.filter(|_| known_id).unwrap_or_default();
            return Some(Reply::of(id, Err(problem)));
        }
    };
    let came = came.map_err(|problem| Problem { request: Some(request.into()), ..problem });
    match (id, came) {
        (Some(id), came) => Some(Reply::of(id, came)),
        (None, Ok(_)) => None,
        (None, Err(problem)) => {
            // Nobody else learns of it.
            tracing::warn!(
                request,
                code = problem.code.name(),
                detail = problem.detail,
                "a notification was refused"
            );
            None
        }
    }
}

fn named(method: &str) -> Option<&'static Route> {
    let name = method.strip_prefix("loom.")?;
    VERBS.iter().find(|route| route.name == name)
}

async fn called(
    host: &Host,
    role: Role,
    route: &'static Route,
    params: Option<Value>,
) -> Result<Box<RawValue>, Problem> {
    super::allowed(role, route.writes)?;
    let args = match params {
        None => Value::Object(Map::new()),
        Some(Value::Object(args)) => Value::Object(args),
        Some(_) => {
            let detail = format!("the params of `loom.{}` are no object: arguments have names", route.name);
            return Err(Problem::new(Code::InvalidArguments, detail));
        }
    };
    (route.call)(host, args).await
}
