//! B93: what is written of an event is what is read of it, for every kind.
//! Not old logs: those are `golden`.

use std::time::Duration;

use kernel::*;
use proptest::{collection::vec, option, prelude::*};
use serde_json::Value;

use crate::{calls::payload, play::execution};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no NaN", |f| f.is_finite()).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |json| {
        prop_oneof![
            vec(json.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", json, 0..3)
                .prop_map(|m| Value::Object(m.into_iter().collect())),
        ]
    })
}

fn any_payload() -> impl Strategy<Value = Payload> {
    any_json().prop_map(payload)
}

fn any_frame() -> impl Strategy<Value = FrameId> {
    (".{1,6}", vec(".{0,3}", 0..3)).prop_map(|(base, levels)| FrameId::compose(None, &base, &levels))
}

fn any_instant() -> impl Strategy<Value = Timestamp> {
    any::<i64>().prop_map(Timestamp::from_micros)
}

fn any_digest() -> impl Strategy<Value = Digest> {
    any::<u64>().prop_map(|n| Digest::of(&n.to_le_bytes()))
}

fn any_code() -> impl Strategy<Value = Fingerprints> {
    (any::<u64>(), any::<u64>()).prop_map(|(body, structure)| Fingerprints { body, structure })
}

fn any_effect_error() -> impl Strategy<Value = EffectError> {
    prop_oneof![
        ".*".prop_map(|reason| EffectError::Denied { reason }),
        any::<u64>().prop_map(|after_ms| EffectError::TimedOut { after_ms }),
        (any::<u32>(), ".*").prop_map(|(attempts, last)| EffectError::Exhausted { attempts, last }),
        Just(EffectError::Cancelled),
        ".*".prop_map(|resource| EffectError::OverBudget { resource }),
        ".*".prop_map(|step| EffectError::UnknownStep { step }),
        (".*", ".*", ".*").prop_map(|(step, code, message)| EffectError::StepFailed { step, code, message }),
        (".*", ".*").prop_map(|(step, reason)| EffectError::InvalidInput { step, reason }),
        (any::<u32>(), ".*").prop_map(|(attempt, by)| EffectError::InDoubt { attempt, by }),
        (".*", ".*").prop_map(|(child, reason)| EffectError::NotStarted { child, reason }),
        (".*", any::<u64>(), any::<u64>()).prop_map(|(step, size, limit)| EffectError::PayloadTooLarge {
            step,
            what: "input".into(),
            size,
            limit
        }),
    ]
}

fn any_failed() -> impl Strategy<Value = Failed> {
    let user = (".*", ".*", option::of(any_payload()), option::of(any_effect_error()));
    user.prop_map(|(code, message, error, engine)| Failed { code, message, error, engine })
}

fn any_report() -> impl Strategy<Value = ParkReport> {
    let fault = proptest::sample::select(vec![
        Fault::Divergence,
        Fault::StepIdReused,
        Fault::ForeignWake,
        Fault::Stuck,
        Fault::OutsidePass,
        Fault::Spinning,
        Fault::FlowPanicked,
        Fault::StepPanicked,
        Fault::Undecodable,
        Fault::Unserializable,
        Fault::MissingFlow,
        Fault::MissingStep,
        Fault::MissingResource,
        Fault::MissingId,
        Fault::Poisoned,
        Fault::InDoubt,
        Fault::HistoryTooLong,
        Fault::UnreadableLog,
    ]);
    let near = option::of((".*", any::<u32>()).prop_map(|(file, line)| SourceLine { file, line }));
    (fault, ".*", option::of(any_frame()), option::of((".*", ".*")), option::of(any::<u64>()), near).prop_map(
        |(fault, message, frame, versus, sequence, near)| {
            let (expected, found) = versus.unzip();
            let report = ParkReport::new(fault, message);
            ParkReport { frame, expected, found, sequence, near, ..report }
        },
    )
}

fn any_execution() -> impl Strategy<Value = ExecutionId> {
    "[a-z0-9:#.-]{1,12}".prop_map(|text| text.parse().unwrap())
}

fn any_parent() -> impl Strategy<Value = Parent> {
    (any_execution(), any_frame()).prop_map(|(execution, frame)| Parent { execution, frame })
}

fn any_fork_point() -> impl Strategy<Value = ForkPoint> {
    (any_execution(), any::<u64>()).prop_map(|(execution, events)| ForkPoint { execution, events })
}

fn any_message() -> impl Strategy<Value = Message> {
    (".*", any_payload(), ".*", option::of(".*")).prop_map(|(topic, body, by, reply_to)| Message {
        topic,
        body,
        by,
        reply_to,
    })
}

fn any_outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        any_payload().prop_map(Outcome::Completed),
        any_failed().prop_map(Outcome::Failed),
        (".*", ".*").prop_map(|(reason, by)| Outcome::Cancelled { reason, by }),
    ]
}

