//! What a schedule takes with it from one run of its keeper to the next.
//! Not what is in the log anyway: when the next run is due, the next run works out.

use std::collections::{BTreeSet, VecDeque};

use loom_runtime::{Timestamp, ports};
use serde::{Deserialize, Serialize};

use super::{control::Control, spec::Spec};

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
    /// The run that waits for the end of another.
    #[schemars(with = "Option<i64>")]
    pub(super) queued: Option<Timestamp>,
    /// What is still to be made up for or backfilled.
    #[schemars(with = "Vec<i64>")]
    pub(super) backlog: VecDeque<Timestamp>,
    /// The one of those that goes on.
    #[schemars(with = "Option<i64>")]
    pub(super) making_up: Option<Timestamp>,
}

impl State {
    pub(super) fn new(flow: &str, spec: Spec) -> Self {
        Self {
            flow: flow.into(),
            spec,
            seen: None,
            paused: None,
            running: BTreeSet::new(),
            queued: None,
            backlog: VecDeque::new(),
            making_up: None,
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
                self.queued = None;
                true
            }
            // What was due in the meantime is not made up for: nobody wanted it.
            Control::Resume { .. } => self.paused.take().is_some_and(|_| {
                self.see(now);
                true
            }),
            Control::Trigger { .. } => false, // the keeper's to start
            Control::Backfill { instants } => {
                self.backlog.extend(instants);
                false
            }
        }
    }

    /// Instants up to here are done with.
    pub(super) fn see(&mut self, until: Timestamp) {
        self.seen = self.seen.max(Some(until));
    }
}

/// The error of a store that holds something else than a schedule under its id.
pub(super) fn unreadable(reason: impl ToString) -> ports::StoreError {
    ports::StoreError::Corrupt(format!("a schedule's log cannot be read: {}", reason.to_string()))
}
