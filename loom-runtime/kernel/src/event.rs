//! The events of a log: a closed set of kinds, only ever added to.
//! Not their meaning: that is [`crate::State`], the fold, and [`crate::Machine`], the replay.

use serde::{Deserialize, Serialize};

use crate::{
    ChangeMarked, ChildSettled, ChildStarted, DeadLetter, Delivery, Digest, Discarded, Ending, ExecutionId,
    Failed, Forked, FrameId, InvalidPayload, MessageAwaited, MessageReceived, MessageSent, NewRun, Outcome,
    Parent, ParkReport, Payload, Timestamp, UpdateAnswered,
};

/// Version of the event schema that this build writes; it reads every version up to it.
pub const EVENT_SCHEMA: u16 = 1;

/// One fact of an execution's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Envelope {
    /// Whose log this is.
    pub execution: ExecutionId,
    /// Position in the log: dense, from 0.
    pub sequence: u64,
    /// When it was recorded. Information only: the order is `sequence`.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
    /// Who and what was behind it.
    pub meta: Meta,
}

/// An event as a store keeps it: its kind's name, and its payload and meta as exact bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Position in the log: dense, from 0.
    pub sequence: u64,
    /// [`Kind::name`].
    pub kind: String,
    /// When it was recorded.
    pub at: Timestamp,
    /// [`EVENT_SCHEMA`] of the build that wrote it.
    pub schema: u16,
    /// JSON.
    pub payload: String,
    /// JSON of [`Meta`].
    pub meta: String,
}

/// Circumstances of an event. Absent values take no space.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Who caused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// For whom it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// W3C `traceparent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// How the payload is sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<String>,
    /// Where a copied event comes from, `execution@sequence`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// A stored event that this build cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnreadableEvent {
    /// Its kind is not known here.
    #[error("event {sequence} is a {kind}, which this build does not know: it was written by a newer one")]
    Kind {
        /// Position in the log.
        sequence: u64,
        /// The name found.
        kind: String,
    },
    /// Its schema version is newer than this build.
    #[error("event {sequence} has schema version {schema}, this build reads up to {EVENT_SCHEMA}")]
    Schema {
        /// Position in the log.
        sequence: u64,
        /// The version found.
        schema: u16,
    },
    /// Its payload does not have the shape of its kind.
    #[error("the payload of event {sequence} ({kind}) cannot be read: {reason}")]
    Payload {
        /// Position in the log.
        sequence: u64,
        /// The kind.
        kind: &'static str,
        /// What serde says; names a field, never a value.
        reason: String,
    },
}

impl UnreadableEvent {
    /// Whether a newer build can read it.
    pub const fn is_newer(&self) -> bool {
        matches!(self, Self::Kind { .. } | Self::Schema { .. })
    }
}

