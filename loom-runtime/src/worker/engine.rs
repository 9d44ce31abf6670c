//! What the drivers of one worker share, and the loops that keep it going: heartbeat, inboxes, claims.
//! Not the host's API: that is [`crate::App`].

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use kernel::{
    Digest, ExecutionId, Fingerprints, Timestamp,
    planted::{Bug, planted},
};
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    WorkerOptions,
    driver::{Driver, Nudge, Origin},
    locals::{Lease, Local, Locals, Progress, Seats},
    parked::ParkedOnes,
    room::Room,
    signals,
    streams::Streams,
    wakes::Wakes,
};
use crate::{
    Limits, Negotiate, Registry, Resources,
    clock::Clock,
    code,
    entropy::Entropy,
    ports::{ClaimRequest, Renewal, Store, StoreError, Turn, WorkerId},
    replay_check::Checker,
    turns::Turns,
};

/// How long a shutdown may wait at most: for ever, to all intents.
const LONGEST_GRACE: Duration = Duration::from_secs(365 * 86_400);

/// Between two looks at what is to be known of the store.
const CAVEATS: Duration = Duration::from_secs(30);

/// Executions that one claim takes at most.
const AT_ONCE: usize = 256;

/// The leases that this worker has, by their fences; and why that may not be all of them.
pub(super) type Held = (BTreeMap<ExecutionId, u64>, Option<StoreError>);

/// A driver's place among the others; given up however the driver ends, by a panic too.
struct Seat {
    engine: Arc<Engine>,
    execution: ExecutionId,
    fence: u64,
    /// Whether the execution has ended: then nothing of it is due.
    ended: bool,
    /// Whether others wait for the slot of its lane.
    laned: bool,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let taken = self.engine.locals.leave(&self.execution, self.fence);
        // What was let go may be due again already, and a place may have been waited for.
        if !self.ended || self.laned || taken >= self.engine.options.running {
            self.engine.poke.notify_one();
        }
    }
}

pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) resources: Resources,
    pub(crate) limits: Limits,
    pub(crate) options: WorkerOptions,
    pub(crate) clock: Clock,
    pub(crate) entropy: Entropy,
    pub(crate) worker: WorkerId,
    pub(crate) budgets: Arc<dyn Negotiate>,
    pub(crate) turns: Turns,
    pub(crate) streams: Arc<Streams>,
    /// The flows with their fingerprints, to replay logs that wait for code.
    pub(crate) checker: Checker,
    pub(super) program: Digest,
    locals: Locals,
    /// Until when every lease holds that this worker has renewed.
    renewed_until: AtomicI64,
    pub(super) wakes: Wakes,
    pub(super) room: Arc<Room>,
    poke: Arc<Notify>,
    /// Another process may have posted to what runs here.
    mail: Notify,
    beating: AtomicBool,
    booted: AtomicBool,
    drivers: TaskTracker,
    stop: CancellationToken,
    /// Everything that this worker does is dropped where it stands.
    pub(super) crashed: CancellationToken,
}

