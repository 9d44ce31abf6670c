//! Every kind of variant, and every class.
#![deny(warnings, missing_docs)]

use loom::prelude::*;

/// Documented.
#[derive(Debug, Failure, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub enum ShopError {
    /// The card was declined.
    ///
    /// More about it.
    #[failure(permanent)]
    Declined,
    /// The warehouse is busy.
    #[failure(retry_after = "5s")]
    Busy {
        /// Until when.
        until: u64,
    },
    #[allow(missing_docs)]
    Unreachable(String),
    /// What the engine reports.
    #[failure(engine)]
    Engine(EffectError),
}

fn main() {
    let error = ShopError::Declined;
    assert_eq!((error.code(), error.message().as_str()), ("Declined", "The card was declined."));
    assert_eq!(error.retry(), loom::RetryClass::Permanent);
    assert_eq!(ShopError::Unreachable(String::new()).message(), "Unreachable");
}
