//! The driver: one task that feeds one machine and does what it says.
//! No decision is taken here: the machine says what, the store says whether it counts.

mod poison;
mod rehydrate;
mod revive;

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    time::Duration,
};

use kernel::{
    Batch, Delivery, Digest, EffectError, Envelope, ExecutionId, Fault, Frame, FrameId, Machine, Parent,
    ParkReport, StartChild, Status,
    machine::{AttemptEnd, Command, Input, Invoke, Offered},
    planted::{Bug, planted},
};
use tokio::{
    sync::{mpsc, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::{
    attempt::{self, TIDYING},
    birth::Begun,
    engine::Engine,
    locals::{Lease, Local, Progress},
    room::Share,
    signals, snapshots,
    streams::Feed,
    transition,
};
use crate::{
    inbox_item::Item,
    ports::{Append, Claimed, InboxId, InboxItem, StoreError, Turn},
    step::{StepCx, StepEnv},
};

/// For what did not come through the inbox: the first item there is 1.
const NO_ITEM: InboxId = 0;

/// After this an attempt that was told to stop is taken to be gone: one that may tidy up has done so, and a body that
/// blocks its thread cannot be dropped.
const GONE: Duration = TIDYING.saturating_add(Duration::from_secs(1));

/// How an execution came to this worker.
pub(crate) enum Origin {
    /// It was just created here: its log is this event.
    Created(Box<Envelope>),
    /// It was due.
    Claimed(Box<Claimed>),
}

/// What a driver is told while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nudge {
    /// The inbox has something.
    Inbox,
    /// Something that is not recorded touched the flow.
    Alarm,
    /// The lease has gone to somebody else.
    Lost,
    /// Finish what runs until then, and hand back.
    Drain(Instant),
}

/// Why a driver ends before its execution lets go.
enum Gone {
    /// Somebody else owns the execution now.
    Lost(String),
    /// It was handed back.
    HandedBack,
}

struct Running {
    attempt: u32,
    cancel: CancellationToken,
    cx: StepCx,
    task: JoinHandle<()>,
    /// Goes on when nobody waits for it any more.
    detached: bool,
}

impl Running {
    /// Whatever it does from now on counts no more, and somebody else may do it: it is cut off.
    fn cut(&self) {
        self.cancel.cancel();
        self.task.abort();
    }

    /// Nobody waits for it any more, and nobody else will do it: it is told, and may tidy up.
    fn dismiss(mut self) {
        self.cancel.cancel();
        tokio::spawn(async move {
            if tokio::time::timeout(TIDYING, &mut self.task).await.is_err() {
                self.task.abort();
            }
        });
    }
}

type Ended = (FrameId, u32, AttemptEnd);

pub(super) struct Driver {
    engine: Arc<Engine>,
    execution: ExecutionId,
    /// Its children's too.
    turn: Turn,
    flow: String,
    /// The current run, once the log is read.
    run: Option<u64>,
    /// Since when it is driven here.
    begun: Instant,
    fence: u64,
    nudges: mpsc::UnboundedSender<Nudge>,
    told: mpsc::UnboundedReceiver<Nudge>,
    publish: watch::Sender<Progress>,
    running: BTreeMap<FrameId, Running>,
    /// Attempts that were told to stop, and when their end is taken for granted.
    leaving: VecDeque<(Instant, FrameId, u32)>,
    ended: (mpsc::UnboundedSender<Ended>, mpsc::UnboundedReceiver<Ended>),
    lease: Lease,
    /// The newest inbox item that was read.
    seen: InboxId,
    /// Since when events wait for company.
    lagging: Option<Instant>,
    drain: Option<Instant>,
    /// The length of the log when this owner took it up.
    taken_up: u64,
    /// Whether a snapshot is due, and waits for the log to be durable.
    snapshot_due: bool,
    /// What its log takes in memory, from the first event that is here.
    share: Option<Share>,
    /// How many events of it have been read.
    came: u64,
}

impl Driver {
    pub(super) fn new(
        engine: Arc<Engine>,
        execution: ExecutionId,
        turn: Turn,
        local: &Local,
        told: mpsc::UnboundedReceiver<Nudge>,
        publish: watch::Sender<Progress>,
    ) -> Self {
        let (fence, nudges, lease) = (local.fence, local.nudges.clone(), local.lease.clone());
        let (running, ended) = (BTreeMap::new(), mpsc::unbounded_channel());
        let (leaving, seen, lagging, drain) = (VecDeque::new(), 0, None, None);
        Self {
            engine,
            execution,
            turn,
            flow: String::new(),
            run: None,
            begun: Instant::now(),
            fence,
            nudges,
            told,
            publish,
            running,
            leaving,
            ended,
            lease,
            seen,
            lagging,
            drain,
            taken_up: 0,
            snapshot_due: false,
            share: None,
            came: 0,
        }
    }

    /// Runs until the execution lets go, or this is no longer its owner. Answers whether the execution has ended.
    pub(super) async fn run(mut self, origin: Origin) -> bool {
        let execution = self.execution.clone();
        match self.own(origin).await {
            Ok(status) => {
                // One that goes on by itself may do so, unless another owner would do the same beside it.
                let goes_on = |running: &Running| running.detached && status != Status::Parked;
                let left = std::mem::take(&mut self.running).into_values().filter(|r| !goes_on(r));
                left.for_each(Running::dismiss);
                self.publish.send_modify(|progress| progress.left = Some(status));
                return status.is_terminal();
            }
            Err(Gone::Lost(why)) => {
                tracing::warn!(%execution, why, "no longer the owner");
                self.running.values().for_each(Running::cut);
            }
            Err(Gone::HandedBack) => tracing::debug!(%execution, "handed back"),
        }
        false
    }

    async fn own(&mut self, origin: Origin) -> Result<Status, Gone> {
        let mut machine = self.revive(origin).await?;
        self.read_inbox(&mut machine).await?;
        loop {
            // What it was told comes before what it would begin.
            for nudge in self.nudged(Vec::new()) {
                self.heed(&mut machine, nudge).await?;
            }
            if self.drain.is_some() {
                machine.hold();
            }
            if let Some(status) = self.obey(&mut machine).await? {
                return Ok(status);
            }
            if self.is_drained(&machine) {
                return Err(self.hand_back(&mut machine).await?);
            }
            if self.drain.is_none() && self.only_waits(&machine) {
                self.offer(&mut machine, Input::Suspend);
                continue;
            }
            self.wait(&mut machine).await?;
        }
    }

    /// Does everything that the machine says, until it has nothing to say.
    async fn obey(&mut self, machine: &mut Machine) -> Result<Option<Status>, Gone> {
        while let Some(command) = machine.next_command() {
            match command {
                Command::Append(batch) => {
                    self.lagging = None;
                    self.run = Some(machine.state().run);
                    if planted(Bug::SnapshotMidTurn) {
                        snapshots::keep(&self.engine, machine, &batch, self.taken_up, &mut self.snapshot_due);
                    }
                    match self.append(&batch, &machine.state().frames).await? {
                        true => {
                            // A shutdown that began meanwhile comes before what would begin now.
                            if self.engine.is_draining() {
                                machine.hold();
                            }
                            self.offer(machine, Input::Written);
                            let events = batch.events.iter().map(|envelope| &envelope.event);
                            self.engine.streams.recorded(&self.execution, events);
                            self.publish_progress(machine, &batch);
                            let (from, due) = (self.taken_up, &mut self.snapshot_due);
                            snapshots::keep(&self.engine, machine, &batch, from, due);
                        }
                        false => {
                            self.offer(machine, Input::Refused);
                            self.read_inbox(machine).await?;
                        }
                    }
                }
                Command::Invoke(invoke) => self.invoke(machine, invoke).await?,
                Command::Revoke { frame, attempt } => {
                    if let Some(running) = self.running.get(&frame).filter(|r| r.attempt == attempt) {
                        running.cancel.cancel();
                    }
                    let gone = Instant::now() + GONE;
                    self.leaving.push_back((gone, frame, attempt));
                }
                Command::StartChild(start) => self.start_child(machine, start).await?,
                Command::WatchChild { child, by } => self.watch_child(&child, &by).await?,
                Command::Closed(status) => return Ok(Some(status)),
            }
        }
        Ok(None)
    }

    async fn invoke(&mut self, machine: &mut Machine, invoke: Invoke) -> Result<(), Gone> {
        let Some(step) = self.engine.registry.step(&invoke.step) else {
            let message = format!("step `{}` is not registered in this program", invoke.step);
            let report = ParkReport::new(Fault::MissingStep, message).frame(&invoke.frame);
            self.offer(machine, Input::Fault(report));
            return Ok(());
        };
        if invoke.delivery == Delivery::AtMostOnce {
            self.secure_lease().await?;
        }
        let cancel = CancellationToken::new();
        let (frame, attempt) = (invoke.frame.clone(), invoke.attempt);
        let timeout = invoke.timeout.or(step.timeout);
        let (streams, limits) = (&self.engine.streams, self.engine.limits);
        let turn = (self.fence, machine.state().run, attempt);
        streams.begun(&self.execution, &frame, turn);
        let feed = Feed::new(streams, &self.execution, &frame, turn, limits.payload);
        let closing = feed.closing();
        let env = StepEnv::new(
            &invoke,
            step.name,
            self.execution.clone(),
            self.engine.resources.clone(),
            limits,
            cancel.clone(),
            feed,
        );
        let (ended, of, cx) = (self.ended.0.clone(), frame.clone(), env.cx());
        let (detached, over) = (invoke.detached, cancel.clone().drop_guard());
        let told = signals::Attempt::begin(&self.signals(), &invoke, step.name);
        let crashed = self.engine.crashed.clone();
        let task = tokio::spawn(async move {
            let _over = over; // what the step left running is told that nobody waits any more
            let closing = closing; // dropped first when the task is aborted
            let body = attempt::run(step, invoke.input, env, timeout).instrument(told.span());
            let Some(end) = crashed.run_until_cancelled(body).await else { return };
            told.end(&end);
            drop(closing); // nothing is said after the end
            // The driver may be gone: then nobody is to know.
            let _ = ended.send((of, attempt, end));
        });
        self.running.insert(frame, Running { attempt, cancel, cx, task, detached });
        Ok(())
    }

    async fn start_child(&mut self, machine: &mut Machine, start: StartChild) -> Result<(), Gone> {
        loop {
            match self.engine.start_child(&start, &self.turn).await {
                Ok(Begun::Runs) => return Ok(()),
                Ok(Begun::Ended(outcome)) => {
                    let (StartChild { child, parent, .. }, item) = (start, NO_ITEM);
                    self.offer(machine, Input::ChildSettled { frame: parent.frame, child, outcome, item });
                    return Ok(());
                }
                Ok(Begun::Refused(reason)) => {
                    let (child, frame) = (start.child.to_string(), start.parent.frame);
                    let error = EffectError::NotStarted { child, reason };
                    self.offer(machine, Input::NotStarted { frame, error });
                    return Ok(());
                }
                Err(error) => self.pause(&error).await?,
            }
        }
    }

    async fn watch_child(&mut self, child: &ExecutionId, by: &Parent) -> Result<(), Gone> {
        loop {
            match self.engine.watch_child(child, by).await {
                Ok(()) => return Ok(()),
                Err(error) => self.pause(&error).await?,
            }
        }
    }

    /// The last look before an effect that must not happen twice: a lease that ran out unnoticed is renewed first.
    async fn secure_lease(&mut self) -> Result<(), Gone> {
        while self.engine.clock.now() >= self.lease.end() {
            match self.engine.renew().await {
                Ok((held, _)) if held.get(&self.execution) == Some(&self.fence) => {}
                Ok((_, Some(missing))) => self.pause(&missing).await?,
                Ok(_) => return Err(Gone::Lost("the lease ran out before an at-most-once step".into())),
                Err(error) => self.pause(&error).await?,
            }
        }
        Ok(())
    }

    /// Waits for the next thing to happen, and offers it together with everything else that has.
    async fn wait(&mut self, machine: &mut Machine) -> Result<(), Gone> {
        let now = self.engine.clock.now();
        let due = machine.next_due().map(|at| at.since(now));
        let lag = self.engine.options.lag;
        self.lagging = machine.lags().then(|| self.lagging.unwrap_or_else(Instant::now));
        let flush_at = self.lagging.map(|since| since + lag);
        let gone_at = self.leaving.front().map(|(gone, ..)| *gone);
        tokio::select! {
            biased;
            Some(ended) = self.ended.1.recv() => {
                // What was said before it ended comes before it.
                for nudge in self.nudged(Vec::new()) {
                    self.heed(machine, nudge).await?;
                }
                self.take_end(machine, ended);
                self.take_ends(machine);
            }
            () = after(due) => {
                // What was accepted before an expiry wins over it.
                self.read_inbox(machine).await?;
                self.offer(machine, Input::Tick);
            }
            () = until(flush_at) => machine.flush(),
            () = until(gone_at) => {
                if let Some((_, frame, attempt)) = self.leaving.pop_front() {
                    self.take_end(machine, (frame, attempt, AttemptEnd::Stopped(EffectError::Cancelled)));
                }
            }
            () = until(self.drain) => return Err(self.hand_back(machine).await?),
            // The last: each turn begins with what it was told, and a slow store must not let it come to nothing else.
            Some(nudge) = self.told.recv() => {
                for nudge in self.nudged(vec![nudge]) {
                    self.heed(machine, nudge).await?;
                }
            }
        }
        Ok(())
    }

    /// What it was told so far, each thing once: one look at the inbox finds everything, and what comes while that takes its
    /// time is for the next turn, or it would do nothing else.
    fn nudged(&mut self, mut nudges: Vec<Nudge>) -> Vec<Nudge> {
        while let Ok(nudge) = self.told.try_recv() {
            if !nudges.contains(&nudge) {
                nudges.push(nudge);
            }
        }
        nudges
    }

    async fn heed(&mut self, machine: &mut Machine, nudge: Nudge) -> Result<(), Gone> {
        match nudge {
            Nudge::Inbox => self.read_inbox(machine).await?,
            Nudge::Alarm => drop(self.offer(machine, Input::Alarm)),
            Nudge::Lost => return Err(Gone::Lost("the lease has another owner".into())),
            Nudge::Drain(until) => self.drain = Some(until),
        }
        Ok(())
    }

    /// Takes the ends of attempts that are there.
    fn take_ends(&mut self, machine: &mut Machine) {
        while let Ok(ended) = self.ended.1.try_recv() {
            self.take_end(machine, ended);
        }
    }

    fn take_end(&mut self, machine: &mut Machine, (frame, attempt, end): Ended) {
        if self.running.get(&frame).is_some_and(|running| running.attempt == attempt) {
            self.running.remove(&frame);
        }
        self.leaving.retain(|(_, left, nth)| (left, *nth) != (&frame, attempt));
        let offered = self.offer(machine, Input::Ended { frame: frame.clone(), attempt, end });
        if offered == Offered::Contradicts {
            tracing::error!(execution = %self.execution, %frame, attempt, "a second, different outcome was refused");
        }
    }

    async fn pending(&mut self) -> Result<Vec<InboxItem>, Gone> {
        loop {
            match self.engine.store.pending(&self.execution, self.seen).await {
                Ok(items) => {
                    self.seen = items.last().map_or(self.seen, |item| item.id);
                    return Ok(items);
                }
                Err(error) => self.pause(&error).await?,
            }
        }
    }

    async fn read_inbox(&mut self, machine: &mut Machine) -> Result<(), Gone> {
        for item in self.pending().await? {
            let state = machine.state();
            // Where not even the start can be read, whoever says to be the parent is believed.
            let read = match state.flow.is_empty() {
                true => Item::read(&item),
                false => Item::read_for(&item, state.parent.as_ref()),
            };
            match read {
                Some(input) => drop(self.offer(machine, input)),
                None => {
                    tracing::warn!(execution = %self.execution, kind = item.kind, "an inbox item is not known here")
                }
            }
        }
        Ok(())
    }

    /// Appends, for as long as it takes. Answers whether it was accepted; if not, the inbox has moved.
    async fn append(&mut self, batch: &Batch, frames: &BTreeMap<FrameId, Frame>) -> Result<bool, Gone> {
        let now = self.engine.clock.now();
        let append =
            transition::of(batch, frames, &self.execution, self.fence, self.seen, self.engine.program, now);
        let mut append = append.map_err(|e| Gone::Lost(e.to_string()))?;
        if let Some(at) = append.close.as_ref().and_then(|close| close.wake_at) {
            self.engine.wakes.add(at);
        }
        let begun = Instant::now();
        loop {
            match self.engine.store.append(&append).await {
                Ok(()) => {
                    self.signals().written(&append, batch, begun.elapsed());
                    append.posts.iter().for_each(|post| self.engine.told(&post.execution));
                    self.take_room(&append);
                    return Ok(true);
                }
                Err(StoreError::InboxMoved(_)) => return Ok(false),
                Err(error) => {
                    self.pause(&error).await?;
                    if planted(Bug::AcknowledgementTakenAsFailure) {
                        self.append_anew(&mut append).await;
                    }
                }
            }
        }
    }

    /// As if nothing had been written, behind whatever is there: a bug that tests plant.
    async fn append_anew(&self, append: &mut Append) {
        let Ok(Some(row)) = self.engine.store.get(&self.execution).await else { return };
        append.batch = Digest::of(&append.batch.bytes());
        append.expected_next = row.next;
        (row.next..).zip(&mut append.records).for_each(|(next, record)| record.sequence = next);
    }

    /// A store that cannot be reached is asked again, with the same words; any other refusal ends this owner.
    async fn pause(&mut self, error: &StoreError) -> Result<(), Gone> {
        if !error.is_outage() {
            return Err(Gone::Lost(error.to_string()));
        }
        tracing::warn!(execution = %self.execution, %error, "trying again");
        let mut kept = Vec::new();
        let again = Instant::now() + Duration::from_millis(200);
        while let Ok(Some(nudge)) = tokio::time::timeout_at(again, self.told.recv()).await {
            match nudge {
                Nudge::Lost => return Err(Gone::Lost(error.to_string())),
                Nudge::Drain(until) => self.drain = Some(until),
                // To be heeded once the store is there.
                Nudge::Inbox | Nudge::Alarm => kept.push(nudge),
            }
        }
        for nudge in kept {
            let _ = self.nudges.send(nudge); // to this very driver
        }
        match self.drain {
            Some(until) if Instant::now() >= until => Err(Gone::Lost(error.to_string())),
            _ => Ok(()),
        }
    }

    fn publish_progress(&self, machine: &Machine, batch: &Batch) {
        let (state, next) = (machine.state(), batch.first + batch.events.len() as u64);
        let (length, most) = (next - state.base.min(next), self.engine.limits.history);
        let soon = most / 5 * 4;
        if length >= soon && length - (batch.events.len() as u64) < soon {
            let (execution, run) = (&self.execution, state.run);
            tracing::warn!(%execution, run, length, limit = most, "the run gets long: let the flow continue as new");
        }
        self.publish.send_modify(|progress| {
            progress.next = next;
            progress.outcome.clone_from(&state.outcome);
        });
    }

    /// Whether nothing happens here unless something comes from outside, and not soon.
    fn only_waits(&self, machine: &Machine) -> bool {
        let soon = |at: kernel::Timestamp| at.since(self.engine.clock.now()) <= self.engine.options.linger;
        !machine.is_busy() && !machine.next_due().is_some_and(soon)
    }

    fn is_drained(&self, machine: &Machine) -> bool {
        self.drain.is_some() && !machine.has_running()
    }

    async fn hand_back(&mut self, machine: &mut Machine) -> Result<Gone, Gone> {
        // The next owner makes these attempts again, maybe at once: not beside them, so they are told, and may tidy up.
        self.running.values().for_each(|running| running.cancel.cancel());
        let deadline = Instant::now() + GONE;
        for running in self.running.values_mut() {
            tokio::select! {
                biased;
                // Somebody else may make them already: this ends here, and they are cut off.
                () = lost(&mut self.told) => return Err(Gone::Lost("the lease has another owner".into())),
                _ = tokio::time::timeout_at(deadline, &mut running.task) => running.task.abort(),
            }
        }
        // A result is one, also of a body that was told: it happened. Any other end of such a body says only that it stopped,
        // as where an execution parks.
        while let Ok((frame, attempt, end)) = self.ended.1.try_recv() {
            let was_to_stop = self.leaving.iter().any(|(_, left, nth)| (left, *nth) == (&frame, attempt));
            let told = self.running.get(&frame).is_some_and(|running| running.cx.was_told());
            let is_outcome = match end {
                AttemptEnd::Returned(_) => true,
                AttemptEnd::Stopped(EffectError::Cancelled) => false,
                _ => !told,
            };
            if was_to_stop || is_outcome {
                self.take_end(machine, (frame, attempt, end));
            }
        }
        self.running.clear();
        self.offer(machine, Input::HandBack);
        if self.obey(machine).await?.is_some() {
            return Ok(Gone::HandedBack);
        }
        Ok(self.release().await)
    }

    /// Lets go of an execution that goes on elsewhere, or later.
    async fn release(&self) -> Gone {
        if let Err(error) = self.engine.store.release(&self.execution, self.fence).await {
            tracing::warn!(execution = %self.execution, %error, "not released: it is due when the lease has run out");
        }
        Gone::HandedBack
    }

    fn signals(&self) -> signals::Of<'_> {
        let Self { execution, flow, run, begun, .. } = self;
        signals::Of { execution, flow, run: *run, begun: *begun }
    }

    fn offer(&self, machine: &mut Machine, input: Input) -> Offered {
        machine.offer(input, self.engine.clock.now())
    }
}

/// Completes when the lease has gone; what else comes while an execution is handed back is for its next owner.
async fn lost(told: &mut mpsc::UnboundedReceiver<Nudge>) {
    while let Some(nudge) = told.recv().await {
        if nudge == Nudge::Lost {
            return;
        }
    }
    std::future::pending().await
}

async fn after(wait: Option<Duration>) {
    match wait {
        Some(wait) => tokio::time::sleep(wait).await,
        None => std::future::pending().await,
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