impl Engine {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        registry: Registry,
        resources: Resources,
        limits: Limits,
        options: WorkerOptions,
        (clock, entropy): (Clock, Entropy),
        (budgets, turns): (Arc<dyn Negotiate>, Turns),
    ) -> Arc<Self> {
        let checker = Checker::new(&registry);
        let program = code::of_program(&registry, |flow| checker.code(flow));
        let (poke, crashed) = (Arc::new(Notify::new()), CancellationToken::new());
        Arc::new(Self {
            store,
            registry: Arc::new(registry),
            resources,
            limits,
            options,
            clock,
            worker: entropy.worker(),
            entropy,
            budgets,
            turns,
            streams: Arc::default(),
            checker,
            program,
            locals: Locals::default(),
            renewed_until: AtomicI64::new(i64::MIN),
            wakes: Wakes::default(),
            room: Room::new(options.memory, poke.clone()),
            poke,
            mail: Notify::new(),
            beating: AtomicBool::new(false),
            booted: AtomicBool::new(false),
            drivers: TaskTracker::new(),
            stop: crashed.child_token(),
            crashed,
        })
    }

    pub(crate) fn code(&self, flow: &str) -> Fingerprints {
        self.checker.code(flow)
    }

    /// Starts the worker's loops, once.
    pub(crate) fn boot(self: &Arc<Self>) {
        self.beat();
        if self.booted.swap(true, Ordering::AcqRel) || self.is_draining() || !self.options.recover {
            return;
        }
        signals::works(self);
        let (claims, caveats) = (self.clone(), self.clone());
        tokio::spawn(async move { claims.stop.clone().run_until_cancelled(claims.claim_loop()).await });
        tokio::spawn(async move { caveats.stop.clone().run_until_cancelled(caveats.caveat_loop()).await });
    }

    /// Keeps this worker's leases from now on, and takes up nothing by itself.
    pub(crate) fn beat(self: &Arc<Self>) {
        if self.beating.swap(true, Ordering::AcqRel) || self.is_draining() {
            return;
        }
        self.renewed_until.store(self.lease_end().as_micros(), Ordering::Release);
        let (heart, inboxes, news) = (self.clone(), self.clone(), self.clone());
        tokio::spawn(async move { heart.stop.clone().run_until_cancelled(heart.heartbeat()).await });
        tokio::spawn(async move { inboxes.stop.clone().run_until_cancelled(inboxes.inbox_loop()).await });
        tokio::spawn(async move { news.stop.clone().run_until_cancelled(news.news_loop()).await });
    }

    /// A lease that begins now ends then.
    pub(crate) fn lease_end(&self) -> Timestamp {
        self.clock.now().plus(self.options.lease)
    }

    pub(crate) fn local(&self, execution: &ExecutionId) -> Option<Local> {
        self.locals.get(execution)
    }

    pub(super) fn is_draining(&self) -> bool {
        self.locals.is_draining()
    }

    /// Whether another execution may run here, as far as one look can tell.
    pub(crate) fn has_room(&self) -> bool {
        self.seats(1).count > 0
    }

    /// Seats for so many more executions, or for as many as may run here.
    pub(super) fn seats(&self, wanted: usize) -> Seats<'_> {
        self.locals.reserve(wanted, self.options.running)
    }

    /// Something came for an execution: its driver here reads it, or the claim loop looks for it.
    pub(crate) fn arrived(&self, execution: &ExecutionId) {
        let told = self.local(execution).is_some_and(|local| local.tell(Nudge::Inbox));
        if !told {
            self.poke.notify_one();
        }
    }

    /// An execution that this worker runs has told another something: where nobody else looks for it, it is taken up.
    pub(super) fn told(self: &Arc<Self>, execution: &ExecutionId) {
        self.arrived(execution);
        if self.local(execution).is_none() {
            self.fetch(execution.clone());
        }
    }

    /// Takes an execution up where nobody looks for it, if it is due; in a lane, when its turn has come.
    pub(super) fn fetch(self: &Arc<Self>, execution: ExecutionId) {
        if self.booted.load(Ordering::Acquire) || !self.has_room() {
            return;
        }
        let engine = self.clone();
        let fetch = async move {
            loop {
                match engine.claim(1, Some(execution.clone())).await {
                    Ok(0) if engine.is_held_back(&execution).await => {}
                    Ok(_) => return,
                    Err(error) => return tracing::warn!(%execution, %error, "not taken up"),
                }
                tokio::time::sleep(engine.options.poll).await;
            }
        };
        let stop = self.stop.clone();
        tokio::spawn(async move { stop.run_until_cancelled(fetch).await });
    }

    /// Whether its lane alone may keep an execution from being claimed.
    async fn is_held_back(&self, execution: &ExecutionId) -> bool {
        let found = self.store.get(execution).await.ok().flatten();
        found.is_some_and(|row| row.turn.lane.is_some() && row.lease.is_none() && !row.status.is_terminal())
    }

    /// The claim loop looks at once.
    pub(crate) fn poke(&self) {
        self.poke.notify_one();
    }

    /// Runs an execution that this worker owns until `until`, unless it renews that.
    pub(crate) fn drive(
        self: &Arc<Self>,
        execution: ExecutionId,
        fence: u64,
        until: Timestamp,
        turn: Turn,
        origin: Origin,
    ) {
        let (nudges, told) = mpsc::unbounded_channel();
        let (publish, progress) = watch::channel(Progress::default());
        let local = Local { fence, nudges, progress, lease: Lease::until(until) };
        let laned = turn.lane.is_some();
        let driver = Driver::new(self.clone(), execution.clone(), turn, &local, told, publish);
        self.locals.seat(execution.clone(), local);
        let seat = Seat { engine: self.clone(), execution, fence, ended: false, laned };
        self.drivers.spawn(async move {
            let mut seat = seat; // the whole of it, and not the field alone
            let crashed = seat.engine.crashed.clone();
            seat.ended = crashed.run_until_cancelled(driver.run(origin)).await.unwrap_or(false);
        });
    }

    /// Takes up what is due, as far as there is room; answers how many.
    pub(crate) async fn claim(
        self: &Arc<Self>,
        wanted: usize,
        execution: Option<ExecutionId>,
    ) -> Result<usize, StoreError> {
        // A shutdown waits for the answer: what the store has given to this worker is handed back like everything else.
        let _asking = self.drivers.token();
        let seats = self.seats(wanted);
        let limit = seats.count;
        if limit == 0 {
            return Ok(0);
        }
        // After a sleep of the whole machine this worker's own executions look abandoned: it must not take them over
        // beside their drivers.
        if self.clock.now().as_micros() >= self.renewed_until.load(Ordering::Acquire) {
            self.renew_and_tell().await?;
        }
        let now = self.clock.now();
        let flows = Some(self.registry.runnable().map(|flow| flow.name.to_owned()).collect());
        let (worker, until) = (self.worker.clone(), now.plus(self.options.lease));
        // Whoever fits takes it within the time after which a dead owner's would be taken too.
        let lease = i64::try_from(self.options.lease.as_micros()).unwrap_or(i64::MAX);
        let program = Some((self.program, Timestamp::from_micros(now.as_micros().saturating_sub(lease))));
        let request = ClaimRequest { worker, now, until, limit, execution, flows, program };
        let begun = Instant::now();
        let claimed = self.store.claim(&request).await?;
        signals::claimed(&claimed, limit, begun.elapsed());
        let count = claimed.len();
        for claim in claimed {
            let (id, turn) = (claim.row.id.clone(), claim.row.turn.clone());
            self.drive(id, claim.fence, until, turn, Origin::Claimed(Box::new(claim)));
        }
        Ok(count)
    }

    /// Renews this worker's leases.
    pub(super) async fn renew(&self) -> Result<Held, StoreError> {
        let until = self.lease_end();
        let Renewal { held, missing } = self.store.renew_what_answers(&self.worker, until).await?;
        let held = held.into_iter().collect();
        self.locals.extend(&held, until);
        self.renewed_until.fetch_max(until.as_micros(), Ordering::AcqRel);
        Ok((held, missing))
    }

    /// Renews, and tells the drivers whose execution has gone to somebody else.
    async fn renew_and_tell(&self) -> Result<BTreeMap<ExecutionId, u64>, StoreError> {
        // What is claimed while the store answers is not in the answer, and not lost.
        let before = self.locals.all();
        let (held, missing) = self.renew().await?;
        if let Some(error) = missing {
            // What is not told of may well be held: its driver learns the truth at its next append.
            tracing::warn!(%error, "some leases not renewed");
            return Ok(held);
        }
        let lost = before.iter().filter(|(id, local)| held.get(id) != Some(&local.fence));
        let lost = lost.filter(|_| !planted(Bug::HeartbeatAfterExpiry));
        lost.for_each(|(_, local)| {
            local.tell(Nudge::Lost);
        });
        Ok(held)
    }

    async fn heartbeat(self: Arc<Self>) {
        // Leases of this worker that nobody here drives: a store took a start or a claim, and its answer was lost.
        let mut undriven = BTreeMap::new();
        loop {
            tokio::time::sleep(self.options.lease / 3).await;
            match self.renew_and_tell().await {
                Ok(held) => undriven = self.give_up_undriven(held, &undriven).await,
                Err(error) => tracing::warn!(%error, "leases not renewed"),
            }
        }
    }

    /// Releases what was undriven at the last beat already: what was just claimed gets its driver in between.
    /// Answers what is undriven now.
    async fn give_up_undriven(
        &self,
        held: BTreeMap<ExecutionId, u64>,
        earlier: &BTreeMap<ExecutionId, u64>,
    ) -> BTreeMap<ExecutionId, u64> {
        let driven = |id: &ExecutionId, fence| self.local(id).is_some_and(|local| local.fence == fence);
        let undriven: BTreeMap<_, _> = held.into_iter().filter(|(id, fence)| !driven(id, *fence)).collect();
        for (id, fence) in undriven.iter().filter(|(id, fence)| earlier.get(id) == Some(fence)) {
            tracing::warn!(execution = %id, "held here, and driven by nobody: released");
            if let Err(error) = self.store.release(id, *fence).await {
                tracing::warn!(execution = %id, %error, "not released");
            }
            self.poke.notify_one();
        }
        undriven
    }

    /// Tells what is to be known of the store, for as long as it is so. A store that fails is told of by the claims.
    async fn caveat_loop(self: Arc<Self>) {
        loop {
            for caveat in self.store.caveats().await.unwrap_or_default() {
                tracing::warn!(%caveat, "the store is not what it seems");
            }
            tokio::time::sleep(CAVEATS).await;
        }
    }

    async fn claim_loop(self: Arc<Self>) {
        let (mut parked, mut served) = (ParkedOnes::default(), 0);
        loop {
            while let Some(service) = self.registry.served().get(served) {
                match self.see_to(service).await {
                    Err(error) if error.is_outage() => {
                        tracing::warn!(%error, "services not seen to");
                        break;
                    }
                    Err(error) => tracing::warn!(execution = service.execution, %error, "not seen to"),
                    Ok(()) => {}
                }
                served += 1;
            }
            parked.look(&self).await;
            // What waits here for room is enough: the rest may run elsewhere.
            let wanted = if self.room.is_short() { 0 } else { AT_ONCE };
            match self.claim(wanted, None).await {
                Ok(AT_ONCE) => continue,
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "nothing claimed"),
            }
            let now = self.clock.now();
            let next = self.wakes.next(now).map_or(Duration::MAX, |at| at.since(now));
            let _ = tokio::time::timeout(next.min(self.options.poll), self.poke.notified()).await;
        }
    }

    /// Both loops look sooner when another process says that there may be something.
    async fn news_loop(self: Arc<Self>) {
        loop {
            self.store.news().await;
            self.poke.notify_one();
            self.mail.notify_one();
        }
    }

    /// What arrives in this process is told at once; only other processes' posts are looked for.
    async fn inbox_loop(self: Arc<Self>) {
        loop {
            let _ = tokio::time::timeout(self.options.poll, self.mail.notified()).await;
            if self.locals.len() == 0 {
                continue;
            }
            match self.store.inbox_waiting(&self.worker).await {
                Ok(waiting) => waiting.iter().filter_map(|id| self.local(id)).for_each(|local| {
                    local.tell(Nudge::Inbox);
                }),
                Err(error) => tracing::warn!(%error, "inboxes not read"),
            }
        }
    }

    /// Ends as a killed process does: nothing is finished, and nothing is handed back.
    pub(crate) fn crash(&self) {
        self.crashed.cancel();
    }

    /// Stops: running steps may finish within `grace`, the rest is handed back. Leases are renewed to the end.
    pub(crate) async fn shut_down(&self, grace: Duration) {
        let begun = Instant::now();
        signals::drains(self, self.locals.len(), grace);
        self.locals.drain(tokio::time::Instant::now() + grace.min(LONGEST_GRACE));
        self.drivers.close();
        self.drivers.wait().await;
        self.stop.cancel();
        signals::stopped(self, begun.elapsed());
    }
}
