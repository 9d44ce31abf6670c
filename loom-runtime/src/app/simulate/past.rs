//! What an execution's own log has to say: the outcomes of its steps and children and its decisions, in every run.
//! Not its gates: those are asked again.

use std::collections::BTreeMap;

use kernel::{Digest, Event, FrameId, FrameKind, FrameStatus, Outcome, Payload, State};

use crate::{
    App,
    ports::{ExecutionRow, StoreError},
};

const PAGE: usize = 1_000;

/// Outcomes by run and frame, and what they are outcomes of.
pub(super) struct Past(Outcomes);

type Outcomes = BTreeMap<(u64, FrameId), (What, Outcome)>;

/// A step or a flow with its input; `None` for a decision.
type What = Option<(String, Digest)>;

impl Past {
    pub(super) async fn read(app: &App, origin: &ExecutionRow) -> Result<Self, StoreError> {
        let (mut outcomes, mut state) = (BTreeMap::new(), State::default());
        loop {
            let page = app.log(&origin.id, state.next, PAGE).await?;
            for envelope in &page {
                if matches!(envelope.event, Event::ContinuedAsNew(_)) {
                    gather(&state, &mut outcomes);
                }
                state.apply(envelope).map_err(|e| StoreError::Corrupt(e.to_string()))?;
            }
            if page.is_empty() {
                gather(&state, &mut outcomes);
                return Ok(Self(outcomes));
            }
        }
    }

    /// The outcome that this frame had in this run, if it was that of the same step or flow with the same input.
    pub(super) fn outcome(&self, run: u64, frame: &FrameId, what: &str, input: Digest) -> Option<Outcome> {
        let (of, outcome) = self.0.get(&(run, frame.clone()))?;
        of.as_ref().is_some_and(|(name, digest)| name == what && *digest == input).then(|| outcome.clone())
    }

    /// What this decision came to in this run.
    pub(super) fn choice(&self, run: u64, frame: &FrameId) -> Option<Payload> {
        match self.0.get(&(run, frame.clone()))? {
            (None, Outcome::Completed(chosen)) => Some(chosen.clone()),
            _ => None,
        }
    }
}

fn gather(state: &State, outcomes: &mut Outcomes) {
    for (frame, known) in &state.frames {
        let what = match &known.kind {
            FrameKind::Step { step, digest, .. } => Some((step.clone(), *digest)),
            FrameKind::Child { flow, digest, .. } => Some((flow.clone(), *digest)),
            FrameKind::Decision => None,
            _ => continue,
        };
        // What was discarded was an outcome all the same, of an effect that happened; not so a child that nobody waited
        // for: it was stopped, if it was started at all.
        let happened = match known.status {
            FrameStatus::Settled => true,
            FrameStatus::Abandoned => !matches!(known.outcome, Some(Outcome::Cancelled { .. })),
            _ => false,
        };
        if let (Some(outcome), true) = (&known.outcome, happened) {
            outcomes.insert((state.run, frame.clone()), (what, outcome.clone()));
        }
    }
}
