//! A fleet of real processes on one database, hurt by a seed, and what must hold at the end: for tests of stores.
//! Not the hurting of a server, which the tests of its store do; nothing that a program uses.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test that cannot go on may stop, and says so"
)]

mod clients;
mod database;
mod dice;
mod fleet;
mod judge;
mod ledger;
mod operator;
mod process;
mod program;
mod run;

pub use database::Database;
pub use dice::Dice;
pub use fleet::{Faults, Fleet};
pub use ledger::Ledger;
pub use process::{Given, Process, given};
pub use run::{Plan, run};

/// What a worker process does, and for as long as its test lives; nothing in any other process.
pub async fn work() {
    let Some(given) = given() else { return };
    let app = program::open(&given.database, &given.ledger).await;
    app.work();
    std::future::pending::<()>().await;
}
