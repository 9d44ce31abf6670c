//! What a store owes to ownership: what is due, who gets it, fences, take-overs.
//! Not under concurrency: those cases are in `races`.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{Append, ClaimRequest, Claimed, Close, InboxId, Lease, NewExecution, TakeUp};

pub async fn an_unowned_execution_is_due(store: Shared) {
    Owner::of(&store, unowned("a", 7)).await;
    let taken = claimed(&store, "w1", 10).await;
    assert_eq!(names(&taken), ["a"]);
    assert_eq!((taken[0].take_up, taken[0].row.takeovers), (TakeUp::Unowned, 0));
    assert_eq!(taken[0].row.status, Status::Running);
    let lease = Lease { worker: "w1".into(), fence: taken[0].fence, until: at(1_010) };
    assert_eq!(taken[0].row.lease, Some(lease));
    assert!(claimed(&store, "w2", 10).await.is_empty(), "it is owned now");
    Owner::claimed(&store, &taken[0]).append(1).await;
}

pub async fn a_lease_holds_to_its_last_instant(store: Shared) {
    let owner = Owner::create(&store, "a").await;
    assert!(claimed(&store, "w2", 8).await.is_empty());
    assert!(claimed(&store, "w2", 1_000).await.is_empty(), "the lease holds at its end");
    assert!(claimed(&store, "w1", 1_000).await.is_empty(), "of anybody, the claimer too");
    let taken = claimed(&store, "w2", 1_001).await;
    assert_eq!(names(&taken), ["a"]);
    assert_eq!((taken[0].take_up, taken[0].row.takeovers), (TakeUp::TakenOver, 1));
    assert!(taken[0].fence > owner.fence);
}

pub async fn a_suspended_execution_is_due_when_its_time_comes(store: Shared) {
    Owner::create(&store, "a").await.close(Status::Suspended, Some(300), 0).await;
    Owner::create(&store, "never").await.close(Status::Suspended, None, 0).await;
    assert!(claimed(&store, "w2", 299).await.is_empty());
    let taken = claimed(&store, "w2", 300).await;
    assert_eq!(names(&taken), ["a"]);
    assert_eq!((taken[0].take_up, taken[0].row.takeovers), (TakeUp::Woken, 0));
    assert_eq!((taken[0].row.status, taken[0].row.wake_at), (Status::Running, None));
    assert!(
        claimed(&store, "w3", 1_000_000).await.iter().all(|c| c.row.id == id("a")),
        "nobody wakes `never`"
    );
}

pub async fn a_suspended_execution_is_due_when_called(store: Shared) {
    Owner::create(&store, "a").await.close(Status::Suspended, Some(300_000), 0).await;
    Owner::create(&store, "b").await.close(Status::Suspended, None, 0).await;
    assert!(claimed(&store, "w2", 10).await.is_empty());
    for name in ["a", "b"] {
        let posted = post(&store, name, None).await;
        let taken = claimed(&store, "w2", 10).await;
        assert_eq!(names(&taken), [name]);
        assert_eq!((taken[0].take_up, taken[0].row.wake_at), (TakeUp::Woken, None));
        // Read and closed, it sleeps again.
        Owner::claimed(&store, &taken[0]).close(Status::Suspended, None, posted).await;
        assert!(claimed(&store, "w2", 20).await.is_empty());
    }
}

pub async fn what_was_seen_does_not_wake(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    let seen = post(&store, "a", None).await;
    owner.close(Status::Suspended, None, seen).await;
    assert!(claimed(&store, "w2", 10).await.is_empty(), "its owner had seen the item, and left it");
    assert_eq!(store.pending(&id("a"), 0).await.expect("pending").len(), 1);
    post(&store, "a", None).await;
    assert_eq!(names(&claimed(&store, "w2", 10).await), ["a"], "a newer one calls");
}

pub async fn a_parked_execution_waits_to_be_called(store: Shared) {
    Owner::create(&store, "a").await.close(Status::Parked, Some(1), 0).await;
    assert_eq!(row(&store, "a").await.wake_at, None, "only a suspended one wakes by itself");
    assert!(claimed(&store, "w2", 1_000_000).await.is_empty());
    post(&store, "a", None).await;
    let taken = claimed(&store, "w2", 10).await;
    assert_eq!((names(&taken), taken[0].take_up), (vec!["a"], TakeUp::Retried));
    assert_eq!(taken[0].row.status, Status::Running);
}

pub async fn an_ended_execution_is_never_due(store: Shared) {
    for status in [Status::Completed, Status::Failed, Status::Cancelled] {
        let mut owner = Owner::create(&store, status.name()).await;
        let unconsumed = post(&store, status.name(), None).await;
        owner.close(status, Some(1), unconsumed).await;
    }
    assert!(claimed(&store, "w2", 1_000_000_000).await.is_empty());
}

