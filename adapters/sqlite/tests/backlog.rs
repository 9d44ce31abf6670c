//! Claims from a backlog take what a look at everything would. What they cost is shown beside their statement.
//! Not whose turn it is: the conformance kit has those cases.
#![allow(clippy::expect_used, reason = "a test says what is wrong by failing")]

mod fixture;

use fixture::{at, fresh, open, raw, run};
use loom_runtime::{
    kernel::Digest,
    ports::{ClaimRequest, Claimed, LeaseStore},
};
use sqlite::Sqlite;

fn claim(limit: usize) -> ClaimRequest {
    let program = Digest::from_bytes(0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128.to_be_bytes());
    ClaimRequest {
        worker: "w".into(),
        now: at(1_000),
        until: at(2_000),
        limit,
        execution: None,
        flows: None,
        program: Some((program, at(0))),
    }
}

/// A store with so many executions due at 1,000.
async fn filled(executions: usize) -> Sqlite {
    let path = fresh();
    let store = open(&path).await;
    let fill = include_str!("fixture/backlog.sql").replace("$n", &executions.to_string());
    run(&mut raw(&path).await, &fill).await;
    store
}

/// What a claim of few finds by looking at the front of the queues is what a claim of many finds by looking at all.
#[tokio::test]
async fn the_front_of_the_queues_is_what_a_look_at_all_would_find() {
    for executions in [400, 1_000, 2_000] {
        let few = filled(executions).await.claim(&claim(60)).await.expect("claim");
        let all = filled(executions).await.claim(&claim(executions)).await.expect("claim");
        let names = |claimed: &[Claimed]| -> Vec<String> {
            claimed.iter().take(60).map(|claimed| claimed.row.id.to_string()).collect()
        };
        assert_eq!(few.len(), 60);
        assert_eq!(names(&few), names(&all), "of {executions}");
    }
}
