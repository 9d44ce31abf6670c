//! What one event changed: the state before it against the state after.
//! Not the event's own words: it is shown beside this.

use loom_runtime::kernel::{Frame, FrameStatus, State};

use super::{
    frame::{outcome, status, what},
    instant::instant,
    text::{PAYLOAD, shorten},
};

/// One line per change, in a stable order.
pub(crate) fn changes(before: &State, after: &State) -> Vec<String> {
    let mut lines = Vec::new();
    if before.next == 0 && after.next > 0 {
        lines.push(format!("flow: {}", after.flow));
        lines.push(format!("input: {}", shorten(after.input.as_str(), 2 * PAYLOAD)));
    }
    if before.status != after.status || before.next == 0 {
        lines.push(format!("status: {}", from_to(before.next > 0, &before.status, &after.status)));
    }
    if before.code != after.code && before.next > 0 {
        lines.push(format!("code: {:016x} → {:016x}", before.code.body, after.code.body));
    }
    for (id, frame) in &after.frames {
        match before.frames.get(id) {
            None => lines.push(format!("frame {id}: {}, {}", what(&frame.kind), told(frame))),
            Some(earlier) if earlier != frame => {
                lines.push(format!("frame {id}: {} → {}", told(earlier), told(frame)));
            }
            Some(_) => {}
        }
    }
    if let (None, Some(ended)) = (&before.outcome, &after.outcome) {
        lines.push(format!("outcome: {}", outcome(ended)));
    }
    match (&before.parked, &after.parked) {
        (None, Some(report)) => lines.push(format!("parked: {}: {}", report.fault, report.message)),
        (Some(_), None) => lines.push("no longer parked".into()),
        _ => {}
    }
    lines
}

fn from_to(is_change: bool, before: &impl ToString, after: &impl ToString) -> String {
    if is_change { format!("{} → {}", before.to_string(), after.to_string()) } else { after.to_string() }
}

fn told(frame: &Frame) -> String {
    let mut text = status(frame);
    if frame.attempt > 0 {
        text.push_str(&format!(", attempt {}", frame.attempt));
    }
    if let (FrameStatus::Open, Some(due)) = (frame.status, frame.due) {
        text.push_str(&format!(", due {}", instant(due)));
    }
    if let Some(ended) = &frame.outcome {
        text.push_str(&format!(": {}", outcome(ended)));
    }
    if let Some(by) = &frame.by {
        text.push_str(&format!(", by {by}"));
    }
    if let Some(doubt) = &frame.doubt {
        text.push_str(&format!(", {doubt}"));
    }
    text
}
