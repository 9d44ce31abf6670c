//! The command line, verb by verb, over a store in memory.
//! Not the runtime: its own tests cover what executions do.

mod life;
mod listing;
mod looks;
mod made;
mod support;
mod work;