macro_rules! events {
    (
        understood { $($(#[$doc:meta])* $name:ident($body:ty) = $wire:literal,)* }
        reserved { $($(#[$rdoc:meta])* $rname:ident = $rwire:literal,)* }
    ) => {
        /// The kinds of events. A closed set: kinds are added, never removed or renamed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Kind { $($(#[$doc])* $name,)* $($(#[$rdoc])* $rname,)* }

        impl Kind {
            /// Every kind, in the order of their introduction.
            pub const ALL: &'static [Self] = &[$(Self::$name,)* $(Self::$rname,)*];

            /// The name in the log.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $wire,)* $(Self::$rname => $rwire,)* }
            }

            /// The kind with this name.
            pub fn named(name: &str) -> Option<Self> {
                match name { $($wire => Some(Self::$name),)* $($rwire => Some(Self::$rname),)* _ => None }
            }
        }

        /// What happened.
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Event {
            $($(#[$doc])* $name($body),)*
            /// A kind that is reserved for a room that this build does not have: kept, not interpreted.
            Reserved(Kind, Payload),
        }

        impl Event {
            /// The kind.
            pub fn kind(&self) -> Kind {
                match self { $(Self::$name(_) => Kind::$name,)* Self::Reserved(kind, _) => *kind }
            }

            fn write(&self) -> Result<String, serde_json::Error> {
                match self {
                    $(Self::$name(body) => serde_json::to_string(body),)*
                    Self::Reserved(_, payload) => Ok(payload.as_str().to_owned()),
                }
            }

            fn read(kind: Kind, json: &str) -> Result<Self, InvalidPayload> {
                Ok(match kind {
                    $(Kind::$name => Self::$name(serde_json::from_str(json)?),)*
                    _ => Self::Reserved(kind, Payload::parse(json)?),
                })
            }
        }
    };
}

events! {
understood {
    /// The execution exists.
    ExecutionStarted(Started) = "EXECUTION_STARTED",
    /// Nothing runs; it waits for timers, gates or messages.
    ExecutionSuspended(Suspended) = "EXECUTION_SUSPENDED",
    /// An owner took a suspended, parked or abandoned execution up again.
    ExecutionResumed(Resumed) = "EXECUTION_RESUMED",
    /// The flow returned a value.
    ExecutionCompleted(Completed) = "EXECUTION_COMPLETED",
    /// The flow returned an error.
    ExecutionFailed(ExecutionFailure) = "EXECUTION_FAILED",
    /// Somebody cancelled it.
    ExecutionCancelled(Cancelled) = "EXECUTION_CANCELLED",
    /// Other code than before goes on with it.
    ExecutionMigrated(Migrated) = "EXECUTION_MIGRATED",
    /// A fault in code stopped it; it goes on when that is mended.
    ExecutionParked(Parked) = "EXECUTION_PARKED",
    /// An attempt of a step was requested.
    StepStarted(StepStarted) = "STEP_STARTED",
    /// A step returned a value.
    StepCompleted(StepCompleted) = "STEP_COMPLETED",
    /// An attempt failed: for good, or to be made again at `retry_at`.
    StepFailed(StepFailed) = "STEP_FAILED",
    /// The flow dropped a frame before it had settled.
    StepAbandoned(Abandoned) = "STEP_ABANDONED",
    /// A choice was made, and holds for ever.
    DecisionRecorded(Decision) = "DECISION_RECORDED",
    /// A timer was set to an absolute instant.
    TimerSet(TimerSet) = "TIMER_SET",
    /// It fired.
    TimerFired(Fired) = "TIMER_FIRED",
    /// A person, or another program, was asked.
    GateOpened(GateOpened) = "GATE_OPENED",
    /// They answered.
    GateAnswered(GateAnswered) = "GATE_ANSWERED",
    /// Nobody answered in time.
    GateExpired(Fired) = "GATE_EXPIRED",
    /// An attempt of an at-most-once step ended without an outcome that anybody knows.
    EffectIndoubt(InDoubt) = "EFFECT_INDOUBT",
    /// A fact of the user's own domain.
    Domain(Domain) = "DOMAIN",
    /// A frame waits for a message.
    MessageAwaited(MessageAwaited) = "MESSAGE_AWAITED",
    /// A message came in, and a frame took it.
    MessageReceived(MessageReceived) = "MESSAGE_RECEIVED",
    /// A message that nobody can read, or will ever take; or an answer that its gate did not take, on the topic `gate:ID`.
    MessageDeadLettered(DeadLetter) = "MESSAGE_DEAD_LETTERED",
    /// A message was sent to another execution.
    MessageSent(MessageSent) = "MESSAGE_SENT",
    /// The sender of an update has its reply.
    UpdateAnswered(UpdateAnswered) = "UPDATE_ANSWERED",
    /// A child execution was started.
    ChildStarted(ChildStarted) = "CHILD_STARTED",
    /// A child execution ended.
    ChildSettled(ChildSettled) = "CHILD_SETTLED",
    /// What a frame came to after the flow had dropped it.
    OutcomeDiscarded(Discarded) = "OUTCOME_DISCARDED",
    /// The execution is to stop: the flow was told, and tidies up.
    CancelRequested(Cancelled) = "CANCEL_REQUESTED",
    /// The flow took the changed path of its code, and keeps to it.
    ChangeMarked(ChangeMarked) = "CHANGE_MARKED",
    /// The execution goes on in a new run: what came before is not replayed any more.
    ContinuedAsNew(NewRun) = "CONTINUED_AS_NEW",
    /// The events before this one are another execution's.
    ExecutionForked(Forked) = "EXECUTION_FORKED",
    /// Another execution waits for this one to end.
    WatchAdded(Parent) = "WATCH_ADDED",
    /// An effect was refused by a ceiling or policy: its body does not run, and its frame fails next.
    EffectDenied(EffectDenied) = "EFFECT_DENIED",
    /// How it ends is decided, and is written once its children have ended.
    ExecutionEnding(Ending) = "EXECUTION_ENDING",
}
reserved {
    /// The authorizer refused to start or resume it.
    ExecutionDenied = "EXECUTION_DENIED",
    /// An effect used something that is counted.
    ResourceMetered = "RESOURCE_METERED",
    /// A budget does not cover an effect.
    QuotaExceeded = "QUOTA_EXCEEDED",
    /// A safety check stopped an input or an output.
    SafetyBlocked = "SAFETY_BLOCKED",
    /// A connection outwards was refused.
    EgressDenied = "EGRESS_DENIED",
    /// A payload was made unreadable for good.
    PayloadShredded = "PAYLOAD_SHREDDED",
    /// An approval was given for exactly what was seen.
    ApprovalGranted = "APPROVAL_GRANTED",
}
}

/// Which code runs a flow: its tokens, and its shape (ids, kinds, types).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprints {
    /// Of the tokens of the flow's body.
    #[serde(with = "hex")]
    pub body: u64,
    /// Of ids, kinds and schemas.
    #[serde(with = "hex")]
    pub structure: u64,
}

/// Body of `EXECUTION_STARTED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The flow's registered name.
    pub flow: String,
    /// Its input.
    pub input: Payload,
    /// The version of the input's shape, as the flow declares it.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub input_version: u32,
    /// The code that it was started with.
    pub code: Fingerprints,
    /// Where the execution's uuids and random numbers come from.
    pub seed: Digest,
    /// Who waits for it, when it is a child.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// Numbered behaviours of the engine that hold for this log. There are none yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<u16>,
}

/// Body of `EXECUTION_SUSPENDED`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspended {
    /// The frames that it waits for.
    pub waiting: Vec<FrameId>,
    /// The next instant at which it goes on by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<Timestamp>,
}

/// Body of `EXECUTION_RESUMED`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resumed {
    /// The worker that goes on with it.
    pub worker: String,
    /// Why: `unowned`, `taken over`, `woken`, `retried`.
    pub reason: String,
}

/// Body of `EXECUTION_COMPLETED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completed {
    /// What the flow returned.
    pub output: Payload,
}

/// Body of `EXECUTION_FAILED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionFailure {
    /// The error that the flow returned.
    pub failure: Failed,
}

/// Body of `EXECUTION_CANCELLED`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cancelled {
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub by: String,
}

