//! What gives a value can be a policy.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::NamedPolicy;
use loom::prelude::*;

/// Pays nothing.
#[policy]
pub const NO_PAYMENTS: Policy = Policy::new().deny(&["payments.*"]);

/// Talks to the shop alone.
#[policy(name = "shop-only")]
static SHOP: Policy = Policy::new().allow(&["shop.*"]);

/// Whatever.
#[policy]
pub(crate) fn anything() -> Policy {
    Policy::new()
}

/// Held to all of them.
#[flow(policies = [NO_PAYMENTS, SHOP, anything])]
pub async fn order(_: Ctx) -> loom::Result<()> {
    Ok(())
}

fn main() {
    assert_eq!((NO_PAYMENTS::DESCRIPTOR.name, SHOP::DESCRIPTOR.name), ("no-payments", "shop-only"));
    assert!(!NO_PAYMENTS.permits("payments.write"));
    assert!((anything::DESCRIPTOR.value)().permits("payments.write"));
}