pub async fn the_oldest_is_claimed_first(store: Shared) {
    Owner::of(&store, unowned("z-created-20", 20)).await;
    Owner::of(&store, unowned("c-created-40", 40)).await;
    Owner::of(&store, unowned("b-created-40", 40)).await;
    // Created long before the others, but what counts is when it was to wake.
    let early = |name| NewExecution { claim: new(name).claim, ..unowned(name, 1) };
    Owner::of(&store, early("y-woken-30")).await.close(Status::Suspended, Some(30), 0).await;
    Owner::of(&store, early("a-woken-50")).await.close(Status::Suspended, Some(50), 0).await;
    // Called before its time: its creation counts.
    Owner::of(&store, early("x-called")).await.close(Status::Suspended, Some(9_000), 0).await;
    post(&store, "x-called", None).await;
    let order = ["x-called", "z-created-20", "y-woken-30", "b-created-40", "c-created-40", "a-woken-50"];
    let mut one_by_one = Vec::new();
    for _ in 0..2 {
        let taken = store.claim(&ClaimRequest { limit: 1, ..claim("w2", 60) }).await.expect("claim");
        one_by_one.extend(taken.iter().map(|taken| taken.row.id.to_string()));
    }
    assert_eq!(one_by_one, order[..2]);
    assert_eq!(names(&claimed(&store, "w2", 60).await), order[2..]);
}

pub async fn a_limit_bounds_a_claim(store: Shared) {
    for n in 0..5 {
        Owner::of(&store, unowned(&format!("e{n}"), n)).await;
    }
    for (limit, expected) in [(0, 0), (2, 2), (2, 2), (2, 1), (2, 0)] {
        let taken = store.claim(&ClaimRequest { limit, ..claim("w1", 10) }).await.expect("claim");
        assert_eq!(taken.len(), expected);
    }
}

pub async fn a_claim_keeps_to_its_flows(store: Shared) {
    for flow in ["tea", "coffee", "milk"] {
        Owner::of(&store, NewExecution { flow: flow.into(), ..unowned(flow, 7) }).await;
    }
    let of = |flows: &[&str]| ClaimRequest {
        flows: Some(flows.iter().map(|flow| (*flow).into()).collect()),
        ..claim("w1", 10)
    };
    assert!(store.claim(&of(&[])).await.expect("claim").is_empty(), "no flow is none");
    assert!(store.claim(&of(&["te", "TEA"])).await.expect("claim").is_empty());
    assert_eq!(names(&store.claim(&of(&["water", "tea"])).await.expect("claim")), ["tea"]);
    assert_eq!(names(&claimed(&store, "w1", 10).await), ["coffee", "milk"]);
}

pub async fn a_claim_of_one_execution_takes_no_other(store: Shared) {
    Owner::of(&store, unowned("a", 7)).await;
    Owner::of(&store, unowned("b", 7)).await;
    Owner::create(&store, "held").await;
    let only = |name: &str| ClaimRequest { execution: Some(id(name)), ..claim("w2", 10) };
    assert!(store.claim(&only("held")).await.expect("claim").is_empty(), "it is not due");
    assert!(store.claim(&only("nobody")).await.expect("claim").is_empty());
    assert_eq!(names(&store.claim(&only("b")).await.expect("claim")), ["b"]);
    assert_eq!(row(&store, "a").await.lease, None);
    let other_flow = ClaimRequest { flows: Some(vec!["other".into()]), ..only("a") };
    assert!(store.claim(&other_flow).await.expect("claim").is_empty(), "both conditions hold");
}

/// What `program` gets at `now`, of what is due; of what is unfit for it, if it has been due since `since`.
async fn claimed_by(store: &Shared, program: &str, now: i64, since: i64) -> Vec<Claimed> {
    let program = Some((batch(program), at(since)));
    store.claim(&ClaimRequest { program, ..claim(&format!("at {now}"), now) }).await.expect("claim")
}

/// An owner that parks: its program does not fit.
async fn parks_unfit(mut owner: Owner, program: &str, seen: InboxId) {
    let close = Close { status: Status::Parked, wake_at: None, seen, unfit: Some(batch(program)) };
    let append = Append { close: Some(close), ..owner.batch(1) };
    owner.send(&append).await.expect("the owner closes");
}

