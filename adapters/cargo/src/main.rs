//! `cargo loom shape`: writes the `loom.shape.json` of crates, by running the test that holds them.
//! Not a reader of Rust: what a crate registers is known to the compiled crate alone, and that test asks it.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

mod shape;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// Cargo runs `cargo-loom loom …` for `cargo loom …`.
#[derive(Parser)]
#[command(name = "cargo", bin_name = "cargo")]
enum Cargo {
    Loom(Loom),
}

/// What a Loom crate does with cargo besides building
#[derive(Args)]
#[command(version)]
struct Loom {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write loom.shape.json: what a crate registers, for review
    ///
    /// Runs the tests whose names contain `shape`; one of them calls `loom::shape::check!()`.
    Shape(shape::Shape),
}

fn main() -> ExitCode {
    let Cargo::Loom(Loom { verb: Verb::Shape(args) }) = Cargo::parse();
    match shape::run(&args) {
        Ok(said) => {
            print!("{said}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
