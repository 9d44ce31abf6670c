//! Snapshots of long logs: kept while a flow runs, used by reads, thrown away when they do not fit.
//! Not their content (the kernel's tests), nor what a store does with them (the conformance kit).

use loom::{
    App, ExecutionId, Registry, WorkerOptions,
    kernel::{Snapshot, State},
    prelude::*,
};

use crate::support::{LEASE, Rig, Tap, log, on_both, registry, until};

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

/// An execution with a log of some 1,600 events, and its snapshots.
async fn grown(rig: &Rig, snapshot_every: u64) -> (App, ExecutionId) {
    let worker = WorkerOptions { snapshot_every, lease: LEASE, ..WorkerOptions::default() };
    let app = rig.builder(all(), &Tap::default()).await.worker(worker).build().unwrap();
    let handle = app.start(long(800)).id("long").await.unwrap();
    handle.until(&[loom::Status::Suspended]).await.unwrap();
    (app, handle.id().clone())
}

async fn newest(app: &App, id: &ExecutionId) -> Option<u64> {
    app.store().newest_snapshot(id, u64::MAX).await.unwrap().map(|snapshot| snapshot.sequence)
}

async fn kept(app: &App, id: &ExecutionId) {
    until(|| async { newest(app, id).await.is_some_and(|sequence| sequence > 1_400) }).await;
    // And some events behind it.
    app.handle::<long>(id).resume("first", &true, "ada").await.unwrap();
    let asked = || async { app.gates(Some(id)).await.unwrap().len() == 2 };
    until(asked).await;
    app.handle::<long>(id).until(&[loom::Status::Suspended]).await.unwrap();
}

on_both! {
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
}
