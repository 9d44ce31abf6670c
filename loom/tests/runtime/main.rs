//! The runtime, case by case, on every store: what it promises to users, and the failures of other engines.
//! Not the kernel's own cases (`loom-runtime/kernel/tests`), nor those that need a real process (`tests/processes`).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod support;

mod agents;
mod cancels;
mod checks;
mod decisions;
mod events;
mod exchange;
mod faults;
mod gates;
mod golden;
mod owners;
mod projections;
mod replays;
mod retries;
mod shutdowns;
mod sizes;
mod snapshots;
mod starts;
mod stores;
mod streams;
mod timers;
mod upcasts;
mod verdicts;
mod versions;
mod wiring;
