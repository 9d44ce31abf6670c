//! What is said of a world that breaks a rule: which, how to see it again, and what happened, in order.
//! Not the judging.

use std::fmt::Write as _;

use loom_runtime::kernel::{Envelope, Event, Record};

use crate::{Faults, History, Plan, run};

/// Lives through a plan, as [`report()`] prints it in a test.
///
/// # Panics
/// It breaks a rule, and the message is the report; or it is no plan.
pub fn hold(plan: &str) {
    let plan: Plan = serde_json::from_str(plan).expect("a plan, as the simulator prints it");
    let history = run(&plan);
    assert!(history.broken.is_empty(), "{}", report(&plan, &history));
}

/// A report for people.
pub fn report(plan: &Plan, history: &History) -> String {
    let mut text = String::new();
    for broken in history.broken.iter().take(5) {
        let _ = writeln!(text, "broken: {broken}");
    }
    let _ = writeln!(text, "\nthe schedule, of seed {}:\n{}", plan.seed, schedule(plan));
    if let Some(first) = history.broken.first() {
        let _ = writeln!(
            text,
            "what happened to `{}`:\n{}",
            first.execution,
            timeline(history, first.execution.as_str())
        );
        let _ = writeln!(text, "as a test:\n\n{}", test(plan, &format!("{:?}", first.rule)));
    }
    text
}

fn schedule(plan: &Plan) -> String {
    let mut text =
        format!("  {} process(es){}\n", plan.processes, if plan.delays { ", calls take time" } else { "" });
    for planned in &plan.executions {
        let _ = writeln!(text, "  {} ms: e{} is started: {:?}", planned.at, planned.number, planned.program);
        for act in &planned.acts {
            let _ = writeln!(text, "  e{}: {act:?}", planned.number);
        }
    }
    for disaster in &plan.disasters {
        let _ = writeln!(text, "  {} ms: process {}: {:?}", disaster.at, disaster.process, disaster.what);
    }
    match &plan.faults {
        Faults::Drawn(rates) => drop(writeln!(text, "  {rates:?} in 10,000 calls")),
        Faults::Listed(strikes) => {
            for strike in strikes {
                let _ = writeln!(text, "  the call `{}`: {:?}", strike.call, strike.fault);
            }
        }
    }
    text
}

/// How many lines a timeline has at most.
const MOST: usize = 80;

/// The log of an execution among what happened to processes meanwhile.
fn timeline(history: &History, execution: &str) -> String {
    let about = |line: &str| line.split([' ', '`']).any(|word| word == execution);
    let log = history.logs.iter().filter(|(id, _)| id.as_str() == execution).flat_map(|(id, records)| {
        records
            .iter()
            .map(move |record| (record.at, 1, in_short(Envelope::decode(id, record).ok().as_ref(), record)))
    });
    let besides = history.chronicle.iter().filter(|told| told.general || about(&told.what));
    let besides = besides.map(|told| (told.at, 0, format!("       {}", told.what)));
    let mut lines: Vec<_> = log.chain(besides).collect();
    lines.sort_by_key(|(at, rank, _)| (*at, *rank));
    if lines.len() > MOST {
        let left_out = lines.len() - MOST;
        lines.drain(MOST / 2..MOST / 2 + left_out);
        let at = lines[MOST / 2].0;
        lines.insert(MOST / 2, (at, 0, format!("       … and {left_out} lines more")));
    }
    lines.into_iter().map(|(at, _, line)| format!("  {} {line}\n", &at.to_string()[14..23])).collect()
}

fn in_short(envelope: Option<&Envelope>, record: &Record) -> String {
    let mut line = format!("{:>4}   {}", record.sequence, record.kind);
    let Some(event) = envelope.map(|envelope| &envelope.event) else { return line };
    if let Some(frame) = event.frame() {
        let _ = write!(line, " {frame}");
    }
    let _ = match event {
        Event::StepStarted(e) => write!(line, " attempt {} of {}", e.attempt, e.step),
        Event::StepCompleted(e) => write!(line, " attempt {}", e.attempt),
        Event::StepFailed(e) => write!(line, " attempt {}: {}", e.attempt, e.failure.code),
        Event::TimerSet(e) => write!(line, " for {}", &e.fire_at.to_string()[14..23]),
        Event::ExecutionResumed(e) => write!(line, ": {}", e.reason),
        Event::ExecutionParked(e) => write!(line, ": {}", e.report),
        _ => Ok(()),
    };
    line
}

/// The plan as a test to paste.
fn test(plan: &Plan, rule: &str) -> String {
    let mut name = String::new();
    for letter in rule.chars() {
        if letter.is_uppercase() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    let json = serde_json::to_string(plan).unwrap_or_default();
    format!("#[test]\nfn seed_{}{name}() {{\n    sim::hold(\n        r#\"{json}\"#,\n    );\n}}\n", plan.seed)
}
