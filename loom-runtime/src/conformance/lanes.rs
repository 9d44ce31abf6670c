//! What a store owes to turns: priority, the slots and the rate of a lane, and fair shares among lanes.
//! Not what is due at all: those cases are in `leases`.
#![allow(missing_docs, reason = "a case is named after what it shows")]

use std::time::Duration;

use kernel::Status;

use super::{Shared, fixture::*};
use crate::ports::{ClaimRequest, Claimed, Created, Lane, NewExecution, TakeUp, Turn};

fn with(name: &str, created: i64, priority: i16, lane: Option<Lane>) -> NewExecution {
    NewExecution { turn: Turn { priority, lane }, ..unowned(name, created) }
}

async fn queue(store: &Shared, name: &str, created: i64, lane: &Lane) {
    Owner::of(store, with(name, created, 0, Some(lane.clone()))).await;
}

async fn up_to(store: &Shared, limit: usize, now: i64) -> Vec<Claimed> {
    store.claim(&ClaimRequest { limit, ..claim("w1", now) }).await.expect("claim")
}

pub async fn a_turn_reads_back(store: Shared) {
    let lane =
        Lane::new("tenant \u{0}é").at_most(u32::MAX).rate(3, Duration::from_micros(7)).weight(u16::MAX);
    let made = [
        with("all", 7, -3, Some(lane)),
        with("plain", 7, i16::MAX, Some(Lane::new(""))),
        with("low", 7, i16::MIN, None),
    ];
    for new in made {
        let (name, turn) = (new.id.clone(), new.turn.clone());
        Owner::of(&store, new).await;
        assert_eq!(row(&store, name.as_str()).await.turn, turn);
        let of_one = ClaimRequest { execution: Some(name), ..claim("w1", 10) };
        let taken = store.claim(&of_one).await.expect("claim");
        assert_eq!(taken[0].row.turn, turn);
    }
}

pub async fn a_turn_is_content_of_its_batch(store: Shared) {
    let lane = Lane::new("a").at_most(2).rate(3, Duration::from_micros(7)).weight(5);
    let new = with("a", 7, 1, Some(lane.clone()));
    Owner::of(&store, new.clone()).await;
    let again = store.create(new.clone()).await.expect("created");
    assert!(matches!(again, Created::New { .. }), "{again:?}");
    let others = [
        lane.clone().at_most(1),
        lane.clone().rate(4, Duration::from_micros(7)),
        lane.clone().rate(3, Duration::from_micros(8)),
        lane.clone().weight(4),
        Lane { key: "b".into(), ..lane.clone() },
    ];
    let mut others: Vec<_> = others.map(|lane| Turn { priority: 1, lane: Some(lane) }).into();
    others.extend([
        Turn { priority: 2, lane: Some(lane) },
        Turn { priority: 1, lane: None },
        Turn::default(),
    ]);
    for turn in others {
        let other = store.create(NewExecution { turn: turn.clone(), ..new.clone() }).await.expect("created");
        assert!(matches!(other, Created::Exists(_)), "{turn:?}");
    }
}

pub async fn a_higher_priority_goes_first(store: Shared) {
    for (name, created, priority) in
        [("a", 1, 0), ("b", 2, -1), ("c", 3, 5), ("d", 4, 5), ("e", 5, i16::MAX), ("f", 6, i16::MIN)]
    {
        Owner::of(&store, with(name, created, priority, None)).await;
    }
    assert_eq!(names(&up_to(&store, 1, 10).await), ["e"]);
    assert_eq!(names(&up_to(&store, 2, 10).await), ["c", "d"]);
    assert_eq!(names(&claimed(&store, "w2", 10).await), ["a", "b", "f"]);
}

pub async fn a_priority_is_kept_for_life(store: Shared) {
    Owner::of(&store, with("low", 1, 0, None)).await;
    Owner::of(&store, with("high", 2, 3, None)).await;
    let taken = claimed(&store, "w1", 10).await;
    for claim in &taken {
        Owner::claimed(&store, claim).close(Status::Suspended, Some(20), 0).await;
    }
    assert_eq!(names(&claimed(&store, "w1", 30).await), ["high", "low"]);
}

