//! The drivers of this process, by execution: how to reach them, and until when their leases hold.
//! Not their owner: each ends by itself, and gives its seat up.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
    },
};

use kernel::{
    ExecutionId, Outcome, Status, Timestamp,
    planted::{Bug, planted},
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

use super::driver::Nudge;

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
    pub(super) fence: u64,
    pub(super) nudges: mpsc::UnboundedSender<Nudge>,
    pub(crate) progress: watch::Receiver<Progress>,
    pub(super) lease: Lease,
}

impl Local {
    /// A driver that is gone needs no telling. Answers whether it was there.
    pub(super) fn tell(&self, nudge: Nudge) -> bool {
        self.nudges.send(nudge).is_ok()
    }
}

/// Until when one execution is leased to this worker; only the renewals that held it move it on.
#[derive(Clone)]
pub(super) struct Lease(Arc<AtomicI64>);

impl Lease {
    pub(super) fn until(until: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(until.as_micros())))
    }

    pub(super) fn end(&self) -> Timestamp {
        Timestamp::from_micros(self.0.load(Ordering::Acquire))
    }

    fn extend(&self, until: Timestamp) {
        self.0.fetch_max(until.as_micros(), Ordering::AcqRel);
    }
}

/// Seats that nobody else gets. What was seated meanwhile takes them when this is dropped.
pub(super) struct Seats<'l> {
    of: &'l Locals,
    pub(super) count: usize,
}

impl Drop for Seats<'_> {
    fn drop(&mut self) {
        self.of.table().reserved -= self.count;
    }
}

#[derive(Default)]
pub(super) struct Locals(Mutex<Table>);

#[derive(Default)]
struct Table {
    drivers: BTreeMap<ExecutionId, Local>,
    /// Seats for executions that the store is being asked for.
    reserved: usize,
    /// Set once this worker stops.
    drains: bool,
}

impl Locals {
    /// Seats a driver. An earlier one of the same execution has lost it; one that comes while the worker stops has
    /// begun nothing that it could finish, and hands back at once.
    pub(super) fn seat(&self, execution: ExecutionId, local: Local) {
        let mut table = self.table();
        if table.drains {
            local.tell(Nudge::Drain(Instant::now()));
        }
        if let Some(earlier) = table.drivers.insert(execution, local) {
            earlier.tell(Nudge::Lost);
        }
    }

    /// Reserves seats while the store is asked for executions to seat: as many as are wanted, or as are left of
    /// `all`. None while this worker stops.
    pub(super) fn reserve(&self, wanted: usize, all: usize) -> Seats<'_> {
        let mut table = self.table();
        let left = if table.drains { 0 } else { all.saturating_sub(table.drivers.len() + table.reserved) };
        let count = wanted.min(left);
        table.reserved += count;
        Seats { of: self, count }
    }

    /// Gives a seat up. Answers how many were taken before.
    pub(super) fn leave(&self, execution: &ExecutionId, fence: u64) -> usize {
        let mut table = self.table();
        let taken = table.drivers.len();
        if table.drivers.get(execution).is_some_and(|local| local.fence == fence) {
            table.drivers.remove(execution);
        }
        taken
    }

    pub(super) fn get(&self, execution: &ExecutionId) -> Option<Local> {
        self.table().drivers.get(execution).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.table().drivers.len()
    }

    pub(super) fn all(&self) -> Vec<(ExecutionId, Local)> {
        self.table().drivers.iter().map(|(id, local)| (id.clone(), local.clone())).collect()
    }

    /// Moves the leases on that a renewal until `until` held.
    pub(super) fn extend(&self, held: &BTreeMap<ExecutionId, u64>, until: Timestamp) {
        let table = self.table();
        let is_held = |id, local: &Local| held.get(id) == Some(&local.fence);
        let kept = table.drivers.iter();
        let kept = kept.filter(|(id, local)| is_held(*id, local) || planted(Bug::HeartbeatAfterExpiry));
        kept.for_each(|(_, local)| local.lease.extend(until));
    }

    pub(super) fn is_draining(&self) -> bool {
        self.table().drains
    }

    /// Tells every driver to finish until then.
    pub(super) fn drain(&self, until: Instant) {
        let mut table = self.table();
        table.drains = true;
        table.drivers.values().for_each(|local| {
            local.tell(Nudge::Drain(until));
        });
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
