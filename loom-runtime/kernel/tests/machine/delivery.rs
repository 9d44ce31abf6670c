//! Deterministic delivery: one outcome at a time, in log order, live and on replay alike.
//! Not random: see `random` for flows and schedules that nobody wrote down.

use futures_channel::{mpsc, oneshot};
use futures_util::{
    FutureExt, StreamExt,
    future::{join, join_all, join3},
    stream::FuturesUnordered,
};

use serde_json::json;

use crate::*;

/// The log replays without a fault, and ends as it says.
pub(crate) fn replays(play: &Play, flow: &Flow) {
    let again = Play::reading(&play.log, flow, 99, CODE);
    assert_eq!(again.state(), play.state());
}

#[test]
fn b23_shared_unordered_and_joins_never_trip_the_detector() {
    let flow = flow(|cx| async move {
        let shared = step(&cx, "once", json!(0)).shared();
        let (a, b, c) = join3(
            shared.clone(),
            async {
                let first = shared.clone().await;
                (told(first), told(step(&cx, "after", json!(1)).await))
            },
            shared.clone(),
        )
        .await;
        let mut racing: FuturesUnordered<_> =
            (0..4).map(|i| step(&cx, &format!("any#{i}"), json!(i))).collect();
        let mut order = Vec::new();
        while let Some(next) = racing.next().await {
            order.push(told(next));
        }
        ok((told(a), b, told(c), order))
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.runs(), ["once"]);
    play.done("once", json!(7));
    play.done("after", json!(8));
    for i in [2, 0, 3, 1] {
        play.done(&format!("any#{i}"), json!(i));
    }
    assert_eq!(play.output(), json!([7, [7, 8], 7, [2, 0, 3, 1]]));
    replays(&play, &flow);
}

#[test]
fn b23_a_call_that_moves_to_another_combinator_wakes_that_one() {
    let flow = flow(|cx| async move {
        let mut call = step(&cx, "a", json!(0));
        std::future::poll_fn(|task| {
            let _ = std::pin::Pin::new(&mut call).poll(task);
            std::task::Poll::Ready(())
        })
        .await;
        let mut all = FuturesUnordered::from_iter([call, step(&cx, "b", json!(0))]);
        let (b, a) = (all.next().await.unwrap(), all.next().await.unwrap());
        ok([told(a), told(b)])
    });
    let mut play = Play::start(&flow);
    play.done("b", json!("b"));
    play.done("a", json!("a"));
    assert_eq!(play.output(), json!(["a", "b"]));
    replays(&play, &flow);
}

#[test]
fn a_receiver_joined_before_its_sender_is_polled_again() {
    let flow = flow(|cx| async move {
        let (one, other) = oneshot::channel();
        let (mut many, mut items) = mpsc::channel(1);
        let receiver = async {
            let first = other.await.unwrap();
            let mut rest = Vec::new();
            while let Some(item) = items.next().await {
                rest.push(told(step(&cx, &format!("got#{item}"), json!(item)).await));
            }
            (first, rest)
        };
        let sender = async {
            one.send(told(step(&cx, "first", json!(0)).await)).unwrap();
            for i in 0..3_u32 {
                step(&cx, &format!("make#{i}"), json!(i)).await;
                futures_util::future::poll_fn(|task| many.poll_ready(task)).await.unwrap();
                many.start_send(i).unwrap();
            }
            drop(many);
        };
        ok(join(receiver, sender).await.0)
    });
    let mut play = Play::start(&flow);
    play.done("first", json!("f"));
    while let Some(next) = play.runs().first().cloned() {
        play.done(&next, json!(next));
    }
    assert_eq!(play.output(), json!(["f", ["got#0", "got#1", "got#2"]]));
    replays(&play, &flow);
}

#[test]
fn b19_one_turn_tells_the_same_order_live_and_on_replay() {
    let flow = flow(|cx| async move {
        let won = match race(step(&cx, "a", json!(0)), step(&cx, "b", json!(0))).await {
            Ok(won) | Err(won) => told(won),
        };
        let rest = join_all([step(&cx, "c", json!(won.clone())), step(&cx, "d", json!(won))]).await;
        ok(rest.into_iter().map(told).collect::<Vec<_>>())
    });
    let mut play = Play::start(&flow);
    // Both ends are there before either is delivered: the log's order decides, and `a` comes too late.
    let a = play.running.iter().find(|r| r.frame == id("a")).cloned().unwrap();
    play.done("b", json!("b won"));
    let late = kernel::machine::Input::Ended {
        frame: a.frame,
        attempt: 1,
        end: kernel::machine::AttemptEnd::Returned(payload(json!("late"))),
    };
    assert!(matches!(play.offer(late), kernel::machine::Offered::Ignored(_)));
    assert_eq!(play.revoked, [("a".to_owned(), 1)]);
    play.done("d", json!("d"));
    play.done("c", json!("c"));
    assert_eq!(play.output(), json!(["c", "d"]));
    assert!(play.has(Kind::StepAbandoned));
    replays(&play, &flow);
}
