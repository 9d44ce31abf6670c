//! Branches and differences: names that move from one execution to another, and what the two differ in.
//! Not the store's own rules for branches: the conformance kit holds those.

use loom::{
    Aspect, BranchError, FrameId, Registry, Status, diff,
    kernel::{Outcome, Payload},
    prelude::*,
};

use crate::support::{Rig, World, id, log, on_every_store, registry};

#[step]
async fn act(world: Res<World>, what: String) -> loom::Result<String> {
    world.hit(what.clone());
    Ok(what)
}

#[flow]
async fn choosing(ctx: Ctx) -> loom::Result<String> {
    ctx.run(act("look".into())).id("look").await?;
    let plan = ctx.suspend::<String>("plan").await?;
    if plan == "twice" {
        ctx.run(act("again".into())).id("again").await?;
    } else {
        ctx.run(act("calm".into())).id("calm").await?;
    }
    ctx.run(act(plan)).id("act").await
}

/// Looks at three places, each in a run of its own.
#[flow]
async fn touring(ctx: Ctx, places: Vec<String>) -> loom::Result<usize> {
    let Some(place) = places.first() else { return Ok(0) };
    if ctx.run(act(place.clone())).id("see").await? == "shop" {
        ctx.run(act("buy".into())).id("buy").await?;
    }
    ctx.continue_as_new(touring(places[1..].to_vec())).await
}

fn all() -> Registry {
    registry!(flows: [choosing, touring], steps: [act])
}

