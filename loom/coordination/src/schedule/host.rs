//! Schedules as a program sees them from outside: what is due, and ways to pause, trigger and backfill.
//! Not their keeping: whatever is asked for here waits in the inbox of the schedule's execution until a worker takes it.

use std::{collections::BTreeMap, future::Future, ops::Range};

use loom_runtime::{
    App, ExecutionId, ScheduleDescriptor, SendError, Status, Timestamp,
    kernel::{Abandoned, ChildSettled, Event, InvalidId, StepFailed},
    ports::StoreError,
};

use super::{
    control::{Control, TOPIC},
    keeper::CATCH_UP,
    run_id,
    spec::{MOST, Spec},
    state::{State, unreadable},
};

/// The schedules of a program: brings `app.schedules()` and `app.schedule("flow")`.
///
/// ```no_run
/// # async fn main_(app: loom_runtime::App) -> loom_runtime::Result<()> {
/// use coordination::Schedules as _;
/// for schedule in app.schedules().await? {
///     println!("{} {:?}", schedule.flow, schedule.next.first());
/// }
/// app.schedule("report")?.pause("ada").await?;
/// # Ok(()) }
/// ```
pub trait Schedules {
    /// The schedules of this program's flows, in order of their names.
    ///
    /// # Errors
    /// The store fails.
    fn schedules(&self) -> impl Future<Output = Result<Vec<Schedule>, StoreError>> + Send;

    /// The schedule of a flow.
    ///
    /// # Errors
    /// [`ScheduleError::Unknown`].
    fn schedule(&self, flow: &str) -> Result<ScheduleHandle, ScheduleError>;
}

/// A schedule, as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Schedule {
    /// The flow that it starts.
    pub flow: &'static str,
    /// What the program says of it.
    pub descriptor: ScheduleDescriptor,
    /// The execution that keeps it.
    pub execution: ExecutionId,
    /// Where that stands; `None` before a worker has seen to it. One that has ended was cancelled, and starts nothing
    /// any more.
    pub status: Option<Status>,
    /// By whom it was paused.
    pub paused: Option<String>,
    /// The executions that it has started and that go on. With [`Overlap::Allow`](loom_runtime::Overlap::Allow), those
    /// that began long ago are not listed.
    pub running: Vec<ExecutionId>,
    /// The executions that it will start once the policy on overlaps lets it.
    pub waiting: Vec<ExecutionId>,
    /// Instants that get no run, since another one went on when they came, or the schedule was paused before their
    /// turn: the latest 20. A backfill runs them.
    pub left_out: Instants,
    /// The next instants, as far as they are known to come: none when it is paused or has ended.
    pub next: Instants,
}

/// Instants in order.
pub type Instants = Vec<Timestamp>;

/// How many instants a list shows.
const SHOWN: usize = 5;

/// Why a schedule was not told. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// This program has no such schedule.
    #[error("flow `{flow}` has no schedule in this program; scheduled are: {known}")]
    Unknown {
        /// The flow asked for.
        flow: String,
        /// Those that have one.
        known: String,
    },
    /// The range holds too many instants.
    #[error(
        "the schedule of `{flow}` is due more than {MOST} times in this range: backfill it in several pieces"
    )]
    TooMany {
        /// The flow.
        flow: String,
    },
    /// The range reaches beyond the time: a run of such an instant would take the place of the scheduled one.
    #[error(
        "the schedule of `{flow}` is due at {instant}, and now it is {now}: what is to come runs by itself; expected a range \
         that ends by now"
    )]
    Ahead {
        /// The flow.
        flow: String,
        /// The first instant of the range that is to come.
        instant: Timestamp,
        /// What the time was.
        now: Timestamp,
    },
    /// The range holds no instant.
    #[error("the schedule of `{flow}` is never due from {from} to {to}{}", backwards(*.from, *.to))]
    Empty {
        /// The flow.
        flow: String,
        /// Where the range begins.
        from: Timestamp,
        /// Where it ends.
        to: Timestamp,
    },
    /// The flow's name is too long for an execution's id.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// The store refused (somebody has cancelled the schedule) or failed.
    #[error(transparent)]
    NotSent(#[from] SendError),
}

