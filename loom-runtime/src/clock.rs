//! The clock of a program: where the kernel's `now` comes from.
//! Not a timer: waiting is the async runtime's.

use std::{
    sync::OnceLock,
    time::{SystemTime, UNIX_EPOCH},
};

use kernel::Timestamp;
use tokio::time::Instant;

/// Tells the time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Clock {
    /// The system's.
    #[default]
    System,
    /// The async runtime's own, which tests can pause and advance. Programs of one runtime agree on it, however
    /// far apart they are built.
    Runtime,
    /// The async runtime's own, which showed this instant at that one.
    Virtual(Timestamp, Instant),
}

impl Clock {
    pub(crate) fn now(self) -> Timestamp {
        /// One pair of readings, of both clocks at once, for all programs of this process.
        static ORIGIN: OnceLock<(Timestamp, Instant)> = OnceLock::new();
        let now = Instant::now();
        let (at, start) = match self {
            Self::System => return system(),
            Self::Runtime => *ORIGIN.get_or_init(|| (system(), now)),
            Self::Virtual(at, start) => (at, start),
        };
        // A runtime that was paused before the first reading is behind it.
        match now.checked_duration_since(start) {
            Some(since) => at.plus(since),
            None => {
                let before = i64::try_from((start - now).as_micros()).unwrap_or(i64::MAX);
                Timestamp::from_micros(at.as_micros().saturating_sub(before))
            }
        }
    }
}

fn system() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::EPOCH.plus(since)
}
