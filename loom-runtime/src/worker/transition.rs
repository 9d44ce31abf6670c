//! A batch of the machine as a transition of the store: events, and the index rows that follow from them.
//! Not a fold: what the events mean for the execution, the kernel says.

use std::collections::BTreeMap;

use kernel::{
    Batch, Digest, Envelope, Event, ExecutionId, Fault, Frame, FrameId, FrameKind, InvalidPayload,
    ParkReport, Status, Timestamp,
};

use crate::{
    inbox_item::Item,
    ports::{Append, Close, GateChange, GateState, InboxId},
};

/// The transition. `frames` are those of the machine, `seen` is the newest inbox item that was read,
/// `program` the one that this is.
pub(super) fn of(
    batch: &Batch,
    frames: &BTreeMap<FrameId, Frame>,
    execution: &ExecutionId,
    fence: u64,
    seen: InboxId,
    program: Digest,
    at: Timestamp,
) -> Result<Append, InvalidPayload> {
    let close = batch.events.last().filter(|_| batch.closes).map(|last| closing(&last.event, seen, program));
    let begins = |envelope: &&Envelope| matches!(envelope.event, Event::ContinuedAsNew(_));
    let run = batch.events.iter().find(begins).map(|envelope| envelope.sequence);
    // A run begins with its first event: what is open is the earlier one's.
    let mut gates: Vec<_> = run.map(|_| GateChange::AbandonAll).into_iter().collect();
    gates.extend(batch.events.iter().filter_map(|envelope| match &envelope.event {
        Event::ExecutionEnding(_) => Some(GateChange::AbandonAll),
        event => gate(event, frames),
    }));
    if close.as_ref().is_some_and(|close| close.status.is_terminal()) {
        gates.push(GateChange::AbandonAll);
    }
    Ok(Append {
        execution: execution.clone(),
        expected_next: batch.first,
        fence,
        batch: batch.id,
        records: batch.events.iter().map(Envelope::encode).collect::<Result<_, _>>()?,
        at,
        progress: batch.progress,
        gates,
        consumed: batch.consumed.clone(),
        posts: batch.posts.iter().map(|post| Item::posted(post.clone(), at)).collect(),
        run,
        close,
    })
}

fn closing(event: &Event, seen: InboxId, program: Digest) -> Close {
    let (status, wake_at) = match event {
        Event::ExecutionSuspended(e) => (Status::Suspended, e.wake_at),
        Event::ExecutionCompleted(_) => (Status::Completed, None),
        Event::ExecutionFailed(_) => (Status::Failed, None),
        Event::ExecutionCancelled(_) => (Status::Cancelled, None),
        _ => (Status::Parked, None),
    };
    // Programs of several releases may share the store: this one is not to park it again at each wake-up.
    let unfit = match event {
        Event::ExecutionParked(e) if waits_for_code(&e.report) => Some(program),
        _ => None,
    };
    Close { status, wake_at, seen, unfit }
}

/// Whether another program may go on where this one could not.
pub(super) fn waits_for_code(report: &ParkReport) -> bool {
    report.wants.is_some() || report.fault == Fault::MissingStep
}

/// What an event means for the index of gates. `frames` are those of its run.
pub(crate) fn gate(event: &Event, frames: &BTreeMap<FrameId, Frame>) -> Option<GateChange> {
    let closed = |frame: &FrameId, state| Some(GateChange::Closed { frame: frame.clone(), state });
    match event {
        Event::GateOpened(e) => Some(GateChange::Opened {
            frame: e.frame.clone(),
            gate: e.gate.clone(),
            schema: e.schema.as_str().to_owned(),
            expires_at: e.expires_at,
        }),
        Event::GateAnswered(e) => closed(&e.frame, GateState::Answered),
        Event::GateExpired(e) => closed(&e.frame, GateState::Expired),
        Event::StepAbandoned(e) => {
            let is_gate = |frame: &Frame| matches!(frame.kind, FrameKind::Gate { .. });
            frames.get(&e.frame).filter(|frame| is_gate(frame))?;
            closed(&e.frame, GateState::Abandoned)
        }
        _ => None,
    }
}
