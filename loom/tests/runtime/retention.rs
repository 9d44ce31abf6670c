//! Retention: what is old goes to the archive, what is needed stays, and nothing is lost between the two.
//! Not the removal itself, which the conformance kit holds every store to.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use async_trait::async_trait;
use loom::{
    App, ExecutionId, FolderArchive, ForkError, FrozenLog, Held, HeldBy, Keep, KeepFlow, LogSource,
    MemoryArchive, Pinned, Reason, Registry, RetentionError, RetentionPolicy, SendError, StartError, Status,
    UpdateError,
    kernel::{Digest, Snapshot},
    ports::{ArchiveError, ArchiveStore, GateState, ListFilter, StoreError},
    prelude::*,
};

use crate::support::{
    Rig, Stop, Tap, World, Write, brisk, id, log, on_both_in_virtual_time, on_every_store, registry, until,
};

#[step]
async fn note(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

#[step(pure)]
async fn one(n: u32) -> loom::Result<u32> {
    Ok(n + 1)
}

/// Two events a turn.
#[flow]
async fn long(ctx: Ctx, turns: u32) -> loom::Result<u32> {
    let mut n = 0;
    for _ in 0..turns {
        n = ctx.run(one(n)).await?;
    }
    Ok(n)
}

#[flow]
async fn order(ctx: Ctx, turns: u32) -> loom::Result<u32> {
    for n in 0..turns {
        ctx.run(note(format!("turn {n}"))).await?;
    }
    Ok(turns)
}

#[flow]
async fn refused(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(note("refused".into())).await?;
    Err(loom::Error::msg("no"))
}

/// Begins anew whenever it is told to.
#[flow]
async fn rounds(ctx: Ctx, n: u32) -> loom::Result<u32> {
    if ctx.suspend::<bool>("more").await? { ctx.continue_as_new(rounds(n + 1)).await } else { Ok(n) }
}

/// Has a child in its first run, then asks.
#[flow]
async fn parent(ctx: Ctx, first: bool) -> loom::Result<u32> {
    if first {
        ctx.call(order(1)).await?;
    }
    if ctx.suspend::<bool>("more").await? { ctx.continue_as_new(parent(false)).await } else { Ok(1) }
}

/// Takes a deposit in each run.
#[flow]
async fn account(ctx: Ctx, balance: u32) -> loom::Result<u32> {
    let deposit = ctx.receive::<u32>("deposit").update::<u32>().await;
    let balance = balance + deposit.value;
    deposit.accept(&balance);
    if ctx.suspend::<bool>("more").await? { ctx.continue_as_new(account(balance)).await } else { Ok(balance) }
}

fn all() -> Registry {
    registry!(flows: [long, order, refused, rounds, parent, account], steps: [note, one])
}

/// Everything that has ended is due.
fn at_once() -> RetentionPolicy {
    let now = Keep::For(Duration::ZERO);
    RetentionPolicy { completed: now, failed: now, cancelled: now, earlier_runs: now, ..Default::default() }
}

/// What is gone, and who answers for it.
fn is_archived<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Archived { .. }))
}

/// An archive that somebody meddles with.
#[derive(Clone, Default)]
struct Watched {
    inner: MemoryArchive,
    puts: Arc<AtomicUsize>,
    /// Whether it answers with another digest than that of what it has.
    lies: Arc<AtomicBool>,
    /// Fails before (false) or after (true) this put.
    fails: Arc<Mutex<Option<(usize, bool)>>>,
    /// What points a branch to the execution meanwhile.
    promotes: Arc<Mutex<Option<App>>>,
}

#[async_trait]
impl ArchiveStore for Watched {
    async fn put(&self, segment: &FrozenLog) -> Result<Digest, ArchiveError> {
        let (nth, fails) = (self.puts.fetch_add(1, SeqCst), *self.fails.lock().unwrap());
        let fire = || Err(ArchiveError::Unavailable("on fire".into()));
        if fails == Some((nth, false)) {
            return fire();
        }
        let app = self.promotes.lock().unwrap().take();
        if let Some(app) = app {
            app.set_branch("main", &segment.execution, "ann").await.unwrap();
        }
        let digest = self.inner.put(segment).await?;
        if fails == Some((nth, true)) {
            return fire();
        }
        Ok(if self.lies.load(SeqCst) { Digest::of(b"something else") } else { digest })
    }

