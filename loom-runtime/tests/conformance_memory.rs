//! The in-memory store against the conformance kit.
//! Not the kit's cases: those are in `loom_runtime::conformance`.
#![cfg(feature = "conformance")]

loom_runtime::store_conformance!(async || loom_runtime::Memory::new());
