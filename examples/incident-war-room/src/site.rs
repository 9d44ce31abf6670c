//! The site that is in trouble: what is measured there, and what was done to it.
//! Not durable: it stands for the world, which Loom does not own.

use std::sync::{Arc, Mutex, PoisonError};

/// A shop that answers slowly since its last release.
#[derive(Clone, Default)]
pub struct Site(Arc<Mutex<Vec<String>>>);

impl Site {
    /// Something is done to it.
    pub fn act(&self, what: impl Into<String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(what.into());
    }

    /// Everything that was done to it, in order.
    pub fn done(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
