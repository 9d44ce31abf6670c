//! The shape is held in a test, not beside one.

loom::shape::check!();

fn main() {}
