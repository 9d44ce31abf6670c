//! B104: logs that a released version wrote, which every later build must decode, fold and replay.
//! Not for updating: a log under `golden/` is never written again once its version is out. `BLESS=1` writes those
//! that are missing; a new version gets a folder of its own. `0.1.0-pre` holds what was written before the first
//! release, and is written differently since.

use std::path::PathBuf;

use kernel::{
    Delivery, Envelope, Event, Kind, OnClose, Record, Reply, RetryClass, State,
    machine::{AttemptEnd, Input, Op, Request, Settled},
};
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
        ("a-denied-effect", denied(), |flow| {
            let mut play = Play::start(flow);
            play.pump();
            play.output();
            play.log
        }),
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
        ("messages-and-an-update", talking(), |flow| {
            let mut play = Play::start(flow);
            play.message("orders", json!("unreadable"), 1);
            let (topic, body, by) = ("orders".into(), payload(json!({"sku": "tea"})), "ann".into());
            let message = kernel::Message { topic, body, by, reply_to: Some("update-7".into()) };
            play.offer(Input::Message { message, item: 2 });
            play.message("orders", json!({"sku": "late"}), 3);
            play.pump();
            play.output();
            play.log
        }),
        ("children-and-a-watcher", parenting(), |flow| {
            let mut play = Play::resume(&started_by("boss", "call#1"), flow);
            play.offer(Input::Watch {
                by: kernel::Parent { execution: "watcher".parse().unwrap(), frame: id("w") },
                item: 1,
            });
            play.child_done("pack", json!({"boxes": 2}), 2);
            let outcome = kernel::Outcome::Failed(failed("Lost"));
            play.offer(Input::ChildSettled {
                frame: id("ship"),
                child: play.child_of("ship"),
                outcome,
                item: 3,
            });
            play.flush();
            let mut play = Play::resume(&play.log, flow);
            let outcome = kernel::Outcome::Cancelled { reason: "closed".into(), by: "ann".into() };
            play.offer(Input::ChildSettled {
                frame: id("bill"),
                child: play.child_of("bill"),
                outcome,
                item: 4,
            });
            play.wait(60);
            play.child_done("remind", json!("too late"), 5);
            play.flush();
            play.done("close", json!(1));
            play.output();
            play.log
        }),
        ("cancelled-and-tidied-up", heeding(), |flow| {
            let mut play = Play::start(flow);
            play.cancel(1);
            play.pump();
            play.done("tidy", json!(1));
            assert_eq!(play.closed, Some(kernel::Status::Cancelled));
            play.log
        }),
        ("cancelled-while-a-child-lives", parenting(), |flow| {
            let mut play = Play::start(flow);
            play.cancel(1);
            play.pump();
            assert_eq!(play.suspend(), kernel::Status::Suspended);
            let mut play = Play::resume(&play.log, flow);
            for (frame, item) in [("pack", 2), ("ship", 3), ("bill", 4)] {
                play.child_done(frame, json!("too late"), item);
            }
            play.pump();
            assert_eq!(play.closed, Some(kernel::Status::Cancelled));
            play.log
        }),
        ("runs-of-changed-code", rolling(), |flow| {
            let mut play = Play::start(flow);
            for run in 0..3 {
                assert_eq!(play.state().run, run);
                play.done("work", json!(run));
            }
            play.output();
            play.log
        }),
        ("a-branch", branching(), |flow| {
            let mut play = Play::start(flow);
            play.flush();
            let from =
                kernel::ForkPoint { execution: "origin".parse().unwrap(), events: play.log.len() as u64 };
            let children = [(id("ship"), "branch:ship".parse().unwrap())].into();
            let (frame, reason) = (id("work"), "forked".into());
            let then = [
                Event::ExecutionForked(kernel::Forked { children, ..kernel::Forked::at(from) }),
                Event::EffectIndoubt(kernel::InDoubt { frame, attempt: 1, reason }),
            ];
            for event in then {
                play.log.push(envelope(play.log.len() as u64, kernel::Timestamp::EPOCH, event));
            }
            let mut play = Play::resume(&play.log, flow);
            play.verdict("work", kernel::machine::Verdict::Again, 1);
            play.child_done("ship", json!("shipped"), 2);
            play.pump();
            play.done("work", json!("worked"));
            play.output();
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

fn talking() -> Flow {
    fn is_object(body: &kernel::Payload) -> Result<(), String> {
        body.decode::<serde_json::Map<String, Value>>().map(drop).map_err(|_| "expected an object".into())
    }
    flow(|cx| async move {
        let Settled::Received(order) = receive_checked(&cx, "order", "orders", is_object).await else {
            panic!()
        };
        cx.send(&id("tell"), here(), "warehouse".parse().unwrap(), "news", order.body.clone());
        cx.reply(&id("reply"), here(), order.reply_to.unwrap(), Reply::Accepted(order.body));
        cx.reply(&id("reply"), here(), "update-8".into(), Reply::Rejected("closed".into()));
        ok("told")
    })
}

fn parenting() -> Flow {
    flow(|cx| async move {
        let all = ["pack", "ship", "bill"].map(|frame| child(&cx, frame, OnClose::Cancel));
        let ended: Vec<_> = futures_util::future::join_all(all).await.into_iter().map(told).collect();
        let _ = race(child(&cx, "remind", OnClose::Abandon), sleep(&cx, "patience", 60)).await;
        step(&cx, "close", json!(ended)).await;
        ok(ended)
    })
}

fn heeding() -> Flow {
    flow(|cx| async move {
        match race(gate(&cx, "ask", None), cx.cancellation(here())).await {
            Ok(answer) => ok(told(answer)),
            Err(_) => ok(told(step(&cx, "tidy", json!(cx.cancelled().unwrap().reason)).await)),
        }
    })
}

fn rolling() -> Flow {
    std::sync::Arc::new(|cx, input| {
        Box::pin(async move {
            let run: u64 = input.decode().unwrap_or(0);
            let changed = cx.changed(&id("new-tax"), here());
            let drawn = cx.entropy(&id("uuid"));
            step(&cx, "work", json!([run, changed, drawn])).await;
            if run == 2 {
                return ok(run);
            }
            cx.continue_as_new(payload(json!(run + 1)));
            std::future::pending().await
        })
    })
}

fn branching() -> Flow {
    flow(|cx| async move {
        let (work, ship) =
            futures_util::future::join(step(&cx, "work", json!(0)), child(&cx, "ship", OnClose::Cancel))
                .await;
        ok([told(work), told(ship)])
    })
}

fn denied() -> Flow {
    flow(|cx| async move {
        let mut refused = step(&cx, "charge", json!(7));
        if let Some(Request { op: Op::Step { refuse, .. }, .. }) = refused.request_mut() {
            *refuse = Some(kernel::EffectError::Denied { reason: "over the ceiling".into() });
        }
        ok(vec![told(refused.await)])
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
