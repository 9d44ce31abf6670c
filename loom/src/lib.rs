//! The facade that users import: re-exports only, no logic.
#![cfg_attr(feature = "cli", doc = include_str!("../../README.md"))]

pub use loom_macros::{Failure, flow, step};
#[doc(hidden)]
pub use loom_runtime::__v1;
pub use loom_runtime::*;

#[cfg(feature = "cli")]
pub use cli;
#[cfg(feature = "sqlite")]
pub use sqlite;

mod link;
pub mod prelude;
