//! The machine under test, in a world of its own: an in-memory log, a virtual clock, a seeded schedule.
//! Not a test of stores or of the runtime's driver: there is no I/O here but reading golden logs.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod attempts;
mod batches;
mod calls;
mod cancels;
mod changes;
mod children;
mod codec;
mod cost;
mod delivery;
mod divergence;
mod doubt;
mod endings;
mod faults;
mod folding;
mod forks;
mod golden;
mod identity;
mod messages;
mod play;
mod program;
mod random;
mod runs;
mod snapshots;
mod time;
mod unmade;
mod waits;
mod world;

use calls::*;
use kernel::Kind;
use play::*;
