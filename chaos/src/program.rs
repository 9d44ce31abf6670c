//! The program that every worker of the fleet runs: an order with steps, timers, a gate, a child and messages.
//! Not who answers and writes to it: those are the clients.

use std::time::Duration;

use loom::{App, Entry, ExecutionId, Registry, WorkerOptions, prelude::*};

use crate::{Database, Ledger};

/// How long a fleet waits for a worker that is silent.
pub(crate) const LEASE: Duration = seconds(2);

/// What an order comes to: every part of it, each in its own digits, so that a wrong one shows.
pub(crate) fn comes_to(n: u64) -> u64 {
    let (approval, parcel, notes) = (n % 10, (n + 1) % 100, 12);
    charged(n) + approval * 1_000_000 + parcel * 10_000 + notes * 100
}

/// What is charged for an order.
pub(crate) fn charged(n: u64) -> u64 {
    n * 100_000_000
}

#[step]
async fn reserve(step: StepCx, ledger: Res<Ledger>, n: u64) -> loom::Result<u64> {
    ledger.write(&format!("reserve {}", step.execution()));
    Ok(n)
}

#[step]
async fn pack(step: StepCx, ledger: Res<Ledger>, n: u64, part: u64) -> loom::Result<u64> {
    ledger.write(&format!("pack {} {part}", step.execution()));
    Ok((n + part) % 100)
}

/// Slow before and after, so that many die of it on both sides.
#[step(at_most_once)]
async fn charge(step: StepCx, ledger: Res<Ledger>, n: u64) -> loom::Result<u64> {
    tokio::time::sleep(millis(40)).await;
    ledger.write(&format!("charge {}", step.execution()));
    tokio::time::sleep(millis(40)).await;
    Ok(charged(n))
}

#[step(retry(attempts = 50, initial = "5ms"))]
async fn file(step: StepCx, ledger: Res<Ledger>, total: u64) -> loom::Result<u64> {
    ledger.write(&format!("file {}", step.execution()));
    Ok(total)
}

#[flow]
async fn parcel(ctx: Ctx, of: (String, u64)) -> loom::Result<u64> {
    let (order, n) = of;
    let (_, packed) = try_join!(ctx.run(pack(n, 0)).id("box"), ctx.run(pack(n, 1)).id("goods"))?;
    ctx.sleep(millis(n % 5 * 60)).await;
    ctx.send(&order.parse::<ExecutionId>()?, "tracking", &packed);
    Ok(packed)
}

#[flow]
pub(crate) async fn order(ctx: Ctx, n: u64) -> loom::Result<u64> {
    let n = ctx.run(reserve(n)).await?;
    ctx.sleep(millis(n % 7 * 50)).await;
    let approval = ctx.suspend::<u64>("approval").await?;
    let parcel = ctx.call(parcel((ctx.execution().to_string(), n))).await?;
    let tracking = ctx.receive::<u64>("tracking").await;
    let mut notes = 0;
    for _ in 0..2 {
        notes = notes * 10 + ctx.receive::<u64>("notes").await;
    }
    let charged = ctx.run(charge(n)).await?;
    let mut total = charged + approval * 1_000_000 + parcel * 10_000 + notes * 100;
    if tracking != parcel {
        total += 1;
    }
    ctx.run(file(total)).await
}

pub(crate) fn registry() -> Registry {
    Registry::of([
        Entry::flow::<order>(),
        Entry::flow::<parcel>(),
        Entry::step::<reserve>(),
        Entry::step::<pack>(),
        Entry::step::<charge>(),
        Entry::step::<file>(),
    ])
}

/// The program in this process.
pub(crate) async fn open(database: &Database, ledger: &Ledger) -> App {
    let options = WorkerOptions {
        lease: LEASE,
        poll: millis(50),
        linger: millis(20),
        // The hand that kills is no fault of an execution.
        takeovers: 1_000,
        ..WorkerOptions::default()
    };
    let builder = database.builder().await.registry(registry());
    builder.provide(ledger.clone()).worker(options).build().unwrap()
}
