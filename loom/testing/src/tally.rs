//! Tallies: how often something has happened to the world. Not recorded by executions, which is the point.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

/// Counts an effect on the world, for as long as the test lasts: no crash sets it back. Cheap to clone.
///
/// A disturbed run of a test has to come to the same counts as the one that nobody disturbed; a difference fails it. So a
/// step that charges a card again when it is run again is found, whatever the log says.
///
/// ```
/// let charged = testing::Tally::default(); // `test.tally("charged")` gives one that is compared
/// charged.hit(); // it happened
/// charged.hit_once("key-7"); // it happened, unless it had under this key
/// charged.hit_once("key-7");
/// assert_eq!(charged.count(), 2);
/// ```
#[derive(Clone, Default)]
pub struct Tally(Arc<Mutex<Count>>);

#[derive(Default)]
struct Count {
    hits: usize,
    keys: BTreeSet<String>,
}

impl Tally {
    /// It happened. Answers how often it has by now.
    pub fn hit(&self) -> usize {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.hits += 1;
        count.hits
    }

    /// It happened, unless it had under this key: as the other side does it that is given
    /// [`StepCx::idempotency_key`](loom_runtime::StepCx::idempotency_key). Answers how often it has by now.
    pub fn hit_once(&self, key: &str) -> usize {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count.hits += usize::from(count.keys.insert(key.to_owned()));
        count.hits
    }

    /// How often it has happened.
    pub fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).hits
    }
}

/// All of one round, by their names.
#[derive(Default)]
pub(crate) struct Tallies(Mutex<BTreeMap<String, Tally>>);

impl Tallies {
    pub(crate) fn named(&self, name: &str) -> Tally {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.to_owned()).or_default().clone()
    }

    pub(crate) fn counts(&self) -> BTreeMap<String, usize> {
        let tallies = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tallies.iter().map(|(name, tally)| (name.clone(), tally.count())).collect()
    }
}
