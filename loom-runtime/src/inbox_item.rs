//! What comes to an execution from outside, and how an inbox keeps it.
//! Not the events that it becomes: those are the machine's.

use kernel::{
    ExecutionId, FrameId, Message, Outcome, Parent, Payload, Post, Timestamp, Told,
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
    Message(Message),
    Settled(Settled),
    Watch(Parent),
    Retry,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    /// The run that is answered, by the sequence of its first event.
    #[serde(default)]
    pub(crate) run: u64,
    pub(crate) frame: FrameId,
    pub(crate) answer: Payload,
    pub(crate) by: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cancel {
    pub(crate) reason: String,
    pub(crate) by: String,
    /// Whether the flow is dropped even if it would tidy up.
    #[serde(default)]
    pub(crate) force: bool,
    /// Set when it is its parent that no longer waits: then only a child of that frame is meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) parent: Option<Parent>,
}

/// A child has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) frame: FrameId,
    pub(crate) child: ExecutionId,
    pub(crate) outcome: Outcome,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct VerdictItem {
    /// The run that is judged, by the sequence of its first event; builds before this one did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) run: Option<u64>,
    pub(crate) frame: FrameId,
    pub(crate) attempt: u32,
    pub(crate) by: String,
    /// `None` for the verdicts that carry no result.
    pub(crate) done: Option<Payload>,
    pub(crate) again: bool,
    /// The result is `null`, as that of a step which returns `()`: read back, `done` says `None` of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) null: bool,
}

impl Item {
    pub(crate) fn into_new(self, execution: &ExecutionId, key: Option<String>, at: Timestamp) -> NewItem {
        let (kind, payload) = match &self {
            Self::Answer(answer) => ("answer", serde_json::to_string(answer)),
            Self::Cancel(cancel) => ("cancel", serde_json::to_string(cancel)),
            Self::Verdict(verdict) => ("verdict", serde_json::to_string(verdict)),
            Self::Message(message) => ("message", serde_json::to_string(message)),
            Self::Settled(settled) => ("settled", serde_json::to_string(settled)),
            Self::Watch(watcher) => ("watch", serde_json::to_string(watcher)),
            Self::Retry => ("retry", Ok("null".to_owned())),
        };
        let payload = payload.expect("plain structs are JSON");
        NewItem { execution: execution.clone(), key, kind: kind.into(), payload, at, early: false }
    }

    /// What another execution is told, as an item of its inbox.
    pub(crate) fn posted(post: Post, at: Timestamp) -> NewItem {
        let item = match post.told {
            Told::Settled { frame, child, outcome } => Self::Settled(Settled { frame, child, outcome }),
            Told::Cancel { frame, reason, by } => {
                let parent = by.parse().ok().map(|execution| Parent { execution, frame });
                Self::Cancel(Cancel { reason, by, force: false, parent })
            }
            Told::Message(message) => Self::Message(message),
            Told::Again => Self::Retry,
        };
        let mut item = item.into_new(&post.to, Some(post.key), at);
        item.early = post.early;
        item
    }

    /// What the item is to an execution with this parent: a cancel that is meant for a child of somebody else, who has
    /// only named this one's id, is nothing.
    pub(crate) fn read_for(item: &InboxItem, parent: Option<&Parent>) -> Option<Input> {
        let meant = match item.kind.as_str() {
            "cancel" => serde_json::from_str::<Cancel>(&item.payload).ok().and_then(|cancel| cancel.parent),
            _ => None,
        };
        match meant {
            Some(meant) if parent != Some(&meant) => Some(Input::Noted { item: item.id }),
            _ => Self::read(item),
        }
    }

    /// What the item is to the machine; `None` for an item of a newer build, which stays where it is.
    pub(crate) fn read(item: &InboxItem) -> Option<Input> {
        let id = item.id;
        Some(match item.kind.as_str() {
            "answer" => {
                let Answer { run, frame, answer, by } = serde_json::from_str(&item.payload).ok()?;
                Input::Answer { run, frame, answer, by, item: id }
            }
            "cancel" => {
                let Cancel { reason, by, force, .. } = serde_json::from_str(&item.payload).ok()?;
                Input::Cancel { reason, by, force, item: id }
            }
            "message" => Input::Message { message: serde_json::from_str(&item.payload).ok()?, item: id },
            "settled" => {
                let Settled { frame, child, outcome } = serde_json::from_str(&item.payload).ok()?;
                Input::ChildSettled { frame, child, outcome, item: id }
            }
            "watch" => Input::Watch { by: serde_json::from_str(&item.payload).ok()?, item: id },
            "verdict" => {
                let VerdictItem { run, frame, by, done, again, null, .. } =
                    serde_json::from_str(&item.payload).ok()?;
                let verdict = match done.or_else(|| null.then(Payload::null)) {
                    Some(result) => Verdict::Done(result),
                    None if again => Verdict::Again,
                    None => Verdict::GiveUp,
                };
                Input::Verdict { run, frame, verdict, by, item: id }
            }
            "retry" => Input::Noted { item: id },
            _ => return None,
        })
    }
}
