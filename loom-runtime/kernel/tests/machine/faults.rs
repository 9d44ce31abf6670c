//! Faults in code: each parks the execution with a report that says where, and none is taken for an outcome.
//! Not divergence, the fault that only a replay can find: see `divergence`.

use std::sync::Mutex;

use futures_channel::oneshot;
use futures_util::future::join;
use kernel::{
    Fault, ParkReport, Status,
    machine::{AttemptEnd, Call, Input},
};
use serde_json::json;

use crate::{delivery::replays, *};

#[test]
fn a_foreign_wake_parks_with_the_line() {
    let (tx, rx) = oneshot::channel::<()>();
    let rx = Mutex::new(Some(rx));
    let line = line!() + 4;
    let flow = flow(move |cx| {
        let rx = rx.lock().unwrap().take().unwrap();
        async move {
            let timer = sleep(&cx, "t", 1);
            join(timer, rx).await.1.unwrap();
            ok(())
        }
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.closed, None);
    #[allow(clippy::disallowed_methods, reason = "the test is about another thread")]
    std::thread::spawn(move || tx.send(()).unwrap()).join().unwrap();
    assert_eq!(play.alarms.load(std::sync::atomic::Ordering::SeqCst), 1);
    play.offer(Input::Alarm);
    play.pump();
    let report = play.parked(Fault::ForeignWake);
    assert_eq!(report.near.as_ref().map(|near| near.line), Some(line));
}

#[test]
fn a_foreign_wake_is_found_by_the_next_pass_when_the_alarm_was_not_answered() {
    let (tx, rx) = oneshot::channel::<()>();
    let rx = Mutex::new(Some(rx));
    let flow = flow(move |cx| {
        let rx = rx.lock().unwrap().take().unwrap();
        async move {
            join(sleep(&cx, "t", 1), rx).await.1.unwrap();
            ok(())
        }
    });
    let mut play = Play::start(&flow);
    tx.send(()).unwrap(); // on this thread, but in no pass
    play.wait(1);
    play.parked(Fault::ForeignWake);
}

#[test]
fn waiting_for_nothing_recorded_parks_with_the_line() {
    let line = line!() + 2;
    let flow = flow(|cx| async move {
        step(&cx, "before", json!(0)).await;
        std::future::pending::<()>().await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.done("before", json!(0));
    let report = play.parked(Fault::Stuck);
    assert_eq!(report.near.as_ref().map(|near| near.line), Some(line));
    assert!(report.message.contains("flow `test` waited"), "{report}");
}

#[test]
fn a_spinning_future_parks() {
    let flow = flow(|_| async {
        let spin = std::future::poll_fn(|task| {
            task.waker().wake_by_ref();
            std::task::Poll::<()>::Pending
        });
        spin.await;
        ok(())
    });
    Play::start(&flow).parked(Fault::Spinning);
}

/// A flow that starts a call, and hands it out before it waits.
fn leaking(slot: &'static Mutex<Option<Call>>) -> Flow {
    flow(move |cx| async move {
        let mut leaked = step(&cx, "leaked", json!(0));
        futures_util::future::poll_fn(|task| {
            let _ = std::pin::Pin::new(&mut leaked).poll(task);
            std::task::Poll::Ready(())
        })
        .await;
        *slot.lock().unwrap() = Some(leaked);
        sleep(&cx, "t", 1).await;
        ok(())
    })
}

#[test]
fn a_durable_call_polled_on_another_thread_parks() {
    static SLOT: Mutex<Option<Call>> = Mutex::new(None);
    let mut play = Play::start(&leaking(&SLOT));
    let mut call = SLOT.lock().unwrap().take().unwrap();
    #[allow(clippy::disallowed_methods, reason = "the test is about another thread")]
    let call = std::thread::spawn(move || {
        let mut task = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::pin::Pin::new(&mut call).poll(&mut task).is_pending());
        call
    })
    .join()
    .unwrap();
    assert_eq!(play.alarms.load(std::sync::atomic::Ordering::SeqCst), 1);
    play.offer(Input::Alarm);
    play.pump();
    let report = play.parked(Fault::OutsidePass);
    assert_eq!(report.frame, Some(id("leaked")));
    drop(call);
    let rung = play.alarms.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!(rung, 1, "the flow is gone: dropping what is left of it says nothing");
    assert!(!play.has(Kind::StepAbandoned));
}

#[test]
fn a_durable_call_dropped_on_another_thread_parks() {
    static SLOT: Mutex<Option<Call>> = Mutex::new(None);
    let mut play = Play::start(&leaking(&SLOT));
    let call = SLOT.lock().unwrap().take().unwrap();
    #[allow(clippy::disallowed_methods, reason = "the test is about another thread")]
    std::thread::spawn(move || drop(call)).join().unwrap();
    play.wait(1);
    assert_eq!(play.parked(Fault::OutsidePass).frame, Some(id("leaked")));
    assert!(!play.has(Kind::StepAbandoned));
}

#[test]
fn a_call_first_polled_outside_the_flow_parks() {
    let flow = flow(|cx| async move {
        let mut stray = step(&cx, "stray", json!(0));
        #[allow(clippy::disallowed_methods, reason = "the test is about another thread")]
        std::thread::spawn(move || {
            let mut task = std::task::Context::from_waker(std::task::Waker::noop());
            let _ = std::pin::Pin::new(&mut stray).poll(&mut task);
        })
        .join()
        .unwrap();
        sleep(&cx, "t", 1).await;
        ok(())
    });
    let play = Play::start(&flow);
    assert_eq!(play.parked(Fault::OutsidePass).frame, Some(id("stray")));
    assert!(play.invoked.is_empty());
}

#[test]
fn a_fact_told_outside_the_flow_parks_and_is_not_recorded() {
    let flow = flow(|cx| async move {
        let other = cx.clone();
        #[allow(clippy::disallowed_methods, reason = "the test is about another thread")]
        std::thread::spawn(move || other.emit(&id("fact"), here(), "fact", 1, payload(json!(1))))
            .join()
            .unwrap();
        sleep(&cx, "t", 1).await;
        ok(())
    });
    let play = Play::start(&flow);
    play.parked(Fault::OutsidePass);
    assert!(!play.has(Kind::Domain));

    let flow = crate::flow(|cx| async move {
        let other = cx.clone();
        #[allow(clippy::disallowed_methods, reason = "the test is about another thread")]
        std::thread::spawn(move || other.entropy(&id("uuid"))).join().unwrap();
        sleep(&cx, "t", 1).await;
        ok(())
    });
    Play::start(&flow).parked(Fault::OutsidePass);
}

#[test]
fn a_panicking_pass_is_discarded_whole_and_resumes_once_mended() {
    let broken = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        decide(&cx, "d", json!(1)).await;
        cx.emit(&id("fact"), here(), "fact", 1, payload(json!(1)));
        let lost = race(step(&cx, "b", json!(0)), async { panic!("out of {}", "luck") }).await;
        lost.map(told).map_or_else(|()| ok(()), ok)
    });
    let mended = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        ok(told(step(&cx, "c", json!(0)).await))
    });
    let mut play = Play::start(&broken);
    play.done("a", json!(0));
    let report = play.parked(Fault::FlowPanicked);
    assert!(report.message.ends_with("panicked: out of luck"), "{report}");
    assert!(report.near.unwrap().file.ends_with("faults.rs"));
    assert_eq!(
        play.told(),
        ["EXECUTION_STARTED", "STEP_STARTED a", "STEP_COMPLETED a", "EXECUTION_PARKED"],
        "nothing of the panicking pass is in the log"
    );
    assert_eq!(play.invoked.len(), 1);
    let mut play = Play::resume(&play.log, &mended);
    play.done("c", json!("mended"));
    assert_eq!(play.output(), json!("mended"));
    replays(&play, &mended);
}

