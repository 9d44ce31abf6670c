//! Events on one line each: sequence, time, kind, frame, and what matters of the rest.
//! Not the whole event: `--json` prints that.

use loom_runtime::{
    ExecutionId, Timestamp,
    kernel::{End, Envelope, Event, Payload, Record, Reply},
};

use super::{
    frame::{failure, outcome},
    instant::{instant, precise},
    schema::hint,
    text::{PAYLOAD, pad, shorten, width},
};

/// The longest name of a kind that this build knows to be common.
const KIND: usize = 19;

/// Lays log lines out, with a column of frames that only grows.
#[derive(Debug)]
pub(crate) struct Lines {
    frame: usize,
    columns: Option<usize>,
}

impl Lines {
    pub(crate) fn new(columns: Option<usize>) -> Self {
        Self { frame: 8, columns }
    }

    /// The lines of a page.
    pub(crate) fn page(&mut self, execution: &ExecutionId, records: &[Record]) -> String {
        let parts: Vec<_> = records.iter().map(|record| parts(execution, record)).collect();
        let widest = parts.iter().map(|(frame, _)| width(frame)).max().unwrap_or(0);
        self.frame = self.frame.max(widest.min(40));
        let mut text = String::new();
        for (record, (frame, essence)) in records.iter().zip(parts) {
            text.push_str(&self.line(record.sequence, record.at, &record.kind, &frame, &essence));
            text.push('\n');
        }
        text
    }

    fn line(&self, sequence: u64, at: Timestamp, kind: &str, frame: &str, essence: &str) -> String {
        let (kind, frame) = (pad(kind, KIND), pad(frame, self.frame));
        let line = format!("{sequence:>5}  {}  {kind}  {frame}  {essence}", precise(at));
        let line = line.trim_end();
        self.columns.map_or_else(|| line.to_owned(), |columns| shorten(line, columns))
    }
}

fn parts(execution: &ExecutionId, record: &Record) -> (String, String) {
    match Envelope::decode(execution, record) {
        Ok(envelope) => {
            let frame = envelope.event.frame().map(ToString::to_string).unwrap_or_default();
            (frame, essence(&envelope.event))
        }
        Err(unreadable) => (String::new(), format!("unreadable: {unreadable}")),
    }
}

/// What matters of an event, besides its kind and frame.
pub(crate) fn essence(event: &Event) -> String {
    let value = |payload: &Payload| shorten(payload.as_str(), PAYLOAD);
    let by = |by: &Option<String>| by.as_ref().map(|by| format!(" (by {by})")).unwrap_or_default();
    match event {
        Event::ExecutionStarted(e) => format!("{}({})", e.flow, value(&e.input)),
        Event::ExecutionSuspended(e) => {
            let mut waiting: Vec<_> = e.waiting.iter().map(ToString::to_string).collect();
            if waiting.is_empty() {
                // `ctx.cancelled()` has no frame.
                waiting.push("a cancel".to_owned());
            }
            let until = e.wake_at.map(|at| format!(", until {}", instant(at))).unwrap_or_default();
            format!("waits for {}{until}", shorten(&waiting.join(", "), PAYLOAD))
        }
        Event::ExecutionResumed(e) => format!("{}, by worker {}", e.reason, e.worker),
        Event::ExecutionCompleted(e) => value(&e.output),
        Event::ExecutionFailed(e) => failure(&e.failure),
        Event::ExecutionCancelled(e) => format!("{} (by {})", shorten(&e.reason, PAYLOAD), e.by),
        Event::ExecutionEnding(e) => {
            let end = match &e.end {
                End::Completed(output) => value(output),
                End::Failed(failed) => failure(failed),
                End::Cancelled(e) => format!("{} (by {})", shorten(&e.reason, PAYLOAD), e.by),
                End::ContinuedAsNew(input) => format!("the next run, with {}", value(input)),
            };
            let waiting: Vec<_> = e.waiting.iter().map(ToString::to_string).collect();
            let after = if waiting.is_empty() { "" } else { ", after " };
            format!("{end}{after}{}", shorten(&waiting.join(", "), PAYLOAD))
        }
        Event::ExecutionMigrated(e) => {
            let input = e.input.map(|input| format!(", input version {} → {}", input.from, input.to));
            format!("code {:016x} → {:016x}{}", e.from.body, e.to.body, input.unwrap_or_default())
        }
        Event::ExecutionParked(e) => {
            format!("{}: {}", e.report.fault, shorten(&e.report.message, 2 * PAYLOAD))
        }
        Event::StepStarted(e) => {
            let input = e.input.as_ref().map(|input| format!("({})", value(input))).unwrap_or_default();
            let attempt = if e.attempt > 1 { format!(", attempt {}", e.attempt) } else { String::new() };
            format!("{}{input}{attempt}", e.step)
        }
        Event::StepCompleted(e) => format!("{}{}", value(&e.output), by(&e.by)),
        Event::StepFailed(e) => {
            let next = e.retry_at.map(|at| format!(", again at {}", precise(at))).unwrap_or_default();
            let how = if e.not_made { "not made".into() } else { failure(&e.failure) };
            format!("{how}{next}")
        }
        Event::DecisionRecorded(e) => value(&e.value),
        Event::TimerSet(e) => format!("until {}", instant(e.fire_at)),
        Event::GateOpened(e) => {
            let schema = e.schema.decode().unwrap_or_default();
            let until = e.expires_at.map(|at| format!(", until {}", instant(at))).unwrap_or_default();
            format!("expects {}{until}", shorten(&hint(&schema), PAYLOAD))
        }
        Event::GateAnswered(e) => format!("{} (by {})", value(&e.answer), e.by),
        Event::EffectIndoubt(e) => format!("attempt {} ended without an outcome: {}", e.attempt, e.reason),
        Event::EffectDenied(e) => shorten(&e.reason, PAYLOAD),
        Event::Domain(e) => format!("{} v{} {}", e.name, e.version, value(&e.data)),
        Event::MessageAwaited(e) => format!("on {}", e.topic),
        Event::MessageReceived(e) => format!("{} (by {})", value(&e.message.body), e.message.by),
        Event::MessageDeadLettered(e) => format!("on {}: {}", e.message.topic, shorten(&e.reason, PAYLOAD)),
        Event::MessageSent(e) => format!("{} to {} on {}", value(&e.body), e.to, e.topic),
        Event::UpdateAnswered(e) => match &e.reply {
            Reply::Accepted(reply) => format!("accepted: {}", value(reply)),
            Reply::Rejected(reason) => format!("rejected: {}", shorten(reason, PAYLOAD)),
        },
        Event::ChildStarted(e) => format!("{}({}) as {}", e.flow, value(&e.input), e.child),
        Event::ChildSettled(e) => outcome(&e.outcome),
        Event::OutcomeDiscarded(e) => e.outcome.as_ref().map_or_else(|| "stopped".into(), outcome),
        Event::CancelRequested(e) => format!("{} (by {})", shorten(&e.reason, PAYLOAD), e.by),
        Event::ContinuedAsNew(e) => format!("run {}: {}({})", e.run, e.flow, value(&e.input)),
        Event::ExecutionForked(e) => format!("from {}@{}", e.from.execution, e.from.events),
        Event::WatchAdded(e) => format!("by {} of {}", e.frame, e.execution),
        Event::Reserved(_, payload) => value(payload),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use loom_runtime::kernel::Suspended;

    use super::*;

    #[test]
    fn a_flow_that_only_waits_for_its_cancel_says_so() {
        let suspended = Event::ExecutionSuspended(Suspended::default());
        assert_eq!(essence(&suspended), "waits for a cancel");
    }
}
