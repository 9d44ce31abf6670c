//! Moves of slots, step by step: what goes along, who is refused, and who may finish what others began.
//! Not the load under which they happen: that is in `chaos.rs`.

mod fixture;

use std::{
    num::NonZeroU16,
    sync::{Mutex, mpsc},
    time::Duration,
};

use fixture::*;
use loom_runtime::{
    kernel::{Digest, FrameId, Snapshot, Status},
    ports::{
        Append, BranchRegistry, BranchRow, ClaimRequest, Created, EventStore, GateChange, GateIndex, Inbox,
        Lane, LeaseStore, ListFilter, NewExecution, NewItem, Place, Posted, Removal, SetBranch, Shard, Slot,
        SnapshotStore, Standing, StoreError, Turn,
    },
};
use shards::{Change, Crossing, MoveError, OpenError, Shards, Stage};

/// Each case as a test of its own on two databases of every kind.
macro_rules! on_every_kind {
    ($($case:ident)*) => {
        mod memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::fixture::pair(crate::fixture::memories())).await;
            })*
        }
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                super::$case(crate::fixture::pair(crate::fixture::files().await)).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let Some(schemas) = crate::fixture::schemas().await else { return };
                super::$case(crate::fixture::pair(schemas)).await;
            })*
        }
    };
}

on_every_kind! {
    everything_goes_along
    a_stale_worker_is_refused_and_finds_its_way
    what_is_frozen_waits
    whoever_comes_next_finishes
    of_two_movers_one_is_right
    what_could_not_be_delivered_is_delivered_later
    a_drained_database_may_be_left_out
    a_database_that_is_in_use_founds_a_fleet
    lanes_are_counted_over_all
    slots_are_the_same_everywhere
    only_its_mover_fills_a_slot
    what_would_move_is_counted
}

async fn taken(store: &Shards, item: NewItem) -> u64 {
    match store.post(item).await.expect("posted") {
        Posted::Accepted(position) => position,
        other => panic!("{other:?}"),
    }
}

