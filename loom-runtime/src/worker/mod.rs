//! The worker: claims what is due, keeps its leases, and runs a driver per execution.
//! Not a scheduler of steps: each driver runs its own.

mod attempt;
mod birth;
mod driver;
mod engine;
mod locals;
mod parked;
mod room;
mod signals;
mod snapshots;
mod streams;
mod transition;
mod wakes;

pub(crate) use birth::{Birth, Branch, Place};
pub(crate) use engine::Engine;
pub(crate) use locals::Progress;
pub(crate) use streams::{Feed, Reader, Told, Turn};
pub(crate) use transition::gate as gate_change;

use std::time::Duration;

/// How a worker behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerOptions {
    /// How long a lease holds without a heartbeat: after that, others take over. 10 s unless set.
    pub lease: Duration,
    /// How often the store is asked for what is due. 100 ms unless set.
    pub poll: Duration,
    /// How many executions run here at once; suspended ones do not count. 1,000 unless set.
    pub running: usize,
    /// About how many bytes of logs are in memory at once, those of what runs here and those that are being read; 256 MiB
    /// unless set. Executions that are woken beyond that wait for those before them, and are handed back after as long as a
    /// lease holds: another worker may have room. One log that is larger than this is still read, by itself.
    pub memory: u64,
    /// How often in a row an execution may be taken over without an outcome: 5 times unless set, and then it is parked. What kills
    /// its process does so once more than that, since its first owner did not take it over.
    pub takeovers: u32,
    /// How long an execution that only waits for a near timer stays in memory. 50 ms unless set.
    pub linger: Duration,
    /// How long events may wait for company when nothing depends on them. 10 ms unless set.
    pub lag: Duration,
    /// About how many events of a run lie between two snapshots of its state, which shorten reads and forks of it; fewer and
    /// fewer of them in a run that gets very long. One more is kept where the execution suspends, if it has passed a quarter
    /// of that distance since it was taken up, so that one which wakes for a few events writes none; and one of each fork of
    /// more than 1,000 events. 0 for none, unless set: they about halve a read of more than 1,000 events (41
    /// to 22 ms at 20,000), and cost a write each. A shorter log is read without them.
    pub snapshot_every: u64,
    /// Whether to take up what other, vanished workers left, and whatever else is due. True unless set.
    pub recover: bool,
}

impl Default for WorkerOptions {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(10),
            poll: Duration::from_millis(100),
            running: 1_000,
            memory: 256 << 20,
            takeovers: 5,
            linger: Duration::from_millis(50),
            lag: Duration::from_millis(10),
            snapshot_every: 0,
            recover: true,
        }
    }
}
