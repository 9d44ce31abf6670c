//! What a batch says, as one digest: how a store tells a retry from another batch under the same id.
//! Not the batch id, and not stored in a log.

use kernel::{Digest, Record, Timestamp};

use super::{Append, GateChange, NewExecution, NewItem, Turn};

impl Append {
    /// The digest of everything in this append but its batch id. A store keeps it beside the batch id:
    /// the same id with the same content is a retry, with other content
    /// [`StoreError::BatchReused`](super::StoreError::BatchReused).
    pub fn content(&self) -> Digest {
        let mut bytes = Bytes::default();
        bytes.text(self.execution.as_str());
        bytes.number(self.expected_next);
        bytes.number(self.fence);
        bytes.records(&self.records);
        bytes.instant(Some(self.at));
        bytes.number(self.progress.into());
        bytes.gates(&self.gates);
        bytes.count(self.consumed.len());
        self.consumed.iter().for_each(|id| bytes.number(*id));
        bytes.posts(&self.posts);
        bytes.maybe(self.run);
        if let Some(close) = &self.close {
            bytes.text(close.status.name());
            bytes.instant(close.wake_at);
            bytes.number(close.seen);
            bytes.0.extend(close.unfit.iter().flat_map(Digest::bytes));
        }
        Digest::of(&bytes.0)
    }

    /// Whether the records follow each other from `expected_next`, as a log must.
    pub fn is_dense(&self) -> bool {
        (self.expected_next..).zip(&self.records).all(|(sequence, record)| sequence == record.sequence)
    }

    /// Whether the run that it begins, if any, begins with one of its own records.
    pub fn begins_own_run(&self) -> bool {
        self.run.is_none_or(|run| self.records.iter().any(|record| record.sequence == run))
    }
}

impl NewExecution {
    /// The digest of everything in this creation but its batch id and the end of the lease, which a
    /// retry may ask for anew.
    pub fn content(&self) -> Digest {
        let mut bytes = Bytes::default();
        bytes.text(self.id.as_str());
        bytes.text(&self.flow);
        bytes.0.extend(self.input.bytes());
        bytes.records(&self.records);
        bytes.gates(&self.gates);
        bytes.number(self.base);
        if let Some((worker, _)) = &self.claim {
            bytes.text(worker);
        }
        // Only what is said, so that a retry of a build that knew no turns is one.
        if self.turn != Turn::default() {
            bytes.turn(&self.turn);
        }
        Digest::of(&bytes.0)
    }
}

/// Every part with its length or a fixed width, so that none can run into the next.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn number(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn count(&mut self, count: usize) {
        self.number(count as u64);
    }

    fn maybe(&mut self, number: Option<u64>) {
        self.0.push(number.is_some().into());
        self.number(number.unwrap_or_default());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend(text.as_bytes());
    }

    fn instant(&mut self, at: Option<Timestamp>) {
        self.0.push(at.is_some().into());
        self.0.extend(at.unwrap_or_default().as_micros().to_le_bytes());
    }

    fn records(&mut self, records: &[Record]) {
        self.count(records.len());
        for record in records {
            self.number(record.sequence);
            self.text(&record.kind);
            self.instant(Some(record.at));
            self.number(record.schema.into());
            self.text(&record.payload);
            self.text(&record.meta);
        }
    }

    fn turn(&mut self, turn: &Turn) {
        self.0.extend(turn.priority.to_le_bytes());
        if let Some(lane) = &turn.lane {
            self.text(&lane.key);
            self.maybe(lane.at_most.map(|at_most| at_most.get().into()));
            self.maybe(lane.rate.map(|rate| rate.begins.get().into()));
            self.0.extend(lane.rate.map_or(0, |rate| rate.micros()).to_le_bytes());
            self.number(lane.weight.get().into());
        }
    }

    fn posts(&mut self, posts: &[NewItem]) {
        self.count(posts.len());
        for item in posts {
            self.text(item.execution.as_str());
            self.0.push(item.key.is_some().into());
            self.text(item.key.as_deref().unwrap_or_default());
            self.text(&item.kind);
            self.text(&item.payload);
            self.instant(Some(item.at));
            self.0.push(item.early.into());
        }
    }

    fn gates(&mut self, gates: &[GateChange]) {
        self.count(gates.len());
        for change in gates {
            match change {
                GateChange::Opened { frame, gate, schema, expires_at } => {
                    self.number(0);
                    [frame.as_str(), gate, schema].into_iter().for_each(|text| self.text(text));
                    self.instant(*expires_at);
                }
                GateChange::Closed { frame, state } => {
                    self.number(1);
                    self.text(frame.as_str());
                    self.text(state.name());
                }
                GateChange::AbandonAll => self.number(2),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_begins_with_an_own_record() {
        let record = |sequence| Record {
            sequence,
            kind: "CONTINUED_AS_NEW".into(),
            at: Timestamp::EPOCH,
            schema: 1,
            payload: "{}".into(),
            meta: "{}".into(),
        };
        let append = |run| Append {
            execution: "a".parse().expect("a valid id"),
            expected_next: 3,
            fence: 1,
            batch: Digest::of(b""),
            records: vec![record(3), record(4)],
            at: Timestamp::EPOCH,
            progress: false,
            gates: Vec::new(),
            consumed: Vec::new(),
            posts: Vec::new(),
            run,
            close: None,
        };
        for (run, own) in [(None, true), (Some(2), false), (Some(3), true), (Some(4), true), (Some(5), false)]
        {
            assert_eq!(append(run).begins_own_run(), own, "{run:?}");
        }
    }
}
