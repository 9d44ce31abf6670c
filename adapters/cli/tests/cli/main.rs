//! The command line, verb by verb, over a store in memory.
//! Not the runtime: its own tests cover what executions do.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on fails; Clippy sees only the test functions as tests"
)]

mod advice;
mod forks;
mod frozen;
mod kept;
mod life;
mod listing;
mod looks;
mod made;
mod messages;
mod opening;
mod served;
mod spread;
mod support;
mod told;
mod work;
