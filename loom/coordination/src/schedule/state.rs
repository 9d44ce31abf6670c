//! Where a schedule stands: what goes on, what waits, what was left out. The policy on overlaps is here.
//! Not tied to a context: the keeper acts on it, and the host folds it from the keeper's log.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use loom_runtime::{Overlap, Timestamp, ports};
use serde::{Deserialize, Serialize};

use super::{control::Control, spec::Spec};

/// How many of the instants that were left out are remembered: the latest.
const REMEMBERED: usize = 20;

/// The input of each run of the keeper.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub(super) struct State {
    pub(super) flow: String,
    pub(super) spec: Spec,
    /// Instants up to here have been looked at; from the start on if `None`.
    #[schemars(with = "Option<i64>")]
    pub(super) seen: Option<Timestamp>,
    /// By whom it was paused.
    pub(super) paused: Option<String>,
    /// Runs that go on, by their instants.
    #[schemars(with = "Vec<i64>")]
    pub(super) running: BTreeSet<Timestamp>,
    /// Those of them that were cancelled.
    #[serde(default)]
    #[schemars(with = "Vec<i64>")]
    pub(super) ending: BTreeSet<Timestamp>,
    /// Instants that have not begun yet, and why they will.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Cause>")]
    pub(super) waiting: BTreeMap<Timestamp, Cause>,
    /// Instants that never will, because another run went on: the latest.
    #[serde(default)]
    #[schemars(with = "Vec<i64>")]
    pub(super) left_out: VecDeque<Timestamp>,
    /// What this run of the keeper has asked for: an instant has one execution, asked for once.
    #[serde(skip)]
    asked: BTreeSet<Timestamp>,
}

/// Why an instant is to have a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Cause {
    /// It has come.
    Due,
    /// It came while nobody worked.
    Missed,
    /// Somebody wants it at once.
    Triggered,
    /// Somebody wants it in its turn.
    Backfilled,
}

impl Cause {
    /// Whether it is the schedule's own doing, and nobody's wish.
    fn is_own(self) -> bool {
        matches!(self, Self::Due | Self::Missed)
    }

    /// Whether it cancels what goes on, where the newest wins.
    fn presses(self) -> bool {
        matches!(self, Self::Due | Self::Triggered)
    }
}

impl State {
    pub(super) fn new(flow: &str, spec: Spec) -> Self {
        Self {
            flow: flow.into(),
            spec,
            seen: None,
            paused: None,
            running: BTreeSet::new(),
            ending: BTreeSet::new(),
            waiting: BTreeMap::new(),
            left_out: VecDeque::new(),
            asked: BTreeSet::new(),
        }
    }

    /// Heeds what it is told, at an instant; answers whether the next instant may be another one now.
    pub(super) fn heed(&mut self, control: Control, now: Timestamp) -> bool {
        match control {
            Control::Deployed(spec) => {
                let moved = !self.spec.is_due_like(&spec);
                self.spec = spec;
                if moved {
                    self.see(now);
                }
                moved
            }
            Control::Pause { by } => {
                self.paused = Some(by);
                self.leave_out_where(|_, cause| cause.is_own());
                true
            }
            // What was due in the meantime is not made up for: nobody wanted it.
            Control::Resume { .. } => self.paused.take().is_some_and(|_| {
                self.see(now);
                true
            }),
            Control::Trigger { at } => {
                self.press(at, Cause::Triggered);
                false
            }
            Control::Backfill { instants } => {
                // A wish outlives a pause, whatever else it waited for.
                let new = instants.into_iter().filter(|at| !self.asked.contains(at));
                self.waiting.extend(new.map(|at| (at, Cause::Backfilled)));
                false
            }
        }
    }

    /// Instants up to here are done with.
    pub(super) fn see(&mut self, until: Timestamp) {
        self.seen = self.seen.max(Some(until));
    }

    /// Heeds that these have come, in order. Of several, all but the last were missed.
    pub(super) fn come_due(&mut self, mut due: Vec<Timestamp>) {
        // Somebody may have wanted one before it came.
        due.retain(|at| !self.asked.contains(at));
        let Some(latest) = due.pop() else { return };
        let was_missed = !due.is_empty();
        for at in due {
            self.waiting.entry(at).or_insert(Cause::Missed);
        }
        let waits = |cause| self.waiting.values().any(|waiting| *waiting == cause);
        match self.spec.overlap {
            Overlap::Cancel => self.press(latest, Cause::Due),
            // In its turn, as those that it was missed with.
            Overlap::Skip | Overlap::Queue if was_missed => {
                self.waiting.entry(latest).or_insert(Cause::Missed);
            }
            Overlap::Skip if !self.running.is_empty() || !self.waiting.is_empty() => self.leave_out(latest),
            Overlap::Queue if waits(Cause::Due) => self.leave_out(latest),
            Overlap::Skip | Overlap::Queue | Overlap::Allow => {
                self.waiting.entry(latest).or_insert(Cause::Due);
            }
        }
    }

    /// Adds one that cancels what goes on, where the newest wins: older ones of its kind have lost.
    fn press(&mut self, at: Timestamp, cause: Cause) {
        if self.spec.overlap == Overlap::Cancel {
            self.leave_out_where(|waiting, cause| waiting < at && cause.presses());
        }
        self.waiting.insert(at, cause);
    }

    fn leave_out_where(&mut self, is_left_out: impl Fn(Timestamp, Cause) -> bool) {
        let waiting = self.waiting.iter().filter(|(at, cause)| is_left_out(**at, **cause));
        let left_out: Vec<_> = waiting.map(|(at, _)| *at).collect();
        for at in left_out {
            self.waiting.remove(&at);
            self.leave_out(at);
        }
    }

    fn leave_out(&mut self, at: Timestamp) {
        self.left_out.push_back(at);
        if self.left_out.len() > REMEMBERED {
            self.left_out.pop_front();
        }
    }

    /// The instant whose run is to begin now, if any is: one after the other and the oldest first, unless they may
    /// overlap; where the newest wins, that one before all that wait in their turn.
    pub(super) fn next(&self) -> Option<Timestamp> {
        if self.spec.overlap != Overlap::Allow && !self.running.is_empty() {
            return None;
        }
        self.pressing().or_else(|| self.waiting.keys().next().copied())
    }

    /// The one that cancels what goes on.
    pub(super) fn pressing(&self) -> Option<Timestamp> {
        let cancels = self.spec.overlap == Overlap::Cancel;
        let pressing = self.waiting.iter().rfind(|(_, cause)| cancels && cause.presses());
        pressing.map(|(at, _)| *at)
    }

    /// The run of an instant begins, or is found again. Answers whether it was not asked for before.
    pub(super) fn begin(&mut self, at: Timestamp) -> bool {
        self.waiting.remove(&at);
        let is_new = self.asked.insert(at);
        if is_new {
            self.running.insert(at);
        }
        is_new
    }

    /// The run of an instant has ended.
    pub(super) fn end(&mut self, at: Timestamp) {
        self.running.remove(&at);
        self.ending.remove(&at);
    }
}

/// The error of a store that holds something else than a schedule under its id.
pub(super) fn unreadable(reason: impl ToString) -> ports::StoreError {
    ports::StoreError::Corrupt(format!("a schedule's log cannot be read: {}", reason.to_string()))
}
