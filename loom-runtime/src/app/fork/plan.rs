//! What a fork begins with: the copied events, what is put behind them, and the gates that stand there.
//! Not its creation; and pure, once the origin was read: the simulation uses it too.

use std::collections::{BTreeMap, BTreeSet};

use kernel::{
    Digest, Envelope, Event, ExecutionId, ForkPoint, Forked, Frame, FrameId, FrameKind, FrameStatus,
    GivenAnswer, InDoubt, Kind, Meta, Outcome, Payload, Record, Snapshot, State, Timestamp,
};

use super::{ChildPolicy, ForkError};
use crate::{
    App,
    app::{
        answer::listed,
        folded,
        gate_place::{self, Place},
    },
    ports::{ExecutionRow, GateChange, StoreError},
    worker::gate_change,
};

const PAGE: usize = 1_000;

/// What is asked of a fork.
#[derive(Clone)]
pub(in crate::app) struct Wishes {
    pub(in crate::app) at: Option<u64>,
    pub(in crate::app) stubs: BTreeMap<FrameId, Payload>,
    pub(in crate::app) rerun: BTreeSet<FrameId>,
    pub(in crate::app) rerun_all: bool,
    pub(in crate::app) children: BTreeMap<FrameId, ChildPolicy>,
    pub(in crate::app) other_children: ChildPolicy,
    pub(in crate::app) copy_answers: bool,
    pub(in crate::app) by: String,
}

impl Default for Wishes {
    fn default() -> Self {
        let (at, rerun_all, copy_answers, by) = (None, false, false, "unknown".to_owned());
        let (stubs, rerun, children, other_children) = Default::default();
        Self { at, stubs, rerun, rerun_all, children, other_children, copy_answers, by }
    }
}

/// The origin up to the cut, and what is needed of it behind.
pub(in crate::app) struct Prefix {
    origin: ExecutionId,
    flow: String,
    records: Vec<Record>,
    /// What happened to gates in the run of the cut.
    gates: Vec<Envelope>,
    state: State,
    /// Answers after the cut, in the same run.
    answers: BTreeMap<FrameId, GivenAnswer>,
}

impl Prefix {
    /// Reads it.
    pub(in crate::app) async fn read(
        app: &App,
        origin: &ExecutionRow,
        wishes: &Wishes,
    ) -> Result<Self, ForkError> {
        let id = &origin.id;
        let most = origin.next - u64::from(origin.status.is_terminal());
        let cut = wishes.at.unwrap_or(most);
        if !(1..=most).contains(&cut) {
            return Err(ForkError::Cut { execution: id.clone(), asked: cut, most });
        }
        let mut records = Vec::new();
        while (records.len() as u64) < cut {
            let left = usize::try_from(cut).unwrap_or(usize::MAX) - records.len();
            let page = app.engine.store.read(id, records.len() as u64, left.min(PAGE)).await;
            let page = page.map_err(|error| match error {
                StoreError::Archived { execution, first } => ForkError::Archived { execution, first },
                error => error.into(),
            })?;
            if page.is_empty() {
                let message =
                    format!("the log of `{id}` ends at event {}, its row says {most}", records.len());
                return Err(StoreError::Corrupt(message).into());
            }
            records.extend(page);
        }
        let state = folded::state_of(&*app.engine.store, id, &records).await?;
        let run = &records[usize::try_from(state.base).unwrap_or(usize::MAX)..];
        let gates = run.iter().filter(|record| changes_gates(record));
        let gates: Result<Vec<_>, _> = gates.map(|record| Envelope::decode(id, record)).collect();
        let gates = gates.map_err(|e| StoreError::Corrupt(e.to_string()))?;
        let answers = if wishes.copy_answers { answers(app, id, cut).await? } else { BTreeMap::new() };
        Ok(Self { origin: id.clone(), flow: origin.flow.clone(), records, gates, state, answers })
    }

    /// The instant of the cut.
    pub(in crate::app) fn instant(&self) -> Timestamp {
        self.state.updated_at
    }

    fn cut(&self) -> u64 {
        self.records.len() as u64
    }

    fn unknown(&self, frame: &FrameId, expected: &'static str) -> ForkError {
        let open = self.state.frames.iter().filter(|(_, f)| is_open(f)).map(|(id, _)| id.as_str());
        let (execution, events, open) = (self.origin.clone(), self.cut(), listed(open));
        ForkError::UnknownFrame { execution, events, frame: frame.clone(), expected, open }
    }
}