pub async fn a_lane_runs_so_many_at_once(store: Shared) {
    let lane = Lane::new("tenant").at_most(2);
    for (n, name) in (1..).zip(["a", "b", "c", "d", "e", "f"]) {
        queue(&store, name, n, &lane).await;
    }
    let taken = claimed(&store, "w1", 10).await; // until 1,010
    assert_eq!(names(&taken), ["a", "b"]);
    assert!(claimed(&store, "w2", 10).await.is_empty(), "no slot is free");
    // Ended, suspended, handed back: each gives its slot back.
    Owner::claimed(&store, &taken[0]).close(Status::Completed, None, 0).await;
    let next = claimed(&store, "w2", 20).await;
    assert_eq!(names(&next), ["c"]);
    Owner::claimed(&store, &taken[1]).close(Status::Suspended, Some(5_000), 0).await;
    let last = claimed(&store, "w2", 30).await;
    assert_eq!(names(&last), ["d"]);
    store.release(&id("c"), next[0].fence).await.expect("release");
    assert_eq!(names(&claimed(&store, "w2", 40).await), ["c"], "it is the oldest");
    assert!(claimed(&store, "w2", 50).await.is_empty());
    store.renew(&"w2".into(), at(2_000)).await.expect("renew");
    assert!(claimed(&store, "w3", 2_000).await.is_empty(), "both leases hold");
}

pub async fn an_ended_lease_holds_no_slot(store: Shared) {
    let lane = Lane::new("tenant").at_most(1);
    for (n, name) in (1..).zip(["a", "b"]) {
        queue(&store, name, n, &lane).await;
    }
    assert_eq!(names(&claimed(&store, "w1", 10).await), ["a"]); // until 1,010
    assert!(claimed(&store, "w2", 1_010).await.is_empty(), "the lease holds at its end");
    let taken = claimed(&store, "w2", 1_011).await;
    assert_eq!((names(&taken), taken[0].take_up), (vec!["a"], TakeUp::TakenOver));
    assert!(claimed(&store, "w2", 1_012).await.is_empty());
}

pub async fn a_woken_execution_waits_for_a_slot(store: Shared) {
    let lane = Lane::new("tenant").at_most(1);
    queue(&store, "a", 1, &lane).await;
    let taken = claimed(&store, "w1", 10).await;
    Owner::claimed(&store, &taken[0]).close(Status::Suspended, Some(20), 0).await;
    queue(&store, "b", 2, &lane).await;
    let taken = claimed(&store, "w1", 15).await;
    assert_eq!(names(&taken), ["b"]);
    assert!(claimed(&store, "w1", 30).await.is_empty(), "`a` is due, and its lane is full");
    Owner::claimed(&store, &taken[0]).close(Status::Parked, None, 0).await;
    let taken = claimed(&store, "w1", 30).await;
    assert_eq!((names(&taken), taken[0].take_up), (vec!["a"], TakeUp::Woken));
}

pub async fn a_full_lane_holds_no_other_back(store: Shared) {
    let lane = Lane::new("full").at_most(1);
    for n in 0..20 {
        queue(&store, &format!("full-{n:02}"), 1, &lane).await;
    }
    queue(&store, "other", 2, &Lane::new("Full").at_most(1)).await;
    Owner::of(&store, unowned("none", 3)).await;
    let taken = up_to(&store, 3, 10).await;
    assert_eq!(names(&taken), ["full-00", "other", "none"], "and they do not use the limit up");
    assert!(claimed(&store, "w1", 10).await.is_empty());
}

pub async fn a_claim_of_one_execution_keeps_to_its_lane(store: Shared) {
    let lane = Lane::new("tenant").at_most(1);
    for (n, name) in (1..).zip(["a", "b", "c"]) {
        queue(&store, name, n, &lane).await;
    }
    let only = |name: &str| ClaimRequest { execution: Some(id(name)), ..claim("w1", 10) };
    let taken = store.claim(&only("b")).await.expect("claim");
    assert_eq!(names(&taken), ["b"], "its turn comes before its elders'");
    assert!(store.claim(&only("c")).await.expect("claim").is_empty(), "the lane is full");
    Owner::claimed(&store, &taken[0]).close(Status::Completed, None, 0).await;
    assert_eq!(names(&store.claim(&only("c")).await.expect("claim")), ["c"]);
}

pub async fn each_is_judged_by_what_it_brought(store: Shared) {
    queue(&store, "a", 1, &Lane::new("tenant").at_most(2)).await;
    queue(&store, "b", 2, &Lane::new("tenant")).await;
    queue(&store, "c", 3, &Lane::new("tenant").at_most(1)).await;
    assert_eq!(names(&claimed(&store, "w1", 10).await), ["a", "b"]);
}

