//! What a store owes when many ask at once.
//! Not a benchmark, and not several processes: a store that allows those tests them itself.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use std::collections::BTreeSet;

use futures_util::future::join_all;
use kernel::{Record, Snapshot, Status};

use super::{Shared, fixture::*};
use crate::ports::{
    Append, ClaimRequest, Close, Created, GateChange, GateState, NewExecution, Posted, StoreError,
};

/// Runs all at once, on every thread of the runtime, and returns what they return, in order.
async fn at_once<T: Send + 'static>(
    tasks: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
    join_all(tasks).await.into_iter().map(|done| done.expect("no panic")).collect()
}

pub async fn b88_fifty_concurrent_creates_give_one(store: Shared) {
    let create = |n: usize| {
        let claim = Some((format!("w{n}"), LEASE));
        let new = NewExecution { batch: batch(&format!("start {n}")), claim, ..new("a") };
        let store = store.clone();
        async move { store.create(new).await.expect("answered") }
    };
    let answers = at_once((0..50).map(create)).await;
    let won: Vec<usize> = (0..50).filter(|n| matches!(answers[*n], Created::New { .. })).collect();
    assert_eq!(won.len(), 1, "one run, 49 handles");
    let stored = row(&store, "a").await;
    assert_eq!(stored.lease.as_ref().map(|lease| lease.worker.clone()), Some(format!("w{}", won[0])));
    for answer in answers {
        if let Created::Exists(found) = answer {
            assert_eq!(*found, stored);
        }
    }
    assert_eq!(log(&store, "a").await.len(), 1);
}

