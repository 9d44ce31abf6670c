//! Executions that cannot be revived here: they are parked, and can be cancelled all the same.
//! Not a replay: what can be read of the log tells who waits, and nothing is run.

use std::collections::BTreeMap;

use kernel::{
    Batch, Cancelled, Envelope, Event, ParkReport, State, Status,
    machine::{Input, last_posts},
};

use super::{Driver, Gone};
use crate::inbox_item::Item;

/// An execution that cannot be revived: its current run and length, and why.
pub(super) struct Unread {
    pub(super) base: u64,
    pub(super) next: u64,
    pub(super) report: ParkReport,
}

impl Driver {
    /// Parks an execution that cannot be revived; or ends it, if somebody cancels it, and tells those who wait for it. One
    /// whose log a newer build wrote is not ended by this one, unless by force: the cancel waits for a program that can
    /// tell the flow. Retries are used up by it; what
    /// else is in its inbox is left to the next owner.
    pub(super) async fn close_unread(
        &mut self,
        Unread { base, next, report }: Unread,
    ) -> Result<Status, Gone> {
        let mut status = Status::Parked;
        let mut batch = Batch::parking(&self.execution, self.fence, next, report, self.engine.clock.now());
        loop {
            for waiting in self.pending().await? {
                match Item::read(&waiting) {
                    Some(Input::Cancel { .. }) => {}
                    // The retry was made: this is how it ends.
                    Some(Input::Noted { item }) => {
                        batch.consumed.push(item);
                        continue;
                    }
                    _ => continue,
                }
                let (state, is_newer) = self.what_can_be_read(base, next).await?;
                // Where not even the start can be read, whoever says to be the parent is believed.
                let is_blank = state.flow.is_empty();
                let read = if is_blank {
                    Item::read(&waiting)
                } else {
                    Item::read_for(&waiting, state.parent.as_ref())
                };
                if let (Some(Input::Cancel { reason, by, item, force }), Some(closing)) =
                    (read, batch.events.last_mut())
                    && (force || !is_newer)
                {
                    closing.event = Event::ExecutionCancelled(Cancelled { reason, by });
                    batch.posts = last_posts(&state, &self.execution, &closing.event);
                    status = Status::Cancelled;
                    batch.consumed.push(item);
                }
            }
            if self.append(&batch, &BTreeMap::new()).await? {
                return Ok(status);
            }
        }
    }

    /// The state of a run, up to the first event that cannot be read; and whether a newer build can read that one.
    async fn what_can_be_read(&mut self, base: u64, next: u64) -> Result<(State, bool), Gone> {
        let (mut state, mut from, mut most) = (State::default(), base, u64::MAX);
        while from < next {
            let records = match self.page(from, next.min(from.saturating_add(most))).await? {
                Ok(records) if records.is_empty() => return Ok((state, false)),
                Ok(records) => records,
                // One row of many, maybe.
                Err(_) if most > 1 => {
                    most = 1;
                    continue;
                }
                Err(_) => return Ok((state, false)),
            };
            for record in &records {
                match Envelope::decode(&self.execution, record) {
                    Ok(envelope) if state.apply(&envelope).is_ok() => {}
                    Ok(_) => return Ok((state, false)),
                    Err(unreadable) => return Ok((state, unreadable.is_newer())),
                }
            }
            from += records.len() as u64;
        }
        Ok((state, false))
    }
}
