//! What a round has come to, and where two rounds differ. Not the logs themselves: those of a disturbed round hold more.

use std::collections::BTreeMap;

use loom_runtime::{
    ExecutionId, FrameId,
    kernel::{Envelope, Event, Outcome},
};

use crate::{bodies::Place, world::World};

/// What has to be the same, whatever a round was put through.
#[derive(Debug, Default)]
pub(crate) struct Recorded {
    /// How each execution ended.
    ends: BTreeMap<ExecutionId, String>,
    /// How each step ended, by the run of its execution.
    steps: BTreeMap<(ExecutionId, u64, FrameId), String>,
    /// How often each body ran to its end that must not run twice.
    once: BTreeMap<Place, usize>,
    tallies: BTreeMap<String, usize>,
}

impl Recorded {
    pub(crate) fn of(world: &World, logs: &[Vec<Envelope>]) -> Self {
        let mut recorded =
            Self { once: world.bodies().once(), tallies: world.tallies().counts(), ..Self::default() };
        for envelope in logs.iter().flatten() {
            if let Some(outcome) = envelope.event.ends() {
                recorded.ends.insert(envelope.execution.clone(), told(&outcome));
            }
        }
        for (run, outcome) in outcomes(logs) {
            let key = (outcome.execution.clone(), run, outcome.frame.clone());
            recorded.steps.insert(key, outcome.end);
        }
        recorded
    }

    /// The first thing that is otherwise in `disturbed`; in one or two lines.
    pub(crate) fn difference(&self, disturbed: &Self) -> Option<String> {
        let ends = differ(&self.ends, &disturbed.ends)
            .map(|(id, was, is)| (format!("the result of `{id}`"), was, is));
        let steps = || {
            differ(&self.steps, &disturbed.steps)
                .map(|((id, _, frame), was, is)| (format!("the outcome of step `{id}/{frame}`"), was, is))
        };
        let once = || {
            differ(&self.once, &disturbed.once).map(|((id, frame), was, is)| {
                let what = format!("how often the at-most-once step `{id}/{frame}` ran to its end");
                (what, was, is)
            })
        };
        let tallies = || {
            differ(&self.tallies, &disturbed.tallies)
                .map(|(name, was, is)| (format!("how often `{name}` happened"), was, is))
        };
        let (what, was, is) = steps().or(ends).or_else(once).or_else(tallies)?;
        Some(format!("{what} differs\n    undisturbed: {was}\n      disturbed: {is}"))
    }
}

/// The first key that two maps disagree about, and what each has.
fn differ<'m, K: Ord, V: PartialEq + ToString>(
    one: &'m BTreeMap<K, V>,
    other: &'m BTreeMap<K, V>,
) -> Option<(&'m K, String, String)> {
    let said = |value: Option<&V>| value.map_or_else(|| "nothing".to_owned(), ToString::to_string);
    let key = one.keys().chain(other.keys()).find(|key| one.get(key) != other.get(key))?;
    Some((key, said(one.get(key)), said(other.get(key))))
}

/// How a step ended, once and for all.
pub(crate) struct StepEnd<'l> {
    pub(crate) execution: &'l ExecutionId,
    pub(crate) frame: &'l FrameId,
    /// The step's name.
    pub(crate) step: &'l str,
    pub(crate) end: String,
}

/// The outcomes of steps in the order of the logs, each with the run that it is of.
pub(crate) fn outcomes(logs: &[Vec<Envelope>]) -> Vec<(u64, StepEnd<'_>)> {
    let mut outcomes = Vec::new();
    for log in logs {
        let (mut run, mut names) = (0, BTreeMap::new());
        for Envelope { execution, sequence, event, .. } in log {
            let (frame, end) = match event {
                Event::ContinuedAsNew(_) => {
                    run = *sequence;
                    continue;
                }
                Event::StepStarted(step) => {
                    names.insert(&step.frame, step.step.as_str());
                    continue;
                }
                Event::StepCompleted(step) => (&step.frame, step.output.as_str().to_owned()),
                Event::StepFailed(step) if !step.not_made && step.retry_at.is_none() => {
                    let failed = &step.failure;
                    let error = failed.error.as_ref().map_or("", |error| error.as_str());
                    (&step.frame, format!("{}: {} {error}", failed.code, failed.message))
                }
                _ => continue,
            };
            let step = names.get(frame).copied().unwrap_or_default();
            outcomes.push((run, StepEnd { execution, frame, step, end }));
        }
    }
    outcomes
}

fn told(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Completed(output) => output.as_str().to_owned(),
        Outcome::Failed(failed) => {
            let error = failed.error.as_ref().map_or("", |error| error.as_str());
            format!("failed, {}: {} {error}", failed.code, failed.message)
        }
        Outcome::Cancelled { reason, by } => format!("cancelled by {by}: {reason}"),
    }
}
