//! What the drivers of one worker share, and the two loops that keep it going: heartbeat and claim.
//! Not the host's API: that is [`crate::App`].

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::Duration,
};

use kernel::{Digest, Envelope, Event, ExecutionId, Fault, Fingerprints, Outcome, Status, Timestamp};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    WorkerOptions,
    driver::{Driver, Nudge, Origin},
    wakes::Wakes,
};
use crate::{
    Limits, Registry, Resources,
    clock::Clock,
    code,
    inbox_item::Item,
    ports::{ClaimRequest, ListFilter, Store, StoreError, WorkerId},
};

/// How far a driver is: what a handle in the same process watches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress {
    /// Events that are durable.
    pub(crate) next: u64,
    /// Set when the driver has let go.
    pub(crate) left: Option<Status>,
    /// How it ended, when it has.
    pub(crate) outcome: Option<Outcome>,
}

/// A driver in this process.
#[derive(Clone)]
pub(crate) struct Local {
    pub(crate) fence: u64,
    pub(super) nudges: mpsc::UnboundedSender<Nudge>,
    pub(crate) progress: watch::Receiver<Progress>,
}

impl Local {
    /// A driver that is gone needs no telling.
    fn tell(&self, nudge: Nudge) {
        let _ = self.nudges.send(nudge);
    }
}

/// A driver's place among the others; given up however the driver ends, by a panic too.
struct Seat {
    engine: Arc<Engine>,
    execution: ExecutionId,
    fence: u64,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut locals = self.engine.locals();
        if locals.get(&self.execution).is_some_and(|local| local.fence == self.fence) {
            locals.remove(&self.execution);
        }
        drop(locals);
        // A closing that raced an arrival left something due.
        self.engine.poke.notify_one();
    }
}

pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Registry,
    pub(crate) resources: Resources,
    pub(crate) limits: Limits,
    pub(crate) options: WorkerOptions,
    pub(crate) clock: Clock,
    pub(crate) worker: WorkerId,
    codes: HashMap<&'static str, Fingerprints>,
    program: Digest,
    locals: Mutex<HashMap<ExecutionId, Local>>,
    lease_until: AtomicI64,
    pub(super) wakes: Wakes,
    poke: Notify,
    beating: AtomicBool,
    booted: AtomicBool,
    draining: AtomicBool,
    drivers: TaskTracker,
    stop: CancellationToken,
}

