//! When a worker keeps a snapshot of an execution, and how many: on the way, at suspensions, of forks.
//! Not their use: that is for reads, a driver always replays.

use std::sync::Arc;

use kernel::{
    Batch, Envelope, Fault, Machine, Snapshot, Status,
    planted::{Bug, planted},
};

use super::Engine;

/// How many snapshots of an execution are kept: one may turn out to be bad.
const KEPT: usize = 2;

/// How many snapshots at most are taken while a run doubles in length, once it is longer than this many times
/// `every`: what is written stays in proportion to the run.
const IN_AN_OCTAVE: u64 = 4;

/// How many snapshots more may be taken where a run suspends than while it goes on: it may be read for long as it is
/// there, and without a snapshot each wake-up of a few events would pay for what came before.
const AT_SUSPENSION: u64 = 4;

/// Keeps a snapshot if one is due after a batch that is durable, or has been since an earlier one (`due`). Nobody waits
/// for it, and nothing depends on it. `taken_up` is the length of the log when this owner took the execution up.
pub(super) fn keep(engine: &Arc<Engine>, machine: &Machine, batch: &Batch, taken_up: u64, due: &mut bool) {
    // Of a log that cannot be read, it would be a state that never was.
    if machine.fault().is_some_and(|report| report.fault == Fault::UnreadableLog) {
        return;
    }
    let (state, every) = (machine.state(), engine.options.snapshot_every);
    let in_run = |sequence: u64| sequence.saturating_sub(state.base);
    let next = in_run(state.next);
    *due |= is_due(in_run(batch.first), next, every);
    if batch.closes && state.status == Status::Suspended {
        *due |= is_due(in_run(taken_up), next, every.div_ceil(AT_SUSPENSION));
    }
    // What is not durable yet may never be.
    let mid_turn = planted(Bug::SnapshotMidTurn);
    if !*due || (machine.lags() && !mid_turn) {
        return;
    }
    let fits = |last: &&Envelope| last.sequence + 1 == state.next || mid_turn;
    let Some(last) = batch.events.last().filter(fits) else { return };
    let snapshot = match Snapshot::of(state, last) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let of = Snapshot::STATE;
            return tracing::warn!(execution = %last.execution, of, %error, "no snapshot taken");
        }
    };
    *due = false;
    put(engine, snapshot);
}

fn put(engine: &Arc<Engine>, snapshot: Snapshot) {
    let engine = engine.clone();
    tokio::spawn(async move {
        let id = &snapshot.execution;
        let kept = match engine.store.put_snapshot(&snapshot).await {
            Ok(()) => engine.store.prune_snapshots(id, &snapshot.of, KEPT).await,
            Err(error) => Err(error),
        };
        if let Err(error) = kept {
            tracing::warn!(execution = %id, of = snapshot.of, %error, "snapshot not kept");
        }
    });
}

impl Engine {
    /// Keeps a snapshot that a fork begins with, or that a reader has made, unless snapshots are off.
    pub(crate) fn keep_snapshot(self: &Arc<Self>, snapshot: Option<Snapshot>) {
        if let Some(snapshot) = snapshot.filter(|_| self.options.snapshot_every > 0) {
            put(self, snapshot);
        }
    }
}

/// Whether a run that grew from `first` to `next` events has passed a place for a snapshot. It depends on nothing else:
/// an execution that is run a few events at a time by one worker after another gets its snapshots too.
fn is_due(first: u64, next: u64, every: u64) -> bool {
    if every == 0 {
        return false;
    }
    let octaves = (next / every / IN_AN_OCTAVE).max(1).ilog2();
    let spacing = every.saturating_mul(1 << octaves);
    first / spacing != next / spacing
}

#[cfg(test)]
mod tests {
    use super::is_due;

    fn places(every: u64, batch: u64, events: u64) -> Vec<u64> {
        (0..events)
            .step_by(batch as usize)
            .map(|at| at + batch)
            .filter(|next| is_due(next - batch, *next, every))
            .collect()
    }

    #[test]
    fn places_are_even_at_first_and_then_in_proportion() {
        assert_eq!(places(0, 1, 10_000), [0; 0]);
        assert_eq!(places(10, 1, 100), [10, 20, 30, 40, 50, 60, 70, 80, 100]);
        assert_eq!(places(10, 3, 48), [12, 21, 30, 42], "batches pass over a place");
        let (of_one, of_many) = (places(100, 1, 100_000), places(100, 40, 100_000));
        assert!(of_one.len() < 50 && of_many.len() < 50, "{} and {}", of_one.len(), of_many.len());
    }
}
