//! Where an execution stands, in a few lines: its outcome, what it waits for, or why it is parked.
//! Not its frames and its log: `show` and `logs` have those.

use loom_runtime::{
    Status, Timestamp,
    kernel::{End, Failed, Fault, Outcome, ParkReport, Payload, State},
    ports::{ExecutionRow, Lane},
    view::{Pending, Wait},
};

use super::{
    frame::failure,
    instant::with_distance,
    paint::Paint,
    shell::command,
    text::{PAYLOAD, indent, shorten},
    wait,
};

/// How many of the children that an end waits for are named.
const CHILDREN: usize = 3;

/// What a renderer knows of its reader.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    pub(crate) program: &'a str,
    pub(crate) now: Timestamp,
    pub(crate) paint: Paint,
}

/// Where it stands, after it was worked on.
pub(crate) fn standing(
    row: &ExecutionRow,
    state: &State,
    waits: &[Wait],
    pending: &[Pending],
    reader: Reader<'_>,
) -> String {
    let Reader { program, now, paint } = reader;
    let (id, status) = (row.id.as_str(), paint.status(row.status));
    let told = indent(&wait::pending(pending, row, program), 2);
    match (row.status, &state.outcome) {
        (_, Some(Outcome::Completed(value))) => {
            format!("{id} {status}: {}\n", shorten(value.as_str(), 10 * PAYLOAD))
        }
        (_, Some(Outcome::Failed(failed))) => {
            let fields =
                fields(failed).map(|fields| format!("  fields    {}\n", shorten(fields, 2 * PAYLOAD)));
            format!("{id} {status}: {}\n{}", failure(failed), fields.unwrap_or_default())
        }
        (_, Some(Outcome::Cancelled { reason, by })) => format!("{id} {status} by {by}: {reason}\n"),
        (Status::Parked, _) => {
            let mut text = format!("{id} {status}\n");
            if let Some(report) = &state.parked {
                text.push_str(&indent(&parked(report), 2));
            }
            let verdicts: Vec<_> =
                waits.iter().filter(|wait| matches!(wait, Wait::Verdict { .. })).cloned().collect();
            if verdicts.is_empty()
                && !pending.iter().any(Pending::helps)
                && let Some(report) = &state.parked
            {
                text.push_str(&format!("  then:  {}\n", then(report, row, program)));
            }
            text.push_str(&indent(&wait::waits(&verdicts, id, program, now), 2));
            text + &told
        }
        (Status::Running, _) => match &row.lease {
            Some(lease) => format!("{id} {status}, by worker {}\n{told}", lease.worker),
            None => format!(
                "{id} {status}: the next worker takes it up\n  {}\n",
                command(&[program, "worker"], &[], &[])
            ),
        },
        _ if waits.is_empty() => format!("{id} {status}\n{told}"),
        _ => {
            let ends = ending(state).map(|ends| format!("  {ends}\n")).unwrap_or_default();
            let waits = indent(&wait::waits(waits, id, program, now), 2);
            format!("{id} {status}, it waits for\n{waits}{ends}{told}")
        }
    }
}

/// That this program cannot go on with an execution, and what has become of what was asked.
pub(crate) fn missing_flow(flow: &str, done: &str) -> String {
    format!(
        "this program has no flow `{flow}`: {done}; a program that has it goes on. If it was renamed: \
         #[flow(name = \"{flow}\")]"
    )
}

/// That a run is about to have as many events as it may, before it parks.
pub(crate) fn long_history(row: &ExecutionRow, most: u64) -> Option<String> {
    let events = row.next - row.base.min(row.next);
    (!row.status.is_terminal() && events >= most / 5 * 4).then(|| {
        format!("{events} of {most} events that a run may have: let the flow `continue_as_new` before that")
    })
}

/// What a run comes to that waits for nothing but the ends of its children.
fn ending(state: &State) -> Option<String> {
    let what = match &state.ending.as_ref()?.end {
        End::Completed(value) => format!("completes with {}", shorten(value.as_str(), PAYLOAD)),
        End::Failed(failed) => format!("fails with {}", failure(failed)),
        End::Cancelled(cancelled) => format!("is cancelled by {}: {}", cancelled.by, cancelled.reason),
        End::ContinuedAsNew(_) => "begins its next run".to_owned(),
    };
    let children: Vec<_> = state.awaited().map(|(_, child)| child.as_str()).collect();
    let (named, others) = children.split_at(children.len().min(CHILDREN));
    let others = (!others.is_empty()).then(|| format!("{} more", others.len()));
    let named: Vec<_> = named.iter().map(|child| (*child).to_owned()).chain(others).collect();
    let have = if children.len() == 1 { "has" } else { "have" };
    Some(format!("{what}, once {} {have} ended", named.join(", ")))
}

