//! Limits on what an execution may write, checked at the call and before any durable write.
//! Not budgets: those are policies of a room.

use kernel::{EffectError, Failed, Fault, ParkReport, Payload};

/// Limits on sizes, in bytes of canonical JSON, and on lengths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of one input, output, answer, decision or domain event. 4 MiB unless set.
    pub payload: usize,
    /// Of one recorded failure. 16 KiB unless set.
    pub failure: usize,
    /// How many events a run may have: beyond, the execution parks, and a warning is logged at four fifths. 100,000
    /// unless set. A flow that lives long uses [`Ctx::continue_as_new`](crate::Ctx::continue_as_new).
    pub history: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { payload: 4 << 20, failure: 16 << 10, history: 100_000 }
    }
}

impl Limits {
    /// The engine's report on a step's input that is too large.
    pub(crate) fn refuse_input(&self, step: &str, input: &Payload) -> Option<EffectError> {
        refuse(step, "input", input, self.payload)
    }

    /// Whether something from outside is small enough; if not, what is wrong and what to do.
    pub(crate) fn check_given(&self, payload: &Payload) -> Result<(), String> {
        let (size, limit) = (payload.len(), self.payload);
        let advice = "store it elsewhere and pass a reference, or raise `Limits::payload`";
        if size > limit {
            Err(format!("it has {size} bytes, the limit is {limit}: {advice}"))
        } else {
            Ok(())
        }
    }

    /// Whether something that a flow itself records is small enough; if not, its fault.
    pub(crate) fn check_record(&self, what: &str, payload: &Payload) -> Result<(), ParkReport> {
        let (size, limit) = (payload.len(), self.payload);
        let message = || format!("{what} is {size} bytes, over the limit of {limit}");
        if size > limit { Err(ParkReport::new(Fault::OverLimit, message())) } else { Ok(()) }
    }

    /// What a flow returned, if it fits; else the engine's report on that.
    pub(crate) fn check_flow(
        &self,
        flow: &str,
        returned: Result<Payload, Failed>,
    ) -> Result<Payload, Failed> {
        let (what, payload, limit) = match &returned {
            Ok(output) => ("outcome", Some(output), self.payload),
            Err(failed) => ("failure", failed.error.as_ref(), self.failure),
        };
        match payload.and_then(|payload| refuse(flow, what, payload, limit)) {
            Some(error) => Err(error.into()),
            None => returned,
        }
    }
}

fn refuse(of: &str, what: &str, payload: &Payload, limit: usize) -> Option<EffectError> {
    let size = payload.len();
    (size > limit).then(|| EffectError::PayloadTooLarge {
        step: of.into(),
        what: what.into(),
        size: size as u64,
        limit: limit as u64,
    })
}
