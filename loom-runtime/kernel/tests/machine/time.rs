//! Time and chance inside a flow are functions of the position in the log.
//! Not the clock: the machine is told what time it is, and here it is told lies too.

use kernel::{Event, Timestamp};
use serde_json::json;

use crate::{delivery::replays, *};

#[test]
fn b16_elapsed_time_survives_a_crash() {
    let flow = flow(|cx| async move {
        let t0 = cx.now();
        sleep(&cx, "hour", 3600).await;
        let t1 = cx.now();
        step(&cx, "after", json!(0)).await;
        ok([t0.as_micros(), t1.as_micros()])
    });
    let mut play = Play::start(&flow);
    play.flush();
    let mut play = Play::resume(&play.log, &flow);
    play.wait(3600);
    play.flush();
    let mut play = Play::resume(&play.log, &flow);
    play.wait(1000); // the owner that replays is late: that changes nothing of what the flow was told
    play.done("after", json!(0));
    assert_eq!(play.output(), json!([0, 3_600_000_000_i64]));
    replays(&play, &flow);
}

#[test]
fn b17_a_relative_timer_is_recorded_as_an_instant() {
    let flow = flow(|cx| async move { ok(told(sleep(&cx, "ten", 10).await)) });
    let mut play = Play::start(&flow);
    play.now = secs(3);
    play.flush();
    assert_eq!(play.machine.next_due(), Some(secs(10)));
    let mut play = Play::reading(&play.log, &flow, 2, CODE);
    play.now = secs(3600);
    play.live();
    assert_eq!(play.machine.next_due(), Some(secs(10)), "not counted anew from the replay");
    play.wait(0);
    assert_eq!(play.output(), json!("fired"));
}

#[test]
fn b07_the_first_recorded_instant_of_a_timer_wins() {
    let deadline = secs(100);
    // The rest of a deadline: another duration on every run.
    let flow = flow(move |cx| async move {
        let asked = cx.now();
        step(&cx, "work", json!(0)).await;
        let _ = asked;
        let rest = world::fresh() % 50 + 10;
        sleep(&cx, "rest", rest).await;
        sleep_until(&cx, "until", Timestamp::from_micros(deadline.as_micros() + rest as i64)).await;
        ok("woke")
    });
    let mut play = Play::start(&flow);
    play.done("work", json!(0));
    play.flush();
    let first = play.machine.next_due().unwrap();
    for _ in 0..3 {
        play = Play::resume(&play.log, &flow);
        assert_eq!(play.machine.next_due(), Some(first));
        play.flush();
    }
    play.wait(60);
    play.flush();
    let second = play.machine.next_due().unwrap();
    play = Play::resume(&play.log, &flow);
    assert_eq!(play.machine.next_due(), Some(second));
    play.wait(100);
    assert_eq!(play.output(), json!("woke"));
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::TimerSet).count(), 2);
    replays(&play, &flow);
}

#[test]
fn b04_order_is_the_sequence_whatever_the_clocks_say() {
    let flow = flow(|cx| async move {
        let mut order = Vec::new();
        let mut all: futures_util::stream::FuturesUnordered<_> =
            (0..4).map(|i| step(&cx, &format!("s#{i}"), json!(i))).collect();
        while let Some(next) = futures_util::StreamExt::next(&mut all).await {
            order.push((told(next), cx.now().as_micros()));
        }
        step(&cx, "last", json!(order)).await;
        ok(order)
    });
    let mut play = Play::start(&flow);
    let at = [50, 20, 70, 10]; // the next owner's clock is behind, and so on
    for (i, seconds) in [3, 1, 0, 2].into_iter().zip(at) {
        play.now = secs(seconds);
        play.done(&format!("s#{i}"), json!(i));
        play.flush();
        play = Play::reading(&play.log, &flow, play.log.len() as u64, CODE);
        play.now = secs(seconds);
        play.live();
        play.pump();
    }
    play.done("last", json!(0));
    let second = 1_000_000;
    assert_eq!(
        play.output(),
        json!([[3, 50 * second], [1, 50 * second], [0, 70 * second], [2, 70 * second]])
    );
    assert!(play.log.is_sorted_by_key(|e| e.at), "instants never run backwards within a log");
    // Even if a store had lied about the instants: the sequence alone is the order.
    let mut skewed = play.log.clone();
    let told = |log: &[kernel::Envelope]| told_log(log);
    let before = told(&skewed);
    skewed.iter_mut().for_each(|e| e.at = Timestamp::EPOCH);
    assert_eq!(told(&skewed), before);
    assert_eq!(kernel::State::of(&skewed).unwrap().frames, play.state().frames);
}

