//! The SQLite store against the conformance kit.
//! Not what is SQLite's own: files, locks and processes are in the other tests.

mod fixture;

loom_runtime::store_conformance!(async || fixture::open(&fixture::fresh()).await);
