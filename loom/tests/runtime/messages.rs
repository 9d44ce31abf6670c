//! Messages under pressure: at the very start, from many at once, beside work, after an end, and malformed.
//! Not what they are for, which is in `exchange.rs`, nor updates across runs, which are in `runs.rs`.

use loom::{
    Said, SendError, Status, UpdateError,
    kernel::{Event, Kind, Payload},
    prelude::*,
};

use crate::support::{Rig, World, count, log, on_every_store, registry, told, until};

#[step]
async fn long(world: Res<World>) -> loom::Result<u32> {
    world.hit("long");
    world.pass("long").await;
    Ok(100)
}

#[flow]
async fn one_message(ctx: Ctx) -> loom::Result<u32> {
    Ok(ctx.receive::<u32>("numbers").await)
}

#[flow]
async fn many_messages(ctx: Ctx, n: u32) -> loom::Result<Vec<String>> {
    let mut all = Vec::new();
    for _ in 0..n {
        all.push(ctx.receive::<String>("words").await);
    }
    Ok(all)
}

#[flow]
async fn beside_work(ctx: Ctx) -> loom::Result<u32> {
    let five = async {
        let mut sum = 0;
        for _ in 0..5 {
            sum += ctx.receive::<u32>("numbers").await;
        }
        sum
    };
    let (long, sum) = join!(ctx.run(long()), five);
    Ok(long? + sum)
}

/// Answers beside its own life: whoever asks while it ends gets no reply.
#[flow]
async fn serving(ctx: Ctx) -> loom::Result<u32> {
    let (taken, work) = (ctx.receive::<u32>("ask").update::<u32>(), ctx.run(long()));
    let mut scope = ctx.scope::<(), loom::Error>();
    scope.add(async move {
        let update = taken.await;
        let done = work.await?;
        update.accept(&done);
        Ok(())
    });
    scope.detach();
    ctx.suspend::<bool>("end").await?;
    Ok(1)
}

/// Ends only when whoever has asked was answered.
#[flow]
async fn polite(ctx: Ctx) -> loom::Result<u32> {
    let answering = async {
        let update = ctx.receive::<u32>("ask").update::<u32>().await;
        let done = ctx.run(long()).await?;
        update.accept(&done);
        Ok::<_, loom::Error>(())
    };
    let (answered, end) = join!(answering, ctx.suspend::<bool>("end"));
    answered?;
    Ok(u32::from(end?))
}

fn all() -> loom::Registry {
    registry!(flows: [one_message, many_messages, beside_work, serving, polite, counter], steps: [long])
}

/// Takes one message after a gate, and has a part that takes updates.
#[flow]
async fn counter(ctx: Ctx) -> loom::Result<u32> {
    ctx.suspend::<bool>("go").await?;
    let first = ctx.receive::<u32>("numbers").await;
    Ok(first + ctx.part("more", more()).await)
}

#[flow(part)]
async fn more(ctx: Ctx) -> u32 {
    let asked = ctx.receive::<Ask>("ask").update::<u32>().await;
    let n = asked.value.n;
    asked.accept(&(n + 1));
    n
}

#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Ask {
    n: u32,
}

