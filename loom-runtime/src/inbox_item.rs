//! What comes to an execution from outside, and how an inbox keeps it.
//! Not the events that it becomes: those are the machine's.

use kernel::{
    ExecutionId, FrameId, Payload, Timestamp,
    machine::{Input, Verdict},
};
use serde::{Deserialize, Serialize};

use crate::ports::{InboxItem, NewItem};

/// An item of an inbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Answer(Answer),
    Cancel(Cancel),
    Verdict(VerdictItem),
    Retry,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) frame: FrameId,
    pub(crate) answer: Payload,
    pub(crate) by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cancel {
    pub(crate) reason: String,
    pub(crate) by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VerdictItem {
    pub(crate) frame: FrameId,
    pub(crate) attempt: u32,
    pub(crate) by: String,
    /// `None` for the verdicts that carry no result.
    pub(crate) done: Option<Payload>,
    pub(crate) again: bool,
}

impl Item {
    pub(crate) fn into_new(self, execution: &ExecutionId, key: Option<String>, at: Timestamp) -> NewItem {
        let (kind, payload) = match &self {
            Self::Answer(answer) => ("answer", serde_json::to_string(answer)),
            Self::Cancel(cancel) => ("cancel", serde_json::to_string(cancel)),
            Self::Verdict(verdict) => ("verdict", serde_json::to_string(verdict)),
            Self::Retry => ("retry", Ok("null".to_owned())),
        };
        let payload = payload.expect("plain structs are JSON");
        NewItem { execution: execution.clone(), key, kind: kind.into(), payload, at, early: false }
    }

    /// What the item is to the machine; `None` for an item of a newer build, which stays where it is.
    pub(crate) fn read(item: &InboxItem) -> Option<Input> {
        let id = item.id;
        Some(match item.kind.as_str() {
            "answer" => {
                let Answer { frame, answer, by } = serde_json::from_str(&item.payload).ok()?;
                Input::Answer { frame, answer, by, item: id }
            }
            "cancel" => {
                let Cancel { reason, by } = serde_json::from_str(&item.payload).ok()?;
                Input::Cancel { reason, by, item: id }
            }
            "verdict" => {
                let VerdictItem { frame, by, done, again, .. } = serde_json::from_str(&item.payload).ok()?;
                let verdict = match (done, again) {
                    (Some(result), _) => Verdict::Done(result),
                    (None, true) => Verdict::Again,
                    (None, false) => Verdict::GiveUp,
                };
                Input::Verdict { frame, verdict, by, item: id }
            }
            "retry" => Input::Noted { item: id },
            _ => return None,
        })
    }
}
