//! What a program makes up: names of workers, fresh ids, seeds, batches.
//! Not the randomness of flows: that is drawn from a seed in their log.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use kernel::Digest;
use uuid::{Builder, Uuid};

/// Where it comes from.
#[derive(Clone, Debug, Default)]
pub(crate) enum Entropy {
    /// The system.
    #[default]
    System,
    /// A seed: the same draws, in the same order.
    Seeded(u64, Arc<AtomicU64>),
}

impl Entropy {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self::Seeded(seed, Arc::default())
    }

    /// A fresh UUID; the system's are in the order of time (version 7).
    pub(crate) fn uuid(&self) -> Uuid {
        let Self::Seeded(seed, drawn) = self else { return Uuid::now_v7() };
        let nth = drawn.fetch_add(1, Ordering::Relaxed);
        let digest = Digest::of_parts(&[&seed.to_le_bytes(), &nth.to_le_bytes()]);
        Builder::from_random_bytes(digest.bytes()).into_uuid()
    }

    /// A name that no other worker has, nor had.
    pub(crate) fn worker(&self) -> String {
        let drawn = self.uuid().simple();
        match self {
            Self::System => format!("{}-{drawn}", std::process::id()),
            Self::Seeded(..) => drawn.to_string(),
        }
    }
}
