//! B104: logs that a released version wrote, which every later build must decode, fold and replay.
//! Not for updating: a log under `golden/` is never written again once its version is out. `BLESS=1` writes those
//! that are missing; a new version gets a folder of its own.

use std::path::PathBuf;

use kernel::{Delivery, Envelope, Event, Kind, Record, RetryClass, State, machine::AttemptEnd};
use serde_json::{Value, json};

use crate::*;

const VERSION: &str = "0.1.0";

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden"].iter().collect()
}

fn line(envelope: &Envelope) -> String {
    let record = envelope.encode().unwrap();
    let Record { sequence, kind, at, schema, payload, meta } = record;
    json!({"sequence": sequence, "kind": kind, "at": at, "schema": schema, "payload": payload, "meta": meta})
        .to_string()
}

fn read(line: &str) -> Envelope {
    let row: Value = serde_json::from_str(line).unwrap();
    let text = |key: &str| row[key].as_str().unwrap().to_owned();
    let record = Record {
        sequence: row["sequence"].as_u64().unwrap(),
        kind: text("kind"),
        at: kernel::Timestamp::from_micros(row["at"].as_i64().unwrap()),
        schema: row["schema"].as_u64().unwrap().try_into().unwrap(),
        payload: text("payload"),
        meta: text("meta"),
    };
    Envelope::decode(&execution(), &record).unwrap()
}