pub async fn what_is_unfit_for_a_program_is_left_to_others(store: Shared) {
    parks_unfit(Owner::create(&store, "a").await, "v2", 0).await;
    let posted = post(&store, "a", None).await; // at 50
    assert!(claimed_by(&store, "v2", 60, 49).await.is_empty(), "it is left to others");
    let taken = claimed_by(&store, "v1", 60, 49).await;
    assert_eq!((names(&taken), taken[0].take_up), (vec!["a"], TakeUp::Retried));
    // And at each wake-up, whatever kind it is of; the other programs that are unfit too.
    Owner::claimed(&store, &taken[0]).close(Status::Suspended, Some(300), posted).await;
    assert!(claimed_by(&store, "v2", 310, 299).await.is_empty());
    let taken = claimed_by(&store, "v3", 310, 299).await;
    parks_unfit(Owner::claimed(&store, &taken[0]), "v3", posted).await;
    post(&store, "a", None).await;
    for unfit in ["v2", "v3"] {
        assert!(claimed_by(&store, unfit, 320, 49).await.is_empty());
    }
    let taken = claimed_by(&store, "v1", 320, 49).await;
    assert_eq!(names(&taken), ["a"]);
    store.release(&id("a"), taken[0].fence).await.expect("release");
    assert!(claimed_by(&store, "v2", 330, 319).await.is_empty(), "handed back since 320");
    let taken = claimed_by(&store, "v1", 330, 319).await;
    assert_eq!(names(&taken), ["a"]);
    assert!(claimed_by(&store, "v2", 1_340, 1_329).await.is_empty(), "its owner's lease ended at 1,330");
    assert_eq!(names(&claimed_by(&store, "v1", 1_340, 1_329).await), ["a"]);
}

pub async fn what_nobody_else_takes_an_unfit_program_takes(store: Shared) {
    parks_unfit(Owner::create(&store, "called").await, "v2", 0).await;
    post(&store, "called", None).await; // at 50
    assert!(claimed_by(&store, "v2", 60, 49).await.is_empty());
    let taken = claimed_by(&store, "v2", 61, 50).await;
    assert_eq!(names(&taken), ["called"]);
    assert!(claimed_by(&store, "v2", 1_070, 1_060).await.is_empty(), "leased until 1,061");
    let taken = claimed_by(&store, "v2", 1_071, 1_061).await;
    assert_eq!(names(&taken), ["called"]);
    store.release(&id("called"), taken[0].fence).await.expect("release");
    assert!(claimed_by(&store, "v2", 1_090, 1_070).await.is_empty(), "without an owner since 1,071");
    let taken = claimed_by(&store, "v2", 1_090, 1_071).await;
    let newest = post(&store, "called", None).await;
    Owner::claimed(&store, &taken[0]).close(Status::Suspended, Some(1_200), newest).await;
    assert!(claimed_by(&store, "v2", 1_210, 1_199).await.is_empty());
    assert_eq!(names(&claimed_by(&store, "v2", 1_210, 1_200).await), ["called"]);
    // Who asks for it by name gets it.
    parks_unfit(Owner::create(&store, "named").await, "v2", 0).await;
    post(&store, "named", None).await;
    let program = Some((batch("v2"), at(0)));
    let named = ClaimRequest { program, execution: Some(id("named")), ..claim("w2", 60) };
    assert_eq!(names(&store.claim(&named).await.expect("claim")), ["named"]);
}

pub async fn a_program_is_unfit_for_one_run(store: Shared) {
    parks_unfit(Owner::create(&store, "a").await, "v2", 0).await;
    let seen = post(&store, "a", None).await;
    let taken = claimed_by(&store, "v1", 60, 0).await;
    let mut owner = Owner::claimed(&store, &taken[0]);
    let close = Close { status: Status::Suspended, wake_at: Some(at(70)), seen, unfit: None };
    let rolls = Append { run: Some(owner.next), close: Some(close), ..owner.batch(1) };
    owner.send(&rolls).await.expect("the owner goes on as new");
    assert_eq!(names(&claimed_by(&store, "v2", 80, 0).await), ["a"]);
}

pub async fn a_release_hands_back_at_once(store: Shared) {
    let owner = Owner::create(&store, "a").await;
    store.release(&id("a"), owner.fence).await.expect("release");
    let found = row(&store, "a").await;
    assert_eq!((found.status, found.lease), (Status::Running, None));
    let taken = claimed(&store, "w2", 8).await;
    assert_eq!((names(&taken), taken[0].take_up), (vec!["a"], TakeUp::Unowned));
    assert_eq!(taken[0].row.takeovers, 0, "handing back is not vanishing");
    assert!(taken[0].fence > owner.fence);
}

pub async fn a_stale_release_changes_nothing(store: Shared) {
    let owner = Owner::create(&store, "a").await;
    let taken = claimed(&store, "w2", 5_000).await;
    let before = row(&store, "a").await;
    for fence in [owner.fence, taken[0].fence + 1, 0] {
        assert_eq!(store.release(&id("a"), fence).await, Ok(()));
        assert_eq!(row(&store, "a").await, before);
    }
    assert_eq!(store.release(&id("nobody"), 1).await, Ok(()));
    let mut suspended = Owner::create(&store, "b").await;
    suspended.close(Status::Suspended, None, 0).await;
    store.release(&id("b"), suspended.fence).await.expect("release");
    assert_eq!(row(&store, "b").await.status, Status::Suspended);
    assert!(claimed(&store, "w3", 5_001).await.is_empty());
}

