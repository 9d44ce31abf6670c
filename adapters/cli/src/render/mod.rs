//! How things look to people: tables, sentences, commands to copy.
//! Not what programs read: those are the shapes of [`loom_runtime::view`].

pub(crate) mod changes;
pub(crate) mod event;
pub(crate) mod execution;
pub(crate) mod frame;
pub(crate) mod graph;
pub(crate) mod instant;
pub(crate) mod paint;
pub(crate) mod received;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod table;
pub(crate) mod text;
mod tree;
pub(crate) mod wait;
