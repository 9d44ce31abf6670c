//! A deterministic world for the real kernel and runtime: a virtual clock, processes that die, stand still and are cut
//! off, a store whose answers come late, twice or not at all, random flows, and the rules that must hold of every log.
//! Not a test of stores: the one here is in memory. `chaos/` hurts real processes on real databases.
//!
//! Everything is decided by one seed, with the generator of [`Dice`]: the same one is the same history, byte for byte. What
//! goes wrong with a call hangs on the call alone (whose, which, to what, the how-manieth), so that a plan from which
//! something is taken away keeps the rest of its faults.
//!
//! Not simulated: clocks that differ from process to process, and replicas that lag behind.
//!
//! ```
//! let plan = sim::Plan::random(7, 3);
//! let history = sim::run(&plan);
//! assert_eq!(history.broken, []);
//! assert_eq!(history.logs, sim::run(&plan).logs);
//! ```

#[cfg(feature = "planted-bugs")]
mod bugs;
mod campaign;
mod clients;
mod dice;
mod flow;
mod ledger;
mod plan;
mod process;
mod program;
mod report;
mod rules;
mod smallest;
mod store;
mod weather;
mod witness;
mod world;

#[cfg(feature = "planted-bugs")]
pub use bugs::{Found, find};
pub use campaign::{A_WORLD, Campaign, Tally};
pub use dice::Dice;
#[cfg(feature = "planted-bugs")]
pub use loom_runtime::kernel::planted::Bug;
pub use plan::{Act, Disaster, Plan, Planned, What};
pub use process::Process;
pub use program::{Mode, Node, Program};
pub use report::{hold, report};
pub use rules::{Broken, Rule};
pub use smallest::smallest;
pub use store::Road;
pub use weather::{Fault, Faults, Rates, Strike, Weather};
pub use witness::Told;
pub use world::{History, run};
