//! Who sees everything that happens in a world, and keeps what is needed to judge it.
//! Not a judge of logs: those are looked at when all has come to rest, by [`crate::rules`].

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use loom_runtime::{
    ExecutionId, Timestamp,
    ports::{Append, BatchId, InboxId},
};
use tokio::time::Instant;

use crate::rules::{Broken, Rule};

/// Something that happened beside the logs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: String,
    /// Whether it concerns all executions.
    pub general: bool,
}

/// What was seen so far.
#[derive(Clone, Debug)]
pub(crate) struct Witness(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// What the world's clock showed then.
    began: (Timestamp, Instant),
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Which boot of which process was given a fence.
    owners: BTreeMap<(ExecutionId, u64), String>,
    /// The batch that each log took last.
    last: BTreeMap<ExecutionId, BatchId>,
    consumed: BTreeMap<(ExecutionId, InboxId), u32>,
    effects: BTreeMap<(String, u32), u32>,
    /// What clients were told is in: to whom, and what it says.
    pub(crate) accepted: Vec<(ExecutionId, String)>,
    pub(crate) broken: Vec<Broken>,
    pub(crate) chronicle: Vec<Told>,
    pub(crate) counts: BTreeMap<&'static str, u64>,
}

impl Witness {
    /// From now on: the world's clock shows `at`.
    pub(crate) fn from(at: Timestamp) -> Self {
        Self(Arc::new(Inner { began: (at, Instant::now()), seen: Mutex::default() }))
    }

    /// The world's time.
    pub(crate) fn now(&self) -> Timestamp {
        self.0.began.0.plus(self.0.began.1.elapsed())
    }

    pub(crate) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts something.
    pub(crate) fn note(&self, what: &'static str) {
        *self.seen().counts.entry(what).or_default() += 1;
    }

    /// Remembers something, for who reads what happened.
    pub(crate) fn tell(&self, what: String, general: bool) {
        let at = self.now();
        self.seen().chronicle.push(Told { at, what, general });
    }

    pub(crate) fn broken(&self, rule: Rule, execution: &ExecutionId, what: String) {
        self.tell(format!("broken, {rule:?} of `{execution}`: {what}"), false);
        self.seen().broken.push(Broken { rule, execution: execution.clone(), what });
    }

    /// A fence was given to a process.
    pub(crate) fn given(&self, execution: &ExecutionId, fence: u64, process: &str) {
        self.tell(format!("process {process} is given fence {fence} of `{execution}`"), false);
        let mut seen = self.seen();
        let earlier = seen.owners.insert((execution.clone(), fence), process.to_owned());
        // A start that is asked for twice is given to who asks.
        if let Some(earlier) = earlier.filter(|earlier| earlier != process) {
            let what = format!("fence {fence} was given to process {earlier} and to process {process}");
            seen.broken.push(Broken { rule: Rule::OneOwner, execution: execution.clone(), what });
        }
    }

    pub(crate) fn owner(&self, execution: &ExecutionId, fence: u64) -> Option<String> {
        self.seen().owners.get(&(execution.clone(), fence)).cloned()
    }

    /// An append was taken.
    pub(crate) fn took(&self, append: &Append, process: &str) {
        let (execution, fence) = (&append.execution, append.fence);
        let mut seen = self.seen();
        if seen.last.insert(execution.clone(), append.batch) == Some(append.batch) {
            return; // again
        }
        let newest = seen.owners.range(..=(execution.clone(), u64::MAX)).next_back();
        let newest =
            newest.filter(|((id, _), _)| id == execution).map(|((_, fence), of)| (*fence, of.clone()));
        if newest.as_ref().is_none_or(|(newest, of)| (*newest, of.as_str()) != (fence, process)) {
            let newest =
                newest.map_or("nobody".to_owned(), |(fence, of)| format!("process {of}, fence {fence}"));
            let what = format!("process {process}, fence {fence}, has appended; the owner is {newest}");
            seen.broken.push(Broken { rule: Rule::OneOwner, execution: execution.clone(), what });
        }
        // 0 is none: what did not come through the inbox.
        for item in append.consumed.iter().filter(|item| **item > 0) {
            let count = seen.consumed.entry((execution.clone(), *item)).or_default();
            *count += 1;
            if *count > 1 {
                let what = format!("item {item} of its inbox was consumed {count} times");
                seen.broken.push(Broken { rule: Rule::ExactlyOnce, execution: execution.clone(), what });
            }
        }
    }

    /// An effect happened; answers how often by now.
    pub(crate) fn effect(&self, key: &str, attempt: u32) -> u32 {
        let mut seen = self.seen();
        *seen.counts.entry("effects").or_default() += 1;
        let count = seen.effects.entry((key.to_owned(), attempt)).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn accepted(&self, execution: &ExecutionId, says: String) {
        self.seen().accepted.push((execution.clone(), says));
    }
}