#[test]
fn a_panic_in_the_first_pass_and_one_on_replay_park_too() {
    let calm = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        step(&cx, "b", json!(0)).await;
        ok(())
    });
    let panics = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        panic!("on replay")
    });
    let first = flow(|_| async { panic!("at once") });
    Play::start(&first).parked(Fault::FlowPanicked);
    let mut play = Play::start(&calm);
    play.done("a", json!(0));
    play.done("b", json!(0));
    let mut replayed = Play::resume(&play.log[..5], &panics);
    replayed.parked(Fault::FlowPanicked);
    assert_eq!(replayed.log.iter().filter(|e| e.event.kind() == Kind::ExecutionParked).count(), 1);
    replayed = Play::resume(&replayed.log, &calm);
    assert_eq!(replayed.output(), json!(null));
}

#[test]
fn a_raised_fault_stops_the_flow_and_discards_its_pass() {
    let flow = flow(|cx| async move {
        let output = told(step(&cx, "a", json!(0)).await);
        let report = ParkReport::new(Fault::Undecodable, "`a` returned text, the code reads a number");
        cx.near(here());
        cx.raise(report.frame(&id("a")));
        step(&cx, "b", output).await;
        ok(())
    });
    let mut play = Play::start(&flow);
    play.done("a", json!("text"));
    let report = play.parked(Fault::Undecodable);
    assert_eq!((report.frame, report.sequence), (Some(id("a")), Some(2)));
    assert!(report.near.is_some() && report.code.is_some() && !report.help.is_empty());
    assert!(play.invoked.iter().all(|(invoke, _)| invoke.frame == id("a")));
}

#[test]
fn a_fault_that_the_runtime_found_parks() {
    let flow = flow(|cx| async move { ok(told(step(&cx, "a", json!(0)).await)) });
    let mut play = Play::start(&flow);
    play.offer(Input::Fault(ParkReport::new(Fault::MissingStep, "`a` is not registered").frame(&id("a"))));
    play.pump();
    play.parked(Fault::MissingStep);
    assert!(play.revoked.is_empty(), "it does not run");
    let mut play = Play::resume(&play.log, &flow);
    play.done("a", json!(1));
    assert_eq!(play.output(), json!(1));
}

