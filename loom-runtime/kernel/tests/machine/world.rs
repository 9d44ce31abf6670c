//! A small deterministic world: owners come and go over one log, and a seed decides what happens when.
//! Not a store: it refuses nothing but what a test needs refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
};

use kernel::{
    Delivery, Envelope, Event, Fault, FrameKind, FrameStatus, Payload, RetryClass, State, Status, Timestamp,
    machine::{AttemptEnd, Input, Invoke, Offered, Verdict},
};
use serde_json::json;

use crate::{calls::*, play::*};

/// What a successful step returns: a function of its frame.
pub(crate) fn result(frame: &str) -> Payload {
    payload(json!(format!("out of {frame}")))
}

/// How an attempt ends, by the step's name and the attempt.
pub(crate) fn attempt(invoke: &Invoke) -> AttemptEnd {
    let class = if invoke.step == "refused" { RetryClass::Permanent } else { RetryClass::Transient };
    match (invoke.step.as_str(), invoke.attempt) {
        ("flaky", 1) | ("broken" | "refused", _) => {
            AttemptEnd::Failed { failure: failed(&invoke.step), class }
        }
        _ => AttemptEnd::Returned(result(invoke.frame.as_str())),
    }
}

/// Never the same twice within the process.
pub(crate) fn fresh() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Choices drawn from a seed.
#[derive(Clone)]
pub(crate) struct Choices(pub(crate) u64);

impl Choices {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

pub(crate) struct World {
    pub(crate) log: Vec<Envelope>,
    flow: Flow,
    choices: Choices,
    now: Timestamp,
    /// Owners so far: fences.
    owners: u64,
    inbox: BTreeMap<u64, Input>,
    posted: u64,
    /// Gates that somebody has answered: each once.
    answered: BTreeSet<String>,
    /// Verdicts `Again`, by frame.
    pub(crate) again: BTreeMap<String, u32>,
    /// Bodies that ran, by frame.
    pub(crate) bodies: BTreeMap<String, u32>,
    /// The pending set at every moment at which the log was complete.
    pub(crate) quiet: BTreeMap<u64, BTreeSet<String>>,
    /// The owner dies at this point of the history, if it dies.
    pub(crate) crash_at: Option<u64>,
    /// Somebody cancels at this point, if anybody does.
    pub(crate) cancel_at: Option<u64>,
    /// And at random, once in so many points; at most [`MOST_CRASHES`] times.
    pub(crate) crash_odds: Option<usize>,
    crashes: u32,
    /// Owners hand the execution back now and then.
    pub(crate) hand_backs: bool,
    pub(crate) points: u64,
}

const MOST_CRASHES: u32 = 6;

impl World {
    pub(crate) fn new(flow: &Flow, seed: u64) -> Self {
        Self::over(started(), flow, seed)
    }

    pub(crate) fn over(log: Vec<Envelope>, flow: &Flow, seed: u64) -> Self {
        let now = log.last().unwrap().at;
        let (inbox, answered, again, bodies, quiet) = Default::default();
        Self {
            owners: log.len() as u64,
            log,
            flow: flow.clone(),
            choices: Choices(seed),
            now,
            inbox,
            posted: 0,
            answered,
            again,
            bodies,
            quiet,
            crash_at: None,
            cancel_at: None,
            crash_odds: None,
            crashes: 0,
            hand_backs: false,
            points: 0,
        }
    }

    /// Owners follow each other until the execution has ended.
    pub(crate) fn run(&mut self) -> Status {
        for _ in 0..1000 {
            let Some(status) = self.owner() else { continue };
            match status {
                Status::Suspended => self.wake(),
                Status::Parked => self.give_verdict(),
                ended => return ended,
            }
        }
        panic!("the execution does not end: {:#?}", told_log(&self.log));
    }

    /// What suspended executions wait for happens: time, or an answer.
    fn wake(&mut self) {
        let Event::ExecutionSuspended(suspended) = self.log.last().unwrap().event.clone() else {
            panic!("not suspended")
        };
        if !self.inbox.is_empty() || self.choices.one_in(2) && self.post_answer() {
            return;
        }
        match suspended.wake_at {
            Some(at) => self.now = self.now.max(at),
            None => assert!(self.post_answer(), "{suspended:?} waits for nothing"),
        }
    }

