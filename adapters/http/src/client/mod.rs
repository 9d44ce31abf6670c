//! The host side from elsewhere: the app's verbs, called over the wire.
//! Not an app: flows run where the server, or its workers, are.

mod error;
mod events;
mod store;
mod views;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use loom_runtime::{
    ExecutionId, GateAddress,
    kernel::{self, Payload},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

pub use self::{
    error::ClientError,
    events::{EventStream, Heard},
    store::RemoteStore,
    views::{Event, Execution, Executions, Gate, Gates, Standing},
};
use crate::{Problem, args};

/// How long the server is asked to wait at a time for a result.
const WAIT: u64 = 30;

/// A connection to a server. Cheap to clone.
///
/// ```no_run
/// # async fn main_() -> Result<(), loom_http::ClientError> {
/// let client = loom_http::Client::new("http://127.0.0.1:7766")?.token("9f2c…");
/// client.start("checkout", &serde_json::json!({"sku": "tea", "qty": 2}), Some("order-7")).await?;
/// let receipt: String = client.result(&"order-7".parse().unwrap()).await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: Option<String>,
    by: Option<String>,
}

/// An answer of JSON-RPC.
#[derive(Deserialize)]
struct Answer {
    #[serde(default, deserialize_with = "present")]
    result: Option<Payload>,
    error: Option<Refusal>,
}

#[derive(Deserialize)]
struct Refusal {
    data: Problem,
}

/// `null` is an answer, too.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Payload>, D::Error> {
    Payload::deserialize(from).map(Some)
}

