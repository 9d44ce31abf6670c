//! B104: logs of typed flows that a released version wrote, which every later build must agree with.
//! Not for updating: neither a log under `tests/golden/` nor a flow in this file changes any more once its version is
//! out. `BLESS=1` writes the logs that are missing; a new version gets a folder of its own, and its flows a module.

use std::{path::PathBuf, time::Duration};

use loom::{
    App, FrozenLog, LogSource, Registry, Status, kernel::Kind, ports::ListFilter, prelude::*,
    replay_check_all,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::support::{Rig, patiently, registry, until};

const VERSION: &str = "0.1.0";

/// Every kind of event that these logs are to hold.
const KINDS: [Kind; 25] = [
    Kind::ExecutionStarted,
    Kind::ExecutionSuspended,
    Kind::ExecutionResumed,
    Kind::ExecutionCompleted,
    Kind::ExecutionFailed,
    Kind::ExecutionCancelled,
    Kind::StepStarted,
    Kind::StepCompleted,
    Kind::StepFailed,
    Kind::StepAbandoned,
    Kind::TimerSet,
    Kind::TimerFired,
    Kind::GateOpened,
    Kind::GateAnswered,
    Kind::GateExpired,
    Kind::DecisionRecorded,
    Kind::Domain,
    Kind::MessageAwaited,
    Kind::MessageReceived,
    Kind::UpdateAnswered,
    Kind::ChildStarted,
    Kind::ChildSettled,
    Kind::ContinuedAsNew,
    Kind::CancelRequested,
    Kind::ChangeMarked,
];

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
struct Order {
    sku: String,
    qty: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
enum SaleError {
    Busy,
    Declined {
        by: String,
    },
    #[failure(engine)]
    Engine(EffectError),
}

#[event(name = "golden.sold")]
#[derive(Serialize, Deserialize, JsonSchema)]
struct Sold {
    sku: String,
    price: f64,
}

#[step(retry(attempts = 3, initial = "1ms"))]
async fn reserve(step: StepCx, order: Order) -> Result<String, SaleError> {
    if step.attempt() == 1 {
        return Err(SaleError::Busy);
    }
    Ok(format!("{} of {}", order.qty, order.sku))
}

#[step(pure)]
async fn price(qty: u32) -> Result<f64, SaleError> {
    Ok(f64::from(qty) * 1.25)
}

#[step(at_most_once)]
async fn charge(amount: f64) -> Result<String, SaleError> {
    Ok(format!("paid {amount}"))
}

#[flow(part)]
async fn priced(ctx: Ctx, quantities: Vec<u32>) -> Result<f64, SaleError> {
    let mut sum = 0.0;
    for qty in quantities {
        sum += ctx.run(price(qty)).await?;
    }
    Ok(sum)
}

#[flow(name = "golden.sale")]
async fn sale(ctx: Ctx, order: Order) -> Result<String, SaleError> {
    let way = ctx.decide("way", || "by post".to_owned()).await;
    let held = ctx.run(reserve(order.clone())).await?;
    let sum = ctx.part("sum", priced(vec![order.qty, 1])).await?;
    let drawn = ctx.random();
    ctx.emit(&Sold { sku: order.sku.clone(), price: sum });
    let taxed = if ctx.changed("new-tax") { sum * 1.1 } else { sum };
    if ctx.suspend::<bool>("nobody").timeout(millis(1)).await.is_ok() {
        return Ok("somebody".into());
    }
    let late = select! {
        _ = ctx.suspend::<bool>("never") => false,
        () = ctx.sleep(millis(1)).id("deadline") => true,
    };
    let approved = ctx.suspend::<bool>("manager").await?;
    if !approved {
        return Err(SaleError::Declined { by: "the manager".into() });
    }
    let (one, other) = join!(ctx.call(parcel(1)).id("one"), ctx.call(parcel(2)).id("other"));
    let paid = ctx.run(charge(taxed)).await?;
    Ok(format!("{way} {held} {late} {} {paid} {}", one? + other?, drawn < 1.0))
}

#[flow(name = "golden.parcel")]
async fn parcel(ctx: Ctx, n: u32) -> Result<u32, SaleError> {
    ctx.sleep(millis(1)).await;
    Ok(n)
}

/// Adds up deposits, a run for each.
#[flow(name = "golden.account")]
async fn account(ctx: Ctx, sum: u64) -> Result<u64, SaleError> {
    let deposit = ctx.receive::<u64>("deposit").update::<u64>().await;
    let sum = sum + deposit.value;
    deposit.accept(&sum);
    if sum > 20 { Ok(sum) } else { ctx.continue_as_new(account(sum)).await }
}

/// Tidies up when it is cancelled.
#[flow(name = "golden.tidy")]
async fn tidy(ctx: Ctx) -> Result<f64, SaleError> {
    let work = ctx.suspend::<f64>("work");
    select! {
        done = work => Ok(done?),
        _ = ctx.cancelled() => ctx.run(price(0)).await,
    }
}

fn all() -> Registry {
    registry!(flows: [sale, parcel, account, tidy], steps: [reserve, price, charge])
}

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", VERSION].iter().collect()
}

/// Runs everything, so that each log ends as its name says.
async fn write() -> App {
    let app = Rig::memory().app(all()).await;
    let order = |qty| Order { sku: "tea".into(), qty, note: (qty > 2).then(|| "soon ☕".into()) };
    for (name, answer) in
        [("sold", Some(true)), ("declined", Some(false)), ("waits", None), ("cancelled", None)]
    {
        let handle = app.start(sale(order(if name == "sold" { 3 } else { 2 }))).id(name).await.unwrap();
        until(|| async {
            app.gates(Some(handle.id())).await.unwrap().iter().any(|gate| gate.gate == "manager")
        })
        .await;
        handle.until(&[Status::Suspended]).await.unwrap();
        if let Some(answer) = answer {
            handle.resume("manager", &answer, "ada").await.unwrap();
            let _ = handle.result().await;
        }
        if name == "cancelled" {
            app.cancel(handle.id(), "no longer wanted", "ada").await.unwrap();
            let _ = handle.result().await;
        }
    }
    let handle = app.start(account(0)).id("account").await.unwrap();
    for n in [5_u64, 7, 11] {
        handle.update::<u64, u64>("deposit", &n).await.unwrap();
    }
    assert_eq!(handle.result().await.unwrap(), 23);
    let handle = app.start(tidy()).id("tidied").await.unwrap();
    handle.until(&[Status::Suspended]).await.unwrap();
    app.cancel(handle.id(), "no longer wanted", "ada").await.unwrap();
    let _ = handle.result().await;
    app.shutdown(Duration::from_secs(1)).await;
    app
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn b104_golden_logs_of_typed_flows_agree_with_this_build() {
    patiently(async {
        if std::env::var_os("BLESS").is_some() {
            let app = write().await;
            std::fs::create_dir_all(folder()).unwrap();
            for row in app.list(&ListFilter::default()).await.unwrap() {
                let log = FrozenLog::of(&app, &row.id, 0).await.unwrap();
                let path = folder().join(log.file_name());
                if !path.exists() {
                    std::fs::write(path, log.text()).unwrap();
                }
            }
        }
        let checked = replay_check_all(&all(), LogSource::Directory(folder()), |_| {}).await.unwrap();
        assert!(checked.diverged.is_empty(), "{:#?}", checked.diverged);
        let mut held = std::collections::BTreeSet::new();
        for file in std::fs::read_dir(folder()).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let log = FrozenLog::parse("log", &text).unwrap();
            let events = log.events().unwrap();
            assert_eq!(log.text(), text, "{} reads and writes to the same bytes", path.display());
            for (event, record) in events.iter().zip(&log.records) {
                assert_eq!(&event.encode().unwrap(), record, "{}: event {}", path.display(), record.sequence);
            }
            held.extend(events.iter().map(|envelope| envelope.event.kind()));
        }
        let missing: Vec<_> = KINDS.into_iter().filter(|kind| !held.contains(kind)).collect();
        assert!(missing.is_empty(), "no log holds {missing:?}");
    })
    .await;
}
