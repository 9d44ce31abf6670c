//! The run-time floor of effect ceilings: calls on a copy of the context, whose classes no constant holds.
//! Not the ceiling itself, which is the compiler's (`ui-tests`), nor `ctx.execute` (`interpreter.rs`).

use loom::{
    kernel::{Event, Kind},
    prelude::*,
    replay_check,
};

use crate::support::{Rig, World, log, on_every_store, registry};

#[step(effects("bank.write"))]
async fn charge(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit(format!("charge {n}"));
    Ok(n)
}

#[step(effects("mail.send"))]
async fn post(world: Res<World>, n: u32) -> loom::Result<u32> {
    world.hit(format!("post {n}"));
    Ok(n)
}

/// Its own ceiling is none: it is held against that of the flow.
#[flow(part)]
async fn paying(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge(2)).await
}

#[flow]
async fn undeclared(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge(3)).await
}

#[flow(effects("bank.write"))]
async fn banking(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(charge(4)).await
}

#[flow(effects("mail.send"))]
async fn posting(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(post(5)).await
}

#[flow(effects("mail.*"))]
async fn circumvents(ctx: Ctx) -> loom::Result<Vec<String>> {
    let (c, _) = (ctx.clone(), 1);
    Ok(vec![
        code(c.run(post(1)).id("post").await),
        code(c.call(posting()).id("posting").await),
        code(c.run(charge(1)).id("charge").await),
        code(c.part("paying", paying()).await),
        code(c.call(undeclared()).id("undeclared").await),
        code(c.spawn(banking()).id("spawned").await.await),
        code(c.call_dynamic("named", "banking", loom::kernel::Payload::null()).await),
    ])
}

fn code(outcome: loom::Result<impl Sized>) -> String {
    outcome.map_or_else(|error| error.code().to_owned(), |_| "ok".into())
}

fn all() -> loom::Registry {
    registry!(flows: [circumvents, undeclared, banking, posting], steps: [charge, post])
}

on_every_store! {
    async fn a_copy_of_the_context_is_held_to_the_ceiling(rig: Rig) {
        let app = rig.app(all()).await;
        app.work();
        let handle = app.start(circumvents()).id("run").await.unwrap();
        let said = handle.result().await.unwrap();
        assert_eq!(said[..2], ["ok", "ok"]);
        assert!(said[2..].iter().all(|code| code == "denied"), "{said:?}");
        assert_eq!(rig.world.all().len(), 2, "what is denied never runs: {:?}", rig.world.all());
        let log = log(&app, handle.id()).await;
        let denied = log.iter().filter(|e| e.event.kind() == Kind::EffectDenied);
        let denied: Vec<_> = denied
            .map(|e| {
                let Event::EffectDenied(event) = &e.event else { panic!() };
                (event.frame.as_str(), event.reason.as_str())
            })
            .collect();
        assert_eq!(denied.iter().map(|(frame, _)| *frame).collect::<Vec<_>>(), [
            "charge", "paying/charge", "undeclared", "spawned", "named"
        ]);
        for ((frame, reason), names) in denied.iter().zip([
            "`bank.write` of step `charge`",
            "`bank.write` of step `charge`",
            "`undeclared` declares no effect classes",
            "`bank.write` of child flow `banking`",
            "`bank.write` of child flow `banking`",
        ]) {
            assert!(reason.contains(names), "{frame}: {reason}");
        }
        replay_check(&all(), &log).unwrap();
    }
}
