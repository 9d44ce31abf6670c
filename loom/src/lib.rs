//! The facade that users import: re-exports only, no logic.
#![cfg_attr(feature = "cli", doc = include_str!("../../README.md"))]

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
#[doc = include_str!("../../loom-macros/docs/tool.md")]
pub use loom_macros::tool;
#[doc(hidden)]
pub use loom_runtime::__v1;
pub use loom_runtime::*;

#[cfg(feature = "cli")]
pub use cli;
#[cfg(feature = "sqlite")]
pub use sqlite;

mod link;
pub mod prelude;
