//! Schedules: flows that start by themselves.
//! Not a timer service: a schedule is an execution like any other, `schedule:<flow>`, that sleeps until the next
//! nominal instant and starts the flow under an id of flow and instant, so that any number of workers start it once.

mod control;
mod cron;
mod host;
mod keeper;
mod run_id;
mod service;
mod spec;
mod state;

pub use host::{Instants, Schedule, ScheduleError, ScheduleHandle, Schedules};
pub use run_id::nominal;
