//! Each kind of fact, by reference and by value.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::Projection;
use loom::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

mod shop {
    use super::*;

    #[event(name = "order.placed")]
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Placed {
        pub(crate) qty: u64,
    }

    #[event(name = "order.closed")]
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub(crate) struct Closed;

    #[step]
    pub(crate) async fn charge(amount: u64) -> loom::Result<u64> {
        Ok(amount)
    }
}

/// A read model.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct OrderTotals {
    qty: u64,
    earned: u64,
    closed: bool,
    over: bool,
}

/// What was sold.
#[projection(name = "totals", version = 3)]
impl OrderTotals {
    #[on(shop::Placed)]
    fn placed(&mut self, event: &shop::Placed) {
        self.add(event.qty);
    }

    #[on(shop::Closed)]
    #[allow(clippy::needless_pass_by_value)]
    fn closed(&mut self, _: shop::Closed) {
        self.closed = true;
    }

    #[on(step = shop::charge)]
    fn charged(&mut self, outcome: &loom::Result<u64>) {
        self.earned += outcome.as_ref().map_or(0, |amount| *amount);
    }

    /// Documented.
    #[on(lifecycle)]
    fn changed(&mut self, status: loom::Status) {
        self.over = status.is_terminal();
    }
}

impl OrderTotals {
    fn add(&mut self, qty: u64) {
        self.qty += qty;
    }
}

/// Folds nothing.
#[projection]
impl Nothing {}

/// A state of no facts.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct Nothing;

fn main() {
    let totals = OrderTotals::DESCRIPTOR;
    assert_eq!((totals.name, totals.version, totals.events.len(), totals.steps.len()), ("totals", 3, 2, 1));
    assert_eq!((Nothing::DESCRIPTOR.name, Nothing::DESCRIPTOR.lifecycle), ("nothing", false));
}
