//! Logs made by hand, with every event that the command line shows, at fixed instants.
//! Not logs of the flows in `support::shop`: nobody replays these.

use std::time::Duration;

use loom::{
    ExecutionId, FrameId, Memory, Status, Timestamp,
    kernel::{
        Abandoned, Completed, Decision, Delivery, Digest, Domain, EffectError, Envelope, Event, Failed,
        Fault, Fingerprints, Fired, GateAnswered, GateOpened, InDoubt, Meta, Migrated, NewRun, ParkReport,
        Parked, Payload, Record, Resumed, SourceLine, Started, StepCompleted, StepFailed, StepStarted,
        Suspended, TimerSet,
    },
    ports::{
        Append, ClaimRequest, Close, Created, EventStore, GateChange, GateState, LeaseStore, NewExecution,
    },
};
use serde_json::json;

use crate::support::NOON;

/// An execution that is being made: each event comes a second after the one before.
pub(crate) struct Made {
    store: Memory,
    id: ExecutionId,
    events: Vec<Envelope>,
    gates: Vec<GateChange>,
    /// Where another run began: how many events and gates came before it.
    run: Option<(usize, usize)>,
}

pub(crate) fn payload(value: serde_json::Value) -> Payload {
    Payload::from_value(&value)
}

fn frame(text: &str) -> FrameId {
    FrameId::parsed(text)
}

impl Made {
    pub(crate) fn new(store: &Memory, id: &str, flow: &str, input: serde_json::Value) -> Self {
        let (id, events, gates) = (id.parse().unwrap(), Vec::new(), Vec::new());
        let mut made = Self { store: store.clone(), id, events, gates, run: None };
        let (input, code) = (payload(input), Fingerprints { body: 0xa, structure: 0xb });
        made.event(Event::ExecutionStarted(Started {
            flow: flow.into(),
            input,
            input_version: 1,
            code,
            seed: Digest::of(b"seed"),
            parent: None,
            flags: Vec::new(),
        }));
        made
    }

    pub(crate) fn at(&self) -> Timestamp {
        // Everything began an hour before noon.
        Timestamp::from_micros(NOON.as_micros() - 3_600_000_000)
            .plus(Duration::from_millis(1_001) * self.events.len() as u32)
    }

    pub(crate) fn event(&mut self, event: Event) -> &mut Self {
        let (execution, sequence, at) = (self.id.clone(), self.events.len() as u64, self.at());
        self.events.push(Envelope { execution, sequence, at, event, meta: Meta::default() });
        self
    }

    pub(crate) fn started(&mut self, id: &str, attempt: u32, input: serde_json::Value) -> &mut Self {
        let step = id.split('#').next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
        let (input, delivery) = (
            payload(input),
            match step {
                "charge" => Delivery::AtMostOnce,
                _ => Delivery::AtLeastOnce,
            },
        );
        self.event(Event::StepStarted(StepStarted {
            frame: frame(id),
            step: step.into(),
            attempt,
            digest: input.digest(),
            input: (attempt == 1).then_some(input),
            delivery,
        }))
    }

    pub(crate) fn completed(&mut self, id: &str, output: serde_json::Value) -> &mut Self {
        let output = payload(output);
        self.event(Event::StepCompleted(StepCompleted { frame: frame(id), attempt: 1, output, by: None }))
    }

    pub(crate) fn failed(&mut self, id: &str, attempt: u32, again: Option<Duration>) -> &mut Self {
        let failure = if again.is_some() {
            Failed::from(EffectError::TimedOut { after_ms: 200 })
        } else {
            let message = "the shelf is empty".into();
            Failed {
                code: "OutOfStock".into(),
                message,
                error: Some(payload(json!("OutOfStock"))),
                engine: None,
            }
        };
        let retry_at = again.map(|wait| self.at().plus(wait));
        self.event(Event::StepFailed(StepFailed {
            frame: frame(id),
            attempt,
            failure,
            retry_at,
            not_made: false,
        }))
    }

    pub(crate) fn gate(&mut self, id: &str, expires: Option<Duration>) -> &mut Self {
        let schema = json!({
            "type": "object", "required": ["approved"],
            "properties": {"approved": {"type": "boolean"}, "note": {"type": ["string", "null"]}},
        });
        let (gate, expires_at) =
            (id.split('#').next().unwrap_or_default(), expires.map(|wait| NOON.plus(wait)));
        self.gates.push(GateChange::Opened {
            frame: frame(id),
            gate: gate.into(),
            schema: schema.to_string(),
            expires_at,
        });
        self.event(Event::GateOpened(GateOpened {
            frame: frame(id),
            gate: gate.into(),
            schema: payload(schema),
            expires_at,
        }))
    }

