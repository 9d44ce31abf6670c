//! An execution's log, brought back page by page, as there is room for it.
//! Not the machine's replay of it: it takes one event after the other, and keeps what it needs.

use kernel::{Envelope, Fault, Machine, ParkReport, Record, machine::Input};
use tokio::time::Instant;

use super::{Driver, Gone, Nudge};
use crate::ports::{Append, StoreError};

/// How many events are read first: they tell how large the others may be.
const FIRST: u64 = 8;

/// How many events are read at a time at most.
const PAGE: u64 = 512;

/// And about how many bytes.
const PAGE_BYTES: u64 = 1 << 20;

impl Driver {
    /// The log from the current run's first event on. What cannot be read of it is passed over: the rest tells who waits
    /// for whom.
    pub(super) async fn replay(&mut self, machine: &mut Machine, base: u64, next: u64) -> Result<(), Gone> {
        let (mut from, mut most) = (base, PAGE);
        while from < next {
            let damaged = |what| ParkReport::new(Fault::UnreadableLog, what).at(from);
            let records = match self.page(from, next.min(from + most)).await? {
                Ok(records) if records.is_empty() => {
                    let report = damaged(format!("the log ends at event {from}, its row says {next}"));
                    self.offer(machine, Input::Unreadable { next, report });
                    break;
                }
                Ok(records) => records,
                // One row of many, maybe.
                Err(_) if most > 1 => {
                    most = 1;
                    continue;
                }
                Err(what) => {
                    self.offer(machine, Input::Unreadable { next: from + 1, report: damaged(what) });
                    (from, most) = (from + 1, PAGE);
                    continue;
                }
            };
            for record in &records {
                let input = match Envelope::decode(&self.execution, record) {
                    Ok(envelope) => Input::Recorded(envelope),
                    Err(unreadable) => {
                        let mut report = ParkReport::new(Fault::UnreadableLog, unreadable.to_string());
                        // Its programs can read it, and others are to leave it to them.
                        let code = machine.state().code.body;
                        report.wants = unreadable.is_newer().then(|| format!("{code:016x}"));
                        Input::Unreadable { next: record.sequence + 1, report: report.at(record.sequence) }
                    }
                };
                self.offer(machine, input);
            }
            from += records.len() as u64;
            // A long replay must not starve the other executions of its thread.
            tokio::task::yield_now().await;
        }
        if let Some(share) = &mut self.share {
            share.is_read();
        }
        Ok(())
    }

    /// Some of the events from `from` to before `next`; or what is wrong with their rows.
    pub(super) async fn page(&mut self, from: u64, next: u64) -> Result<Result<Vec<Record>, String>, Gone> {
        self.wait_for_room().await?;
        let most = match self.share.as_ref().and_then(|share| share.bytes().checked_div(self.came)) {
            Some(each) => (PAGE_BYTES / each.max(1)).clamp(1, PAGE.min(self.came * FIRST)),
            None => FIRST,
        };
        let limit = usize::try_from(most.min(next - from)).unwrap_or(1);
        loop {
            match self.engine.store.read(&self.execution, from, limit).await {
                Ok(records) => {
                    self.came += records.len() as u64;
                    if let Some(share) = &mut self.share {
                        share.grow(records.iter().map(bytes).sum());
                    }
                    return Ok(Ok(records));
                }
                Err(StoreError::Corrupt(what)) => return Ok(Err(what)),
                Err(error) => self.pause(&error).await?,
            }
        }
    }

    /// Waits until more of the log may be here. Not for long: another worker may have room, and takes it up.
    async fn wait_for_room(&mut self) -> Result<(), Gone> {
        if self.drain.is_some() {
            return Err(self.release().await);
        }
        let (room, share) = (self.engine.room.clone(), self.share.take());
        let until = Instant::now() + self.engine.options.lease;
        let given = async move {
            match share {
                Some(share) => share.go_on().await,
                None => room.share().await,
            }
        };
        tokio::pin!(given);
        loop {
            tokio::select! {
                biased;
                share = &mut given => {
                    self.share = Some(share);
                    return Ok(());
                }
                () = tokio::time::sleep_until(until) => {
                    tracing::info!(execution = %self.execution, "no room for its log");
                    return Err(self.release().await);
                }
                Some(nudge) = self.told.recv() => match nudge {
                    Nudge::Lost => return Err(Gone::Lost("the lease has another owner".into())),
                    Nudge::Drain(_) => return Err(self.release().await),
                    // The inbox is read when the log is, and there is no flow yet that could be touched.
                    Nudge::Inbox | Nudge::Alarm => {}
                },
            }
        }
    }

    /// The log is longer now; or a run has begun, and what was before it is no longer here.
    pub(super) fn take_room(&mut self, append: &Append) {
        let Some(share) = &mut self.share else { return };
        let begins = append.run.unwrap_or(append.expected_next).saturating_sub(append.expected_next);
        let here = append.records.iter().skip(usize::try_from(begins).unwrap_or(usize::MAX));
        let bytes = here.map(bytes).sum();
        match append.run {
            Some(_) => share.set(bytes),
            None => share.grow(bytes),
        }
    }
}

/// What an event takes, about.
fn bytes(record: &Record) -> u64 {
    (record.payload.len() + record.meta.len()) as u64
}
