//! Compositions of durable calls: schedules.
//! Not kernel: whatever is here, a user could have written with `Ctx` and the host API.

mod schedule;

pub use schedule::{Instants, Schedule, ScheduleError, ScheduleHandle, Schedules, nominal};