    pub(crate) fn answered(&mut self, id: &str, by: &str) -> &mut Self {
        self.gates.push(GateChange::Closed { frame: frame(id), state: GateState::Answered });
        let answer = payload(json!({"approved": true, "note": "fine"}));
        self.event(Event::GateAnswered(GateAnswered { frame: frame(id), answer, by: by.into() }))
    }

    pub(crate) fn expired(&mut self, id: &str) -> &mut Self {
        self.gates.push(GateChange::Closed { frame: frame(id), state: GateState::Expired });
        self.event(Event::GateExpired(Fired { frame: frame(id) }))
    }

    pub(crate) fn timer(&mut self, id: &str, wait: Duration) -> &mut Self {
        self.event(Event::TimerSet(TimerSet { frame: frame(id), fire_at: NOON.plus(wait) }))
    }

    pub(crate) fn resumed(&mut self, reason: &str) -> &mut Self {
        self.event(Event::ExecutionResumed(Resumed { worker: "till-2".into(), reason: reason.into() }))
    }

    pub(crate) fn in_doubt(&mut self, id: &str) -> &mut Self {
        self.event(Event::EffectIndoubt(InDoubt { frame: frame(id), attempt: 1, reason: "crash".into() }))
    }

    pub(crate) fn suspended(&mut self, waiting: &[&str], wake: Option<Duration>) -> &mut Self {
        let (waiting, wake_at) =
            (waiting.iter().map(|id| frame(id)).collect(), wake.map(|wait| NOON.plus(wait)));
        self.event(Event::ExecutionSuspended(Suspended { waiting, wake_at }))
    }

    pub(crate) fn continued(&mut self, input: serde_json::Value) -> &mut Self {
        let Event::ExecutionStarted(started) = self.events[0].event.clone() else { panic!("no start") };
        self.run = Some((self.events.len(), self.gates.len()));
        let Started { flow, input_version, code, seed, parent, flags, .. } = started;
        let (run, input, watchers, origin) = (1, payload(input), Vec::new(), None);
        let new = NewRun { run, flow, input, input_version, code, seed, parent, watchers, origin, flags };
        self.event(Event::ContinuedAsNew(new))
    }

    pub(crate) fn parked(&mut self, report: ParkReport) -> &mut Self {
        self.event(Event::ExecutionParked(Parked { report }))
    }

    /// Puts it into the store.
    pub(crate) async fn store(&mut self) {
        let records: Vec<Record> = self.events.iter().map(|event| event.encode().unwrap()).collect();
        self.store_records(records).await;
    }

    /// Puts it into the store with a last record that this build cannot read.
    pub(crate) async fn store_with_unreadable(&mut self) {
        let mut records: Vec<Record> = self.events.iter().map(|event| event.encode().unwrap()).collect();
        let last = records.last().unwrap().clone();
        let sequence = last.sequence + 1;
        records.push(Record {
            sequence,
            kind: "MOON_LANDING".into(),
            payload: r#"{"crew":2}"#.into(),
            ..last
        });
        self.store_records(records).await;
    }

    async fn store_records(&mut self, records: Vec<Record>) {
        let (first, rest) = records.split_first().unwrap();
        let batch = Digest::of(self.id.as_str().as_bytes());
        let Event::ExecutionStarted(started) = &self.events[0].event else { panic!("no start") };
        let created = self.store.create(NewExecution {
            id: self.id.clone(),
            flow: started.flow.clone(),
            input: started.input.digest(),
            records: vec![first.clone()],
            gates: Vec::new(),
            base: 0,
            batch,
            claim: Some(("till-1".into(), NOON.plus(Duration::from_secs(5)))),
            turn: Default::default(),
        });
        let Created::New { fence } = created.await.unwrap() else { panic!("made before") };
        let (status, wake_at) = match &self.events.last().unwrap().event {
            Event::ExecutionSuspended(e) => (Some(Status::Suspended), e.wake_at),
            Event::ExecutionParked(_) => (Some(Status::Parked), None),
            Event::ExecutionCompleted(_) => (Some(Status::Completed), None),
            Event::ExecutionFailed(_) => (Some(Status::Failed), None),
            Event::ExecutionCancelled(_) => (Some(Status::Cancelled), None),
            _ => (None, None),
        };
        let (events, gates) = self.run.unwrap_or((records.len(), self.gates.len()));
        let mut before = Append {
            execution: self.id.clone(),
            expected_next: 1,
            fence,
            batch: Digest::of(b"rest"),
            records: rest[..events - 1].to_vec(),
            at: self.events.last().unwrap().at,
            progress: true,
            gates: self.gates[..gates].to_vec(),
            consumed: Vec::new(),
            posts: Vec::new(),
            run: None,
            close: None,
        };
        let close = status.map(|status| Close { status, wake_at, seen: 0, unfit: None });
        if self.run.is_some() {
            self.store.append(&before).await.unwrap();
            (before.expected_next, before.run) = (events as u64, Some(events as u64));
            (before.batch, before.records) = (Digest::of(b"run"), records[events..].to_vec());
            before.gates =
                [GateChange::AbandonAll].into_iter().chain(self.gates[gates..].iter().cloned()).collect();
        }
        self.store.append(&Append { close, ..before }).await.unwrap();
    }
}

