//! The same order in virtual time: a crash at every event, and the flow rebuilt after every outcome, in a moment.
//! Not real processes: those are killed in `crash.rs`.

use ::checkout::shop::{Approval, Hold, Order, charge, checkout, reserve, ship};
use loom::testing::{Test, assert_steps};

#[loom::test(crash = "every-event", replay = "every-await")]
async fn an_order_survives_every_crash(mut test: Test) {
    test.mock(reserve, |sku: String, qty: u32| Ok(Hold { sku, qty }));
    test.mock(ship, |line: String| Ok(format!("parcel-{line}")));
    test.mock(charge, |qty: u32| Ok(format!("payment of {qty} boxes")));
    test.answer("manager", Approval { approved: true });
    let order = Order { sku: "tea".into(), qty: 120, lines: vec!["cup".into(), "pot".into()] };
    let receipt = test.run(checkout(order)).await?;
    assert_eq!(receipt.parcels, ["parcel-cup", "parcel-pot"]);
    assert_steps!(test, [reserve, ship, ship, charge]);
}
