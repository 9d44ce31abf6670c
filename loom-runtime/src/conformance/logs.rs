//! What a store owes to logs: creation, compare-and-append, retries, reading.
//! Not under concurrency: those cases are in `races`.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::{Digest, Kind, Record, Status};

use super::{Shared, fixture::*};
use crate::ports::{
    Append, Close, Created, ExecutionRow, GateChange, GateState, Lease, NewExecution, StoreError,
};

pub async fn a_new_execution_reads_back(store: Shared) {
    assert_eq!(store.get(&id("a")).await, Ok(None));
    let owner = Owner::create(&store, "a").await;
    assert!(owner.fence > 0, "a lease has a fence of its own");
    let lease = Lease { worker: "w1".into(), fence: owner.fence, until: LEASE };
    let expected = ExecutionRow {
        id: id("a"),
        flow: "flow".into(),
        input: Digest::of(b"input"),
        status: Status::Running,
        next: 1,
        first: 0,
        base: 0,
        created_at: at(7),
        updated_at: at(7),
        wake_at: None,
        lease: Some(lease),
        takeovers: 0,
    };
    assert_eq!(row(&store, "a").await, expected);
    assert_eq!(log(&store, "a").await, new("a").records);
}

pub async fn an_execution_without_a_claim_has_no_owner(store: Shared) {
    let created = store.create(unowned("a", 7)).await;
    assert!(matches!(created, Ok(Created::New { fence: 0 })), "{created:?}");
    assert_eq!(row(&store, "a").await.lease, None);
    assert_eq!(row(&store, "a").await.status, Status::Running);
}

pub async fn a_lost_creation_is_recognised(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let later = NewExecution { claim: Some(("w1".into(), at(2_000))), ..new("a") };
    for retry in [new("a"), later] {
        let again = store.create(retry).await;
        assert!(matches!(again, Ok(Created::New { fence }) if fence == owner.fence), "{again:?}");
    }
    assert_eq!(log(&store, "a").await.len(), 1);
    owner.append(1).await;
    let again = store.create(new("a")).await;
    assert!(matches!(again, Ok(Created::New { fence }) if fence == owner.fence), "{again:?}");
    assert_eq!(log(&store, "a").await.len(), 2);
}