fn backwards(from: Timestamp, to: Timestamp) -> &'static str {
    if from < to { "" } else { ": expected a range that ends after it begins" }
}

/// One schedule. What it is told holds from the moment at which a worker takes it from the inbox: in order, and after
/// instants that are due already.
#[derive(Clone)]
pub struct ScheduleHandle {
    app: App,
    flow: &'static str,
    descriptor: ScheduleDescriptor,
    execution: ExecutionId,
}

impl Schedules for App {
    async fn schedules(&self) -> Result<Vec<Schedule>, StoreError> {
        let mut all = Vec::new();
        for flow in self.registry().flows().filter(|flow| flow.schedule.is_some()) {
            let handle = self.schedule(flow.name).map_err(unreadable)?;
            all.push(handle.show().await?);
        }
        Ok(all)
    }

    fn schedule(&self, flow: &str) -> Result<ScheduleHandle, ScheduleError> {
        let scheduled = self.registry().flow(flow).and_then(|flow| Some((flow.name, flow.schedule?)));
        let Some((flow, descriptor)) = scheduled else {
            let known = self.registry().flows().filter(|flow| flow.schedule.is_some());
            let known: Vec<_> = known.map(|flow| flow.name).collect();
            let known = if known.is_empty() { "none".into() } else { known.join(", ") };
            return Err(ScheduleError::Unknown { flow: flow.into(), known });
        };
        let execution = run_id::of_keeper(flow).parse()?;
        Ok(ScheduleHandle { app: self.clone(), flow, descriptor, execution })
    }
}

impl ScheduleHandle {
    /// Starts nothing from now on, until it is resumed. Runs that go on do so, what was asked for by
    /// [`ScheduleHandle::trigger`] and [`ScheduleHandle::backfill`] is started, and what else waits is left out.
    ///
    /// # Errors
    /// See [`ScheduleError`].
    pub async fn pause(&self, by: &str) -> Result<(), ScheduleError> {
        self.tell(Control::Pause { by: by.into() }).await
    }

    /// Goes on with the next instant. Those that passed while it was paused are not made up for; `backfill` does that.
    ///
    /// # Errors
    /// See [`ScheduleError`].
    pub async fn resume(&self, by: &str) -> Result<(), ScheduleError> {
        self.tell(Control::Resume { by: by.into() }).await
    }

    /// Starts a run now; answers its id. Its nominal instant is the time. While another one goes on, it waits for that
    /// one's end, unless [`Overlap`](loom_runtime::Overlap) is to allow both, or to cancel that one. It is never left out
    /// but for a newer one that cancels.
    ///
    /// # Errors
    /// See [`ScheduleError`].
    pub async fn trigger(&self) -> Result<ExecutionId, ScheduleError> {
        let at = self.app.now();
        let run = run_id::of_run(self.flow, at).parse()?;
        self.tell(Control::Trigger { at }).await?;
        Ok(run)
    }

    /// Starts a run for each instant of a range (its start included, its end not) that has none yet, oldest first;
    /// answers their ids. One after another, and never beside a run that goes on; all at once if runs may overlap.
    /// With [`Overlap::Cancel`](loom_runtime::Overlap::Cancel), the next instant that comes cancels the one that goes on,
    /// and the rest run after it.
    ///
    /// # Errors
    /// See [`ScheduleError`]; a range holds at least one instant, at most 1,000, and none that is to come: those run by
    /// themselves.
    pub async fn backfill(&self, range: Range<Timestamp>) -> Result<Vec<ExecutionId>, ScheduleError> {
        let before = Timestamp::from_micros(range.start.as_micros().saturating_sub(1));
        let mut instants = Spec::from(self.descriptor).some_after(before, MOST + 1);
        instants.retain(|at| *at < range.end);
        let (flow, now) = (|| self.flow.into(), self.app.now());
        if let Some(instant) = instants.iter().copied().find(|at| *at > now) {
            return Err(ScheduleError::Ahead { flow: flow(), instant, now });
        }
        if instants.is_empty() {
            return Err(ScheduleError::Empty { flow: flow(), from: range.start, to: range.end });
        }
        if instants.len() > MOST {
            return Err(ScheduleError::TooMany { flow: flow() });
        }
        let runs = instants.iter().map(|at| run_id::of_run(self.flow, *at).parse());
        let runs = runs.collect::<Result<_, _>>()?;
        self.tell(Control::Backfill { instants }).await?;
        Ok(runs)
    }