/// A flow, and the history that its log holds.
type Golden = (&'static str, Flow, fn(&Flow) -> Vec<Envelope>);

/// The logs themselves, with their names.
pub(crate) fn golden_logs() -> Vec<(&'static str, Vec<Envelope>)> {
    goldens().into_iter().map(|(name, flow, history)| (name, history(&flow))).collect()
}

fn busy() -> AttemptEnd {
    AttemptEnd::Failed { failure: failed("Busy"), class: RetryClass::Transient }
}

fn goldens() -> Vec<Golden> {
    vec![
        ("steps-retries-and-choices", everything(), |flow| {
            let mut play = Play::start(flow);
            play.end("first", busy());
            play.wait(1);
            play.done("first", json!({"item": "tea", "price": 4.25, "id": 9_007_199_254_740_993_u64}));
            play.done("side#1", json!("right"));
            play.flush();
            let mut play = Play::resume(&play.log, flow);
            play.done("side#0", json!(null));
            assert_eq!(play.suspend(), kernel::Status::Suspended);
            let mut play = Play::resume(&play.log, flow);
            play.answer("ask", json!({"approved": true}), 1);
            play.pump();
            play.wait(60);
            play.output();
            play.log
        }),
        ("race-with-an-abandoned-charge", racing(), |flow| {
            let mut play = Play::start(flow);
            play.wait(5);
            play.done("after", json!(1));
            play.output();
            play.log
        }),
        ("in-doubt-and-a-verdict", charging(), |flow| {
            let play = Play::start(flow);
            let mut play = Play::resume(&play.log, flow);
            assert_eq!(play.suspend(), kernel::Status::Parked);
            let mut play = Play::resume(&play.log, flow);
            play.verdict("charge", kernel::machine::Verdict::Done(payload(json!("paid"))), 1);
            play.pump();
            assert_eq!(play.closed, Some(kernel::Status::Failed));
            play.log
        }),
        ("migrated-and-suspended", everything(), |flow| {
            let mut play = Play::start(flow);
            play.done("first", json!(1));
            play.flush();
            let code = kernel::Fingerprints { body: 2, structure: 1 };
            let mut play = Play::resume_with(&play.log, flow, code);
            for i in 0..2 {
                play.done(&format!("side#{i}"), json!(i));
            }
            play.wait(60);
            assert_eq!(play.closed, None);
            assert_eq!(play.suspend(), kernel::Status::Suspended);
            play.log
        }),
        ("cancelled", charging(), |flow| {
            let mut play = Play::start(flow);
            play.cancel(1);
            play.pump();
            play.log
        }),
        ("parked-by-a-divergence", charging(), |flow| {
            let mut play = Play::start(&racing());
            play.flush();
            let mut play = Play::resume(&play.log, flow);
            play.pump();
            assert!(play.state().parked.is_some());
            play.log
        }),
    ]
}

fn everything() -> Flow {
    flow(|cx| async move {
        let started = cx.now();
        let first = told(step_of(&cx, "first", Delivery::AtLeastOnce, 3).await);
        cx.emit(&id("noted"), here(), "noted", 2, payload(json!({"at": started.as_micros()})));
        decide(&cx, "which", json!("left")).await;
        let drawn = cx.entropy(&id("uuid"));
        let sides = (0..2).map(|i| step(&cx, &format!("side#{i}"), json!([i, drawn, first.clone()])));
        let sides = futures_util::future::join_all(sides).await;
        let (answer, timer) =
            futures_util::future::join(gate(&cx, "ask", None), sleep(&cx, "rest", 60)).await;
        let told: Vec<_> = sides.into_iter().chain([answer, timer]).map(told).collect();
        ok(told)
    })
}

fn racing() -> Flow {
    flow(|cx| async move {
        let won = race(step_of(&cx, "charge", Delivery::AtMostOnce, 1), gate(&cx, "ask", Some(5))).await;
        step(&cx, "after", won.map_or_else(told, told)).await;
        ok("moved on")
    })
}

fn charging() -> Flow {
    flow(|cx| async move {
        let paid = told(step_of(&cx, "charge", Delivery::AtMostOnce, 1).await);
        Err(failed(paid.as_str().unwrap()))
    })
}

#[test]
#[allow(clippy::disallowed_methods, reason = "golden logs are files")]
fn b104_golden_logs_decode_fold_and_replay() {
    let mut seen = std::collections::BTreeSet::new();
    for (name, flow, make) in goldens() {
        let path = folder().join(VERSION).join(format!("{name}.jsonl"));
        if std::env::var("BLESS").is_ok() && !path.exists() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            let lines: String = make(&flow).iter().map(|event| line(event) + "\n").collect();
            std::fs::write(&path, lines).unwrap();
        }
        for version in std::fs::read_dir(folder()).unwrap() {
            let path = version.unwrap().path().join(format!("{name}.jsonl"));
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let log: Vec<_> = text.lines().map(read).collect();
            seen.extend(log.iter().map(|event| event.event.kind()));
            assert_eq!(
                log.iter().map(|event| line(event) + "\n").collect::<String>(),
                text,
                "the same bytes"
            );
            replay(name, &log, &flow);
        }
        // And this build writes what the version said it would.
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|_| panic!("{path:?}: write it with BLESS=1"));
        let written: Vec<_> = text.lines().map(read).collect();
        let mended = |log: &[Envelope]| log.iter().map(without_line).collect::<Vec<_>>();
        assert_eq!(mended(&make(&flow)), mended(&written), "{name}");
    }
    for kind in Kind::ALL {
        let understood = !matches!(event_of_reserved(*kind), Some(Event::Reserved(..)));
        assert_eq!(seen.contains(kind), understood, "{}", kind.name());
    }
}

/// What `kind` reads as when this build only keeps it.
fn event_of_reserved(kind: Kind) -> Option<Event> {
    let record = Record {
        sequence: 0,
        kind: kind.name().into(),
        at: kernel::Timestamp::EPOCH,
        schema: 1,
        payload: "null".into(),
        meta: "{}".into(),
    };
    Envelope::decode(&execution(), &record).ok().map(|envelope| envelope.event)
}

/// Reports name lines of this file, which move, and give advice, which is reworded.
fn without_line(envelope: &Envelope) -> Envelope {
    let mut envelope = envelope.clone();
    if let Event::ExecutionParked(parked) = &mut envelope.event {
        parked.report.near = None;
        parked.report.help.clear();
    }
    envelope
}

fn replay(name: &str, log: &[Envelope], flow: &Flow) {
    for cut in 1..=log.len() {
        let folded = State::of(&log[..cut]).unwrap();
        let mut play = Play::reading(&log[..cut], flow, 1, CODE);
        if name == "parked-by-a-divergence" {
            continue; // this flow is the one that diverges
        }
        assert_eq!(play.state(), &folded, "{name} at {cut}");
        play.live();
        assert_eq!(play.machine.fault(), None, "{name} at {cut}");
    }
    let end = State::of(log).unwrap();
    assert_eq!(end.next, log.len() as u64);
}
