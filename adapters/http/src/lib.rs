//! The host side of Loom over HTTP: a service, a client, and the store of workers that have no database.
//! Not the verbs' meaning: the app's documentation has it.
//!
#![doc = include_str!("../README.md")]

pub mod args;
#[cfg(feature = "client")]
mod client;
mod problem;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::{
    Client, ClientError, Event, EventStream, Execution, Executions, Gate, Gates, Heard, RemoteStore, Standing,
};
pub use problem::{Code, Problem};
#[cfg(feature = "server")]
pub use server::{Config, ServeError, Server, serve};

/// The version of the wire, `major.minor`: a minor one only adds.
pub const ABI: &str = "1.0";