pub async fn b36_fifty_executions_at_once_lose_nothing(store: Shared) {
    let work = |n: usize| {
        let store = store.clone();
        async move {
            let mut owner = Owner::create(&store, &format!("e{n}")).await;
            for _ in 0..5 {
                owner.append(3).await;
            }
            let progress = Append { progress: true, ..owner.batch(1) };
            owner.send(&progress).await.expect("accepted");
            owner.close(Status::Completed, None, 0).await;
        }
    };
    at_once((0..50).map(work)).await;
    for n in 0..50 {
        let name = format!("e{n}");
        let (row, log) = (row(&store, &name).await, log(&store, &name).await);
        assert_eq!((row.status, row.next, log.len()), (Status::Completed, 18, 18));
        assert!(log.iter().zip(0..).all(|(record, n)| record.sequence == n));
        assert_eq!(log[16].payload, r#"{"n":16}"#);
    }
}

pub async fn b81_snapshots_beside_appends_are_kept(store: Shared) {
    let work = |n: usize| {
        let store = store.clone();
        async move {
            let name = format!("e{n}");
            let mut owner = Owner::create(&store, &name).await;
            for sequence in 1..=10 {
                let kept =
                    Snapshot { execution: id(&name), of: "state".into(), sequence, body: name.clone() };
                let append = owner.batch(1);
                let (pruned, put, sent) = tokio::join!(
                    store.prune_snapshots(&kept.execution, &kept.of, 2),
                    store.put_snapshot(&kept),
                    owner.send(&append),
                );
                assert_eq!((pruned, put, sent), (Ok(()), Ok(()), Ok(())));
            }
        }
    };
    at_once((0..20).map(work)).await;
    for n in 0..20 {
        let name = format!("e{n}");
        let newest = store.newest_snapshot(&id(&name), "state", u64::MAX).await.expect("an answer");
        assert_eq!(newest.map(|found| (found.sequence, found.body)), Some((10, name.clone())));
        assert_eq!((row(&store, &name).await.next, log(&store, &name).await.len()), (11, 11));
    }
}

pub async fn b36_fifty_appends_for_one_sequence_give_one(store: Shared) {
    let owner = Owner::create(&store, "a").await;
    let append = |n: usize| {
        let records = vec![record(1, &format!("{n}"))];
        let append = Append { batch: batch(&format!("{n}")), records, ..owner.batch(0) };
        let store = store.clone();
        async move { store.append(&append).await }
    };
    let verdicts = at_once((0..50).map(append)).await;
    let won: Vec<usize> = (0..50).filter(|n| verdicts[*n].is_ok()).collect();
    assert_eq!(won.len(), 1);
    let conflict = StoreError::Conflict { execution: id("a"), expected: 1, found: 2 };
    assert!(verdicts.iter().flat_map(|verdict| verdict.as_ref().err()).all(|error| *error == conflict));
    let log = log(&store, "a").await;
    assert_eq!((log.len(), log[1].payload.clone()), (2, won[0].to_string()), "the winner's, and once");
}

pub async fn b26_of_two_owners_one_proceeds(store: Shared) {
    for round in 0..20 {
        let name = format!("e{round}");
        let late = Owner::create(&store, &name).await;
        // The late owner appends while another takes over and appends too.
        let (stale, takeover) = (late.clone(), store.clone());
        let (first, second) = tokio::join!(
            tokio::spawn(async move { stale.store.append(&stale.batch(1)).await }),
            tokio::spawn(async move {
                let only = ClaimRequest { execution: Some(late.id.clone()), ..claim("w2", 5_000) };
                let taken = takeover.claim(&only).await.expect("claim");
                let owner = Owner::claimed(&takeover, &taken[0]);
                // It goes by the row of its claim, whichever came first.
                (taken[0].row.next, takeover.append(&owner.batch(1)).await)
            })
        );
        let (first, (next, second)) = (first.expect("no panic"), second.expect("no panic"));
        assert_eq!(second, Ok(()), "nobody else can append after the claim");
        match first {
            Ok(()) => assert_eq!(next, 2, "it came before the claim"),
            Err(StoreError::Fenced { .. }) => assert_eq!(next, 1, "it came after"),
            Err(other) => panic!("{other}"),
        }
        assert_eq!(log(&store, &name).await.len() as u64, next + 1);
    }
}

pub async fn b28_a_loser_never_appends_again(store: Shared) {
    let mut loser = Owner::create(&store, "a").await;
    let mut winner = Owner::claimed(&store, &claimed(&store, "w2", 5_000).await[0]);
    for _ in 0..5 {
        let batch = winner.batch(1);
        let late = loser.batch(1);
        let (lost, won) = tokio::join!(store.append(&late), store.append(&batch));
        assert!(matches!(lost, Err(StoreError::Fenced { .. })), "{lost:?}");
        assert_eq!(won, Ok(()));
        winner.next += 1;
        loser.next = winner.next;
    }
    winner.close(Status::Completed, None, 0).await;
    assert!(matches!(store.append(&loser.batch(1)).await, Err(StoreError::Fenced { .. })));
}

pub async fn a_refusal_disturbs_no_other(store: Shared) {
    let mut owners = Vec::new();
    for n in 0..40 {
        owners.push(Owner::create(&store, &format!("e{n}")).await);
    }
    post(&store, "e3", None).await;
    for round in 1..=5 {
        let send = |(n, owner): (usize, &Owner)| {
            let append = match n % 8 {
                0 => Append { fence: 77, ..owner.batch(1) },
                1 => Append { expected_next: 77, ..owner.batch(1) },
                2 => Append { execution: id("nobody"), ..owner.batch(1) },
                3 if n == 3 => owner.closing(Status::Completed),
                _ => owner.batch(2),
            };
            let store = store.clone();
            async move { store.append(&append).await }
        };
        let verdicts = at_once(owners.iter().enumerate().map(send).collect::<Vec<_>>()).await;
        for (n, verdict) in verdicts.into_iter().enumerate() {
            let (owner, next) = (&mut owners[n], row(&store, &format!("e{n}")).await.next);
            match (n % 8, verdict) {
                (0, Err(StoreError::Fenced { presented: 77, .. }))
                | (1, Err(StoreError::Conflict { expected: 77, .. }))
                | (2, Err(StoreError::Unknown(_)))
                | (3, Err(StoreError::InboxMoved(_))) => assert_eq!(next, 1),
                (3.., Ok(())) => {
                    owner.next += 2;
                    assert_eq!(next, 1 + 2 * round);
                }
                (_, verdict) => panic!("append {n}: {verdict:?}"),
            }
        }
    }
}

pub async fn two_claimers_never_share(store: Shared) {
    let create = |n: i64| {
        let (store, new) = (store.clone(), unowned(&format!("e{n}"), n % 7));
        async move { store.create(new).await.expect("created") }
    };
    at_once((0..100).map(create)).await;
    let worker = |n: usize| {
        let store = store.clone();
        async move {
            let mut mine = Vec::new();
            loop {
                let request = ClaimRequest { limit: 7, ..claim(&format!("w{n}"), 10) };
                let taken = store.claim(&request).await.expect("claim");
                if taken.is_empty() {
                    break mine;
                }
                assert!(taken.len() <= 7);
                mine.extend(taken);
                assert!(mine.len() <= 100, "one execution was given twice");
            }
        }
    };
    let taken: Vec<_> = at_once((0..8).map(worker)).await;
    let distinct: BTreeSet<_> = taken.iter().flatten().map(|taken| taken.row.id.clone()).collect();
    assert_eq!((distinct.len(), taken.iter().flatten().count()), (100, 100), "each once");
    for (n, taken) in taken.iter().enumerate() {
        for taken in taken {
            let stored = row(&store, taken.row.id.as_str()).await;
            assert_eq!(stored.lease.map(|lease| lease.worker), Some(format!("w{n}")));
        }
    }
}

pub async fn fifty_posts_with_one_key_give_one(store: Shared) {
    Owner::create(&store, "a").await;
    let send = |n: usize| {
        let (store, item) = (store.clone(), item("a", Some("gate"), &format!("{n}")));
        async move { store.post(item).await.expect("answered") }
    };
    let answers = at_once((0..50).map(send)).await;
    let accepted: Vec<usize> = (0..50).filter(|n| matches!(answers[*n], Posted::Accepted(_))).collect();
    assert_eq!(accepted.len(), 1);
    let duplicates = answers.iter().filter(|answer| **answer == Posted::Duplicate { same: false });
    assert_eq!(duplicates.count(), 49);
    let pending = store.pending(&id("a"), 0).await.expect("pending");
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].payload, accepted[0].to_string());
}

