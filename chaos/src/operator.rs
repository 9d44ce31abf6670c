//! Who looks after what is parked: says of each charge in doubt whether it was made.
//! Not more than a person could know: what the ledger holds, and whether anybody may still be at it.

use std::{collections::BTreeSet, time::Duration};

use loom::{
    App, ControlError, Status,
    kernel::{Fault, FrameStatus, Payload, machine::Verdict},
    ports::{ListFilter, StoreError},
};

use crate::{
    Ledger,
    fleet::Calm,
    judge::told,
    program::{LEASE, charged},
};

/// The operator, and the verdicts given.
pub(crate) struct Operator {
    pub(crate) app: App,
    pub(crate) ledger: Ledger,
    pub(crate) calm: Calm,
    /// Execution, attempt, and whether it was made.
    pub(crate) verdicts: BTreeSet<(String, u32, bool)>,
}

impl Operator {
    /// How many were said to be made, and not to be made.
    pub(crate) fn given(&self) -> (usize, usize) {
        let made = self.verdicts.iter().filter(|(_, _, made)| *made).count();
        (made, self.verdicts.len() - made)
    }

    /// Looks at all that is parked, once.
    pub(crate) async fn look(&mut self) -> Result<(), StoreError> {
        let parked = ListFilter { statuses: vec![Status::Parked], ..ListFilter::default() };
        for row in self.app.list(&parked).await? {
            let state = self.app.state(&row.id, None).await?;
            let Some(report) = &state.parked else { continue };
            if report.fault != Fault::InDoubt {
                panic!("`{}` is parked: {report}\n{}", row.id, told(&self.app, &row.id).await?);
            }
            let frame = report.frame.as_ref().unwrap();
            let attempt = &state.frames[frame];
            if attempt.status != FrameStatus::InDoubt {
                continue;
            }
            // First whether anybody may still be at it, then what is there: a worker that was stopped in the middle
            // of a charge makes it when it goes on, long after its lease.
            let calm = self.calm.has_lasted(LEASE);
            let made = self.ledger.counts().contains_key(&format!("charge {}", row.id));
            if !made && !calm {
                continue;
            }
            let n: u64 = state.input.decode().unwrap();
            let verdict = match made {
                true => Verdict::Done(Payload::encode(&charged(n)).unwrap()),
                false => Verdict::Again,
            };
            match self.app.judge(&row.id, frame, verdict, "ada").await {
                Ok(()) => {
                    self.verdicts.insert((row.id.to_string(), attempt.attempt, made));
                }
                // An earlier verdict is on its way.
                Err(ControlError::NotInDoubt { .. } | ControlError::AlreadyJudged { .. }) => {}
                Err(ControlError::Store(error)) => return Err(error),
                Err(error) => panic!("a verdict on `{}`: {error}", row.id),
            }
        }
        Ok(())
    }

    /// Looks again and again, for ever. What the store does not answer is asked again.
    pub(crate) async fn watch(&mut self) {
        loop {
            match self.look().await {
                Ok(()) | Err(StoreError::Unavailable(_)) => {}
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    }
}
