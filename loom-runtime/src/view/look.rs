//! Everything that one look at an execution needs: its state, its gates, what it waits for and what it was told.
//! Not its row, which whoever looks has; and not how it is shown.

use kernel::ExecutionId;

use super::{
    Folded, Pending,
    wait::{Wait, waits},
};
use crate::{
    App,
    ports::{GateRow, StoreError},
};

/// How many of the first waits are looked at for where a child stands.
const CHILDREN: usize = 100;

/// What there is to see.
#[derive(Debug)]
pub struct Look {
    /// Its state.
    pub folded: Folded,
    /// The gates of its run.
    pub gates: Vec<GateRow>,
    /// What it waits for.
    pub waits: Vec<Wait>,
    /// What its owner has not taken in yet; nothing when it has ended.
    pub pending: Vec<Pending>,
}

impl Look {
    /// Looks at an execution.
    ///
    /// # Errors
    /// The store fails, or there is no such execution.
    pub async fn at(app: &App, id: &ExecutionId) -> Result<Self, StoreError> {
        let folded = Folded::of(app, id, None).await?;
        let mut gates = app.gates(Some(id)).await?;
        // Those of earlier runs are in the log; the frames are this run's.
        gates.retain(|gate| gate.run == folded.state.base);
        let ended = folded.state.status.is_terminal();
        let pending = if ended { Vec::new() } else { pending(app, id).await? };
        let mut waits = waits(app.registry(), &folded.state, &gates, &pending);
        for wait in waits.iter_mut().take(CHILDREN) {
            if let Wait::Child { child, status, .. } = wait
                && let Ok(id) = child.parse()
            {
                *status = app.row(&id).await.ok().map(|row| row.status.name());
            }
        }
        Ok(Self { folded, gates, waits, pending })
    }
}

/// What an execution was told and has not taken in.
///
/// # Errors
/// The store fails.
pub async fn pending(app: &App, id: &ExecutionId) -> Result<Vec<Pending>, StoreError> {
    Ok(app.pending(id).await?.iter().map(Pending::of).collect())
}
