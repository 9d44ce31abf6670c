//! The shapes of `--json`: what programs may rely on. Fields are added, never renamed or removed.
//! Not the log's own formats: an event's payload and meta are printed as they are stored.

use loom_runtime::{
    ExecutionId, Registry, Said, Timestamp,
    kernel::{Frame, Outcome, ParkReport, Payload, Record, State},
    ports::{BranchRow, ExecutionRow, GateRow, GateState},
};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::{look::answered_by, waits::Wait};

/// Instants as RFC 3339 text.
pub(crate) mod instant {
    use loom_runtime::Timestamp;
    use serde::Serializer;

    pub(crate) fn exactly<S: Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(at)
    }

    pub(crate) fn maybe<S: Serializer>(at: &Option<Timestamp>, to: S) -> Result<S::Ok, S::Error> {
        match at {
            Some(at) => to.collect_str(at),
            None => to.serialize_none(),
        }
    }
}

/// An execution in a list.
#[derive(Debug, Serialize)]
pub(crate) struct Execution {
    pub(crate) execution: ExecutionId,
    pub(crate) flow: String,
    pub(crate) status: &'static str,
    /// How many events its log has.
    pub(crate) events: u64,
    #[serde(serialize_with = "instant::exactly")]
    pub(crate) created_at: Timestamp,
    #[serde(serialize_with = "instant::exactly")]
    pub(crate) updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
    pub(crate) wake_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
    pub(crate) leased_until: Option<Timestamp>,
    pub(crate) takeovers: u32,
    /// Whether it has not ended, and this program cannot go on with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unknown_flow: bool,
    /// The fingerprint of the code that it waits for, when it is parked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for_code: Option<String>,
}

impl Execution {
    pub(crate) fn of(row: &ExecutionRow, registry: &Registry) -> Self {
        Self {
            execution: row.id.clone(),
            flow: row.flow.clone(),
            status: row.status.name(),
            events: row.next,
            created_at: row.created_at,
            updated_at: row.updated_at,
            wake_at: row.wake_at,
            worker: row.lease.as_ref().map(|lease| lease.worker.clone()),
            leased_until: row.lease.as_ref().map(|lease| lease.until),
            takeovers: row.takeovers,
            unknown_flow: !row.status.is_terminal() && registry.flow(&row.flow).is_none(),
            waits_for_code: None,
        }
    }

    /// What the row does not tell.
    pub(crate) fn waiting_for_code(self, code: Option<String>) -> Self {
        Self { waits_for_code: code, ..self }
    }
}

/// A branch.
#[derive(Debug, Serialize)]
pub(crate) struct Branch {
    branch: String,
    execution: ExecutionId,
    version: u64,
    #[serde(serialize_with = "instant::exactly")]
    set_at: Timestamp,
    by: String,
}

impl Branch {
    pub(crate) fn of(row: &BranchRow) -> Self {
        let (branch, execution, by) = (row.name.clone(), row.execution.clone(), row.by.clone());
        Self { branch, execution, version: row.version, set_at: row.set_at, by }
    }
}

/// What `branches` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Branches {
    pub(crate) branches: Vec<Branch>,
}

/// What `list` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Executions {
    pub(crate) executions: Vec<Execution>,
    /// Whether there are more than the limit let through.
    pub(crate) more: bool,
}

/// A gate.
#[derive(Debug, Serialize)]
pub(crate) struct Gate {
    address: String,
    execution: ExecutionId,
    frame: String,
    gate: String,
    state: &'static str,
    #[serde(serialize_with = "instant::exactly")]
    opened_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
    expires_at: Option<Timestamp>,
    schema: serde_json::Value,
    /// Who answered, when the answer is not taken in yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
}

impl Gate {
    pub(crate) fn of(row: &GateRow, pending: &[Pending]) -> Self {
        Self {
            address: format!("{}/{}", row.execution, row.frame),
            execution: row.execution.clone(),
            frame: row.frame.to_string(),
            gate: row.gate.clone(),
            state: row.state.name(),
            opened_at: row.opened_at,
            expires_at: row.expires_at,
            schema: serde_json::from_str(&row.schema).unwrap_or_default(),
            answered_by: answered_by(row, pending).filter(|_| row.state == GateState::Open).map(Into::into),
        }
    }
}

/// What `list --gates` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Gates {
    pub(crate) gates: Vec<Gate>,
    /// Whether there are more than the limit let through.
    pub(crate) more: bool,
}

