//! What may go wrong with a call to the store, and whether it does: by the call, and a seed.
//! Not the calls: those are [`crate::store`]'s.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{Dice, Process, clients::CLIENT};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The store does not do it, and says so.
    Reject,
    /// The store does it, and nobody is told.
    Lost,
    /// It is done twice.
    Twice,
    /// It is done so many milliseconds later.
    Late(u64),
    /// It is done, and its answer takes so many milliseconds.
    Slow(u64),
    /// The process dies before it is done.
    DiesBefore,
    /// The process dies after it is done.
    DiesAfter,
}

/// A fault, and the call that it strikes: `1.0 append e7 #3` is the fourth append to `e7` of process 1 in its first boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strike {
    /// The call.
    pub call: String,
    /// What goes wrong.
    pub fault: Fault,
}

/// How often what goes wrong, in ten thousand calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    /// [`Fault::Reject`].
    pub reject: u64,
    /// [`Fault::Lost`].
    pub lost: u64,
    /// [`Fault::Twice`].
    pub twice: u64,
    /// [`Fault::Slow`], and as often [`Fault::Late`].
    pub slow: u64,
    /// [`Fault::DiesBefore`], and as often [`Fault::DiesAfter`].
    pub dies: u64,
}

/// Which faults there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Faults {
    /// Those that a seed draws.
    Drawn(Rates),
    /// These, and no others.
    Listed(Vec<Strike>),
}

/// What happens to one call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) before: Duration,
    pub(crate) after: Duration,
    pub(crate) fault: Option<Fault>,
}

/// The weather of a world.
#[derive(Clone, Debug)]
pub struct Weather(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    seed: u64,
    delays: bool,
    rates: Option<Rates>,
    listed: BTreeMap<String, Fault>,
    calm: AtomicBool,
    struck: Mutex<Vec<Strike>>,
}

impl Weather {
    /// Of a seed; calls take their time if there are `delays`.
    pub fn of(seed: u64, faults: &Faults, delays: bool) -> Self {
        let (rates, listed) = match faults {
            Faults::Drawn(rates) => (Some(*rates), BTreeMap::new()),
            Faults::Listed(strikes) => {
                (None, strikes.iter().map(|strike| (strike.call.clone(), strike.fault)).collect())
            }
        };
        let (calm, struck) = (AtomicBool::new(false), Mutex::default());
        Self(Arc::new(Inner { seed, delays, rates, listed, calm, struck }))
    }

    /// Nothing goes wrong from now on.
    pub fn calm(&self) {
        self.0.calm.store(true, Ordering::Relaxed);
    }

    /// Whether nothing goes wrong any more.
    pub fn is_calm(&self) -> bool {
        self.0.calm.load(Ordering::Relaxed)
    }

    /// What has gone wrong.
    pub fn struck(&self) -> Vec<Strike> {
        self.0.struck.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What becomes of a call. Calls that look for work, again and again, are not delayed.
    pub(crate) fn fate(&self, process: &Process, kind: &'static str, execution: &str, looks: bool) -> Fate {
        let nth = process.nth(kind, execution);
        let call = format!("{} {kind} {execution} #{nth}", process.name());
        let mut dice = Dice::at(self.0.seed, &call);
        let mut fate = Fate::default();
        if self.0.delays && !looks {
            (fate.before, fate.after) = (delay(&mut dice), delay(&mut dice));
        }
        if self.is_calm() {
            return fate;
        }
        fate.fault = match self.0.rates {
            Some(rates) => drawn(rates, &mut dice),
            None => self.0.listed.get(&call).copied(),
        };
        if process.name() == CLIENT {
            // Clients live for ever.
            fate.fault = fate.fault.map(|fault| match fault {
                Fault::DiesBefore => Fault::Reject,
                Fault::DiesAfter => Fault::Lost,
                other => other,
            });
        }
        if let Some(fault) = fate.fault {
            self.0.struck.lock().unwrap_or_else(PoisonError::into_inner).push(Strike { call, fault });
        }
        fate
    }
}

fn delay(dice: &mut Dice) -> Duration {
    Duration::from_millis(match dice.below(40) {
        0..=19 => 0,
        20..=37 => 1 + dice.below(4),
        38 => 5 + dice.below(60),
        _ => 50 + dice.below(300),
    })
}

fn drawn(rates: Rates, dice: &mut Dice) -> Option<Fault> {
    let mut at = dice.below(10_000);
    let ms = 500 + dice.below(6_000);
    let all = [
        (rates.reject, Fault::Reject),
        (rates.lost, Fault::Lost),
        (rates.twice, Fault::Twice),
        (rates.slow, Fault::Slow(ms)),
        (rates.slow, Fault::Late(ms)),
        (rates.dies, Fault::DiesBefore),
        (rates.dies, Fault::DiesAfter),
    ];
    for (often, fault) in all {
        if at < often {
            return Some(fault);
        }
        at -= often;
    }
    None
}
