//! Providers of models take no dots, and no long names.

use loom::prelude::*;

/// Look up an order.
#[tool(name = "shop.find-order")]
async fn find_order(number: String) -> loom::Result<String> {
    Ok(number)
}

/// Look up all of them.
#[tool]
async fn find_all_orders_of_this_customer_and_of_those_who_live_at_the_same_address() -> loom::Result<String> {
    Ok(String::new())
}

fn main() {}
