//! Events as programs read them: the stored record, its payload and meta as they are.
//! Not the decoded event, which a build may not know.

use kernel::{ExecutionId, Record, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::instant;

/// One event.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Event<'a> {
    #[schemars(with = "String")]
    execution: &'a ExecutionId,
    sequence: u64,
    kind: &'a str,
    #[serde(serialize_with = "instant::exactly")]
    #[schemars(with = "String")]
    at: Timestamp,
    schema: u16,
    payload: Stored<'a>,
    meta: Stored<'a>,
}

/// Stored JSON as it is; what is no JSON, as text.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Stored<'a> {
    /// JSON.
    Json(#[schemars(with = "serde_json::Value")] &'a RawValue),
    /// Anything else.
    Text(&'a str),
}

impl<'a> Event<'a> {
    /// Of its record.
    pub fn of(execution: &'a ExecutionId, record: &'a Record) -> Self {
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
