//! What a schedule is told from outside, as messages on one topic.
//! Not what it does about it: that is the keeper's.

use loom_runtime::Timestamp;
use serde::{Deserialize, Serialize};

use super::spec::Spec;

/// The topic of [`Control`].
pub(super) const TOPIC: &str = "schedule";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum Control {
    /// A worker of a program that says this has begun.
    Deployed(Spec),
    Pause {
        by: String,
    },
    Resume {
        by: String,
    },
    /// Starts a run as soon as others let it.
    Trigger {
        #[schemars(with = "i64")]
        at: Timestamp,
    },
    /// Starts a run for each of these instants.
    Backfill {
        #[schemars(with = "Vec<i64>")]
        instants: Vec<Timestamp>,
    },
}