pub async fn renewal_extends_what_is_held(store: Shared) {
    let a = Owner::create(&store, "a").await;
    let b = Owner::create(&store, "b").await;
    let other = NewExecution { claim: Some(("w2".into(), LEASE)), ..new("other") };
    Owner::of(&store, other).await;
    Owner::create(&store, "closed").await.close(Status::Suspended, None, 0).await;
    let mut renewed = store.renew(&"w1".into(), at(3_000)).await.expect("renew");
    renewed.sort();
    assert_eq!(renewed, [(id("a"), a.fence), (id("b"), b.fence)]);
    let until = |row: crate::ports::ExecutionRow| row.lease.map(|lease| lease.until);
    assert_eq!(until(row(&store, "a").await), Some(at(3_000)));
    assert_eq!(until(row(&store, "other").await), Some(LEASE));
    assert_eq!(until(row(&store, "closed").await), None);
    assert_eq!(names(&claimed(&store, "w3", 2_000).await), ["other"]);
    // Shorter is not an extension.
    store.renew(&"w1".into(), at(2_500)).await.expect("renew");
    assert!(claimed(&store, "w3", 2_900).await.is_empty());
    assert_eq!(store.renew(&"nobody".into(), at(9_000)).await, Ok(vec![]));
    assert!(claimed(&store, "w4", 3_000).await.is_empty());
    assert_eq!(names(&claimed(&store, "w4", 3_001).await), ["a", "b", "other"]);
}

pub async fn renewal_spares_what_was_lost(store: Shared) {
    Owner::create(&store, "lost").await;
    assert_eq!(names(&claimed(&store, "w2", 1_001).await), ["lost"]);
    let late = Owner::create(&store, "late").await;
    // Past its end, but nobody has come: it is still held.
    let renewed = store.renew(&"w1".into(), at(9_000)).await.expect("renew");
    assert_eq!(renewed, [(id("late"), late.fence)]);
    let lease = row(&store, "lost").await.lease.expect("leased");
    assert_eq!((lease.worker.as_str(), lease.until), ("w2", at(2_001)));
}

pub async fn b44_take_overs_count_until_progress(store: Shared) {
    Owner::create(&store, "a").await;
    let mut now = 0;
    for count in 1..=3 {
        now += 5_000;
        let taken = claimed(&store, "w2", now).await;
        assert_eq!((taken[0].row.takeovers, row(&store, "a").await.takeovers), (count, count));
        // Work without an outcome is no progress.
        Owner::claimed(&store, &taken[0]).append(1).await;
        assert_eq!(row(&store, "a").await.takeovers, count);
    }
    let mut owner = Owner::claimed(&store, &claimed(&store, "w2", now + 5_000).await[0]);
    owner.close(Status::Suspended, Some(0), 0).await;
    assert_eq!(row(&store, "a").await.takeovers, 4, "nor is letting go");
    owner = Owner::claimed(&store, &claimed(&store, "w2", now + 5_000).await[0]);
    assert_eq!(row(&store, "a").await.takeovers, 4, "a wake-up is no take-over");
    let outcome = Append { progress: true, ..owner.batch(1) };
    owner.send(&outcome).await.expect("accepted");
    assert_eq!(row(&store, "a").await.takeovers, 0);
    assert_eq!(claimed(&store, "w2", now + 50_000).await[0].row.takeovers, 1);
}

pub async fn fences_never_shrink(store: Shared) {
    let mut owner = Owner::create(&store, "a").await;
    for round in 1..20 {
        let now = round * 10_000;
        match round % 3 {
            0 => store.release(&id("a"), owner.fence).await.expect("release"),
            1 => owner.close(Status::Suspended, Some(0), 0).await,
            _ => {}
        }
        let taken = claimed(&store, "w2", now).await;
        assert!(taken[0].fence > owner.fence, "after {} came {}", owner.fence, taken[0].fence);
        owner = Owner::claimed(&store, &taken[0]);
    }
}

pub async fn claimed_rows_are_stored_rows(store: Shared) {
    Owner::of(&store, unowned("a", 7)).await;
    Owner::create(&store, "b").await;
    Owner::create(&store, "c").await.close(Status::Suspended, Some(300), 0).await;
    let taken = claimed(&store, "w2", 5_000).await;
    assert_eq!(taken.len(), 3);
    for taken in taken {
        assert_eq!(taken.row, row(&store, taken.row.id.as_str()).await);
        assert_eq!(taken.row.lease.as_ref().map(|lease| lease.fence), Some(taken.fence));
        assert_eq!(taken.row.updated_at, at(5_000));
    }
}
