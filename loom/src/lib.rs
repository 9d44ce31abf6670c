//! The facade that users import: re-exports only, no logic.
#![cfg_attr(feature = "cli", doc = include_str!("../../README.md"))]

#[doc = include_str!("../../loom-macros/docs/failure.md")]
pub use loom_macros::Failure;
#[doc = include_str!("../../loom-macros/docs/flow.md")]
pub use loom_macros::flow;
#[doc = include_str!("../../loom-macros/docs/step.md")]
pub use loom_macros::step;
#[doc(hidden)]
pub use loom_runtime::__v1;
pub use loom_runtime::*;

#[cfg(feature = "cli")]
pub use cli;
#[cfg(feature = "sqlite")]
pub use sqlite;

mod link;
pub mod prelude;
