//! The state of an execution, folded from its log: from the beginning, or from a snapshot on.
//! Not the flow's replay, which takes no shortcut.

use kernel::{BadSnapshot, Envelope, ExecutionId, Record, Snapshot, State};

use crate::ports::{ExecutionRow, Store, StoreError};

/// How many events are read at a time. A log that is no longer is folded without a look for snapshots. Soon after, they save
/// nothing sure; a state holds every frame of its run, so that they never save all: 9.4 to 5.7 ms at 5,000 events, 48 to
/// 17 ms at 20,000 (`cargo run --release -p loom-benches -- snapshots`).
pub(super) const PAGE: usize = 1_000;

/// The state after the first `end` events, or after all that there are.
///
/// A snapshot that is damaged, of another build or of another log is marked bad, and an older one is taken, or none. So
/// is one after which the log does not fold, although it does without. Without one, the current run is all that is read of
/// a log whose first events were removed: no earlier run is part of the state.
pub(super) async fn state(store: &dyn Store, id: &ExecutionId, end: u64) -> Result<State, StoreError> {
    let row = row(store, id).await?;
    // What is left of an archived run is read, and refused, from its beginning.
    let from = row.replayable().filter(|from| end > *from).unwrap_or(0);
    if row.next.min(end) > PAGE as u64
        && let Some(mut state) = newest(store, id, end).await?
    {
        let kept_at = state.next;
        if read_on(store, id, &mut state, kept_at, end).await.is_ok() {
            return Ok(state);
        }
        // The snapshot or the log is at fault. If it is the log, this says so.
        let mut state = State::default();
        read_on(store, id, &mut state, from, end).await?;
        tell_unfit(id, kept_at);
        mark(store, id, Snapshot::STATE, kept_at).await;
        return Ok(state);
    }
    let mut state = State::default();
    read_on(store, id, &mut state, from, end).await?;
    Ok(state)
}

async fn row(store: &dyn Store, id: &ExecutionId) -> Result<ExecutionRow, StoreError> {
    store.get(id).await?.ok_or_else(|| StoreError::Unknown(id.clone()))
}

/// Whether the first `end` events are so many that a snapshot saves something.
pub(super) async fn is_long(store: &dyn Store, id: &ExecutionId, end: u64) -> Result<bool, StoreError> {
    Ok(row(store, id).await?.next.min(end) > PAGE as u64)
}

/// The state after these records, the first of a log. Those that a snapshot holds are not even decoded.
pub(super) async fn state_of(
    store: &dyn Store,
    id: &ExecutionId,
    records: &[Record],
) -> Result<State, StoreError> {
    let end = records.len() as u64;
    if end > PAGE as u64
        && let Some(mut state) = newest(store, id, end).await?
    {
        let kept_at = state.next;
        let behind = usize::try_from(kept_at).unwrap_or(usize::MAX);
        if fold(id, &mut state, &records[behind..]).is_ok() {
            return Ok(state);
        }
        let mut state = State::default();
        fold(id, &mut state, records)?;
        tell_unfit(id, kept_at);
        mark(store, id, Snapshot::STATE, kept_at).await;
        return Ok(state);
    }
    let mut state = State::default();
    fold(id, &mut state, records)?;
    Ok(state)
}

/// The newest snapshot of the state.
async fn newest(store: &dyn Store, id: &ExecutionId, end: u64) -> Result<Option<State>, StoreError> {
    newest_of(store, id, Snapshot::STATE, end, Snapshot::restore).await
}

/// The newest snapshot `of` something that is as it was kept, and of this log.
pub(super) async fn newest_of<T>(
    store: &dyn Store,
    id: &ExecutionId,
    of: &str,
    end: u64,
    restore: impl Fn(&Snapshot, &Record) -> Result<T, BadSnapshot>,
) -> Result<Option<T>, StoreError> {
    loop {
        let snapshot = match store.newest_snapshot(id, of, end).await {
            Ok(Some(snapshot)) if snapshot.sequence > PAGE as u64 => snapshot,
            Ok(_) => return Ok(None),
            // What is never the truth is not needed either.
            Err(error) => {
                tracing::warn!(execution = %id, of, %error, "snapshots not read");
                return Ok(None);
            }
        };
        let last = match store.read(id, snapshot.sequence - 1, 1).await {
            Err(StoreError::Archived { .. }) => return Ok(None), // it was kept as its log was removed
            read => read?,
        };
        let restored = match last.first() {
            Some(last) => restore(&snapshot, last),
            None => Err(BadSnapshot {
                execution: id.clone(),
                sequence: snapshot.sequence,
                reason: "the log ends before it".into(),
            }),
        };
        match restored {
            Ok(restored) => return Ok(Some(restored)),
            Err(bad) => {
                tracing::warn!(execution = %id, of, %bad, "snapshot marked bad");
                if !mark(store, id, of, snapshot.sequence).await {
                    return Ok(None); // it would be found again
                }
            }
        }
    }
}

/// The log folds, and not from this snapshot on.
fn tell_unfit(id: &ExecutionId, sequence: u64) {
    tracing::warn!(execution = %id, sequence, "the log does not go on from its snapshot: marked bad");
}

pub(super) async fn mark(store: &dyn Store, id: &ExecutionId, of: &str, sequence: u64) -> bool {
    let marked = store.mark_snapshot_bad(id, of, sequence).await;
    marked.inspect_err(|error| tracing::warn!(execution = %id, of, %error, "snapshot not marked bad")).is_ok()
}

async fn read_on(
    store: &dyn Store,
    id: &ExecutionId,
    state: &mut State,
    mut from: u64,
    end: u64,
) -> Result<(), StoreError> {
    while from < end {
        let limit = usize::try_from(end - from).unwrap_or(usize::MAX).min(PAGE);
        let page = store.read(id, from, limit).await?;
        if page.is_empty() {
            break;
        }
        fold(id, state, &page)?;
        from = state.next;
    }
    Ok(())
}

fn fold(id: &ExecutionId, state: &mut State, records: &[Record]) -> Result<(), StoreError> {
    for record in records {
        let envelope = Envelope::decode(id, record).map_err(|e| StoreError::Corrupt(e.to_string()))?;
        state.apply(&envelope).map_err(|e| StoreError::Corrupt(e.to_string()))?;
    }
    Ok(())
}