async fn answers(
    app: &App,
    id: &ExecutionId,
    cut: u64,
) -> Result<BTreeMap<FrameId, GivenAnswer>, StoreError> {
    let (mut answers, mut next) = (BTreeMap::new(), cut);
    loop {
        let page = app.log(id, next, PAGE).await?;
        let Some(last) = page.last() else { return Ok(answers) };
        next = last.sequence + 1;
        for envelope in page {
            match envelope.event {
                Event::ContinuedAsNew(_) => return Ok(answers),
                Event::GateAnswered(e) => {
                    answers.insert(e.frame, GivenAnswer { answer: e.answer, by: e.by });
                }
                _ => {}
            }
        }
    }
}

/// A fork, ready to be created.
pub(in crate::app) struct Plan {
    pub(in crate::app) records: Vec<Record>,
    pub(in crate::app) gates: Vec<GateChange>,
    pub(in crate::app) base: u64,
    pub(in crate::app) forked: Forked,
    shared: BTreeMap<FrameId, ExecutionId>,
    pub(in crate::app) snapshot: Option<Snapshot>,
}

impl Plan {
    /// What a fork with this id begins with.
    pub(in crate::app) fn of(
        app: &App,
        prefix: &Prefix,
        wishes: &Wishes,
        id: &ExecutionId,
        now: Timestamp,
    ) -> Result<Self, ForkError> {
        let state = &prefix.state;
        let mut forked = Forked::at(ForkPoint { execution: prefix.origin.clone(), events: prefix.cut() });
        forked.by.clone_from(&wishes.by);
        // A simulation is of the execution itself, and draws what that drew.
        let me = id.as_str().as_bytes();
        forked.seed = (*id != prefix.origin).then(|| Digest::of_parts(&[&state.seed.bytes(), b"fork", me]));
        forked.answers.clone_from(&prefix.answers);
        for frame in &wishes.rerun {
            let known = state.frames.get(frame).filter(|f| is_open_step(f));
            known.ok_or_else(|| prefix.unknown(frame, "open step"))?;
        }
        for (frame, value) in &wishes.stubs {
            stub(app, prefix, frame, value, &mut forked)?;
        }
        let shared = children(prefix, wishes, id, &mut forked)?;
        let open_steps: Vec<_> = state.frames.iter().filter(|(_, f)| is_open_step(f)).collect();
        let again = open_steps.iter().map(|(frame, _)| *frame);
        forked.rerun = again
            .filter(|frame| wishes.rerun_all || wishes.rerun.contains(frame))
            .filter(|frame| !forked.stubs.contains_key(frame))
            .cloned()
            .collect();
        // A call without an input was refused, and is refused again: only a stub says otherwise.
        let taken_on = open_steps
            .iter()
            .filter(|(frame, known)| known.input.is_some() || forked.stubs.contains_key(*frame));
        let doubts = taken_on.map(|(frame, known)| {
            let (attempt, reason) = (known.attempt, Forked::DOUBT.to_owned());
            Event::EffectIndoubt(InDoubt { frame: (*frame).clone(), attempt, reason })
        });
        let at = now.max(state.updated_at);
        let own = std::iter::once(Event::ExecutionForked(forked.clone())).chain(doubts);
        let own = (prefix.cut()..).zip(own).map(|(sequence, event)| own_event(id, sequence, at, event));
        let own: Vec<_> = own.collect();
        let copied = prefix.records.iter().map(|record| copy(&prefix.origin, record));
        let records = copied.chain(own.iter().map(encoded)).collect::<Result<_, _>>()?;
        let gates = prefix.gates.iter();
        let gates = gates.filter_map(|envelope| gate_change(&envelope.event, &state.frames)).collect();
        let snapshot = snapshot(state, &own)?;
        Ok(Self { records, gates, base: state.base, forked, shared, snapshot })
    }

    /// The executions that the fork waits for and does not start, and whether they must exist already.
    pub(in crate::app) fn awaited(&self) -> impl Iterator<Item = (&FrameId, &ExecutionId, bool)> {
        let adopted = self.forked.adopted.iter().map(|(frame, child)| (frame, child, true));
        adopted.chain(self.shared.iter().map(|(frame, child)| (frame, child, false)))
    }
}

