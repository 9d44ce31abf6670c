//! Resources, context, input, every key.
#![deny(warnings, missing_docs, unused_qualifications)]
#![forbid(unsafe_code)]

use loom::prelude::*;

/// A resource.
#[derive(Debug)]
pub struct Warehouse;

/// An alias is a `Result` too.
pub type Outcome<T> = Result<T, loom::Error>;

/// Documented.
#[step(
    retry(attempts = 5, initial = "200ms", max = "5m", factor = 3),
    timeout = "10s",
    heartbeat = "2s",
    effects("http", "payments.write"),
    name = "reserve-stock"
)]
pub async fn reserve(
    stock: Res<Warehouse>,
    step: StepCx,
    /// What to reserve.
    sku: String,
    #[serde(default)] mut qty: u32,
) -> Outcome<u32> {
    let _ = (&*stock, step.idempotency_key(), sku);
    qty += 1;
    Ok(qty)
}

/// Without input.
#[step(pure)]
pub async fn nothing() -> Outcome<()> {
    Ok(())
}

/// Retried by the defaults.
#[step(reads, retry)]
async fn look() -> Outcome<()> {
    Ok(())
}

/// Delivered once.
#[step(at_most_once, timeout = "1d")]
#[allow(clippy::unused_async)]
pub(crate) async fn charge(r#type: String) -> Outcome<String> {
    Ok(r#type)
}

fn main() {
    let _ = (reserve(String::new(), 1), nothing(), look(), charge(String::new()));
}
