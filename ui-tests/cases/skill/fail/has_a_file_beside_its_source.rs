//! The instructions are there on every machine that builds the program.

use loom::prelude::*;

/// Without instructions.
#[skill]
struct Nothing;

/// Of this machine alone.
#[skill(file = "/etc/refunds.md")]
struct Absolute;

fn main() {}
