//! The workers, and the hand that kills, stops and continues them.
//! Not their database, which others hurt.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use crate::{Database, Dice, Ledger, Process};

/// What was done to a fleet, and how often.
#[derive(Debug, Default)]
pub struct Faults(BTreeMap<&'static str, u32>);

impl Faults {
    /// One more.
    pub fn count(&mut self, fault: &'static str) {
        *self.0.entry(fault).or_default() += 1;
    }

    /// How often.
    pub fn of(&self, fault: &str) -> u32 {
        self.0.get(fault).copied().unwrap_or_default()
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(|(fault, count)| format!("{count} {fault}")).collect();
        f.write_str(&all.join(", "))
    }
}

/// Since when no worker is stopped; none, while one is.
#[derive(Clone)]
pub(crate) struct Calm(Arc<Mutex<Option<Instant>>>);

impl Calm {
    /// Whether nobody has been stopped for so long.
    pub(crate) fn has_lasted(&self, time: Duration) -> bool {
        self.0.lock().unwrap().is_some_and(|since| since.elapsed() >= time)
    }
}

/// Workers on one database. All are gone when this is dropped.
pub struct Fleet {
    start: Box<dyn Fn() -> Process>,
    workers: Vec<Worker>,
    calm: Calm,
    pub(crate) faults: Faults,
}

struct Worker {
    process: Process,
    /// Until when it is stopped.
    stopped: Option<Instant>,
}

impl Fleet {
    /// So many workers, each a process that runs `test` of this program.
    pub fn start(size: usize, test: &'static str, database: Database, ledger: Ledger) -> Self {
        let start = Box::new(move || Process::start(test, "work", &database, &ledger));
        let workers = (0..size).map(|_| Worker { process: start(), stopped: None }).collect();
        let calm = Calm(Arc::new(Mutex::new(Some(Instant::now()))));
        Self { start, workers, calm, faults: Faults::default() }
    }

    pub(crate) fn calm(&self) -> Calm {
        self.calm.clone()
    }

    /// Kills one, stopped or not, and puts another in its place.
    pub(crate) fn kill(&mut self, dice: &mut Dice) {
        let worker = self.any(dice);
        let started = (self.start)();
        self.workers[worker] = Worker { process: started, stopped: None };
        self.faults.count("kills");
        self.note();
    }

    /// Stops one: for less than its lease, or for more.
    pub(crate) fn stop(&mut self, dice: &mut Dice) {
        let (worker, time) = (self.any(dice), Duration::from_millis(300 + dice.below(4_000)));
        let worker = &mut self.workers[worker];
        worker.process.signal("STOP");
        worker.stopped = Some(Instant::now() + time);
        self.faults.count("stops");
        self.note();
    }

    /// Lets those go on whose time has come.
    ///
    /// # Panics
    /// When one has ended that nobody killed.
    pub(crate) fn go_on(&mut self, by: Instant) {
        for worker in &mut self.workers {
            assert!(worker.process.is_alive(), "a worker has ended by itself");
            if worker.stopped.is_some_and(|until| until <= by) {
                worker.process.signal("CONT");
                worker.stopped = None;
            }
        }
        self.note();
    }

    /// Lets all go on.
    pub(crate) fn rest(&mut self) {
        self.go_on(Instant::now() + Duration::from_secs(3_600));
    }

    fn any(&self, dice: &mut Dice) -> usize {
        usize::try_from(dice.below(self.workers.len() as u64)).unwrap()
    }

    fn note(&self) {
        let mut calm = self.calm.0.lock().unwrap();
        match self.workers.iter().any(|worker| worker.stopped.is_some()) {
            true => *calm = None,
            false => *calm = calm.or_else(|| Some(Instant::now())),
        }
    }
}
