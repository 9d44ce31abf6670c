//! The runtime, case by case, on every store: what it promises to users, and the failures of other engines.
//! Not the kernel's own cases (`loom-runtime/kernel/tests`), nor those that need a real process (`tests/processes`).
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod support;

mod agents;
mod branches;
mod budgets;
mod cancels;
mod ceilings;
mod checks;
mod children;
mod decisions;
mod events;
mod exchange;
mod faults;
mod forks;
mod gates;
mod golden;
mod interpreter;
mod lanes;
mod live;
mod memory;
mod messages;
mod migrations;
mod outages;
mod overlaps;
mod owners;
mod projections;
mod promotions;
mod replays;
mod retention;
mod retries;
mod runs;
mod sagas;
mod schedules;
mod shutdowns;
mod simulations;
mod sizes;
mod snapshots;
mod starts;
mod stores;
mod streams;
mod syscalls;
mod timers;
mod upcasts;
mod verdicts;
mod versions;
mod waits;
mod wiring;
