//! Attempts of steps that were started before: after a back-off, a verdict, a fork or a take-over.
//! Not the first ones, nor how attempts end: `live` has both.

use super::{Machine, cx::Op, live::Owed};
use crate::{Delivery, EffectError, FrameId, FrameKind, ParkReport, Payload, StepStarted};

impl Machine {
    /// Starts the next attempt of a frame that has been started before. A call that was refused is refused again; a
    /// program that would take it by now makes its first attempt.
    pub(super) fn start_again(&mut self, frame: FrameId) -> Result<(), ParkReport> {
        let Some(known) = self.state().frames.get(&frame) else { return Ok(()) };
        let (attempt, was_refused) = (known.attempt, known.input.is_none());
        let FrameKind::Step { step, digest, .. } = known.kind.clone() else { return Ok(()) };
        let mut input = None;
        if was_refused {
            if let Some(error) = self.refusal(&frame) {
                self.owed.push_back(Owed::Failure(frame, error));
                return Ok(());
            }
            self.unmade(frame.clone(), attempt)?;
            input = self.asked_with(&frame);
        }
        let (attempt, delivery) = (attempt + 1, self.terms(&frame).1);
        self.start_attempt(StepStarted { frame, step, attempt, digest, input, delivery })
    }

    /// The same, because somebody said so.
    pub(super) fn start_again_for(&mut self, frame: FrameId, by: String) -> Result<(), ParkReport> {
        self.start_again(frame.clone())?;
        if self.active.contains_key(&frame) {
            self.journal.attribute(by);
        }
        Ok(())
    }

    /// The input of a step, as the flow has it now.
    fn asked_with(&self, frame: &FrameId) -> Option<Payload> {
        match &self.cx.shared.lock().slots.get(frame)?.op {
            Op::Step { input, .. } => Some(input.clone()),
            _ => None,
        }
    }

    /// What becomes of an attempt that an owner before this one has left open.
    pub(super) fn restart_attempt(&mut self, frame: FrameId, attempt: u32) -> Result<(), ParkReport> {
        let (retry, delivery) = self.terms(&frame);
        if let Some(error) = self.refusal(&frame) {
            self.owed.push_back(Owed::Failure(frame, error));
            return Ok(());
        }
        if self.state().frames.get(&frame).is_some_and(|known| known.input.is_none()) {
            return self.start_again(frame); // no attempt was made
        }
        if delivery == Delivery::AtMostOnce {
            return self.doubt(frame, attempt, "crash");
        }
        let attempts = self.made(&frame, attempt);
        if retry.counts_crashes() && attempts >= retry.attempts {
            let last = format!("the process ended during attempt {attempt}");
            self.owed.push_back(Owed::Failure(frame, EffectError::Exhausted { attempts, last }));
            return Ok(());
        }
        self.start_again(frame)
    }
}
