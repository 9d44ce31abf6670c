//! `cargo run -p checkout`: without arguments a tour, with arguments the command line of a Loom program.
//! No logic: see `shop.rs` and `tour.rs`.

use std::path::PathBuf;

#[tokio::main]
async fn main() -> loom::Result<()> {
    let db = PathBuf::from(std::env::var("CHECKOUT_DB").unwrap_or_else(|_| "shop.db".into()));
    if std::env::args().len() == 1 {
        return checkout::tour::run(&db).await;
    }
    loom::cli::main(async || checkout::parts(&db).await).await
}