impl Engine {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        registry: Registry,
        resources: Resources,
        limits: Limits,
        options: WorkerOptions,
        clock: Clock,
    ) -> Arc<Self> {
        let codes = registry.flows().map(|flow| (flow.name, code::of(flow, &registry))).collect();
        let program = code::of_program(&registry);
        Arc::new(Self {
            store,
            registry,
            resources,
            limits,
            options,
            clock,
            worker: format!("{}-{}", std::process::id(), uuid::Uuid::now_v7().simple()),
            codes,
            program,
            locals: Mutex::default(),
            lease_until: AtomicI64::new(i64::MIN),
            wakes: Wakes::default(),
            poke: Notify::new(),
            beating: AtomicBool::new(false),
            booted: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            drivers: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    pub(crate) fn code(&self, flow: &str) -> Fingerprints {
        self.codes.get(flow).copied().unwrap_or_default()
    }

    /// Starts the worker's loops, once.
    pub(crate) fn boot(self: &Arc<Self>) {
        self.beat();
        if self.booted.swap(true, Ordering::AcqRel) || self.is_draining() || !self.options.recover {
            return;
        }
        let claims = self.clone();
        tokio::spawn(async move { claims.stop.clone().run_until_cancelled(claims.claim_loop()).await });
    }

    /// Keeps this worker's leases from now on, and takes up nothing by itself.
    pub(crate) fn beat(self: &Arc<Self>) {
        if self.beating.swap(true, Ordering::AcqRel) || self.is_draining() {
            return;
        }
        self.extend_lease();
        let heart = self.clone();
        tokio::spawn(async move { heart.stop.clone().run_until_cancelled(heart.heartbeat()).await });
    }

    /// A lease that begins now ends then.
    pub(crate) fn lease_end(&self) -> Timestamp {
        self.clock.now().plus(self.options.lease)
    }

    /// Until when this worker's leases hold.
    pub(super) fn leased_until(&self) -> Timestamp {
        Timestamp::from_micros(self.lease_until.load(Ordering::Acquire))
    }

    fn extend_lease(&self) {
        self.lease_until.store(self.lease_end().as_micros(), Ordering::Release);
    }

    pub(crate) fn local(&self, execution: &ExecutionId) -> Option<Local> {
        self.locals().get(execution).cloned()
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }

    pub(crate) fn has_room(&self) -> bool {
        self.locals().len() < self.options.running && !self.is_draining()
    }

    /// Something came for an execution: its driver here reads it, or the claim loop looks for it.
    pub(crate) fn arrived(&self, execution: &ExecutionId) {
        match self.local(execution) {
            Some(local) if local.nudges.send(Nudge::Inbox).is_ok() => {}
            _ => self.poke.notify_one(),
        }
    }

    /// The claim loop looks at once.
    pub(crate) fn poke(&self) {
        self.poke.notify_one();
    }

    /// Runs an execution that this worker owns.
    pub(crate) fn drive(self: &Arc<Self>, execution: ExecutionId, fence: u64, origin: Origin) {
        let (nudges, inbox) = mpsc::unbounded_channel();
        let (publish, progress) = watch::channel(Progress::default());
        self.locals().insert(execution.clone(), Local { fence, nudges: nudges.clone(), progress });
        let driver = Driver::new(self.clone(), execution.clone(), fence, nudges.clone(), inbox, publish);
        if self.is_draining() {
            // It was started or claimed while everything else was told already.
            let _ = nudges.send(Nudge::Drain(tokio::time::Instant::now()));
        }
        let seat = Seat { engine: self.clone(), execution, fence };
        self.drivers.spawn(async move {
            driver.run(origin).await;
            drop(seat);
        });
    }

    pub(crate) async fn claim(
        self: &Arc<Self>,
        limit: usize,
        execution: Option<ExecutionId>,
    ) -> Result<usize, StoreError> {
        let now = self.clock.now();
        let flows = Some(self.registry.flows().map(|flow| flow.name.to_owned()).collect());
        let (worker, until) = (self.worker.clone(), now.plus(self.options.lease));
        let claimed = self.store.claim(&ClaimRequest { worker, now, until, limit, execution, flows }).await?;
        let count = claimed.len();
        for claim in claimed {
            self.drive(claim.row.id.clone(), claim.fence, Origin::Claimed(Box::new(claim)));
        }
        Ok(count)
    }

    /// Renews this worker's leases; answers which it has, with their fences.
    pub(super) async fn renew(&self) -> Result<HashMap<ExecutionId, u64>, StoreError> {
        let until = self.lease_end();
        let held = self.store.renew(&self.worker, until).await?;
        self.lease_until.store(until.as_micros(), Ordering::Release);
        Ok(held.into_iter().collect())
    }

    async fn heartbeat(self: Arc<Self>) {
        // Leases of this worker that nobody here drives: a store took a start or a claim, and its answer was lost.
        let mut undriven = HashMap::new();
        loop {
            tokio::time::sleep(self.options.lease / 3).await;
            // What is claimed while the store answers is not in the answer, and not lost.
            let before: Vec<_> =
                self.locals().iter().map(|(id, local)| (id.clone(), local.clone())).collect();
            match self.renew().await {
                Ok(held) => {
                    let lost = before.iter().filter(|(id, local)| held.get(id) != Some(&local.fence));
                    lost.for_each(|(_, local)| local.tell(Nudge::Lost));
                    undriven = self.give_up_undriven(held, &undriven).await;
                }
                Err(error) => tracing::warn!(%error, "leases not renewed"),
            }
        }
    }

    /// Releases what was undriven at the last beat already: what was just claimed gets its driver in between.
    /// Answers what is undriven now.
    async fn give_up_undriven(
        &self,
        held: HashMap<ExecutionId, u64>,
        earlier: &HashMap<ExecutionId, u64>,
    ) -> HashMap<ExecutionId, u64> {
        let driven = |id: &ExecutionId, fence| self.local(id).is_some_and(|local| local.fence == fence);
        let undriven: HashMap<_, _> = held.into_iter().filter(|(id, fence)| !driven(id, *fence)).collect();
        for (id, fence) in undriven.iter().filter(|(id, fence)| earlier.get(id) == Some(fence)) {
            tracing::warn!(execution = %id, "held here, and driven by nobody: released");
            if let Err(error) = self.store.release(id, *fence).await {
                tracing::warn!(execution = %id, %error, "not released");
            }
            self.poke.notify_one();
        }
        undriven
    }

    async fn claim_loop(self: Arc<Self>) {
        let mut parked_seen = false;
        let mut inboxes_read = tokio::time::Instant::now();
        loop {
            if !parked_seen {
                let seen = self.retry_parked().await;
                parked_seen =
                    seen.inspect_err(|error| tracing::warn!(%error, "parked ones not seen")).is_ok();
            }
            let room = self.options.running.saturating_sub(self.locals().len()).min(256);
            let claimed = if room == 0 || self.is_draining() { Ok(0) } else { self.claim(room, None).await };
            match claimed {
                Ok(count) if count == room && room > 0 => continue,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "nothing claimed"),
            }
            // What arrives in this process is told at once; only other processes' posts are looked for.
            if inboxes_read.elapsed() >= self.options.poll && !self.locals().is_empty() {
                inboxes_read = tokio::time::Instant::now();
                match self.store.inbox_waiting(&self.worker).await {
                    Ok(waiting) => waiting.iter().for_each(|execution| {
                        if let Some(local) = self.local(execution) {
                            local.tell(Nudge::Inbox);
                        }
                    }),
                    Err(error) => tracing::warn!(%error, "inboxes not read"),
                }
            }
            let now = self.clock.now();
            let next = self.wakes.next(now).map_or(Duration::MAX, |at| at.since(now));
            let _ = tokio::time::timeout(next.min(self.options.poll), self.poke.notified()).await;
        }
    }

    /// Parked executions get one try with each program: what stopped them may be mended. Those that wait for a
    /// verdict are left alone, and those that kill whoever tries: a person says when.
    async fn retry_parked(&self) -> Result<(), StoreError> {
        let filter = ListFilter { statuses: vec![Status::Parked], ..ListFilter::default() };
        let parked = self.store.list(&filter).await?;
        for row in parked.into_iter().filter(|row| self.registry.flow(&row.flow).is_some()) {
            let last = self.store.read(&row.id, row.next.saturating_sub(1), 1).await.unwrap_or_default();
            let last = last.first().and_then(|record| Envelope::decode(&row.id, record).ok());
            if let Some(Event::ExecutionParked(parked)) = last.map(|envelope| envelope.event)
                && matches!(parked.report.fault, Fault::InDoubt | Fault::Poisoned)
            {
                continue;
            }
            let key = format!("retry:{}", self.program);
            match self.store.post(Item::Retry.into_new(&row.id, Some(key), self.clock.now())).await {
                Err(error @ StoreError::Unavailable(_)) => return Err(error),
                Err(error) => {
                    tracing::warn!(execution = %row.id, %error, "a parked execution was not tried again")
                }
                Ok(_) => {}
            }
        }
        Ok(())
    }

    /// Stops: running steps may finish within `grace`, the rest is handed back. Leases are renewed to the end.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        self.draining.store(true, Ordering::Release);
        let until = tokio::time::Instant::now() + grace;
        self.locals().values().for_each(|local| local.tell(Nudge::Drain(until)));
        self.drivers.close();
        self.drivers.wait().await;
        self.stop.cancel();
    }

    fn locals(&self) -> MutexGuard<'_, HashMap<ExecutionId, Local>> {
        self.locals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