async fn everything_goes_along(pair: Pair) {
    let store = open(&pair).await;
    let turn =
        Turn { priority: 3, lane: Some(Lane::new("tenant").at_most(9).rate(9, Duration::from_secs(9))) };
    let mut running = Owner::create(&store, NewExecution { turn, ..new("running") }).await;
    let consumed = taken(&store, item("running", Some("k1"), "1")).await;
    let unread = taken(&store, item("running", Some("k2"), "2")).await;
    let keyless = taken(&store, item("running", None, "3")).await;
    let frame = FrameId::parsed("ask");
    let gate = GateChange::Opened { frame, gate: "ask".into(), schema: "{}".into(), expires_at: Some(at(9)) };
    let last = Append { consumed: vec![consumed], gates: vec![gate], ..running.batch(3) };
    running.send(&store, &last).await;
    let mut sleeping = Owner::create(&store, new("sleeping")).await;
    for (sequence, body) in [(1, "one"), (2, "two")] {
        let (execution, of) = (id("sleeping"), "state".into());
        store.put_snapshot(&Snapshot { execution, of, sequence, body: body.into() }).await.expect("kept");
    }
    store.mark_snapshot_bad(&id("sleeping"), "state", 2).await.expect("marked");
    sleeping.close(&store, Status::Suspended, Some(5_000), 0).await;
    Owner::create(&store, new("parked")).await.close(&store, Status::Parked, None, 0).await;
    let mut done = Owner::create(&store, new("done")).await;
    let seen = taken(&store, item("done", Some("k"), "1")).await;
    done.close(&store, Status::Completed, None, seen).await;
    let early = NewItem { early: true, ..item("later", Some("k"), "early") };
    taken(&store, early.clone()).await;
    let set =
        SetBranch { name: "main".into(), expected: None, execution: id("done"), at: at(5), by: "ada".into() };
    let branch = store.set_branch(&set).await.expect("set");

    let [(_, a), (_, b)] = &pair;
    let before = content(&**a).await;
    assert_eq!(before.len(), 6, "four executions, an early item, a branch");
    assert_eq!(store.move_slots(&all(), "b").await.expect("moved"), 1_024);
    assert_eq!(content(&**b).await, before);
    assert_eq!(content(&**a).await, [], "nothing is left behind");

    // And all of it goes on where it was.
    store.append(&last).await.expect("a retry of the last batch");
    running.send(&store, &Append { consumed: vec![unread], ..running.batch(1) }).await;
    let items = store.pending(&id("running"), 0).await.expect("pending");
    assert_eq!(items.iter().map(|item| (item.id, item.key.clone())).collect::<Vec<_>>(), [(keyless, None)]);
    for key in ["k1", "k2"] {
        let again = store.post(item("running", Some(key), &key[1..])).await;
        assert_eq!(again, Ok(Posted::Duplicate { same: true }));
    }
    assert!(taken(&store, item("running", None, "4")).await > keyless, "positions grow");
    assert_eq!(store.gates(None).await.expect("gates").len(), 1);
    let newest = store.newest_snapshot(&id("sleeping"), "state", 9).await.expect("read");
    assert_eq!(newest.map(|snapshot| snapshot.body), Some("one".into()), "the bad one stays bad");
    assert_eq!(store.branch("main").await, Ok(Some(branch)));
    let removal = Removal { execution: id("done"), status: Status::Completed, next: 2, first: 0, until: 1 };
    assert_eq!(store.remove(&removal).await, Ok(false), "a branch points to it");
    let program = Some((Digest::of(b"a program"), at(0)));
    let woken = store.claim(&ClaimRequest { program, ..claim("w2", 900) }).await.expect("claimed");
    assert!(woken.is_empty(), "nothing is due yet: {woken:?}");
    let woken = store.claim(&ClaimRequest { flows: None, ..claim("w2", 5_000) }).await.expect("claimed");
    let mut woken: Vec<_> = woken.iter().map(|claimed| (claimed.row.id.as_str(), claimed.fence)).collect();
    woken.sort_unstable();
    assert_eq!(
        woken,
        [("running", 2), ("sleeping", 2)],
        "the lease of one is over, the other's time has come"
    );
    assert_eq!(store.post(early).await, Ok(Posted::Duplicate { same: true }));
    Owner::create(&store, new("later")).await;
    assert_eq!(store.pending(&id("later"), 0).await.expect("pending").len(), 1);

    // Back again, by way of half.
    let there = content(&**b).await;
    store.spread().await.expect("spread");
    assert_eq!(
        store.census().await.expect("a census").iter().map(|of| of.slots).collect::<Vec<_>>(),
        [512, 512]
    );
    store.move_slots(&all(), "a").await.expect("moved");
    assert_eq!(content(&**a).await, there);
}

async fn a_stale_worker_is_refused_and_finds_its_way(pair: Pair) {
    let (mover, stale) = (open(&pair).await, open(&pair).await);
    let mut owner = Owner::create(&stale, new("x")).await;
    mover.move_slots(&all(), "b").await.expect("moved");
    let [(_, a), (_, b)] = &pair;
    // Whoever has only the old database writes nothing, and gets nothing.
    let elsewhere = |id| Err(StoreError::Elsewhere(id));
    assert_eq!(a.append(&owner.batch(1)).await, elsewhere(id("x")));
    assert_eq!(a.create(new("y")).await.map(drop), elsewhere(id("y")));
    assert_eq!(a.post(item("x", None, "1")).await.map(drop), elsewhere(id("x")));
    let early = NewItem { early: true, ..item("z", None, "1") };
    assert_eq!(a.post(early).await.map(drop), elsewhere(id("z")));
    assert!(a.claim(&claim("w2", 9_000)).await.expect("claimed").is_empty());
    assert_eq!(content(&**a).await, []);
    // Whoever has both is told so, and asks the right one.
    assert_eq!(stale.get(&id("x")).await.expect("read").map(|row| row.next), Some(1));
    owner.send(&stale, &owner.batch(2)).await;
    Owner::create(&stale, new("y")).await;
    taken(&stale, item("x", None, "1")).await;
    assert_eq!(stale.list(&ListFilter::default()).await.expect("listed").len(), 2);
    assert_eq!(stale.renew(&"w1".into(), at(2_000)).await.expect("renewed"), [(id("x"), 1), (id("y"), 1)]);
    assert_eq!(content(&**b).await.len(), 2);
}

