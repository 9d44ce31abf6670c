//! The world that steps touch: what happened there is counted, and doors hold steps back until they are opened.
//! Not part of any execution: it outlives programs and crashes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

#[derive(Clone, Default)]
pub(crate) struct World(Arc<Inner>);

#[derive(Default)]
struct Inner {
    tallies: Mutex<BTreeMap<String, usize>>,
    doors: Mutex<BTreeMap<String, bool>>,
    changed: Notify,
}

impl World {
    /// Something happens; answers how often it has by now.
    pub(crate) fn hit(&self, what: impl Into<String>) -> usize {
        let mut tallies = lock(&self.0.tallies);
        let tally = tallies.entry(what.into()).or_default();
        *tally += 1;
        let now = *tally;
        drop(tallies);
        self.0.changed.notify_waiters();
        now
    }

    /// How often it has happened.
    pub(crate) fn count(&self, what: &str) -> usize {
        lock(&self.0.tallies).get(what).copied().unwrap_or(0)
    }

    /// Everything that has happened, with how often.
    pub(crate) fn all(&self) -> BTreeMap<String, usize> {
        lock(&self.0.tallies).clone()
    }

    /// Waits until it has happened so often.
    pub(crate) async fn seen(&self, what: &str, often: usize) {
        self.wait(|| self.count(what) >= often).await;
    }

    /// Waits at a door until somebody opens it; open doors stay open.
    pub(crate) async fn pass(&self, door: &str) {
        self.wait(|| lock(&self.0.doors).get(door).copied().unwrap_or(false)).await;
    }

    pub(crate) fn open(&self, door: &str) {
        lock(&self.0.doors).insert(door.into(), true);
        self.0.changed.notify_waiters();
    }

    async fn wait(&self, holds: impl Fn() -> bool) {
        loop {
            let changed = self.0.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if holds() {
                return;
            }
            changed.await;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