pub async fn a_rate_bounds_what_begins(store: Shared) {
    let lane = Lane::new("tenant").rate(2, Duration::from_micros(100));
    for (n, name) in (1..).zip(["a", "b", "c", "d", "e"]) {
        queue(&store, name, n, &lane).await;
    }
    let taken = up_to(&store, 1, 10).await;
    assert_eq!(names(&taken), ["a"]);
    assert_eq!(names(&claimed(&store, "w1", 50).await), ["b"]);
    assert!(claimed(&store, "w1", 109).await.is_empty(), "two have begun since 10");
    // Whatever begins no more is free to go on.
    Owner::claimed(&store, &taken[0]).close(Status::Suspended, Some(60), 0).await;
    assert_eq!(names(&claimed(&store, "w1", 109).await), ["a"]);
    assert_eq!(names(&claimed(&store, "w1", 110).await), ["c"]);
    assert!(claimed(&store, "w1", 149).await.is_empty(), "two have begun since 50");
    assert_eq!(names(&claimed(&store, "w1", 150).await), ["d"]);
    let one = ClaimRequest { execution: Some(id("e")), ..claim("w1", 209) };
    assert!(store.claim(&one).await.expect("claim").is_empty(), "asked for by name too");
    assert_eq!(names(&claimed(&store, "w1", 210).await), ["e"]);
}

pub async fn a_rate_and_slots_hold_together(store: Shared) {
    let lane = Lane::new("tenant").at_most(2).rate(3, Duration::from_micros(100));
    for (n, name) in (1..).zip(["a", "b", "c", "d"]) {
        queue(&store, name, n, &lane).await;
    }
    let taken = claimed(&store, "w1", 10).await;
    assert_eq!(names(&taken), ["a", "b"]);
    for claim in &taken {
        Owner::claimed(&store, claim).close(Status::Completed, None, 0).await;
    }
    assert_eq!(names(&claimed(&store, "w1", 20).await), ["c"], "a slot is free, and no beginning");
    assert_eq!(names(&claimed(&store, "w1", 110).await), ["d"]);
}

pub async fn lanes_take_turns(store: Shared) {
    for n in 0..50 {
        queue(&store, &format!("a{n:02}"), n, &Lane::new("a")).await;
    }
    for (n, name) in (100..).zip(["b0", "b1"]) {
        queue(&store, name, n, &Lane::new("b")).await;
    }
    for (n, name) in (200..).zip(["none0", "none1", "none2"]) {
        Owner::of(&store, unowned(name, n)).await;
    }
    let taken = up_to(&store, 8, 300).await;
    assert_eq!(names(&taken), ["a00", "b0", "none0", "a01", "b1", "none1", "a02", "none2"]);
    // What runs counts: three of `a`, two of `b`.
    queue(&store, "b2", 210, &Lane::new("b")).await;
    assert_eq!(names(&up_to(&store, 2, 300).await), ["b2", "a03"]);
    // Priority comes before fairness.
    Owner::of(&store, with("a-first", 299, 1, Some(Lane::new("a")))).await;
    queue(&store, "c0", 299, &Lane::new("c")).await;
    assert_eq!(names(&up_to(&store, 2, 300).await), ["a-first", "c0"]);
}

pub async fn a_weight_is_a_share(store: Shared) {
    for n in 0..20 {
        queue(&store, &format!("a{n:02}"), n, &Lane::new("a").weight(3)).await;
        queue(&store, &format!("b{n:02}"), n, &Lane::new("b")).await;
    }
    let taken = up_to(&store, 12, 100).await;
    let of_a = names(&taken).iter().filter(|name| name.starts_with('a')).count();
    assert_eq!(of_a, 9);
    assert_eq!(names(&taken)[..4], ["a00", "a01", "b00", "a02"], "of equal shares the oldest");
}

pub async fn claims_at_once_keep_to_a_lane(store: Shared) {
    let (slots, rate) = (Lane::new("s").at_most(3), Lane::new("r").rate(4, Duration::from_micros(100)));
    for n in 0..40 {
        queue(&store, &format!("s{n:02}"), n, &slots).await;
        queue(&store, &format!("r{n:02}"), n, &rate).await;
    }
    let at_once = |now: i64| {
        let store = store.clone();
        async move {
            let claims = (0..8).map(|n| {
                let store = store.clone();
                tokio::spawn(async move { claimed(&store, &format!("w{n}"), now).await })
            });
            let mut all = Vec::new();
            for claim in claims.collect::<Vec<_>>() {
                all.extend(claim.await.expect("no panic"));
            }
            // One that passed over what another was busy with asks again.
            all.extend(claimed(&store, "last", now).await);
            all
        }
    };
    for round in 0..5 {
        let all = at_once(100 + round * 100).await;
        let of = |lane| all.iter().filter(|taken| taken.row.id.as_str().starts_with(lane)).count();
        assert_eq!((of('s'), of('r')), (3, 4), "in round {round}: {:?}", names(&all));
        for taken in all.iter() {
            Owner::claimed(&store, taken).close(Status::Completed, None, 0).await;
        }
    }
}
