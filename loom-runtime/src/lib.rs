//! The thin shell of Loom: ports, driver, context, registry and the in-memory store around the pure kernel.
//! No event is interpreted here, and no outside thing is named: the first is the kernel's, the second the adapters'.

mod memory;
pub mod ports;

pub use kernel;
pub use memory::Memory;
