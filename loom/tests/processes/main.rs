//! Real processes on one SQLite file, or one Postgres database: killed, stopped and continued by the operating system.
//! Not what one process can show: that is in `tests/runtime`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

mod child;
mod ledger;

mod crashes;
mod rivals;
