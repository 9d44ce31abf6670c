//! A failure with one variant of each class.

/// Why an order was not sold.
enum ShopError {
    /// The card was declined.
    #[failure(permanent)]
    Declined,
    /// The warehouse is busy.
    #[failure(retry_after = "5s")]
    Busy { until: u64 },
    Unreachable(String),
    /// What the engine reports.
    #[failure(engine)]
    Engine(EffectError),
}
