//! How the flows of these tests ask for things: the durable calls, in few words.
//! Not the runtime's context: nothing is typed here, and every id is explicit.

use std::{panic::Location, sync::Arc, task::Poll, time::Duration};

use kernel::{
    Delivery, Failed, FrameId, OnClose, Payload, RetryPolicy, SourceLine, Timestamp,
    machine::{Call, Check, Cx, Due, FlowFuture, FlowReturn, Op, Request, Settled},
};
use serde_json::{Value, json};

/// A flow, to be spawned as often as a test needs.
pub(crate) type Flow = Arc<dyn Fn(Cx, Payload) -> FlowFuture + Send + Sync>;

/// The flow that `body` is.
pub(crate) fn flow<F, R>(body: F) -> Flow
where
    F: Fn(Cx) -> R + Send + Sync + 'static,
    R: Future<Output = FlowReturn> + Send + 'static,
{
    Arc::new(move |cx, _| Box::pin(body(cx)))
}

pub(crate) fn id(text: &str) -> FrameId {
    FrameId::parsed(text)
}

pub(crate) fn payload(value: Value) -> Payload {
    Payload::from_value(&value)
}

pub(crate) fn secs(seconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds * 1_000_000)
}

/// `attempts` in all, one second apart.
pub(crate) fn retries(attempts: u32) -> RetryPolicy {
    let second = Duration::from_secs(1);
    RetryPolicy { attempts, initial: second, max: second, factor: 1 }
}

#[track_caller]
pub(crate) fn here() -> SourceLine {
    let at = Location::caller();
    SourceLine { file: at.file().into(), line: at.line() }
}

#[track_caller]
fn call(cx: &Cx, frame: &str, op: Op) -> Call {
    cx.call(Request { frame: id(frame), op, site: here(), memo: false })
}

/// A default step, whose registered name is the id up to its index.
#[track_caller]
pub(crate) fn step(cx: &Cx, frame: &str, input: Value) -> Call {
    let step = frame.split('#').next().unwrap_or(frame).into();
    let (delivery, retry) = (Delivery::AtLeastOnce, RetryPolicy::NONE);
    call(
        cx,
        frame,
        Op::Step {
            step,
            input: payload(input),
            delivery,
            retry,
            timeout: None,
            refuse: None,
            detached: false,
        },
    )
}

/// A step of another delivery mode, with retries.
#[track_caller]
pub(crate) fn step_of(cx: &Cx, frame: &str, mode: Delivery, attempts: u32) -> Call {
    let mut made = step(cx, frame, json!(frame));
    if let Some(Request { op: Op::Step { delivery, retry, .. }, .. }) = made.request_mut() {
        (*delivery, *retry) = (mode, retries(attempts));
    }
    made
}

#[track_caller]
pub(crate) fn sleep(cx: &Cx, frame: &str, seconds: u64) -> Call {
    call(cx, frame, Op::Timer(Due::After(Duration::from_secs(seconds))))
}

#[track_caller]
pub(crate) fn sleep_until(cx: &Cx, frame: &str, at: Timestamp) -> Call {
    call(cx, frame, Op::Timer(Due::At(at)))
}

#[track_caller]
pub(crate) fn gate(cx: &Cx, frame: &str, timeout: Option<u64>) -> Call {
    let timeout = timeout.map(Duration::from_secs);
    let gate = frame.split('#').next().unwrap_or(frame).into();
    call(cx, frame, Op::Gate { gate, schema: payload(json!(true)), timeout })
}

#[track_caller]
pub(crate) fn decide(cx: &Cx, frame: &str, value: Value) -> Call {
    call(cx, frame, Op::Decision(payload(value)))
}

/// A wait for a message that can be read.
#[track_caller]
pub(crate) fn receive(cx: &Cx, frame: &str, topic: &str) -> Call {
    receive_checked(cx, frame, topic, |_| Ok(()))
}

#[track_caller]
pub(crate) fn receive_checked(cx: &Cx, frame: &str, topic: &str, check: Check) -> Call {
    call(cx, frame, Op::Receive { topic: topic.into(), check })
}

/// A child of the flow that the id names up to its index.
#[track_caller]
pub(crate) fn child(cx: &Cx, frame: &str, on_close: OnClose) -> Call {
    let flow = frame.split('#').next().unwrap_or(frame).into();
    call(
        cx,
        frame,
        Op::Child { flow, input: payload(json!(frame)), version: 1, child: None, on_close, refuse: None },
    )
}

/// A step that goes on when nobody waits for it.
#[track_caller]
pub(crate) fn detached_step(cx: &Cx, frame: &str) -> Call {
    let mut made = step(cx, frame, json!(frame));
    if let Some(Request { op: Op::Step { detached, .. }, .. }) = made.request_mut() {
        *detached = true;
    }
    made
}

/// Polls a call once, so that it is asked for, and drops it.
pub(crate) async fn drop_begun(made: Call) {
    let mut made = Box::pin(made);
    std::future::poll_fn(|task| {
        let _ = made.as_mut().poll(task);
        Poll::Ready(())
    })
    .await;
}

/// The call asks for the first outcome when its id was issued before.
pub(crate) fn memo(mut made: Call) -> Call {
    made.request_mut().unwrap().memo = true;
    made
}

/// What a flow returns when all is well.
pub(crate) fn ok(value: impl serde::Serialize) -> FlowReturn {
    Ok(Payload::encode(&value).unwrap())
}

/// A step's own error.
pub(crate) fn failed(code: &str) -> Failed {
    Failed { code: code.into(), message: code.into(), error: Some(payload(json!(code))), engine: None }
}

/// An outcome in one word or value.
pub(crate) fn told(settled: Settled) -> Value {
    match settled {
        Settled::Completed(value) => value.decode().unwrap(),
        Settled::Failed(failure) => json!(failure.code),
        Settled::Fired => json!("fired"),
        Settled::Answered { answer, .. } => answer.decode().unwrap(),
        Settled::Expired => json!("expired"),
        Settled::Received(message) => message.body.decode().unwrap(),
        Settled::Cancelled(cancelled) => json!(cancelled.reason),
    }
}

/// The first of two to be ready, the left one when both are; the loser is dropped.
pub(crate) async fn race<A: Future, B: Future>(a: A, b: B) -> Result<A::Output, B::Output> {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    std::future::poll_fn(|task| match a.as_mut().poll(task) {
        Poll::Ready(won) => Poll::Ready(Ok(won)),
        Poll::Pending => b.as_mut().poll(task).map(Err),
    })
    .await
}
