//! Those who order: each starts one execution, writes to it and answers it, and asks again when the store is away.
//! Not verdicts.

use std::time::Duration;

use loom::{
    AnswerError, App, ExecutionId, SendError, StartError, kernel::Payload, ports::StoreError, prelude::*,
};

use crate::Dice;

/// Orders at some instant in `within`, and stays until all has been said.
pub(crate) async fn client(app: App, n: u64, within: Duration, seed: u64) {
    let mut dice = Dice::new(seed ^ (n << 20));
    let mut wait = move |most: u64| tokio::time::sleep(millis(dice.below(most)));
    let id: ExecutionId = format!("order-{n}").parse().unwrap();
    wait(within.as_millis() as u64).await;
    begin(&app, &id, n).await;
    note(&app, &id, 1).await;
    wait(1_000).await;
    answer(&app, &id, n).await;
    wait(1_000).await;
    note(&app, &id, 2).await;
}

/// How long a client waits until it asks again.
async fn later() {
    tokio::time::sleep(millis(100)).await;
}

/// By a worker, which can be hurt, and not here.
async fn begin(app: &App, id: &ExecutionId, n: u64) {
    let input = Payload::encode(&n).unwrap();
    loop {
        match app.start_dynamic("order", input.clone()).id(id.as_str()).detached().await {
            Ok(_) => return,
            Err(StartError::Store(StoreError::Unavailable(_))) => later().await,
            Err(error) => panic!("{id} does not start: {error}"),
        }
    }
}

async fn note(app: &App, id: &ExecutionId, which: u64) {
    let mut asked_before = false;
    loop {
        match app.send(id, "notes", &which).key(format!("note {which}")).await {
            Ok(_) => return,
            // It has ended, which it does with both notes: the earlier try has arrived.
            Err(SendError::Store(StoreError::Terminal { .. })) if asked_before => return,
            Err(SendError::Store(StoreError::Unavailable(_))) => later().await,
            Err(error) => panic!("{id} does not take note {which}: {error}"),
        }
        asked_before = true;
    }
}

async fn answer(app: &App, id: &ExecutionId, n: u64) {
    let gate = format!("{id}/approval").parse().unwrap();
    let approval = Payload::encode(&(n % 10)).unwrap();
    loop {
        match app.resume(&gate, approval.clone(), "ada").await {
            Ok(()) => return,
            Err(AnswerError::Store(StoreError::Unavailable(_))) => later().await,
            Err(error) => panic!("{id} does not take its answer: {error}"),
        }
    }
}
