//! Snapshots: what was folded from a log up to one position, its state above all, kept so that the rest need not be folded again.
//! Never the truth: a snapshot that does not fit is thrown away, and flows do not see one, they always replay.

use serde::{Deserialize, Serialize};

use crate::{Digest, Envelope, ExecutionId, InvalidPayload, Record, State};

/// The version of what [`State`] holds and of how it is folded: counted up with each change of either.
pub const SNAPSHOT_SCHEMA: u16 = 4;

/// A folded state, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Whose log.
    pub execution: ExecutionId,
    /// What was folded: [`Snapshot::STATE`], or a name of something else.
    pub of: String,
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
    /// What a snapshot of the folded state is of.
    pub const STATE: &str = "state";

    /// Of a state, and the last event that is folded into it.
    ///
    /// # Errors
    /// The state has no JSON.
    pub fn of(state: &State, last: &Envelope) -> Result<Self, InvalidPayload> {
        Self::kept(Self::STATE, state, state.seed, last)
    }

    /// Of something else, a read model say, that was folded up to this event.
    ///
    /// # Errors
    /// It has no JSON.
    pub fn of_other<T: Serialize>(of: &str, folded: &T, last: &Envelope) -> Result<Self, InvalidPayload> {
        Self::kept(of, folded, Digest::default(), last)
    }

    fn kept<T: Serialize>(
        of: &str,
        folded: &T,
        seed: Digest,
        last: &Envelope,
    ) -> Result<Self, InvalidPayload> {
        let text = serde_json::to_string(folded).map_err(InvalidPayload::from)?;
        let mut body = Body {
            schema: SNAPSHOT_SCHEMA,
            digest: Digest::default(),
            last: of_event(&last.encode()?),
            seed,
            state: text,
        };
        let (execution, sequence, of) = (last.execution.clone(), last.sequence + 1, of.to_owned());
        let mut snapshot = Self { execution, of, sequence, body: String::new() };
        body.digest = body.sum(&snapshot);
        snapshot.body = serde_json::to_string(&body).map_err(InvalidPayload::from)?;
        Ok(snapshot)
    }

    /// The state, if it is what was kept and follows this event, the last that it says to hold.
    ///
    /// # Errors
    /// [`BadSnapshot`]: it is of another build, damaged, or of another log.
    pub fn restore(&self, last: &Record) -> Result<State, BadSnapshot> {
        let body = self.checked(last)?;
        let mut state: State =
            serde_json::from_str(&body.state).map_err(|_| self.bad("its state cannot be read"))?;
        if state.next != self.sequence {
            return Err(self.bad("its state is that of another position"));
        }
        state.seed = body.seed;
        Ok(state)
    }

    /// What was kept with [`Snapshot::of_other`], as JSON, if it is what was kept and follows this event.
    ///
    /// # Errors
    /// As for [`Snapshot::restore`].
    pub fn restore_other(&self, last: &Record) -> Result<String, BadSnapshot> {
        Ok(self.checked(last)?.state)
    }

    fn bad(&self, reason: &str) -> BadSnapshot {
        let (execution, sequence) = (self.execution.clone(), self.sequence);
        BadSnapshot { execution, sequence, reason: reason.to_owned() }
    }

    fn checked(&self, last: &Record) -> Result<Body, BadSnapshot> {
        let bad = |reason| self.bad(reason);
        let body: Body = serde_json::from_str(&self.body).map_err(|_| bad("it cannot be read"))?;
        if body.schema != SNAPSHOT_SCHEMA {
            return Err(bad("a build that folds otherwise has made it"));
        }
        if body.digest != body.sum(self) {
            return Err(bad("it is not what was kept: its digest differs"));
        }
        if last.sequence + 1 != self.sequence || body.last != of_event(last) {
            return Err(bad("the log holds another event at its end"));
        }
        Ok(body)
    }
}

impl Body {
    fn sum(&self, of: &Snapshot) -> Digest {
        Digest::of_parts(&[
            of.execution.as_str().as_bytes(),
            of.of.as_bytes(),
            &of.sequence.to_le_bytes(),
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
