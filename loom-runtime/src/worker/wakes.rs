//! When the executions that this worker suspended go on: so that it asks the store at the right moment.
//! Only a hint: the store's rows are the truth, and are polled.

use std::{
    cmp::Reverse,
    collections::BinaryHeap,
    sync::{Mutex, PoisonError},
};

use kernel::Timestamp;

/// Remembered no further: the poll finds the rest.
const MOST: usize = 10_000;

#[derive(Default)]
pub(super) struct Wakes(Mutex<BinaryHeap<Reverse<Timestamp>>>);

impl Wakes {
    pub(super) fn add(&self, at: Timestamp) {
        let mut heap = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if heap.len() < MOST {
            heap.push(Reverse(at));
        }
    }

    /// Forgets what has come by `now`, and answers what comes next.
    pub(super) fn next(&self, now: Timestamp) -> Option<Timestamp> {
        let mut heap = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while heap.peek().is_some_and(|Reverse(at)| *at <= now) {
            heap.pop();
        }
        heap.peek().map(|Reverse(at)| *at)
    }
}
