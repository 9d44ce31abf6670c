//! Domain events: facts of the user's own, in the log under a declared name.
//! Not messages: nobody waits for them, projections read them.

use serde::Serialize;

/// An event of the user's domain.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct OrderPlaced { sku: String }
///
/// impl loom_runtime::DomainEvent for OrderPlaced {
///     const NAME: &'static str = "order.placed";
/// }
/// ```
pub trait DomainEvent: Serialize {
    /// The declared name: what the log says, whatever the type is called and wherever it lives.
    const NAME: &'static str;
    /// The version of its shape.
    const VERSION: u32 = 1;
}
