//! What a round of a test is put through. Not how: that is the wire's.

/// What happens to the process that runs the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    /// Nothing.
    None,
    /// It dies once.
    Crash(Point),
    /// After each outcome it hands everything back, and another one goes on.
    HandBack,
    /// Whatever this seed says.
    Faults(u64),
}

/// A place in the sequence of writes of one round, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Nothing of the write has happened.
    Before(usize),
    /// It has, and nobody was told.
    After(usize),
}
