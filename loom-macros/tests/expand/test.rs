//! A test of flows, put through everything.

/// An order survives.
#[test(crash = "every-event", faults(seed = 7, runs = 20))]
#[ignore = "slow"]
async fn an_order_survives(mut test: Test) {
    test.answer("approval", true);
    assert_eq!(test.run(checkout(30)).await?, 30);
}
