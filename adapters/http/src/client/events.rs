//! The events of an execution from a server, as they come: a stream that outlives its connections.
//! Not a cache: what was heard is the reader's.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use loom_runtime::ExecutionId;
use serde_json::Value;
use sse_stream::{Sse, SseStream};

use super::{Client, ClientError, Event, checked};
use crate::Problem;

/// How often a connection is tried in a row before it is given up.
const TRIES: u32 = 10;

/// A server that is silent for so long is gone: it says that it lives every 15 s, unless it was told otherwise.
const SILENCE: Duration = Duration::from_secs(60);

/// Something heard of an execution.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Heard {
    /// An event, once it is durable: in order, each once, whatever becomes of connections.
    Event(Event),
    /// What a step says while it runs, `{execution, type, frame, attempt, …}`: heard once or, when a connection broke, not
    /// at all.
    Live(Value),
}

/// The events of an execution, until it has ended. The last item may be an error.
pub struct EventStream(Pin<Box<dyn Stream<Item = Result<Heard, ClientError>> + Send>>);

impl EventStream {
    /// The next item; `None` when the execution has ended and everything was heard.
    pub async fn next(&mut self) -> Option<Result<Heard, ClientError>> {
        self.0.next().await
    }
}

impl Stream for EventStream {
    type Item = Result<Heard, ClientError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_next_unpin(context)
    }
}

type Messages = Pin<Box<dyn Stream<Item = Result<Sse, String>> + Send>>;

struct Reading {
    client: Client,
    url: String,
    after: Option<u64>,
    messages: Option<Messages>,
    failures: u32,
    done: bool,
}

pub(super) fn stream(client: Client, execution: &ExecutionId, after: Option<u64>) -> EventStream {
    let url = format!("{}/v1/executions/{}/events", client.url, escaped(execution.as_str()));
    let reading = Reading { client, url, after, messages: None, failures: 0, done: false };
    EventStream(Box::pin(stream::unfold(reading, |mut reading| async move {
        let item = reading.next().await?;
        Some((item, reading))
    })))
}

impl Reading {
    async fn next(&mut self) -> Option<Result<Heard, ClientError>> {
        while !self.done {
            let Some(messages) = &mut self.messages else {
                match self.connect().await {
                    Ok(()) => {}
                    Err(ClientError::Transport { reason, .. }) if self.failures < TRIES => {
                        tracing::debug!(url = self.url, reason, "the stream of events is connected again");
                        self.pause().await;
                    }
                    Err(error) => {
                        self.done = true;
                        return Some(Err(error));
                    }
                }
                continue;
            };
            let message = tokio::time::timeout(SILENCE, messages.next()).await;
            let Ok(Some(Ok(message))) = message else {
                // It broke off, or the server stops: what is missing comes with the next connection.
                self.messages = None;
                self.pause().await;
                continue;
            };
            self.failures = 0;
            match self.read(&message) {
                Ok(None) => {}
                Ok(Some(heard)) => return Some(Ok(heard)),
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }

    async fn connect(&mut self) -> Result<(), ClientError> {
        let request = self.client.authorised(self.client.http.get(&self.url));
        let request = match self.after {
            Some(after) => request.header("last-event-id", after),
            None => request,
        };
        let response = checked(request.send().await.map_err(ClientError::transport)?).await?;
        if response.status() == reqwest::StatusCode::NO_CONTENT {
            self.done = true;
            return Ok(());
        }
        let bytes = response.bytes_stream();
        self.messages =
            Some(Box::pin(SseStream::from_bytes_stream(bytes).map(|m| m.map_err(|e| e.to_string()))));
        Ok(())
    }

    async fn pause(&mut self) {
        tokio::time::sleep(Duration::from_millis(50) * (1 << self.failures.min(6))).await;
        self.failures += 1;
    }

    fn read(&mut self, message: &Sse) -> Result<Option<Heard>, ClientError> {
        let Some(data) = &message.data else { return Ok(None) };
        let unreadable = |e: serde_json::Error| ClientError::answer(&e);
        match message.event.as_deref() {
            None | Some("message") => {
                let event: Event = serde_json::from_str(data).map_err(unreadable)?;
                // A proxy that repeats itself repeats nothing here.
                let news = self.after.is_none_or(|after| event.sequence > after);
                self.after = self.after.max(Some(event.sequence));
                Ok(news.then_some(Heard::Event(event)))
            }
            Some("live") => Ok(Some(Heard::Live(serde_json::from_str(data).map_err(unreadable)?))),
            Some("problem") => Err(serde_json::from_str::<Problem>(data).map_err(unreadable)?.into()),
            Some("end") => {
                self.done = true;
                Ok(None)
            }
            // Of a newer server.
            Some(_) => Ok(None),
        }
    }
}

/// One segment of a path.
fn escaped(text: &str) -> String {
    let mut path = String::new();
    for byte in text.bytes() {
        match byte {
            b'-' | b'_' | b'.' | b'~' => path.push(char::from(byte)),
            _ if byte.is_ascii_alphanumeric() => path.push(char::from(byte)),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}