impl Client {
    /// Of the server at this address, `http://127.0.0.1:7766`. Nothing is sent yet. With the feature `tls`, `ring` becomes this
    /// process's provider of cryptography, unless one is installed: `reqwest` panics without, in other clients of the
    /// process, too.
    ///
    /// # Errors
    /// The address is none, or wants TLS in a build that has none.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        let parsed: reqwest::Url = url.parse().map_err(|_| ClientError::Url(url.into()))?;
        match parsed.scheme() {
            "http" => {}
            "https" if cfg!(feature = "tls") => {}
            "https" => return Err(ClientError::NoTls(url.into())),
            _ => return Err(ClientError::Url(url.into())),
        }
        // One that is installed already is as good.
        #[cfg(feature = "tls")]
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A token goes where it was meant to go, and nowhere that this place points to.
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let http = http.connect_timeout(Duration::from_secs(10)).build().map_err(ClientError::transport)?;
        Ok(Self { http, url: url.trim_end_matches('/').into(), token: None, by: None })
    }

    /// With this token.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// On behalf of somebody: the name that answers, messages and cancels carry. `http` unless set.
    #[must_use]
    pub fn by(mut self, name: impl Into<String>) -> Self {
        self.by = Some(name.into());
        self
    }

    fn who(&self) -> String {
        self.by.clone().unwrap_or_else(|| "http".into())
    }

    /// Calls a verb by its name, `start`, with an object of arguments: for verbs of a newer server.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn call<T: DeserializeOwned>(
        &self,
        verb: &str,
        args: &impl Serialize,
    ) -> Result<T, ClientError> {
        static IDS: AtomicU64 = AtomicU64::new(1);
        let id = IDS.fetch_add(1, Ordering::Relaxed);
        let call = json!({"jsonrpc": "2.0", "id": id, "method": format!("loom.{verb}"), "params": args});
        let answer = self.post("/v1/rpc", call.to_string(), Duration::from_secs(90)).await?;
        let answer: Answer = serde_json::from_slice(&answer).map_err(|e| ClientError::answer(&e))?;
        if let Some(Refusal { data }) = answer.error {
            return Err(data.into());
        }
        let missing = || ClientError::Answer("it has neither a result nor an error".into());
        let result = answer.result.ok_or_else(missing)?;
        serde_json::from_str(result.as_str()).map_err(|e| ClientError::answer(&e))
    }

    /// Sends JSON; answers the body of a success.
    async fn post(&self, path: &str, body: String, patience: Duration) -> Result<Vec<u8>, ClientError> {
        let request = self.authorised(self.http.post(format!("{}{path}", self.url)));
        let request = request.header("content-type", "application/json").timeout(patience);
        let response = request.body(body).send().await.map_err(ClientError::transport)?;
        Ok(checked(response).await?.bytes().await.map_err(ClientError::transport)?.to_vec())
    }

    fn authorised(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Starts a flow. With an id that exists already, the same flow and input give the existing execution.
    ///
    /// # Errors
    /// See [`ClientError`]; [`Code::DuplicateStart`](crate::Code::DuplicateStart) when the id is another's.
    pub async fn start(
        &self,
        flow: &str,
        input: &impl Serialize,
        id: Option<&str>,
    ) -> Result<Execution, ClientError> {
        let (flow, input, id) = (flow.into(), value(input)?, id.map(Into::into));
        self.start_in_turn(&args::Start { flow, input, id, priority: 0, lane: None }).await
    }

    /// The same, with a priority and a lane.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn start_in_turn(&self, start: &args::Start) -> Result<Execution, ClientError> {
        self.call("start", start).await
    }

    /// Lists executions, a page at a time.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn list(&self, filter: &args::List) -> Result<Executions, ClientError> {
        self.call("list", filter).await
    }

    /// All there is to know of an execution, but its events.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn show(&self, execution: &ExecutionId) -> Result<Standing, ClientError> {
        self.call("show", &args::Show { execution: execution.to_string() }).await
    }

    /// The gates that wait for an answer, of one execution or of all.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Gates, ClientError> {
        let execution = execution.map(ToString::to_string);
        self.call("gates", &args::Gates { execution, limit: Some(1_000) }).await
    }

    /// Up to `limit` events, from a sequence on.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn log(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Event>, ClientError> {
        #[derive(Deserialize)]
        struct Page {
            events: Vec<Event>,
        }
        let args = args::Log { execution: execution.to_string(), from, limit: Some(limit) };
        Ok(self.call::<Page>("log", &args).await?.events)
    }

    /// The folded state, after all events or after the first few.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn state(
        &self,
        execution: &ExecutionId,
        events: Option<u64>,
    ) -> Result<kernel::State, ClientError> {
        self.call("state", &args::State { execution: execution.to_string(), events }).await
    }

    /// The state of a projection, by its name.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn query<T: DeserializeOwned>(
        &self,
        execution: &ExecutionId,
        projection: &str,
    ) -> Result<T, ClientError> {
        self.call("query", &args::Query { execution: execution.to_string(), projection: projection.into() })
            .await
    }

    /// Answers a gate, once.
    ///
    /// # Errors
    /// See [`ClientError`]; [`Code::AlreadyAnswered`](crate::Code::AlreadyAnswered) when somebody was first.
    pub async fn resume(
        &self,
        gate: &GateAddress,
        answer: &impl Serialize,
    ) -> Result<Execution, ClientError> {
        let (execution, gate, answer) = (gate.execution.to_string(), gate.frame.to_string(), value(answer)?);
        self.call("resume", &args::Resume { execution, gate, answer, by: self.who() }).await
    }

    /// Sends a message. Under a key, sent again, it is taken once.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn send(
        &self,
        to: &ExecutionId,
        topic: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<(), ClientError> {
        let (execution, topic, body, key) = (to.to_string(), topic.into(), value(body)?, key.map(Into::into));
        let message = args::Message { execution, topic, body, by: self.who(), key, early: false };
        self.call::<Value>("send", &message).await.map(drop)
    }

    /// Asks an execution for something, and waits for its reply, for as long as it takes.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn update<T: DeserializeOwned>(
        &self,
        to: &ExecutionId,
        topic: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        #[derive(Deserialize)]
        struct Replied<T> {
            reply: T,
        }
        let (execution, topic, body) = (to.to_string(), topic.into(), value(body)?);
        // Under one key it is done once, however often it is asked for.
        let key = Some(uuid::Uuid::new_v4().to_string());
        let update = args::Update { execution, topic, body, by: self.who(), key, wait: Some(WAIT) };
        loop {
            match self.call::<Replied<T>>("update", &update).await {
                Ok(replied) => return Ok(replied.reply),
                Err(ClientError::Problem(problem)) if problem.code == crate::Code::NoReplyYet => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Cancels an execution; its flow may tidy up.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn cancel(&self, execution: &ExecutionId, reason: &str) -> Result<Execution, ClientError> {
        self.stop(execution, reason, false).await
    }

    /// Cancels an execution and drops its flow.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn kill(&self, execution: &ExecutionId, reason: &str) -> Result<Execution, ClientError> {
        self.stop(execution, reason, true).await
    }

    async fn stop(
        &self,
        execution: &ExecutionId,
        reason: &str,
        force: bool,
    ) -> Result<Execution, ClientError> {
        let (execution, reason) = (execution.to_string(), reason.into());
        self.call("cancel", &args::Cancel { execution, reason, by: self.who(), force }).await
    }

    /// Says how an in-doubt step ended.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn judge(
        &self,
        execution: &ExecutionId,
        frame: &str,
        verdict: args::Verdict,
    ) -> Result<Execution, ClientError> {
        let (execution, frame) = (execution.to_string(), frame.into());
        self.call("judge", &args::Judge { execution, frame, verdict, attempt: None, by: self.who() }).await
    }

    /// Says how this attempt of an in-doubt step ended, and is refused when it is another one that is in doubt.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn judge_attempt(
        &self,
        execution: &ExecutionId,
        frame: &str,
        attempt: u32,
        verdict: args::Verdict,
    ) -> Result<Execution, ClientError> {
        let (execution, frame, attempt) = (execution.to_string(), frame.into(), Some(attempt));
        self.call("judge", &args::Judge { execution, frame, verdict, attempt, by: self.who() }).await
    }

    /// Tries a parked execution again.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn retry(&self, execution: &ExecutionId) -> Result<Execution, ClientError> {
        self.call("retry", &args::Retry { execution: execution.to_string() }).await
    }

    /// Forks an execution.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn fork(&self, fork: args::Fork) -> Result<Execution, ClientError> {
        self.call("fork", &args::Fork { by: Some(fork.by.unwrap_or_else(|| self.who())), ..fork }).await
    }

    /// Waits until the execution has ended, for as long as it takes, and gives what the flow returned.
    ///
    /// # Errors
    /// See [`ClientError`]: the flow failed, somebody cancelled it, a fault in code parked it.
    pub async fn result<T: DeserializeOwned>(&self, execution: &ExecutionId) -> Result<T, ClientError> {
        #[derive(Deserialize)]
        struct Ended {
            outcome: Option<kernel::Outcome>,
        }
        let args = args::Outcome { execution: execution.to_string(), wait: Some(WAIT) };
        loop {
            match self.call::<Ended>("result", &args).await?.outcome {
                None => {}
                Some(kernel::Outcome::Completed(output)) => {
                    return output.decode().map_err(|e| ClientError::Answer(e.0));
                }
                Some(kernel::Outcome::Failed(failed)) => return Err(ClientError::Failed(Box::new(failed))),
                Some(kernel::Outcome::Cancelled { reason, by }) => {
                    return Err(ClientError::Cancelled { reason, by });
                }
            }
        }
    }

    /// The events of an execution after a sequence, as they come, until it has ended; connections that break are made
    /// again.
    pub fn events(&self, execution: &ExecutionId, after: Option<u64>) -> EventStream {
        events::stream(self.clone(), execution, after)
    }

    /// The store behind the server, for a worker that has the code of flows and no database. Wants a worker's token.
    pub fn store(&self) -> RemoteStore {
        RemoteStore::new(self.clone())
    }
}

fn value(of: &impl Serialize) -> Result<Value, ClientError> {
    serde_json::to_value(of).map_err(|e| ClientError::Argument(kernel::InvalidPayload::from(e).0))
}

/// The response, unless it is a refusal.
async fn checked(response: reqwest::Response) -> Result<reqwest::Response, ClientError> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let body = response.bytes().await.map_err(ClientError::transport)?;
    Err(match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => problem.into(),
        // A proxy, say.
        Err(_) => ClientError::Status(status.as_u16()),
    })
}

impl std::fmt::Debug for Client {
    /// Without the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}
