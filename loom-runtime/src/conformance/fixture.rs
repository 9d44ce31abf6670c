//! What the cases have in common: ids, instants, records, and an owner that appends.
//! Not an assertion among it, but for what a case needs in order to begin.

use kernel::{Digest, ExecutionId, FrameId, Record, Status, Timestamp};

use super::Shared;
use crate::ports::{
    Append, ClaimRequest, Claimed, Close, Created, ExecutionRow, GateChange, InboxId, NewExecution, NewItem,
    Posted, StoreError, Turn,
};

/// The end of the leases that [`new`] asks for.
pub(super) const LEASE: Timestamp = at(1_000);

pub(super) fn id(name: &str) -> ExecutionId {
    name.parse().expect("a valid id")
}

pub(super) fn frame(name: &str) -> FrameId {
    FrameId::parsed(name)
}

pub(super) const fn at(micros: i64) -> Timestamp {
    Timestamp::from_micros(micros)
}

pub(super) fn batch(name: &str) -> Digest {
    Digest::of(name.as_bytes())
}

pub(super) fn record(sequence: u64, payload: &str) -> Record {
    let kind = if sequence == 0 { "EXECUTION_STARTED" } else { "DECISION_RECORDED" };
    Record { sequence, kind: kind.into(), at: at(7), schema: 1, payload: payload.into(), meta: "{}".into() }
}

/// A new execution of flow `flow`, created at 7 and leased to `w1` until [`LEASE`].
pub(super) fn new(name: &str) -> NewExecution {
    NewExecution {
        id: id(name),
        flow: "flow".into(),
        input: Digest::of(b"input"),
        records: vec![record(0, r#"{"start":true}"#)],
        gates: Vec::new(),
        base: 0,
        batch: batch(&format!("create {name}")),
        claim: Some(("w1".into(), LEASE)),
        turn: Turn::default(),
    }
}

/// The same without an owner, created at `created`.
pub(super) fn unowned(name: &str, created: i64) -> NewExecution {
    let record = Record { at: at(created), ..record(0, "{}") };
    NewExecution { records: vec![record], claim: None, ..new(name) }
}

pub(super) fn item(name: &str, key: Option<&str>, payload: &str) -> NewItem {
    NewItem {
        execution: id(name),
        key: key.map(Into::into),
        kind: "message".into(),
        payload: payload.into(),
        at: at(50),
        early: false,
    }
}

pub(super) async fn post(store: &Shared, name: &str, key: Option<&str>) -> InboxId {
    match store.post(item(name, key, "1")).await {
        Ok(Posted::Accepted(id)) => id,
        other => panic!("the post was not accepted: {other:?}"),
    }
}

pub(super) async fn row(store: &Shared, name: &str) -> ExecutionRow {
    store.get(&id(name)).await.expect("get").expect("the execution exists")
}

pub(super) async fn log(store: &Shared, name: &str) -> Vec<Record> {
    store.read(&id(name), 0, usize::MAX).await.expect("read")
}

/// A claim by `worker` at `now`, for 1,000 µs, of whatever is due.
pub(super) fn claim(worker: &str, now: i64) -> ClaimRequest {
    ClaimRequest {
        worker: worker.into(),
        now: at(now),
        until: at(now + 1_000),
        limit: usize::MAX,
        execution: None,
        flows: None,
        program: None,
    }
}

/// What `worker` gets at `now`, of whatever is due.
pub(super) async fn claimed(store: &Shared, worker: &str, now: i64) -> Vec<Claimed> {
    store.claim(&claim(worker, now)).await.expect("claim")
}

/// The names of what was claimed, in order.
pub(super) fn names(claimed: &[Claimed]) -> Vec<&str> {
    claimed.iter().map(|claimed| claimed.row.id.as_str()).collect()
}

/// An owner that knows where its log is.
#[derive(Clone)]
pub(super) struct Owner {
    pub(super) store: Shared,
    pub(super) id: ExecutionId,
    pub(super) fence: u64,
    pub(super) next: u64,
}

impl Owner {
    /// Creates an execution as [`new`] has it, and owns it.
    pub(super) async fn create(store: &Shared, name: &str) -> Self {
        Self::of(store, new(name)).await
    }

    /// Creates an execution, and owns it if it asks to be claimed.
    pub(super) async fn of(store: &Shared, new: NewExecution) -> Self {
        let (id, next) = (new.id.clone(), new.records.len() as u64);
        match store.create(new).await {
            Ok(Created::New { fence }) => Self { store: store.clone(), id, fence, next },
            other => panic!("`{id}` was not created: {other:?}"),
        }
    }

    /// The owner that a claim makes.
    pub(super) fn claimed(store: &Shared, claimed: &Claimed) -> Self {
        let (id, fence, next) = (claimed.row.id.clone(), claimed.fence, claimed.row.next);
        Self { store: store.clone(), id, fence, next }
    }

    /// An append of `count` records at 100; not sent.
    pub(super) fn batch(&self, count: u64) -> Append {
        let records = (self.next..self.next + count).map(|n| record(n, &format!(r#"{{"n":{n}}}"#)));
        Append {
            execution: self.id.clone(),
            expected_next: self.next,
            fence: self.fence,
            batch: batch(&format!("{} {} {}", self.id, self.fence, self.next)),
            records: records.collect(),
            at: at(100),
            progress: false,
            gates: Vec::new(),
            consumed: Vec::new(),
            posts: Vec::new(),
            run: None,
            close: None,
        }
    }

    /// An append of one record that closes with everything read; not sent.
    pub(super) fn closing(&self, status: Status) -> Append {
        let close = Close { status, wake_at: None, seen: 0, unfit: None };
        Append { close: Some(close), ..self.batch(1) }
    }

    /// Sends, and moves on when it was accepted.
    pub(super) async fn send(&mut self, append: &Append) -> Result<(), StoreError> {
        self.store.append(append).await?;
        self.next += append.records.len() as u64;
        Ok(())
    }

    /// Appends `count` records.
    pub(super) async fn append(&mut self, count: u64) {
        self.send(&self.batch(count)).await.expect("the owner appends");
    }

    /// Closes, with every item up to `seen` read.
    pub(super) async fn close(&mut self, status: Status, wake_at: Option<i64>, seen: InboxId) {
        let close = Close { status, wake_at: wake_at.map(at), seen, unfit: None };
        let append = Append { close: Some(close), ..self.batch(1) };
        self.send(&append).await.expect("the owner closes");
    }

    /// Appends one record with changes to the gate index.
    pub(super) async fn gates(&mut self, gates: Vec<GateChange>) {
        let append = Append { gates, ..self.batch(1) };
        self.send(&append).await.expect("the owner appends");
    }
}