/// Body of `EXECUTION_MIGRATED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Migrated {
    /// The code that wrote the log so far.
    pub from: Fingerprints,
    /// The code that goes on.
    pub to: Fingerprints,
    /// Set when the code that goes on reads the input of this run as of a newer version. The log keeps it as it was
    /// written: each replay brings it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Upcasted>,
}

/// Between which versions the input of a run is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upcasted {
    /// The one in the log.
    pub from: u32,
    /// The one that the code reads.
    pub to: u32,
}

/// The version of inputs that say none.
pub(crate) const fn first() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
pub(crate) const fn is_first(version: &u32) -> bool {
    *version == 1
}

/// Body of `EXECUTION_PARKED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parked {
    /// What is wrong.
    pub report: ParkReport,
}

/// Body of `STEP_STARTED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepStarted {
    /// The frame.
    pub frame: FrameId,
    /// The step's registered name.
    pub step: String,
    /// Which attempt, from 1.
    pub attempt: u32,
    /// The digest of the input.
    pub digest: Digest,
    /// The input; only with the first attempt that is made. A first attempt without one was refused, and never ran.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::payload::present")]
    pub input: Option<Payload>,
    /// The delivery mode.
    pub delivery: Delivery,
}

/// Body of `STEP_COMPLETED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCompleted {
    /// The frame.
    pub frame: FrameId,
    /// The attempt that returned.
    pub attempt: u32,
    /// What it returned.
    pub output: Payload,
    /// Who said so, when it was a verdict and not the step itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// Body of `STEP_FAILED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepFailed {
    /// The frame.
    pub frame: FrameId,
    /// The attempt that failed.
    pub attempt: u32,
    /// How.
    pub failure: Failed,
    /// When the next attempt is due; absent when this is the step's outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// Whether its body never ran: it was on record, and not handed out. It does not count against the retry policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub not_made: bool,
}

/// Body of `STEP_ABANDONED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abandoned {
    /// The frame: a step, a gate or a timer.
    pub frame: FrameId,
}

/// Body of `DECISION_RECORDED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The frame.
    pub frame: FrameId,
    /// What was chosen.
    pub value: Payload,
}

/// Body of `TIMER_SET`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerSet {
    /// The frame.
    pub frame: FrameId,
    /// When it is due. The first recorded instant wins, whatever a replay computes.
    pub fire_at: Timestamp,
}

/// Body of `TIMER_FIRED` and `GATE_EXPIRED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fired {
    /// The frame.
    pub frame: FrameId,
}