    fn give_verdict(&mut self) {
        let report = State::of(&self.log).unwrap().parked.unwrap();
        assert_eq!(report.fault, Fault::InDoubt, "{report}\n{:#?}", told_log(&self.log));
        let frame = report.frame.unwrap();
        let verdict = match self.choices.below(3) {
            0 => Verdict::Done(result(frame.as_str())),
            1 => Verdict::GiveUp,
            _ => {
                *self.again.entry(frame.to_string()).or_default() += 1;
                Verdict::Again
            }
        };
        self.post(|item| Input::Verdict { frame, verdict, by: "ann".into(), item });
    }

    fn post(&mut self, input: impl FnOnce(u64) -> Input) {
        self.posted += 1;
        self.inbox.insert(self.posted, input(self.posted));
    }

    /// Somebody answers an open gate, if there is one that nobody has answered.
    fn post_answer(&mut self) -> bool {
        let frames = State::of(&self.log).unwrap().frames;
        let open = frames.into_iter().find(|(id, f)| {
            let is_open = matches!(f.kind, FrameKind::Gate { .. }) && f.status == FrameStatus::Open;
            is_open && !self.answered.contains(id.as_str())
        });
        open.is_some_and(|(frame, _)| {
            self.answer(frame.as_str());
            true
        })
    }

    /// Somebody answers a gate, whether it is open yet or not.
    pub(crate) fn answer(&mut self, frame: &str) {
        if self.answered.insert(frame.to_owned()) {
            let (frame, answer) = (id(frame), result(frame));
            self.post(|item| Input::Answer { run: 0, frame, answer, by: "ann".into(), item });
        }
    }

    /// Whether the owner dies here.
    fn dies(&mut self) -> bool {
        self.points += 1;
        if self.cancel_at == Some(self.points) {
            self.post(|item| Input::Cancel { reason: "enough".into(), by: "ann".into(), force: false, item });
        }
        let drawn = self.crash_odds.is_some_and(|odds| self.choices.one_in(odds));
        if self.crash_at != Some(self.points) && !(drawn && self.crashes < MOST_CRASHES) {
            return false;
        }
        self.crashes += 1;
        true
    }

    /// One owner, from reading the log until it lets go; `None` when it dies first.
    fn owner(&mut self) -> Option<Status> {
        self.owners += 1;
        let mut play = Play::reading(&self.log, &self.flow, self.owners, CODE);
        play.now = self.now;
        play.live();
        let closed = self.drive(&mut play);
        let died = closed.is_none() && play.closed.is_none();
        if died && play.in_flight.is_some() && self.choices.one_in(2) {
            let batch = play.in_flight.take().unwrap(); // the store had it already
            self.inbox.retain(|item, _| !batch.consumed.contains(item));
            play.log.extend(batch.events);
        }
        self.now = play.now;
        assert_causes_were_durable(&play);
        self.log = std::mem::take(&mut play.log);
        closed
    }

    fn drive(&mut self, play: &mut Play) -> Option<Status> {
        let mut offered = 0;
        let mut seen = 0;
        loop {
            // Not always all of them: a driver may hear of something before it has done all it was told.
            while !self.choices.one_in(6) {
                if self.dies() {
                    return None;
                }
                let (invoked, batches) = (play.invoked.len(), play.batches.len());
                if !play.command() {
                    break;
                }
                if play.invoked.len() > invoked {
                    self.check_invoke(play);
                }
                if play.batches.len() > batches {
                    seen = offered;
                }
            }
            if play.closed.is_some() {
                return play.closed;
            }
            if self.dies() {
                return None;
            }
            if !play.machine.lags() && !play.machine.state().status.is_terminal() {
                self.quiet.insert(play.state().next, play.pending());
            }
            if self.hand_backs && self.choices.one_in(30) {
                self.hand_back(play);
                return play.closed;
            }
            self.happen(play, &mut offered, seen);
        }
    }

