//! A projection with each kind of fold.

/// What was sold.
#[projection(version = 2)]
impl Totals {
    #[on(OrderPlaced)]
    fn placed(&mut self, event: &OrderPlaced) {
        self.placed += event.qty;
    }

    #[on(step = charge)]
    fn charged(&mut self, outcome: Result<Receipt, ShopError>) {
        self.earned += outcome.map_or(0, |receipt| receipt.amount);
    }

    #[on(lifecycle)]
    fn changed(&mut self, status: Status) {
        self.over = status.is_terminal();
    }
}