async fn what_is_frozen_waits(pair: Pair) {
    let [(_, a), (_, b)] = pair.clone();
    let store = open(&pair).await;
    let mut owner = Owner::create(&store, new("x")).await;
    let slot = Slot::of("x");
    let coming = Place { standing: Standing::Coming, epoch: 1, peer: "a".into(), mover: "gone".into() };
    let leaving = Place { standing: Standing::Leaving, peer: "b".into(), ..Place::default() };
    let here = Place { standing: Standing::Here, ..Place::default() };
    assert_eq!(b.set_places(&[(slot, Place::default(), coming)]).await, Ok(true));
    assert_eq!(a.set_places(&[(slot, here.clone(), leaving.clone())]).await, Ok(true));
    assert_eq!(a.set_places(&[(slot, here, leaving)]).await, Ok(true), "a retry");
    // It is read, not written, and whoever waits for long is told.
    let hasty =
        Shards::options().patience(Duration::from_millis(30)).open_any(pair.clone()).await.expect("a fleet");
    assert_eq!(hasty.read(&id("x"), 0, 9).await.expect("read").len(), 1);
    let refused = hasty.append(&owner.batch(1)).await;
    let Err(StoreError::Unavailable(said)) = refused else { panic!("{refused:?}") };
    assert!(said.starts_with(&format!("slot {} has been on its way", slot.number())), "{said}");
    assert!(store.claim(&claim("w2", 9_000)).await.expect("claimed").is_empty());
    // The others go on.
    let other = (0..).map(|n| format!("y{n}")).find(|name| Slot::of(name) != slot).expect("there are others");
    Owner::create(&hasty, new(&other)).await;
    // Who waits is served as soon as it has arrived.
    let (waiting, append) = (store.clone(), owner.batch(1));
    let waits = tokio::spawn(async move { waiting.append(&append).await });
    tokio::task::yield_now().await;
    assert_eq!(hasty.finish().await.expect("finished"), 1);
    assert_eq!(waits.await.expect("no panic"), Ok(()));
    owner.next += 1;
    owner.send(&hasty, &owner.batch(1)).await;
    assert_eq!(store.home_of("x").await, Ok("b".into()));
}

const STAGES: [Stage; 7] = [
    Stage::Announced,
    Stage::Frozen,
    Stage::Copying,
    Stage::Copied,
    Stage::Moved,
    Stage::Left,
    Stage::Cleared,
];

/// A mover that is gone in the middle.
async fn move_until(store: &Shards, stage: Stage, slots: &[Slot], to: &'static str) {
    let (store, slots) = (store.clone(), slots.to_vec());
    let gone = tokio::spawn(async move {
        let watch = |at, _: &[Slot]| assert!(at != stage, "it is gone");
        store.move_slots_watched(&slots, to, watch).await
    });
    gone.await.expect_err("it was not stopped");
}

fn slots_of(names: &[String]) -> Vec<Slot> {
    let mut slots: Vec<Slot> = names.iter().map(|name| Slot::of(name)).collect();
    slots.sort_unstable();
    slots.dedup();
    slots
}

