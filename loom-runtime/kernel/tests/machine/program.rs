//! Random flows: programs as data, and the async fn that runs them over a `Cx`.
//! Not the schedule: in which order outcomes come is the world's choice.
//!
//! A program's value is a function of the program alone, so that every schedule, crash or not, must end in it.
//! What a flow sees besides (instants, entropy, choices, winners, answers) goes into the input of its next step,
//! where the digests of the log hold every replay to it.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
};

use futures_channel::{mpsc, oneshot};
use futures_util::{
    FutureExt, StreamExt,
    future::{join, join_all},
    stream::FuturesUnordered,
};
use kernel::{
    Delivery, Digest, FrameId, OnClose, Outcome, Timestamp,
    machine::{Cx, Op, Request, Settled},
};
use proptest::prelude::*;
use serde_json::json;

use crate::calls::*;

#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// A step, by what becomes of it: see [`crate::world::attempt`].
    Step(&'static str, Delivery),
    Timer(u64),
    Until(i64),
    Gate(Option<u64>),
    /// Takes a message.
    Receive(&'static str),
    Send,
    /// A child, by what becomes of it: see [`crate::world::end_of_child`].
    Child(&'static str, OnClose),
    /// A child that nobody waits for.
    Spawn,
    /// A step that goes on when it is dropped.
    Detached,
    /// Follows changed code.
    Changed,
    /// Tidies up when it is cancelled.
    Heed(Box<Node>),
    Decide,
    Emit,
    /// Reads the clock and entropy.
    Read,
    /// Asks twice under one id.
    Memo,
    Seq(Vec<Node>),
    Join(How, Vec<Node>),
    Loop(u8, Box<Node>),
    /// Drops the loser.
    Race(Box<Node>, Box<Node>),
    /// The receiver is joined before its sender.
    Oneshot(Box<Node>, Box<Node>),
    /// A bounded channel: the receiver works on each item.
    Stream(u8, Box<Node>, Box<Node>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum How {
    All,
    Unordered,
    Shared,
    /// In pairs, each an `async` block of its own.
    Nested,
}

/// A flow of some runs: what each does, and what it leaves open when it ends.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) runs: u64,
    pub(crate) leaves: Vec<Node>,
    pub(crate) node: Node,
}

/// What the flow saw, in order.
pub(crate) type Trace = Arc<Mutex<Vec<String>>>;

/// The value, and what was seen on the way.
type Ran = Pin<Box<dyn Future<Output = (u64, u64)> + Send>>;

fn mix(a: u64, b: impl std::fmt::Debug) -> u64 {
    let bytes = Digest::of(format!("{a} {b:?}").as_bytes()).bytes();
    u64::from_le_bytes(bytes[..8].try_into().unwrap())
}

/// The flow that a program is.
pub(crate) fn flow_of(program: &Program, trace: &Trace) -> Flow {
    let (program, trace) = (program.clone(), trace.clone());
    Arc::new(move |cx: Cx, input| {
        trace.lock().unwrap().clear();
        let (run, before, seen): (u64, u64, u64) = input.decode().unwrap_or_default();
        let interpreter = Interpreter { cx: cx.clone(), trace: trace.clone() };
        let last = run + 1 >= program.runs;
        let leaves = if last { Vec::new() } else { program.leaves.clone() };
        let left =
            leaves.into_iter().enumerate().map(|(i, node)| interpreter.run(node, format!("l{i}"), seen));
        let mut left: Vec<_> = left.map(FutureExt::fuse).collect();
        let ran = interpreter.run(program.node.clone(), "r".into(), seen);
        Box::pin(async move {
            let mut ran = ran;
            let (value, seen) = std::future::poll_fn(|task| {
                for node in &mut left {
                    let _ = node.poll_unpin(task);
                }
                ran.as_mut().poll(task)
            })
            .await;
            let value = mix(before, value);
            if last {
                return ok(json!({"value": value, "seen": seen}));
            }
            cx.continue_as_new(payload(json!([run + 1, value, seen])));
            std::future::pending::<()>().await;
            drop(left); // none of it before the run is over
            unreachable!("a run that is over")
        })
    })
}

#[derive(Clone)]
struct Interpreter {
    cx: Cx,
    trace: Trace,
}

impl Interpreter {
    fn run(&self, node: Node, path: String, seen: u64) -> Ran {
        let this = self.clone();
        Box::pin(async move { this.node(node, path, seen).await })
    }

    async fn settled(&self, op: Op, path: &str, memo: bool) -> Settled {
        let request = Request { frame: id(path), op, site: here(), memo };
        let settled = self.cx.call(request).await;
        let now = self.cx.now();
        self.trace.lock().unwrap().push(format!("{path} {settled:?} at {now}"));
        settled
    }

    /// A step's input is what was seen; its outcome is seen, and only the value of one that cannot fail counts.
    async fn step(&self, kind: &str, delivery: Delivery, path: &str, seen: u64, memo: bool) -> (u64, u64) {
        let detached = kind == "detached";
        let (step, input) = (kind.to_owned(), payload(json!(seen)));
        // More attempts than any schedule has crashes: those count too.
        let retry = if kind == "broken" { retries(2) } else { retries(1000) };
        let op = Op::Step { step, input, delivery, retry, timeout: None, refuse: None, detached };
        let settled = self.settled(op, path, memo).await;
        let sure = delivery != Delivery::AtMostOnce && !matches!(kind, "broken" | "refused");
        if sure {
            assert!(
                matches!(&settled, Settled::Completed(v) if *v == crate::world::result(path)),
                "{settled:?}"
            );
        }
        (mix(1, path), mix(seen, settled))
    }

    async fn node(&self, node: Node, path: String, seen: u64) -> (u64, u64) {
        let cx = &self.cx;
        let site = FrameId::parsed(&format!("{path}:site"));
        match node {
            Node::Step(kind, delivery) => self.step(kind, delivery, &path, seen, false).await,
            Node::Timer(wait) => {
                let due = kernel::machine::Due::After(std::time::Duration::from_secs(wait));
                (2, mix(seen, self.settled(Op::Timer(due), &path, false).await))
            }
            Node::Until(at) => {
                let due = kernel::machine::Due::At(Timestamp::from_micros(at * 1_000_000));
                (2, mix(seen, self.settled(Op::Timer(due), &path, false).await))
            }
            Node::Gate(timeout) => {
                let timeout = timeout.map(std::time::Duration::from_secs);
                let op = Op::Gate { gate: "gate".into(), schema: payload(json!(true)), timeout };
                (3, mix(seen, self.settled(op, &path, false).await))
            }
            Node::Receive(topic) => {
                let op = Op::Receive { topic: topic.into(), check: crate::world::readable };
                (13, mix(seen, self.settled(op, &path, false).await))
            }
            Node::Send => {
                cx.send(&site, here(), "other".parse().unwrap(), "news", payload(json!(seen)));
                (5, seen)
            }
            Node::Child(flow, on_close) => {
                let (flow, input) = (flow.to_owned(), payload(json!(seen)));
                let expected = crate::world::end_of_child(&flow, &path);
                let op = Op::Child { flow, input, version: 1, child: None, on_close, refuse: None };
                let settled = self.settled(op, &path, false).await;
                let is_it = match (&expected, &settled) {
                    (Outcome::Completed(a), Settled::Completed(b)) => a == b,
                    (Outcome::Failed(a), Settled::Failed(b)) => a == b,
                    _ => false,
                };
                assert!(is_it, "{settled:?}, not {expected:?}");
                (mix(14, path), mix(seen, settled))
            }
            Node::Spawn => {
                drop_begun(child(cx, &path, OnClose::Abandon)).await;
                (15, seen)
            }
            Node::Detached => self.step("detached", Delivery::AtLeastOnce, &path, seen, false).await,
            Node::Changed => {
                let changed = cx.changed(&site, here());
                assert!(changed, "there has never been other code");
                self.step("ok", Delivery::AtLeastOnce, &path, seen, false).await
            }
            Node::Heed(node) => {
                let listens = cx.cancellation(here());
                match race(self.run(*node, format!("{path}.n"), seen), listens).await {
                    Ok((value, seen)) => (mix(16, value), seen),
                    Err(_) => {
                        self.step("ok", Delivery::AtLeastOnce, &format!("{path}.tidy"), seen, false).await
                    }
                }
            }
            Node::Decide => {
                // Another choice on every run: only the recorded one may be seen again.
                let op = Op::Decision(payload(json!(crate::world::fresh())));
                (4, mix(seen, self.settled(op, &path, false).await))
            }
            Node::Emit => {
                cx.emit(&site, here(), "fact", 1, payload(json!(seen)));
                cx.emit(&site, here(), "fact", 1, payload(json!(seen)));
                (5, seen)
            }
            Node::Read => {
                let read = (cx.now(), cx.entropy(&site), cx.entropy(&site));
                assert_ne!(read.1, read.2);
                let seen = mix(seen, read);
                self.trace.lock().unwrap().push(format!("{path} read {seen}"));
                (6, seen)
            }
            Node::Memo => {
                let twice = [false, true]
                    .map(|memo| self.clone().owned_step("ok".into(), format!("{path}m"), seen, memo));
                let both = join_all(twice).await;
                assert_eq!(both[0], both[1]);
                both[0]
            }
            Node::Seq(nodes) => {
                let (mut value, mut seen) = (7, seen);
                for (i, node) in nodes.into_iter().enumerate() {
                    let (v, s) = self.run(node, format!("{path}.{i}"), seen).await;
                    (value, seen) = (mix(value, v), s);
                }
                (value, seen)
            }
            Node::Loop(times, node) => {
                let (mut value, mut seen) = (8, seen);
                for i in 0..times {
                    let (v, s) = self.run((*node).clone(), format!("{path}#{i}"), seen).await;
                    (value, seen) = (mix(value, v), s);
                }
                (value, seen)
            }
            Node::Join(how, nodes) => self.join(how, nodes, path, seen).await,
            Node::Race(a, b) => {
                let (a, b) =
                    (self.run(*a, format!("{path}.a"), seen), self.run(*b, format!("{path}.b"), seen));
                let won = race(a, b).await.map_or_else(|b| ("b", b.1), |a| ("a", a.1));
                (9, mix(seen, won))
            }
            Node::Oneshot(from, to) => {
                let (tx, rx) = oneshot::channel();
                let receiver = async {
                    let got = rx.await.unwrap();
                    self.run(*to, format!("{path}.to"), got).await
                };
                let sender = async {
                    let (value, seen) = self.run(*from, format!("{path}.from"), seen).await;
                    tx.send(seen).unwrap();
                    value
                };
                let ((value, seen), sent) = join(receiver, sender).await;
                (mix(value, sent), seen)
            }
            Node::Stream(items, from, to) => {
                let (mut tx, mut rx) = mpsc::channel(0);
                let receiver = async {
                    let (mut value, mut last) = (10, seen);
                    while let Some((i, got)) = rx.next().await {
                        let (v, s) = self.run((*to).clone(), format!("{path}.to#{i}"), mix(last, got)).await;
                        (value, last) = (mix(value, v), s);
                    }
                    (value, last)
                };
                let sender = async {
                    let mut value = 11;
                    for i in 0..items {
                        let (v, s) = self.run((*from).clone(), format!("{path}.from#{i}"), seen).await;
                        value = mix(value, v);
                        std::future::poll_fn(|task| tx.poll_ready(task)).await.unwrap();
                        tx.start_send((i, s)).unwrap();
                    }
                    drop(tx);
                    value
                };
                let ((value, seen), sent) = join(receiver, sender).await;
                (mix(value, sent), seen)
            }
        }
    }

    async fn owned_step(self, kind: String, path: String, seen: u64, memo: bool) -> (u64, u64) {
        self.step(&kind, Delivery::AtLeastOnce, &path, seen, memo).await
    }

    async fn join(&self, how: How, nodes: Vec<Node>, path: String, seen: u64) -> (u64, u64) {
        let branches: Vec<_> = nodes
            .into_iter()
            .enumerate()
            .map(|(i, node)| self.run(node, format!("{path}.{i}"), seen).map(move |(v, s)| (i, v, s)))
            .collect();
        let mut ended = match how {
            How::All => join_all(branches).await,
            How::Unordered => branches.into_iter().collect::<FuturesUnordered<_>>().collect().await,
            How::Shared => {
                let shared: Vec<_> = branches.into_iter().map(FutureExt::shared).collect();
                let twice: Vec<_> = shared.iter().chain(&shared).cloned().collect();
                let mut ended = join_all(twice).await;
                ended.truncate(shared.len());
                ended
            }
            How::Nested => {
                let mut rest: Pin<Box<dyn Future<Output = Vec<_>> + Send>> = Box::pin(async { Vec::new() });
                for branch in branches {
                    let before = rest;
                    rest = Box::pin(async {
                        let one = async {
                            let (i, value, seen) = branch.await;
                            (i, value, seen)
                        };
                        let (mut ended, one) = join(before, one).await;
                        ended.push(one);
                        ended
                    });
                }
                rest.await
            }
        };
        let seen = ended.iter().fold(seen, |seen, (i, _, s)| mix(seen, (i, s)));
        ended.sort_unstable();
        (ended.iter().fold(12, |value, (_, v, _)| mix(value, v)), seen)
    }
}

pub(crate) fn any_program() -> impl Strategy<Value = Program> {
    let delivery = prop_oneof![Just(Delivery::Pure), Just(Delivery::AtLeastOnce), Just(Delivery::AtMostOnce)];
    let on_close = prop_oneof![Just(OnClose::Cancel), Just(OnClose::Abandon)];
    let kind = prop_oneof![4 => Just("ok"), 2 => Just("flaky"), 1 => Just("broken"), 1 => Just("refused")];
    let leaf = prop_oneof![
        6 => (kind, delivery).prop_map(|(kind, delivery)| Node::Step(kind, delivery)),
        1 => (0..20_u64).prop_map(Node::Timer),
        1 => (0..40_i64).prop_map(Node::Until),
        2 => proptest::option::of(1..30_u64).prop_map(Node::Gate),
        2 => prop_oneof![Just("t"), Just("u")].prop_map(Node::Receive),
        1 => Just(Node::Send),
        2 => (prop_oneof![3 => Just("ok"), 1 => Just("broken")], on_close).prop_map(|(flow, on_close)| Node::Child(flow, on_close)),
        1 => Just(Node::Spawn),
        1 => Just(Node::Detached),
        1 => Just(Node::Changed),
        1 => Just(Node::Decide),
        1 => Just(Node::Emit),
        2 => Just(Node::Read),
        1 => Just(Node::Memo),
    ];
    let node = leaf.prop_recursive(4, 40, 5, |node| {
        let boxed = || node.clone().prop_map(Box::new);
        let how = prop_oneof![Just(How::All), Just(How::Unordered), Just(How::Shared), Just(How::Nested)];
        prop_oneof![
            3 => prop::collection::vec(node.clone(), 2..4).prop_map(Node::Seq),
            3 => (how, prop::collection::vec(node.clone(), 2..4)).prop_map(|(how, nodes)| Node::Join(how, nodes)),
            1 => (1..4_u8, boxed()).prop_map(|(times, node)| Node::Loop(times, node)),
            2 => (boxed(), boxed()).prop_map(|(a, b)| Node::Race(a, b)),
            1 => boxed().prop_map(Node::Heed),
            1 => (boxed(), boxed()).prop_map(|(a, b)| Node::Oneshot(a, b)),
            1 => (1..3_u8, boxed(), boxed()).prop_map(|(items, a, b)| Node::Stream(items, a, b)),
        ]
    });
    let how = prop_oneof![Just(How::All), Just(How::Unordered), Just(How::Shared), Just(How::Nested)];
    let program = prop_oneof![
        1 => prop::collection::vec(node.clone(), 1..5).prop_map(Node::Seq),
        2 => (how, prop::collection::vec(node.clone(), 2..7)).prop_map(|(how, nodes)| Node::Join(how, nodes)),
    ];
    // A step at the end: its input holds all that was seen before.
    let program = program.prop_map(|node| Node::Seq(vec![node, Node::Step("ok", Delivery::AtLeastOnce)]));
    let leaves = prop::collection::vec(node, 0..3);
    (prop_oneof![3 => Just(1_u64), 2 => 2..4_u64], leaves, program).prop_map(|(runs, leaves, node)| Program {
        runs,
        leaves,
        node,
    })
}
