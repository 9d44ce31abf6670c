//! What steps say while they run, and how it is heard: B96.
//! Not what is recorded: nothing of this is.

use loom::{Chunk, FrameId, Streamed, Transcript, kernel::Payload, prelude::*};

use crate::support::{Process, Rig, World, id, log, on_every_store, registry, until};

/// Says four words; the first attempt fails after two, the second one after three.
#[step(retry(attempts = 3, initial = "1ms"))]
async fn draft(world: Res<World>, step: StepCx, of: String) -> loom::Result<String> {
    let words = ["Dear ", "Ada, ", "it ", "works."];
    for (said, word) in words.iter().enumerate() {
        if said == 1 + step.attempt() as usize {
            world.hit(format!("{of} failed"));
            return Err(loom::Error::msg("the model hung up"));
        }
        step.stream(word);
        world.hit(format!("{of} said"));
    }
    world.pass(&of).await;
    Ok(words.concat())
}

#[flow]
async fn writing(ctx: Ctx, letters: Vec<String>) -> loom::Result<Vec<String>> {
    ctx.suspend::<bool>("ready").await?;
    try_join_all(letters.iter().map(|of| ctx.run(draft(of.clone())).key(of))).await
}

/// Says numbers, as many as it is told to.
#[step]
async fn counting(world: Res<World>, step: StepCx, most: u32) -> loom::Result<u32> {
    for n in 0..most {
        step.stream(&n);
    }
    let late = step.clone();
    tokio::spawn(async move {
        late.cancelled().await;
        late.stream("nobody asked");
    });
    world.hit("counted");
    Ok(most)
}

#[flow]
async fn count_up(ctx: Ctx, most: u32) -> loom::Result<u32> {
    ctx.run(counting(most)).await
}

/// The first one says something and hangs; whoever takes over says it whole.
#[step(pure)]
async fn hanging(world: Res<World>, step: StepCx) -> loom::Result<u32> {
    step.stream("once ");
    if world.hit("hangs") == 1 {
        world.pass("never mind").await;
        step.stream("from the dead");
    }
    step.stream("more");
    world.pass("done").await;
    Ok(1)
}

#[flow]
async fn hang(ctx: Ctx) -> loom::Result<u32> {
    ctx.run(hanging()).await
}

/// One turn a run.
#[flow]
async fn turning(ctx: Ctx, turn: u32) -> loom::Result<u32> {
    ctx.run(counting(2)).await?;
    if turn == 1 { Ok(turn) } else { ctx.continue_as_new(turning(turn + 1)).await }
}

fn all() -> loom::Registry {
    registry!(flows: [writing, count_up, hang, turning], steps: [draft, counting, hanging])
}

fn frame(text: &str) -> FrameId {
    FrameId::parsed(text)
}

/// `1.0 "Dear "`, `dead 1`, `end 3` of one frame.
fn of(frame: &FrameId, items: &[Streamed]) -> Vec<String> {
    let line = |item: &Streamed| match item {
        Streamed::Chunk(Chunk { frame: of, attempt, index, data }) if of == frame => {
            Some(format!("{attempt}.{index} {}", data.as_str()))
        }
        Streamed::Superseded { frame: of, attempt } if of == frame => Some(format!("dead {attempt}")),
        Streamed::Ended { frame: of, attempt } if of == frame => Some(format!("end {attempt}")),
        _ => None,
    };
    items.iter().filter_map(line).collect()
}

async fn heard(mut live: loom::StepStream) -> Vec<Streamed> {
    let mut items = Vec::new();
    while let Some(item) = live.next().await {
        items.push(item);
    }
    items
}

