//! SIGKILL at every append and in every step of a checkout, in a real process on a real file; then another
//! process finishes. Not a simulation: the process that dies is killed by the kernel.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test says what is wrong by failing")]

mod plug;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Duration,
};

use checkout::shop::{Approval, Order, Receipt, Warehouse, checkout as checkout_flow};
use loom::{
    App, ExecutionError, ExecutionId, Handle, Status,
    kernel::{Fault, FrameId, FrameStatus, Payload, State, machine::Verdict},
    prelude::*,
};
use plug::{Plug, Pulled};

const PATIENCE: Duration = Duration::from_secs(60);

fn order() -> Order {
    Order { sku: "tea".into(), qty: 120, lines: ["cup", "pot", "tin"].map(str::to_owned).to_vec() }
}

fn id() -> ExecutionId {
    "order-1".parse().unwrap()
}

/// The child: starts the order (or takes it up), answers the gate, and dies where it is told to. Does nothing
/// when the tests run it as one of their own.
#[tokio::test(flavor = "multi_thread")]
async fn child() {
    let Ok(db) = std::env::var("CRASH_DB") else { return };
    let pulled: Pulled = std::env::var("CRASH_AT").unwrap().parse().unwrap();
    let (app, _) = open(Path::new(&db), pulled).await;
    let handle = app.start(checkout_flow(order())).id("order-1").await.unwrap();
    // Answered only once it waits, every child writes the same things in the same order: the n-th write of one is
    // the n-th of the next, on a busy machine too.
    let _ = handle.until(&[Status::Suspended]).await;
    let _ = finish(&handle).await;
}

async fn open(db: &Path, pulled: Pulled) -> (App, PathBuf) {
    let ledger = db.with_extension("ledger");
    let hook = pulled.clone();
    let warehouse = Warehouse::new(&ledger, Duration::ZERO).after_each(move |line| hook.in_step(line));
    let store = Plug::new(Sqlite::open(db).await.unwrap(), pulled);
    (checkout::app(warehouse, store).unwrap(), ledger)
}

/// Answers the gate as soon as it is open, and waits for the end or for a park.
async fn finish(
    handle: &Handle<checkout_flow>,
) -> Result<Receipt, ExecutionError<checkout::shop::ShopError>> {
    // Early answers are kept, so nobody needs to wait for the gate.
    let answered = handle.resume("manager", &Approval { approved: true }, "ada").await;
    assert!(answered.is_ok() || handle.status().await.unwrap().is_terminal(), "{answered:?}");
    tokio::time::timeout(PATIENCE, handle.result()).await.expect("it ends")
}

/// Runs the child until it is dead, or done.
fn run_child(db: &Path, pulled: &str) -> bool {
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("CRASH_DB", db)
        .env("CRASH_AT", pulled)
        .stdout(std::process::Stdio::null())
        .status()
        .unwrap();
    let killed = std::os::unix::process::ExitStatusExt::signal(&status) == Some(9);
    assert!(killed || status.success(), "{pulled}: {status}");
    killed
}

/// What is left of a state when the traces of a crash are taken out: every frame's outcome.
fn outcomes(state: &State) -> BTreeMap<FrameId, String> {
    let settled = state.frames.iter().filter(|(_, frame)| frame.status == FrameStatus::Settled);
    settled.map(|(id, frame)| (id.clone(), format!("{:?}", frame.outcome))).collect()
}

/// How often each effect is in the ledger.
fn effects(ledger: &Path) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(ledger).unwrap_or_default();
    let mut counts = BTreeMap::new();
    text.lines().for_each(|line| *counts.entry(line.to_owned()).or_default() += 1);
    counts
}

/// How a crash went.
#[derive(Debug, PartialEq)]
enum Crash {
    /// The child was done before it came to where it was to die.
    Outlived,
    /// The next process finished by itself.
    Finished,
    /// It parked, a person gave a verdict, it finished.
    Judged,
}

