//! What must hold once all has come to rest, of every execution, its log, and the effects that were told.
//! Not when.

use std::collections::BTreeMap;

use loom::{
    App, ExecutionId, Status,
    ports::{ListFilter, StoreError},
};

use crate::{
    Ledger,
    program::{comes_to, order, registry},
};

/// The log of an execution, a line an event.
pub(crate) async fn told(app: &App, id: &ExecutionId) -> Result<String, StoreError> {
    let log = app.log(id, 0, usize::MAX >> 1).await?;
    let lines = log.iter().map(|envelope| {
        let (kind, frame) = (envelope.event.kind().name(), envelope.event.frame());
        let frame = frame.map(ToString::to_string).unwrap_or_default();
        format!("  {:>4} {} {kind} {frame}\n", envelope.sequence, envelope.at)
    });
    Ok(lines.collect())
}

/// How often each kind of event is in the log of an order, and of its parcel.
const ORDER: [(&str, usize); 10] = [
    ("EXECUTION_STARTED", 1),
    ("GATE_OPENED", 1),
    ("GATE_ANSWERED", 1),
    ("TIMER_SET", 1),
    ("TIMER_FIRED", 1),
    ("CHILD_STARTED", 1),
    ("CHILD_SETTLED", 1),
    ("MESSAGE_RECEIVED", 3),
    ("STEP_COMPLETED", 3),
    ("EXECUTION_COMPLETED", 1),
];
const PARCEL: [(&str, usize); 5] = [
    ("EXECUTION_STARTED", 1),
    ("TIMER_SET", 1),
    ("TIMER_FIRED", 1),
    ("STEP_COMPLETED", 2),
    ("EXECUTION_COMPLETED", 1),
];

/// Checks orders and effects; answers how many executions, events and effects were looked at.
///
/// # Panics
/// With everything that is wrong.
pub(crate) async fn judge(app: &App, ledger: &Ledger, orders: u64) -> (usize, usize, usize) {
    let (mut wrong, effects) = (Vec::new(), ledger.counts());
    let rows = app.list(&ListFilter::default()).await.unwrap();
    if rows.len() as u64 != orders * 2 {
        wrong.push(format!("{} executions, of {orders} orders and as many parcels", rows.len()));
    }
    let mut events = 0;
    for row in &rows {
        match check(app, &row.id, &row.flow).await {
            Ok(count) => events += count,
            Err(what) => wrong.push(format!("{}: {what}\n{}", row.id, told(app, &row.id).await.unwrap())),
        }
        if row.status != Status::Completed || row.lease.is_some() {
            wrong.push(format!("{} is {}, leased to {:?}", row.id, row.status, row.lease));
        }
    }
    for n in 0..orders {
        let id: ExecutionId = format!("order-{n}").parse().unwrap();
        match app.handle::<order>(&id).result().await {
            Ok(total) if total == comes_to(n) => {}
            other => wrong.push(format!("{id} came to {other:?}, not {}", comes_to(n))),
        }
        let of = |what: String| effects.get(&what).copied().unwrap_or_default();
        let charges = of(format!("charge {id}"));
        if charges != 1 {
            wrong.push(format!("{id} was charged {charges} times\n{}", told(app, &id).await.unwrap()));
        }
        if of(format!("reserve {id}")) == 0 || of(format!("file {id}")) == 0 {
            wrong.push(format!("{id} was done in part"));
        }
    }
    let packed = effects.keys().filter(|what| what.starts_with("pack ")).count() as u64;
    if packed != orders * 2 {
        wrong.push(format!("{packed} parts were packed, of {orders} parcels with two"));
    }
    assert!(wrong.is_empty(), "{} things are wrong:\n{}", wrong.len(), wrong.join("\n"));
    (rows.len(), events, effects.values().map(|count| *count as usize).sum())
}

/// Checks the log of one: dense, whole, and what its flow does.
async fn check(app: &App, id: &ExecutionId, flow: &str) -> Result<usize, String> {
    let log = app.log(id, 0, usize::MAX >> 1).await.map_err(|error| error.to_string())?;
    if let Some((n, found)) = (0..).zip(&log).find(|(n, envelope)| envelope.sequence != *n) {
        return Err(format!("event {} is where {n} belongs", found.sequence));
    }
    if app.row(id).await.map_err(|error| error.to_string())?.next != log.len() as u64 {
        return Err(format!("the log has {} events, its row says otherwise", log.len()));
    }
    let mut kinds = BTreeMap::<_, usize>::new();
    for envelope in &log {
        *kinds.entry(envelope.event.kind().name()).or_default() += 1;
    }
    let expected = if flow == "order" { &ORDER[..] } else { &PARCEL };
    for (kind, often) in expected {
        let found = kinds.get(kind).copied().unwrap_or_default();
        // A verdict stands for the outcome of a step.
        if found != *often && !(*kind == "STEP_COMPLETED" && kinds.contains_key("EFFECT_INDOUBT")) {
            return Err(format!("{found} times {kind}, not {often}"));
        }
    }
    loom::replay_check(&registry(), &log).map_err(|report| report.to_string())?;
    Ok(log.len())
}
