//! Logs as people read them when a test fails: one line an event, and a mark where the process died.
//! Not for programs, and not the whole of an event.

use std::{fmt::Write as _, time::Duration};

use loom_runtime::{
    ExecutionId, Timestamp,
    kernel::{Envelope, Event, Failed, Outcome, Payload},
};

/// How much of a payload is shown.
const PAYLOAD: usize = 60;

/// Where a process died.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// It was writing events of this execution.
    pub execution: ExecutionId,
    /// The sequence of the event that it died in front of.
    pub sequence: u64,
    /// Whether what is before had just become durable; else it was about to write what comes next.
    pub after: bool,
}

/// The logs, one after another: sequence, time since `begin`, kind, frame, and what matters of the rest; and where
/// processes died.
///
/// ```text
/// checkout-1
///    0  +0s        EXECUTION_STARTED            checkout({"qty":3})
///    1  +0s        STEP_STARTED        reserve
///  ✗ here the process died: the event above had just become durable. Another one goes on:
///    2  +0s        EXECUTION_RESUMED            its worker was lost
/// ```
pub fn timeline(logs: &[Vec<Envelope>], begin: Timestamp, marks: &[Mark]) -> String {
    let mut text = String::new();
    for log in logs {
        let Some(first) = log.first() else { continue };
        let frames = log.iter().filter_map(|envelope| envelope.event.frame());
        let width = frames.map(|frame| frame.as_str().chars().count()).max().unwrap_or(0).min(30);
        let marks = marks.iter().filter(|mark| mark.execution == first.execution);
        let _ = writeln!(text, "{}", first.execution);
        for envelope in log {
            let here = marks.clone().filter(|mark| mark.sequence == envelope.sequence);
            here.for_each(|mark| text.push_str(&said(mark, " Another one goes on:")));
            text.push_str(&line(envelope, begin, width));
        }
        let end = log.last().map_or(0, |last| last.sequence);
        marks.filter(|mark| mark.sequence > end).for_each(|mark| text.push_str(&said(mark, "")));
    }
    text
}

fn said(mark: &Mark, then: &str) -> String {
    let when = match mark.after {
        true => "the event above had just become durable.",
        false => "it was about to write what comes next.",
    };
    format!(" ✗ here the process died: {when}{then}\n")
}

fn line(envelope: &Envelope, begin: Timestamp, width: usize) -> String {
    let Envelope { sequence, at, event, .. } = envelope;
    let (since, kind) = (format!("+{}", short(at.since(begin))), event.kind().name());
    let frame = event.frame().map_or("", |frame| frame.as_str());
    let line = format!("{sequence:>4}  {since:<12}  {kind:<19}  {frame:<width$}  {}", essence(event));
    format!("{}\n", line.trim_end())
}

/// `3d 4h`, `1.25s`: the two largest units.
fn short(since: Duration) -> String {
    let seconds = since.as_secs();
    let units =
        [("d", seconds / 86_400), ("h", seconds / 3_600 % 24), ("m", seconds / 60 % 60), ("s", seconds % 60)];
    let shown: Vec<_> = units.iter().skip_while(|(_, count)| *count == 0).take(2).collect();
    let millis = since.subsec_millis();
    match shown.as_slice() {
        [] if millis > 0 => format!("{millis}ms"),
        [] => "0s".to_owned(),
        [(_, count)] if millis > 0 => format!("{count}.{millis:03}s"),
        several => {
            let some = several.iter().filter(|(_, count)| *count > 0);
            some.map(|(unit, count)| format!("{count}{unit}")).collect::<Vec<_>>().join(" ")
        }
    }
}

/// What matters of an event, besides its kind and frame.
fn essence(event: &Event) -> String {
    match event {
        Event::ExecutionStarted(e) => format!("{}({})", e.flow, cut(e.input.as_str())),
        Event::ExecutionSuspended(e) => {
            let waiting: Vec<_> = e.waiting.iter().map(|frame| frame.as_str()).collect();
            if waiting.is_empty() { String::new() } else { format!("waits for {}", waiting.join(", ")) }
        }
        // Who resumed is another with every run of a test.
        Event::ExecutionResumed(e) => e.reason.clone(),
        Event::ExecutionCompleted(e) => cut(e.output.as_str()),
        Event::ExecutionFailed(e) => failed(&e.failure),
        Event::ExecutionCancelled(e) => format!("{} (by {})", cut(&e.reason), e.by),
        Event::ExecutionParked(e) => e.report.message.clone(),
        Event::StepStarted(e) => {
            let attempt = if e.attempt > 1 { format!("attempt {} ", e.attempt) } else { String::new() };
            attempt + &e.input.as_ref().map(|input| cut(input.as_str())).unwrap_or_default()
        }
        Event::StepCompleted(e) => cut(e.output.as_str()),
        Event::StepFailed(e) => match (e.not_made, &e.retry_at) {
            (true, _) => "not made".to_owned(),
            (false, Some(_)) => format!("{}, to be tried again", failed(&e.failure)),
            (false, None) => failed(&e.failure),
        },
        Event::GateAnswered(e) => format!("{} (by {})", cut(e.answer.as_str()), e.by),
        Event::DecisionRecorded(e) => cut(e.value.as_str()),
        Event::EffectIndoubt(e) => e.reason.clone(),
        Event::EffectDenied(e) => e.reason.clone(),
        Event::Domain(e) => format!("{} {}", e.name, cut(e.data.as_str())),
        Event::ChildSettled(e) => match &e.outcome {
            Outcome::Completed(output) => cut(output.as_str()),
            Outcome::Failed(failure) => failed(failure),
            Outcome::Cancelled { reason, .. } => format!("cancelled: {reason}"),
        },
        _ => String::new(),
    }
}

fn failed(failure: &Failed) -> String {
    let Failed { code, message, error, .. } = failure;
    let error = error.as_ref().map(|error: &Payload| format!(" {}", cut(error.as_str()))).unwrap_or_default();
    format!("{code}: {message}{error}")
}

fn cut(text: &str) -> String {
    let mut cut: String = text.chars().take(PAYLOAD).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    cut
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{cut, short};

    #[test]
    fn times_are_short() {
        for (millis, text) in [
            (0, "0s"),
            (250, "250ms"),
            (1_000, "1s"),
            (1_250, "1.250s"),
            (60_000, "1m"),
            (61_500, "1m 1s"),
            (259_200_000, "3d"),
            (273_600_000, "3d 4h"),
        ] {
            assert_eq!(short(Duration::from_millis(millis)), text);
        }
    }

    #[test]
    fn payloads_are_cut_between_letters() {
        assert_eq!(cut("tea"), "tea");
        assert_eq!(cut(&"é".repeat(61)), "é".repeat(60) + "…");
    }
}
