//! The choices of a simulation: given by a stub, by the execution's own log or by a closure, or left open.
//! Not made by the flow, unless the simulation was told to let it.

use std::sync::Arc;

use kernel::{FrameId, Payload};

use super::{past::Past, script::SharedScript};
use crate::context::Choices;

pub(super) struct Given {
    pub(super) script: SharedScript,
    pub(super) past: Arc<Past>,
}

impl Choices for Given {
    fn given(&self, run: u64, frame: &FrameId) -> Option<Payload> {
        let mut script = self.script.lock();
        let stub = script.stub(frame, frame.base());
        let known = stub.or_else(|| self.past.choice(run, frame));
        known.or_else(|| script.decide.as_mut().and_then(|decide| decide(frame)))
    }

    fn may_choose(&self) -> bool {
        self.script.lock().run_decisions
    }
}
