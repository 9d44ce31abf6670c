//! The events of an execution as server-sent events: durable ones by sequence, what steps say live between them.
//! Not a queue: nothing is kept for a reader, who reads the log at its own pace and is told what it missed of the rest.

use std::{convert::Infallible, time::Duration};

use axum::{
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    response::{
        IntoResponse, Response,
        sse::{self, KeepAlive, Sse},
    },
};
use futures_util::stream;
use loom_runtime::{Events, ExecutionId, StepStream, Streamed, kernel::Envelope, ports::StoreError, view};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{rest::decoded, verbs::Host};
use crate::{Code, Problem};

/// How long a reader that lost its connection waits before it comes again.
const COME_AGAIN: Duration = Duration::from_secs(1);

/// What a reader asks for.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Asked {
    /// Only events after this sequence.
    after: Option<u64>,
    /// Whether it wants to hear what steps say, too.
    live: bool,
}

impl Asked {
    /// By the query, and by `Last-Event-ID`, which a browser sends when it comes again, and which is newer.
    pub(super) fn of(query: &str, headers: &HeaderMap) -> Result<Self, Problem> {
        let wrong = |what: String| Problem::new(Code::InvalidArguments, what);
        let sequence = |what: &str, text: &str| {
            text.parse::<u64>()
                .map_err(|_| wrong(format!("{what} is {text:?}: expected the sequence of an event")))
        };
        let mut asked = Self { after: None, live: true };
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            match (decoded(name).as_str(), decoded(value).as_str()) {
                ("after", text) => asked.after = Some(sequence("`after`", text)?),
                ("live", text) => {
                    let live = text.parse();
                    asked.live =
                        live.map_err(|_| wrong(format!("`live` is {text:?}: expected true or false")))?;
                }
                (other, _) => return Err(wrong(format!("`events` takes `after` and `live`, not {other:?}"))),
            }
        }
        if let Some(last) = headers.get("last-event-id").filter(|last| !last.is_empty()) {
            asked.after = Some(sequence("`Last-Event-ID`", last.to_str().unwrap_or_default())?);
        }
        Ok(asked)
    }
}

/// Where a stream is.
struct Reading {
    id: ExecutionId,
    events: Option<Events>,
    live: Option<StepStream>,
    status: &'static str,
    stop: CancellationToken,
    done: bool,
}

impl Reading {
    async fn next(&mut self, host: &Host) -> Option<sse::Event> {
        if self.done {
            return None;
        }
        loop {
            let durable = async {
                match &mut self.events {
                    Some(events) => events.next().await,
                    None => std::future::pending().await,
                }
            };
            let live = async {
                match &mut self.live {
                    Some(live) => live.next().await,
                    None => std::future::pending().await,
                }
            };
            let item = tokio::select! {
                biased;
                () = self.stop.cancelled() => return None,
                item = durable => Item::Durable(item),
                item = live => Item::Live(item),
            };
            match item {
                Item::Durable(Some(Ok(envelope))) => return Some(self.durable(&envelope)),
                // The next event is asked for again.
                Item::Durable(Some(Err(StoreError::Unavailable(_)))) => {}
                Item::Durable(Some(Err(error))) => {
                    self.done = true;
                    return Some(named("problem", &Problem::from(error)));
                }
                Item::Live(Some(said)) => return Some(named("live", &Said { execution: &self.id, said })),
                Item::Durable(None) => self.events = None,
                Item::Live(None) => self.live = None,
            }
            if self.events.is_none() && self.live.is_none() {
                self.done = true;
                if let Ok(row) = host.app.row(&self.id).await {
                    self.status = row.status.name();
                }
                return Some(named("end", &serde_json::json!({"execution": self.id, "status": self.status})));
            }
        }
    }

    fn durable(&mut self, envelope: &Envelope) -> sse::Event {
        match envelope.encode() {
            Ok(record) => {
                let event = sse::Event::default().id(envelope.sequence.to_string());
                event.data(text(&view::Event::of(&self.id, &record)))
            }
            Err(error) => {
                self.done = true;
                named("problem", &Problem::from(error))
            }
        }
    }
}

/// What comes next; there is one at a time.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
enum Item {
    Durable(Option<Result<Envelope, StoreError>>),
    Live(Option<Streamed>),
}

/// What a step says, and whose.
#[derive(Serialize)]
struct Said<'a> {
    execution: &'a ExecutionId,
    #[serde(flatten)]
    said: Streamed,
}

fn named(name: &str, data: &impl Serialize) -> sse::Event {
    sse::Event::default().event(name).data(text(data))
}

/// On lines that SSE can carry: a raw carriage return stands between tokens of JSON at most.
fn text(data: &impl Serialize) -> String {
    serde_json::to_string(data).unwrap_or_default().replace('\r', " ")
}

/// Answers the stream; nothing at all to whoever has seen the last event, which tells a browser not to come again.
pub(super) async fn stream(
    host: Host,
    id: ExecutionId,
    asked: Asked,
    keep_alive: Duration,
    stop: CancellationToken,
) -> Result<Response, Problem> {
    // Before the log is read: what is said from now on is heard.
    let live = asked.live.then(|| host.app.stream(&id));
    let row = host.app.row(&id).await?;
    let from = asked.after.map_or(0, |after| after.saturating_add(1));
    if row.status.is_terminal() && from >= row.next {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = Some(host.app.events(&id, from));
    let reading = Reading { id, events, live, status: row.status.name(), stop, done: false };
    let head = stream::once(async { Ok(sse::Event::default().retry(COME_AGAIN)) });
    let items = stream::unfold((host, reading), |(host, mut reading)| async move {
        let event = reading.next(&host).await?;
        Some((Ok::<_, Infallible>(event), (host, reading)))
    });
    let body =
        Sse::new(stream::StreamExt::chain(head, items)).keep_alive(KeepAlive::new().interval(keep_alive));
    // Proxies are asked not to wait for more.
    let unbuffered = (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    Ok(([unbuffered], body).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_that_comes_again_is_believed() {
        let mut headers = HeaderMap::new();
        let of = |query, headers: &HeaderMap| Asked::of(query, headers).map_err(|problem| problem.code);
        assert_eq!(of("", &headers), Ok(Asked { after: None, live: true }));
        assert_eq!(of("after=7&live=false", &headers), Ok(Asked { after: Some(7), live: false }));
        for wrong in ["after=x", "after=-1", "live=perhaps", "before=7"] {
            assert_eq!(of(wrong, &headers), Err(Code::InvalidArguments), "{wrong}");
        }
        headers.insert("last-event-id", HeaderValue::from_static("9"));
        assert_eq!(of("after=7", &headers), Ok(Asked { after: Some(9), live: true }));
    }
}
