//! What a store owes to the index of gates: it changes with the log, and each gate ends once.
//! Not the answers: they go through the inbox.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{Append, GateChange, GateRow, GateState};

fn opened(name: &str) -> GateChange {
    GateChange::Opened {
        frame: frame(name),
        gate: format!("gate of {name}"),
        schema: r#"{"type":"boolean"}"#.into(),
        expires_at: None,
    }
}

fn closed(name: &str, state: GateState) -> GateChange {
    GateChange::Closed { frame: frame(name), state }
}

async fn states(store: &Shared, name: &str) -> Vec<(String, GateState)> {
    let gates = store.gates(Some(&id(name))).await.expect("gates");
    gates.iter().map(|gate| (gate.frame.to_string(), gate.state)).collect()
}

fn expected(states: &[(&str, GateState)]) -> Vec<(String, GateState)> {
    states.iter().map(|(name, state)| ((*name).into(), *state)).collect()
}

pub async fn an_opened_gate_is_listed(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    assert_eq!(store.gates(Some(&id("a"))).await, Ok(vec![]));
    assert_eq!(store.gates(Some(&id("nobody"))).await, Ok(vec![]));
    let change = GateChange::Opened {
        frame: frame("pay/manager#0.x%2Fy"),
        gate: "manager".into(),
        schema: r#"{"b":1,"a":"é"}"#.into(),
        expires_at: Some(at(900)),
    };
    owner.gates(vec![change]).await;
    let row = GateRow {
        execution: id("a"),
        run: 0,
        frame: frame("pay/manager#0.x%2Fy"),
        gate: "manager".into(),
        schema: r#"{"b":1,"a":"é"}"#.into(),
        opened_at: at(100),
        expires_at: Some(at(900)),
        state: GateState::Open,
    };
    assert_eq!(store.gates(Some(&id("a"))).await, Ok(vec![row.clone()]));
    assert_eq!(store.gates(None).await, Ok(vec![row]));
}

pub async fn a_gate_ends_once(store: Shared) {
    use GateState::{Abandoned, Answered, Expired, Open};
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(["answered", "expired", "abandoned", "open"].map(opened).into()).await;
    let ends = [("answered", Answered), ("expired", Expired), ("abandoned", Abandoned)];
    owner.gates(ends.map(|(name, state)| closed(name, state)).into()).await;
    let all = [ends[0], ends[1], ends[2], ("open", Open)];
    assert_eq!(states(&store, "a").await, expected(&all));
    for state in [Answered, Expired, Abandoned] {
        owner
            .gates(["answered", "expired", "abandoned", "missing"].map(|name| closed(name, state)).into())
            .await;
    }
    assert_eq!(states(&store, "a").await, expected(&all), "the first end stays");
    let open = store.gates(None).await.expect("gates");
    assert_eq!(open.iter().map(|gate| gate.frame.as_str()).collect::<Vec<_>>(), ["open"]);
}

pub async fn an_ending_abandons_what_is_open(store: Shared) {
    use GateState::{Abandoned, Answered, Open};
    let mut owner = Owner::create(&store, "a").await;
    let mut other = Owner::create(&store, "b").await;
    owner.gates(vec![opened("x"), opened("y"), closed("x", Answered)]).await;
    other.gates(vec![opened("x")]).await;
    let ending = Append { gates: vec![GateChange::AbandonAll], ..owner.closing(Status::Completed) };
    owner.send(&ending).await.expect("accepted");
    assert_eq!(states(&store, "a").await, expected(&[("x", Answered), ("y", Abandoned)]));
    assert_eq!(states(&store, "b").await, expected(&[("x", Open)]));
}

pub async fn changes_apply_in_order(store: Shared) {
    use GateState::{Abandoned, Expired, Open};
    let mut owner = Owner::create(&store, "a").await;
    owner
        .gates(vec![opened("x"), closed("x", Expired), opened("y"), GateChange::AbandonAll, opened("z")])
        .await;
    let all = [("x", Expired), ("y", Abandoned), ("z", Open)];
    assert_eq!(states(&store, "a").await, expected(&all));
}

pub async fn open_gates_come_in_order(store: Shared) {
    // By execution, and within one by opening, whatever the names and times.
    let mut late = Owner::create(&store, "b").await;
    let mut early = Owner::create(&store, "a").await;
    late.gates(vec![opened("z"), opened("m")]).await;
    early.gates(vec![opened("z")]).await;
    late.gates(vec![opened("a")]).await;
    early.gates(vec![opened("a")]).await;
    let open = store.gates(None).await.expect("gates");
    let order: Vec<_> = open.iter().map(|gate| (gate.execution.as_str(), gate.frame.as_str())).collect();
    assert_eq!(order, [("a", "z"), ("a", "a"), ("b", "z"), ("b", "m"), ("b", "a")]);
    let of_b: Vec<_> = states(&store, "b").await.into_iter().map(|(name, _)| name).collect();
    assert_eq!(of_b, ["z", "m", "a"]);
}

pub async fn a_list_of_gates_is_whole(store: Shared) {
    let (mut few, mut many) = (Owner::create(&store, "few").await, Owner::create(&store, "many").await);
    few.gates(vec![opened("one")]).await;
    many.gates((0..1_200).map(|n| opened(&format!("g{n}"))).collect()).await;
    let many: Vec<_> = (0..1_200).map(|n| (format!("g{n}"), GateState::Open)).collect();
    assert_eq!(states(&store, "many").await, many);
    assert_eq!(store.gates(None).await.expect("gates").len(), 1_201);
}

pub async fn a_frame_opens_one_gate(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(vec![opened("x")]).await;
    let before = store.gates(None).await;
    let again = GateChange::Opened {
        frame: frame("x"),
        gate: "other".into(),
        schema: "{}".into(),
        expires_at: Some(at(1)),
    };
    owner.gates(vec![again]).await;
    assert_eq!(store.gates(None).await, before);
}
