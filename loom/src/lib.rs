//! Durable, inspectable, reproducible executions from ordinary async Rust.
//! This crate is the facade: re-exports only, no logic.
//!
#![cfg_attr(feature = "cli", doc = include_str!("../../README.md"))]

pub use coordination::*;
#[doc = include_str!("../../loom-macros/docs/failure.md")]
pub use loom_macros::Failure;
#[doc = include_str!("../../loom-macros/docs/agent.md")]
pub use loom_macros::agent;
#[doc = include_str!("../../loom-macros/docs/event.md")]
pub use loom_macros::event;
#[doc = include_str!("../../loom-macros/docs/flow.md")]
pub use loom_macros::flow;
#[doc = include_str!("../../loom-macros/docs/policy.md")]
pub use loom_macros::policy;
#[doc = include_str!("../../loom-macros/docs/projection.md")]
pub use loom_macros::projection;
#[doc = include_str!("../../loom-macros/docs/skill.md")]
pub use loom_macros::skill;
#[doc = include_str!("../../loom-macros/docs/step.md")]
pub use loom_macros::step;
#[cfg(feature = "testing")]
#[doc = include_str!("../../loom-macros/docs/test.md")]
pub use loom_macros::test;
#[doc = include_str!("../../loom-macros/docs/tool.md")]
pub use loom_macros::tool;
#[doc(hidden)]
pub use loom_runtime::__v1;
pub use loom_runtime::*;

/// The command line of a Loom program.
#[cfg(feature = "cli")]
pub mod cli {
    #[doc(inline)]
    pub use ::cli::*;
}

/// The host side over HTTP: a service, a client, and workers without a database.
#[cfg(feature = "http")]
pub mod http {
    #[doc(inline)]
    pub use ::loom_http::*;
}

/// The embedded store: one SQLite file, any number of processes.
#[cfg(feature = "sqlite")]
pub mod sqlite {
    #[doc(inline)]
    pub use ::sqlite::*;
}

/// The store of a fleet: one Postgres database, workers on any number of machines.
#[cfg(feature = "postgres")]
pub mod postgres {
    #[doc(inline)]
    pub use ::postgres::*;
}

/// Several databases as one store, and moving executions between them.
#[cfg(feature = "shards")]
pub mod shards {
    #[doc(inline)]
    pub use ::shards::*;
}

#[doc = include_str!("../docs/testing.md")]
#[cfg(feature = "testing")]
pub mod testing {
    #[doc(inline)]
    pub use ::testing::*;
}

#[doc = include_str!("../docs/operations.md")]
pub mod operations {}

mod link;
pub mod prelude;
