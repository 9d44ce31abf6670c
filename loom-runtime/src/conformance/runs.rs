//! What a store owes to runs: where the current one begins, and whose gates are whose.
//! Not what begins a run: that is the machine's.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{Append, GateChange, GateState, ListFilter, StoreError};

fn opened(name: &str) -> GateChange {
    GateChange::Opened { frame: frame(name), gate: "g".into(), schema: "{}".into(), expires_at: None }
}

fn closed(name: &str, state: GateState) -> GateChange {
    GateChange::Closed { frame: frame(name), state }
}

async fn gates(store: &Shared) -> Vec<(u64, String, GateState)> {
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    gates.into_iter().map(|gate| (gate.run, gate.frame.to_string(), gate.state)).collect()
}

fn expected(gates: &[(u64, &str, GateState)]) -> Vec<(u64, String, GateState)> {
    gates.iter().map(|(run, frame, state)| (*run, (*frame).into(), *state)).collect()
}

pub async fn a_run_begins_with_an_event_of_its_append(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.append(3).await;
    assert_eq!(row(&store, "a").await.base, 0);
    // With the first, one within, and the last event of an append.
    for (offset, count) in [(0, 3), (1, 3), (2, 3), (0, 1)] {
        let run = owner.next + offset;
        let append = Append { run: Some(run), ..owner.batch(count) };
        let stale = Append { fence: 77, ..append.clone() };
        let before = row(&store, "a").await.base;
        store.append(&stale).await.expect_err("refused");
        assert_eq!(row(&store, "a").await.base, before);
        owner.send(&append).await.expect("accepted");
        assert_eq!(row(&store, "a").await.base, run);
        owner.append(2).await;
        assert_eq!(store.append(&owner.batch(1)).await, Ok(()), "an append without a run leaves it");
        owner.next += 1;
        let listed = store.list(&ListFilter::default()).await.expect("list");
        assert_eq!((listed[0].base, listed[0].next), (run, owner.next));
    }
    let base = row(&store, "a").await.base;
    owner.close(Status::Suspended, Some(0), 0).await;
    assert_eq!(row(&store, "a").await.base, base);
    let taken = claimed(&store, "w2", 10).await;
    assert_eq!(taken[0].row.base, base);
    let mut owner = Owner::claimed(&store, &taken[0]);
    let ending = Append { run: Some(owner.next), ..owner.closing(Status::Completed) };
    owner.send(&ending).await.expect("accepted");
    assert_eq!(row(&store, "a").await.base, owner.next - 1, "a close may begin one too");
}

pub async fn a_run_is_content_of_its_batch(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let append = Append { run: Some(2), ..owner.batch(3) };
    owner.send(&append).await.expect("accepted");
    assert_eq!(store.append(&append).await, Ok(()));
    for run in [None, Some(1), Some(3)] {
        let other = Append { run, ..append.clone() };
        assert_eq!(store.append(&other).await, Err(StoreError::BatchReused(id("a"))), "{run:?}");
    }
    assert_eq!(row(&store, "a").await.base, 2);
}

pub async fn a_frame_opens_one_gate_in_each_run(store: Shared) {
    use GateState::{Abandoned, Answered, Open};
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(vec![opened("x"), opened("y"), closed("x", Answered)]).await;
    let run = owner.next;
    let changes = vec![GateChange::AbandonAll, opened("x"), opened("x")];
    owner.send(&Append { run: Some(run), gates: changes, ..owner.batch(1) }).await.expect("accepted");
    owner.gates(vec![opened("x"), opened("y")]).await;
    let all = [(0, "x", Answered), (0, "y", Abandoned), (run, "x", Open), (run, "y", Open)];
    assert_eq!(gates(&store).await, expected(&all));
    let open = store.gates(None).await.expect("gates");
    assert_eq!(open.iter().map(|gate| gate.run).collect::<Vec<_>>(), [run, run]);
    // An earlier run's gate has ended, and stays as it ended.
    owner.gates(vec![closed("x", GateState::Expired)]).await;
    let all = [(0, "x", Answered), (0, "y", Abandoned), (run, "x", GateState::Expired), (run, "y", Open)];
    assert_eq!(gates(&store).await, expected(&all));
}

pub async fn a_gate_is_of_the_run_after_its_append(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    // Wherever in the append the run begins.
    let append = Append { run: Some(3), gates: vec![opened("x")], ..owner.batch(3) };
    owner.send(&append).await.expect("accepted");
    owner.gates(vec![opened("y")]).await;
    assert_eq!(gates(&store).await, expected(&[(3, "x", GateState::Open), (3, "y", GateState::Open)]));
}

pub async fn an_end_reaches_the_gates_of_every_run(store: Shared) {
    use GateState::{Abandoned, Answered, Open};
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(vec![opened("x"), opened("y")]).await;
    let append = Append { run: Some(owner.next), gates: vec![opened("z")], ..owner.batch(1) };
    owner.send(&append).await.expect("accepted");
    owner.gates(vec![closed("x", Answered)]).await;
    assert_eq!(gates(&store).await, expected(&[(0, "x", Answered), (0, "y", Open), (2, "z", Open)]));
    owner.gates(vec![GateChange::AbandonAll]).await;
    assert_eq!(
        gates(&store).await,
        expected(&[(0, "x", Answered), (0, "y", Abandoned), (2, "z", Abandoned)])
    );
}
