//! Executions as programs read them: in a list, where one stands, and the whole of one.
//! Not their events: those are `event.rs`.

use kernel::{End, ExecutionId, Frame, Outcome, ParkReport, Payload, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Gate, Lane, Look, Pending, Received, Wait, folded::in_order, instant};
use crate::{App, Registry, ports::ExecutionRow};

/// An execution in a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Execution {
    /// Its id.
    /// Its row.
    #[schemars(with = "String")]
    pub execution: ExecutionId,
    /// Its flow.
    pub flow: String,
    /// Where it stands.
    pub status: &'static str,
    /// How many events its log has.
    pub events: u64,
    /// How many of them, from the first on, were moved to the archive; missing when it is 0.
    #[serde(skip_serializing_if = "is_none")]
    pub archived: u64,
    #[serde(serialize_with = "instant::exactly")]
    #[schemars(with = "String")]
    /// When it was created.
    pub created_at: Timestamp,
    #[serde(serialize_with = "instant::exactly")]
    #[schemars(with = "String")]
    /// When it last changed.
    pub updated_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
    #[schemars(with = "Option<String>")]
    /// When it goes on by itself.
    pub wake_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Who runs it.
    pub worker: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "instant::maybe")]
    #[schemars(with = "Option<String>")]
    /// Until when, unless that is renewed.
    pub leased_until: Option<Timestamp>,
    /// Take-overs from owners that vanished, since the last outcome.
    pub takeovers: u32,
    /// Those with more go first; missing when it is 0.
    #[serde(skip_serializing_if = "is_usual")]
    pub priority: i16,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// What it waits in line with.
    pub lane: Option<Lane>,
    /// Whether it has not ended, and this program cannot go on with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown_flow: bool,
    /// The fingerprint of the code that it waits for, when it is parked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    waits_for_code: Option<String>,
}

impl Execution {
    /// Of its row, in a program that has these flows.
    pub fn of(row: &ExecutionRow, registry: &Registry) -> Self {
        Self {
            execution: row.id.clone(),
            flow: row.flow.clone(),
            status: row.status.name(),
            events: row.next,
            archived: row.first,
            created_at: row.created_at,
            updated_at: row.updated_at,
            wake_at: row.wake_at,
            worker: row.lease.as_ref().map(|lease| lease.worker.clone()),
            leased_until: row.lease.as_ref().map(|lease| lease.until),
            takeovers: row.takeovers,
            priority: row.turn.priority,
            lane: row.turn.lane.as_ref().map(Lane::from),
            unknown_flow: !row.status.is_terminal() && registry.flow(&row.flow).is_none(),
            waits_for_code: None,
        }
    }

    /// With what the row does not tell: see [`waited_code`].
    #[must_use]
    pub fn waiting_for_code(self, code: Option<String>) -> Self {
        Self { waits_for_code: code, ..self }
    }
}

fn is_usual(priority: &i16) -> bool {
    *priority == 0
}

fn is_none(events: &u64) -> bool {
    *events == 0
}

/// A page of executions.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Executions {
    /// In order of their ids.
    pub executions: Vec<Execution>,
    /// Whether there are more than the limit let through.
    pub more: bool,
}

/// Where an execution stands: what whoever started or answered it is told.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Standing<'a> {
    #[serde(flatten)]
    /// Its row.
    pub execution: Execution,
    /// What it waits for, and nobody has said yet.
    pub waits: Vec<Wait>,
    /// What it was told, and has not taken in.
    pub pending: Vec<Pending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// How its run ends, `{completed: …}`, `{failed: …}`, `{cancelled: …}` or `{continued_as_new: …}`, once the children
    /// that it waits for have ended.
    #[schemars(with = "Option<serde_json::Value>")]
    pub ends: Option<&'a End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// How it ended: `{completed: …}`, `{failed: …}` or `{cancelled: …}`.
    #[schemars(with = "Option<serde_json::Value>")]
    pub outcome: Option<&'a Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    /// Why it is parked.
    #[schemars(with = "Option<serde_json::Value>")]
    pub parked: Option<&'a ParkReport>,
}

impl<'a> Standing<'a> {
    /// Of its row, and of a look at it.
    pub fn of(execution: Execution, look: &'a Look) -> Self {
        let (waits, pending, state) = (look.waits.clone(), look.pending.clone(), &look.folded.state);
        let ends = state.ending.as_ref().map(|ending| &ending.end);
        let (outcome, parked) = (state.outcome.as_ref(), state.parked.as_ref());
        Self { execution, waits, pending, ends, outcome, parked }
    }
}

/// All there is to know of an execution, but its events.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Whole<'a> {
    #[serde(flatten)]
    /// Where it stands.
    pub standing: Standing<'a>,
    /// Which run this is, from 0; the frames and gates are those of this run. Of one that has ended and was archived,
    /// this and what follows is not known any more: 0, `null`, and nothing.
    pub run: u64,
    /// Of this run.
    #[schemars(with = "serde_json::Value")]
    pub input: &'a Payload,
    /// In the order in which they were opened.
    pub frames: Vec<NamedFrame<'a>>,
    /// In the order in which they were opened.
    pub gates: Vec<Gate>,
    /// The messages that came to this run, in the order in which they were taken in.
    pub received: &'a [Received],
    /// Why the rest of the log could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<&'a str>,
}

impl<'a> Whole<'a> {
    /// Of its row, and of a look at it.
    pub fn of(execution: Execution, look: &'a Look) -> Self {
        let Look { folded, gates, pending, .. } = look;
        let frames = in_order(&folded.state).into_iter();
        Self {
            standing: Standing::of(execution, look),
            run: folded.state.run,
            input: &folded.state.input,
            frames: frames.map(|(id, of)| NamedFrame { frame: id.as_str(), of }).collect(),
            gates: gates.iter().map(|gate| Gate::of(gate, pending)).collect(),
            received: &folded.received,
            unreadable: folded.trouble.as_deref(),
        }
    }
}

/// A frame with its id.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct NamedFrame<'a> {
    /// Its id.
    pub frame: &'a str,
    #[serde(flatten)]
    /// The frame.
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub of: &'a Frame,
}

/// The code that an execution waits for, if it is parked for that. What cannot be read is only listed.
pub async fn waited_code(app: &App, row: &ExecutionRow) -> Option<String> {
    app.parked(row).await.ok().flatten()?.wants
}
