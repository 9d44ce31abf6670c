//! The state of an execution from its log, as far as this build can read it.
//! Not the runtime's own fold, which refuses a damaged log: people want to see the rest of it.

use loom_runtime::{
    App, ExecutionId,
    kernel::{Envelope, State},
    ports::StoreError,
};

const PAGE: usize = 512;

/// A folded log.
#[derive(Debug, Default)]
pub(crate) struct Folded {
    pub(crate) state: State,
    /// The state before the last event.
    pub(crate) before: Option<State>,
    /// The last event.
    pub(crate) last: Option<Envelope>,
    /// Why the rest of the log could not be read.
    pub(crate) trouble: Option<String>,
}

/// Folds the first `events` events, or all.
pub(crate) async fn fold(app: &App, id: &ExecutionId, events: Option<u64>) -> Result<Folded, StoreError> {
    let (mut folded, end) = (Folded::default(), events.unwrap_or(u64::MAX));
    let store = app.store();
    let mut next = app.row(id).await?.replayable().filter(|from| end > *from).unwrap_or(0);
    while next < end {
        let left = usize::try_from(end - next).unwrap_or(usize::MAX);
        let page = store.read(id, next, left.min(PAGE)).await?;
        if page.is_empty() {
            break;
        }
        for record in &page {
            let envelope = match Envelope::decode(id, record) {
                Ok(envelope) => envelope,
                Err(unreadable) => {
                    folded.trouble = Some(unreadable.to_string());
                    return Ok(folded);
                }
            };
            // Only `debug` asks for the state before, and names how many events it wants.
            if events == Some(record.sequence + 1) {
                folded.before = Some(folded.state.clone());
            }
            if let Err(unfoldable) = folded.state.apply(&envelope) {
                folded.trouble = Some(unfoldable.to_string());
                return Ok(folded);
            }
            next = folded.state.next;
            folded.last = Some(envelope);
        }
    }
    Ok(folded)
}
