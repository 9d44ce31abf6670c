//! The report on an execution whose owners vanish: which steps were running, as its log tells.
//! Not a replay, and little is read: it may be the log that kills.

use std::collections::BTreeMap;

use kernel::{Envelope, Event, Fault, FrameId, ParkReport};

use super::Driver;
use crate::ports::ExecutionRow;

/// How much of the log is looked at, from its end. Since the last outcome there are only starts.
const TAIL: usize = 256;

/// How many steps are named.
const NAMED: usize = 3;

impl Driver {
    /// The report. Those who took it over have started nothing that was not in the log before, see
    /// [`be_careful`](kernel::Machine::be_careful).
    pub(super) async fn poisoned(&self, row: &ExecutionRow) -> ParkReport {
        let running = self.left_running(row).await;
        let mut message = format!("{} owners in a row vanished without an outcome", row.takeovers);
        if !running.is_empty() {
            let name = |(frame, step): (&FrameId, &String)| match frame.as_str() == step {
                true => format!("`{step}`"),
                false => format!("`{step}` ({frame})"),
            };
            let named: Vec<_> = running.iter().take(NAMED).map(name).collect();
            let more = match running.len() - named.len() {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            message.push_str(&format!("; the last one had begun {}{more}", named.join(", ")));
        }
        let report = ParkReport::new(Fault::Poisoned, message);
        match running.first_key_value() {
            Some((frame, _)) if running.len() == 1 => report.frame(frame),
            _ => report,
        }
    }

    /// The attempts that the end of the log leaves open. A store that does not answer now leaves them unnamed.
    async fn left_running(&self, row: &ExecutionRow) -> BTreeMap<FrameId, String> {
        let from = row.next.saturating_sub(TAIL as u64).max(row.base);
        let mut running = BTreeMap::new();
        let Ok(records) = self.engine.store.read(&self.execution, from, TAIL).await else { return running };
        for record in &records {
            let Ok(Envelope { event, .. }) = Envelope::decode(&self.execution, record) else { continue };
            match event {
                Event::StepStarted(started) => drop(running.insert(started.frame, started.step)),
                // Who comes next starts again what is to run.
                Event::ExecutionResumed(_) => running.clear(),
                event => drop(event.frame().map(|frame| running.remove(frame))),
            }
        }
        running
    }
}
