//! The verbs: each takes its arguments, asks the app, and answers JSON. REST and JSON-RPC both call these.
//! Not how they are reached, and not the stream of events, which has no end to answer with.

mod branches;
mod executions;
mod program;
mod told;

use std::{future::Future, time::Duration};

use loom_runtime::{App, ExecutionId, view};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::value::{RawValue, to_raw_value};
use tokio_util::sync::CancellationToken;

use super::method::Method;
use crate::{Code, Problem};

/// How long a request waits at most for an outcome or a reply.
const LONGEST_WAIT: u64 = 60;

/// How many rows or events a page has, unless the request says so, and at most.
const PAGE: (usize, usize) = (100, 1_000);

/// What the verbs work on.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) app: App,
    /// Whether executions run here, too.
    pub(super) works: bool,
    /// Cancelled when the server is to stop.
    pub(super) stop: CancellationToken,
}

impl Host {
    /// Waits for something, but not for long, nor beyond the server's end; `None` when it did not come.
    async fn patiently<T>(&self, wait: Duration, what: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            what = what => Some(what),
            () = tokio::time::sleep(wait) => None,
            () = self.stop.cancelled() => None,
        }
    }
}

/// A verb of the wire; implemented on its arguments.
pub(super) trait Verb: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its name, behind `loom.` in JSON-RPC.
    const NAME: &'static str;
    /// Its route.
    const ROUTE: (Method, &'static str);
    /// Whether it changes anything.
    const WRITES: bool;
    /// How it refuses, beside what every route does.
    const CODES: &'static [Code];
    /// What it answers.
    type Answer: JsonSchema;

    fn call(self, host: &Host) -> impl Future<Output = Result<Box<RawValue>, Problem>> + Send;
}

fn answer(value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>, Problem> {
    to_raw_value(value)
        .map_err(|e| Problem::new(Code::Unreadable, format!("a stored value is not JSON: {e}")))
}

fn id(text: &str) -> Result<ExecutionId, Problem> {
    Ok(text.parse::<ExecutionId>()?)
}

/// How many are told at most; 0 for all.
fn page(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE.0).min(PAGE.1)
}

fn seconds(wait: u64) -> Duration {
    Duration::from_secs(wait.min(LONGEST_WAIT))
}

/// Where the execution stands now, by its row.
async fn standing(host: &Host, id: &ExecutionId) -> Result<Box<RawValue>, Problem> {
    answer(&view::Execution::of(&host.app.row(id).await?, host.app.registry()))
}