    /// One thing happens, out of those that can.
    fn happen(&mut self, play: &mut Play, offered: &mut u64, seen: u64) {
        let unread = self.inbox.keys().find(|item| **item > *offered).copied();
        let due = play.machine.next_due().filter(|due| *due <= play.now);
        let mut can = vec![];
        can.extend(play.in_flight.as_ref().map(|_| 'w'));
        can.extend(play.running.iter().map(|_| 'e'));
        can.extend(unread.map(|_| 'i'));
        can.extend(due.map(|_| 't'));
        if can.is_empty() || self.choices.one_in(8) {
            can = vec!['s', 'f', 'a', 'c'];
        }
        match can[self.choices.below(can.len())] {
            'w' => self.write(play, seen),
            'e' => {
                let invoke = &play.running[self.choices.below(play.running.len())];
                let (frame, end) = (invoke.frame.to_string(), attempt(invoke));
                // Ignored, when it was given up and the world has not been told yet.
                assert_ne!(play.end(&frame, end), Offered::Contradicts);
            }
            'i' => {
                *offered = unread.unwrap();
                play.offer(self.inbox[offered].clone());
            }
            't' => {
                play.offer(Input::Tick);
            }
            's' => {
                play.offer(Input::Suspend);
            }
            'f' => play.machine.flush(),
            'a' => {
                self.post_answer();
            }
            _ => {
                let (ahead, back) = (self.choices.below(5), self.choices.below(3));
                let moved = play.now.as_micros() + (ahead as i64 - back as i64) * 1_000_000;
                play.now = Timestamp::from_micros(moved); // clocks may run backwards
            }
        }
    }

    /// The batch in flight becomes durable, or is refused because the inbox has moved.
    fn write(&mut self, play: &mut Play, seen: u64) {
        let batch = play.in_flight.as_ref().unwrap();
        if batch.closes && self.inbox.keys().any(|i| *i > seen && !batch.consumed.contains(i)) {
            play.refuse();
            return;
        }
        for item in &batch.consumed {
            assert!(self.inbox.remove(item).is_some(), "item {item} was consumed twice");
        }
        play.write();
    }

    /// The owner goes in good order: what has not ended by now is left to the next one.
    fn hand_back(&mut self, play: &mut Play) {
        let handed_out = play.invoked.len();
        play.offer(Input::HandBack);
        while play.command() || play.in_flight.is_some() {
            if play.in_flight.is_some() {
                self.write(play, u64::MAX);
            }
        }
        assert_eq!(play.invoked.len(), handed_out, "nothing starts any more");
        assert!(play.closed.is_some() || !play.machine.lags());
    }

    fn check_invoke(&mut self, play: &Play) {
        let (invoke, durable) = play.invoked.last().unwrap();
        *self.bodies.entry(invoke.frame.to_string()).or_default() += 1;
        let settled = |e: &Envelope| {
            e.event.frame() == Some(&invoke.frame)
                && matches!(&e.event, Event::StepCompleted(_) | Event::StepAbandoned(_))
        };
        assert!(!play.log.iter().any(settled), "`{}` runs although it is settled", invoke.frame);
        if invoke.delivery == Delivery::AtMostOnce {
            let own = |e: &Envelope| matches!(&e.event, Event::StepStarted(s) if s.frame == invoke.frame && s.attempt == invoke.attempt);
            assert!(
                play.log.iter().any(own),
                "`{}` runs before its start is durable ({durable})",
                invoke.frame
            );
        }
    }
}

/// When a default step ran, everything that it could rest on was on disk.
fn assert_causes_were_durable(play: &Play) {
    for (invoke, durable) in &play.invoked {
        if invoke.delivery == Delivery::Pure {
            continue;
        }
        let own = |e: &&Envelope| matches!(&e.event, Event::StepStarted(s) if s.frame == invoke.frame && s.attempt == invoke.attempt);
        let Some(own) = play.log.iter().find(own) else { continue };
        let causes = play.log.iter().take_while(|e| e.sequence < own.sequence);
        let facts = causes.filter(|e| !matches!(e.event, Event::StepStarted(_)));
        let lost = facts.filter(|e| e.sequence >= *durable).count();
        assert_eq!(lost, 0, "`{}` ran while {lost} facts before it were not durable", invoke.frame);
    }
}
