//! Snapshots of long logs: kept while a flow runs, used by reads, thrown away when they do not fit.
//! Not their content (the kernel's tests), nor what a store does with them (the conformance kit).

use loom::{
    App, ExecutionId, Fold, Projection, Registry, WorkerOptions,
    kernel::{Snapshot, State},
    prelude::*,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{LEASE, Rig, Tap, Write, log, on_every_store, registry, until};

#[step(pure)]
async fn one(n: u32) -> loom::Result<u32> {
    Ok(n + 1)
}

/// 2 events a turn, and two gates at the end.
#[flow]
async fn long(ctx: Ctx, turns: u32) -> loom::Result<u32> {
    let mut n = 0;
    for _ in 0..turns {
        n = ctx.run(one(n)).await?;
    }
    ctx.suspend::<bool>("first").await?;
    ctx.suspend::<bool>("done").await?;
    Ok(n)
}

fn all() -> Registry {
    registry!(flows: [long], steps: [one])
}

/// What the steps came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Tally {
    steps: u32,
    statuses: Vec<String>,
}

#[projection]
impl Tally {
    #[on(step = one)]
    fn counted(&mut self, _outcome: &loom::Result<u32>) {
        self.steps += 1;
    }

    #[on(lifecycle)]
    fn changed(&mut self, status: loom::Status) {
        self.statuses.push(status.name().into());
    }
}

/// The same by name, as another release has it.
mod other {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub(super) struct Tally {
        pub(super) steps: u32,
        pub(super) statuses: Vec<String>,
    }

    #[projection(version = 2)]
    impl Tally {
        #[on(step = one)]
        fn counted(&mut self, _outcome: &loom::Result<u32>) {
            self.steps += 2;
        }
    }
}

/// An execution with a log of some 1,600 events, and its snapshots.
async fn grown(rig: &Rig, snapshot_every: u64) -> (App, ExecutionId) {
    let worker = WorkerOptions { snapshot_every, lease: LEASE, ..WorkerOptions::default() };
    let app = rig.builder(all(), &Tap::default()).await.worker(worker).build().unwrap();
    let handle = app.start(long(800)).id("long").await.unwrap();
    handle.until(&[loom::Status::Suspended]).await.unwrap();
    (app, handle.id().clone())
}

async fn newest(app: &App, id: &ExecutionId) -> Option<u64> {
    app.store()
        .newest_snapshot(id, Snapshot::STATE, u64::MAX)
        .await
        .unwrap()
        .map(|snapshot| snapshot.sequence)
}

async fn kept(app: &App, id: &ExecutionId) {
    // The last one is of the suspension: none comes behind it.
    let suspended = app.row(id).await.unwrap().next;
    until(|| async { newest(app, id).await == Some(suspended) }).await;
    // And some events behind it.
    app.handle::<long>(id).resume("first", &true, "ada").await.unwrap();
    let asked = || async { app.gates(Some(id)).await.unwrap().len() == 2 };
    until(asked).await;
    app.handle::<long>(id).until(&[loom::Status::Suspended]).await.unwrap();
}

