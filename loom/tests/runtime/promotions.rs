//! Branches and differences: names that move from one execution to another, and what the two differ in.
//! Not the store's own rules for branches: the conformance kit holds those.

use loom::{
    Aspect, BranchError, FrameId, Registry, Status, diff,
    kernel::{Outcome, Payload},
    prelude::*,
};

use crate::support::{Rig, World, id, log, on_both, registry};

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

fn all() -> Registry {
    registry!(flows: [choosing], steps: [act])
}

on_both! {
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
        assert_eq!((open.shared, open.only_b.len()), (cut, 0));
        fork.resume("plan", "twice", "ann").await.unwrap();
        origin.result().await.unwrap();
        fork.result().await.unwrap();
        let (a, b) = (log(&app, origin.id()).await, log(&app, fork.id()).await);
        let found = diff(&a, &b).unwrap();
        let names = |frames: &[FrameId]| frames.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&found.same), ["look"]);
        assert_eq!((names(&found.only_a), names(&found.only_b)), (vec!["calm".into()], vec!["again".into()]));
        let changed: Vec<_> = found.changed.iter().map(|c| (c.frame.as_str(), c.what.clone())).collect();
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
}
