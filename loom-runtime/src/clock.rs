//! The clock of a program: where the kernel's `now` comes from.
//! Not a timer: waiting is the async runtime's.

use std::time::{SystemTime, UNIX_EPOCH};

use kernel::Timestamp;
use tokio::time::Instant;

/// Tells the time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Clock {
    /// The system's.
    #[default]
    System,
    /// The async runtime's own, which tests can pause and advance.
    Runtime { origin: Timestamp, start: Option<Instant> },
}

impl Clock {
    /// Follows the async runtime from now on.
    pub(crate) fn runtime() -> Self {
        Self::Runtime { origin: system(), start: None }
    }

    pub(crate) fn now(&self) -> Timestamp {
        match self {
            Self::System => system(),
            Self::Runtime { origin, start } => {
                let elapsed = start.map_or_else(Default::default, |start| start.elapsed());
                origin.plus(elapsed)
            }
        }
    }

    /// Fixes the start: called once, inside the async runtime.
    pub(crate) fn started(self) -> Self {
        match self {
            Self::Runtime { origin, start: None } => Self::Runtime { origin, start: Some(Instant::now()) },
            clock => clock,
        }
    }
}

fn system() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH.plus(since)
}
