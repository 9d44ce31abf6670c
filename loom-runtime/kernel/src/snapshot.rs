//! Snapshots: the folded state at one position of a log, kept so that the rest need not be folded again.
//! Never the truth: a snapshot that does not fit is thrown away, and flows do not see one, they always replay.

use serde::{Deserialize, Serialize};

use crate::{Digest, Envelope, ExecutionId, InvalidPayload, Record, State};

/// The version of what [`State`] holds and of how it is folded: counted up with each change of either.
pub const SNAPSHOT_SCHEMA: u16 = 1;

/// A folded state, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Whose state.
    pub execution: ExecutionId,
    /// How many events are folded in: the sequence of the next one.
    pub sequence: u64,
    /// JSON, for this build and those that fold as it does; to a store it is text.
    pub body: String,
}

/// A snapshot that is not to be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the snapshot of `{execution}` after {sequence} events is not used: {reason}")]
pub struct BadSnapshot {
    /// Whose.
    pub execution: ExecutionId,
    /// After how many events.
    pub sequence: u64,
    /// What is wrong.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
struct Body {
    schema: u16,
    /// Of everything else.
    digest: Digest,
    /// Of the last event that is folded in: what ties it to the log.
    last: Digest,
    /// The state itself does not show it.
    seed: Digest,
    state: String,
}

impl Snapshot {
    /// Of a state, and the last event that is folded into it.
    ///
    /// # Errors
    /// The state has no JSON.
    pub fn of(state: &State, last: &Envelope) -> Result<Self, InvalidPayload> {
        let (execution, sequence) = (last.execution.clone(), state.next);
        let text = serde_json::to_string(state).map_err(InvalidPayload::from)?;
        let mut body = Body {
            schema: SNAPSHOT_SCHEMA,
            digest: Digest::default(),
            last: of_event(&last.encode()?),
            seed: state.seed,
            state: text,
        };
        body.digest = body.sum(&execution, sequence);
        let body = serde_json::to_string(&body).map_err(InvalidPayload::from)?;
        Ok(Self { execution, sequence, body })
    }

    /// The state, if it is what was kept and follows this event, the last that it says to hold.
    ///
    /// # Errors
    /// [`BadSnapshot`]: it is of another build, damaged, or of another log.
    pub fn restore(&self, last: &Record) -> Result<State, BadSnapshot> {
        let bad = |reason: &str| BadSnapshot {
            execution: self.execution.clone(),
            sequence: self.sequence,
            reason: reason.to_owned(),
        };
        let body: Body = serde_json::from_str(&self.body).map_err(|_| bad("it cannot be read"))?;
        if body.schema != SNAPSHOT_SCHEMA {
            return Err(bad("a build that folds otherwise has made it"));
        }
        if body.digest != body.sum(&self.execution, self.sequence) {
            return Err(bad("it is not what was kept: its digest differs"));
        }
        if last.sequence + 1 != self.sequence || body.last != of_event(last) {
            return Err(bad("the log holds another event at its end"));
        }
        let mut state: State =
            serde_json::from_str(&body.state).map_err(|_| bad("its state cannot be read"))?;
        if state.next != self.sequence {
            return Err(bad("its state is that of another position"));
        }
        state.seed = body.seed;
        Ok(state)
    }
}

impl Body {
    fn sum(&self, execution: &ExecutionId, sequence: u64) -> Digest {
        Digest::of_parts(&[
            execution.as_str().as_bytes(),
            &sequence.to_le_bytes(),
            &self.schema.to_le_bytes(),
            &self.last.bytes(),
            &self.seed.bytes(),
            self.state.as_bytes(),
        ])
    }
}

fn of_event(record: &Record) -> Digest {
    Digest::of_parts(&[
        &record.sequence.to_le_bytes(),
        record.kind.as_bytes(),
        &record.at.as_micros().to_le_bytes(),
        record.payload.as_bytes(),
    ])
}
