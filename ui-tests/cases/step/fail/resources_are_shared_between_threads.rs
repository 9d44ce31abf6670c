//! A resource that cannot be shared is refused where a step wants it.

use loom::prelude::*;

use std::{cell::Cell, rc::Rc};

#[step]
async fn charge(till: Res<Rc<Cell<u32>>>) -> loom::Result<u32> {
    Ok(till.get())
}

fn main() {}
