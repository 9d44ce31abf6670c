//! The fold on its own: what contradicts the events before it is refused, and leaves the state as it was.
//! Not the replay: no flow runs here.

use kernel::*;
use proptest::prelude::*;
use serde_json::json;

use crate::{calls::*, play::*};

/// One event of each understood kind about frame `a` or `b`, in any order.
fn any_event() -> impl Strategy<Value = Event> {
    let frame = prop_oneof![Just("a"), Just("b")].prop_map(id);
    let fields = (0..28_u8, frame, 1..3_u32, any::<bool>());
    fields.prop_map(|(kind, frame, attempt, flag)| {
        let (value, at) = (payload(json!(flag)), secs(9));
        match kind {
            0 => started()[0].event.clone(),
            1 => Event::ExecutionSuspended(Suspended::default()),
            2 => Event::ExecutionResumed(Resumed::default()),
            3 => Event::ExecutionCompleted(Completed { output: value }),
            4 => Event::ExecutionFailed(ExecutionFailure { failure: failed("No") }),
            5 => Event::ExecutionCancelled(Cancelled::default()),
            6 => Event::ExecutionParked(Parked { report: ParkReport::new(Fault::Stuck, "stuck") }),
            7 | 8 => {
                let (step, digest, delivery) = ("s".into(), value.digest(), Delivery::AtLeastOnce);
                Event::StepStarted(StepStarted { frame, step, attempt, digest, input: Some(value), delivery })
            }
            9 => Event::StepCompleted(StepCompleted { frame, attempt, output: value, by: None }),
            10 => {
                let (failure, retry_at) = (failed("No"), flag.then_some(at));
                Event::StepFailed(StepFailed { frame, attempt, failure, retry_at, not_made: false })
            }
            11 => Event::StepAbandoned(Abandoned { frame }),
            12 => Event::DecisionRecorded(Decision { frame, value }),
            13 => Event::TimerSet(TimerSet { frame, fire_at: at }),
            14 => Event::TimerFired(Fired { frame }),
            15 => {
                Event::GateOpened(GateOpened { frame, gate: "g".into(), schema: value, expires_at: Some(at) })
            }
            16 => Event::GateAnswered(GateAnswered { frame, answer: value, by: "ann".into() }),
            17 => Event::EffectIndoubt(InDoubt { frame, attempt, reason: "crash".into() }),
            18 => Event::MessageAwaited(MessageAwaited { frame, topic: "t".into() }),
            19 => {
                let message = Message { topic: "t".into(), body: value, by: "ann".into(), reply_to: None };
                match flag {
                    true => Event::MessageReceived(MessageReceived { frame, message }),
                    false => Event::MessageDeadLettered(DeadLetter { message, reason: "nobody".into() }),
                }
            }
            20 => {
                let (to, topic, body) = (execution(), "t".into(), value);
                Event::MessageSent(MessageSent { frame, to, topic, body })
            }
            21 => {
                let reply = Reply::Accepted(value);
                Event::UpdateAnswered(UpdateAnswered { frame, reply_to: "k".into(), reply })
            }
            22 => {
                let (child, flow, digest) = (execution(), "f".into(), value.digest());
                let on_close = OnClose::Cancel;
                Event::ChildStarted(ChildStarted {
                    frame,
                    child,
                    flow,
                    digest,
                    input: value,
                    input_version: 1,
                    on_close,
                })
            }
            23 => Event::ChildSettled(ChildSettled { frame, outcome: Outcome::Completed(value) }),
            24 => {
                let outcome = flag.then_some(Outcome::Completed(value));
                Event::OutcomeDiscarded(Discarded { frame, attempt, outcome })
            }
            25 => Event::ChangeMarked(ChangeMarked { frame }),
            26 => {
                let from = ForkPoint { execution: execution(), events: 1 };
                let children = flag.then(|| (frame, "own".parse().unwrap()));
                Event::ExecutionForked(Forked {
                    children: children.into_iter().collect(),
                    ..Forked::at(from)
                })
            }
            _ => Event::Domain(Domain { frame, name: "fact".into(), version: 1, data: value }),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes: a refused event changes nothing, an accepted one moves on by one; what is settled stays so, and
    /// after the end nothing is accepted.
    #[test]
    fn refused_events_change_nothing(events in prop::collection::vec(any_event(), 1..30)) {
        let mut state = State::of(&started()).unwrap();
        for event in events {
            let before = state.clone();
            let envelope = envelope(state.next, secs(1), event);
            match state.apply(&envelope) {
                Err(error) => {
                    prop_assert_eq!(&state, &before);
                    prop_assert_eq!(error.sequence, before.next);
                }
                Ok(()) => {
                    prop_assert!(!before.status.is_terminal());
                    prop_assert_eq!(state.next, before.next + 1);
                    for (frame, known) in before.frames.iter().filter(|(_, f)| f.status == FrameStatus::Settled) {
                        let now = &state.frames[frame];
                        prop_assert_eq!((now.status, &now.outcome), (known.status, &known.outcome));
                    }
                }
            }
        }
    }
}

#[test]
fn a_log_is_dense_and_starts_with_its_start() {
    let start = started().remove(0);
    let resumed = |sequence| envelope(sequence, secs(1), Event::ExecutionResumed(Resumed::default()));
    assert!(State::of([&resumed(0)]).is_err());
    assert!(State::of([&start, &resumed(2)]).is_err());
    assert!(State::of([&start, &resumed(0)]).is_err());
    assert!(State::of([&start, &start]).is_err());
    let error = State::of([&start, &resumed(7)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "event 7 of `test` does not follow from those before it: the next sequence is 1"
    );
}

#[test]
fn reserved_kinds_are_kept_and_change_nothing() {
    let mut state = State::of(&started()).unwrap();
    let before = state.clone();
    let reserved = Event::Reserved(Kind::ResourceMetered, payload(json!({"tokens": 7})));
    state.apply(&envelope(1, secs(1), reserved)).unwrap();
    assert_eq!((state.frames, state.status, state.next), (before.frames, before.status, 2));
}
