//! Why an execution was parked: a fault in code, told so that a person can mend it.
//! Not an outcome: a parked execution goes on when the code is mended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::FrameId;

/// A line of the user's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file, as the compiler names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The kinds of faults. Numbered names, stable in logs and for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// The code asks for something else than the log holds.
    Divergence,
    /// One id was issued twice in one pass.
    StepIdReused,
    /// The flow was woken by something that is not recorded.
    ForeignWake,
    /// The flow waits, and nothing that could wake it is outstanding.
    Stuck,
    /// A durable future was polled or dropped outside its flow.
    OutsidePass,
    /// The flow wakes itself without end.
    Spinning,
    /// The flow panicked.
    FlowPanicked,
    /// A step panicked.
    StepPanicked,
    /// A recorded value no longer has the type that the code expects.
    Undecodable,
    /// A value cannot be written as JSON.
    Unserializable,
    /// A decision or a domain event is larger than the configured limit.
    OverLimit,
    /// The log names a flow that this program does not have.
    MissingFlow,
    /// A step is not registered in this program.
    MissingStep,
    /// A step wants a resource that this program does not provide.
    MissingResource,
    /// A durable call has no id.
    MissingId,
    /// Its owners vanish again and again without an outcome.
    Poisoned,
    /// An at-most-once step ended without a known outcome, and the flow waits for it.
    InDoubt,
    /// A run has more events than it may.
    HistoryTooLong,
    /// An event of the log cannot be read by this build, or contradicts those before it.
    UnreadableLog,
}

impl Fault {
    /// The name in logs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Divergence => "divergence",
            Self::StepIdReused => "step_id_reused",
            Self::ForeignWake => "foreign_wake",
            Self::Stuck => "stuck",
            Self::OutsidePass => "outside_pass",
            Self::Spinning => "spinning",
            Self::FlowPanicked => "flow_panicked",
            Self::StepPanicked => "step_panicked",
            Self::Undecodable => "undecodable",
            Self::Unserializable => "unserializable",
            Self::OverLimit => "over_limit",
            Self::MissingFlow => "missing_flow",
            Self::MissingStep => "missing_step",
            Self::MissingResource => "missing_resource",
            Self::MissingId => "missing_id",
            Self::Poisoned => "poisoned",
            Self::InDoubt => "in_doubt",
            Self::HistoryTooLong => "history_too_long",
            Self::UnreadableLog => "unreadable_log",
        }
    }

    /// What to do about it, in one sentence.
    pub const fn help(self) -> &'static str {
        match self {
            Self::Divergence => {
                "if the code changed, let a build that agrees with the log finish it; if not, something that is not recorded feeds it (a clock, randomness, the order of a HashMap): take it from `ctx.now()`, `ctx.random()` or `ctx.decide(..)`"
            }
            Self::StepIdReused => {
                "give each call its own `.id(\"…\")`; in a loop, a `.key(..)` that differs from turn to turn; or, where the input is the same, `.memo()` to ask for the first outcome again"
            }
            Self::ForeignWake => {
                "a flow may only wait for `ctx` calls: move clocks, sleeps, channels to other tasks and I/O into a step"
            }
            Self::Stuck => {
                "it awaits something that is no `ctx` call (a timer of the async runtime, a spawned task, a channel, I/O): move that into a step, or use `ctx.sleep(..)`"
            }
            Self::OutsidePass => {
                "await `ctx` calls in the flow itself; do not hand them to spawned tasks or other threads"
            }
            Self::Spinning => "a future in the flow wakes itself on every poll: move it into a step",
            Self::FlowPanicked | Self::StepPanicked => {
                "mend the panic and deploy; then it goes on where it stopped"
            }
            Self::Undecodable => {
                "make the type read what was written (`#[serde(default)]`, `#[serde(alias = \"…\")]`), and deploy"
            }
            Self::Unserializable => "make the type serialisable as JSON: map keys must be text",
            Self::OverLimit => {
                "record a reference, and keep the data elsewhere; or raise the limit on the App builder"
            }
            Self::MissingFlow => {
                "start a worker of a program that has this flow, or link the crate with `loom::link!`"
            }
            Self::MissingStep => "register the step again, or link its crate with `loom::link!`",
            Self::MissingResource => "add `.provide(..)` to the App builder",
            Self::MissingId => "call it inside `#[flow]` through `ctx`, or give it an explicit `.id(\"…\")`",
            Self::Poisoned => {
                "find what kills the process (a step that had begun, if the message names one; else the flow itself), mend it, then retry"
            }
            Self::InDoubt => {
                "find out whether the effect happened, then give a verdict: done, again, or give-up"
            }
            Self::HistoryTooLong => {
                "let the flow `continue_as_new` before its run grows that long; or raise the limit on the App builder"
            }
            Self::UnreadableLog => "run a build that is at least as new as the one that wrote it",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What stopped an execution: stored with `EXECUTION_PARKED`. Holds no payloads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkReport {
    /// The kind of fault.
    pub fault: Fault,
    /// What happened, in one sentence.
    pub message: String,
    /// The frame that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<FrameId>,
    /// What the log holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What the code did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The position in the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    /// The nearest known line of the flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near: Option<SourceLine>,
    /// Fingerprint of the code that found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Fingerprint of the code that wrote the log, when other code has found that it does not fit: code that agrees
    /// with the log is waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wants: Option<String>,
    /// What to do next.
    pub help: String,
}

impl ParkReport {
    /// A report of `fault`, with its standing advice.
    pub fn new(fault: Fault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
            frame: None,
            expected: None,
            found: None,
            sequence: None,
            near: None,
            code: None,
            wants: None,
            help: fault.help().into(),
        }
    }

    /// Names the frame.
    #[must_use]
    pub fn frame(mut self, frame: &FrameId) -> Self {
        self.frame = Some(frame.clone());
        self
    }

    /// Names the position in the log.
    #[must_use]
    pub fn at(mut self, sequence: u64) -> Self {
        self.sequence = Some(sequence);
        self
    }

    /// Sets what the log holds against what the code did.
    #[must_use]
    pub fn versus(mut self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        (self.expected, self.found) = (Some(expected.into()), Some(found.into()));
        self
    }
}

impl fmt::Display for ParkReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fault, self.message)?;
        if let Some(sequence) = self.sequence {
            write!(f, "\n  at event {sequence}")?;
        }
        if let Some(near) = &self.near {
            write!(f, "\n  near {near}")?;
        }
        if let (Some(expected), Some(found)) = (&self.expected, &self.found) {
            write!(f, "\n  the log: {expected}\n  the code: {found}")?;
        }
        write!(f, "\n  help: {}", self.help)
    }
}

/// What a panic said, if it said it in words.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|said| (*said).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "(no message)".into())
}