    async fn read(&self, execution: &ExecutionId) -> Result<Option<FrozenLog>, ArchiveError> {
        self.inner.read(execution).await
    }

    async fn executions(&self) -> Result<Vec<ExecutionId>, ArchiveError> {
        self.inner.executions().await
    }
}

/// The whole log again, from both places, each event once and as it was.
async fn whole(app: &App, archive: &dyn ArchiveStore, of: &ExecutionId) -> FrozenLog {
    let first = app.row(of).await.unwrap().first;
    let mut whole =
        archive.read(of).await.unwrap().unwrap_or(FrozenLog { execution: of.clone(), records: vec![] });
    whole.records.retain(|record| record.sequence < first);
    whole.records.extend(app.store().read(of, first, usize::MAX >> 1).await.unwrap());
    whole
}

on_every_store! {
    async fn what_was_archived_keeps_its_id_and_its_result(rig: Rig) {
        let folder = tempfile::tempdir().unwrap();
        let archive = FolderArchive::new(folder.path().join("archive"));
        let app = rig.builder(all(), &Tap::default()).await.archive(archive.clone()).build().unwrap();
        let handle = app.start(order(3)).id("order:7").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 3);
        app.start(refused()).id("no").await.unwrap().result().await.unwrap_err();
        let before = FrozenLog::of(&app, handle.id(), 0).await.unwrap();
        let events = before.records.len() as u64;

        let would = app.retention(at_once()).rehearse().await.unwrap();
        assert!(would.rehearsal && !folder.path().join("archive").exists());
        assert_eq!(FrozenLog::of(&app, handle.id(), 0).await.unwrap(), before, "nothing has happened");
        let tally = would.removed[&Reason::Completed];
        assert_eq!((tally.executions, tally.events), (1, events - 1));
        assert_eq!(would.removed[&Reason::Failed].executions, 1);
        let did = app.retention(at_once()).run().await.unwrap();
        assert_eq!((&did.removed, did.rehearsal), (&would.removed, false));

        // It is gone, and where it is kept is said.
        let gone = app.log(handle.id(), 0, 10).await.unwrap_err();
        assert_eq!(gone, StoreError::Archived { execution: handle.id().clone(), first: events - 1 });
        assert!(gone.to_string().contains("App::archived"), "{gone}");
        assert!(is_archived(handle.state().await));
        let fork = app.fork(handle.id()).at(2).await.unwrap_err();
        assert_eq!(fork, ForkError::Archived { execution: handle.id().clone(), first: events - 1 });
        assert!(fork.to_string().contains("App::archived"), "{fork}");
        assert_eq!(whole(&app, &archive, handle.id()).await, before);
        loom::replay_check(&all(), &before.events().unwrap()).unwrap();
        assert_eq!(archive.executions().await.unwrap(), [id("no"), id("order:7")]);
        let archived = app.archived(handle.id()).await.unwrap().unwrap();
        assert_eq!(archived.records.len() as u64, events - 1);

        // Its id is taken, and its end is known, here and in the next program.
        let app = rig.app(all()).await;
        let again = app.start(order(3)).id("order:7").await.unwrap();
        assert_eq!(again.result().await.unwrap(), 3);
        assert_eq!(rig.world.count("turn 0"), 1);
        let other = app.start(order(4)).id("order:7").await.err();
        assert!(matches!(other, Some(StartError::Conflict { .. })), "{other:?}");
        assert!(app.cancel(again.id(), "late", "ann").await.is_err());
        assert_eq!(app.row(again.id()).await.unwrap().next, events);
        let nothing = app.retention(at_once()).archive(archive).run().await.unwrap();
        assert!(nothing.removed.is_empty() && nothing.moved == 0, "{nothing:?}");
        let source = LogSource::Store(app.store(), ListFilter::default());
        let checked = loom::replay_check_all(&all(), source, |_| {}).await.unwrap();
        assert_eq!((checked.logs, checked.diverged.len()), (0, 0));
    }

    /// Of a run that was archived, and of an execution that was.
    async fn an_update_that_is_asked_again_finds_its_reply_in_the_archive(rig: Rig) {
        let archive = MemoryArchive::new();
        let app = rig.builder(all(), &Tap::default()).await.archive(archive.clone()).build().unwrap();
        let handle = app.start(account(1)).id("acc").await.unwrap();
        let deposit = async |app: &App, key: &str, amount: u32| {
            app.update::<u32>(app.send(&id("acc"), "deposit", &amount).by("ann").key(key)).await
        };
        let asks = async || until(|| async { app.gates(Some(&id("acc"))).await.unwrap().iter().any(|gate| gate.state == GateState::Open) }).await;
        assert_eq!(deposit(&app, "one", 10).await, Ok(11));
        asks().await;
        handle.resume("more", &true, "ann").await.unwrap();
        until(|| async { app.state(&id("acc"), None).await.unwrap().run == 1 }).await;
        app.until(&id("acc"), &[Status::Suspended]).await.unwrap();
        app.retention(at_once()).run().await.unwrap();
        assert!(app.row(&id("acc")).await.unwrap().first > 0);
        // The first run is gone, and the second one takes what comes.
        assert_eq!(deposit(&app, "one", 10).await, Ok(11), "it is done once");
        assert_eq!(deposit(&app, "two", 20).await, Ok(31));
        asks().await;
        handle.resume("more", &false, "ann").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 31);
        app.retention(at_once()).run().await.unwrap();
        for (key, amount, reply) in [("one", 10, 11), ("two", 20, 31)] {
            assert_eq!(deposit(&app, key, amount).await, Ok(reply));
        }
        let late = deposit(&app, "three", 30).await;
        assert!(matches!(late, Err(UpdateError::Ended { status: Status::Completed, .. })), "{late:?}");
        // Nobody can tell without the archive.
        let late = deposit(&rig.app(all()).await, "two", 20).await;
        let archived = |error: &UpdateError| {
            matches!(error, UpdateError::NotSent(SendError::Store(StoreError::Archived { .. })))
        };
        assert!(late.as_ref().is_err_and(archived), "{late:?}");
    }

    async fn nothing_goes_where_nothing_keeps_it(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(order(1)).id("a").await.unwrap();
        handle.result().await.unwrap();
        let before = log(&app, handle.id()).await;
        let refused = app.retention(at_once()).run().await;
        assert_eq!(refused, Err(RetentionError::NoArchive { execution: id("a") }));
        assert_eq!(app.retention(at_once()).rehearse().await.unwrap().removed.len(), 1);
        let lying = Watched::default();
        lying.lies.store(true, SeqCst);
        let refused = app.retention(at_once()).archive(lying).run().await;
        assert_eq!(refused, Err(RetentionError::Unconfirmed { execution: id("a") }));
        // Another store's execution of this name is not this one's.
        let archive = MemoryArchive::new();
        let mut other = FrozenLog::of(&app, handle.id(), 0).await.unwrap();
        other.records.pop();
        other.records[0].payload = "{}".into();
        archive.put(&other).await.unwrap();
        let refused = app.retention(at_once()).archive(archive).run().await;
        assert!(matches!(refused, Err(RetentionError::Archive(ArchiveError::Conflict { .. }))), "{refused:?}");
        assert_eq!(log(&app, handle.id()).await, before);
        // Nothing is due, so nothing is missing.
        app.retention(RetentionPolicy::default()).run().await.unwrap();
        let keep = KeepFlow { completed: Some(Keep::Forever), ..Default::default() };
        let flows = [("ordr".to_owned(), keep.clone())].into();
        let misspelt = app.retention(RetentionPolicy { flows, ..at_once() }).rehearse().await;
        assert_eq!(misspelt, Err(RetentionError::UnknownFlow { flow: "ordr".into() }));
        for pin in [Pinned::Execution(id("ab")), Pinned::Tree(id("ab"))] {
            let misspelt = app.retention(RetentionPolicy { pins: vec![pin], ..at_once() }).run().await;
            assert_eq!(misspelt, Err(RetentionError::UnknownPin { execution: id("ab") }));
        }
        let flows = [("order".to_owned(), keep)].into();
        let kept = app.retention(RetentionPolicy { flows, ..at_once() }).run().await.unwrap();
        assert!(kept.removed.is_empty());
    }

    async fn b37_an_execution_goes_on_after_its_earlier_runs_are_archived(rig: Rig) {
        let archive = MemoryArchive::new();
        let app = rig.app(all()).await;
        let handle = app.start(rounds(0)).id("rounds").await.unwrap();
        let is_open = async |app: &App, run: u64| {
            let state = app.state(&id("rounds"), None).await.unwrap();
            state.run == run && state.status == Status::Suspended
        };
        for run in 0..2 {
            until(|| is_open(&app, run)).await;
            handle.resume("more", &true, "ann").await.unwrap();
        }
        until(|| is_open(&app, 2)).await;
        let before = FrozenLog::of(&app, handle.id(), 0).await.unwrap();
        let state = handle.state().await.unwrap();
        let would = app.retention(at_once()).rehearse().await.unwrap();
        let did = app.retention(at_once()).archive(archive.clone()).run().await.unwrap();
        assert_eq!(would.removed, did.removed);
        assert_eq!(did.removed[&Reason::EarlierRuns].events, state.base);
        assert_eq!(handle.state().await.unwrap(), state, "it is as it was");
        assert!(is_archived(app.log(handle.id(), 0, 1).await));
        assert!(is_archived(app.state(handle.id(), Some(2)).await));
        assert_eq!(whole(&app, &archive, handle.id()).await, before);
        app.shutdown(Duration::ZERO).await;

        let app = rig.app(all()).await;
        app.work();
        let handle = app.handle::<rounds>(&id("rounds"));
        handle.resume("more", &true, "ann").await.unwrap();
        until(|| is_open(&app, 3)).await;
        assert!(!app.retention(at_once()).archive(archive.clone()).run().await.unwrap().removed.is_empty());
        handle.resume("more", &false, "ann").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 3);
        let did = app.retention(at_once()).archive(archive.clone()).run().await.unwrap();
        assert_eq!(did.removed[&Reason::Completed].executions, 1);
        let whole = whole(&app, &archive, handle.id()).await;
        let next = app.row(handle.id()).await.unwrap().next;
        assert_eq!(whole.records.iter().map(|r| r.sequence).collect::<Vec<_>>(), (0..next).collect::<Vec<_>>());
        assert_eq!(whole.records[..before.records.len()], before.records);
        loom::replay_check(&all(), &whole.events().unwrap()).unwrap();
    }

    async fn what_is_pinned_stays(rig: Rig) {
        let app = rig.app(all()).await;
        for name in ["a", "b", "c"] {
            app.start(order(1)).id(name).await.unwrap().result().await.unwrap();
        }
        app.set_branch("main", &id("b"), "ann").await.unwrap();
        let tree = app.start(parent(true)).id("tree").await.unwrap();
        until(|| async { app.gates(Some(tree.id())).await.unwrap().len() == 1 }).await;
        let pins = vec![Pinned::Execution(id("a"))];
        let policy = RetentionPolicy { pins, ..at_once() };
        let held = |by| Held { by, executions: 1 };
        let (a, main) = (held(HeldBy::Execution(id("a"))), held(HeldBy::Branch("main".into())));
        let report = app.retention(policy.clone()).rehearse().await.unwrap();
        assert_eq!(report.held, [a.clone(), held(HeldBy::Parent(id("tree"))), main.clone()]);
        assert_eq!(report.removed[&Reason::Completed].executions, 1, "c");

        // In the parent's next run nobody asks for the child any more.
        tree.resume("more", &true, "ann").await.unwrap();
        until(|| async { tree.state().await.is_ok_and(|s| s.run == 1 && s.status == Status::Suspended) }).await;
        let report = app.retention(policy.clone()).rehearse().await.unwrap();
        assert_eq!(report.held, [a.clone(), main.clone()]);
        assert_eq!(report.removed[&Reason::Completed].executions, 2);
        // Unless somebody does.
        let pins = vec![Pinned::Tree(id("tree")), Pinned::Execution(id("a"))];
        let report = app.retention(RetentionPolicy { pins, ..at_once() }).rehearse().await.unwrap();
        assert_eq!(report.held, [a, Held { by: HeldBy::Tree(id("tree")), executions: 2 }, main]);
        tree.resume("more", &false, "ann").await.unwrap();
        tree.result().await.unwrap();
        let did = app.retention(policy).archive(MemoryArchive::new()).run().await.unwrap();
        assert_eq!(did.removed[&Reason::Completed].executions, 3);
        assert_eq!(app.log(&id("a"), 0, 1).await.unwrap().len(), 1);
        assert_eq!(app.log(&id("b"), 0, 1).await.unwrap().len(), 1);
    }

    /// A fork has events of its own: its origin may go.
    async fn a_fork_outlives_its_origin(rig: Rig) {
        let app = rig.app(all()).await;
        let origin = app.start(order(3)).id("origin").await.unwrap();
        origin.result().await.unwrap();
        app.retention(at_once()).archive(MemoryArchive::new()).rehearse().await.unwrap();
        let fork = app.fork(origin.id()).at(3).id("fork").rerun_all().await.unwrap();
        app.handle::<order>(&fork).result().await.unwrap();
        let keep = RetentionPolicy { pins: vec![Pinned::Execution(fork.clone())], ..at_once() };
        app.retention(keep).archive(MemoryArchive::new()).run().await.unwrap();
        assert!(is_archived(app.log(origin.id(), 0, 1).await));
        let whole = log(&app, &fork).await;
        loom::replay_check(&all(), &whole).unwrap();
    }

    async fn what_changes_meanwhile_stays(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(order(1)).id("a").await.unwrap();
        handle.result().await.unwrap();
        let archive = Watched::default();
        *archive.promotes.lock().unwrap() = Some(app.clone());
        let report = app.retention(at_once()).archive(archive.clone()).run().await.unwrap();
        assert_eq!((report.moved, report.removed.len()), (1, 0));
        assert!(!log(&app, handle.id()).await.is_empty());
        let report = app.retention(at_once()).archive(archive).run().await.unwrap();
        assert_eq!(report.held, [Held { by: HeldBy::Branch("main".into()), executions: 1 }]);
    }

    /// Killed or failing before and after each archiving and each removal, a pass is finished by the next.
    async fn a_pass_that_was_killed_is_finished_by_the_next(rig: Rig) {
        let mut crashes = 0;
        for after in [false, true] {
            for nth in 0.. {
                // More than a segment takes.
                let rig = rig.another();
                let app = rig.app(all()).await;
                let handle = app.start(long(500)).id("long").await.unwrap();
                handle.result().await.unwrap();
                app.start(order(1)).id("short").await.unwrap().result().await.unwrap();
                let before = FrozenLog::of(&app, handle.id(), 0).await.unwrap();
                assert!((1_002..2_000).contains(&before.records.len()), "{}", before.records.len());
                app.shutdown(Duration::ZERO).await;
                let archive = Watched::default();
                // Even: at the archive. Odd: at the store, with the acknowledgement lost.
                let tap = Tap::default();
                let other = rig.builder(all(), &tap).await.build().unwrap();
                if nth % 2 == 0 {
                    *archive.fails.lock().unwrap() = Some((nth / 2, after));
                } else {
                    let at = nth / 2;
                    tap.stop_at_write(if after { Stop::After(at) } else { Stop::Before(at) });
                }
                let pass = other.retention(at_once()).archive(archive.clone());
                let ended = tokio::select! {
                    biased;
                    () = tap.stopped() => None,
                    ended = pass.run() => Some(ended),
                };
                if matches!(ended, Some(Ok(_))) {
                    assert_eq!(tap.kinds(), [Write::Remove].into());
                    break;
                }
                crashes += 1;
                assert_eq!(whole(&app, &archive, handle.id()).await, before, "nothing is lost");
                app.retention(at_once()).archive(archive.clone()).run().await.unwrap();
                assert_eq!(whole(&app, &archive, handle.id()).await, before);
                let left = app.store().list(&Default::default()).await.unwrap();
                assert!(left.iter().all(|row| row.first + 1 == row.next), "{left:?}");
            }
        }
        assert_eq!(crashes, 12, "three segments, in two places, before and after");
    }

    /// Wherever the damage is: in its beginning, in an event behind, where the run that goes on begins, in its parent. It stays
    /// as it is, and is named; those before it and behind go.
    async fn what_cannot_be_read_stays_and_holds_nobody_up(rig: Rig) {
        let (tap, archive) = (Tap::default(), MemoryArchive::new());
        let app = rig.builder(all(), &tap).await.archive(archive.clone()).build().unwrap();
        let is_open = async |of: &ExecutionId, run: u64| {
            let state = app.state(of, None).await.unwrap();
            let asks = app.gates(Some(of)).await.unwrap().iter().any(|gate| gate.state == GateState::Open);
            asks && state.run == run && state.status == Status::Suspended
        };
        let pass = async |dry: bool| {
            let pass = app.retention(at_once());
            let report = if dry { pass.rehearse().await } else { pass.run().await }.unwrap();
            let mut held = report.held;
            held.retain(|held| matches!(held.by, HeldBy::Unreadable(_)));
            (report.removed, held)
        };
        let cases =
            [("order", 0, false), ("order", 1, true), ("rounds", 5, true), ("parent", 1, false), ("parent", 1, true)];
        for (n, (flow, at, torn)) in cases.into_iter().enumerate() {
            let of = id(&format!("m-{n}"));
            match flow {
                "rounds" => {
                    let handle = app.start(rounds(0)).id(of.as_str()).await.unwrap();
                    until(|| is_open(&of, 0)).await;
                    handle.resume("more", &true, "ann").await.unwrap();
                    until(|| is_open(&of, 1)).await;
                    assert_eq!(app.row(&of).await.unwrap().base, at);
                }
                "parent" => {
                    app.start(parent(true)).id(of.as_str()).await.unwrap();
                    until(|| is_open(&of, 0)).await;
                }
                _ => assert_eq!(app.start(order(1)).id(of.as_str()).await.unwrap().result().await.unwrap(), 1),
            }
            let others = ["a", "z"].map(|name| id(&format!("{name}-{n}")));
            for other in &others {
                app.start(order(1)).id(other.as_str()).await.unwrap().result().await.unwrap();
            }
            let before = FrozenLog::of(&app, &of, 0).await.unwrap();
            if torn { tap.tear(&of, at) } else { tap.damage(&of, at) }
            let (would, held) = pass(true).await;
            assert_eq!(would[&Reason::Completed].executions, 2, "{flow} {at}: {would:?}");
            assert_eq!(held, [Held { by: HeldBy::Unreadable(of.clone()), executions: 1 }], "{flow} {at}");
            assert_eq!(pass(false).await, (would, held), "{flow} {at}");
            tap.mend();
            for other in &others {
                assert!(is_archived(app.log(other, 0, 1).await), "{flow} {at}: {other} has gone");
            }
            assert_eq!(FrozenLog::of(&app, &of, 0).await.unwrap(), before, "it is where it was");
            assert_eq!(archive.read(&of).await.unwrap(), None);
            // It can be read again, and goes.
            assert_eq!(pass(false).await.1, []);
            assert_eq!(is_archived(app.log(&of, 0, 1).await), flow != "parent", "{flow} {at}");
        }
    }

    async fn what_is_not_archived_is_forgotten_and_counted(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(order(2)).id("a").await.unwrap();
        handle.result().await.unwrap();
        let log = log(&app, handle.id()).await;
        for events in [2, 3, 4] {
            let state = app.state(handle.id(), Some(events)).await.unwrap();
            let at = usize::try_from(events).unwrap() - 1;
            app.store().put_snapshot(&Snapshot::of(&state, &log[at]).unwrap()).await.unwrap();
        }
        app.send(&id("nobody"), "topic", &1).early().await.unwrap();
        let early_messages = Keep::For(Duration::ZERO);
        let policy = RetentionPolicy { snapshots: Some(1), early_messages, ..Default::default() };
        until(|| async {
            app.retention(policy.clone()).rehearse().await.unwrap().early_messages == 1
        }).await;
        for (rehearsal, snapshots, early) in [(true, 2, 1), (true, 2, 1), (false, 2, 1), (false, 0, 0)] {
            let pass = app.retention(policy.clone());
            let report = if rehearsal { pass.rehearse().await } else { pass.run().await }.unwrap();
            assert_eq!((report.snapshots, report.early_messages), (snapshots, early), "{rehearsal}");
        }
        let newest = app.store().newest_snapshot(handle.id(), Snapshot::STATE, u64::MAX).await.unwrap();
        assert_eq!(newest.unwrap().sequence, 4);
    }
}

