//! The service over real connections on loopback: every verb, every refusal, streams, workers elsewhere, and Python.
//! Not the app's own behaviour: `loom/tests/runtime` has that.

#![allow(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

mod client;
mod described;
mod events;
mod guarded;
mod health;
mod python;
mod refused;
mod remote;
mod rpc;
mod support;
