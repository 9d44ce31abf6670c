//! The replay check: does the code of this program still agree with a log, at every position of it?
//! Not a run: there is no store, no step is executed, and nothing is recorded.

mod all;
pub(crate) mod frozen;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kernel::{
    EffectError, Envelope, Event, Fault, Fingerprints, FrameId, Machine, ParkReport, Payload, Timestamp,
    machine::{Config, FlowFuture, Input},
};

pub use all::{CheckedLogs, DivergedLog, LogSource, LogSourceError, replay_check_all};
pub use frozen::{FrozenLog, FrozenLogError};

use crate::{Ctx, FlowDescriptor, Limits, Registry, budget, code, context::Choices};

/// Nobody chooses: what the log does not hold stays open.
#[derive(Default)]
struct Open(AtomicBool);

impl Choices for Open {
    fn given(&self, _run: u64, _frame: &FrameId) -> Option<Payload> {
        None
    }

    fn may_choose(&self) -> bool {
        false
    }

    fn left_open(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Replays a log, and every prefix of it, against the code in this program, as an owner would that takes it up there.
///
/// What a flow reads past Loom, a clock or a counter in a helper say, wakes nothing and cannot be seen while it runs.
/// It shows here: as another id, another step, another input, or another outcome than the log holds. So does every
/// change of code that the log does not allow. Run it in tests, on logs that [`App::log`](crate::App::log) gives,
/// of executions that have ended or not; and on a log of each release, for ever.
///
/// A log may begin with its start or with any of its runs; each run is checked from its own beginning too, since that is
/// what an owner reads. Code with other fingerprints than those in the log is held to what a worker holds it to: the
/// same requests and the same kind of end; what it computes may differ. Of what was parked and then ended by
/// [`App::kill`](crate::App::kill), the log is checked up to the parking, and the code may park it as it did then.
/// [`replay_check_all`] checks many logs at once.
///
/// Nothing is done to the world: no step is run, and no closure of `ctx.decide` either. A flow that comes to a choice which
/// the log does not hold waits there. Where that is new code in the midst of the last pass of a log, it cannot be told
/// whether the code comes to the rest of that pass, and it does not count as a divergence. The flow is polled in the
/// calling thread.
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
    Checker::new(registry).check(log, usize::MAX)
}

/// Replays a log once, as an owner would that takes it up at its end.
///
/// # Errors
/// As for [`replay_check`], which looks at every prefix too.
pub fn replay(registry: &Registry, log: &[Envelope]) -> Result<(), ParkReport> {
    Checker::new(registry).replay(log)
}

/// A program, with the fingerprints of its flows: they are made of schemas, and are not computed for each prefix.
#[derive(Clone, Debug)]
pub(crate) struct Checker {
    registry: Arc<Registry>,
    codes: Arc<BTreeMap<&'static str, Fingerprints>>,
}

impl Checker {
    pub(crate) fn new(registry: &Registry) -> Self {
        let codes = registry.runnable().map(|flow| (flow.name, code::of(flow, registry))).collect();
        Self { registry: Arc::new(registry.clone()), codes: Arc::new(codes) }
    }

    /// The fingerprints of a flow of this program.
    pub(crate) fn code(&self, flow: &str) -> Fingerprints {
        self.codes.get(flow).copied().unwrap_or_default()
    }

    /// Replays the whole log, then the prefixes of each run: all of them, or `most`, evenly spread.
    pub(crate) fn check(&self, log: &[Envelope], most: usize) -> Result<(), ParkReport> {
        let (log, given_up) = until_given_up(log);
        self.flow(log)?;
        self.has_steps(log)?;
        let agrees = |log: &[Envelope]| match (self.replay(log), given_up) {
            // As it did then.
            (Err(found), Some(was)) if (found.fault, &found.message) == (was.fault, &was.message) => Ok(()),
            (ended, _) => ended,
        };
        // The whole log first: what it tells of a fault is nearer to its cause than what a prefix of it does.
        agrees(log)?;
        let rolls = |envelope: &Envelope| matches!(envelope.event, Event::ContinuedAsNew(_));
        let later = (1..log.len()).filter(|at| rolls(&log[*at]));
        let mut starts: Vec<_> = std::iter::once(0).chain(later).collect();
        starts.push(log.len());
        starts.windows(2).try_for_each(|run| {
            let (from, end) = (run[0], run[1]);
            let stride = (end - from).div_ceil(most.max(1));
            (from + 1..=end).step_by(stride.max(1)).try_for_each(|until| agrees(&log[from..until]))
        })
    }