/// Kills a child at `pulled`, finishes here, and compares with the run that nobody disturbed.
async fn crash_and_finish(pulled: &str, undisturbed: &(BTreeMap<FrameId, String>, Receipt)) -> Crash {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("shop.db");
    if !run_child(&db, pulled) {
        return Crash::Outlived;
    }
    let mut crash = Crash::Finished;
    let (app, ledger) = open(&db, Pulled::Never).await;
    let settled_before: Vec<_> = match app.state(&id(), None).await {
        Ok(state) => outcomes(&state).into_keys().collect(),
        Err(_) => Vec::new(),
    };
    let effects_before = effects(&ledger);
    let handle = app.start(checkout_flow(order())).id("order-1").await.unwrap();
    let receipt = match finish(&handle).await {
        Ok(receipt) => receipt,
        Err(ExecutionError::Parked(report)) => {
            assert_eq!(report.fault, Fault::InDoubt, "{pulled}: {report}");
            crash = Crash::Judged;
            let charge = FrameId::parsed("charge");
            assert_eq!(report.frame.as_ref(), Some(&charge));
            // The person looks at the ledger, as one would at the bank's statement.
            let charged = effects(&ledger).keys().any(|line| line.contains(" charge "));
            let paid = undisturbed.1.payment.clone();
            let verdict =
                if charged { Verdict::Done(Payload::encode(&paid).unwrap()) } else { Verdict::Again };
            app.judge(&id(), &charge, verdict, "ada").await.unwrap();
            let order = app.handle::<checkout_flow>(&id());
            loop {
                match tokio::time::timeout(PATIENCE, order.result()).await.expect("it ends") {
                    Ok(receipt) => break receipt,
                    Err(ExecutionError::Parked(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
                    Err(other) => panic!("{pulled}: {other}"),
                }
            }
        }
        Err(other) => panic!("{pulled}: {other}"),
    };
    assert_eq!(receipt, undisturbed.1, "{pulled}");
    let state = app.state(&id(), None).await.unwrap();
    assert_eq!(state.status, Status::Completed);
    assert_eq!(outcomes(&state), undisturbed.0, "{pulled}");
    let after = effects(&ledger);
    assert_eq!(after.len(), 5, "{pulled}: each effect has one key: {after:?}");
    for (line, count) in &after {
        let what = line.split(' ').nth(1).unwrap();
        assert!(what != "charge" || *count == 1, "{pulled}: charged {count} times");
        // What was settled before the crash is not run again.
        let frame = match what.strip_prefix("ship-") {
            Some(line) => format!("ship#{}", order().lines.iter().position(|of| of == line).unwrap()),
            None => what.to_owned(),
        };
        if settled_before.iter().any(|settled| settled.as_str() == frame) {
            assert_eq!(*count, effects_before[line], "{pulled}: `{frame}` was settled and ran again");
            assert_eq!(*count, 1, "{pulled}: `{frame}`");
        }
    }
    app.shutdown(Duration::from_secs(1)).await;
    crash
}

async fn undisturbed() -> (BTreeMap<FrameId, String>, Receipt) {
    let dir = tempfile::tempdir().unwrap();
    let (app, ledger) = open(&dir.path().join("shop.db"), Pulled::Never).await;
    let handle = app.start(checkout_flow(order())).id("order-1").await.unwrap();
    let receipt = finish(&handle).await.unwrap();
    assert!(effects(&ledger).values().all(|count| *count == 1));
    (outcomes(&handle.state().await.unwrap()), receipt)
}

#[tokio::test(flavor = "multi_thread")]
async fn b35_killed_before_or_after_every_append() {
    let undisturbed = undisturbed().await;
    for when in ["before", "after"] {
        let mut crashes = Vec::new();
        loop {
            match crash_and_finish(&format!("{when}:{}", crashes.len()), &undisturbed).await {
                Crash::Outlived => break,
                crash => crashes.push(crash),
            }
        }
        assert!(crashes.len() >= 6, "only {} writes were crashed {when}", crashes.len());
        // Once the start of the charge is on disk, only a person knows whether it happened.
        assert!(crashes.contains(&Crash::Judged), "{when}: {crashes:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_inside_every_step() {
    let undisturbed = undisturbed().await;
    for step in ["reserve", "ship-cup", "ship-pot", "ship-tin"] {
        assert_eq!(crash_and_finish(&format!("step:{step}"), &undisturbed).await, Crash::Finished);
    }
    assert_eq!(crash_and_finish("step:charge", &undisturbed).await, Crash::Judged);
}