on_both_in_virtual_time! {
    async fn each_thing_is_kept_for_its_time(rig: Rig) {
        let day = |n: u64| Duration::from_secs(n * 86_400);
        let builder = rig.builder(all(), &Tap::default()).await.runtime_clock();
        let app = builder.archive(MemoryArchive::new()).worker(brisk()).build().unwrap();
        app.start(order(1)).id("a").await.unwrap().result().await.unwrap();
        app.start(refused()).id("b").await.unwrap().result().await.unwrap_err();
        let policy: RetentionPolicy =
            serde_json::from_str(r#"{"completed":"30d","failed":"90d"}"#).unwrap();
        let mut went = Vec::new();
        for days in [0, 29, 2, 58, 2] {
            tokio::time::advance(day(days)).await;
            let report = app.retention(policy.clone()).run().await.unwrap();
            went.push(report.removed.into_keys().collect::<Vec<_>>());
        }
        assert_eq!(went, [vec![], vec![], vec![Reason::Completed], vec![], vec![Reason::Failed]]);
    }
}

on_both_in_virtual_time! {
    /// However long it took.
    async fn the_time_begins_with_the_end(rig: Rig) {
        let day = |n: u64| Duration::from_secs(n * 86_400);
        let builder = rig.builder(all(), &Tap::default()).await.runtime_clock();
        let app = builder.archive(MemoryArchive::new()).worker(brisk()).build().unwrap();
        let handle = app.start(rounds(0)).id("a").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        tokio::time::advance(day(40)).await;
        handle.resume("more", &false, "ann").await.unwrap();
        handle.result().await.unwrap();
        let policy: RetentionPolicy = serde_json::from_str(r#"{"completed":"30d"}"#).unwrap();
        assert!(app.retention(policy.clone()).run().await.unwrap().removed.is_empty());
        tokio::time::advance(day(31)).await;
        let report = app.retention(policy).run().await.unwrap();
        assert_eq!(report.removed[&Reason::Completed].executions, 1);
    }
}

/// The one file in a folder.
fn only(folder: &Path) -> std::path::PathBuf {
    std::fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[tokio::test]
async fn a_damaged_file_of_an_archive_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let archive = FolderArchive::new(folder.path());
    let line = r#"{"sequence":3,"kind":"EXECUTION_RESUMED","at":0,"schema":1,"payload":"{}","meta":"{}"}"#;
    let segment = FrozenLog::parse("order-7", line).unwrap();
    archive.put(&segment).await.unwrap();
    let file = only(&only(folder.path()));
    assert_eq!(
        file.file_name().unwrap().to_str().unwrap(),
        format!("{:012}-{:012}.{}.jsonl", 3, 3, segment.digest())
    );
    std::fs::write(file.with_extension("unfinished"), "{").unwrap();
    assert_eq!(
        archive.read(&id("order-7")).await.unwrap(),
        Some(segment.clone()),
        "what was being written is none"
    );
    std::fs::write(&file, segment.text().replace("{}", "{ }")).unwrap();
    for told in [archive.read(&id("order-7")).await.map(drop), archive.put(&segment).await.map(drop)] {
        assert!(matches!(&told, Err(ArchiveError::Corrupt(what)) if what.contains("order-7")), "{told:?}");
    }
    let other = FrozenLog::parse("order-7", &line.replace("RESUMED", "SUSPENDED")).unwrap();
    let refused = archive.put(&other).await;
    let conflict = ArchiveError::Conflict { execution: id("order-7"), from: 3, until: 3 };
    assert_eq!(refused, Err(conflict));
}
