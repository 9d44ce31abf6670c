//! A small deterministic world: owners come and go over one log, and a seed decides what happens when.
//! Not a store: it refuses nothing but what a test needs refused.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::atomic::{AtomicU64, Ordering},
};

use kernel::{
    Batch, DeadLetter, Delivery, Envelope, Event, ExecutionId, Fault, Frame, FrameId, FrameKind, FrameStatus,
    Message, MessageReceived, OnClose, Outcome, Payload, RetryClass, StartChild, State, Status, Timestamp,
    Told,
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

/// How a child ends, by its flow and its frame.
pub(crate) fn end_of_child(flow: &str, frame: &str) -> Outcome {
    match flow {
        "broken" => Outcome::Failed(failed(flow)),
        _ => Outcome::Completed(result(frame)),
    }
}

/// Some messages cannot be read.
pub(crate) fn readable(body: &Payload) -> Result<(), String> {
    if body.decode::<u64>().unwrap().is_multiple_of(5) { Err("it ends in 0 or 5".into()) } else { Ok(()) }
}

/// A frame of one run.
pub(crate) fn in_run(run: u64, frame: &FrameId) -> String {
    format!("{run}: {frame}")
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
    /// Items that the owner left in the inbox, because it was about to let go.
    returned: BTreeSet<u64>,
    /// Whether the execution has ended.
    over: bool,
    /// The last item that it was told of before it made its last batch.
    seen: u64,
    /// How long the log was at first.
    from: u64,
    messages: u64,
    /// Children that were started, those that run, and those that have ended, and how.
    born: BTreeSet<ExecutionId>,
    children: BTreeMap<ExecutionId, StartChild>,
    ended: BTreeMap<ExecutionId, Outcome>,
    /// What becomes of each child when this execution no longer waits for it.
    policies: BTreeMap<ExecutionId, OnClose>,
    /// Keys of what others were told.
    told: BTreeSet<(ExecutionId, String)>,
    /// Gates that somebody has answered: each once.
    answered: BTreeSet<(u64, String)>,
    /// Verdicts `Again`, by run and frame.
    pub(crate) again: BTreeMap<String, u32>,
    /// Bodies that ran, by run and frame.
    pub(crate) bodies: BTreeMap<String, u32>,
    /// Steps that go on when nobody waits for them, by run and frame.
    detached: BTreeSet<String>,
    /// The pending set at every moment at which the log was complete.
    pub(crate) quiet: BTreeMap<u64, BTreeSet<String>>,
    /// The owner dies at this point of the history, if it dies.
    pub(crate) crash_at: Option<u64>,
    /// Somebody cancels at this point, if anybody does.
    pub(crate) cancel_at: Option<u64>,
    /// Somebody cancels by force at this point, if anybody does.
    pub(crate) force_at: Option<u64>,
    forced: bool,
    /// And at random, once in so many points; at most [`MOST_CRASHES`] times.
    pub(crate) crash_odds: Option<usize>,
    crashes: u32,
    /// Children take their time.
    pub(crate) slow_children: bool,
    /// Owners hand the execution back now and then.
    pub(crate) hand_backs: bool,
    pub(crate) points: u64,
}

const MOST_CRASHES: u32 = 6;

/// For what did not come through the inbox.
const NO_ITEM: u64 = 0;

fn policy(envelope: &Envelope) -> Option<(ExecutionId, OnClose)> {
    match &envelope.event {
        Event::ChildStarted(e) => Some((e.child.clone(), e.on_close)),
        _ => None,
    }
}

fn ends_a_run(event: &Event) -> bool {
    event.ends().is_some() || matches!(event, Event::ContinuedAsNew(_))
}

impl World {
    pub(crate) fn new(flow: &Flow, seed: u64) -> Self {
        Self::over(started(), flow, seed)
    }

    pub(crate) fn over(log: Vec<Envelope>, flow: &Flow, seed: u64) -> Self {
        let now = log.last().unwrap().at;
        let (inbox, answered, again, bodies, quiet) = Default::default();
        let (returned, born, children, ended, told) = Default::default();
        Self {
            returned,
            over: false,
            seen: 0,
            from: log.len() as u64,
            messages: 0,
            born,
            children,
            ended,
            policies: log.iter().filter_map(policy).collect(),
            told,
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
            detached: BTreeSet::new(),
            quiet,
            crash_at: None,
            cancel_at: None,
            force_at: None,
            forced: false,
            crash_odds: None,
            crashes: 0,
            slow_children: false,
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
                ended => {
                    self.assert_all_was_told();
                    self.assert_all_has_ended();
                    return ended;
                }
            }
        }
        panic!("the execution does not end: {:#?}", told_log(&self.log));
    }

    /// What suspended executions wait for happens: time, or an answer.
    fn wake(&mut self) {
        let Event::ExecutionSuspended(suspended) = self.log.last().unwrap().event.clone() else {
            panic!("not suspended")
        };
        let state = State::of(&self.log).unwrap();
        let topics: Vec<_> = suspended
            .waiting
            .iter()
            .filter_map(|id| match &state.frames[id].kind {
                FrameKind::Message { topic } => Some(topic.clone()),
                _ => None,
            })
            .collect();
        let wakes = |input: &Input| match input {
            Input::Message { message, .. } => topics.contains(&message.topic),
            Input::Answer { run, frame, .. } => *run == state.base && suspended.waiting.contains(frame),
            _ => true,
        };
        if self.inbox.values().any(wakes) || self.choices.one_in(2) && self.post_answer() {
            return;
        }
        let mut can = vec![];
        can.extend(suspended.wake_at.map(|_| 't'));
        can.extend(topics.iter().map(|_| 'm'));
        can.extend(self.children.keys().map(|_| 'k'));
        match can.get(self.choices.below(can.len().max(1))) {
            Some('t') => self.now = self.now.max(suspended.wake_at.unwrap()),
            Some('m') => self.post_message(&topics[0].clone()),
            Some('k') => self.end_a_child(),
            _ => assert!(self.post_answer(), "{suspended:?} waits for nothing"),
        }
    }

    fn post_message(&mut self, topic: &str) {
        self.messages += 1;
        let (topic, by) = (topic.to_owned(), "ann".to_owned());
        self.post(|item| Input::Message {
            message: Message { topic, body: payload(json!(item)), by, reply_to: None },
            item,
        });
    }

    /// A child begins, unless it has begun before.
    fn begin_child(&mut self, play: &mut Play) {
        let started = play.children.last().unwrap().clone();
        let is_its = |e: &Envelope| matches!(&e.event, Event::ChildStarted(c) if c.child == started.child);
        assert!(play.log.iter().any(is_its), "`{}` starts before that is durable", started.child);
        if self.born.insert(started.child.clone()) {
            self.children.insert(started.child.clone(), started);
        } else if let Some(outcome) = self.ended.get(&started.child).cloned() {
            // Whoever starts it once more learns how it has ended.
            let (frame, child, item) = (started.parent.frame, started.child, NO_ITEM);
            play.offer(Input::ChildSettled { frame, child, outcome, item });
        }
    }

    fn end_a_child(&mut self) {
        let at = self.choices.below(self.children.len());
        let child = self.children.keys().nth(at).unwrap().clone();
        let StartChild { child, parent, flow, .. } = self.children.remove(&child).unwrap();
        let is_cancelled = self.told.iter().any(|(to, key)| *to == child && key.starts_with("cancel:"));
        // One that is to stop may have done what it had to all the same.
        let outcome = match is_cancelled && !self.choices.one_in(4) {
            true => Outcome::Cancelled { reason: "no longer waited for".into(), by: "test".into() },
            false => end_of_child(&flow, parent.frame.as_str()),
        };
        self.ended.insert(child.clone(), outcome.clone());
        self.post(|item| Input::ChildSettled { frame: parent.frame, child, outcome, item });
    }

    /// Nobody lets go of an execution whose inbox holds what they have not seen.
    fn is_refused(&self, batch: &Batch) -> bool {
        batch.closes && self.inbox.keys().any(|item| *item > self.seen && !batch.consumed.contains(item))
    }

    /// The store has a batch: what it took from the inbox is gone, and others are told.
    fn is_durable(&mut self, batch: &Batch) {
        for item in batch.consumed.iter().filter(|item| **item != NO_ITEM) {
            assert!(self.inbox.remove(item).is_some(), "item {item} was consumed twice");
        }
        self.policies.extend(batch.events.iter().filter_map(policy));
        for post in &batch.posts {
            let is_cancel = matches!(post.told, Told::Cancel { .. });
            if is_cancel && !post.early && !self.born.contains(&post.to) {
                continue; // there is nobody to be told
            }
            let is_new = self.told.insert((post.to.clone(), post.key.clone()));
            assert!(is_new || is_cancel && post.early, "{post:?} was told twice");
        }
        if batch.events.iter().any(|e| ends_a_run(&e.event)) && !self.forced {
            for child in self.children.keys() {
                assert_eq!(self.policies[child], OnClose::Abandon, "`{child}` outlives who has started it");
            }
        }
        self.over |= batch.closes && batch.events.last().is_some_and(|e| e.event.ends().is_some());
    }

    /// When a run ends here, every step and child of it has an end on record, but for what goes on by itself.
    fn assert_all_has_ended(&self) {
        let mut state = State::default();
        let goes_on = |run, id: &FrameId| self.detached.contains(&in_run(run, id));
        let open = |frame: &Frame| match frame.kind {
            FrameKind::Step { .. } => true,
            FrameKind::Child { on_close, .. } => on_close != OnClose::Abandon,
            _ => false,
        } && frame.status == FrameStatus::Open
            && !frame.left;
        for envelope in &self.log {
            let of_next_run = matches!(envelope.event, Event::ContinuedAsNew(_));
            let before = state.clone();
            state.apply(envelope).unwrap();
            let ended = if of_next_run { &before } else { &state };
            if envelope.sequence >= self.from && ends_a_run(&envelope.event) {
                let left: Vec<_> = ended
                    .frames
                    .iter()
                    .filter(|(id, f)| open(f) && !goes_on(ended.run, id))
                    .map(|(id, _)| id)
                    .collect();
                assert!(left.is_empty(), "{left:?} have no end: {:#?}", told_log(&self.log));
            }
        }
    }

    /// Every message was taken or told of, in order, and no answer twice; no child was forgotten, or goes on that should not.
    fn assert_all_was_told(&self) {
        let mut mail: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        let mut settled = BTreeSet::new();
        let mut answers = 0;
        for envelope in self.log.iter().filter(|e| e.sequence >= self.from) {
            match &envelope.event {
                Event::GateAnswered(_) => answers += 1,
                Event::MessageDeadLettered(e) if e.message.topic.starts_with("gate:") => answers += 1,
                Event::MessageReceived(MessageReceived { message, .. })
                | Event::MessageDeadLettered(DeadLetter { message, .. }) => {
                    mail.entry(&message.topic).or_default().push(message.body.decode().unwrap());
                }
                _ => {}
            }
        }
        let mut run = 0;
        for envelope in &self.log {
            match &envelope.event {
                Event::ContinuedAsNew(e) => run = e.run,
                Event::ChildSettled(e) => drop(settled.insert((run, &e.frame))),
                Event::OutcomeDiscarded(e) => drop(settled.insert((run, &e.frame))),
                _ => {}
            }
        }
        assert_eq!(answers, self.answered.len(), "{:?}\n{:#?}", self.answered, told_log(&self.log));
        assert!(self.inbox.is_empty(), "{:?}", self.inbox);
        assert!(mail.values().all(|items| items.is_sorted_by(|a, b| a < b)), "{mail:?}");
        assert_eq!(mail.values().flatten().count() as u64, self.messages, "{mail:?}");
        let mut run = 0;
        for envelope in &self.log {
            match &envelope.event {
                Event::ContinuedAsNew(e) => run = e.run,
                Event::ChildStarted(e) if e.on_close == OnClose::Abandon => {
                    let before = envelope.sequence < self.from;
                    assert!(before || self.born.contains(&e.child), "`{}` was never started", e.child);
                }
                Event::ChildStarted(e) => {
                    let is_told = settled.contains(&(run, &e.frame));
                    assert!(is_told || self.forced, "nobody knows how `{}` ended", e.child);
                }
                _ => {}
            }
        }
    }

    fn give_verdict(&mut self) {
        let state = State::of(&self.log).unwrap();
        let report = state.parked.unwrap();
        assert_eq!(report.fault, Fault::InDoubt, "{report}\n{:#?}", told_log(&self.log));
        let frame = report.frame.unwrap();
        let verdict = match self.choices.below(3) {
            0 => Verdict::Done(result(frame.as_str())),
            1 => Verdict::GiveUp,
            _ => {
                *self.again.entry(in_run(state.run, &frame)).or_default() += 1;
                Verdict::Again
            }
        };
        self.post(|item| Input::Verdict { run: None, frame, verdict, by: "ann".into(), item });
    }

    /// A store takes nothing for what has ended.
    fn post(&mut self, input: impl FnOnce(u64) -> Input) {
        if self.over {
            return;
        }
        self.posted += 1;
        self.inbox.insert(self.posted, input(self.posted));
    }

    /// Somebody answers an open gate, if there is one that nobody has answered.
    fn post_answer(&mut self) -> bool {
        let state = State::of(&self.log).unwrap();
        let (run, answered) = (state.base, &self.answered);
        let open = state.frames.into_iter().find(|(id, f)| {
            let is_open = matches!(f.kind, FrameKind::Gate { .. }) && f.status == FrameStatus::Open;
            is_open && !answered.contains(&(run, id.to_string()))
        });
        open.is_some_and(|(frame, _)| {
            self.answer(run, frame.as_str());
            true
        })
    }

    /// Somebody answers a gate, whether it is open yet or not.
    pub(crate) fn answer(&mut self, run: u64, frame: &str) {
        if !self.over && self.answered.insert((run, frame.to_owned())) {
            let (frame, answer) = (id(frame), result(frame));
            self.post(|item| Input::Answer { run, frame, answer, by: "ann".into(), item });
        }
    }

    /// Whether the owner dies here.
    fn dies(&mut self) -> bool {
        self.points += 1;
        if self.cancel_at == Some(self.points) {
            self.post(|item| Input::Cancel { reason: "enough".into(), by: "ann".into(), force: false, item });
        }
        if self.force_at == Some(self.points) {
            self.forced = true;
            self.post(|item| Input::Cancel { reason: "now".into(), by: "bob".into(), force: true, item });
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
        if died
            && let Some(batch) = play.in_flight.take()
            && !self.is_refused(&batch)
            && self.choices.one_in(2)
        {
            // The store had it already.
            self.is_durable(&batch);
            play.log.extend(batch.events);
        }
        self.now = play.now;
        assert_causes_were_durable(&play);
        self.log = std::mem::take(&mut play.log);
        closed
    }

    fn drive(&mut self, play: &mut Play) -> Option<Status> {
        self.returned.clear();
        let mut offered = 0;
        self.seen = 0;
        loop {
            // Not always all of them: a driver may hear of something before it has done all it was told.
            while !self.choices.one_in(6) {
                if self.dies() {
                    return None;
                }
                let (invoked, batches) = (play.invoked.len(), play.batches.len());
                let children = play.children.len();
                if !play.command() {
                    break;
                }
                if play.invoked.len() > invoked {
                    self.check_invoke(play);
                }
                if play.children.len() > children {
                    self.begin_child(play);
                }
                if play.batches.len() > batches {
                    self.seen = offered;
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
            let all_read = self.inbox.keys().all(|item| *item <= offered);
            if self.hand_backs && all_read && self.choices.one_in(30) {
                self.hand_back(play, offered);
                return play.closed;
            }
            self.happen(play, &mut offered);
        }
    }

    /// One thing happens, out of those that can.
    fn happen(&mut self, play: &mut Play, offered: &mut u64) {
        let unread = self.inbox.keys().find(|item| **item > *offered).copied();
        let due = play.machine.next_due().filter(|due| *due <= play.now);
        let mut can = vec![];
        can.extend(play.in_flight.as_ref().map(|_| 'w'));
        can.extend(play.running.iter().map(|_| 'e'));
        can.extend(unread.map(|_| 'i'));
        can.extend(due.map(|_| 't'));
        if !self.slow_children || self.choices.one_in(8) {
            can.extend(self.children.keys().map(|_| 'k'));
        }
        // While the end waits, owners let go.
        can.extend(play.state().ending.as_ref().map(|_| 's'));
        if can.is_empty() || self.choices.one_in(8) {
            can = vec!['s', 'f', 'a', 'c', 'm'];
        }
        match can[self.choices.below(can.len())] {
            'w' => self.write(play),
            'k' => self.end_a_child(),
            'm' => {
                // A store takes none for what has ended.
                if self.messages < 10 && !self.over {
                    let topic = ["t", "u", "nobody"][self.choices.below(3)];
                    self.post_message(topic);
                }
            }
            'e' => {
                let invoke = &play.running[self.choices.below(play.running.len())];
                let (frame, end) = (invoke.frame.to_string(), attempt(invoke));
                // Ignored, when it was given up and the world has not been told yet.
                assert_ne!(play.end(&frame, end), Offered::Contradicts);
            }
            'i' => {
                *offered = unread.unwrap();
                self.offer(play, *offered);
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

    fn offer(&mut self, play: &mut Play, item: u64) {
        if play.offer(self.inbox[&item].clone()) == Offered::Ignored("the owner lets go") {
            self.returned.insert(item);
        }
    }

    /// The batch in flight becomes durable, or is refused because the inbox has moved.
    fn write(&mut self, play: &mut Play) {
        let batch = play.in_flight.clone().unwrap();
        if self.is_refused(&batch) {
            play.refuse();
            // What the owner has left there comes again.
            let returned = std::mem::take(&mut self.returned);
            returned.into_iter().for_each(|item| self.offer(play, item));
            return;
        }
        self.is_durable(&batch);
        play.write();
    }

    /// The owner goes in good order: what has not ended by now is left to the next one.
    fn hand_back(&mut self, play: &mut Play, offered: u64) {
        let handed_out = play.invoked.len();
        play.offer(Input::HandBack);
        loop {
            let (batches, children) = (play.batches.len(), play.children.len());
            let more = play.command();
            if play.batches.len() > batches {
                self.seen = offered;
            }
            if play.children.len() > children {
                self.begin_child(play);
            }
            if play.in_flight.is_some() {
                self.write(play);
                // Refused, it has not let go: then it hands back what is left.
                play.offer(Input::HandBack);
            } else if !more {
                break;
            }
        }
        assert_eq!(play.invoked.len(), handed_out, "nothing starts any more");
        assert!(play.closed.is_some() || !play.machine.lags());
    }

    fn check_invoke(&mut self, play: &Play) {
        let (invoke, durable) = play.invoked.last().unwrap();
        *self.bodies.entry(in_run(play.state().run, &invoke.frame)).or_default() += 1;
        if invoke.detached {
            self.detached.insert(in_run(play.state().run, &invoke.frame));
        }
        let base = play.state().base;
        let settled = |e: &Envelope| {
            e.sequence >= base
                && e.event.frame() == Some(&invoke.frame)
                && matches!(&e.event, Event::StepCompleted(_) | Event::StepAbandoned(_))
        };
        assert!(!play.log.iter().any(settled), "`{}` runs although it is settled", invoke.frame);
        if invoke.delivery == Delivery::AtMostOnce {
            let own = |e: &Envelope| {
                e.sequence >= base
                    && matches!(&e.event, Event::StepStarted(s) if s.frame == invoke.frame && s.attempt == invoke.attempt)
            };
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
    for ((invoke, durable), base) in play.invoked.iter().zip(&play.bases) {
        if invoke.delivery == Delivery::Pure {
            continue;
        }
        let own = |e: &&Envelope| {
            e.sequence >= *base
                && matches!(&e.event, Event::StepStarted(s) if s.frame == invoke.frame && s.attempt == invoke.attempt)
        };
        let Some(own) = play.log.iter().find(own) else { continue };
        let causes = play.log.iter().take_while(|e| e.sequence < own.sequence);
        let facts = causes.filter(|e| !matches!(e.event, Event::StepStarted(_)));
        let lost = facts.filter(|e| e.sequence >= *durable).count();
        assert_eq!(lost, 0, "`{}` ran while {lost} facts before it were not durable", invoke.frame);
    }
}