on_every_store! {
    /// B96: a retried step begins anew; whoever reads along is told to forget what the dead attempt said.
    async fn b96_a_retry_supersedes_what_was_said(rig: Rig) {
        let app = rig.app(all()).await;
        // Two readers from before the start, one that comes in the middle, one that leaves.
        let (one, other) = (tokio::spawn(heard(app.stream(&id("run")))), tokio::spawn(heard(app.stream(&id("run")))));
        let letters = vec!["a".to_owned(), "b".to_owned()];
        let handle = app.start(writing(letters)).id("run").await.unwrap();
        drop(handle.stream());
        handle.resume("ready", &true, "ada").await.unwrap();
        rig.world.seen("a said", 9).await;
        let late = tokio::spawn(heard(handle.stream()));
        rig.world.open("a");
        rig.world.open("b");
        assert_eq!(handle.result().await.unwrap(), ["Dear Ada, it works.", "Dear Ada, it works."]);
        let items = one.await.unwrap();
        for letter in ["draft#a", "draft#b"] {
            assert_eq!(of(&frame(letter), &items), [
                "1.0 \"Dear \"", "1.1 \"Ada, \"", "dead 1",
                "2.0 \"Dear \"", "2.1 \"Ada, \"", "2.2 \"it \"", "dead 2",
                "3.0 \"Dear \"", "3.1 \"Ada, \"", "3.2 \"it \"", "3.3 \"works.\"", "end 3",
            ]);
        }
        // At no moment does a screen show text twice, or of two attempts.
        let mut screen = Transcript::new();
        for item in &items {
            screen.fold(item);
            let text = screen.text(&frame("draft#a")).unwrap_or_default();
            assert!("Dear Ada, it works.".starts_with(text), "{text}");
        }
        let passages: Vec<_> = screen.passages().collect();
        assert_eq!(passages.len(), 2);
        assert!(passages.iter().all(|(_, p)| p.text == "Dear Ada, it works." && p.ended && !p.has_gap && p.attempt == 3));
        assert_eq!(of(&frame("draft#a"), &other.await.unwrap()), of(&frame("draft#a"), &items));
        // Whoever came late has heard nothing that it could not tell from a beginning.
        let late = late.await.unwrap();
        assert!(of(&frame("draft#a"), &late).is_empty(), "{late:?}");
        // And nothing of it is in the log.
        let text = format!("{:?}", log(&app, handle.id()).await);
        assert!(text.contains("it works.") && !text.contains("\"it \""), "{text}");
    }

    /// B96: a body whose owner was lost says nothing more to anybody who hears its successor.
    async fn b96_a_lost_owner_is_superseded_and_silent(rig: Rig) {
        let frozen = Process::start(&rig, all()).await;
        let app = frozen.app.clone();
        frozen.run(async move { app.start(hang()).id("run").await.map(drop).unwrap() }).await;
        rig.world.seen("hangs", 1).await;
        let live = frozen.app.stream(&id("run"));
        // Its store is away for longer than its lease: it takes its own execution up again, or another one does.
        frozen.tap.freeze(true);
        let next = rig.app(all()).await;
        let elsewhere = next.stream(&id("run"));
        next.work();
        rig.world.seen("hangs", 2).await;
        frozen.tap.freeze(false);
        rig.world.open("never mind");
        rig.world.open("done");
        until(|| async { next.row(&id("run")).await.unwrap().status.is_terminal() }).await;
        let mut screen = Transcript::new();
        heard(elsewhere).await.iter().for_each(|item| screen.fold(item));
        assert_eq!(screen.text(&frame("hanging")), Some("once more"));
        // The dead one's reader hears no end of it, and its stream ends with the execution all the same.
        let here = heard(live).await;
        assert!(!here.iter().any(|item| matches!(item, Streamed::Ended { .. })), "{here:?}");
    }

    /// A slow reader loses the oldest, is told how many, and sees the gap; the step has not waited.
    async fn a_slow_reader_is_told_what_it_lost(rig: Rig) {
        let app = rig.app(all()).await;
        let live = app.stream(&id("run"));
        let handle = app.start(count_up(5_000)).id("run").await.unwrap();
        assert_eq!(handle.result().await.unwrap(), 5_000);
        let items = heard(live).await;
        let Streamed::Lagged { missed } = items[0] else { panic!("{:?}", items[0]) };
        let chunks: Vec<_> = items.iter().filter_map(|item| match item {
            Streamed::Chunk(chunk) => Some(chunk.index),
            _ => None,
        }).collect();
        assert!(missed >= 3_976 && chunks.len() <= 1_024, "{missed} {}", chunks.len());
        assert!(chunks.is_sorted() && chunks.last() == Some(&4_999), "{chunks:?}");
        assert_eq!(items.last(), Some(&Streamed::Ended { frame: frame("counting"), attempt: 1 }));
        let mut screen = Transcript::of(|data| format!("{},", data.as_str()));
        items.iter().for_each(|item| screen.fold(item));
        let (_, passage) = screen.passages().next().unwrap();
        assert!(passage.has_gap && passage.ended && passage.text.ends_with("4998,4999,"), "{passage:?}");
    }

    /// The same frame in the next run is another one; what an ended body left running is not heard.
    async fn runs_do_not_mix_and_ended_attempts_are_silent(rig: Rig) {
        let app = rig.app(all()).await;
        let live = app.stream(&id("run"));
        app.start(turning(0)).id("run").await.unwrap().result().await.unwrap();
        let items = heard(live).await;
        assert_eq!(of(&frame("counting"), &items), ["1.0 0", "1.1 1", "end 1", "1.0 0", "1.1 1", "end 1"]);
        let mut screen = Transcript::of(|data| data.as_str().into());
        items.iter().for_each(|item| screen.fold(item));
        assert_eq!(screen.text(&frame("counting")), Some("01"));
        // After the end there is nothing more to hear.
        assert!(heard(app.stream(&id("run"))).await.is_empty());
    }
}

/// B96: whatever is repeated, late or lost on the way to a screen, no text is there twice.
#[test]
fn b96_a_transcript_never_doubles_text() {
    let a = frame("a");
    let says = |attempt, index, text: &str| {
        let data = Payload::encode(text).unwrap();
        Streamed::Chunk(Chunk { frame: a.clone(), attempt, index, data })
    };
    let dead = |attempt| Streamed::Superseded { frame: a.clone(), attempt };
    let mut screen = Transcript::new();
    for (item, text, gap) in [
        (says(1, 0, "x"), "x", false),
        (says(1, 0, "x"), "x", false),
        (says(1, 1, "y"), "xy", false),
        (says(2, 1, "v"), "v", true),
        (dead(1), "v", true),
        (says(1, 2, "z"), "v", true),
        (dead(2), "", false),
        (says(2, 0, "u"), "u", false),
        (says(3, 0, "w"), "w", false),
        (Streamed::Lagged { missed: 2 }, "w", false),
        (says(3, 1, "v"), "wv", false), // they were of another frame
        (Streamed::Lagged { missed: 1 }, "wv", false),
        (Streamed::Ended { frame: a.clone(), attempt: 3 }, "wv", true), // its last word may be lost
        (Streamed::Lagged { missed: 2 }, "wv", true),
        (says(1, 0, "next run"), "next run", false),
    ] {
        screen.fold(&item);
        let (_, passage) = screen.passages().next().unwrap();
        assert_eq!((passage.text.as_str(), passage.has_gap), (text, gap), "{item:?}");
    }
}