/// A step's outcome, a child's, or an answer: as the frame is, or will be.
fn stub(
    app: &App,
    prefix: &Prefix,
    frame: &FrameId,
    value: &Payload,
    forked: &mut Forked,
) -> Result<(), ForkError> {
    let invalid = |reason| ForkError::Invalid { frame: frame.clone(), reason };
    let registry = app.registry();
    app.engine.limits.check_given(value).map_err(invalid)?;
    let known = prefix.state.frames.get(frame);
    let flow = registry.flow(&prefix.flow);
    let fit = match known.map(|f| (&f.kind, is_open(f))) {
        Some((FrameKind::Step { step, .. }, true)) => {
            registry.step(step).map(|step| step.output.check(value))
        }
        Some((FrameKind::Child { flow, .. }, true)) => {
            registry.flow(flow).map(|flow| flow.output.check(value))
        }
        Some((FrameKind::Gate { gate }, true)) => prefix.gates.iter().rev().find_map(|e| match &e.event {
            Event::GateOpened(e) if e.frame == *frame => {
                let schema = e.schema.decode().ok()?;
                Some(gate_place::check(flow, (gate, &schema), value))
            }
            _ => None,
        }),
        None => match flow.map(|flow| gate_place::find(flow, frame)) {
            Some(Place::Gate(gate)) => Some(gate.answer.check(value)),
            _ => return Err(prefix.unknown(frame, "open step, child or gate, nor a gate to come")),
        },
        Some(_) => return Err(prefix.unknown(frame, "open step, child or gate")),
    };
    fit.unwrap_or(Ok(())).map_err(invalid)?;
    if known.is_none_or(|f| matches!(f.kind, FrameKind::Gate { .. })) {
        let answer = GivenAnswer { answer: value.clone(), by: forked.by.clone() };
        forked.answers.insert(frame.clone(), answer);
    } else {
        forked.stubs.insert(frame.clone(), Outcome::Completed(value.clone()));
    }
    Ok(())
}

/// What becomes of the children; answers those that are shared.
fn children(
    prefix: &Prefix,
    wishes: &Wishes,
    id: &ExecutionId,
    forked: &mut Forked,
) -> Result<BTreeMap<FrameId, ExecutionId>, ForkError> {
    let (state, mut shared) = (&prefix.state, BTreeMap::new());
    let is_child = |f: &Frame| is_open(f) && matches!(f.kind, FrameKind::Child { .. });
    for frame in wishes.children.keys() {
        let known = state.frames.get(frame).filter(|f| is_child(f));
        known.ok_or_else(|| prefix.unknown(frame, "open child"))?;
    }
    for (frame, known) in state.frames.iter().filter(|(_, f)| is_child(f)) {
        let FrameKind::Child { child, .. } = &known.kind else { continue };
        if forked.stubs.contains_key(frame) {
            continue;
        }
        let frame = frame.clone();
        match wishes.children.get(&frame).unwrap_or(&wishes.other_children) {
            ChildPolicy::Rerun => drop(forked.children.insert(frame.clone(), id.child(state.run, &frame))),
            ChildPolicy::Share => drop(shared.insert(frame, child.clone())),
            ChildPolicy::Adopt(other) => drop(forked.adopted.insert(frame, other.clone())),
            ChildPolicy::Cancel => {
                let (reason, by) = ("cancelled by the fork".to_owned(), wishes.by.clone());
                forked.stubs.insert(frame, Outcome::Cancelled { reason, by });
            }
            ChildPolicy::Stub(outcome) => drop(forked.stubs.insert(frame, outcome.clone())),
        }
    }
    Ok(shared)
}

fn is_open(frame: &Frame) -> bool {
    !matches!(frame.status, FrameStatus::Settled | FrameStatus::Abandoned)
}

fn is_open_step(frame: &Frame) -> bool {
    is_open(frame) && matches!(frame.kind, FrameKind::Step { .. })
}

fn changes_gates(record: &Record) -> bool {
    let kinds = [Kind::GateOpened, Kind::GateAnswered, Kind::GateExpired, Kind::StepAbandoned];
    kinds.iter().any(|kind| kind.name() == record.kind)
}

fn own_event(id: &ExecutionId, sequence: u64, at: Timestamp, event: Event) -> Envelope {
    Envelope { execution: id.clone(), sequence, at, event, meta: Meta::default() }
}

fn encoded(envelope: &Envelope) -> Result<Record, StoreError> {
    envelope.encode().map_err(|e| StoreError::Corrupt(e.0))
}

/// Of the fork as it is created: it need not be folded from the origin's beginning. None of one that is read as fast
/// without.
fn snapshot(state: &State, own: &[Envelope]) -> Result<Option<Snapshot>, StoreError> {
    let Some(last) = own.last().filter(|last| last.sequence >= folded::PAGE as u64) else { return Ok(None) };
    let mut state = state.clone();
    own.iter().try_for_each(|event| state.apply(event)).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    Snapshot::of(&state, last).map(Some).map_err(|e| StoreError::Corrupt(e.0))
}

/// The same bytes, and where they come from. What else a newer build wrote beside them is kept.
fn copy(origin: &ExecutionId, record: &Record) -> Result<Record, StoreError> {
    let corrupt = |e: serde_json::Error| StoreError::Corrupt(format!("event {}: {e}", record.sequence));
    let mut meta: serde_json::Map<_, _> = serde_json::from_str(&record.meta).map_err(corrupt)?;
    meta.insert("origin".into(), format!("{origin}@{}", record.sequence).into());
    let meta = serde_json::to_string(&meta).map_err(corrupt)?;
    Ok(Record { meta, ..record.clone() })
}