on_every_store! {
    async fn a_branch_is_promoted_by_compare_and_set(rig: Rig) {
        let app = rig.app(all()).await;
        for name in ["a", "b", "c"] {
            app.start(choosing()).id(name).await.unwrap();
        }
        let (a, b, c) = (id("a"), id("b"), id("c"));
        assert_eq!(app.branch("live").await.unwrap(), None);
        let missing = app.promote("live", &a, &b, "ann").await.unwrap_err();
        assert_eq!(missing, BranchError::Missing { branch: "live".into(), to: b.clone() });
        let set = app.set_branch("live", &a, "ann").await.unwrap();
        assert_eq!((set.version, &set.execution, set.by.as_str()), (1, &a, "ann"));
        let moved = app.promote("live", &a, &b, "ann").await.unwrap();
        assert_eq!((moved.version, &moved.execution), (2, &b));
        // Asked again after a lost acknowledgement: the same row, and no further version.
        assert_eq!(app.promote("live", &a, &b, "ann").await.unwrap(), moved);
        // Bob still believes in a.
        let refused = app.promote("live", &a, &c, "bob").await.unwrap_err();
        let expected = Some(a.clone());
        assert_eq!(refused, BranchError::Moved { branch: "live".into(), expected, found: b.clone() });
        assert!(refused.to_string().contains("points to `b`, not to `a`"), "{refused}");
        let taken = app.set_branch("live", &c, "bob").await.unwrap_err();
        assert!(matches!(taken, BranchError::Moved { expected: None, .. }), "{taken}");
        let nobody = app.promote("live", &b, &id("nobody"), "bob").await.unwrap_err();
        assert!(matches!(nobody, BranchError::Unknown { .. }), "{nobody}");
        for name in ["", "two words", "a\nb", &"x".repeat(201)] {
            let error = app.set_branch(name, &a, "ann").await.unwrap_err();
            assert_eq!(error, BranchError::Name(name.into()));
        }
        assert_eq!(app.branches().await.unwrap(), [moved]);
        // Of two who move it at once, one does.
        let (one, two) = tokio::join!(app.promote("live", &b, &a, "ann"), app.promote("live", &b, &c, "bob"));
        assert_eq!(u8::from(one.is_ok()) + u8::from(two.is_ok()), 1);
        assert_eq!(app.branch("live").await.unwrap().unwrap().version, 3);
    }

    async fn two_executions_are_compared_frame_by_frame(rig: Rig) {
        let app = rig.app(all()).await;
        let origin = app.start(choosing()).id("o").await.unwrap();
        origin.until(&[Status::Suspended]).await.unwrap();
        let fork = origin.fork().id("f").await.unwrap();
        let fork = app.handle::<choosing>(&fork);
        fork.until(&[Status::Suspended]).await.unwrap();
        let cut = app.state(fork.id(), None).await.unwrap().origin.unwrap().events;
        origin.resume("plan", "once", "ann").await.unwrap();
        let (a, b) = (log(&app, origin.id()).await, log(&app, fork.id()).await);
        assert!(diff(&b, &b).unwrap().is_empty());
        let open = diff(&a, &b).unwrap();
        assert_eq!((open.shared, open.runs[0].only_b.len()), (cut, 0));
        fork.resume("plan", "twice", "ann").await.unwrap();
        origin.result().await.unwrap();
        fork.result().await.unwrap();
        let (a, b) = (log(&app, origin.id()).await, log(&app, fork.id()).await);
        let found = diff(&a, &b).unwrap();
        let names = |frames: &[FrameId]| frames.iter().map(ToString::to_string).collect::<Vec<_>>();
        let [only] = &found.runs[..] else { panic!("{found:?}") };
        assert_eq!(names(&only.same), ["look"]);
        assert_eq!((names(&only.only_a), names(&only.only_b)), (vec!["calm".into()], vec!["again".into()]));
        let changed: Vec<_> = only.changed.iter().map(|c| (c.frame.as_str(), c.what.clone())).collect();
        assert_eq!(changed, [("act", vec![Aspect::Input, Aspect::Outcome]), ("plan", vec![Aspect::Outcome])]);
        let parts = found.parts.as_ref().unwrap();
        assert_eq!((found.shared, parts.sequence), (cut, cut));
        assert_eq!(parts.b.as_deref(), Some("EXECUTION_FORKED of o"));
        let once = Some(Outcome::Completed(Payload::encode("once").unwrap()));
        assert_eq!((found.ends[0].outcome.clone(), found.ends[1].status), (once, Status::Completed));
        let told = found.to_string();
        let expected = format!(
            "{cut} events shared; at {cut}: EXECUTION_RESUMED | EXECUTION_FORKED of o\n\
             - calm\n+ again\n\
             ~ act (input, outcome): input {{\"what\":\"once\"}}, \"once\" | input {{\"what\":\"twice\"}}, \"twice\"\n\
             ~ plan (outcome): \"once\" | \"twice\"\n\
             = 1 frame alike\ncompleted \"once\" | completed \"twice\""
        );
        assert_eq!(told, expected);
        assert!(diff(&a[1..], &b).is_err());
    }
    /// What differed in an early run is told, although the last ones are alike.
    async fn executions_that_continued_as_new_are_compared_run_by_run(rig: Rig) {
        let app = rig.app(all()).await;
        for (name, second) in [("a", "park"), ("b", "shop")] {
            let places = ["lake", second].map(String::from).to_vec();
            app.start(touring(places)).id(name).await.unwrap().result().await.unwrap();
        }
        let (a, b) = (log(&app, &id("a")).await, log(&app, &id("b")).await);
        let found = diff(&a, &b).unwrap();
        assert!(!found.is_empty() && diff(&a, &a).unwrap().is_empty());
        let runs: Vec<_> = found.runs.iter().map(|run| (run.run, run.is_empty())).collect();
        assert_eq!(runs, [(0, true), (1, false), (2, true)]);
        let told = found.to_string();
        let (_, told) = told.split_once('\n').unwrap();
        let expected = "run 1:\n+ buy\n~ see (input, outcome): input {\"what\":\"park\"}, \"park\" | \
                        input {\"what\":\"shop\"}, \"shop\"\n= 1 frame alike\nboth completed 0";
        assert_eq!(told, expected);
        // One that is a run behind: all of that one's frames are missing.
        let behind = diff(&a[..4], &a).unwrap();
        assert_eq!(behind.runs.iter().map(|run| run.only_b.len()).collect::<Vec<_>>(), [0, 1, 0], "{behind:?}");
    }
}
