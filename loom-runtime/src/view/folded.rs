//! The state of an execution from its log, as far as this build can read it.
//! Not the runtime's own fold, which refuses a damaged log: people want to see the rest of it.

use kernel::{Envelope, ExecutionId, Frame, FrameId, State};

use super::Received;
use crate::{
    App,
    ports::{ExecutionRow, StoreError},
};

const PAGE: usize = 512;

/// A folded log.
#[derive(Debug, Default)]
pub struct Folded {
    /// The state after what could be read.
    pub state: State,
    /// The state before the last event.
    pub before: Option<State>,
    /// The last event.
    pub last: Option<Envelope>,
    /// The messages that came to the run, in the order in which they were taken in.
    pub received: Vec<Received>,
    /// Why the rest of the log could not be read.
    pub trouble: Option<String>,
}

impl Folded {
    /// Of the first `events` events, or of all. The state before the last one comes with the former only. Of an ended
    /// execution that was archived, all is what its row and its last event tell: no input, and no frames.
    ///
    /// # Errors
    /// The store fails, or there is no such execution.
    pub async fn of(app: &App, id: &ExecutionId, events: Option<u64>) -> Result<Self, StoreError> {
        let (mut folded, end) = (Self::default(), events.unwrap_or(u64::MAX));
        let store = app.store();
        let row = app.row(id).await?;
        if events.is_none() && row.status.is_terminal() && row.replayable().is_none() {
            return Self::of_end(app, row).await;
        }
        let mut next = row.replayable().filter(|from| end > *from).unwrap_or(0);
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
                if events == Some(record.sequence + 1) {
                    folded.before = Some(folded.state.clone());
                }
                if let Err(unfoldable) = folded.state.apply(&envelope) {
                    folded.trouble = Some(unfoldable.to_string());
                    return Ok(folded);
                }
                next = folded.state.next;
                Received::note(&mut folded.received, &envelope);
                folded.last = Some(envelope);
            }
        }
        Ok(folded)
    }

    /// Where the closing event is all that the store still has.
    async fn of_end(app: &App, row: ExecutionRow) -> Result<Self, StoreError> {
        let records = app.store().read(&row.id, row.removable(), 1).await?;
        let last = records.first().map(|record| Envelope::decode(&row.id, record)).transpose();
        let (last, trouble) = match last {
            Ok(last) => (last, None),
            Err(unreadable) => (None, Some(unreadable.to_string())),
        };
        let state = State {
            outcome: last.as_ref().and_then(|last| last.event.ends()),
            flow: row.flow,
            status: row.status,
            next: row.next,
            base: row.base,
            updated_at: row.updated_at,
            ..State::default()
        };
        Ok(Self { state, last, trouble, ..Self::default() })
    }
}

/// The frames of a state in the order in which they were opened.
pub fn in_order(state: &State) -> Vec<(&FrameId, &Frame)> {
    let mut frames: Vec<_> = state.frames.iter().collect();
    frames.sort_by_key(|(_, frame)| frame.opened);
    frames
}
