//! A world: processes on one store, on one clock that moves by itself whenever everybody waits, in one thread.
//! Not what clients do in it: that is [`crate::clients`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use loom_runtime::{
    App, ExecutionId, Memory, Timestamp, WorkerOptions,
    kernel::{Envelope, Record, Snapshot},
    ports::{EventStore, ExecutionRow, ListFilter, SnapshotStore},
};
use tokio::task::JoinSet;

use crate::{
    Dice, Disaster, Plan, Process, Strike, What,
    clients::{self, CLIENT},
    flow::{self},
    ledger::Ledger,
    plan::SPAN,
    rules::{self, Broken, Ended, Rule},
    store::Road,
    weather::Weather,
    witness::{Told, Witness},
};

/// What every world's clock shows when it begins: 2026-01-01, and a bit, so that no instant is a round one.
const BEGINS: Timestamp = Timestamp::from_micros(1_767_225_600_123_457);

/// How long everything may take to end once nothing goes wrong any more.
const REST: Duration = Duration::from_secs(120);

/// What happened in a world.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// What did not hold.
    pub broken: Vec<Broken>,
    /// The faults that struck.
    pub strikes: Vec<Strike>,
    /// What happened beside the logs, in order.
    pub chronicle: Vec<Told>,
    /// How often what happened.
    pub counts: BTreeMap<&'static str, u64>,
    /// The log of each execution.
    pub logs: BTreeMap<ExecutionId, Vec<Record>>,
}

/// How the workers of a world behave: in some, nothing fits.
fn options(seed: u64) -> WorkerOptions {
    let mut dice = Dice::at(seed, "options");
    let ms = Duration::from_millis;
    WorkerOptions {
        lease: ms(2_000),
        poll: ms(200),
        // The hand that kills is no fault of an execution.
        takeovers: 1_000_000,
        snapshot_every: 1 + dice.below(12),
        running: if dice.below(4) == 0 { 3 } else { 1_000 },
        memory: if dice.below(4) == 0 { 16 << 10 } else { 256 << 20 },
        linger: ms([0, 50, 400][dice.below(3) as usize]),
        lag: ms([0, 10, 300][dice.below(3) as usize]),
        ..WorkerOptions::default()
    }
}

pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) store: Memory,
    pub(crate) weather: Weather,
    pub(crate) witness: Witness,
    /// The newest boot of each process.
    boots: Mutex<Vec<Option<(Process, App)>>>,
}

/// Lives through a plan: always in the same way.
///
/// # Panics
/// The async runtime cannot be built.
pub fn run(plan: &Plan) -> History {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.expect("a runtime of one thread needs nothing");
    runtime.block_on(World::live(plan.clone()))
}

impl World {
    async fn live(plan: Plan) -> History {
        let world = Arc::new(Self {
            store: Memory::new(),
            weather: Weather::of(plan.seed, &plan.faults, plan.delays),
            witness: Witness::from(BEGINS),
            boots: Mutex::new(vec![None; plan.processes]),
            plan,
        });
        let mut lives = JoinSet::new();
        for process in 0..world.plan.processes {
            lives.spawn(world.clone().lives(process));
        }
        let mut happens = JoinSet::new();
        for disaster in world.plan.disasters.clone() {
            happens.spawn(world.clone().happens(disaster));
        }
        let client = world.program(&Process::named(CLIENT));
        // Calls go wrong for as long, also where little else happens.
        happens.spawn(tokio::time::sleep(Duration::from_millis(SPAN)));
        clients::begin(&world, &client, &mut happens);
        lives.spawn(clients::operate(world.clone(), client.clone()));
        while happens.join_next().await.is_some() {}
        world.weather.calm();
        world.witness.tell("nothing goes wrong any more".to_owned(), true);
        world.boots().iter().flatten().for_each(|(process, _)| process.ease());
        world.witness.note("worlds");
        let mut rested = Duration::ZERO;
        while !world.rests().await && rested < REST {
            let look = Duration::from_millis(500);
            tokio::time::sleep(look).await;
            rested += look;
        }
        lives.shutdown().await;
        world.judge(&client).await
    }

    /// A process, from boot to boot.
    async fn lives(self: Arc<Self>, process: usize) {
        for boot in 0.. {
            let it = Process::new(process, boot);
            let app = self.program(&it);
            self.witness.tell(format!("process {} boots", it.name()), true);
            app.work();
            self.boots()[process] = Some((it.clone(), app));
            it.died().await;
            self.witness.note("processes died");
            self.witness.tell(format!("process {} is dead", it.name()), true);
            self.boots()[process] = None;
            let mut dice = Dice::at(self.plan.seed, &format!("boot {}", it.name()));
            tokio::time::sleep(Duration::from_millis(20 + dice.below(3_000))).await;
        }
    }

