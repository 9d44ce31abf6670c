//! Real processes on one SQLite file: killed, stopped and continued by the operating system.
//! Not what one process can show: that is in `tests/runtime`.

mod child;
mod ledger;

mod crashes;
mod rivals;