fn any_event_of(kind: Kind) -> BoxedStrategy<Event> {
    let attempt = any::<u32>();
    let delivery = prop_oneof![Just(Delivery::Pure), Just(Delivery::AtLeastOnce), Just(Delivery::AtMostOnce)];
    match kind {
        Kind::ExecutionStarted => (
            ".*",
            any_payload(),
            1..9_u32,
            any_code(),
            any_digest(),
            option::of(any_parent()),
            vec(any::<u16>(), 0..3),
        )
            .prop_map(|(flow, input, input_version, code, seed, parent, flags)| {
                Event::ExecutionStarted(Started { flow, input, input_version, code, seed, parent, flags })
            })
            .boxed(),
        Kind::ExecutionSuspended => (vec(any_frame(), 0..3), option::of(any_instant()))
            .prop_map(|(waiting, wake_at)| Event::ExecutionSuspended(Suspended { waiting, wake_at }))
            .boxed(),
        Kind::ExecutionResumed => (".*", ".*")
            .prop_map(|(worker, reason)| Event::ExecutionResumed(Resumed { worker, reason }))
            .boxed(),
        Kind::ExecutionCompleted => {
            any_payload().prop_map(|output| Event::ExecutionCompleted(Completed { output })).boxed()
        }
        Kind::ExecutionFailed => {
            any_failed().prop_map(|failure| Event::ExecutionFailed(ExecutionFailure { failure })).boxed()
        }
        Kind::ExecutionCancelled => {
            (".*", ".*").prop_map(|(reason, by)| Event::ExecutionCancelled(Cancelled { reason, by })).boxed()
        }
        Kind::ExecutionMigrated => (any_code(), any_code(), option::of(any::<(u32, u32)>()))
            .prop_map(|(from, to, input)| {
                let input = input.map(|(from, to)| Upcasted { from, to });
                Event::ExecutionMigrated(Migrated { from, to, input })
            })
            .boxed(),
        Kind::ExecutionParked => {
            any_report().prop_map(|report| Event::ExecutionParked(Parked { report })).boxed()
        }
        Kind::StepStarted => (any_frame(), ".*", attempt, any_digest(), option::of(any_payload()), delivery)
            .prop_map(|(frame, step, attempt, digest, input, delivery)| {
                Event::StepStarted(StepStarted { frame, step, attempt, digest, input, delivery })
            })
            .boxed(),
        Kind::StepCompleted => (any_frame(), attempt, any_payload(), option::of(".*"))
            .prop_map(|(frame, attempt, output, by)| {
                Event::StepCompleted(StepCompleted { frame, attempt, output, by })
            })
            .boxed(),
        Kind::StepFailed => (any_frame(), attempt, any_failed(), option::of(any_instant()))
            .prop_map(|(frame, attempt, failure, retry_at)| {
                Event::StepFailed(StepFailed { frame, attempt, failure, retry_at, not_made: false })
            })
            .boxed(),
        Kind::StepAbandoned => {
            any_frame().prop_map(|frame| Event::StepAbandoned(Abandoned { frame })).boxed()
        }
        Kind::DecisionRecorded => (any_frame(), any_payload())
            .prop_map(|(frame, value)| Event::DecisionRecorded(Decision { frame, value }))
            .boxed(),
        Kind::TimerSet => (any_frame(), any_instant())
            .prop_map(|(frame, fire_at)| Event::TimerSet(TimerSet { frame, fire_at }))
            .boxed(),
        Kind::TimerFired => any_frame().prop_map(|frame| Event::TimerFired(Fired { frame })).boxed(),
        Kind::GateExpired => any_frame().prop_map(|frame| Event::GateExpired(Fired { frame })).boxed(),
        Kind::GateOpened => (any_frame(), ".*", any_payload(), option::of(any_instant()))
            .prop_map(|(frame, gate, schema, expires_at)| {
                Event::GateOpened(GateOpened { frame, gate, schema, expires_at })
            })
            .boxed(),
        Kind::GateAnswered => (any_frame(), any_payload(), ".*")
            .prop_map(|(frame, answer, by)| Event::GateAnswered(GateAnswered { frame, answer, by }))
            .boxed(),
        Kind::EffectIndoubt => (any_frame(), attempt, ".*")
            .prop_map(|(frame, attempt, reason)| Event::EffectIndoubt(InDoubt { frame, attempt, reason }))
            .boxed(),
        Kind::Domain => (any_frame(), ".*", attempt, any_payload())
            .prop_map(|(frame, name, version, data)| Event::Domain(Domain { frame, name, version, data }))
            .boxed(),
        Kind::MessageAwaited => (any_frame(), ".*")
            .prop_map(|(frame, topic)| Event::MessageAwaited(MessageAwaited { frame, topic }))
            .boxed(),
        Kind::MessageReceived => (any_frame(), any_message())
            .prop_map(|(frame, message)| Event::MessageReceived(MessageReceived { frame, message }))
            .boxed(),
        Kind::MessageDeadLettered => (any_message(), ".*")
            .prop_map(|(message, reason)| Event::MessageDeadLettered(DeadLetter { message, reason }))
            .boxed(),
        Kind::MessageSent => (any_frame(), any_execution(), ".*", any_payload())
            .prop_map(|(frame, to, topic, body)| Event::MessageSent(MessageSent { frame, to, topic, body }))
            .boxed(),
        Kind::UpdateAnswered => (
            any_frame(),
            ".*",
            prop_oneof![any_payload().prop_map(Reply::Accepted), ".*".prop_map(Reply::Rejected)],
        )
            .prop_map(|(frame, reply_to, reply)| {
                Event::UpdateAnswered(UpdateAnswered { frame, reply_to, reply })
            })
            .boxed(),
        Kind::ChildStarted => {
            (any_frame(), any_execution(), ".*", any_digest(), any_payload(), any::<bool>())
                .prop_map(|(frame, child, flow, digest, input, abandon)| {
                    let on_close = if abandon { OnClose::Abandon } else { OnClose::Cancel };
                    Event::ChildStarted(ChildStarted {
                        frame,
                        child,
                        flow,
                        digest,
                        input,
                        input_version: 2,
                        on_close,
                    })
                })
                .boxed()
        }
        Kind::ChildSettled => (any_frame(), any_outcome())
            .prop_map(|(frame, outcome)| Event::ChildSettled(ChildSettled { frame, outcome }))
            .boxed(),
        Kind::OutcomeDiscarded => (any_frame(), attempt, option::of(any_outcome()))
            .prop_map(|(frame, attempt, outcome)| {
                Event::OutcomeDiscarded(Discarded { frame, attempt, outcome })
            })
            .boxed(),
        Kind::CancelRequested => {
            (".*", ".*").prop_map(|(reason, by)| Event::CancelRequested(Cancelled { reason, by })).boxed()
        }
        Kind::ChangeMarked => {
            any_frame().prop_map(|frame| Event::ChangeMarked(ChangeMarked { frame })).boxed()
        }
        Kind::ContinuedAsNew => (
            (any::<u64>(), ".*", any_payload(), 1..9_u32, any_code(), any_digest()),
            (option::of(any_parent()), vec(any_parent(), 0..3), option::of(any_fork_point())),
        )
            .prop_map(|((run, flow, input, input_version, code, seed), (parent, watchers, origin))| {
                Event::ContinuedAsNew(NewRun {
                    run,
                    flow,
                    input,
                    input_version,
                    code,
                    seed,
                    parent,
                    watchers,
                    origin,
                    flags: Vec::new(),
                })
            })
            .boxed(),
        Kind::ExecutionForked => {
            let executions = || proptest::collection::btree_map(any_frame(), any_execution(), 0..3);
            let stubs = proptest::collection::btree_map(any_frame(), any_outcome(), 0..3);
            let answer = (any_payload(), ".*").prop_map(|(answer, by)| GivenAnswer { answer, by });
            let answers = proptest::collection::btree_map(any_frame(), answer, 0..3);
            let rerun = proptest::collection::btree_set(any_frame(), 0..3);
            (any_fork_point(), executions(), executions(), stubs, answers, rerun, ".*")
                .prop_map(|(from, children, adopted, stubs, answers, rerun, by)| {
                    let forked = Forked {
                        from,
                        children,
                        adopted,
                        stubs,
                        answers,
                        rerun,
                        seed: Some(Digest::of(b"fork")),
                        by,
                    };
                    Event::ExecutionForked(forked)
                })
                .boxed()
        }
        Kind::ExecutionEnding => {
            let end = prop_oneof![
                any_payload().prop_map(End::Completed),
                any_failed().prop_map(End::Failed),
                (".*", ".*").prop_map(|(reason, by)| End::Cancelled(Cancelled { reason, by })),
                any_payload().prop_map(End::ContinuedAsNew),
            ];
            (end, proptest::collection::btree_set(any_frame(), 0..3))
                .prop_map(|(end, waiting)| Event::ExecutionEnding(Ending { end, waiting }))
                .boxed()
        }
        Kind::EffectDenied => (any_frame(), ".*")
            .prop_map(|(frame, reason)| Event::EffectDenied(EffectDenied { frame, reason }))
            .boxed(),
        Kind::WatchAdded => any_parent().prop_map(Event::WatchAdded).boxed(),
        // The reserved ones; a kind that is understood but missing above is found by `kind()` below.
        reserved => any_payload().prop_map(move |payload| Event::Reserved(reserved, payload)).boxed(),
    }
}