/// Its flow waits for a step in a race, and for a timer.
fn waiting() -> Flow {
    flow(|cx| async move {
        let raced = race(step(&cx, "slow", json!(0)), sleep(&cx, "t", 60)).await;
        ok(raced.map_or_else(told, told))
    })
}

#[test]
fn dropping_the_machine_abandons_nothing_and_rings_no_alarm() {
    let mut play = Play::start(&waiting());
    play.flush();
    let (log, alarms) = (play.log.clone(), play.alarms.clone());
    drop(play);
    assert_eq!(alarms.load(std::sync::atomic::Ordering::SeqCst), 0);
    assert_eq!(Play::resume(&log, &waiting()).runs(), ["slow"]);
}

#[test]
fn a_channel_between_branches_that_is_torn_down_rings_no_alarm() {
    let flow = flow(|cx| async move {
        let (tx, rx) = oneshot::channel::<()>();
        let sender = async {
            gate(&cx, "ask", None).await;
            tx.send(()).unwrap();
        };
        join(sender, rx).await.1.unwrap();
        ok(())
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.suspend(), Status::Suspended);
    let (log, alarms) = (play.log.clone(), play.alarms.clone());
    drop(play); // drops the sender, which wakes the receiver
    assert_eq!(alarms.load(std::sync::atomic::Ordering::SeqCst), 0);
    let mut play = Play::resume(&log, &flow);
    play.answer("ask", json!(1), 1);
    play.pump();
    assert_eq!(play.output(), json!(null));
}

#[test]
fn a_suspension_abandons_nothing() {
    let flow = flow(|cx| async move {
        let raced = race(gate(&cx, "ask", None), sleep(&cx, "t", 60)).await;
        ok(raced.map_or_else(told, told))
    });
    let mut play = Play::start(&flow);
    assert_eq!(play.suspend(), Status::Suspended);
    assert!(!play.has(Kind::StepAbandoned));
    let mut play = Play::resume(&play.log, &flow);
    play.wait(60);
    assert_eq!(play.output(), json!("fired"));
    assert!(play.has(Kind::StepAbandoned), "a lost race does");
    replays(&play, &flow);
}

#[test]
fn a_hand_back_abandons_nothing() {
    let mut play = Play::start(&waiting());
    play.offer(Input::HandBack);
    play.pump();
    assert!(!play.machine.lags());
    assert!(!play.has(Kind::StepAbandoned));
    assert_eq!(Play::resume(&play.log, &waiting()).runs(), ["slow"]);
}

#[test]
fn a_cancel_abandons_nothing_and_a_user_drop_that_panics_takes_nobody_along() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in a drop");
        }
    }
    let flow = flow(|cx| async move {
        let _bomb = Bomb;
        step(&cx, "slow", json!(0)).await;
        std::mem::forget(_bomb);
        ok(())
    });
    let mut play = Play::start(&flow);
    play.cancel(1);
    play.pump();
    assert_eq!(play.closed, Some(Status::Cancelled));
    assert!(!play.has(Kind::StepAbandoned));
}

#[test]
fn a_panic_abandons_nothing() {
    let flow = flow(|cx| async move {
        let panics = async {
            step(&cx, "quick", json!(0)).await;
            panic!("while `slow` is pending")
        };
        let raced = race(step(&cx, "slow", json!(0)), panics).await;
        ok(raced.map_or_else(|()| json!(0), told))
    });
    let mut play = Play::start(&flow);
    play.done("quick", json!(0));
    play.parked(Fault::FlowPanicked);
    assert!(!play.has(Kind::StepAbandoned));
}

#[test]
fn an_end_that_comes_after_the_owner_let_go_has_no_effect() {
    let mut play = Play::start(&waiting());
    play.offer(Input::Fault(ParkReport::new(Fault::MissingStep, "gone")));
    play.pump();
    let log = play.log.clone();
    let end = AttemptEnd::Returned(payload(json!(1)));
    let offered = play.offer(Input::Ended { frame: id("slow"), attempt: 1, end });
    assert!(matches!(offered, kernel::machine::Offered::Ignored(_)));
    play.pump();
    assert_eq!(play.log, log);
}

#[test]
fn a_retry_that_parks_again_is_used_up() {
    let panics = flow(|cx| async move {
        step(&cx, "a", json!(0)).await;
        panic!("not yet")
    });
    let mut play = Play::start(&panics);
    play.done("a", json!(1));
    play.parked(Fault::FlowPanicked);
    let mut again = Play::reading(&play.log, &panics, play.log.len() as u64, CODE);
    again.live();
    again.offer(Input::Noted { item: 7 });
    again.pump();
    again.parked(Fault::FlowPanicked);
    assert_eq!(again.batches.last().unwrap().consumed, [7]);
}
