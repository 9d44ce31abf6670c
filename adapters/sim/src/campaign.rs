//! Many worlds, one after the other on each of some threads, until one of them breaks a rule.
//! Not what is done about that one: that is [`crate::smallest`].

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

use crate::{History, Plan, run};

/// How many executions a world has, unless fewer are left.
pub const A_WORLD: u64 = 40;

/// What is to be lived through.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// The seed of the first world; each further one has the next.
    pub seed: u64,
    /// How many executions, children and forks not counted.
    pub executions: u64,
    /// On how many threads.
    pub jobs: usize,
}

/// What has been lived through.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// How many worlds.
    pub worlds: u64,
    /// How many executions were planned in them.
    pub executions: u64,
    /// How often what happened, over all worlds.
    pub counts: BTreeMap<&'static str, u64>,
    /// The first world that broke a rule, by its seed.
    pub failed: Option<(Plan, History)>,
}

impl Campaign {
    /// The nth world, from 0, if there are so many.
    pub fn plan(&self, nth: u64) -> Option<Plan> {
        let left = self.executions.saturating_sub(nth.saturating_mul(A_WORLD));
        (left > 0).then(|| Plan::random(self.seed.wrapping_add(nth), left.min(A_WORLD)))
    }

    /// Lives through it. Each thread begins with `prepare`; `told` hears of each world that is over.
    pub fn run(&self, prepare: impl Fn() + Sync, told: impl Fn(&Tally) + Sync) -> Tally {
        let (next, stop, tally) = (AtomicU64::new(0), AtomicBool::new(false), Mutex::new(Tally::default()));
        let work = || {
            prepare();
            while !stop.load(Ordering::Relaxed)
                && let Some(plan) = self.plan(next.fetch_add(1, Ordering::Relaxed))
            {
                let mut history = run(&plan);
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                tally.worlds += 1;
                tally.executions += plan.executions.len() as u64;
                for (what, often) in std::mem::take(&mut history.counts) {
                    *tally.counts.entry(what).or_default() += often;
                }
                if !history.broken.is_empty() {
                    stop.store(true, Ordering::Relaxed);
                    let first = tally.failed.as_ref().is_none_or(|(earlier, _)| plan.seed < earlier.seed);
                    if first {
                        tally.failed = Some((plan, history));
                    }
                }
                told(&tally);
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.max(1) {
                scope.spawn(work);
            }
        });
        tally.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
