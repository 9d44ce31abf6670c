//! The difference between two executions, run by run and frame by frame.
//! Not of code, and not of two states of one log that should agree: a replay check tells those.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use kernel::{
    Envelope, Event, Forked, Frame, FrameId, FrameKind, FrameStatus, Outcome, State, Status, UnfoldableEvent,
};
use serde::Serialize;

/// How two executions differ; see [`diff`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// How many events both logs begin with.
    pub shared: u64,
    /// Where the logs part: what each has there. `None` when they are equal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parting>,
    /// What differs in each run that either has: an execution that continues as new begins the next one.
    pub runs: Vec<RunDiff>,
    /// How each stands, and what it came to.
    pub ends: [End; 2],
}

/// How two executions differ in one of their runs. All frames of a run that only one of them has are that one's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunDiff {
    /// Which run, from 0.
    pub run: u64,
    /// Frames that both have, alike in all that is compared.
    pub same: Vec<FrameId>,
    /// Frames that only the first has.
    pub only_a: Vec<FrameId>,
    /// Frames that only the second has.
    pub only_b: Vec<FrameId>,
    /// Frames that both have, and what differs.
    pub changed: Vec<Changed>,
}

/// The first place at which two logs differ: after the events that they share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parting {
    /// The sequence.
    pub sequence: u64,
    /// The first log's event there, in short; `None` when it ends before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// The second's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// A frame that two executions have, and in which they differ.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The frame.
    pub frame: FrameId,
    /// What differs.
    pub what: Vec<Aspect>,
    /// Each one's, in short.
    pub values: [String; 2],
}

/// What of a frame differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Aspect {
    /// It is another thing: a gate in one, a step in the other; or another step.
    Kind,
    /// Its input.
    Input,
    /// Where it stands.
    Status,
    /// What it came to.
    Outcome,
}

/// Where an execution stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// Its status.
    pub status: Status,
    /// What it came to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// Compares two executions by their logs, from `EXECUTION_STARTED` on: which events they share, and how their frames
/// differ in each of their runs. Instants, attempts and who caused what are not compared; what a fork copied is shared with
/// its origin.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use loom_runtime::{App, diff};
/// let app = App::builder().build()?;
/// let rows = app.list(&Default::default()).await?;
/// if let [a, b] = &rows[..] {
///     let (a, b) = (app.log(&a.id, 0, 100_000).await?, app.log(&b.id, 0, 100_000).await?);
///     println!("{}", diff(&a, &b)?);
/// }
/// # Ok::<(), loom_runtime::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// A log contradicts itself, or does not begin with its start.
pub fn diff(a: &[Envelope], b: &[Envelope]) -> Result<Diff, UnfoldableEvent> {
    let (before, after) = (runs(a)?, runs(b)?);
    let shared = a.iter().zip(b).take_while(|(a, b)| a.event == b.event).count();
    let in_short = |log: &[Envelope]| log.get(shared).map(|envelope| event_in_short(&envelope.event));
    let (left, right) = (in_short(a), in_short(b));
    let parts =
        (left.is_some() || right.is_some()).then_some(Parting { sequence: shared as u64, a: left, b: right });
    let ends = [&before, &after].map(|runs| {
        let last = runs.last_key_value().map(|(_, state)| state.clone()).unwrap_or_default();
        End { status: last.status, outcome: last.outcome }
    });
    let none = BTreeMap::new();
    let either: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let of = |run| {
        let [before, after] =
            [&before, &after].map(|runs| runs.get(run).map_or(&none, |state| &state.frames));
        RunDiff::of(*run, before, after)
    };
    Ok(Diff { shared: shared as u64, parts, runs: either.into_iter().map(of).collect(), ends })
}

/// How each run ended; the last one as it stands.
fn runs(log: &[Envelope]) -> Result<BTreeMap<u64, State>, UnfoldableEvent> {
    let (mut state, mut runs) = (State::default(), BTreeMap::new());
    for envelope in log {
        let ended = matches!(envelope.event, Event::ContinuedAsNew(_)) && state.next > 0;
        let ended = ended.then(|| (state.run, state.clone()));
        state.apply(envelope)?;
        runs.extend(ended);
    }
    runs.insert(state.run, state);
    Ok(runs)
}

impl RunDiff {
    fn of(run: u64, before: &BTreeMap<FrameId, Frame>, after: &BTreeMap<FrameId, Frame>) -> Self {
        let (same, only_a, only_b, changed) = Default::default();
        let mut diff = Self { run, same, only_a, only_b, changed };
        let frames: BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for frame in frames {
            match (before.get(frame), after.get(frame)) {
                (Some(_), None) => diff.only_a.push(frame.clone()),
                (None, Some(_)) => diff.only_b.push(frame.clone()),
                (Some(a), Some(b)) => {
                    let what = aspects(a, b);
                    if what.is_empty() {
                        diff.same.push(frame.clone());
                    } else {
                        let values = [a, b].map(|f| frame_in_short(f, &what));
                        diff.changed.push(Changed { frame: frame.clone(), what, values });
                    }
                }
                (None, None) => {}
            }
        }
        diff
    }