#[test]
fn a_timer_counts_from_its_place_in_the_log_though_the_clock_is_behind() {
    let flow = flow(|cx| async move {
        step(&cx, "work", json!(0)).await;
        sleep(&cx, "ten", 10).await;
        gate(&cx, "ask", Some(10)).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.now = secs(1000);
    play.flush();
    play.offer(kernel::machine::Input::Noted { item: 1 });
    play.flush();
    // Whatever was recorded at second 1000 is past, whoever says it is second 5 now.
    play.done("work", json!(0));
    play.flush();
    let mut log = play.log.clone();
    log.truncate(log.iter().position(|e| e.event.kind() == Kind::TimerSet).unwrap());
    let mut play = Play::reading(&log, &flow, 7, CODE);
    play.now = secs(5);
    play.live();
    play.flush();
    let set = play.log.iter().find_map(|e| match &e.event {
        Event::TimerSet(t) => Some((e.at, t.fire_at)),
        _ => None,
    });
    assert_eq!(set, Some((secs(1000), secs(1010))));
}

#[test]
fn b103_instants_and_entropy_are_the_same_at_every_position() {
    let reading = |cx: &kernel::machine::Cx| {
        let site = id("read");
        json!([cx.now().as_micros(), cx.entropy(&site), cx.entropy(&site), cx.entropy(&id("other"))])
    };
    let flow = flow(move |cx| async move {
        let mut read = vec![reading(&cx)];
        for i in 0..5 {
            // The reading is the input: another one on replay would be a divergence.
            step(&cx, &format!("s#{i}"), read.last().unwrap().clone()).await;
            read.push(reading(&cx));
        }
        ok(read)
    });
    let mut calm = Play::start(&flow);
    let mut crashing = Play::start(&flow);
    for i in 0..5 {
        for play in [&mut calm, &mut crashing] {
            play.now = secs(7 * (i + 1));
            play.done(&format!("s#{i}"), json!(i));
        }
        if crashing.closed.is_none() {
            crashing.flush();
            let now = crashing.now;
            crashing = Play::reading(&crashing.log, &flow, i as u64 + 10, CODE);
            crashing.now = Timestamp::from_micros(now.as_micros() + 5_000_000);
            crashing.live();
            crashing.pump();
        }
    }
    assert_eq!(calm.output(), crashing.output());
    let readings: std::collections::BTreeSet<_> =
        calm.output().as_array().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(readings.len(), 6, "and different at different positions");
    replays(&calm, &flow);
    replays(&crashing, &flow);
}

#[test]
fn entropy_differs_between_executions() {
    let flow = flow(|cx| async move { ok(cx.entropy(&id("uuid"))) });
    let mut log = started();
    let one = Play::resume(&log, &flow).output();
    let Event::ExecutionStarted(started) = &mut log[0].event else { unreachable!() };
    started.seed = kernel::Digest::of(b"another seed");
    assert_ne!(one, Play::resume(&log, &flow).output());
}

#[test]
fn b60_what_is_recorded_has_the_precision_of_the_log() {
    let wait = std::time::Duration::from_nanos(1_500_999);
    let flow = flow(move |cx| async move {
        let mut timer = sleep(&cx, "t", 0);
        timer.request_mut().unwrap().op = kernel::machine::Op::Timer(kernel::machine::Due::After(wait));
        timer.await;
        ok(())
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.machine.next_due(), Some(Timestamp::from_micros(1_500)));
    play.now = Timestamp::from_micros(1_500);
    play.wait(0);
    assert_eq!(play.output(), json!(null));
    assert_eq!(play.log.iter().filter(|e| e.event.kind() == Kind::TimerSet).count(), 1);
}