fn any_envelope_of(kind: Kind) -> impl Strategy<Value = Envelope> {
    let text = || option::of(".{0,6}");
    let meta = (text(), text(), text(), text(), text())
        .prop_map(|(principal, tenant, trace, seal, origin)| Meta { principal, tenant, trace, seal, origin });
    (any_event_of(kind), any::<u64>(), any_instant(), meta).prop_map(|(event, sequence, at, meta)| Envelope {
        execution: execution(),
        sequence,
        at,
        event,
        meta,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn b93_every_kind_round_trips(
        envelopes in Kind::ALL.iter().map(|kind| any_envelope_of(*kind)).collect::<Vec<_>>()
    ) {
        for (envelope, kind) in envelopes.into_iter().zip(Kind::ALL) {
            let record = envelope.encode().unwrap();
            prop_assert_eq!(&record.kind, kind.name());
            prop_assert_eq!(record.schema, EVENT_SCHEMA);
            let read = Envelope::decode(&execution(), &record).unwrap();
            prop_assert_eq!(&read, &envelope);
            prop_assert_eq!(read.encode().unwrap(), record, "the same bytes again");
        }
    }
}

#[test]
fn names_of_kinds_are_unique_and_known() {
    for kind in Kind::ALL {
        assert_eq!(Kind::named(kind.name()), Some(*kind));
        assert!(kind.name().bytes().all(|b| b.is_ascii_uppercase() || b == b'_'));
    }
    let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert_eq!(Kind::named("step_started"), None);
}

#[test]
fn what_this_build_cannot_read_is_said_without_values() {
    let event = Event::TimerSet(TimerSet { frame: FrameId::parsed("t"), fire_at: Timestamp::EPOCH });
    let record = crate::play::envelope(4, Timestamp::EPOCH, event).encode().unwrap();
    let decode = |record: Record| Envelope::decode(&execution(), &record).unwrap_err().to_string();
    let newer = decode(Record { kind: "QUANTUM_LEAPT".into(), ..record.clone() });
    assert!(newer.contains("event 4") && newer.contains("QUANTUM_LEAPT"), "{newer}");
    assert!(decode(Record { schema: EVENT_SCHEMA + 1, ..record.clone() }).contains("schema version"));
    let damaged =
        decode(Record { payload: r#"{"frame":"t","fire_at":"tomorrow secret"}"#.into(), ..record.clone() });
    assert!(damaged.contains("TIMER_SET"), "{damaged}");
    assert!(decode(Record { meta: "7".into(), ..record.clone() }).contains("event 4"));
    // Fields that a newer build of the same schema added are passed over.
    let more = Record { payload: r#"{"frame":"t","fire_at":0,"zone":"UTC"}"#.into(), ..record };
    assert!(Envelope::decode(&execution(), &more).is_ok());
}

#[test]
fn numbers_are_read_as_they_were_written() {
    let number: f64 = -7.375497725044375e-227; // off by one place under serde_json's default reading
    let written = Payload::encode(&number).unwrap();
    assert_eq!(written.decode::<f64>().unwrap().to_bits(), number.to_bits());
    assert_eq!(Payload::parse(written.as_str()).unwrap(), written);
}

#[test]
fn null_is_a_value_and_not_an_absence() {
    let failure = Failed { error: Some(Payload::null()), ..crate::calls::failed("Unit") };
    let read: Failed = serde_json::from_str(&serde_json::to_string(&failure).unwrap()).unwrap();
    assert_eq!(read, failure, "an error type without fields is `null`");
    let absent: Failed = serde_json::from_str(r#"{"code":"c","message":"m"}"#).unwrap();
    assert_eq!(absent.error, None);
    let flow = crate::flow(|cx| async move {
        crate::step(&cx, "no-arguments", Value::Null).await;
        Err(Failed { error: Some(Payload::null()), ..crate::calls::failed("Unit") })
    });
    let mut play = crate::Play::start(&flow);
    play.done("no-arguments", Value::Null);
    let read: Vec<_> =
        play.log.iter().map(|e| Envelope::decode(&execution(), &e.encode().unwrap()).unwrap()).collect();
    assert_eq!(read, play.log);
}

#[test]
fn policies_and_verdicts_are_readable_json() {
    let policy =
        RetryPolicy { attempts: 3, initial: Duration::from_secs(1), max: Duration::from_secs(60), factor: 2 };
    let json = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<RetryPolicy>(&json).unwrap(), policy);
    for verdict in [
        machine::Verdict::Done(payload(serde_json::json!({"id": 1}))),
        machine::Verdict::Again,
        machine::Verdict::GiveUp,
    ] {
        let json = serde_json::to_string(&verdict).unwrap();
        assert_eq!(serde_json::from_str::<machine::Verdict>(&json).unwrap(), verdict);
    }
}
