//! An incident: diagnostics side by side, three plans simulated, the best one promoted and carried out for real.
//! Not a monitoring system: the site is a struct in memory, and counts what is done to it.

pub mod incident;
pub mod room;
pub mod site;

use loom::{App, BuildError, ports::Store};

/// The program on whatever store, around this site.
///
/// # Errors
/// The program is wired wrongly.
pub fn app(site: site::Site, store: impl Store) -> Result<App, BuildError> {
    App::builder().store(store).provide(site).build()
}