    /// The schedule, as it stands.
    ///
    /// # Errors
    /// The store fails.
    pub async fn show(&self) -> Result<Schedule, StoreError> {
        let Self { app, flow, descriptor, execution } = self;
        let row = match app.row(execution).await {
            Ok(row) => Some(row),
            Err(StoreError::Unknown(_)) => None,
            Err(error) => return Err(error),
        };
        let mut schedule = Schedule {
            flow,
            descriptor: *descriptor,
            execution: execution.clone(),
            status: row.as_ref().map(|row| row.status),
            paused: None,
            running: Vec::new(),
            waiting: Vec::new(),
            left_out: Vec::new(),
            next: Vec::new(),
        };
        if let Some(row) = row
            && let Some(state) = self.so_far(row.base).await?
        {
            let ids = |instants: &mut dyn Iterator<Item = &Timestamp>| -> Result<Vec<_>, _> {
                instants.map(|at| run_id::of_run(flow, *at).parse().map_err(unreadable)).collect()
            };
            schedule.running = ids(&mut state.running.iter())?;
            schedule.waiting = ids(&mut state.waiting.keys())?;
            schedule.left_out = state.left_out.into();
            schedule.paused = state.paused;
        }
        let is_over = schedule.status.is_some_and(Status::is_terminal);
        if !is_over && schedule.paused.is_none() {
            schedule.next = Spec::from(*descriptor).some_after(app.now(), SHOWN);
        }
        Ok(schedule)
    }

    /// Where the keeper stands, by the log of its run that begins at `base`.
    async fn so_far(&self, base: u64) -> Result<Option<State>, StoreError> {
        let mut log = self.app.log(&self.execution, base, usize::MAX >> 1).await?.into_iter();
        let first = log.next().map(|envelope| match envelope.event {
            Event::ExecutionStarted(e) => e.input.decode::<State>().map_err(unreadable),
            Event::ContinuedAsNew(e) => e.input.decode::<State>().map_err(unreadable),
            _ => Err(unreadable("its run begins with something else")),
        });
        let Some(mut state) = first.transpose()? else { return Ok(None) };
        let mut runs = BTreeMap::new();
        let catch_up = format!("{CATCH_UP}#");
        let mut told = None;
        for envelope in log {
            let comes_due = match &envelope.event {
                Event::DecisionRecorded(e) => e.frame.as_str().starts_with(&catch_up),
                _ => false,
            };
            // What was due before something was told is seen to right then, and first.
            if let Some((control, at)) = told.take_if(|_| !comes_due) {
                state.heed(control, at);
            }
            match envelope.event {
                Event::MessageReceived(e) if e.message.topic == TOPIC => {
                    told = Some((e.message.body.decode().map_err(unreadable)?, envelope.at));
                }
                Event::DecisionRecorded(e) if comes_due => {
                    state.come_due(e.value.decode().map_err(unreadable)?);
                    if let Some((control, at)) = told.take() {
                        while let Some(begun) = state.next() {
                            state.begin(begun);
                        }
                        state.heed(control, at);
                    }
                }
                Event::ChildStarted(e) => {
                    if let Some(at) = run_id::nominal(&e.child) {
                        state.begin(at);
                        runs.insert(e.frame, at);
                    }
                }
                Event::ChildSettled(ChildSettled { frame, .. })
                | Event::StepFailed(StepFailed { frame, .. })
                | Event::StepAbandoned(Abandoned { frame, .. }) => {
                    if let Some(at) = runs.get(&frame) {
                        state.end(*at);
                    }
                }
                _ => {}
            }
        }
        if let Some((control, at)) = told {
            state.heed(control, at);
        }
        Ok(Some(state))
    }

    async fn tell(&self, control: Control) -> Result<(), ScheduleError> {
        // Before any worker has seen to the schedule, it waits.
        Ok(self.app.send(&self.execution, TOPIC, &control).early().await?)
    }
}
