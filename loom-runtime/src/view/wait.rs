//! What an execution waits for, found in its state and in the index of gates.
//! Not how people are told: the command line has words for it.

use kernel::{FrameId, FrameKind, FrameStatus, State, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Pending, folded::in_order, instant};
use crate::{FlowDescriptor, Registry, ports::GateRow};

/// One thing that an execution waits for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Wait {
    /// An answer.
    Gate {
        /// The frame.
        frame: String,
        /// `execution/frame`.
        address: String,
        #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
        #[schemars(with = "Option<String>")]
        /// When it is too late.
        expires_at: Option<Timestamp>,
        /// Of an answer.
        schema: serde_json::Value,
    },
    /// An instant.
    Timer {
        /// The frame.
        frame: String,
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        due: Timestamp,
    },
    /// The next attempt of a step.
    Retry {
        /// The frame.
        frame: String,
        /// Which attempt.
        attempt: u32,
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        due: Timestamp,
    },
    /// Somebody who knows how a step ended.
    Verdict {
        /// The frame.
        frame: String,
        /// Which attempt.
        attempt: u32,
        /// What is known of it.
        reason: String,
        /// Of a result, if this program has the step.
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<serde_json::Value>,
    },
    /// A message.
    Message {
        /// The frame.
        frame: String,
        /// On which topic.
        topic: String,
        /// Of a message, if this program has the flow.
        #[serde(skip_serializing_if = "Option::is_none")]
        schema: Option<serde_json::Value>,
        /// Of the reply, if the flow gives one.
        #[serde(skip_serializing_if = "Option::is_none")]
        reply: Option<serde_json::Value>,
    },
    /// The end of another execution.
    Child {
        /// The frame.
        frame: String,
        /// The other execution.
        child: String,
        /// Where that stands, if it is there by now.
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<&'static str>,
    },
    /// A step that was started.
    Step {
        /// The frame.
        frame: String,
        /// Which attempt.
        attempt: u32,
    },
}

/// What it waits for, in the order of asking, and nobody has said yet; nothing when it has ended.
pub(super) fn waits(registry: &Registry, state: &State, gates: &[GateRow], pending: &[Pending]) -> Vec<Wait> {
    if state.status.is_terminal() {
        return Vec::new();
    }
    if state.ending.is_some() {
        let child = |(frame, child): (&FrameId, &kernel::ExecutionId)| Wait::Child {
            frame: frame.to_string(),
            child: child.to_string(),
            status: None,
        };
        return state.awaited().map(child).collect();
    }
    let mut waits = Vec::new();
    for gate in gates.iter().filter(|gate| gate.is_asked(pending)) {
        waits.push(Wait::Gate {
            frame: gate.frame.to_string(),
            address: format!("{}/{}", gate.execution, gate.frame),
            expires_at: gate.expires_at,
            schema: serde_json::from_str(&gate.schema).unwrap_or_default(),
        });
    }
    let is_judged = |id: &FrameId| {
        let of = |said: &Pending| matches!(said, Pending::Verdict { frame, .. } if *frame == id.as_str());
        pending.iter().any(of)
    };
    let messages = registry.flow(&state.flow).map(FlowDescriptor::all_messages).unwrap_or_default();
    // Each message that is there ends one wait.
    let mut told: Vec<&str> = pending.iter().filter_map(Pending::topic).collect();
    for (id, known) in in_order(state) {
        let (frame, attempt) = (id.to_string(), known.attempt);
        match (known.status, &known.kind, known.due) {
            (FrameStatus::Open, FrameKind::Timer, Some(due)) => waits.push(Wait::Timer { frame, due }),
            (FrameStatus::Open, FrameKind::Step { .. }, _) => waits.push(Wait::Step { frame, attempt }),
            (FrameStatus::Open, FrameKind::Message { topic }, _) => {
                if let Some(at) = told.iter().position(|told| told == topic) {
                    told.swap_remove(at);
                    continue;
                }
                let known = messages.iter().find(|message| message.name == topic);
                let schema = known.map(|message| message.body.schema().to_value());
                let reply = known.and_then(|message| message.reply).map(|schema| schema().to_value());
                waits.push(Wait::Message { frame, topic: topic.clone(), schema, reply });
            }
            (FrameStatus::Open, FrameKind::Child { child, .. }, _) => {
                waits.push(Wait::Child { frame, child: child.to_string(), status: None });
            }
            (FrameStatus::BackingOff, _, Some(due)) => waits.push(Wait::Retry { frame, attempt, due }),
            (FrameStatus::InDoubt, _, _) if !is_judged(id) => {
                let reason = known.doubt.clone().unwrap_or_default();
                let step = match &known.kind {
                    FrameKind::Step { step, .. } => registry.step(step),
                    _ => None,
                };
                let schema = step.map(|step| step.output.schema().to_value());
                waits.push(Wait::Verdict { frame, attempt, reason, schema });
            }
            _ => {}
        }
    }
    waits
}
