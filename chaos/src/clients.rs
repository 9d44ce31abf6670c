//! Those who order: each starts one execution, writes to it and answers it, and asks again when the store is away.
//! Not verdicts.

use std::time::Duration;

use loom::{App, ExecutionId, SendError, kernel::Payload, ports::StoreError, prelude::*};

use crate::{Dice, program::order};

/// Orders at some instant in `within`, and stays until all has been said.
pub(crate) async fn client(app: App, n: u64, within: Duration, seed: u64) {
    let mut dice = Dice::new(seed ^ (n << 20));
    let mut wait = move |most: u64| tokio::time::sleep(millis(dice.below(most)));
    wait(within.as_millis() as u64).await;
    let id: ExecutionId = format!("order-{n}").parse().unwrap();
    // By a worker, which can be hurt.
    let started = || app.start_dynamic("order", Payload::encode(&n).unwrap()).id(id.as_str()).detached();
    while let Err(error) = started().await {
        assert!(is_away(&error.to_string()), "{id} does not start: {error}");
        wait(200).await;
    }
    let handle = app.handle::<order>(&id);
    let mut noted = 0;
    let mut tries = 0;
    while noted < 2 {
        let sent = handle.send("notes", &(noted + 1)).key(format!("note {noted}")).await;
        tries += 1;
        match sent {
            // Its first try has arrived, and then it ended.
            Err(SendError::Store(StoreError::Terminal { .. })) if noted == 1 && tries > 1 => noted = 2,
            Err(SendError::Store(StoreError::Unavailable(_))) => wait(200).await,
            Err(error) => panic!("{id} does not take a note: {error}"),
            Ok(_) => {
                (noted, tries) = (noted + 1, 0);
                wait(1_000).await;
            }
        }
        if noted == 1 && tries == 0 {
            answer(&app, &id, n).await;
        }
    }
}

async fn answer(app: &App, id: &ExecutionId, n: u64) {
    let gate = format!("{id}/approval").parse().unwrap();
    while let Err(error) = app.resume(&gate, Payload::encode(&(n % 10)).unwrap(), "ada").await {
        assert!(is_away(&error.to_string()), "{gate:?} does not take an answer: {error}");
        tokio::time::sleep(millis(100)).await;
    }
}

/// The store's own word, through every error that may hold it.
pub(crate) fn is_away(told: &str) -> bool {
    told.contains(&StoreError::Unavailable(String::new()).to_string())
}
