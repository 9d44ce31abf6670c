//! What an execution exchanges with others, as the log holds it: messages, children, watches, forks, runs.
//! Not the way between them: a post is put into the other's inbox by the store, with the event that it follows from.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{Digest, ExecutionId, Fingerprints, FrameId, Outcome, Payload};

/// A frame of another execution that waits for this one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Parent {
    /// The execution.
    pub execution: ExecutionId,
    /// Its frame.
    pub frame: FrameId,
}

/// What becomes of a child when its parent ends, or no longer waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnClose {
    /// It is cancelled, and its parent does not end before it has. If it was on record and nobody can have created it by
    /// then, it is never created.
    #[default]
    Cancel,
    /// It goes on by itself, and nobody waits for its end.
    Abandon,
}

/// Body of `MESSAGE_AWAITED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageAwaited {
    /// The frame.
    pub frame: FrameId,
    /// The topic that it waits on.
    pub topic: String,
}

/// A message that came to an execution: what was said, and by whom.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The topic: messages of one topic are taken in the order of their coming.
    pub topic: String,
    /// What it says.
    pub body: Payload,
    /// Who sent it.
    pub by: String,
    /// The key under which its sender waits for a reply, when it is an update.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
}

/// Body of `MESSAGE_RECEIVED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageReceived {
    /// The frame that took it.
    pub frame: FrameId,
    /// The message.
    pub message: Message,
}

/// Body of `MESSAGE_DEAD_LETTERED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The message.
    pub message: Message,
    /// Why nobody will ever take it.
    pub reason: String,
}

/// Body of `MESSAGE_SENT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageSent {
    /// The frame.
    pub frame: FrameId,
    /// To whom.
    pub to: ExecutionId,
    /// The topic.
    pub topic: String,
    /// What it says.
    pub body: Payload,
}

/// Body of `UPDATE_ANSWERED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateAnswered {
    /// The frame.
    pub frame: FrameId,
    /// The key under which the sender waits.
    pub reply_to: String,
    /// What it is told.
    pub reply: Reply,
}

/// The answer to an update.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// It was done, with this result.
    Accepted(Payload),
    /// It was refused; the reason is for the sender.
    Rejected(String),
}

/// Body of `CHILD_STARTED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildStarted {
    /// The frame.
    pub frame: FrameId,
    /// The child.
    pub child: ExecutionId,
    /// Its flow's registered name.
    pub flow: String,
    /// The digest of its input.
    pub digest: Digest,
    /// Its input.
    pub input: Payload,
    /// The version of the input's shape, as its flow declared it then.
    #[serde(default = "crate::event::first", skip_serializing_if = "crate::event::is_first")]
    pub input_version: u32,
    /// What becomes of it when its parent ends.
    #[serde(default)]
    pub on_close: OnClose,
}

/// Body of `CHILD_SETTLED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSettled {
    /// The frame.
    pub frame: FrameId,
    /// How the child ended.
    pub outcome: Outcome,
}

/// Body of `OUTCOME_DISCARDED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Discarded {
    /// The frame, which the flow had dropped or ended before.
    pub frame: FrameId,
    /// The attempt; 0 for a child.
    pub attempt: u32,
    /// What it came to; absent when it was stopped before it came to anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Body of `CHANGE_MARKED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMarked {
    /// The frame: from here on the execution follows the changed code.
    pub frame: FrameId,
}

/// Body of `CONTINUED_AS_NEW`: all that a run needs to know, so that it can be replayed from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewRun {
    /// Which run begins: 1 for the second.
    pub run: u64,
    /// The flow's registered name.
    pub flow: String,
    /// Its input in this run.
    pub input: Payload,
    /// The version of the input's shape, as the flow declares it.
    #[serde(default = "crate::event::first", skip_serializing_if = "crate::event::is_first")]
    pub input_version: u32,
    /// The code that begins it.
    pub code: Fingerprints,
    /// Where this run's uuids and random numbers come from.
    pub seed: Digest,
    /// Who waits for the execution.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Who else does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watchers: Vec<Parent>,
    /// Where it was forked from, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ForkPoint>,
    /// Numbered behaviours of the engine that hold for this run. There are none yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<u16>,
}

/// A place in the log of another execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    /// The execution.
    pub execution: ExecutionId,
    /// How many of its events are shared.
    pub events: u64,
}

/// Body of `EXECUTION_FORKED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// Where the events before this one come from.
    pub from: ForkPoint,
    /// Children that this branch starts for itself, in place of those that it shares with its origin.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub children: BTreeMap<FrameId, ExecutionId>,
    /// Executions that exist already, and that this branch waits for in place of its origin's children.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adopted: BTreeMap<FrameId, ExecutionId>,
    /// Outcomes of steps and children that were open: the owner records them before anything else.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stubs: BTreeMap<FrameId, Outcome>,
    /// Answers to gates that are open, or will be in this run.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub answers: BTreeMap<FrameId, GivenAnswer>,
    /// Steps that were open, and are to run again.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub rerun: BTreeSet<FrameId>,
    /// Where the branch's uuids and random numbers come from, behind the events before this one; without it, from where
    /// its origin's do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<Digest>,
    /// Who made the branch, and so gave its stubs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub by: String,
}

impl Forked {
    /// What `EFFECT_INDOUBT` says of a step that was open where a branch begins.
    pub const DOUBT: &'static str = "forked";

    /// A branch that begins there, and settles nothing.
    pub fn at(from: ForkPoint) -> Self {
        let (children, adopted, stubs, answers, rerun) = Default::default();
        Self { from, children, adopted, stubs, answers, rerun, seed: None, by: String::new() }
    }
}

/// An answer that comes with a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenAnswer {
    /// The answer.
    pub answer: Payload,
    /// Who gave it.
    pub by: String,
}

/// What an execution tells another, in the transition that gave the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// To whom.
    pub to: ExecutionId,
    /// What makes it unique among what the other is told.
    pub key: String,
    /// What it is told.
    pub told: Told,
    /// Whether the other may not exist yet: then it is told when it begins.
    pub early: bool,
}

/// The content of a [`Post`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// Its child has ended.
    Settled {
        /// The frame that waits for the child.
        frame: FrameId,
        /// The child.
        child: ExecutionId,
        /// How it ended.
        outcome: Outcome,
    },
    /// It is to stop: a frame of its parent no longer waits for it. Whoever has another parent is not meant.
    Cancel {
        /// The frame that has started it.
        frame: FrameId,
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
    /// A message.
    Message(Message),
    /// It is to be tried again although it is parked: said by its own owner, as it parks.
    Again,
}

/// A child to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartChild {
    /// The child.
    pub child: ExecutionId,
    /// Its flow's registered name.
    pub flow: String,
    /// Its input.
    pub input: Payload,
    /// The version of the input's shape.
    pub input_version: u32,
    /// Who waits for it.
    pub parent: Parent,
}