/// Body of `GATE_OPENED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateOpened {
    /// The frame; `execution/frame` is the gate's address.
    pub frame: FrameId,
    /// The gate's declared name.
    pub gate: String,
    /// The JSON Schema of an answer.
    pub schema: Payload,
    /// When it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Body of `GATE_ANSWERED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateAnswered {
    /// The frame.
    pub frame: FrameId,
    /// The answer.
    pub answer: Payload,
    /// Who gave it.
    pub by: String,
}

/// Body of `EFFECT_INDOUBT`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InDoubt {
    /// The frame.
    pub frame: FrameId,
    /// The attempt whose outcome is unknown.
    pub attempt: u32,
    /// How it ended: `crash`, `timed_out`, `panic`, `cancelled`, `abandoned`, `parked`, or the name of a fault.
    pub reason: String,
}

/// Body of `EFFECT_DENIED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectDenied {
    /// The frame of the effect.
    pub frame: FrameId,
    /// Why, as whoever refused it says. Holds no payload.
    pub reason: String,
}

/// Body of `DOMAIN`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// The frame that emitted it.
    pub frame: FrameId,
    /// The event's declared name, never a Rust path.
    pub name: String,
    /// The version of its shape.
    pub version: u32,
    /// Its data.
    pub data: Payload,
}

impl Envelope {
    /// The event as a store keeps it.
    ///
    /// # Errors
    /// Never for the events of this crate; a foreign `Serialize` inside could fail.
    pub fn encode(&self) -> Result<Record, InvalidPayload> {
        Ok(Record {
            sequence: self.sequence,
            kind: self.event.kind().name().into(),
            at: self.at,
            schema: EVENT_SCHEMA,
            payload: self.event.write()?,
            meta: serde_json::to_string(&self.meta)?,
        })
    }

    /// Reads a stored event, of this schema version or of any before it.
    ///
    /// # Errors
    /// [`UnreadableEvent`]: the event is newer than this build, or damaged.
    pub fn decode(execution: &ExecutionId, record: &Record) -> Result<Self, UnreadableEvent> {
        let sequence = record.sequence;
        let Some(kind) = Kind::named(&record.kind) else {
            return Err(UnreadableEvent::Kind { sequence, kind: record.kind.clone() });
        };
        if record.schema > EVENT_SCHEMA {
            return Err(UnreadableEvent::Schema { sequence, schema: record.schema });
        }
        let unreadable = |reason: String| UnreadableEvent::Payload { sequence, kind: kind.name(), reason };
        let event = Event::read(kind, &record.payload).map_err(|e| unreadable(e.0))?;
        let meta = serde_json::from_str(&record.meta).map_err(|e| unreadable(InvalidPayload::from(e).0))?;
        Ok(Self { execution: execution.clone(), sequence, at: record.at, event, meta })
    }
}

impl Event {
    /// How the execution ended, if it did with this event.
    pub fn ends(&self) -> Option<Outcome> {
        Some(match self {
            Self::ExecutionCompleted(e) => Outcome::Completed(e.output.clone()),
            Self::ExecutionFailed(e) => Outcome::Failed(e.failure.clone()),
            Self::ExecutionCancelled(e) => Outcome::Cancelled { reason: e.reason.clone(), by: e.by.clone() },
            _ => return None,
        })
    }

    /// The frame that the event is about.
    pub fn frame(&self) -> Option<&FrameId> {
        Some(match self {
            Self::StepStarted(e) => &e.frame,
            Self::StepCompleted(e) => &e.frame,
            Self::StepFailed(e) => &e.frame,
            Self::StepAbandoned(e) => &e.frame,
            Self::DecisionRecorded(e) => &e.frame,
            Self::TimerSet(e) => &e.frame,
            Self::TimerFired(e) | Self::GateExpired(e) => &e.frame,
            Self::GateOpened(e) => &e.frame,
            Self::GateAnswered(e) => &e.frame,
            Self::EffectIndoubt(e) => &e.frame,
            Self::EffectDenied(e) => &e.frame,
            Self::Domain(e) => &e.frame,
            Self::MessageAwaited(e) => &e.frame,
            Self::MessageReceived(e) => &e.frame,
            Self::MessageSent(e) => &e.frame,
            Self::UpdateAnswered(e) => &e.frame,
            Self::ChildStarted(e) => &e.frame,
            Self::ChildSettled(e) => &e.frame,
            Self::OutcomeDiscarded(e) => &e.frame,
            Self::ChangeMarked(e) => &e.frame,
            _ => return None,
        })
    }
}

/// 64-bit fingerprints are written as text: JSON readers cut integers at 2^53.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(value: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{value:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        u64::from_str_radix(&String::deserialize(from)?, 16).map_err(serde::de::Error::custom)
    }
}