pub async fn a_creation_of_a_taken_id_writes_nothing(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.append(2).await;
    let before = row(&store, "a").await;
    let other_worker = NewExecution { claim: Some(("w2".into(), LEASE)), ..new("a") };
    let other_input = NewExecution { input: Digest::of(b"other"), batch: batch("another"), ..new("a") };
    let unclaimed = NewExecution { claim: None, batch: batch("a third"), ..new("a") };
    for second in [other_worker, other_input, unclaimed] {
        match store.create(second).await {
            Ok(Created::Exists(found)) => assert_eq!(*found, before),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(row(&store, "a").await, before);
    assert_eq!(log(&store, "a").await.len(), 3);
}

pub async fn b29_lost_acknowledgement_is_recognised(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let append = owner.batch(3);
    owner.send(&append).await.expect("accepted");
    let before = row(&store, "a").await;
    assert_eq!(store.append(&append).await, Ok(()), "a retry is a success");
    assert_eq!(log(&store, "a").await.len(), 4, "without effect");
    assert_eq!(row(&store, "a").await, before);
    // It was applied, whoever owns the execution now.
    assert_eq!(claimed(&store, "w2", 5_000).await.len(), 1);
    assert_eq!(store.append(&append).await, Ok(()), "a retry after a take-over");
    assert_eq!(log(&store, "a").await.len(), 4);
    owner.fence = row(&store, "a").await.lease.expect("leased").fence;
    owner.append(1).await;
}

pub async fn b29_a_retried_close_is_recognised(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let close = owner.closing(Status::Suspended);
    owner.send(&close).await.expect("accepted");
    // What comes after the commit must not turn the retry into a refusal.
    post(&store, "a", None).await;
    assert_eq!(store.append(&close).await, Ok(()));
    let found = row(&store, "a").await;
    assert_eq!((found.status, found.next, found.lease), (Status::Suspended, 2, None));
}

pub async fn a_batch_with_other_content_is_refused(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let append = owner.batch(1);
    owner.send(&append).await.expect("accepted");
    let (before, records) = (row(&store, "a").await, log(&store, "a").await);
    let close = Close { status: Status::Completed, wake_at: None, seen: 0, unfit: None };
    let changed = |record: Record| Append { records: vec![record], ..append.clone() };
    let first = append.records[0].clone();
    let others = [
        changed(Record { payload: "{}".into(), ..first.clone() }),
        changed(Record { kind: "TIMER_SET".into(), ..first.clone() }),
        changed(Record { meta: r#"{"tenant":"t"}"#.into(), ..first.clone() }),
        changed(Record { at: at(8), ..first.clone() }),
        Append { records: vec![], ..append.clone() },
        Append { at: at(101), ..append.clone() },
        Append { progress: true, ..append.clone() },
        Append { gates: vec![GateChange::AbandonAll], ..append.clone() },
        Append { consumed: vec![1], ..append.clone() },
        Append { close: Some(close), ..append.clone() },
    ];
    for other in others {
        assert_eq!(store.append(&other).await, Err(StoreError::BatchReused(id("a"))), "{other:?}");
    }
    assert_eq!(row(&store, "a").await, before);
    assert_eq!(log(&store, "a").await, records);
}

pub async fn only_the_last_batch_counts_as_a_retry(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let first = owner.batch(1);
    owner.send(&first).await.expect("accepted");
    owner.append(1).await;
    let conflict = StoreError::Conflict { execution: id("a"), expected: 1, found: 3 };
    assert_eq!(store.append(&first).await, Err(conflict));
    assert_eq!(log(&store, "a").await.len(), 3);
}

pub async fn a_wrong_sequence_conflicts(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.append(2).await;
    let before = row(&store, "a").await;
    for expected in [0, 1, 2, 4, 9] {
        let late = Owner { next: expected, ..owner.clone() };
        let append = Append { batch: batch(&format!("other {expected}")), ..late.batch(1) };
        let conflict = StoreError::Conflict { execution: id("a"), expected, found: 3 };
        assert_eq!(store.append(&append).await, Err(conflict));
    }
    assert_eq!(row(&store, "a").await, before);
    assert_eq!(log(&store, "a").await.len(), 3);
    owner.append(1).await;
}

pub async fn records_with_a_gap_conflict(store: Shared) {
    let owner = Owner::create(&store, "a").await;
    let gap = Append { records: vec![record(1, "1"), record(3, "3")], ..owner.batch(0) };
    let twice = Append { records: vec![record(1, "1"), record(1, "1")], ..owner.batch(0) };
    let late = Append { records: vec![record(2, "2")], ..owner.batch(0) };
    for wrong in [gap, twice, late] {
        let refused = store.append(&wrong).await;
        assert!(matches!(refused, Err(StoreError::Conflict { found: 1, .. })), "{refused:?}");
    }
    assert_eq!(log(&store, "a").await.len(), 1);
}

pub async fn b31_a_stale_fence_is_refused(store: Shared) {
    let mut paused = Owner::create(&store, "a").await;
    paused.append(1).await;
    let taken = claimed(&store, "w2", 5_000).await;
    let mut owner = Owner::claimed(&store, &taken[0]);
    let (presented, current) = (paused.fence, owner.fence);
    let fenced = StoreError::Fenced { execution: id("a"), presented, current };
    assert_eq!(store.append(&paused.batch(1)).await, Err(fenced.clone()));
    assert_eq!(log(&store, "a").await.len(), 2, "nothing of the late append");
    owner.append(1).await;
    paused.next = owner.next;
    assert_eq!(store.append(&paused.batch(1)).await, Err(fenced));
    let unborn = Owner { fence: owner.fence + 1, ..owner.clone() };
    let refused = store.append(&unborn.batch(1)).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "a fence from the future: {refused:?}");
}

pub async fn without_a_lease_every_fence_is_stale(store: Shared) {
    let never = Owner::of(&store, unowned("never", 7)).await;
    let released = Owner::create(&store, "released").await;
    store.release(&id("released"), released.fence).await.expect("release");
    let mut suspended = Owner::create(&store, "suspended").await;
    suspended.close(Status::Suspended, None, 0).await;
    let mut ended = Owner::create(&store, "ended").await;
    ended.close(Status::Completed, None, 0).await;
    for owner in [never, released, suspended, ended] {
        let before = row(&store, owner.id.as_str()).await;
        let refused = store.append(&owner.batch(1)).await;
        assert!(matches!(refused, Err(StoreError::Fenced { .. })), "`{}`: {refused:?}", owner.id);
        assert_eq!(row(&store, owner.id.as_str()).await, before);
    }
}

pub async fn an_expired_lease_still_appends(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let late = Append { at: at(9_999), ..owner.batch(1) };
    assert_eq!(owner.send(&late).await, Ok(()));
    assert_eq!(row(&store, "a").await.updated_at, at(9_999));
}

pub async fn checks_come_in_the_documented_order(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let nobody = Append { execution: id("nobody"), ..owner.batch(1) };
    assert_eq!(store.append(&nobody).await, Err(StoreError::Unknown(id("nobody"))));
    owner.append(1).await;
    post(&store, "a", None).await;
    let wrong = Owner { fence: 99, next: 99, ..owner.clone() }.closing(Status::Suspended);
    // Wrong in every way at once, then in one less each time.
    let last = Owner { next: 1, ..owner.clone() }.batch(1).batch;
    let reused = Append { batch: last, ..wrong.clone() };
    assert_eq!(store.append(&reused).await, Err(StoreError::BatchReused(id("a"))));
    let refused = store.append(&wrong).await;
    assert!(matches!(refused, Err(StoreError::Fenced { presented: 99, .. })), "{refused:?}");
    let fenced_in = Append { fence: owner.fence, ..wrong.clone() };
    let refused = store.append(&fenced_in).await;
    assert!(matches!(refused, Err(StoreError::Conflict { expected: 99, found: 2, .. })), "{refused:?}");
    assert_eq!(store.append(&owner.closing(Status::Suspended)).await, Err(StoreError::InboxMoved(id("a"))));
}

pub async fn b35_a_refused_transition_leaves_nothing(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let read = post(&store, "a", Some("read")).await;
    let unread = post(&store, "a", Some("unread")).await;
    owner.gates(vec![opened("kept")]).await;
    let before = row(&store, "a").await;
    let transition = Append {
        progress: true,
        gates: vec![opened("new"), GateChange::Closed { frame: frame("kept"), state: GateState::Answered }],
        consumed: vec![read],
        close: Some(Close { status: Status::Suspended, wake_at: Some(at(500)), seen: read, unfit: None }),
        ..owner.batch(3)
    };
    assert_eq!(store.append(&transition).await, Err(StoreError::InboxMoved(id("a"))));
    assert_eq!(row(&store, "a").await, before);
    assert_eq!(log(&store, "a").await.len(), 2);
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    assert_eq!(
        gates.iter().map(|g| (g.frame.as_str(), g.state)).collect::<Vec<_>>(),
        [("kept", GateState::Open)]
    );
    let pending = store.pending(&id("a"), 0).await.expect("pending");
    assert_eq!(pending.iter().map(|item| item.id).collect::<Vec<_>>(), [read, unread]);
    // And the same batch may come again, once the owner has read.
    let close = Close { status: Status::Suspended, wake_at: Some(at(500)), seen: unread, unfit: None };
    let again = Append { close: Some(close), ..transition };
    assert_eq!(owner.send(&again).await, Ok(()));
}

pub async fn b35_a_transition_changes_everything_at_once(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    owner.gates(vec![opened("asked")]).await;
    let read = post(&store, "a", Some("asked")).await;
    let transition = Append {
        gates: vec![GateChange::Closed { frame: frame("asked"), state: GateState::Answered }, opened("next")],
        consumed: vec![read],
        close: Some(Close { status: Status::Suspended, wake_at: Some(at(500)), seen: read, unfit: None }),
        ..owner.batch(3)
    };
    owner.send(&transition).await.expect("accepted");
    let found = row(&store, "a").await;
    assert_eq!((found.status, found.next, found.updated_at), (Status::Suspended, 5, at(100)));
    assert_eq!((found.wake_at, found.lease), (Some(at(500)), None));
    assert_eq!(log(&store, "a").await[2..], transition.records);
    let gates = store.gates(Some(&id("a"))).await.expect("gates");
    let states: Vec<_> = gates.iter().map(|gate| (gate.frame.as_str(), gate.state)).collect();
    assert_eq!(states, [("asked", GateState::Answered), ("next", GateState::Open)]);
    assert_eq!(store.pending(&id("a"), 0).await, Ok(vec![]));
}

pub async fn b30_an_ended_execution_stays_as_it_ended(store: Shared) {
    for status in [Status::Completed, Status::Failed, Status::Cancelled] {
        let name = status.name();
        let mut owner = Owner::create(&store, name).await;
        // A time to wake has no meaning at an end.
        owner.close(status, Some(1), 0).await;
        let ended = row(&store, name).await;
        assert_eq!((ended.status, ended.wake_at, &ended.lease), (status, None, &None));
        for late in [Status::Cancelled, Status::Completed, Status::Running] {
            let refused = store.append(&owner.closing(late)).await;
            assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
        }
        let refused = store.post(item(name, Some("late"), "1")).await;
        assert_eq!(refused, Err(StoreError::Terminal { execution: id(name), status }));
        assert_eq!(claimed(&store, "w2", 1_000_000).await.len(), 0);
        store.release(&id(name), owner.fence).await.expect("a release does nothing");
        store.renew(&"w1".into(), at(9_000)).await.expect("a renewal does nothing");
        assert_eq!(row(&store, name).await, ended);
        assert_eq!(log(&store, name).await.len(), 2);
    }
}

pub async fn b37_sequences_go_on_after_a_close(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    for round in 0..5 {
        owner.append(3).await;
        owner.close(Status::Suspended, Some(0), 0).await;
        owner = Owner::claimed(&store, &claimed(&store, "w1", round).await[0]);
    }
    let sequences: Vec<u64> = log(&store, "a").await.iter().map(|record| record.sequence).collect();
    assert_eq!(sequences, (0..21).collect::<Vec<_>>());
    assert_eq!(row(&store, "a").await.next, 21);
}

pub async fn b40_paging_reads_every_event_once(store: Shared) {
    const PAGE: usize = 7;
    // Another log on either side, to be kept apart.
    Owner::create(&store, "a").await.append(30).await;
    for length in [PAGE * 3 - 1, PAGE * 3, PAGE * 3 + 1] {
        let name = format!("b{length}");
        // Every record has the same time.
        Owner::create(&store, &name).await.append(length as u64 - 1).await;
        Owner::create(&store, &format!("c{length}")).await.append(30).await;
        let (mut read, mut pages) = (Vec::new(), 0);
        loop {
            let page = store.read(&id(&name), read.len() as u64, PAGE).await.expect("read");
            pages += 1;
            let last = page.len() < PAGE;
            read.extend(page);
            assert!(read.len() <= length, "the pages do not end");
            if last {
                break;
            }
        }
        assert_eq!(pages, length / PAGE + 1);
        assert_eq!(read, log(&store, &name).await);
        let sequences: Vec<u64> = read.iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, (0..length as u64).collect::<Vec<_>>());
    }
}

pub async fn reading_past_the_end_is_empty(store: Shared) {
    Owner::create(&store, "a").await.append(2).await;
    for (from, limit, count) in
        [(3, 10, 0), (2, 10, 1), (u64::MAX, 10, 0), (0, 0, 0), (1, 1, 1), (0, usize::MAX, 3)]
    {
        let read = store.read(&id("a"), from, limit).await.expect("read");
        assert_eq!(read.len(), count, "from {from}, at most {limit}");
    }
    for limit in [0, 5] {
        assert_eq!(store.read(&id("b"), 0, limit).await, Err(StoreError::Unknown(id("b"))));
    }
}

pub async fn b93_every_event_kind_round_trips(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let of_kind = |(n, kind): (usize, &Kind)| Record {
        sequence: 1 + n as u64,
        kind: kind.name().into(),
        at: at(1_000_000 + n as i64),
        schema: 1 + n as u16,
        payload: format!(r#"{{"of":"{}"}}"#, kind.name()),
        meta: format!(r#"{{"principal":"p{n}"}}"#),
    };
    let records: Vec<Record> = Kind::ALL.iter().enumerate().map(of_kind).collect();
    owner.send(&Append { records: records.clone(), ..owner.batch(0) }).await.expect("accepted");
    assert_eq!(log(&store, "a").await[1..], records);
    assert_eq!(row(&store, "a").await.next, 1 + Kind::ALL.len() as u64);
}

pub async fn payloads_are_kept_byte_for_byte(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let payloads = [
        "null",
        r#""""#,
        r#"{"b":1,"a":2}"#,
        r#"{ "spaced" : [ 1 , 2 ] }"#,
        r#"{"twice":1,"twice":2}"#,
        "18446744073709551615",
        "9007199254740993",
        "1.0",
        "1e400",
        "-0.0",
        r#""\u0000 and \ud83e\uddf5""#,
        "\"tail \u{0} of raw bytes\"",
        "\"'; DROP TABLE events; --\"",
        "\"ß ⟨𝄞⟩ \u{202e} e\u{301} é\"",
        "\"$1 ?1 :name @x %s {}\"",
    ];
    let records = payloads.iter().zip(owner.next..);
    let records: Vec<Record> = records
        .map(|(payload, n)| Record { at: at(-5 - n as i64), meta: (*payload).into(), ..record(n, payload) })
        .collect();
    owner.send(&Append { records: records.clone(), ..owner.batch(0) }).await.expect("accepted");
    assert_eq!(log(&store, "a").await[1..], records);
    for payload in payloads {
        store.post(item("a", None, payload)).await.expect("accepted");
    }
    let pending = store.pending(&id("a"), 0).await.expect("pending");
    assert_eq!(pending.iter().map(|item| item.payload.as_str()).collect::<Vec<_>>(), payloads);
}

pub async fn a_large_payload_round_trips(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let large = format!("\"{}\"", "loom ".repeat(1 << 20));
    let records = vec![record(1, &large), record(2, "1")];
    owner.send(&Append { records: records.clone(), ..owner.batch(0) }).await.expect("accepted");
    let read = store.read(&id("a"), 1, 2).await.expect("read");
    assert!(read == records, "5 MiB came back otherwise");
}

pub async fn a_large_batch_round_trips(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let append = owner.batch(5_000);
    owner.send(&append).await.expect("accepted");
    owner.append(1).await;
    assert!(log(&store, "a").await[1..5_001] == append.records, "5,000 events came back otherwise");
    assert_eq!(row(&store, "a").await.next, 5_002);
}

fn opened(name: &str) -> GateChange {
    GateChange::Opened { frame: frame(name), gate: name.into(), schema: "{}".into(), expires_at: None }
}