async fn whoever_comes_next_finishes(pair: Pair) {
    let store = open(&pair).await;
    let names: Vec<String> = (0..40).map(|n| format!("e{n}")).collect();
    for name in &names {
        Owner::create(&store, new(name)).await;
    }
    let [(_, a), (_, b)] = &pair;
    let whole = content(&**a).await;
    for (n, stage) in STAGES.into_iter().enumerate() {
        let (to, there, gone) = if n % 2 == 0 { ("b", b, a) } else { ("a", a, b) };
        move_until(&store, stage, &slots_of(&names), to).await;
        let next = open(&pair).await;
        next.finish().await.expect("finished");
        next.move_slots(&slots_of(&names), to).await.expect("moved");
        assert_eq!(content(&**there).await, whole, "after {stage:?}");
        assert_eq!(content(&**gone).await, [], "after {stage:?}");
        let listed = store.list(&ListFilter::default()).await.expect("listed");
        assert_eq!(listed.len(), names.len(), "after {stage:?}");
    }
}

async fn of_two_movers_one_is_right(pair: Pair) {
    let store = open(&pair).await;
    let names: Vec<String> = (0..60).map(|n| format!("e{n}")).collect();
    for name in &names {
        Owner::create(&store, new(name)).await;
    }
    let [(_, a), (_, b)] = &pair;
    let whole = content(&**a).await;
    for round in 0..3 {
        let (one, two) = (open(&pair).await, open(&pair).await);
        let slots = slots_of(&names);
        let (x, y) = if round % 2 == 0 { ("b", "b") } else { ("a", "b") };
        let (x, y) = tokio::join!(one.move_slots(&slots, x), two.move_slots(&slots, y));
        for done in [x, y] {
            assert!(matches!(done, Ok(_) | Err(MoveError::TakenOver { .. })), "{done:?}");
        }
        let here = |places: &[Place], n: usize| places[n].standing == Standing::Here;
        store.finish().await.expect("finished");
        let places = [a.places().await.expect("places"), b.places().await.expect("places")];
        for slot in Slot::all().map(|slot| usize::from(slot.number())) {
            assert!(here(&places[0], slot) != here(&places[1], slot), "slot {slot} is in one of them");
        }
        let mut both = [content(&**a).await, content(&**b).await].concat();
        both.sort_by(|a, b| a.id.cmp(&b.id));
        assert_eq!(both, whole, "in round {round}");
    }
}

async fn what_could_not_be_delivered_is_delivered_later(pair: Pair) {
    let [(_, a), (_, b)] = pair.clone();
    let hasty =
        Shards::options().patience(Duration::from_millis(20)).open_any(pair.clone()).await.expect("a fleet");
    let mut sender = Owner::create(&hasty, new("sender")).await;
    let target =
        (0..).map(|n| format!("t{n}")).find(|name| Slot::of(name) != Slot::of("sender")).expect("one");
    Owner::create(&hasty, new(&target)).await.close(&hasty, Status::Suspended, None, 0).await;
    let slot = Slot::of(&target);
    let here = Place { standing: Standing::Here, ..Place::default() };
    let coming = Place { standing: Standing::Coming, epoch: 1, peer: "a".into(), mover: "gone".into() };
    b.set_places(&[(slot, Place::default(), coming)]).await.expect("set");
    let leaving = Place { standing: Standing::Leaving, peer: "b".into(), ..Place::default() };
    a.set_places(&[(slot, here, leaving)]).await.expect("set");
    // The append holds; what it tells waits.
    for n in 0..3 {
        let posts = vec![item(&target, None, &format!("{n}")), item(&target, Some(&format!("k{n}")), "k")];
        sender.send(&hasty, &Append { posts, ..sender.batch(1) }).await;
    }
    assert!(hasty.pending(&id(&target), 0).await.expect("pending").is_empty());
    let kept = a.early("loom:outbox:").await.expect("read");
    assert_eq!(kept.len(), 6);
    // It does not come to harm by what prunes early items, and goes along when its own slot moves.
    assert_eq!(hasty.prune_early(at(i64::MAX), false).await, Ok(0));
    hasty.finish().await.expect("finished");
    hasty.move_slots(&[Slot::of("sender")], "b").await.expect("moved");
    // Whoever claims next delivers it, in order and once, and finds whom it has woken.
    let other = open(&pair).await;
    let woken = other.claim(&claim("w2", 500)).await.expect("claimed");
    assert_eq!(woken.iter().map(|claimed| claimed.row.id.as_str()).collect::<Vec<_>>(), [&target]);
    let payloads = async |store: &Shards| -> Vec<String> {
        let items = store.pending(&id(&target), 0).await.expect("pending");
        items.into_iter().map(|item| item.payload).collect()
    };
    assert_eq!(payloads(&other).await, ["0", "k", "1", "k", "2", "k"]);
    assert!(b.early("loom:outbox:").await.expect("read").is_empty());
    // As if who delivered had been killed before it could say so: the items are there again.
    for (outbox, item) in kept {
        let again = NewItem {
            execution: outbox,
            early: true,
            kind: item.kind,
            ..fixture::item("any", None, &item.payload)
        };
        b.post(again).await.expect("kept");
    }
    open(&pair).await.claim(&claim("w3", 500)).await.expect("claimed");
    assert!(b.early("loom:outbox:").await.expect("read").is_empty());
    assert_eq!(payloads(&other).await.len(), 6);
}

