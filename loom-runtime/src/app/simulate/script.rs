//! What a simulation is told, and which of it was of use.
//! Not what the log says: that is the past.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use kernel::{FrameId, Payload, machine::Invoke};

#[derive(Default)]
pub(super) struct Script {
    pub(super) stubs: BTreeMap<String, Payload>,
    pub(super) gates: BTreeMap<String, Payload>,
    pub(super) messages: Vec<(String, Payload)>,
    pub(super) silent: BTreeSet<String>,
    pub(super) answer: Option<Answerer<Invoke>>,
    pub(super) decide: Option<Answerer<FrameId>>,
    pub(super) run_decisions: bool,
    /// Which of the names were of use.
    pub(super) used: BTreeSet<String>,
}

/// A closure that may know an answer.
pub(super) type Answerer<Q> = Box<dyn FnMut(&Q) -> Option<Payload> + Send>;

impl Script {
    /// The stub of a frame, or of its step, flow or call.
    pub(super) fn stub(&mut self, frame: &FrameId, name: &str) -> Option<Payload> {
        let names = [frame.as_str(), name];
        let name = names.into_iter().find(|name| self.stubs.contains_key(*name))?;
        self.used.insert(name.into());
        self.stubs.get(name).cloned()
    }

    /// Whether nobody ever answers this.
    pub(super) fn is_silent(&self, frame: &FrameId, name: &str) -> bool {
        self.silent.contains(frame.as_str()) || self.silent.contains(name)
    }
}

/// A script that the stage and the flow on it read in turn.
#[derive(Clone)]
pub(super) struct SharedScript(Arc<Mutex<Script>>);

impl SharedScript {
    pub(super) fn new(script: Script) -> Self {
        Self(Arc::new(Mutex::new(script)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Script> {
        // A closure of the user's that panicked parks the simulation, and leaves the rest whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