/// What somebody said to an execution, and its owner has not taken in yet.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Pending {
    Answer {
        frame: String,
        by: String,
        #[serde(serialize_with = "instant::exactly")]
        at: Timestamp,
    },
    Cancel {
        reason: String,
        by: String,
        #[serde(serialize_with = "instant::exactly")]
        at: Timestamp,
    },
    Verdict {
        frame: String,
        by: String,
        #[serde(serialize_with = "instant::exactly")]
        at: Timestamp,
    },
    Message {
        topic: String,
        by: String,
        expects_reply: bool,
        #[serde(serialize_with = "instant::exactly")]
        at: Timestamp,
    },
    Retry {
        #[serde(serialize_with = "instant::exactly")]
        at: Timestamp,
    },
}

impl Pending {
    /// `None` for what a newer runtime knows.
    pub(crate) fn of(pending: &loom_runtime::Pending) -> Option<Self> {
        let at = pending.at;
        Some(match pending.said.clone() {
            Said::Answer { frame, by, .. } => Self::Answer { frame: frame.to_string(), by, at },
            Said::Cancel { reason, by } => Self::Cancel { reason, by, at },
            Said::Verdict { frame, by, .. } => Self::Verdict { frame: frame.to_string(), by, at },
            Said::Message { topic, by, expects_reply, .. } => Self::Message { topic, by, expects_reply, at },
            Said::Retry => Self::Retry { at },
            _ => return None,
        })
    }

    /// The topic, of a message.
    pub(crate) fn topic(&self) -> Option<&str> {
        match self {
            Self::Message { topic, .. } => Some(topic),
            _ => None,
        }
    }

    /// Whether an execution that is stuck goes on by it. A message waits for the flow, wherever that is.
    pub(crate) fn helps(&self) -> bool {
        self.topic().is_none()
    }
}

/// Where an execution stands: what `start`, `resume`, `send`, `verdict`, `retry` and `cancel` print.
#[derive(Debug, Serialize)]
pub(crate) struct Standing<'a> {
    #[serde(flatten)]
    pub(crate) execution: Execution,
    pub(crate) waits: Vec<Wait>,
    pub(crate) pending: Vec<Pending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) outcome: Option<&'a Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) parked: Option<&'a ParkReport>,
}

/// What `show` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Whole<'a> {
    #[serde(flatten)]
    pub(crate) standing: Standing<'a>,
    /// Which run this is, from 0; the frames and gates are those of this run.
    pub(crate) run: u64,
    pub(crate) input: &'a Payload,
    pub(crate) frames: Vec<NamedFrame<'a>>,
    pub(crate) gates: Vec<Gate>,
    /// Why the rest of the log could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unreadable: Option<&'a str>,
}

/// A frame with its id.
#[derive(Debug, Serialize)]
pub(crate) struct NamedFrame<'a> {
    pub(crate) frame: &'a str,
    #[serde(flatten)]
    pub(crate) of: &'a Frame,
}

/// One event: a line of `logs`.
#[derive(Debug, Serialize)]
pub(crate) struct Event<'a> {
    execution: &'a ExecutionId,
    sequence: u64,
    kind: &'a str,
    #[serde(serialize_with = "instant::exactly")]
    at: Timestamp,
    schema: u16,
    payload: Stored<'a>,
    meta: Stored<'a>,
}

/// Stored JSON as it is; what is no JSON, as text.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Stored<'a> {
    Json(&'a RawValue),
    Text(&'a str),
}

impl<'a> Event<'a> {
    pub(crate) fn of(execution: &'a ExecutionId, record: &'a Record) -> Self {
        let stored = |text: &'a str| serde_json::from_str(text).map_or(Stored::Text(text), Stored::Json);
        Self {
            execution,
            sequence: record.sequence,
            kind: &record.kind,
            at: record.at,
            schema: record.schema,
            payload: stored(&record.payload),
            meta: stored(&record.meta),
        }
    }
}

/// What `debug` prints.
#[derive(Debug, Serialize)]
pub(crate) struct Moment<'a> {
    pub(crate) execution: &'a ExecutionId,
    /// How many events are folded in.
    pub(crate) at: u64,
    /// How many there are.
    pub(crate) events: u64,
    pub(crate) state: &'a State,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) event: Option<Event<'a>>,
    pub(crate) changes: Vec<String>,
}