async fn a_drained_database_may_be_left_out(pair: Pair) {
    let store = open(&pair).await;
    store.spread().await.expect("spread");
    for n in 0..20 {
        Owner::create(&store, new(&format!("e{n}"))).await;
    }
    let [a, b] = pair.clone();
    let alone = Shards::options().open_any([b.clone()]).await;
    assert!(matches!(alone, Err(OpenError::Missing { slots: 512, .. })), "{alone:?}");
    assert_eq!(store.drain("a").await.expect("drained"), 512);
    assert_eq!(content(&*a.1).await, []);
    let alone = Shards::options().open_any([b.clone()]).await.expect("it has everything");
    assert_eq!(alone.list(&ListFilter::default()).await.expect("listed").len(), 20);
    let said = alone.move_slots(&all(), "c").await.expect_err("there is none").to_string();
    assert_eq!(said, "there is no database `c` in this fleet, which has `b`");
    let last = alone.drain("b").await.expect_err("there is no other").to_string();
    assert!(last.starts_with("`b` is the only database of the fleet"), "{last}");
    // Names stay, and what is in use does not join.
    let misnamed = Shards::options().open_any([("c", b.1.clone())]).await;
    assert!(matches!(misnamed, Err(OpenError::OtherName { .. })), "{misnamed:?}");
    let twice = Shards::options().open_any([b.clone(), b.clone()]).await;
    assert!(matches!(twice, Err(OpenError::SameName { .. })), "{twice:?}");
    let stranger = loom_runtime::Memory::new();
    Owner::create(&stranger, new("e1")).await;
    let stranger = std::sync::Arc::new(stranger) as std::sync::Arc<dyn Shard>;
    let joins = Shards::options().open_any([b.clone(), ("s", stranger.clone())]).await;
    assert!(matches!(joins, Err(OpenError::NotEmpty { .. })), "{joins:?}");
    Shards::options().open_any([("s", stranger.clone())]).await.expect("a fleet of its own");
    let fleets = Shards::options().open_any([b, ("s", stranger)]).await;
    assert!(matches!(fleets, Err(OpenError::OtherFleet { .. })), "{fleets:?}");
}

