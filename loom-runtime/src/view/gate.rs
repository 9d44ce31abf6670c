//! Gates as programs read them, and whether one still can be answered.
//! Not the answers: those are events.

use kernel::{ExecutionId, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Pending, instant, pending};
use crate::{
    App,
    ports::{GateRow, GateState, StoreError},
};

/// A gate.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Gate {
    address: String,
    #[schemars(with = "String")]
    execution: ExecutionId,
    frame: String,
    gate: String,
    state: &'static str,
    #[serde(serialize_with = "instant::exactly")]
    #[schemars(with = "String")]
    opened_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
    #[schemars(with = "Option<String>")]
    expires_at: Option<Timestamp>,
    schema: serde_json::Value,
    /// Who answered, when the answer is not taken in yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<String>,
}

impl Gate {
    /// Of its row, and of what its execution was told.
    pub fn of(row: &GateRow, pending: &[Pending]) -> Self {
        Self {
            address: format!("{}/{}", row.execution, row.frame),
            execution: row.execution.clone(),
            frame: row.frame.to_string(),
            gate: row.gate.clone(),
            state: row.state.name(),
            opened_at: row.opened_at,
            expires_at: row.expires_at,
            schema: serde_json::from_str(&row.schema).unwrap_or_default(),
            answered_by: row.answered_by(pending).filter(|_| row.state == GateState::Open).map(Into::into),
        }
    }
}

/// A page of gates.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Gates {
    /// In order of their executions, then of opening.
    pub gates: Vec<Gate>,
    /// Whether there are more than the limit let through.
    pub more: bool,
}

impl GateRow {
    /// Whether somebody may answer it, by what is pending for its execution.
    pub fn is_asked(&self, pending: &[Pending]) -> bool {
        let cancelled = pending.iter().any(|said| matches!(said, Pending::Cancel { .. }));
        self.state == GateState::Open && !cancelled && self.answered_by(pending).is_none()
    }

    /// Who answered it, when the answer is not taken in yet.
    pub fn answered_by<'a>(&self, pending: &'a [Pending]) -> Option<&'a str> {
        pending.iter().find_map(|said| match said {
            Pending::Answer { frame, by, .. } if *frame == self.frame.as_str() => Some(by.as_str()),
            _ => None,
        })
    }
}

/// The gates that still can be answered, until there is one more than `limit`; 0 for no limit.
///
/// # Errors
/// The store fails.
pub async fn unanswered(app: &App, gates: Vec<GateRow>, limit: usize) -> Result<Vec<GateRow>, StoreError> {
    let mut asked: Vec<GateRow> = Vec::new();
    let mut told = None;
    for gate in gates {
        if limit > 0 && asked.len() > limit {
            break;
        }
        let known = told.take().filter(|(id, _)| *id == gate.execution);
        let said = match known {
            Some((_, said)) => said,
            None => pending(app, &gate.execution).await?,
        };
        let is_asked = gate.is_asked(&said);
        told = Some((gate.execution.clone(), said));
        if is_asked {
            asked.push(gate);
        }
    }
    Ok(asked)
}
