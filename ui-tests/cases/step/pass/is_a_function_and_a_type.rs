//! The name stands for a function in expressions and for a type in types.

use loom::prelude::*;
use loom::{Step, StepCall};

mod steps {
    use loom::prelude::*;

    #[step]
    pub async fn charge(order: u32) -> loom::Result<u32> {
        Ok(order)
    }
}
use steps::charge;

fn name_of<S: Step>() -> &'static str {
    S::DESCRIPTOR.name
}

fn call() -> StepCall<charge> {
    charge(1)
}

#[step]
async fn local(order: u32) -> loom::Result<u32> {
    Ok(order)
}

fn main() {
    assert_eq!((name_of::<charge>(), name_of::<steps::charge>(), name_of::<local>()), ("charge", "charge", "local"));
    let _ = (call(), local(1));

    #[step]
    async fn inner() -> loom::Result<()> {
        Ok(())
    }
    let _ = inner();
}