async fn a_database_that_is_in_use_founds_a_fleet(pair: Pair) {
    let [(_, a), (_, b)] = pair.clone();
    // `b` comes second by name, and is the one that is in use.
    let mut owner = Owner::create(&*b, new("x")).await;
    let before = match b.post(item("x", None, "1")).await.expect("posted") {
        Posted::Accepted(position) => position,
        other => panic!("{other:?}"),
    };
    let set =
        SetBranch { name: "main".into(), expected: None, execution: id("x"), at: at(5), by: "ada".into() };
    let branch: BranchRow = b.set_branch(&set).await.expect("set");
    let store = open(&pair).await;
    assert_eq!(store.home_of("x").await, Ok("b".into()));
    assert_eq!(store.branch("main").await, Ok(Some(branch)));
    assert!(matches!(store.create(new("x")).await, Ok(Created::New { fence: 1 })), "a retry");
    store.spread().await.expect("spread");
    owner.send(&store, &Append { consumed: vec![before], ..owner.batch(1) }).await;
    assert!(store.pending(&id("x"), 0).await.expect("pending").is_empty());
    let names: Vec<String> = (0..30).map(|n| format!("n{n}")).collect();
    let mut positions = Vec::new();
    for name in &names {
        Owner::create(&store, new(name)).await;
        positions.push(taken(&store, item(name, None, "1")).await);
    }
    assert!(positions.iter().all(|position| *position > before));
    positions.sort_unstable();
    positions.dedup();
    assert_eq!(positions.len(), 30, "no two databases give out one position");
    let both = [content(&*a).await.len(), content(&*b).await.len()];
    assert!(both.iter().all(|count| *count > 3), "{both:?}");
}

async fn lanes_are_counted_over_all(pair: Pair) {
    let first = open(&pair).await;
    first.spread().await.expect("spread");
    let lane = Lane { weight: NonZeroU16::MIN, ..Lane::new("tenant").at_most(3) };
    let turn = Turn { priority: 0, lane: Some(lane) };
    for n in 0..30 {
        let flow = format!("flow {}", n % 8);
        let unowned = NewExecution { claim: None, flow, turn: turn.clone(), ..new(&format!("e{n}")) };
        Owner::create(&first, unowned).await;
    }
    // As of eight processes with flows of their own: they know nothing of each other, and want different executions.
    let mut others = Vec::new();
    for _ in 0..8 {
        others.push(open(&pair).await);
    }
    for round in 0..10 {
        let now = 10 + round;
        let claims = others.iter().enumerate().map(|(n, store)| {
            let flows = Some(vec![format!("flow {n}")]);
            let (store, request) = (store.clone(), ClaimRequest { flows, ..claim(&format!("w{n}"), now) });
            tokio::spawn(async move { store.claim(&request).await.expect("claimed") })
        });
        let mut all = Vec::new();
        for claimed in claims.collect::<Vec<_>>() {
            all.extend(claimed.await.expect("no panic"));
        }
        assert!(all.len() <= 3, "in round {round}: {}", all.len());
        all.extend(first.claim(&claim("w1", now)).await.expect("claimed"));
        assert_eq!(all.len(), 3, "in round {round}: nobody else is in the way now");
        for claimed in &all {
            first.release(&claimed.row.id, claimed.fence).await.expect("released");
        }
    }
}

