//! What a worker tells of its executions, for logs, metrics and traces: events and one span of `tracing`.
//! Not the truth: that is the log. Names and fields are part of the interface; the operations guide lists them.
//!
//! An event's name is its message. No field holds a payload, nor what a step, a flow or a panic says.

use std::time::{Duration, Instant};

use kernel::{
    Batch, Event, ExecutionId,
    machine::{AttemptEnd, Invoke},
};

use super::{engine::Engine, transition};
use crate::ports::{Append, Claimed, TakeUp};

/// Whose signals these are.
pub(super) struct Of<'d> {
    pub(super) execution: &'d ExecutionId,
    pub(super) flow: &'d str,
    /// None when the log could not be read that far.
    pub(super) run: Option<u64>,
    /// Since when it is driven here.
    pub(super) begun: tokio::time::Instant,
}

impl Of<'_> {
    /// A flow begins.
    pub(super) fn started(&self, fence: u64) {
        tracing::debug!(execution = %self.execution, flow = self.flow, fence, "execution started");
    }

    /// It goes on here, after a replay of so many events.
    pub(super) fn taken_up(&self, fence: u64, why: &str, events: u64, took: Duration) {
        tracing::debug!(
            execution = %self.execution,
            flow = self.flow,
            run = self.run,
            fence,
            why,
            events,
            ms = ms(took),
            "execution taken up"
        );
    }

    /// The store has a transition.
    pub(super) fn written(&self, append: &Append, batch: &Batch, took: Duration) {
        let (execution, flow, run) = (self.execution, self.flow, self.run);
        let (sequence, events, posts) = (batch.first, batch.events.len(), append.posts.len());
        tracing::trace!(%execution, flow, run, sequence, events, posts, ms = ms(took), "appended");
        for envelope in &batch.events {
            let sequence = envelope.sequence;
            match &envelope.event {
                Event::ExecutionParked(e) => {
                    let (fault, frame) = (e.report.fault.name(), e.report.frame.as_ref());
                    let (frame, unfit) = (frame.map(|f| f.as_str()), transition::waits_for_code(&e.report));
                    tracing::warn!(%execution, flow, run, sequence, fault, frame, unfit, "execution parked");
                }
                Event::EffectIndoubt(e) => {
                    let (frame, attempt, reason) = (e.frame.as_str(), e.attempt, &e.reason);
                    tracing::warn!(%execution, flow, run, sequence, frame, attempt, reason, "effect in doubt");
                }
                Event::EffectDenied(e) => {
                    let frame = e.frame.as_str();
                    tracing::warn!(%execution, flow, run, sequence, frame, "effect denied");
                }
                Event::MessageDeadLettered(e) => {
                    let topic = e.message.topic.as_str();
                    tracing::warn!(%execution, flow, run, sequence, topic, "dead letter");
                }
                Event::ContinuedAsNew(_) => {
                    tracing::debug!(%execution, flow, run, sequence, "run continued as new");
                }
                Event::ExecutionMigrated(_) => {
                    tracing::info!(%execution, flow, run, sequence, "execution migrated");
                }
                _ => {}
            }
        }
        if let Some(close) = &append.close {
            let (status, ms) = (close.status.name(), ms(self.begun.elapsed()));
            let events = batch.first + batch.events.len() as u64;
            tracing::debug!(%execution, flow, run, status, events, ms, "execution let go");
        }
    }
}

/// A claim of the store came back with something.
pub(super) fn claimed(claimed: &[Claimed], wanted: usize, took: Duration) {
    if !claimed.is_empty() {
        tracing::debug!(executions = claimed.len(), wanted, ms = ms(took), "claimed");
    }
    for claim in claimed.iter().filter(|claim| claim.take_up == TakeUp::TakenOver) {
        let (execution, flow) = (&claim.row.id, &claim.row.flow);
        let takeovers = claim.row.takeovers;
        tracing::warn!(%execution, flow, fence = claim.fence, takeovers, "taken over from a lost owner");
    }
}

/// The worker looks for what is due.
pub(super) fn works(engine: &Engine) {
    let (worker, program) = (&engine.worker, &engine.program);
    let (lease_ms, running) = (ms(engine.options.lease), engine.options.running);
    tracing::info!(worker, %program, lease_ms, running, "worker started");
}

/// The worker begins to stop, with so many executions under way.
pub(super) fn drains(engine: &Engine, executions: usize, grace: Duration) {
    tracing::info!(worker = engine.worker, executions, grace_ms = ms(grace), "worker draining");
}

/// The worker has stopped, and everything is handed back.
pub(super) fn stopped(engine: &Engine, took: Duration) {
    tracing::info!(worker = engine.worker, ms = ms(took), "worker stopped");
}

/// One attempt of a step, from its start to its end. What its body tells is inside its span.
pub(super) struct Attempt {
    span: tracing::Span,
    step: &'static str,
    begun: Instant,
    how: &'static str,
}

impl Attempt {
    pub(super) fn begin(of: &Of<'_>, invoke: &Invoke, step: &'static str) -> Self {
        let span = tracing::info_span!(
            "attempt",
            execution = %of.execution,
            flow = of.flow,
            run = of.run,
            frame = invoke.frame.as_str(),
            step,
            attempt = invoke.attempt,
        );
        tracing::debug!(parent: &span, step, "attempt started");
        Self { span, step, begun: Instant::now(), how: "cut off" }
    }

    pub(super) fn span(&self) -> tracing::Span {
        self.span.clone()
    }

    pub(super) fn end(mut self, end: &AttemptEnd) {
        self.how = match end {
            AttemptEnd::Returned(_) => "returned",
            AttemptEnd::Failed { .. } => "failed",
            AttemptEnd::Stopped(_) => "stopped",
            AttemptEnd::Refused(_) => "refused",
            AttemptEnd::Panicked(_) => "panicked",
            AttemptEnd::Fault(_) => "fault",
        };
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let (step, how, ms) = (self.step, self.how, ms(self.begun.elapsed()));
        tracing::debug!(parent: &self.span, step, how, ms, "attempt ended");
    }
}

pub(super) const fn why(take_up: TakeUp) -> &'static str {
    match take_up {
        TakeUp::Unowned => "unowned",
        TakeUp::TakenOver => "taken over",
        TakeUp::Woken => "woken",
        TakeUp::Retried => "retried",
    }
}

/// Milliseconds, with their fraction: an append takes less than one.
fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1_000.0
}
