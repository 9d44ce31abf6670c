//! What an execution was told and has not taken in, as programs read it.
//! Not what was said, but for a reason: answers may hold secrets, and are in the log once they count.

use kernel::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::instant;
use crate::Said;

/// What somebody said to an execution, and its owner has not taken in yet.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Pending {
    /// An answer to a gate.
    Answer {
        /// The frame.
        frame: String,
        /// By whom.
        by: String,
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        at: Timestamp,
    },
    /// That it is to be cancelled.
    Cancel {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        at: Timestamp,
    },
    /// How a step ended that is in doubt.
    Verdict {
        /// The frame.
        frame: String,
        /// By whom.
        by: String,
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        at: Timestamp,
    },
    /// A message, or an update.
    Message {
        /// On which topic.
        topic: String,
        /// By whom.
        by: String,
        /// Whether somebody waits for a reply.
        expects_reply: bool,
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        at: Timestamp,
    },
    /// That it is to be tried again.
    Retry {
        #[serde(serialize_with = "instant::exactly")]
        #[schemars(with = "String")]
        /// When.
        at: Timestamp,
    },
}

impl Pending {
    /// Of what the app tells.
    pub fn of(pending: &crate::Pending) -> Self {
        let at = pending.at;
        match pending.said.clone() {
            Said::Answer { frame, by, .. } => Self::Answer { frame: frame.to_string(), by, at },
            Said::Cancel { reason, by } => Self::Cancel { reason, by, at },
            Said::Verdict { frame, by, .. } => Self::Verdict { frame: frame.to_string(), by, at },
            Said::Message { topic, by, expects_reply, .. } => Self::Message { topic, by, expects_reply, at },
            Said::Retry => Self::Retry { at },
        }
    }

    /// The topic, of a message.
    pub fn topic(&self) -> Option<&str> {
        match self {
            Self::Message { topic, .. } => Some(topic),
            _ => None,
        }
    }

    /// When it was said.
    pub fn at(&self) -> Timestamp {
        match self {
            Self::Answer { at, .. }
            | Self::Cancel { at, .. }
            | Self::Verdict { at, .. }
            | Self::Message { at, .. }
            | Self::Retry { at } => *at,
        }
    }

    /// Whether an execution that is stuck goes on by it. A message waits for the flow, wherever that is.
    pub fn helps(&self) -> bool {
        self.topic().is_none()
    }
}
