//! Everything that one look at an execution needs: its state, its gates, what it waits for and what it was told.
//! Not its row, which whoever looks has; and not how it is shown.

use loom_runtime::{
    App, ExecutionId,
    ports::{GateRow, GateState, StoreError},
};

use crate::{
    fold::{Folded, fold},
    shape::Pending,
    waits::{Wait, waits},
};

/// What there is to see.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) folded: Folded,
    pub(crate) gates: Vec<GateRow>,
    pub(crate) waits: Vec<Wait>,
    /// What its owner has not taken in yet; nothing when it has ended.
    pub(crate) pending: Vec<Pending>,
}

/// Looks at an execution.
pub(crate) async fn look(app: &App, id: &ExecutionId) -> Result<Look, StoreError> {
    let folded = fold(app, id, None).await?;
    let mut gates = app.gates(Some(id)).await?;
    // Those of earlier runs are in the log; the frames are this run's.
    gates.retain(|gate| gate.run == folded.state.base);
    let ended = folded.state.status.is_terminal();
    let pending = if ended { Vec::new() } else { pending(app, id).await? };
    let waits = waits(app.registry(), &folded.state, &gates, &pending);
    Ok(Look { folded, gates, waits, pending })
}

/// What an execution was told and has not taken in.
pub(crate) async fn pending(app: &App, id: &ExecutionId) -> Result<Vec<Pending>, StoreError> {
    Ok(app.pending(id).await?.iter().filter_map(Pending::of).collect())
}

/// Whether somebody may answer the gate, by what is pending for its execution.
pub(crate) fn is_asked(gate: &GateRow, pending: &[Pending]) -> bool {
    let cancelled = pending.iter().any(|said| matches!(said, Pending::Cancel { .. }));
    gate.state == GateState::Open && !cancelled && answered_by(gate, pending).is_none()
}

/// Who answered an open gate, when the answer is not taken in yet.
pub(crate) fn answered_by<'a>(gate: &GateRow, pending: &'a [Pending]) -> Option<&'a str> {
    pending.iter().find_map(|said| match said {
        Pending::Answer { frame, by, .. } if *frame == gate.frame.as_str() => Some(by.as_str()),
        _ => None,
    })
}
