//! A lane, as programs write and read it.
//! Not what it does: that is [`crate::Lane`].

use std::{
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports;

/// A lane, and what it allows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lane {
    /// What tells it from other lanes.
    pub key: String,
    /// How many of it run at once, over all workers; as many as there are unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<NonZeroU32>,
    /// How many of it begin within a time; as many as there are unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Its share against other lanes; 1 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<NonZeroU16>,
}

/// So many within a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rate {
    /// How many.
    pub begins: NonZeroU32,
    /// Within so many milliseconds.
    pub within_ms: u64,
}

impl From<&ports::Lane> for Lane {
    fn from(lane: &ports::Lane) -> Self {
        let within_ms = |within: Duration| u64::try_from(within.as_millis()).unwrap_or(u64::MAX);
        Self {
            key: lane.key.clone(),
            at_most: lane.at_most,
            rate: lane.rate.map(|rate| Rate { begins: rate.begins, within_ms: within_ms(rate.within) }),
            weight: Some(lane.weight).filter(|weight| weight.get() > 1),
        }
    }
}

impl From<Lane> for ports::Lane {
    fn from(Lane { key, at_most, rate, weight }: Lane) -> Self {
        let within = |rate: Rate| Duration::from_millis(rate.within_ms);
        let rate = rate.map(|rate| ports::Rate { begins: rate.begins, within: within(rate) });
        Self { key, at_most, rate, weight: weight.unwrap_or(NonZeroU16::MIN) }
    }
}
