//! The questions, one a file.
//! Each prints its figures beside a peer where there is one.

pub(crate) mod compile;
pub(crate) mod flows;
pub(crate) mod fold;
pub(crate) mod join;
pub(crate) mod partitions;
pub(crate) mod payloads;
pub(crate) mod rehydration;
pub(crate) mod replay;
pub(crate) mod snapshots;
pub(crate) mod steps;
pub(crate) mod suspended;