    fn has_steps(&self, log: &[Envelope]) -> Result<(), ParkReport> {
        for envelope in log {
            // A call that was refused has no input: its step need not exist.
            if let Event::StepStarted(step) = &envelope.event
                && step.input.is_some()
                && self.registry.step(&step.step).is_none()
            {
                let message = format!("step `{}` is not registered in this program", step.step);
                let report = ParkReport::new(Fault::MissingStep, message);
                return Err(report.frame(&step.frame).at(envelope.sequence));
            }
        }
        Ok(())
    }

    /// Replays the log once.
    pub(crate) fn replay(&self, log: &[Envelope]) -> Result<(), ParkReport> {
        let flow = self.flow(log)?;
        let config = Config {
            execution: log[0].execution.clone(),
            generation: 1,
            code: self.code(flow.name),
            input_version: flow.versions.current,
            history: u64::MAX,
            alarm: Arc::new(|| {}), // asked for below
        };
        let (run, limits) = (flow.run, limits(flow.name, log));
        let (known, open) = (self.registry.clone(), Arc::new(Open::default()));
        let choices = open.clone();
        let spawn = Box::new(move |cx, input| -> FlowFuture {
            let (known, choices) = (known.clone(), Some(choices.clone() as Arc<dyn Choices>));
            let ctx = Ctx::new(cx, limits, flow, known, Arc::new(budget::everything), choices);
            Box::pin(tokio::task::unconstrained(run(ctx, input)))
        });
        let mut machine = Machine::new(config, spawn);
        let now = log.last().map_or(Timestamp::EPOCH, |last| last.at);
        for envelope in log {
            machine.offer(Input::Recorded(envelope.clone()), now);
        }
        machine.offer(Input::Live { worker: "replay-check".into(), reason: "checked".into() }, now);
        // A flow that waits for more than Loom records may have been woken by now.
        machine.offer(Input::Alarm, now);
        let cannot_tell =
            |report: &ParkReport| report.fault == Fault::Divergence && open.0.load(Ordering::Relaxed);
        match machine.fault() {
            Some(report) if !cannot_tell(report) => Err(report.clone()),
            _ => Ok(()),
        }
    }

    /// The flow that the first event of a log names.
    fn flow(&self, log: &[Envelope]) -> Result<&'static FlowDescriptor, ParkReport> {
        let (name, at) = match log.first().map(|first| (&first.event, first.sequence)) {
            Some((Event::ExecutionStarted(started), at)) => (&started.flow, at),
            Some((Event::ContinuedAsNew(run), at)) => (&run.flow, at),
            _ => {
                let message = "the log does not begin with EXECUTION_STARTED, or with CONTINUED_AS_NEW";
                return Err(frozen::damaged(ParkReport::new(Fault::UnreadableLog, message)));
            }
        };
        let missing = || format!("this program has no flow `{name}`");
        let flow = self.registry.flow(name);
        flow.ok_or_else(|| ParkReport::new(Fault::MissingFlow, missing()).at(at))
    }
}

/// Of a log that was parked and then ended by force, what came before: the flow had no part in the rest. And what had
/// parked it.
fn until_given_up(log: &[Envelope]) -> (&[Envelope], Option<&ParkReport>) {
    let without_flow = |envelope: &&Envelope| {
        matches!(
            envelope.event,
            Event::ExecutionResumed(_)
                | Event::ExecutionCancelled(_)
                | Event::StepAbandoned(_)
                | Event::EffectIndoubt(_)
                | Event::OutcomeDiscarded(_)
                | Event::MessageDeadLettered(_)
        )
    };
    let rest = log.iter().rev().take_while(without_flow).count();
    let before = &log[..log.len() - rest];
    match (log.last().map(|last| &last.event), before.last().map(|last| &last.event)) {
        (Some(Event::ExecutionCancelled(_)), Some(Event::ExecutionParked(parked))) => {
            (before, Some(&parked.report))
        }
        _ => (log, None),
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
