//! What a store owes to removals: what goes, what stays, and that one which comes too late is none.
//! Not when something is to be removed, nor where it is kept before.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::{Snapshot, Status};

use super::{Shared, fixture::*};
use crate::ports::{
    Append, Created, ExecutionRow, GateChange, GateState, NewExecution, NewItem, Posted, Removal, SetBranch,
    StoreError,
};

/// The removal that fits the execution as it is.
async fn removal(store: &Shared, name: &str, until: u64) -> Removal {
    let ExecutionRow { id: execution, status, next, first, .. } = row(store, name).await;
    Removal { execution, status, next, first, until }
}

async fn removed(store: &Shared, name: &str, until: u64) {
    assert_eq!(store.remove(&removal(store, name, until).await).await, Ok(true), "`{name}` before {until}");
}

/// An execution that has ended, with so many events.
async fn ended(store: &Shared, name: &str, events: u64) -> Owner {
    let mut owner = Owner::create(store, name).await;
    owner.append(events - 2).await;
    owner.close(Status::Completed, None, 0).await;
    owner
}

/// An owner whose second run begins with event `base`.
async fn continued(store: &Shared, name: &str, base: u64) -> Owner {
    let mut owner = Owner::create(store, name).await;
    owner.append(base - 1).await;
    owner.send(&Append { run: Some(base), ..owner.batch(2) }).await.expect("accepted");
    owner
}

fn opened(name: &str) -> GateChange {
    GateChange::Opened { frame: frame(name), gate: "g".into(), schema: "{}".into(), expires_at: None }
}

fn snapshot(name: &str, sequence: u64) -> Snapshot {
    Snapshot { execution: id(name), of: "state".into(), sequence, body: "{}".into() }
}

pub async fn what_is_removed_is_gone_and_the_rest_stays(store: Shared) {
    ended(&store, "a", 10).await;
    ended(&store, "b", 10).await;
    let (before, whole) = (row(&store, "a").await, log(&store, "a").await);
    for until in [4, 4, 7, 9] {
        removed(&store, "a", until).await;
        assert_eq!(row(&store, "a").await, ExecutionRow { first: until, ..before.clone() });
        let gone = Err(StoreError::Archived { execution: id("a"), first: until });
        assert_eq!(store.read(&id("a"), 0, 5).await, gone);
        assert_eq!(store.read(&id("a"), until - 1, usize::MAX).await, gone);
        let rest = store.read(&id("a"), until, usize::MAX).await.expect("still there");
        assert_eq!(rest, whole[usize::try_from(until).expect("small")..]);
    }
    assert_eq!(store.read(&id("a"), 10, 1).await, Ok(Vec::new()));
    assert_eq!(log(&store, "b").await.len(), 10, "another's log");
    let nobody = Removal { execution: id("nobody"), ..removal(&store, "a", 9).await };
    assert_eq!(store.remove(&nobody).await, Err(StoreError::Unknown(id("nobody"))));
}

pub async fn b37_sequences_go_on_after_a_removal(store: Shared) {
    let mut owner = continued(&store, "a", 6).await;
    removed(&store, "a", 6).await;
    assert_eq!(row(&store, "a").await.next, 8);
    let reused = Append { expected_next: 2, ..owner.batch(1) };
    assert!(matches!(store.append(&reused).await, Err(StoreError::Conflict { found: 8, .. })));
    owner.append(2).await;
    // Down to a single event, the first of a run that has nothing else.
    owner.send(&Append { run: Some(10), ..owner.batch(1) }).await.expect("accepted");
    removed(&store, "a", 10).await;
    owner.close(Status::Suspended, Some(0), 0).await;
    let taken = claimed(&store, "w2", 10).await;
    assert_eq!((taken[0].row.first, taken[0].row.next), (10, 12));
    let mut owner = Owner::claimed(&store, &taken[0]);
    owner.append(1).await;
    let kept = store.read(&id("a"), 10, usize::MAX).await.expect("read");
    assert_eq!(kept.iter().map(|record| record.sequence).collect::<Vec<_>>(), [10, 11, 12]);
}

pub async fn b37_an_id_stays_taken_after_a_removal(store: Shared) {
    ended(&store, "a", 5).await;
    removed(&store, "a", 4).await;
    let other = NewExecution { batch: batch("again"), ..new("a") };
    match store.create(other).await {
        Ok(Created::Exists(found)) => {
            assert_eq!((found.status, found.next, found.first), (Status::Completed, 5, 4));
        }
        other => panic!("{other:?}"),
    }
    assert!(claimed(&store, "w2", 10_000).await.is_empty(), "it is never due");
}

