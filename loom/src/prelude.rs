//! Everything that a file of flows and steps needs, for `use loom::prelude::*`.
//! Nothing of hosts: a program names `loom::App` and what goes with it itself.

use std::time::Duration;

#[cfg(feature = "postgres")]
pub use ::postgres::Postgres;
#[cfg(feature = "sqlite")]
pub use ::sqlite::Sqlite;
pub use futures_util::future::{join_all, try_join_all};
pub use loom_macros::{Failure, agent, event, flow, policy, projection, skill, step, tool};
pub use loom_runtime::{
    __v1::tokio::{join, try_join},
    Ctx, DomainEvent, EffectError, Failure, Policy, Res, StepCx, Timestamp, select,
};

/// So many milliseconds.
pub const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// So many seconds.
pub const fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

/// So many minutes.
pub const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

/// So many hours.
pub const fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 3600)
}

/// So many days of 24 hours.
pub const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 86_400)
}