/// What comes after a park: another try, or other code than this program has.
pub(crate) fn then(report: &ParkReport, row: &ExecutionRow, program: &str) -> String {
    match &report.wants {
        Some(code) => format!(
            "a worker of a program whose `flows` prints `{}` with code {code}, or with code that agrees with the log, \
             goes on with it by itself",
            row.flow
        ),
        None if report.fault == Fault::MissingFlow => {
            "a worker of a program that has it goes on by itself".into()
        }
        None => command(&[program, "retry"], &[row.id.as_str()], &[]),
    }
}

/// A report, line by line.
pub(crate) fn parked(report: &ParkReport) -> String {
    let mut text = format!("{}: {}\n", report.fault, report.message);
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            text.push_str(&format!("  {name:<10}{value}\n"));
        }
    };
    line("frame", report.frame.as_ref().map(ToString::to_string));
    line("event", report.sequence.map(|sequence| sequence.to_string()));
    line("near", report.near.as_ref().map(ToString::to_string));
    line("the log", report.expected.clone());
    line("the code", report.found.clone());
    line("help", Some(report.help.clone()));
    text
}

/// The head of an execution: names and instants. A program that has no archive is told the folder of one.
pub(crate) fn head(
    row: &ExecutionRow,
    state: &State,
    lacks_flow: bool,
    history: u64,
    has_archive: bool,
    reader: Reader<'_>,
) -> String {
    let Reader { program, now, paint } = reader;
    let mut text = format!("{}  {}  {}\n", paint.bold(row.id.as_str()), row.flow, paint.status(row.status));
    let mut line = |name: &str, value: String| text.push_str(&format!("  {name:<10}{value}\n"));
    if lacks_flow {
        line("flow", missing_flow(&row.flow, "only shown here"));
    }
    line("started", with_distance(row.created_at, now));
    line("changed", with_distance(row.updated_at, now));
    if let Some(at) = row.wake_at {
        line("wakes", with_distance(at, now));
    }
    if let Some(lease) = &row.lease {
        line("worker", format!("{}, its lease ends {}", lease.worker, with_distance(lease.until, now)));
    } else if row.status == Status::Running && !lacks_flow {
        let start = command(&[program, "worker"], &[], &[]);
        line("worker", format!("none holds it: start one with `{start}`"));
    }
    if row.turn.priority != 0 {
        line("priority", row.turn.priority.to_string());
    }
    if let Some(of) = &row.turn.lane {
        line("lane", lane(of));
    }
    if row.takeovers > 0 {
        line("takeovers", format!("{} in a row without an outcome", row.takeovers));
    }
    line("events", row.next.to_string());
    if state.run > 0 {
        line("run", format!("{}, since event {}", state.run, state.base));
    }
    if let Some(long) = long_history(row, history) {
        line("history", long);
    }
    if row.first > 0 {
        let folder: &[&str] = if has_archive { &[] } else { &["--archive", "DIR"] };
        let show = command(&[program, "archive", "show"], &[row.id.as_str()], folder);
        line("archived", format!("the events before {}: {show}", row.first));
    }
    // The input is in the first event of the run.
    if row.replayable().is_some() {
        line("input", shorten(state.input.as_str(), 2 * PAYLOAD));
    }
    if let Some(ends) = ending(state) {
        line("ends", ends);
    }
    match &state.outcome {
        Some(Outcome::Completed(value)) => line("output", shorten(value.as_str(), 2 * PAYLOAD)),
        Some(Outcome::Failed(failed)) => {
            line("error", failure(failed));
            if let Some(fields) = fields(failed) {
                line("fields", shorten(fields, 2 * PAYLOAD));
            }
        }
        Some(Outcome::Cancelled { reason, by }) => line("cancelled", format!("by {by}: {reason}")),
        None => {}
    }
    text
}

/// A lane, and what it allows.
fn lane(Lane { key, at_most, rate, weight }: &Lane) -> String {
    let most = at_most.map(|most| format!("at most {most} at once"));
    let rate = rate.map(|rate| format!("{} begin within {:?}", rate.begins, rate.within));
    let weight = Some(weight).filter(|weight| weight.get() > 1).map(|weight| format!("weight {weight}"));
    let bounds = [most, rate, weight].into_iter().flatten();
    std::iter::once(key.clone()).chain(bounds).collect::<Vec<_>>().join(", ")
}

/// What a failure says beyond its code and its message: a variant without fields is nothing but its code.
fn fields(failed: &Failed) -> Option<&str> {
    let error = failed.error.as_ref()?;
    let said = Payload::from_value(&serde_json::json!({ "message": failed.message }));
    Some(error.as_str()).filter(|text| !text.starts_with('"') && *text != said.as_str())
}