/// An order that began anew: the manager was asked in both runs.
pub(crate) async fn anew(store: &Memory) {
    let mut made = Made::new(store, "order-5", "checkout", json!({"sku": "tea", "qty": 1}));
    made.gate("manager", None).answered("manager", "ada");
    made.continued(json!({"sku": "tea", "qty": 2})).gate("manager", None).suspended(&["manager"], None);
    made.store().await;
}

/// An order that has seen a lot, and waits for a manager and a courier.
pub(crate) async fn busy_order(store: &Memory) {
    let second = Duration::from_secs(1);
    let mut made = Made::new(store, "order-7", "checkout", json!({"sku": "tea", "qty": 12}));
    made.started("reserve", 1, json!({"sku": "tea", "qty": 12}))
        .failed("reserve", 1, Some(second))
        .started("reserve", 2, json!({"sku": "tea", "qty": 12}))
        .completed("reserve", json!({"hold": "h-1", "shelf": "a shelf with a name that is far too long for any table", "茶": 12}))
        .event(Event::DecisionRecorded(Decision { frame: frame("carrier"), value: payload(json!("bike")) }))
        .event(Event::Domain(Domain {
            frame: frame("emit"),
            name: "order.reserved".into(),
            version: 2,
            data: payload(json!({"sku": "tea"})),
        }))
        .gate("manager#0", Some(second * 2))
        .suspended(&["manager#0"], Some(second * 2))
        .resumed("woken")
        .expired("manager#0")
        .gate("manager#1", None)
        .answered("manager#1", "bob")
        .event(Event::ExecutionMigrated(Migrated {
            from: Fingerprints { body: 0xa, structure: 0xb },
            to: Fingerprints { body: 0xc, structure: 0xb },
            input: None,
        }))
        .timer("nap", second)
        .event(Event::TimerFired(Fired { frame: frame("nap") }))
        .started("ship#0", 1, json!({"parcel": 0}))
        .started("ship#1", 1, json!({"parcel": 1}))
        .event(Event::StepAbandoned(Abandoned { frame: frame("ship#1") }))
        .failed("ship#0", 1, None)
        .started("ship#2", 1, json!({"parcel": 2}))
        .failed("ship#2", 1, Some(second * 7200))
        .gate("cashier", Some(second * 3 * 86_400))
        .timer("sleep", second * 90)
        .suspended(&["cashier", "sleep", "ship#2"], Some(second * 90))
        .store()
        .await;
}

/// A payment that nobody knows the end of.
pub(crate) async fn doubtful(store: &Memory) {
    let mut made = Made::new(store, "pay-1", "till", json!(13));
    made.started("charge", 1, json!({"amount": 13}))
        .in_doubt("charge")
        .parked(
            ParkReport::new(Fault::InDoubt, "nobody knows how attempt 1 of `charge` ended")
                .frame(&frame("charge")),
        )
        .store()
        .await;
}

/// An execution whose code no longer asks for what its log holds.
pub(crate) async fn divergent(store: &Memory) {
    let mut report =
        ParkReport::new(Fault::Divergence, "the flow asks for something else than the log holds")
            .frame(&frame("ship"))
            .at(1)
            .versus("step `reserve` at `reserve`", "step `ship` at `ship`");
    report.near = Some(SourceLine { file: "src/main.rs".into(), line: 42 });
    let mut made = Made::new(store, "order-8", "checkout", json!({"sku": "tea", "qty": 1}));
    made.started("reserve", 1, json!({"sku": "tea", "qty": 1}))
        .completed("reserve", json!("h-2"))
        .suspended(&[], None)
        .resumed("taken over")
        .parked(report)
        .store()
        .await;
}

/// An order that is done.
pub(crate) async fn done(store: &Memory) {
    let mut made = Made::new(store, "order-9", "checkout", json!({"sku": "tea", "qty": 1}));
    made.started("ship#0", 1, json!({"parcel": 0}))
        .completed("ship#0", json!(0))
        .event(Event::ExecutionCompleted(Completed { output: payload(json!(1)) }))
        .store()
        .await;
}

/// Lets a lease of somebody else hold on it.
pub(crate) async fn claimed(store: &Memory, id: &str) {
    let request = ClaimRequest {
        worker: "till-3".into(),
        now: NOON.plus(Duration::from_secs(3_600)),
        until: NOON.plus(Duration::from_secs(86_400 * 36_500)),
        limit: 1,
        execution: Some(id.parse().unwrap()),
        flows: None,
        program: None,
    };
    assert_eq!(store.claim(&request).await.unwrap().len(), 1);
}
