//! What a store owes to branches: compare-and-set, retries, order.
//! Not what a branch is for.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use super::{Shared, fixture::*};
use crate::ports::{BranchRow, SetBranch, StoreError};

fn set(name: &str, expected: Option<&str>, execution: &str, at: i64) -> SetBranch {
    SetBranch {
        name: name.into(),
        expected: expected.map(id),
        execution: id(execution),
        at: super::fixture::at(at),
        by: "ann".into(),
    }
}

fn moved(name: &str, found: Option<&str>) -> Result<BranchRow, StoreError> {
    Err(StoreError::BranchMoved { name: name.into(), found: found.map(id) })
}

pub async fn a_branch_reads_back(store: Shared) {
    Owner::create(&store, "a").await;
    assert_eq!(store.branch("main").await, Ok(None));
    assert_eq!(store.branches().await, Ok(vec![]));
    let row = store.set_branch(&set("main", None, "a", -5)).await;
    let expected =
        BranchRow { name: "main".into(), execution: id("a"), version: 1, set_at: at(-5), by: "ann".into() };
    assert_eq!(row, Ok(expected.clone()));
    assert_eq!(store.branch("main").await, Ok(Some(expected.clone())));
    assert_eq!(store.branches().await, Ok(vec![expected]));
}

pub async fn a_branch_moves_when_it_is_where_it_should_be(store: Shared) {
    for name in ["a", "b", "c"] {
        Owner::create(&store, name).await;
    }
    assert_eq!(store.set_branch(&set("main", Some("a"), "b", 1)).await, moved("main", None));
    assert_eq!(store.branch("main").await, Ok(None));
    store.set_branch(&set("main", None, "a", 1)).await.expect("new");
    store.set_branch(&set("other", None, "c", 1)).await.expect("new");
    let second = store.set_branch(&set("main", Some("a"), "b", 2)).await.expect("moved");
    assert_eq!((second.version, second.execution.as_str(), second.set_at), (2, "b", at(2)));
    for expected in [None, Some("a"), Some("c"), Some("nobody")] {
        assert_eq!(store.set_branch(&set("main", expected, "c", 3)).await, moved("main", Some("b")));
    }
    assert_eq!(store.branch("main").await, Ok(Some(second)), "a refusal changes nothing");
    // To where it is already, as a change of its own.
    let third = store.set_branch(&set("main", Some("b"), "b", 4)).await.expect("set");
    assert_eq!((third.version, third.set_at), (3, at(4)));
    assert_eq!(store.branch("other").await.expect("branch").expect("it is there").version, 1);
}

pub async fn b29_a_retried_set_is_recognised(store: Shared) {
    for name in ["a", "b"] {
        Owner::create(&store, name).await;
    }
    for (n, change) in [set("main", None, "a", 1), set("main", Some("a"), "b", 2)].into_iter().enumerate() {
        let first = store.set_branch(&change).await.expect("set");
        assert_eq!(first.version, n as u64 + 1);
        assert_eq!(store.set_branch(&change).await, Ok(first.clone()), "a retry");
        assert_eq!(store.branch("main").await, Ok(Some(first)), "without effect");
    }
    let retry = set("main", Some("a"), "b", 2);
    // Of another author, or another time, it is another change.
    let other = SetBranch { by: "bob".into(), ..retry.clone() };
    assert_eq!(store.set_branch(&other).await, moved("main", Some("b")));
    assert_eq!(store.set_branch(&SetBranch { at: at(3), ..retry.clone() }).await, moved("main", Some("b")));
    // And it is over when the branch has gone on.
    store.set_branch(&set("main", Some("b"), "b", 4)).await.expect("set");
    assert_eq!(store.set_branch(&retry).await, moved("main", Some("b")));
}

pub async fn a_branch_points_to_an_execution(store: Shared) {
    let unknown = Err(StoreError::Unknown(id("a")));
    assert_eq!(store.set_branch(&set("main", None, "a", 1)).await, unknown);
    // That is checked first.
    assert_eq!(store.set_branch(&set("main", Some("b"), "a", 1)).await, unknown);
    assert_eq!(store.branches().await, Ok(vec![]));
}

pub async fn branches_come_in_byte_order(store: Shared) {
    Owner::create(&store, "a").await;
    let mut names = [
        "main",
        "Main",
        "main ",
        "main\u{0}",
        "main\u{0}x",
        "",
        "é",
        "e\u{301}",
        "z",
        "Z",
        "10",
        "9",
        "a/b",
        "\u{1F980}",
        "\u{FFFD}",
    ];
    for name in names {
        let row = store.set_branch(&set(name, None, "a", 1)).await.expect("new");
        assert_eq!(row.version, 1, "{name:?}");
    }
    names.sort_unstable();
    let rows = store.branches().await.expect("branches");
    assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), names);
    for row in rows {
        assert_eq!(store.branch(&row.name).await, Ok(Some(row)));
    }
}

pub async fn of_fifty_sets_at_once_one_succeeds(store: Shared) {
    let mut before: Option<String> = None;
    for round in 0..3 {
        let mut asked = Vec::new();
        for n in 0..50 {
            let name = format!("e{round}-{n}");
            Owner::create(&store, &name).await;
            asked.push(set("main", before.as_deref(), &name, 1));
        }
        let ask = |change: SetBranch| {
            let store = store.clone();
            tokio::spawn(async move { store.set_branch(&change).await })
        };
        let mut won = Vec::new();
        for answer in asked.into_iter().map(ask).collect::<Vec<_>>() {
            match answer.await.expect("no panic") {
                Ok(row) => won.push(row),
                Err(StoreError::BranchMoved { found: Some(_), .. }) => {}
                other => panic!("{other:?}"),
            }
        }
        let now = store.branch("main").await.expect("branch").expect("it is there");
        assert_eq!((&won, now.version), (&vec![now.clone()], round + 1));
        before = Some(now.execution.to_string());
    }
}
