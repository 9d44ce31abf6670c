//! What each verb of the wire takes: the same names over REST (path, query and body together), JSON-RPC and in the client.
//! Not what they do: the server's verbs call the app.

use std::collections::BTreeMap;

use loom_runtime::{Status, view::Lane};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The person or program that a request is on behalf of, unless it says so: the name that goes into the log.
fn somebody() -> String {
    "http".into()
}

fn is_usual(priority: &i16) -> bool {
    *priority == 0
}

fn skip(set: &bool) -> bool {
    !set
}

/// Starts a flow. With an id that exists already, the same flow and input give the existing execution, and nothing
/// happens.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The flow's name.
    pub flow: String,
    /// What it takes; checked against its schema.
    #[serde(default)]
    pub input: Value,
    /// The execution's id, which makes the start repeatable; a fresh UUID unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it goes before others that are due: those with more do.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub priority: i16,
    /// The lane that it waits in, with others that name the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [{"key": "tenant-a", "at_most": 2}]))]
    pub lane: Option<Lane>,
}

/// Lists executions, in order of their ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct List {
    /// Only these statuses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>", extend("examples" = [["parked"]]))]
    pub status: Vec<Status>,
    /// Only this flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<String>,
    /// Only ids after this one, for paging.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most so many; 100 unless given, 1,000 at most, and 0 for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Tells all there is to know of an execution, but its events.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Show {
    /// Its id.
    pub execution: String,
}

/// Reads events of an execution, as they are stored.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// Its id.
    pub execution: String,
    /// From this sequence on.
    #[serde(default)]
    pub from: u64,
    /// At most so many; 100 unless given, 1,000 at most, which 0 stands for too: a log comes in pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Folds the state of an execution: after all of its events, or after the first few.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// Its id.
    pub execution: String,
    /// After so many events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
}

/// Folds a projection over the log of an execution.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Its id.
    pub execution: String,
    /// The projection's name.
    pub projection: String,
}

/// Waits for an execution to end, and tells how it did. A parked one is a problem, so that nobody waits unknowingly.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Its id.
    pub execution: String,
    /// For at most so many seconds, 60 at most; not at all unless given. Then there is no outcome in the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
}

/// Lists the gates that wait for an answer.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gates {
    /// Only those of this execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
    /// At most so many; 100 unless given, 1,000 at most, and 0 for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

/// Answers a gate, once. The answer may come before the question; the same answer by the same person again is no error.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// The execution that asks.
    pub execution: String,
    /// The gate's frame: `manager`, or `manager#3` in a loop.
    pub gate: String,
    /// The answer; checked against the gate's schema.
    pub answer: Value,
    /// Who answers.
    #[serde(default = "somebody")]
    pub by: String,
}

/// Sends an execution a message, which waits until the flow takes it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// To whom.
    pub execution: String,
    /// On which topic.
    pub topic: String,
    /// What it says.
    pub body: Value,
    /// Who sends it.
    #[serde(default = "somebody")]
    pub by: String,
    /// A key of the sender's: sent again under it, the message is taken once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Keeps the message for an execution that does not exist yet.
    #[serde(default, skip_serializing_if = "skip")]
    pub early: bool,
}

/// Asks an execution for something, and waits for its reply.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Update {
    /// To whom.
    pub execution: String,
    /// On which topic.
    pub topic: String,
    /// What is asked.
    pub body: Value,
    /// Who asks.
    #[serde(default = "somebody")]
    pub by: String,
    /// A key of the sender's: asked again under it, it is done once and has the same reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Waits for at most so many seconds; 60 unless given, and at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<u64>,
}

/// Cancels an execution. A second cancel is no error, and changes nothing.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// Which.
    pub execution: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// Who cancels it.
    #[serde(default = "somebody")]
    pub by: String,
    /// Drops the flow even if it would tidy up.
    #[serde(default, skip_serializing_if = "skip")]
    pub force: bool,
}

/// Says how a step ended that is in doubt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Judge {
    /// Whose step.
    pub execution: String,
    /// The step's frame.
    pub frame: String,
    /// How it ended.
    #[schemars(extend("examples" = [{"done": "receipt 7"}, "again", "give_up"]))]
    pub verdict: Verdict,
    /// The attempt that is judged; whichever is in doubt unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// Who knows.
    #[serde(default = "somebody")]
    pub by: String,
}

/// How a step ended that was in doubt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It was done, with this result.
    Done(Value),
    /// It was not done: run it again.
    Again,
    /// It is given up.
    GiveUp,
}

/// Tries a parked execution again.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Retry {
    /// Which.
    pub execution: String,
}

/// Lets a copy of an execution's first events go on by itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Fork {
    /// The origin.
    pub execution: String,
    /// After so many events; all unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// The fork's id; a fresh UUID unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Who forks it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Results of steps and answers of gates that were open, by frame.
    pub stubs: BTreeMap<String, Value>,
    /// Steps that were open and are run again.
    pub rerun: Vec<String>,
    /// Runs every step again that was open.
    pub rerun_all: bool,
    /// Gives the fork the answers that came after the cut.
    pub copy_answers: bool,
    /// What becomes of children that were open.
    pub children: Children,
}

/// What becomes of a fork's children.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Children {
    /// The fork starts its own.
    #[default]
    Rerun,
    /// The fork waits for the origin's.
    Share,
    /// The fork is told that they were cancelled.
    Cancel,
}

/// Replays an execution up to a cut and goes on from there in memory, where no effect ever runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Simulate {
    /// Which.
    pub execution: String,
    /// After so many events; all unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// Results of steps, by frame or by step.
    pub stubs: BTreeMap<String, Value>,
    /// Answers of gates, by frame or by gate.
    pub gates: BTreeMap<String, Value>,
    /// Messages, in order.
    pub messages: Vec<Told>,
    /// What is not answered.
    pub unanswered: Vec<String>,
    /// Gives the gates the answers that came after the cut.
    pub copy_answers: bool,
}

/// A message of a simulation.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Told {
    /// On which topic.
    pub topic: String,
    /// What it says.
    pub body: Value,
}

/// Tells where two executions part, and which frames differ.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Diff {
    /// An execution.
    pub a: String,
    /// Another one.
    pub b: String,
}

/// Lists the branches: names that point to executions.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branches {}

/// Points a branch to an execution: a new one, or from another execution.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Promote {
    /// The branch.
    pub branch: String,
    /// What it is to point to.
    pub execution: String,
    /// What it has to point to before; without it, the branch has to be new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Who moves it.
    #[serde(default = "somebody")]
    pub by: String,
}

/// Lists the flows of this program, with their schemas.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flows {}

/// Tells which version of the wire this is, and what it can do.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Abi {}
