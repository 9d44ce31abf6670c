//! Lanes: how many executions of one run at once over all workers, and who else waits in them.
//! Not whom a claim takes: those cases are the stores' kit's.

use std::time::Duration;

use loom::{Lane, Registry, Status, kernel::Payload, ports::Turn, prelude::*};

use crate::support::{Rig, Tap, World, id, on_every_store, registry};

#[step]
async fn enter(world: Res<World>) -> loom::Result<usize> {
    let inside = world.hit("in") - world.count("out");
    tokio::time::sleep(Duration::from_millis(10)).await;
    world.hit("out");
    Ok(inside)
}

#[flow]
async fn visiting(ctx: Ctx) -> loom::Result<usize> {
    ctx.run(enter()).await
}

/// Holds a slot until it waits for its child, which needs one.
#[flow]
async fn guiding(ctx: Ctx) -> loom::Result<usize> {
    let before = ctx.run(enter()).await?;
    Ok(before.max(ctx.call(visiting()).id("visitor").await?))
}

#[flow]
async fn deciding(ctx: Ctx) -> loom::Result<bool> {
    Ok(ctx.suspend::<bool>("decision").await?)
}

fn all() -> Registry {
    registry!(flows: [visiting, guiding, deciding], steps: [enter])
}

on_every_store! {
    /// Two workers share the slots, and each is used again.
    async fn a_lane_bounds_what_runs_in_a_fleet(rig: Rig) {
        let apps = [rig.app(all()).await, rig.app(all()).await];
        let mut handles = Vec::new();
        for n in 0..8 {
            let start = apps[n % 2].start(visiting()).lane(Lane::new("museum").at_most(2));
            handles.push(start.await.unwrap());
        }
        for handle in handles {
            assert!(handle.result().await.unwrap() <= 2, "more than two at once");
        }
        assert_eq!(rig.world.count("in"), 8);
    }

    /// What waits for a lane keeps nobody from running who does not.
    async fn a_full_lane_is_passed_by(rig: Rig) {
        let app = rig.app(all()).await;
        let lane = Lane::new("closed").rate(1, Duration::from_secs(86_400));
        app.start(visiting()).id("first").lane(lane.clone()).await.unwrap().result().await.unwrap();
        let waits = app.start(visiting()).id("second").lane(lane).priority(i16::MAX).await.unwrap();
        app.start_dynamic("visiting", Payload::null()).id("other").detached().await.unwrap();
        app.start_dynamic("visiting", Payload::null()).id("third").lane("open").detached().await.unwrap();
        for name in ["other", "third"] {
            app.until(&id(name), &[Status::Completed]).await.unwrap();
        }
        let row = app.row(waits.id()).await.unwrap();
        assert_eq!((row.status, row.lease), (Status::Running, None));
        assert_eq!(rig.world.count("in"), 3);
    }

    /// A rate lets everybody in, one after the other, and nobody has to call them.
    async fn a_rate_is_waited_for(rig: Rig) {
        let app = rig.app(all()).await;
        let lane = Lane::new("slow").rate(1, Duration::from_millis(60));
        let mut handles = Vec::new();
        for _ in 0..4 {
            handles.push(app.start(visiting()).lane(lane.clone()).await.unwrap());
        }
        for handle in handles {
            handle.result().await.unwrap();
        }
    }

    /// Children and forks take the same turn; a parent that waits gives its slot to its child.
    async fn a_turn_is_inherited(rig: Rig) {
        let app = rig.app(all()).await;
        let lane = Lane::new("tour").at_most(1).weight(2);
        let tour = app.start(guiding()).lane(lane.clone()).priority(-4);
        assert_eq!(tour.id("guide").await.unwrap().result().await.unwrap(), 1);
        for name in ["guide", "guide:visitor"] {
            let turn = app.row(&id(name)).await.unwrap().turn;
            assert_eq!((turn.priority, turn.lane), (-4, Some(lane.clone())), "{name}");
        }
        let asks = app.start(deciding()).id("asks").lane(lane.clone()).priority(3).await.unwrap();
        app.until(asks.id(), &[Status::Suspended]).await.unwrap();
        let fork = app.fork(asks.id()).id("fork").await.unwrap();
        app.until(&fork, &[Status::Suspended]).await.unwrap();
        let turn = app.row(&fork).await.unwrap().turn;
        assert_eq!((turn.priority, turn.lane), (3, Some(lane)));
    }

    /// One place says for a whole program whose turn it is; a child is asked about too, and a fork is not.
    async fn a_program_says_whose_turn_it_is(rig: Rig) {
        let builder = rig.builder(all(), &Tap::default()).await;
        let app = builder.turns(|start| {
            let lane = start.parent.map_or_else(|| start.flow.to_owned(), |parent| format!("of {parent}"));
            Turn { priority: start.turn.priority.min(5) - 1, lane: Some(lane.into()) }
        });
        let app = app.build().unwrap();
        app.start(guiding()).id("guide").lane("mine").priority(99).await.unwrap().result().await.unwrap();
        app.start_dynamic("deciding", Payload::null()).id("asks").await.unwrap();
        app.until(&id("asks"), &[Status::Suspended]).await.unwrap();
        app.fork(&id("asks")).id("fork").await.unwrap();
        for (name, priority, lane) in
            [("guide", 4, "guiding"), ("guide:visitor", 3, "of guide"), ("asks", -1, "deciding"), ("fork", -1, "deciding")]
        {
            let turn = app.row(&id(name)).await.unwrap().turn;
            assert_eq!((turn.priority, turn.lane), (priority, Some(Lane::new(lane))), "{name}");
        }
        // Who says nothing leaves it as it was asked for.
        let builder = rig.builder(all(), &Tap::default()).await;
        let app = builder.turns(|_| panic!("a bug in the program")).build().unwrap();
        app.start(guiding()).id("second").priority(7).await.unwrap().result().await.unwrap();
        assert_eq!(app.row(&id("second:visitor")).await.unwrap().turn.priority, 7);
    }

    /// A program that takes up nothing else waits for the lane all the same.
    async fn one_alone_waits_for_its_lane(rig: Rig) {
        let lane = Lane::new("tour").at_most(1);
        let alone = rig.app(all()).await;
        for flow in ["guiding", "visiting"] {
            let start = alone.start_dynamic(flow, Payload::null()).id(flow).lane(lane.clone());
            start.alone().await.unwrap();
        }
        for flow in ["guiding", "visiting", "guiding:visitor"] {
            alone.until(&id(flow), &[Status::Completed]).await.unwrap();
        }
    }
}
