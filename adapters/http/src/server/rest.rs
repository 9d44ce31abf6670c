//! Verbs as REST: path, query and body become one object of arguments.
//! Not JSON-RPC, where they are one from the beginning.

use axum::{
    body::Body,
    http::{HeaderMap, Uri},
};
use serde_json::{Map, Value, value::RawValue};

use super::{body, route::Route, verbs::Host};
use crate::{Code, Problem};

/// Calls the verb of a route.
pub(super) async fn call(
    host: &Host,
    route: &'static Route,
    path: Vec<(String, String)>,
    (uri, headers, body): (Uri, HeaderMap, Body),
    limit: usize,
) -> Result<Box<RawValue>, Problem> {
    let mut args = Map::new();
    if route.method.has_body() {
        let body = body::json(&headers, body, limit).await?;
        if !body.is_empty() {
            args = serde_json::from_slice(&body).map_err(|e| {
                Problem::new(Code::InvalidRequest, format!("the body is no JSON object: {}", position(&e)))
            })?;
        }
    } else {
        query(&mut args, uri.query().unwrap_or_default(), &(route.args)());
    }
    for (name, value) in path {
        if args.insert(name.clone(), Value::String(value)).is_some() {
            let detail = format!("`{name}` is in the path, and given again");
            return Err(Problem::new(Code::InvalidArguments, detail));
        }
    }
    (route.call)(host, Value::Object(args)).await
}

/// Where it is wrong, and not what stands there.
pub(super) fn position(error: &serde_json::Error) -> String {
    format!("wrong at line {}, column {}", error.line(), error.column())
}

/// What is in the query, with the types that the arguments have. A list is repeated, or has commas.
fn query(args: &mut Map<String, Value>, query: &str, schema: &schemars::Schema) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, text) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, text) = (decoded(name), decoded(text));
        let is = |ty: &str| match properties
            .and_then(|known| known.get(&name))
            .and_then(|known| known.get("type"))
        {
            Some(Value::String(one)) => one == ty,
            Some(Value::Array(some)) => some.iter().any(|one| one == ty),
            _ => false,
        };
        if is("array") {
            let items = text.split(',').filter(|item| !item.is_empty()).map(Into::into);
            match args.entry(&name).or_insert_with(|| Value::Array(Vec::new())) {
                Value::Array(list) => list.extend(items),
                _ => unreachable!("only lists are put there"),
            }
            continue;
        }
        let typed = is("integer") || is("boolean");
        let value = if typed { serde_json::from_str(&text).ok() } else { None };
        args.insert(name, value.unwrap_or(Value::String(text)));
    }
}

/// A name or a value of a query.
pub(super) fn decoded(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        let hex = |digit: u8| char::from(digit).to_digit(16);
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let mut ahead = rest.clone();
                match (ahead.next().and_then(hex), ahead.next().and_then(hex)) {
                    (Some(high), Some(low)) => {
                        bytes.push((high * 16 + low) as u8);
                        rest = ahead;
                    }
                    _ => bytes.push(b'%'),
                }
            }
            _ => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args;

    #[test]
    fn a_query_has_the_types_of_the_arguments() {
        let schema = schemars::schema_for!(args::List);
        let mut found = Map::new();
        query(&mut found, "status=running,parked&status=failed&flow=a%2Fb+c&limit=7&after=12&x=%zz", &schema);
        let expected = serde_json::json!({
            "status": ["running", "parked", "failed"], "flow": "a/b c", "limit": 7, "after": "12", "x": "%zz",
        });
        assert_eq!(Value::Object(found), expected);
    }
}
