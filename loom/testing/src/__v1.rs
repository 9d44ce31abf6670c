//! What `#[loom::test]` and `assert_steps!` reach this crate through, version 1. Not for people: it may change with any
//! release, together with the macros.

pub use loom_runtime::{__v1::Step, Result};

pub use crate::rounds::{Ends, Plan, run};