    /// Whether the frames of the run are alike in all that is compared.
    pub fn is_empty(&self) -> bool {
        self.only_a.is_empty() && self.only_b.is_empty() && self.changed.is_empty()
    }
}

impl Diff {
    /// Whether the two are alike in all that is compared.
    pub fn is_empty(&self) -> bool {
        self.runs.iter().all(RunDiff::is_empty) && self.ends[0] == self.ends[1]
    }
}

fn aspects(a: &Frame, b: &Frame) -> Vec<Aspect> {
    let kinds = kind_in_short(&a.kind) != kind_in_short(&b.kind);
    let inputs = a.input != b.input;
    let of = [
        (kinds, Aspect::Kind),
        (inputs, Aspect::Input),
        (a.status != b.status, Aspect::Status),
        (a.outcome != b.outcome, Aspect::Outcome),
    ];
    of.into_iter().filter_map(|(differs, aspect)| differs.then_some(aspect)).collect()
}

/// What a frame is, by name: a child of a fork is the same thing under another id.
fn kind_in_short(kind: &FrameKind) -> String {
    match kind {
        FrameKind::Step { step, .. } => format!("step {step}"),
        FrameKind::Gate { gate } => format!("gate {gate}"),
        FrameKind::Timer => "timer".into(),
        FrameKind::Decision => "decision".into(),
        FrameKind::Domain { name } => format!("event {name}"),
        FrameKind::Message { topic } => format!("message on {topic}"),
        FrameKind::Sent { topic, .. } => format!("sent on {topic}"),
        FrameKind::Reply => "reply".into(),
        FrameKind::Child { flow, .. } => format!("child {flow}"),
        FrameKind::Change => "change".into(),
    }
}

fn frame_in_short(frame: &Frame, what: &[Aspect]) -> String {
    let parts = what.iter().map(|aspect| match aspect {
        Aspect::Kind => kind_in_short(&frame.kind),
        Aspect::Input => frame
            .input
            .as_ref()
            .map_or_else(|| "no input".into(), |input| format!("input {}", short(input.as_str()))),
        Aspect::Status => match frame.status {
            FrameStatus::Open => "open",
            FrameStatus::BackingOff => "backing off",
            FrameStatus::InDoubt => "in doubt",
            FrameStatus::Settled => "settled",
            FrameStatus::Abandoned => "abandoned",
        }
        .into(),
        Aspect::Outcome => frame.outcome.as_ref().map_or_else(|| "no outcome".into(), outcome_in_short),
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn outcome_in_short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed(output) => short(output.as_str()),
        Outcome::Failed(failure) => format!("failed: {}", short(&failure.message)),
        Outcome::Cancelled { by, .. } => format!("cancelled by {by}"),
    }
}

fn event_in_short(event: &Event) -> String {
    let kind = event.kind().name();
    match (event, event.frame()) {
        (Event::ExecutionForked(Forked { from, .. }), _) => format!("{kind} of {}", from.execution),
        (_, Some(frame)) => format!("{kind} {frame}"),
        (_, None) => kind.into(),
    }
}

/// One line of it, and no long one.
fn short(text: &str) -> String {
    const MOST: usize = 60;
    let line: String = text.chars().take(MOST).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MOST).is_some() { format!("{line}…") } else { line }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kind => "kind",
            Self::Input => "input",
            Self::Status => "status",
            Self::Outcome => "outcome",
        })
    }
}

/// For people: where the logs part, then run by run `-` for what only the first has, `+` for the second, `~` for what differs.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} events shared", self.shared)?;
        if let Some(Parting { sequence, a, b }) = &self.parts {
            let [a, b] = [a, b].map(|event| event.as_deref().unwrap_or("the end"));
            write!(f, "; at {sequence}: {a} | {b}")?;
        }
        for run in &self.runs {
            if self.runs.len() > 1 && !run.is_empty() {
                write!(f, "\nrun {}:", run.run)?;
            }
            write!(f, "{run}")?;
        }
        let [a, b] = self.ends.each_ref().map(|end| match &end.outcome {
            Some(Outcome::Completed(output)) => format!("completed {}", short(output.as_str())),
            Some(outcome) => outcome_in_short(outcome),
            None => end.status.to_string(),
        });
        let same: usize = self.runs.iter().map(|run| run.same.len()).sum();
        let s = if same == 1 { "" } else { "s" };
        write!(f, "\n= {same} frame{s} alike\n")?;
        if a == b { write!(f, "both {a}") } else { write!(f, "{a} | {b}") }
    }
}

impl fmt::Display for RunDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for frame in &self.only_a {
            write!(f, "\n- {frame}")?;
        }
        for frame in &self.only_b {
            write!(f, "\n+ {frame}")?;
        }
        for Changed { frame, what, values: [a, b] } in &self.changed {
            let what: Vec<_> = what.iter().map(Aspect::to_string).collect();
            write!(f, "\n~ {frame} ({}): {a} | {b}", what.join(", "))?;
        }
        Ok(())
    }
}
