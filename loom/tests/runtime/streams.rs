//! Watching: streams of events, statuses, states at any position, lists.
//! Not what is watched.

use loom::{Status, ports::ListFilter, prelude::*};

use crate::support::{Rig, Tap, World, id, log, on_every_store, registry};

#[step]
async fn turn(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("turn");
    Ok(n)
}

#[flow]
async fn turning(ctx: Ctx, turns: u32) -> loom::Result<u32> {
    let mut sum = 0;
    for n in 0..turns {
        sum += ctx.run(turn(n)).await?;
    }
    let more = ctx.suspend::<u32>("more").await?;
    Ok(sum + more)
}

#[step]
async fn held(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit("turn");
    world.pass("turn").await;
    Ok(n)
}

#[flow]
async fn answering(ctx: Ctx) -> loom::Result<u32> {
    let update = ctx.receive::<u32>("ask").update::<u32>().await;
    let n = ctx.run(held(update.value)).await?;
    update.accept(&n);
    Ok(n)
}

fn all() -> loom::Registry {
    registry!(flows: [turning, answering], steps: [turn, held])
}

on_every_store! {
    async fn a_stream_follows_from_anywhere_to_the_end(rig: Rig) {
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        let handle = app.start(turning(300)).id("run").await.unwrap();
        // From the start, here and in another program; from the middle; from beyond what is there yet.
        let from = |app: &loom::App, from: u64| {
            let mut events = app.events(&id("run"), from);
            tokio::spawn(async move {
                let mut seen = Vec::new();
                while let Some(envelope) = events.next().await {
                    seen.push(envelope.unwrap());
                }
                seen
            })
        };
        let streams = [(0, from(&app, 0)), (0, from(&other, 0)), (77, from(&app, 77)), (603, from(&other, 603))];
        handle.until(&[Status::Suspended]).await.unwrap();
        // The answer comes while they wait for more.
        other.handle::<turning>(&id("run")).resume("more", &1, "ada").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 300 * 299 / 2 + 1);
        let whole = log(&app, &id("run")).await;
        for (first, stream) in streams {
            assert_eq!(stream.await.unwrap(), whole[first..], "from {first}");
        }
        // After the end, and beyond it.
        assert_eq!(from(&app, 10).await.unwrap(), whole[10..]);
        assert!(from(&app, whole.len() as u64).await.unwrap().is_empty());
    }

    /// Whoever waits for a store that is down does not wear it out by asking.
    async fn an_update_waits_out_a_store_that_is_down(rig: Rig) {
        let (owner, tap) = (rig.app(all()).await, Tap::default());
        let handle = owner.start(answering()).id("run").await.unwrap();
        let app = rig.builder(all(), &tap).await.build().unwrap();
        let asks = tokio::spawn(async move {
            let update = app.send(&id("run"), "ask", &1);
            app.update::<u32>(update).await
        });
        rig.world.seen("turn", 1).await;
        tap.down(true);
        tokio::time::sleep(millis(200)).await;
        assert!(tap.turned_away() < 50, "asked {} times", tap.turned_away());
        tap.down(false);
        rig.world.open("turn");
        assert_eq!(asks.await.unwrap().unwrap(), 1);
        assert_eq!(handle.result().await.unwrap(), 1);
    }

    async fn a_stream_of_nothing_tells_so_and_ends(rig: Rig) {
        let app = rig.app(all()).await;
        let mut events = app.events(&id("nobody"), 0);
        assert!(events.next().await.unwrap().unwrap_err().to_string().contains("nobody"));
        assert!(events.next().await.is_none());
    }

    async fn states_lists_and_statuses_agree_with_the_log(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(turning(5)).id("b").await.unwrap();
        app.start(turning(1)).id("a").await.unwrap().until(&[Status::Suspended]).await.unwrap();
        assert_eq!(handle.until(&[Status::Suspended]).await.unwrap(), Status::Suspended);
        assert_eq!(handle.status().await.unwrap(), Status::Suspended);
        let events = log(&app, handle.id()).await;
        for events_in in 0..=events.len() {
            let state = app.state(handle.id(), Some(events_in as u64)).await.unwrap();
            assert_eq!(state, loom::kernel::State::of(&events[..events_in]).unwrap());
        }
        let row = app.row(handle.id()).await.unwrap();
        assert_eq!((row.next, row.flow.as_str()), (events.len() as u64, "turning"));
        let ids = |rows: Vec<loom::ports::ExecutionRow>| rows.into_iter().map(|row| row.id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids(app.list(&ListFilter::default()).await.unwrap()), ["a", "b"]);
        let after = ListFilter { after: Some(id("a")), limit: 1, ..ListFilter::default() };
        assert_eq!(ids(app.list(&after).await.unwrap()), ["b"]);
        handle.resume("more", &0, "ada").await.unwrap();
        handle.result().await.unwrap();
        let suspended = ListFilter { statuses: vec![Status::Suspended], ..ListFilter::default() };
        assert_eq!(ids(app.list(&suspended).await.unwrap()), ["a"]);
    }
}
