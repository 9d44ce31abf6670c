//! The world of one round: the store, the process that runs the flows, and what is known of both from outside.
//! Not the test: that holds a world, and talks to it as people would.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt;
use loom_runtime::{
    App, ExecutionId, Memory, Registry, Resources, Status, Timestamp, WorkerOptions,
    kernel::Envelope,
    ports::{EventStore, ExecutionRow, GateIndex, GateState, ListFilter, WorkerId},
};
use tokio::{sync::watch, time::Instant};

use crate::{
    bodies::Bodies,
    chance::Chance,
    disturbance::{Disturbance, Point},
    script::Script,
    tally::Tallies,
    timeline::Mark,
    wire::Wire,
};

/// Every test begins at 2026-01-01T00:00:00Z.
const BEGIN: Timestamp = Timestamp::from_micros(1_767_225_600_000_000);

/// Long against everything that happens between two events: time costs nothing, but looking does.
const DAY: Duration = Duration::from_secs(86_400);

/// How often is looked where calls are lost.
const SECONDS: Duration = Duration::from_secs(10);

/// How long a process that hands back may take.
const GRACE: Duration = Duration::from_secs(365 * 86_400);

/// After so long without an event nothing will ever happen.
const PATIENCE: Duration = Duration::from_secs(365 * 86_400);

/// One round's world. Cheap to clone.
#[derive(Clone)]
pub(crate) struct World(Arc<Inner>);

struct Inner {
    memory: Memory,
    begin: Instant,
    disturbance: Disturbance,
    chance: Option<Chance>,
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    bodies: Bodies,
    script: Script,
    tallies: Tallies,
}

#[derive(Default)]
struct State {
    resources: Resources,
    /// Whoever looks from outside. Runs nothing.
    client: Option<App>,
    /// The process that runs flows now, and its number.
    process: Option<(usize, App)>,
    processes: usize,
    dead: BTreeSet<WorkerId>,
    writes: Vec<Write>,
    marks: Vec<Mark>,
    /// What the test has started last.
    last: Option<ExecutionId>,
    /// What a verdict was given on: an execution that was parked at this length of its log.
    judged: BTreeSet<(ExecutionId, u64)>,
    /// What the test itself has done wrong.
    failure: Option<String>,
}

/// A write of the process: some events of one log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) execution: ExecutionId,
    /// The sequence of its first event, and the one after its last.
    pub(crate) from: u64,
    pub(crate) until: u64,
    /// What they are: the kind of each.
    pub(crate) kinds: Vec<String>,
}

impl World {
    pub(crate) fn new(disturbance: Disturbance) -> Self {
        let inner = Inner {
            memory: Memory::new(),
            begin: Instant::now(),
            disturbance,
            chance: Chance::new(disturbance),
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            bodies: Bodies::default(),
            script: Script::default(),
            tallies: Tallies::default(),
        };
        Self(Arc::new(inner))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.0.memory
    }

    pub(crate) fn disturbance(&self) -> Disturbance {
        self.0.disturbance
    }

    /// What a seed says of the calls of the store, if there is one.
    pub(crate) fn chance(&self) -> Option<&Chance> {
        self.0.chance.as_ref()
    }

    pub(crate) fn bodies(&self) -> &Bodies {
        &self.0.bodies
    }

    pub(crate) fn script(&self) -> &Script {
        &self.0.script
    }

    pub(crate) fn tallies(&self) -> &Tallies {
        &self.0.tallies
    }

    pub(crate) fn begin(&self) -> Timestamp {
        BEGIN
    }

    pub(crate) fn now(&self) -> Timestamp {
        BEGIN.plus(self.0.begin.elapsed())
    }

