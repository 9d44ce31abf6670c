//! What comes with a fork: outcomes and answers that its maker gave, and steps that are to run again.
//! Not what was open without a word of its maker: steps stay in doubt, gates stay open, children are waited for.

use super::{Machine, cx::Settled, live::Owed, replay::settled_child};
use crate::{
    ChildSettled, EffectError, Event, Forked, Frame, FrameId, FrameKind, FrameStatus, GateAnswered,
    GivenAnswer, Outcome, ParkReport, StepCompleted,
};

/// What the fork says of one frame, as it stands.
enum Given {
    Output(crate::Payload),
    Failure(crate::Failed),
    Again,
    Child(Outcome),
    Answer(GivenAnswer),
}

impl Machine {
    /// Whether the fork has an answer to this gate.
    pub(super) fn was_answered(&self, gate: &FrameId) -> bool {
        self.state().forked.as_ref().is_some_and(|forked| forked.answers.contains_key(gate))
    }

    /// Everything that the fork says of frames that are open, to be recorded by this owner: the log behind
    /// `EXECUTION_FORKED` may go on with requests of the pass that the cut is in, and no outcome comes before those.
    pub(super) fn owe_the_branch(&mut self) {
        let state = self.state();
        let Some(forked) = &state.forked else { return };
        let frames = forked.stubs.keys().chain(forked.answers.keys()).chain(&forked.rerun);
        let of = |frame: &FrameId| given(forked, frame, state.frames.get(frame)?);
        let owed: Vec<_> = frames.filter(|frame| of(frame).is_some()).cloned().collect();
        owed.into_iter().for_each(|frame| self.owed.push_back(Owed::Given(frame)));
    }

    /// Records what the fork says of a frame, unless it was settled in the meantime.
    pub(super) fn give(&mut self, frame: FrameId) -> Result<(), ParkReport> {
        let state = self.state();
        let (Some(forked), Some(known)) = (&state.forked, state.frames.get(&frame)) else { return Ok(()) };
        let (by, attempt) = (forked.by.clone(), known.attempt);
        match given(forked, &frame, known) {
            None => Ok(()),
            Some(Given::Output(output)) => {
                let outcome = Settled::Completed(output.clone());
                let event = StepCompleted { frame: frame.clone(), attempt, output, by: Some(by) };
                self.deliver(frame, Event::StepCompleted(event), outcome)
            }
            Some(Given::Failure(failure)) => self.fail(frame, failure),
            Some(Given::Again) => self.start_again_for(frame, by),
            Some(Given::Child(outcome)) => {
                let settled = settled_child(&outcome);
                self.children.retain(|(_, started)| *started != frame);
                self.deliver(frame.clone(), Event::ChildSettled(ChildSettled { frame, outcome }), settled)
            }
            Some(Given::Answer(GivenAnswer { answer, by })) => {
                let outcome = Settled::Answered { answer: answer.clone(), by: by.clone() };
                let event = GateAnswered { frame: frame.clone(), answer, by };
                self.deliver(frame, Event::GateAnswered(event), outcome)
            }
        }
    }
}

fn given(forked: &Forked, frame: &FrameId, known: &Frame) -> Option<Given> {
    let is_doubted = known.status == FrameStatus::InDoubt && known.doubt.as_deref() == Some(Forked::DOUBT);
    match (&known.kind, known.status) {
        (FrameKind::Step { .. }, _) if is_doubted => match forked.stubs.get(frame) {
            Some(Outcome::Completed(output)) => Some(Given::Output(output.clone())),
            Some(Outcome::Failed(failure)) => Some(Given::Failure(failure.clone())),
            Some(Outcome::Cancelled { .. }) => Some(Given::Failure(EffectError::Cancelled.into())),
            None => forked.rerun.contains(frame).then_some(Given::Again),
        },
        (FrameKind::Child { .. }, FrameStatus::Open) => forked.stubs.get(frame).cloned().map(Given::Child),
        (FrameKind::Gate { .. }, FrameStatus::Open) => forked.answers.get(frame).cloned().map(Given::Answer),
        _ => None,
    }
}