on_every_store! {
    /// What a person sends is held to what the flow and its parts wait for, wherever they are; what a program sends is not.
    async fn a_checked_message_has_a_topic_and_fits(rig: Rig) {
        let app = rig.app(all()).await;
        app.work();
        let handle = app.start(counter()).id("run").await.unwrap();
        let refused = handle.send("number", &1).checked().await.unwrap_err();
        let topics = vec!["numbers".to_owned(), "ask".to_owned()];
        let (execution, flow) = (handle.id().clone(), "counter".to_owned());
        assert_eq!(
            refused,
            SendError::UnknownTopic { execution, flow, topic: "number".into(), topics }
        );
        assert!(refused.to_string().ends_with("it waits for: numbers, ask"), "{refused}");
        let misfit = handle.send("ask", &serde_json::json!({"m": 1})).checked().await.unwrap_err();
        assert!(matches!(&misfit, SendError::Misfit { topic, .. } if topic == "ask"), "{misfit}");
        assert!(misfit.to_string().contains("\"n\" is a required property"), "{misfit}");
        let unread = handle.send("ask", &serde_json::json!({"n": 1.0})).checked().await.unwrap_err();
        assert!(unread.to_string().contains("(at /n)"), "{unread}");
        assert_eq!(app.pending(handle.id()).await.unwrap(), []);

        // It is there before the flow asks for it, and is told of.
        handle.send("numbers", &40).by("ann").checked().await.unwrap();
        until(|| async { app.pending(handle.id()).await.unwrap().len() == 1 }).await;
        let said = app.pending(handle.id()).await.unwrap().remove(0).said;
        let body = Payload::from_value(&serde_json::json!(40));
        let message = Said::Message { topic: "numbers".into(), body, by: "ann".into(), expects_reply: false };
        assert_eq!(said, message);
        let ask = handle.send("ask", &Ask { n: 2 }).key("a").checked();
        let asked = app.send_update(ask).await.unwrap();
        assert_eq!(asked.look::<u32>().await.unwrap(), None);
        handle.resume("go", &true, "ada").await.unwrap();
        assert_eq!(asked.reply::<u32>().await.unwrap(), 3);
        assert_eq!(handle.result().await.unwrap(), 42);
        assert_eq!(asked.look::<u32>().await.unwrap(), Some(3));
        let late = handle.send("numbers", &1).checked().await.unwrap_err();
        assert!(matches!(late, SendError::Store(_)), "{late}");
        let late = app.send_update(handle.send("ask", &Ask { n: 2 }).key("b")).await.unwrap();
        assert!(matches!(late.look::<u32>().await, Err(UpdateError::Ended { .. })));

        // A program that lacks the flow cannot tell.
        let handle = app.start(counter()).id("other").await.unwrap();
        let lacking = rig.app(registry!(flows: [serving], steps: [long])).await;
        lacking.send(handle.id(), "number", &1).checked().await.unwrap();
    }

    /// B32: what comes while a step runs is delivered, and starts nothing again.
    async fn b32_messages_beside_a_long_step_start_no_second_attempt(rig: Rig) {
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        let handle = app.start(beside_work()).id("run").await.unwrap();
        rig.world.seen("long", 1).await;
        for n in 1..=5_u32 {
            // From here, and from another process.
            let from = if n % 2 == 0 { &app } else { &other };
            from.send(handle.id(), "numbers", &n).await.unwrap();
            let received = || async { count(&told(&app, handle.id()).await, "MESSAGE_AWAITED") > n as usize };
            if n < 5 {
                until(received).await;
            }
        }
        // The events of the last one may wait for company; the step's end brings it.
        rig.world.open("long");
        assert_eq!(handle.result().await.unwrap(), 115);
        let told = told(&app, handle.id()).await;
        assert_eq!(count(&told, "STEP_STARTED"), 1, "{told:?}");
        assert_eq!((count(&told, "MESSAGE_RECEIVED"), count(&told, "EXECUTION_RESUMED")), (5, 0), "{told:?}");
        assert_eq!(rig.world.count("long"), 1);
    }

    /// B51: a message that is sent as soon as the start returns is received, a thousand times.
    async fn b51_a_message_right_after_the_start_is_received(rig: Rig) {
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        for n in 0..1_000_u32 {
            let handle = app.start(one_message()).id(format!("run-{n}")).await.unwrap();
            let from = if n % 2 == 0 { &app } else { &other };
            from.send(handle.id(), "numbers", &n).await.unwrap();
            // Half of them are waited for: the next start meets an engine that is at work, or at rest.
            if n % 4 < 2 {
                assert_eq!(handle.result().await.unwrap(), n);
            }
        }
        for n in 0..1_000_u32 {
            let handle = app.handle::<one_message>(&format!("run-{n}").parse().unwrap());
            assert_eq!(handle.result().await.unwrap(), n);
        }
    }

    /// B52: of parallel senders none loses a message, and each one's come in its order.
    async fn b52_parallel_senders_lose_nothing(rig: Rig) {
        const SENDERS: usize = 8;
        const EACH: usize = 25;
        let (app, other) = (rig.app(all()).await, rig.app(all()).await);
        let total = u32::try_from(SENDERS * EACH).unwrap();
        let handle = app.start(many_messages(total)).id("run").await.unwrap();
        let senders = (0..SENDERS).map(|sender| {
            let (app, to) = (if sender % 2 == 0 { app.clone() } else { other.clone() }, handle.id().clone());
            tokio::spawn(async move {
                for nth in 0..EACH {
                    let word = format!("{sender}:{nth}");
                    // Sent twice under one key, as after a lost answer: taken once.
                    app.send(&to, "words", &word).key(word.clone()).await.unwrap();
                    match app.send(&to, "words", &word).key(word.clone()).await {
                        Ok(()) => {}
                        // It was the last one, and was taken already.
                        Err(SendError::Store(_)) if nth + 1 == EACH => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            })
        });
        for sender in join_all(senders).await {
            sender.unwrap();
        }
        let words = handle.result().await.unwrap();
        assert_eq!(words.len(), SENDERS * EACH);
        for sender in 0..SENDERS {
            let own: Vec<_> = words.iter().filter(|word| word.starts_with(&format!("{sender}:"))).cloned().collect();
            assert_eq!(own, (0..EACH).map(|nth| format!("{sender}:{nth}")).collect::<Vec<_>>());
        }
    }

    /// B57: an update whose handler still works when the flow returns is refused; one that is waited for is answered.
    async fn b57_an_update_in_progress_is_refused_or_drained(rig: Rig) {
        let app = rig.app(all()).await;
        let serving = app.start(serving()).id("serving").await.unwrap();
        let polite = app.start(polite()).id("polite").await.unwrap();
        let ask = |handle: &str| {
            let (app, to) = (app.clone(), handle.parse().unwrap());
            tokio::spawn(async move { app.update::<u32>(app.send(&to, "ask", &1)).await })
        };
        let (refused, answered) = (ask("serving"), ask("polite"));
        rig.world.seen("long", 2).await;
        serving.resume("end", &true, "ada").await.unwrap();
        polite.resume("end", &true, "ada").await.unwrap();
        let refused = refused.await.unwrap().unwrap_err();
        assert!(matches!(&refused, UpdateError::Rejected { reason } if reason.contains("did not reply")), "{refused}");
        assert_eq!(serving.result().await.unwrap(), 1);
        rig.world.open("long");
        assert_eq!(answered.await.unwrap().unwrap(), 100);
        assert_eq!(polite.result().await.unwrap(), 1);
    }

    /// B58: a message that nobody can read is an event of the run, with its sender and the reason.
    async fn b58_a_malformed_message_is_a_dead_letter(rig: Rig) {
        let app = rig.app(all()).await;
        let handle = app.start(one_message()).id("run").await.unwrap();
        handle.send("numbers", "seven").by("ada").await.unwrap();
        handle.send("nobody-reads-this", &1).by("bob").await.unwrap();
        until(|| async { handle.state().await.unwrap().dead_letters == 1 }).await;
        handle.until(&[Status::Suspended]).await.unwrap();
        handle.send("numbers", &7).await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 7);
        let log = log(&app, handle.id()).await;
        let dead: Vec<_> = log.iter().filter_map(|e| match &e.event {
            Event::MessageDeadLettered(dead) => Some((dead.message.by.clone(), dead.reason.clone())),
            _ => None,
        }).collect();
        let [(ada, unreadable), (bob, unread)] = &dead[..] else { panic!("{dead:?}") };
        assert_eq!((ada.as_str(), bob.as_str()), ("ada", "bob"));
        assert!(unreadable.contains("invalid type") && !unreadable.contains("seven"), "{unreadable}");
        assert_eq!(unread, "the execution ended");
        assert!(log.iter().all(|e| e.event.kind() != Kind::ExecutionParked));
    }
}