    pub(crate) fn provide<T: Send + Sync + 'static>(&self, resource: T) {
        let mut state = self.state();
        assert!(state.process.is_none(), "`test.provide(..)` comes before the first flow is started");
        state.resources = state.resources.clone().with(resource);
    }

    /// The program as seen from outside, which no crash touches.
    pub(crate) fn client(&self) -> App {
        if let Some(client) = self.state().client.clone() {
            return client;
        }
        let client = self.build(None);
        self.state().client.insert(client).clone()
    }

    fn build(&self, process: Option<usize>) -> App {
        let resources = self.state().resources.clone().with(self.clone());
        let faulty = self.0.chance.is_some();
        let options = WorkerOptions {
            // A claim that was refused is made again, and what a lost acknowledgement leaves held by nobody is given up.
            lease: if faulty { SECONDS * 60 } else { DAY },
            poll: if faulty { SECONDS } else { DAY },
            linger: Duration::ZERO,
            lag: Duration::ZERO,
            running: if process.is_some() { 1_000 } else { 0 },
            recover: process.is_some(),
            ..WorkerOptions::default()
        };
        let builder = App::builder()
            .store(Wire::new(self.clone(), process))
            .registry(Registry::linked().with_steps(crate::bodies::intercepted))
            .resources(resources)
            .worker(options)
            .runtime_clock_at(self.now());
        builder.build().unwrap_or_else(|error| panic!("{error}"))
    }

    /// A process that runs flows, from now on.
    pub(crate) fn boot(&self) {
        if self.state().process.is_some() {
            return;
        }
        let number = self.state().processes;
        let app = self.build(Some(number));
        let mut state = self.state();
        state.processes += 1;
        if state.processes == 1 {
            let world = self.clone();
            tokio::spawn(async move { world.answer().await });
        }
        app.work();
        state.process = Some((number, app));
    }

    /// Whether this is the process that runs flows.
    pub(crate) fn is_alive(&self, process: usize) -> bool {
        self.state().process.as_ref().is_some_and(|(number, _)| *number == process)
    }

    /// It dies here; another one takes over.
    pub(crate) fn crash(&self, mark: Mark) {
        let dead = {
            let mut state = self.state();
            let Some((_, app)) = state.process.take() else { return };
            state.dead.insert(app.worker().to_owned());
            state.marks.push(mark);
            app
        };
        dead.crash();
        self.reboot();
    }

    /// It finishes what runs and hands the rest back; another one takes it up.
    pub(crate) fn hand_back(&self) {
        let Some((_, app)) = self.state().process.take() else { return };
        tokio::spawn(async move { app.shutdown(GRACE).await });
        self.reboot();
    }

    fn reboot(&self) {
        let world = self.clone();
        tokio::spawn(async move { world.boot() });
    }

    /// Whether a lease is of a process that has died.
    pub(crate) fn is_dead(&self, worker: &WorkerId) -> bool {
        self.state().dead.contains(worker)
    }

    /// Whether the process is to die at this point of the round.
    pub(crate) fn dies_at(&self, point: Point) -> bool {
        self.0.disturbance == Disturbance::Crash(point) && self.state().marks.is_empty()
    }

    /// How many writes the process has made.
    pub(crate) fn written(&self) -> usize {
        self.state().writes.len()
    }

    pub(crate) fn wrote(&self, write: Write) {
        self.state().writes.push(write);
    }

    pub(crate) fn writes(&self) -> Vec<Write> {
        self.state().writes.clone()
    }

    /// Where processes have died.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        self.state().marks.clone()
    }

    /// Something has changed in the store.
    pub(crate) fn tell(&self) {
        self.0.changed.send_modify(|changes| *changes += 1);
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.changed.subscribe()
    }

    /// Notes what the test has started.
    pub(crate) fn started(&self, execution: &ExecutionId) {
        self.state().last = Some(execution.clone());
    }

    pub(crate) fn last(&self) -> Option<ExecutionId> {
        self.state().last.clone()
    }

    /// Notes that a verdict was given on what parked an execution.
    pub(crate) fn judged(&self, row: &ExecutionRow) {
        self.state().judged.insert((row.id.clone(), row.next));
    }

    /// Notes what makes the test fail, whatever its body says.
    pub(crate) fn fail(&self, failure: String) {
        self.state().failure.get_or_insert(failure);
        self.tell();
    }

    /// Everything that there is, in order of the ids.
    pub(crate) fn rows(&self) -> Vec<ExecutionRow> {
        at_once(self.0.memory.list(&ListFilter::default())).unwrap_or_default()
    }

    /// Every log, in order of the ids.
    pub(crate) fn logs(&self) -> Vec<Vec<Envelope>> {
        let (client, rows) = (self.client(), self.rows());
        let log = |row: &ExecutionRow| match at_once(client.log(&row.id, 0, usize::MAX >> 1)) {
            Ok(log) => log,
            Err(error) => panic!("the log of `{}` cannot be read: {error}", row.id),
        };
        rows.iter().map(log).collect()
    }

    /// Waits until the executions are as `holds` says, and judges meanwhile what a crash has left in doubt.
    ///
    /// # Errors
    /// They never will be, or the test itself is wrong.
    pub(crate) async fn until(&self, holds: impl Fn(&[ExecutionRow]) -> bool) -> Result<(), String> {
        let mut changes = self.changes();
        loop {
            if let Some(failure) = self.state().failure.clone() {
                return Err(failure);
            }
            let rows = self.rows();
            let mut judged = false;
            for row in rows.iter().filter(|row| row.status == Status::Parked) {
                judged |= self.state().judged.contains(&(row.id.clone(), row.next)) || self.judge(row).await;
            }
            if !judged && holds(&rows) {
                return Ok(());
            }
            if tokio::time::timeout(PATIENCE, changes.changed()).await.is_err() {
                let (now, rows) = (self.now(), self.rows());
                if !rows.iter().any(|row| row.wake_at.is_some_and(|at| at > now)) {
                    return Err(self.stuck(&rows));
                }
            }
        }
    }

    /// Waits until nothing runs any more. What waits for a timer, a gate or a message may do so.
    pub(crate) async fn come_to_rest(&self) -> Result<(), String> {
        self.until(|rows| rows.iter().all(|row| row.status != Status::Running)).await
    }

    /// Why nothing happens.
    fn stuck(&self, rows: &[ExecutionRow]) -> String {
        let mut said = "nothing has happened for a year of the test's time".to_owned();
        for row in rows.iter().filter(|row| !row.status.is_terminal()) {
            let gates = at_once(self.0.memory.gates(Some(&row.id))).unwrap_or_default();
            let open = gates.iter().find(|gate| gate.state == GateState::Open);
            let why = match (row.status, open) {
                (_, Some(gate)) => {
                    format!(
                        "waits at the gate `{}`: script it with `test.answer(\"{}\", ..)`",
                        gate.frame, gate.gate
                    )
                }
                (Status::Running, None) => "runs a step that does not end".to_owned(),
                (status, None) => format!("is {status}: what it waits for, nobody gives"),
            };
            said.push_str(&format!("\n    `{}` {why}", row.id));
        }
        said
    }

    /// The end of the round: nothing holds on to it.
    pub(crate) fn end(&self) {
        let mut state = self.state();
        let (process, client) = (state.process.take(), state.client.take());
        drop(state);
        if let Some((_, process)) = process {
            process.crash();
        }
        drop(client);
    }
}

/// What a store in memory says without waiting.
pub(crate) fn at_once<T>(future: impl Future<Output = T>) -> T {
    match future.now_or_never() {
        Some(said) => said,
        None => unreachable!("the memory store waits for nobody"),
    }
}
