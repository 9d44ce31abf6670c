//! Classical bugs of durable engines, for the simulator's tests to plant: it has to find each.
//! Not in any program: without the feature `planted-bugs` the answer is a constant, and no such code is left.

use crate::Timestamp;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The store takes the append of an owner that has lost its lease.
    FenceIgnored,
    /// What was written is written again, since nobody said that it was.
    AcknowledgementTakenAsFailure,
    /// What came between the last look at the inbox and the sleep wakes nobody.
    WakeLost,
    /// The flow hears of an outcome before the log does.
    CompletionOutOfOrder,
    /// A snapshot holds what is not on disk yet.
    SnapshotMidTurn,
    /// Timers are kept in whole seconds.
    TimerPrecision,
    /// What a sender repeats is taken twice.
    DuplicatedResume,
    /// A heartbeat brings a lease back that somebody else has.
    HeartbeatAfterExpiry,
    /// A batch is named by a count, which two owners share.
    IdFromCounter,
    /// Effects overtake the writes that they rest on.
    WriteReordering,
}

impl Bug {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::FenceIgnored,
        Self::AcknowledgementTakenAsFailure,
        Self::WakeLost,
        Self::CompletionOutOfOrder,
        Self::SnapshotMidTurn,
        Self::TimerPrecision,
        Self::DuplicatedResume,
        Self::HeartbeatAfterExpiry,
        Self::IdFromCounter,
        Self::WriteReordering,
    ];
}

#[cfg(feature = "planted-bugs")]
thread_local! {
    static PLANTED: std::cell::Cell<Option<Bug>> = const { std::cell::Cell::new(None) };
}

/// Plants a bug in this thread, or none.
#[cfg(feature = "planted-bugs")]
pub fn plant(bug: Option<Bug>) {
    PLANTED.set(bug);
}

/// Whether this bug is planted.
#[cfg(feature = "planted-bugs")]
pub fn planted(bug: Bug) -> bool {
    PLANTED.get() == Some(bug)
}

/// Whether this bug is planted: none is.
#[cfg(not(feature = "planted-bugs"))]
#[inline(always)]
pub const fn planted(_: Bug) -> bool {
    false
}

/// When a timer fires that is due at this instant: then.
pub(crate) fn as_kept(due: Timestamp) -> Timestamp {
    if !planted(Bug::TimerPrecision) {
        return due;
    }
    let past = due.as_micros().rem_euclid(1_000_000);
    Timestamp::from_micros(due.as_micros() - past)
}