pub async fn fifty_posts_keep_an_order(store: Shared) {
    Owner::create(&store, "a").await;
    Owner::create(&store, "b").await;
    let send = |sender: usize| {
        let store = store.clone();
        async move {
            let mut newest = 0;
            for n in 0..10 {
                let to = if sender.is_multiple_of(2) { "a" } else { "b" };
                let posted = store.post(item(to, None, &format!("[{sender},{n}]"))).await;
                let Ok(Posted::Accepted(id)) = posted else { panic!("{posted:?}") };
                assert!(id > newest, "what was posted later comes later");
                newest = id;
            }
        }
    };
    at_once((0..5).map(send)).await;
    let mut positions = BTreeSet::new();
    for name in ["a", "b"] {
        let items = store.pending(&id(name), 0).await.expect("pending");
        assert!(items.is_sorted_by(|a, b| a.id < b.id));
        positions.extend(items.iter().map(|item| item.id));
    }
    assert_eq!(positions.len(), 50, "none lost, none shared");
}

pub async fn b52_no_post_is_lost_to_a_close(store: Shared) {
    for round in 0..40 {
        let name = format!("e{round}");
        let status = if round % 2 == 0 { Status::Suspended } else { Status::Completed };
        let owner = Owner::create(&store, &name).await;
        let (closing, posting) = (store.clone(), store.clone());
        let (message, close) = (item(&name, Some("k"), "1"), owner.closing(status));
        let (closed, posted) = tokio::join!(
            tokio::spawn(async move { closing.append(&close).await }),
            tokio::spawn(async move { posting.post(message).await })
        );
        let waiting = store.pending(&id(&name), 0).await.expect("pending").len();
        match (closed.expect("no panic"), posted.expect("no panic")) {
            (Err(StoreError::InboxMoved(_)), Ok(Posted::Accepted(_))) => assert_eq!(waiting, 1),
            (Ok(()), Ok(Posted::Accepted(_))) if status == Status::Suspended => {
                let only = ClaimRequest { execution: Some(id(&name)), ..claim("w2", 10) };
                assert_eq!(store.claim(&only).await.expect("claim").len(), 1, "it must wake");
            }
            (Ok(()), Err(StoreError::Terminal { .. })) if status.is_terminal() => assert_eq!(waiting, 0),
            other => panic!("{other:?}"),
        }
    }
}

pub async fn readers_never_see_half_a_transition(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let writer = tokio::spawn(async move {
        for n in 0..60 {
            let frame = frame(&format!("g{n}"));
            let open = GateChange::Opened { frame, gate: "g".into(), schema: "{}".into(), expires_at: None };
            // Two events and one gate each time.
            owner.send(&Append { gates: vec![open], ..owner.batch(2) }).await.expect("accepted");
        }
        let close = Close { status: Status::Completed, wake_at: None, seen: 0, unfit: None };
        let gates = vec![GateChange::AbandonAll];
        owner.send(&Append { close: Some(close), gates, ..owner.batch(1) }).await.expect("accepted");
    });
    loop {
        let done = writer.is_finished();
        let before = row(&store, "a").await;
        let log: Vec<Record> = log(&store, "a").await;
        let gates = store.gates(Some(&id("a"))).await.expect("gates");
        let after = row(&store, "a").await;
        let length = log.len() as u64;
        assert!(before.next <= length && length <= after.next, "a row without its events");
        assert!(length % 2 == 1 || before.status == Status::Completed || after.status == Status::Completed);
        assert!((length - 1) / 2 <= gates.len() as u64, "events without their gate");
        let open = gates.iter().filter(|gate| gate.state == GateState::Open).count();
        assert!(open == gates.len() || open == 0, "the end abandons all or none");
        if done {
            assert_eq!((after.status, length, open), (Status::Completed, 122, 0));
            break;
        }
        tokio::task::yield_now().await;
    }
    writer.await.expect("no panic");
}
