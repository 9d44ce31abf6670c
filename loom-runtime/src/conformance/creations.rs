//! What a store owes to creations with a history: many events, and gates, at once.
//! Not the creation of one event, nor its retries: those cases are in `logs`.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Record;

use super::{Shared, fixture::*};
use crate::ports::{Created, GateChange, GateState, NewExecution};

/// A creation with `count` records, the n-th at 7 + n.
fn copied(name: &str, count: u64) -> NewExecution {
    let records = (0..count).map(|n| Record { at: at(7 + n as i64), ..record(n, &format!("{n}")) });
    NewExecution { records: records.collect(), ..new(name) }
}

fn opened(name: &str) -> GateChange {
    GateChange::Opened { frame: frame(name), gate: "g".into(), schema: "{}".into(), expires_at: None }
}

pub async fn an_execution_begins_with_its_records(store: Shared) {
    for count in [1, 3, 2_500] {
        let (name, new) = (format!("e{count}"), copied(&format!("e{count}"), count));
        let mut owner = Owner::of(&store, new.clone()).await;
        assert_eq!(row(&store, &name).await, new.row());
        let found = row(&store, &name).await;
        assert_eq!((found.next, found.base), (count, 0));
        assert_eq!((found.created_at, found.updated_at), (at(7), at(6 + count as i64)));
        assert!(log(&store, &name).await == new.records);
        // The log goes on after them.
        owner.append(2).await;
        assert_eq!(log(&store, &name).await.len() as u64, count + 2);
    }
}

pub async fn an_execution_begins_with_its_gates(store: Shared) {
    let closed = GateChange::Closed { frame: frame("y"), state: GateState::Answered };
    let gates = vec![opened("y"), opened("x"), closed, opened("y")];
    let mut owner = Owner::of(&store, NewExecution { gates, ..copied("a", 3) }).await;
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    let found: Vec<_> = gates.iter().map(|g| (g.frame.as_str(), g.run, g.opened_at, g.state)).collect();
    assert_eq!(found, [("y", 0, at(9), GateState::Answered), ("x", 0, at(9), GateState::Open)]);
    assert_eq!(store.gates(None).await.expect("gates"), gates[1..]);
    // They are the execution's like any other.
    let closed = GateChange::Closed { frame: frame("x"), state: GateState::Expired };
    owner.gates(vec![closed, opened("y")]).await;
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    let states: Vec<_> = gates.iter().map(|gate| gate.state).collect();
    assert_eq!(states, [GateState::Answered, GateState::Expired]);
}

pub async fn an_execution_begins_in_a_later_run(store: Shared) {
    let new = NewExecution { base: 2, gates: vec![opened("x")], ..copied("a", 4) };
    let mut owner = Owner::of(&store, new.clone()).await;
    let found = row(&store, "a").await;
    assert_eq!((found.base, found.next, found == new.row()), (2, 4, true));
    owner.gates(vec![opened("y")]).await;
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    let runs: Vec<_> = gates.iter().map(|gate| (gate.frame.as_str(), gate.run)).collect();
    assert_eq!(runs, [("x", 2), ("y", 2)]);
    // Another run is another creation.
    let again = store.create(NewExecution { base: 0, ..new }).await;
    assert!(matches!(again, Ok(Created::Exists(_))), "{again:?}");
}

pub async fn a_creation_is_its_records_and_gates(store: Shared) {
    let new = NewExecution { gates: vec![opened("x")], ..copied("a", 3) };
    Owner::of(&store, new.clone()).await;
    let (before, gates) = (row(&store, "a").await, store.gates(None).await);
    let again = store.create(new.clone()).await;
    assert!(matches!(again, Ok(Created::New { fence: 1 })), "{again:?}");
    let other = Record { payload: "9".into(), ..new.records[2].clone() };
    let others = [
        NewExecution { records: new.records[..2].to_vec(), ..new.clone() },
        NewExecution { records: [&new.records[..2], &[other]].concat(), ..new.clone() },
        NewExecution { gates: vec![], ..new.clone() },
        NewExecution { gates: vec![opened("y")], ..new.clone() },
        NewExecution { gates: vec![opened("x"), GateChange::AbandonAll], ..new.clone() },
    ];
    for other in others {
        // The same batch with other content is another creation, and the id is taken.
        match store.create(other).await {
            Ok(Created::Exists(found)) => assert_eq!(*found, before),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(log(&store, "a").await, new.records);
    assert_eq!(store.gates(None).await, gates);
}