on_every_store! {
    /// The state that is read is the same with and without snapshots, at every position that matters.
    async fn b81_reads_from_a_snapshot_are_reads_of_the_log(rig: Rig) {
        let (app, id) = grown(&rig, 300).await;
        kept(&app, &id).await;
        let log = log(&app, &id).await;
        let last = newest(&app, &id).await.unwrap();
        for end in [1, 999, 1_000, 1_001, last - 1, last, last + 1, log.len() as u64] {
            let expected = State::of(&log[..end as usize]).unwrap();
            assert_eq!(app.state(&id, Some(end)).await.unwrap(), expected, "{end}");
        }
        assert_eq!(app.state(&id, None).await.unwrap(), State::of(&log).unwrap());
        // A flow does not see them: it goes on by its log.
        app.handle::<long>(&id).resume("done", &true, "ada").await.unwrap();
        assert_eq!(app.handle::<long>(&id).result().await.unwrap(), 800);
    }

    /// Without the option there are none, and nothing is missing.
    async fn without_the_option_none_are_kept(rig: Rig) {
        let (app, id) = grown(&rig, 0).await;
        assert_eq!(newest(&app, &id).await, None);
        assert_eq!(app.state(&id, None).await.unwrap(), State::of(&log(&app, &id).await).unwrap());
    }

    /// A short flow pays nothing for them: it is written as it is without.
    async fn short_runs_write_no_snapshot(rig: Rig) {
        let written = async |snapshot_every| {
            let (rig, tap) = (rig.another(), Tap::default());
            let worker = WorkerOptions { snapshot_every, lease: LEASE, ..WorkerOptions::default() };
            let app = rig.builder(all(), &tap).await.worker(worker).build().unwrap();
            for turns in 0..20 {
                let handle = app.start(long(turns)).await.unwrap();
                for gate in ["first", "done"] {
                    handle.until(&[loom::Status::Suspended]).await.unwrap();
                    handle.resume(gate, &true, "ada").await.unwrap();
                }
                assert_eq!(handle.result().await.unwrap(), turns);
            }
            let mut kinds = tap.kinds();
            kinds.remove(&Write::Renew); // those are a matter of time
            kinds
        };
        let (without, with) = (written(0).await, written(300).await);
        assert!(!with.contains(&Write::PutSnapshot) && !with.contains(&Write::PruneSnapshots), "{with:?}");
        assert_eq!(with, without);
        assert!(written(20).await.contains(&Write::PutSnapshot), "the tap tells");
    }

    /// B81: what is damaged, of another log, beyond the log, or wrong although its digest is right, is not believed; it is
    /// marked, and an older one is taken.
    async fn b81_a_snapshot_that_does_not_fit_is_thrown_away(rig: Rig) {
        let (app, id) = grown(&rig, 300).await;
        kept(&app, &id).await;
        let (log, store) = (log(&app, &id).await, app.store());
        let expected = State::of(&log).unwrap();
        let good = newest(&app, &id).await.unwrap();
        let at = |end: u64| (State::of(&log[..end as usize]).unwrap(), &log[end as usize - 1]);
        let of = |end: u64| Snapshot::of(&at(end).0, at(end).1).unwrap();
        let end = log.len() as u64;
        let damaged = Snapshot { body: of(end - 1).body.replace("one", "two"), ..of(end - 1) };
        // Of the right place, with frames that the log contradicts: the gate that it is about to open is open.
        let mut wrong = at(end - 2).0;
        wrong.frames.clear();
        wrong.status = loom::Status::Completed;
        let wrong = Snapshot::of(&wrong, at(end - 2).1).unwrap();
        let beyond = Snapshot { sequence: end + 5, ..of(end) };
        for bad in [damaged, wrong, beyond] {
            store.put_snapshot(&bad).await.unwrap();
            assert_eq!(newest(&app, &id).await, Some(bad.sequence));
            let most = Some(bad.sequence.max(end)).filter(|most| *most > end);
            assert_eq!(app.state(&id, most).await.unwrap(), expected, "{}", bad.sequence);
            assert_eq!(newest(&app, &id).await, Some(good), "the bad one is never picked again");
            store.put_snapshot(&bad).await.unwrap();
            assert_eq!(newest(&app, &id).await, Some(good), "not even when it comes again");
        }
    }

    /// Where an execution suspends, what it has just done is in a snapshot; one that wakes for a few events writes none.
    async fn a_suspension_keeps_what_was_done_since_the_wake_up(rig: Rig) {
        let (app, id) = grown(&rig, 4_000).await;
        let suspended = app.row(&id).await.unwrap().next;
        until(|| async { newest(&app, &id).await == Some(suspended) }).await;
        app.handle::<long>(&id).resume("first", &true, "ada").await.unwrap();
        until(|| async { app.gates(Some(&id)).await.unwrap().len() == 2 }).await;
        app.handle::<long>(&id).until(&[loom::Status::Suspended]).await.unwrap();
        assert!(app.row(&id).await.unwrap().next > suspended);
        tokio::time::sleep(millis(50)).await; // nobody waits for one that is kept
        assert_eq!(newest(&app, &id).await, Some(suspended));
    }

    /// A fork is folded from its origin's snapshot on, and begins with one; a bad one is passed over.
    async fn forks_are_folded_from_snapshots_and_begin_with_one(rig: Rig) {
        let (app, id) = grown(&rig, 300).await;
        kept(&app, &id).await;
        let (log, store) = (log(&app, &id).await, app.store());
        let good = newest(&app, &id).await.unwrap();
        // Something in it that no event says shows who has read it.
        let mut marked = State::of(&log[..good as usize]).unwrap();
        marked.dead_letters = 7;
        store.put_snapshot(&Snapshot::of(&marked, &log[good as usize - 1]).unwrap()).await.unwrap();
        let fork = async |name: &str| app.fork(&id).at(log.len() as u64 - 1).id(name).await.unwrap();
        let begun_with = async |fork: &ExecutionId| {
            until(|| async { newest(&app, fork).await.is_some() }).await;
            let kept = store.newest_snapshot(fork, Snapshot::STATE, u64::MAX).await.unwrap().unwrap();
            assert_eq!(kept.sequence, log.len() as u64); // all but the last, and the fork's first
            let last = store.read(fork, kept.sequence - 1, 1).await.unwrap();
            kept.restore(&last[0]).unwrap()
        };
        let one = fork("one").await;
        assert_eq!(begun_with(&one).await.dead_letters, 7);
        let end = app.store().newest_snapshot(&id, Snapshot::STATE, u64::MAX).await.unwrap().unwrap();
        let damaged = Snapshot { body: end.body.replace("one", "two"), ..end };
        store.put_snapshot(&damaged).await.unwrap();
        let two = fork("two").await;
        assert!(newest(&app, &id).await < Some(good), "it is marked bad");
        let events: Vec<_> = crate::support::log(&app, &two).await.into_iter().take(log.len()).collect();
        assert_eq!(begun_with(&two).await, State::of(&events).unwrap());
        // One that is read as fast without has none.
        let short = app.fork(&id).at(10).id("short").await.unwrap();
        tokio::time::sleep(millis(50)).await;
        assert!(store.newest_snapshot(&short, Snapshot::STATE, 100).await.unwrap().is_none());
    }

    /// A read model of a long log is folded on from where it was kept, and only the rest of the log is read; so is the
    /// state. What is damaged is passed over, and what another release has kept.
    async fn projections_are_folded_from_where_they_were_kept(rig: Rig) {
        let (app, id) = grown(&rig, 300).await;
        kept(&app, &id).await;
        let (tap, of) = (Tap::default(), &*format!("projection:{}", Tally::DESCRIPTOR.name));
        let worker = WorkerOptions { snapshot_every: 300, recover: false, ..WorkerOptions::default() };
        let reader = rig.builder(all(), &tap).await.worker(worker).build().unwrap();
        let read = async || {
            let before = tap.events_read();
            (reader.project::<Tally>(&id).await.unwrap(), tap.events_read() - before)
        };
        let newest = async || {
            let newest = app.store().newest_snapshot(&id, of, u64::MAX).await.unwrap();
            newest.map(|snapshot| snapshot.sequence)
        };
        let log = log(&app, &id).await;
        let expected: Tally = Fold::of(&log).unwrap();
        let whole = log.len();
        assert_eq!(read().await, (expected.clone(), whole));
        until(|| async { newest().await == Some(whole as u64) }).await;
        assert_eq!(read().await, (expected.clone(), 1), "the event that ties it to the log, and nothing behind it");
        assert_eq!(newest().await, Some(whole as u64));
        let before = tap.events_read();
        reader.state(&id, None).await.unwrap();
        assert!(tap.events_read() - before < 300 + 100, "of {whole}");
        // Another release folds otherwise: it does not believe this one, nor call it bad.
        let theirs: other::Tally = reader.project(&id).await.unwrap();
        assert_eq!((theirs.steps, theirs.statuses.len()), (1_600, 0));
        let ours = || async { read().await.1 == whole + 1 };
        until(ours).await; // theirs took its place
        until(|| async { read().await == (expected.clone(), 1) }).await;
        let good = app.store().newest_snapshot(&id, of, u64::MAX).await.unwrap().unwrap();
        let damaged = Snapshot { body: good.body.replace("800", "801"), ..good };
        app.store().put_snapshot(&damaged).await.unwrap();
        assert_eq!(read().await.0, expected, "a damaged one is passed over");
        assert_eq!(newest().await, None, "and marked");
        // Not with snapshots off.
        let off = rig.app(all()).await;
        assert_eq!(off.project::<Tally>(&id).await.unwrap(), expected);
    }
}