    /// The program, as it is in a process.
    fn program(&self, process: &Process) -> App {
        let Self { store, weather, witness, .. } = self;
        let road = Road::to(store.clone(), process.clone(), weather.clone()).seen_by(witness);
        let ledger = Ledger { process: process.clone(), store: store.clone(), witness: witness.clone() };
        let seed = Dice::at(self.plan.seed, &format!("entropy {}", process.name())).any();
        let builder = App::builder().store(road).registry(flow::registry()).provide(ledger);
        let builder = builder.worker(options(self.plan.seed)).runtime_clock_at(witness.now()).seed(seed);
        builder.build().expect("the flow and its steps fit")
    }

    async fn happens(self: Arc<Self>, Disaster { at, process, what }: Disaster) {
        tokio::time::sleep(Duration::from_millis(at)).await;
        let Some((it, app)) = self.boots().get(process).cloned().flatten() else { return };
        self.witness.tell(format!("process {}: {what:?}", it.name()), true);
        match what {
            What::Crash => it.kill(),
            What::Pause(ms) => {
                self.witness.note("paused");
                it.stop(Duration::from_millis(ms));
            }
            What::Cut(ms) => {
                self.witness.note("partitions");
                it.cut(Duration::from_millis(ms));
            }
            What::Deploy(grace) => {
                self.witness.note("deploys");
                let grace = Duration::from_millis(grace);
                let _ = tokio::time::timeout(grace + Duration::from_secs(15), app.shutdown(grace)).await;
                it.kill();
            }
        }
    }

    pub(crate) fn boots(&self) -> MutexGuard<'_, Vec<Option<(Process, App)>>> {
        self.boots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn rows(&self) -> Vec<ExecutionRow> {
        self.store.list(&ListFilter::default()).await.unwrap_or_default()
    }

    /// Whether everything has come to an end.
    async fn rests(&self) -> bool {
        let rows = self.rows().await;
        let started = |number| rows.iter().any(|row| row.id == clients::id(number));
        rows.iter().all(|row| row.status.is_terminal())
            && self.plan.executions.iter().all(|planned| started(planned.number))
    }

    /// Looks at every log.
    async fn judge(&self, client: &App) -> History {
        let (rows, accepted) = (self.rows().await, std::mem::take(&mut self.witness.seen().accepted));
        let (mut broken, mut logs) = (Vec::new(), BTreeMap::new());
        for planned in &self.plan.executions {
            let id = clients::id(planned.number);
            if !rows.iter().any(|row| row.id == id) {
                broken.push(Broken {
                    rule: Rule::NobodyStranded,
                    execution: id,
                    what: "it was never started".into(),
                });
            }
        }
        for row in &rows {
            let records = self.store.read(&row.id, 0, usize::MAX).await.unwrap_or_default();
            let decoded = records.iter().map(|record| Envelope::decode(&row.id, record));
            let log: Vec<_> = match decoded.collect() {
                Ok(log) => log,
                Err(unreadable) => {
                    let (rule, execution) = (Rule::LiveIsReplay, row.id.clone());
                    broken.push(Broken { rule, execution, what: unreadable.to_string() });
                    continue;
                }
            };
            let snapshot = self.store.newest_snapshot(&row.id, Snapshot::STATE, u64::MAX).await;
            let said = accepted.iter().filter(|(to, _)| *to == row.id).map(|(_, says)| says.as_str());
            let planned = self.plan.executions.iter().find(|planned| {
                row.id == clients::id(planned.number) || row.id == clients::fork(planned.number)
            });
            broken.extend(rules::judge(&Ended {
                app: client,
                row,
                records: &records,
                log: &log,
                snapshot: snapshot.ok().flatten(),
                value: planned.map(|planned| planned.program.value()),
                accepted: &said.collect::<Vec<_>>(),
                prefixes: PREFIXES,
            }));
            let mut seen = self.witness.seen();
            *seen.counts.entry("events").or_default() += records.len() as u64;
            *seen.counts.entry("executions").or_default() += 1;
            for envelope in &log {
                *seen.counts.entry(envelope.event.kind().name()).or_default() += 1;
            }
            drop(seen);
            logs.insert(row.id.clone(), records);
        }
        let mut seen = self.witness.seen();
        // What was seen on the way comes first: it is nearer to its cause.
        let mut all = std::mem::take(&mut seen.broken);
        all.extend(broken);
        let (counts, chronicle) = (std::mem::take(&mut seen.counts), std::mem::take(&mut seen.chronicle));
        History { broken: all, strikes: self.weather.struck(), chronicle, counts, logs }
    }
}

/// How many prefixes of each run are replayed at most.
const PREFIXES: usize = 40;
