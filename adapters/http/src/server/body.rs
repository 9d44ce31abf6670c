//! Bodies of requests: read within a limit and a time, and required to say that they are JSON.
//! Not what is in them.

use std::time::Duration;

use axum::{
    body::Body,
    http::{HeaderMap, header},
};
use futures_util::StreamExt;

use crate::{Code, Problem};

/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Reads a JSON body, if there is one.
pub(super) async fn json(headers: &HeaderMap, body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if announced.is_some_and(|size: u64| size > limit as u64) {
        return Err(too_large(announced, limit));
    }
    let bytes = tokio::time::timeout(PATIENCE, read(body, limit)).await;
    let bytes = bytes.map_err(|_| {
        Problem::new(Code::RequestTimeout, format!("the body did not come within {} s", PATIENCE.as_secs()))
    })??;
    let is_json = |kind: &str| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
    };
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    // What a page in a browser may send anywhere without asking is no JSON.
    if !bytes.is_empty() && !kind.is_some_and(is_json) {
        let found = kind.map_or_else(|| "no content type".into(), |kind| format!("{kind:?}"));
        let detail = format!("the body has {found}: expected `Content-Type: application/json`");
        return Err(Problem::new(Code::UnsupportedMediaType, detail));
    }
    Ok(bytes)
}

async fn read(body: Body, limit: usize) -> Result<Vec<u8>, Problem> {
    let (mut stream, mut bytes) = (body.into_data_stream(), Vec::new());
    while let Some(chunk) = stream.next().await {
        let chunk =
            chunk.map_err(|e| Problem::new(Code::InvalidRequest, format!("the body broke off: {e}")))?;
        if bytes.len() + chunk.len() > limit {
            return Err(too_large(None, limit));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn too_large(size: Option<u64>, limit: usize) -> Problem {
    let size = match size {
        Some(size) => format!("has {size} bytes, and the limit is {limit}"),
        None => format!("is longer than the limit of {limit} bytes"),
    };
    let advice = "store it elsewhere and pass a reference, or raise the server's `body_limit`";
    Problem::new(Code::PayloadTooLarge, format!("the body {size}: {advice}"))
}
