//! The replay check: does the code of this program still agree with a log, at every position of it?
//! Not a run: there is no store, no step is executed, and nothing is recorded.

use std::sync::Arc;

use kernel::{
    EffectError, Envelope, Event, Fault, Machine, ParkReport, Started, Timestamp,
    machine::{Config, FlowFuture, Input},
};

use crate::{Ctx, FlowDescriptor, Limits, Registry};

/// Replays a log, and every prefix of it, against the code in this program, as an owner would that takes it up there.
///
/// What a flow reads past Loom, a clock or a counter in a helper say, wakes nothing and cannot be seen while it runs.
/// It shows here: as another id, another step, another input, or another outcome than the log holds. So does every
/// change of code that the log does not allow. Run it in tests, on logs that [`App::log`](crate::App::log) gives,
/// of executions that have ended or not; and on a log of each release, for ever.
///
/// The flow is polled in the calling thread. Choices that the log does not hold yet are made, and thrown away.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use loom_runtime::{App, Registry, replay_check};
///
/// let registry = Registry::linked();
/// let app = App::builder().registry(registry.clone()).build()?;
/// for row in app.list(&Default::default()).await? {
///     let log = app.log(&row.id, 0, 1_000_000).await?;
///     replay_check(&registry, &log).map_err(loom_runtime::Error::msg)?;
/// }
/// # Ok::<(), loom_runtime::Error>(())
/// # }).unwrap();
/// ```
///
/// # Errors
/// What would park the execution: which position, what the log holds, what the code did, near which line. An empty
/// log, or one that does not begin with its start, is unreadable.
pub fn replay_check(registry: &Registry, log: &[Envelope]) -> Result<(), ParkReport> {
    head(registry, log)?;
    for envelope in log {
        // One without an input was refused when it was asked for, maybe for this very reason: nothing ran.
        if let Event::StepStarted(step) = &envelope.event
            && step.input.is_some()
            && registry.step(&step.step).is_none()
        {
            let message = format!("step `{}` is not registered in this program", step.step);
            let report = ParkReport::new(Fault::MissingStep, message);
            return Err(report.frame(&step.frame).at(envelope.sequence));
        }
    }
    // The whole log first: what it tells of a fault is nearer to its cause than what a prefix of it does.
    std::iter::once(log.len()).chain(1..log.len()).try_for_each(|events| replay(registry, &log[..events]))
}

/// Replays a log once, as an owner would that takes it up at its end.
///
/// # Errors
/// As for [`replay_check`], which looks at every prefix too.
pub fn replay(registry: &Registry, log: &[Envelope]) -> Result<(), ParkReport> {
    let (started, flow) = head(registry, log)?;
    let config = Config {
        execution: log[0].execution.clone(),
        generation: 1,
        code: started.code,
        history: u64::MAX,
        alarm: Arc::new(|| {}), // asked for below
    };
    let (run, limits) = (flow.run, limits(flow.name, log));
    let known = Arc::new(registry.clone());
    let spawn = Box::new(move |cx, input| -> FlowFuture {
        Box::pin(tokio::task::unconstrained(run(Ctx::new(cx, limits, flow, known.clone()), input)))
    });
    let mut machine = Machine::new(config, spawn);
    let now = log.last().map_or(Timestamp::EPOCH, |last| last.at);
    for envelope in log {
        machine.offer(Input::Recorded(envelope.clone()), now);
    }
    machine.offer(Input::Live { worker: "replay-check".into(), reason: "checked".into() }, now);
    // A flow that waits for more than Loom records may have been woken by now.
    machine.offer(Input::Alarm, now);
    match machine.fault() {
        Some(report) => Err(report.clone()),
        None => Ok(()),
    }
}

/// The limits under which a log was written are not in it, except for the one that made the flow fail.
fn limits(flow: &str, log: &[Envelope]) -> Limits {
    let mut limits = Limits { payload: usize::MAX, failure: usize::MAX, history: u64::MAX };
    if let Some(Event::ExecutionFailed(end)) = log.last().map(|last| &last.event)
        && let Some(EffectError::PayloadTooLarge { step, what, limit, .. }) = &end.failure.engine
        && step == flow
    {
        let limit = usize::try_from(*limit).unwrap_or(usize::MAX);
        if what == "failure" { limits.failure = limit } else { limits.payload = limit }
    }
    limits
}

/// The first event of a log, and the flow that it names.
fn head<'a>(
    registry: &Registry,
    log: &'a [Envelope],
) -> Result<(&'a Started, &'static FlowDescriptor), ParkReport> {
    let Some(Event::ExecutionStarted(started)) = log.first().map(|first| &first.event) else {
        return Err(ParkReport::new(Fault::UnreadableLog, "the log does not begin with EXECUTION_STARTED"));
    };
    let missing = || format!("this program has no flow `{}`", started.flow);
    let flow = registry.flow(&started.flow);
    let flow = flow.ok_or_else(|| ParkReport::new(Fault::MissingFlow, missing()).at(0))?;
    Ok((started, flow))
}