async fn what_would_move_is_counted(pair: Pair) {
    let store = open(&pair).await;
    for n in 0..40 {
        Owner::create(&store, new(&format!("order-{n}"))).await;
    }
    let [(_, a), (_, b)] = &pair;
    let count = async |of: &dyn Shard| content(of).await.len() as u64;
    let crossing = |from: &str, to: &str, slots, executions| Crossing {
        from: from.into(),
        to: to.into(),
        slots,
        executions,
    };
    let would = store.rehearse(Change::Spread).await.expect("counted");
    assert_eq!((count(&**a).await, count(&**b).await), (40, 0), "nothing has moved");
    assert_eq!(store.change(Change::Spread).await.expect("moved"), 512);
    assert_eq!(would, [crossing("a", "b", 512, count(&**b).await)]);
    assert_eq!(store.rehearse(Change::Spread).await.expect("counted"), []);
    let rest = [crossing("a", "b", 512, count(&**a).await)];
    assert_eq!(store.rehearse(Change::Drain("a")).await.expect("counted"), rest);
    assert_eq!(store.rehearse(Change::MoveSlots(&all(), "b")).await.expect("counted"), rest);
    let nobody = store.rehearse(Change::Drain("nobody")).await;
    assert!(matches!(nobody, Err(MoveError::NoSuchMember { .. })), "{nobody:?}");

    // What a mover has left, killed, is counted with whatever finishes it.
    let here: Vec<Slot> = all().into_iter().take(512).collect();
    let (mover, slots) = (store.clone(), here.clone());
    let killed = tokio::spawn(async move {
        let kill = |at, _: &[Slot]| assert!(at != Stage::Frozen, "killed");
        mover.move_slots_watched(&slots, "b", kill).await
    });
    killed.await.expect_err("killed");
    let left = store.rehearse(Change::Finish).await.expect("counted");
    let [one] = &left[..] else { panic!("{left:?}") };
    assert!(one.slots > 0 && one.from == "a" && one.to == "b", "{one:?}");
    let all_of_it = store.rehearse(Change::MoveSlots(&here, "b")).await.expect("counted");
    assert_eq!(all_of_it, rest, "those, and the others of them");
    assert_eq!(store.change(Change::Finish).await.expect("finished"), one.slots);
    assert_eq!(count(&**b).await, would[0].executions + one.executions);
}

/// A mover that is slow: it stands still at a stage until it is told to go on.
fn slow_mover(
    store: &Shards,
    slots: Vec<Slot>,
    to: &'static str,
    stage: Stage,
) -> (tokio::task::JoinHandle<Result<usize, MoveError>>, impl FnOnce(), mpsc::Receiver<()>) {
    let (reached, is_there) = mpsc::channel();
    let (go_on, told) = mpsc::channel::<()>();
    let (store, told) = (store.clone(), Mutex::new(told));
    let moving = tokio::spawn(async move {
        let watch = |at, _: &[Slot]| {
            if at == stage {
                let _ = reached.send(());
                let _ = tokio::task::block_in_place(|| told.lock().expect("not poisoned").recv());
            }
        };
        store.move_slots_watched(&slots, to, watch).await
    });
    (moving, move || drop(go_on), is_there)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_mover_that_comes_much_too_late_moves_nothing() {
    let pair = pair(memories());
    let store = open(&pair).await;
    let mut owner = Owner::create(&store, new("x")).await;
    let slot = vec![Slot::of("x")];
    let (late, goes_on, is_there) = slow_mover(&store, slot.clone(), "b", Stage::Announced);
    tokio::task::block_in_place(|| is_there.recv()).expect("it comes there");
    // There and back again: the place is as it was, at a later time.
    let [(_, a), (_, b)] = &pair;
    let places = async |of: &dyn Shard| of.place(slot[0]).await.expect("told").expect("a member");
    let (here, coming) = (places(&**a).await, places(&**b).await);
    a.set_places(&[(slot[0], here.clone(), Place { epoch: here.epoch + 2, ..here })]).await.expect("set");
    goes_on();
    let lost = late.await.expect("no panic");
    assert!(matches!(lost, Err(MoveError::TakenOver { .. })), "{lost:?}");
    assert_eq!(places(&**b).await, coming);
    owner.send(&store, &owner.batch(1)).await;
    assert_eq!(store.home_of("x").await, Ok("a".into()));
}

/// Two movers that want the same slot in different places: at each stage of the one that the other may meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_slot_never_goes_to_two_places() {
    for (slow, quick) in [
        (Stage::Announced, Stage::Frozen),
        (Stage::Announced, Stage::Copied),
        (Stage::Announced, Stage::Moved),
        (Stage::Announced, Stage::Cleared),
    ] {
        let [a, b, c] =
            [(); 3].map(|()| std::sync::Arc::new(loom_runtime::Memory::new()) as std::sync::Arc<dyn Shard>);
        let members = [("a", a.clone()), ("b", b.clone()), ("c", c.clone())];
        let store = Shards::options().open_any(members).await.expect("a fleet");
        let mut owner = Owner::create(&store, new("x")).await;
        let slot = vec![Slot::of("x")];
        let (to_b, b_goes_on, b_is_there) = slow_mover(&store, slot.clone(), "b", slow);
        tokio::task::block_in_place(|| b_is_there.recv()).expect("it comes there");
        let (to_c, c_goes_on, c_is_there) = slow_mover(&store, slot.clone(), "c", quick);
        tokio::task::block_in_place(|| c_is_there.recv()).expect("it comes there");
        b_goes_on();
        let lost = to_b.await.expect("no panic");
        assert!(matches!(lost, Err(MoveError::TakenOver { .. })), "{lost:?} beside {quick:?}");
        c_goes_on();
        to_c.await.expect("no panic").expect("moved");
        let mut homes = Vec::new();
        for member in [&a, &b, &c] {
            homes.push(member.place(slot[0]).await.expect("told").map(|place| place.standing));
        }
        let is_here = |standing: &&Option<Standing>| **standing == Some(Standing::Here);
        assert_eq!(homes.iter().filter(is_here).count(), 1, "beside {quick:?}: {homes:?}");
        owner.send(&store, &owner.batch(1)).await;
        assert_eq!(store.home_of("x").await, Ok("c".into()));
    }
}

