//! What a seed says: the same draws in the same order. Not randomness: no two runs of a seed differ.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::disturbance::Disturbance;

/// How often a process dies at most in one round: an execution whose owners vanish again and again is parked.
const DEATHS: u32 = 3;

/// The draws of one round.
pub(crate) struct Chance(Mutex<Draws>);

struct Draws {
    state: u64,
    deaths: u32,
}

/// What happens to one call of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing gets through, and the caller is told.
    Refused,
    /// It happens, and the caller is told that it did not.
    Unacknowledged,
    /// The process dies before it.
    DeathBefore,
    /// The process dies after it.
    DeathAfter,
}

impl Chance {
    pub(crate) fn new(disturbance: Disturbance) -> Option<Self> {
        match disturbance {
            Disturbance::Faults(seed) => Some(Self(Mutex::new(Draws { state: seed, deaths: 0 }))),
            _ => None,
        }
    }

    /// How long a call is under way.
    pub(crate) fn delay(&self) -> Duration {
        let mut draws = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match draws.below(4) {
            0 => Duration::from_millis(1 + draws.below(500)),
            _ => Duration::ZERO,
        }
    }

    /// What else happens to it; a read can only be refused.
    pub(crate) fn fault(&self, writes: bool) -> Option<Fault> {
        let mut draws = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = match draws.below(40) {
            0..=2 => Fault::Refused,
            3..=5 if writes => Fault::Unacknowledged,
            6 if writes => Fault::DeathBefore,
            7 if writes => Fault::DeathAfter,
            _ => return None,
        };
        if matches!(fault, Fault::DeathBefore | Fault::DeathAfter) {
            draws.deaths += 1;
            return Some(fault).filter(|_| draws.deaths <= DEATHS);
        }
        Some(fault)
    }
}

impl Draws {
    /// A number below `bound` (SplitMix64).
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
