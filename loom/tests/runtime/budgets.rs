//! Budgets that flows ask for: a recorded answer, the same for ever.
//! Not accounting: that is a room's.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering::SeqCst},
};

use loom::{
    Ask, Asker, Grant, Status,
    kernel::{Fault, Kind},
    prelude::*,
    replay_check,
};

use crate::support::{Process, Rig, Tap, count, id, log, on_every_store, registry, report, told};

#[flow]
async fn drafting(ctx: Ctx, asks: Vec<u64>) -> loom::Result<Vec<u64>> {
    let mut granted = Vec::new();
    for ask in asks {
        let grant = ctx.negotiate_budget("tokens", Ask::new("tokens", ask)).await;
        granted.push(grant.granted);
        if !grant.is_whole() {
            ctx.suspend::<bool>("more").await?;
        }
    }
    Ok(granted)
}

/// The same place, in a program that asks for something else.
mod changed {
    use super::*;

    #[flow(name = "drafting")]
    pub(super) async fn drafting(ctx: Ctx, asks: Vec<u64>) -> loom::Result<Vec<u64>> {
        for ask in asks {
            let grant = ctx.negotiate_budget("tokens", Ask::new("usd-cents", ask)).await;
            if !grant.is_whole() {
                ctx.suspend::<bool>("more").await?;
            }
        }
        Ok(Vec::new())
    }
}

fn all() -> loom::Registry {
    registry!(flows: [drafting], steps: [])
}

on_every_store! {
    /// Granted once and recorded; replays and other negotiators change nothing.
    async fn a_grant_is_recorded_and_holds(rig: Rig) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let left = Arc::new(AtomicU64::new(1_000));
        let negotiator = |by: Arc<Mutex<Vec<Asker>>>, left: Arc<AtomicU64>| move |ask: &Ask, who: &Asker| {
            by.lock().unwrap().push(who.clone());
            let granted = ask.amount.min(left.load(SeqCst));
            left.fetch_sub(granted, SeqCst);
            granted
        };
        let first = rig.builder(all(), &Tap::default()).await;
        let first = first.budgets(negotiator(asked.clone(), left.clone())).build().unwrap();
        let handle = first.start(drafting(vec![600, 600, 5])).id("run").await.unwrap();
        handle.until(&[Status::Suspended]).await.unwrap();
        first.shutdown(seconds(1)).await;
        let second = rig.builder(all(), &Tap::default()).await;
        let second = second.budgets(|_: &Ask, _: &Asker| u64::MAX).build().unwrap();
        let handle = second.handle::<drafting>(&id("run"));
        handle.resume("more#1", &true, "ada").await.unwrap();
        second.work();
        // More than what is asked for is not given.
        assert_eq!(handle.result().await.unwrap(), [600, 400, 5]);
        let asked: Vec<_> = asked.lock().unwrap().iter().map(|by| by.frame.to_string()).collect();
        assert_eq!(asked, ["tokens#0", "tokens#1"]);
        let log = log(&second, &id("run")).await;
        let grants: Vec<Grant> = log.iter().filter_map(|envelope| match &envelope.event {
            loom::kernel::Event::DecisionRecorded(e) => Some(e.value.decode().unwrap()),
            _ => None,
        }).collect();
        assert_eq!(grants[1], Grant { resource: "tokens".into(), asked: 600, granted: 400 });
        assert_eq!(grants[1].to_string(), "400 of 600 tokens");
        replay_check(&all(), &log).unwrap();
    }

    /// A crash before the grant is durable asks again, under the same key; one after it does not.
    async fn a_crash_asks_again_only_before_the_grant_is_durable(rig: Rig) {
        for (after, asked) in [(false, 2), (true, 1)] {
            let calls = Arc::new(AtomicU64::new(0));
            let negotiator = |calls: Arc<AtomicU64>| move |_: &Ask, by: &Asker| {
                assert_eq!(by.frame.as_str(), "tokens#0");
                calls.fetch_add(1, SeqCst) + 1
            };
            let name = format!("run-{after}");
            let process = Process::start_building(&rig, all(), Tap::default(), {
                let calls = calls.clone();
                move |builder| builder.budgets(negotiator(calls))
            }).await;
            process.tap.stop_at(0, after);
            let (app, run) = (process.app.clone(), name.clone());
            process.run(async move { app.start(drafting(vec![9])).id(run).await.map(drop).unwrap() }).await;
            process.tap.stopped().await;
            process.kill();
            let app = rig.builder(all(), &Tap::default()).await.budgets(negotiator(calls.clone())).build().unwrap();
            app.work();
            let handle = app.handle::<drafting>(&id(&name));
            handle.resume("more#0", &true, "ada").await.unwrap();
            assert_eq!(handle.result().await.unwrap(), [asked]);
            assert_eq!(calls.load(SeqCst), asked);
            assert_eq!(count(&told(&app, &id(&name)).await, "DECISION_RECORDED"), 1);
            app.shutdown(seconds(1)).await;
        }
    }

    async fn without_a_negotiator_everything_is_granted(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(drafting(vec![u64::MAX])).await.unwrap();
        assert_eq!(handle.result().await.unwrap(), [u64::MAX]);
        assert!(log(&app, handle.id()).await.iter().any(|e| e.event.kind() == Kind::DecisionRecorded));
    }

    /// What was granted of one thing is not taken for another.
    async fn a_grant_of_something_else_parks(rig: Rig) {
        let app = rig.builder(all(), &Tap::default()).await.budgets(|_: &Ask, _: &Asker| 0).build().unwrap();
        app.start(drafting(vec![7])).id("run").await.unwrap().until(&[Status::Suspended]).await.unwrap();
        app.shutdown(seconds(1)).await;
        let other = rig.app(registry!(flows: [changed::drafting], steps: [])).await;
        other.handle::<changed::drafting>(&id("run")).resume("more#0", &true, "ada").await.unwrap();
        other.work();
        let report = report(&other, &id("run")).await;
        assert_eq!(report.fault, Fault::Divergence);
        assert!(report.message.contains("`tokens` was granted"), "{}", report.message);
    }
}
