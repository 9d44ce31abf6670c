//! The verdicts on what a crash left in doubt, as the one would give them who can look at the world.
//! Not on what a timeout or a panic left: that is for the test to say.

use loom_runtime::{
    kernel::{
        Event, Fault,
        machine::{AttemptEnd, Verdict},
    },
    ports::ExecutionRow,
};

use crate::{script::BY, world::World};

impl World {
    /// Gives the verdict that a parked execution waits for, if a crash is why. Answers whether it did.
    pub(crate) async fn judge(&self, row: &ExecutionRow) -> bool {
        let report = self.client().parked(row).await.ok().flatten();
        let Some(report) = report.filter(|report| report.fault == Fault::InDoubt) else { return false };
        let Some(frame) = report.frame else { return false };
        let log = self.client().log(&row.id, row.base, usize::MAX >> 1).await.unwrap_or_default();
        let why = log.iter().rev().find_map(|envelope| match &envelope.event {
            Event::EffectIndoubt(doubt) if doubt.frame == frame => Some(doubt.reason.as_str()),
            _ => None,
        });
        if why != Some("crash") {
            return false;
        }
        let place = (row.id.clone(), frame);
        let last = self.bodies().last(&place);
        // What was cut off in its midst has not happened, as far as anybody can tell.
        let verdict = match last {
            Some(AttemptEnd::Returned(output)) => Verdict::Done(output),
            Some(_) => {
                self.bodies().again(&place);
                Verdict::Again
            }
            None => Verdict::Again,
        };
        let given = self.client().judge(&place.0, &place.1, verdict, BY).await.is_ok();
        if given {
            self.judged(row);
        }
        given
    }
}