async fn only_its_mover_fills_a_slot(pair: Pair) {
    let [(_, a), (_, b)] = pair.clone();
    let store = open(&pair).await;
    Owner::create(&store, new("x")).await;
    let (slot, parcels) = ([Slot::of("x")], content(&*a).await);
    // Not before it comes.
    assert_eq!(b.unpack(&parcels, "").await, Ok(false));
    let coming = Place { standing: Standing::Coming, epoch: 1, peer: "a".into(), mover: "one".into() };
    assert_eq!(b.set_places(&[(slot[0], Place::default(), coming.clone())]).await, Ok(true));
    assert_eq!(b.unpack(&parcels, "one").await, Ok(true));
    assert_eq!(b.unpack(&parcels, "one").await, Ok(true), "again, for a lost answer");
    assert_eq!(content(&*b).await, parcels);
    // Nor once another has taken over.
    let other = Place { mover: "two".into(), ..coming.clone() };
    assert_eq!(b.set_places(&[(slot[0], coming, other.clone())]).await, Ok(true));
    assert_eq!(b.clear(&slot, "one").await, Ok(false));
    assert_eq!(content(&*b).await, parcels);
    assert_eq!(b.clear(&slot, "two").await, Ok(true));
    assert_eq!(b.unpack(&parcels, "one").await, Ok(false));
    assert_eq!(content(&*b).await, []);
    assert_eq!(b.unpack(&parcels, "two").await, Ok(true));
    // Nor once it is here, or as long as it is where it was.
    let here = Place { standing: Standing::Here, epoch: 1, ..Place::default() };
    assert_eq!(b.set_places(&[(slot[0], other, here)]).await, Ok(true));
    assert_eq!(b.unpack(&parcels, "two").await, Ok(false));
    for store in [&a, &b] {
        assert_eq!(store.clear(&slot, "two").await, Ok(false));
        assert_eq!(content(&**store).await, parcels);
    }
}

async fn slots_are_the_same_everywhere(pair: Pair) {
    let store = open(&pair).await;
    let [(_, a), _] = &pair;
    for name in ["x", "order-7", r"back\slash", r"\\x41", r"a\101", "'quoted'", "$1", "%s", "a:b#3@2"] {
        Owner::create(&store, new(name)).await;
        let found = a.pack(&[Slot::of(name)], None, 9).await.expect("packed");
        assert_eq!(found.iter().map(|parcel| parcel.id.as_str()).collect::<Vec<_>>(), [name]);
    }
}