pub async fn a_removal_that_comes_too_late_is_none(store: Shared) {
    let mut owner = continued(&store, "a", 6).await;
    let fits = removal(&store, "a", 6).await;
    let others = [
        Removal { status: Status::Suspended, ..fits.clone() },
        Removal { status: Status::Completed, ..fits.clone() },
        Removal { next: 7, ..fits.clone() },
        Removal { first: 1, ..fits.clone() },
        Removal { until: 7, ..fits.clone() },
        Removal { until: 8, ..fits.clone() },
    ];
    for other in &others {
        assert_eq!(store.remove(other).await, Ok(false), "{other:?}");
    }
    owner.append(1).await;
    assert_eq!(store.remove(&fits).await, Ok(false), "it has gone on");
    assert_eq!(log(&store, "a").await.len(), 9);
    let late = removal(&store, "a", 6).await;
    owner.close(Status::Completed, None, 0).await;
    assert_eq!(store.remove(&late).await, Ok(false), "it has ended");
    for until in [10, 11] {
        let all = removal(&store, "a", until).await;
        assert_eq!(store.remove(&all).await, Ok(false), "how it ended stays");
    }
    removed(&store, "a", 5).await;
    let back = removal(&store, "a", 3).await;
    assert_eq!(store.remove(&back).await, Ok(false), "that is gone");
    assert_eq!(row(&store, "a").await.first, 5);
}

pub async fn what_a_branch_points_to_is_not_removed(store: Shared) {
    ended(&store, "a", 5).await;
    continued(&store, "b", 3).await;
    let fits = removal(&store, "a", 4).await;
    for name in ["a", "b"] {
        let (name, execution) = (name.to_owned(), id(name));
        let set = SetBranch { name, execution, expected: None, at: at(20), by: "ann".into() };
        store.set_branch(&set).await.expect("set");
    }
    assert_eq!(store.remove(&fits).await, Ok(false));
    assert_eq!(log(&store, "a").await.len(), 5);
    removed(&store, "b", 3).await;
}

pub async fn earlier_runs_take_what_was_theirs_along(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(vec![opened("closed"), opened("open")]).await;
    let state = GateState::Answered;
    owner.gates(vec![GateChange::Closed { frame: frame("closed"), state }]).await;
    let consumed = vec![post(&store, "a", Some("key")).await];
    let gates = vec![opened("later")];
    let next_run = Append { run: Some(owner.next), consumed, gates, ..owner.batch(2) };
    owner.send(&next_run).await.expect("accepted");
    for sequence in [2, 3, 4] {
        store.put_snapshot(&snapshot("a", sequence)).await.expect("kept");
    }
    removed(&store, "a", 3).await;
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    assert_eq!(gates.iter().map(|gate| gate.frame.as_str()).collect::<Vec<_>>(), ["open", "later"]);
    let newest = store.newest_snapshot(&id("a"), "state", 3).await;
    assert_eq!(newest, Ok(None), "nothing is left that it is of");
    let newest = store.newest_snapshot(&id("a"), "state", 9).await.expect("an answer");
    assert_eq!(newest.map(|newest| newest.sequence), Some(4));
    let again = store.post(item("a", Some("key"), "1")).await;
    assert_eq!(again, Ok(Posted::Duplicate { same: true }), "a key counts in every run");
}

pub async fn the_last_removal_frees_what_is_left(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(vec![opened("one"), opened("other")]).await;
    let newest = post(&store, "a", Some("key")).await;
    owner.append(5).await;
    owner.gates(vec![GateChange::AbandonAll]).await;
    owner.close(Status::Failed, None, newest).await;
    store.put_snapshot(&snapshot("a", 5)).await.expect("kept");
    store.put_snapshot(&snapshot("a", 9)).await.expect("kept");
    removed(&store, "a", 7).await;
    assert_eq!(store.pending(&id("a"), 0).await.expect("read").len(), 1, "not the last yet");
    removed(&store, "a", 8).await;
    assert_eq!(store.gates(Some(&id("a"))).await, Ok(Vec::new()));
    assert_eq!(store.pending(&id("a"), 0).await, Ok(Vec::new()));
    assert_eq!(store.newest_snapshot(&id("a"), "state", u64::MAX).await, Ok(None));
    let status = Status::Failed;
    let refused = Err(StoreError::Terminal { execution: id("a"), status });
    for early in [false, true] {
        assert_eq!(store.post(NewItem { early, ..item("a", Some("key"), "1") }).await, refused);
    }
    Owner::create(&store, "b").await;
    assert!(post(&store, "b", None).await > newest, "positions are not given out again");
}

pub async fn of_fifty_removals_at_once_one_happens(store: Shared) {
    ended(&store, "a", 60).await;
    let removal = removal(&store, "a", 59).await;
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let (store, removal) = (store.clone(), removal.clone());
            tokio::spawn(async move { store.remove(&removal).await })
        })
        .collect();
    let mut happened = 0;
    for task in tasks {
        happened += usize::from(task.await.expect("no panic").expect("an answer"));
    }
    assert_eq!(happened, 1);
    assert_eq!(row(&store, "a").await.first, 59);
}
