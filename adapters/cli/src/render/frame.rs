//! Frames in a table: what each is, where it stands, how it ended.
//! Not what to do about them: that is [`super::wait`].

use loom_runtime::{
    kernel::{Delivery, Failed, Frame, FrameKind, FrameStatus, Outcome, State},
    view::in_order,
};

use super::{
    instant::instant,
    table::Table,
    text::{PAYLOAD, shorten},
};

/// The frames, in the order in which they were opened.
pub(crate) fn frames(state: &State) -> Table {
    let mut table = Table::new(&["FRAME", "WHAT", "STATUS", "ATTEMPTS", "OUTCOME", "BY"]);
    for (id, frame) in in_order(state) {
        let attempts = if frame.attempt > 0 { frame.attempt.to_string() } else { String::new() };
        // Nobody answered, or a timer fired: there is no value to show.
        let silent = frame.by.is_none() && matches!(frame.kind, FrameKind::Gate { .. } | FrameKind::Timer);
        let ended = frame.outcome.as_ref().filter(|_| !silent).map(outcome).unwrap_or_default();
        let by = frame.by.clone().unwrap_or_default();
        table.row([id.to_string(), what(&frame.kind), status(frame), attempts, ended, by]);
    }
    table
}

/// What a frame is: `step reserve`.
pub(crate) fn what(kind: &FrameKind) -> String {
    match kind {
        FrameKind::Step { step, delivery: Delivery::AtMostOnce, .. } => format!("step {step}, at most once"),
        FrameKind::Step { step, .. } => format!("step {step}"),
        FrameKind::Gate { gate } => format!("gate {gate}"),
        FrameKind::Timer => "timer".into(),
        FrameKind::Decision => "decision".into(),
        FrameKind::Domain { name } => format!("event {name}"),
        FrameKind::Message { topic } => format!("message {topic}"),
        FrameKind::Sent { to, topic } => format!("message {topic} to {to}"),
        FrameKind::Reply => "reply".into(),
        FrameKind::Child { child, flow, .. } => format!("child {flow} as {child}"),
        FrameKind::Change => "change".into(),
    }
}

/// Where a frame stands.
pub(crate) fn status(frame: &Frame) -> String {
    let is_step = matches!(frame.kind, FrameKind::Step { .. });
    match (frame.status, &frame.kind) {
        (FrameStatus::Open, _) if is_step => "started".into(),
        (FrameStatus::Open, _) => "waits".into(),
        (FrameStatus::BackingOff, _) => match frame.due {
            Some(due) => format!("again at {}", instant(due)),
            None => "again".into(),
        },
        (FrameStatus::InDoubt, _) => "in doubt".into(),
        (FrameStatus::Abandoned, _) if frame.doubt.is_some() => "dropped, in doubt".into(),
        (FrameStatus::Abandoned, _) => "dropped".into(),
        (FrameStatus::Settled, FrameKind::Gate { .. }) if frame.by.is_some() => "answered".into(),
        (FrameStatus::Settled, FrameKind::Gate { .. }) => "expired".into(),
        (FrameStatus::Settled, FrameKind::Timer) => "fired".into(),
        (FrameStatus::Settled, FrameKind::Decision) => "decided".into(),
        (FrameStatus::Settled, FrameKind::Domain { .. }) => "emitted".into(),
        (FrameStatus::Settled, FrameKind::Message { .. }) => "received".into(),
        (FrameStatus::Settled, FrameKind::Sent { .. } | FrameKind::Reply) => "sent".into(),
        (FrameStatus::Settled, FrameKind::Change) => "taken".into(),
        (FrameStatus::Settled, FrameKind::Step { .. } | FrameKind::Child { .. }) => match frame.outcome {
            Some(Outcome::Failed(_)) => "failed".into(),
            Some(Outcome::Cancelled { .. }) => "cancelled".into(),
            _ => "done".into(),
        },
    }
}

/// How something ended, on one short line.
pub(crate) fn outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed(value) => shorten(value.as_str(), PAYLOAD),
        Outcome::Failed(failed) => failure(failed),
        Outcome::Cancelled { reason, by } => shorten(&format!("{reason} (by {by})"), PAYLOAD),
    }
}

/// A failure on one short line: its code, and its message if that says more.
pub(crate) fn failure(failed: &Failed) -> String {
    let Failed { code, message, .. } = failed;
    // What the engine itself reports begins with its code.
    let is_said = message == code || message.starts_with(&format!("{code}: "));
    shorten(&if is_said { message.clone() } else { format!("{code}: {message}") }, 2 * PAYLOAD)
}
