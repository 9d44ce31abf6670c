//! What the server tells of executions, as this client reads it.
//! Not all of it: what these do not name is in `rest`, as JSON.

use loom_runtime::{
    ExecutionId, Status,
    kernel::{Outcome, ParkReport},
};
use serde::Deserialize;
use serde_json::{Map, Value};

/// An execution's row.
#[derive(Clone, Debug, Deserialize)]
pub struct Execution {
    /// Its id.
    pub execution: ExecutionId,
    /// Its flow.
    pub flow: String,
    /// Where it stands.
    pub status: Status,
    /// How many events its log has.
    pub events: u64,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A page of executions.
#[derive(Clone, Debug, Deserialize)]
pub struct Executions {
    /// In order of their ids.
    pub executions: Vec<Execution>,
    /// Whether there are more after these.
    pub more: bool,
}

/// Where an execution stands.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Standing {
    /// Its id.
    pub execution: ExecutionId,
    /// Its flow.
    pub flow: String,
    /// Where it stands.
    pub status: Status,
    /// How it ended, once it has.
    pub outcome: Option<Outcome>,
    /// Why it is parked, while it is.
    pub parked: Option<ParkReport>,
    /// Everything else: `waits`, `pending`, `frames`, `gates`, …
    pub rest: Map<String, Value>,
}

impl TryFrom<Map<String, Value>> for Standing {
    type Error = serde_json::Error;

    fn try_from(mut all: Map<String, Value>) -> Result<Self, serde_json::Error> {
        let mut take = |name: &str| all.remove(name).unwrap_or_default();
        Ok(Self {
            execution: serde_json::from_value(take("execution"))?,
            flow: serde_json::from_value(take("flow"))?,
            status: serde_json::from_value(take("status"))?,
            outcome: serde_json::from_value(take("outcome"))?,
            parked: serde_json::from_value(take("parked"))?,
            rest: all,
        })
    }
}

/// A gate.
#[derive(Clone, Debug, Deserialize)]
pub struct Gate {
    /// `execution/frame`.
    pub address: String,
    /// Who asks.
    pub execution: ExecutionId,
    /// Its frame.
    pub frame: String,
    /// JSON Schema of an answer.
    pub schema: Value,
    /// Everything else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A page of gates.
#[derive(Clone, Debug, Deserialize)]
pub struct Gates {
    /// In order of their executions, then of opening.
    pub gates: Vec<Gate>,
    /// Whether there are more than these.
    pub more: bool,
}

/// An event, as it is stored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Event {
    /// Whose.
    pub execution: ExecutionId,
    /// Its position in the log.
    pub sequence: u64,
    /// What happened: `STEP_COMPLETED`.
    pub kind: String,
    /// When, RFC 3339.
    pub at: String,
    /// The schema of events that it was written with.
    pub schema: u16,
    /// What is in it.
    pub payload: Value,
    /// Who and what was behind it.
    pub meta: Value,
}
