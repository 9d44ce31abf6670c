//! `#[loom::test]` and `loom::testing`: what they promise to those who test flows, and that they find what is planted.
//! Not what the runtime promises: that is in `tests/runtime`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on may stop")]

extern crate loom as weft; // for who calls it so

mod basics;
mod files;
mod planted;
mod shop;
