//! Parked executions, as a worker looks at them: which of them it tries again by itself.
//! Not the tries: those are ordinary claims.

use std::{collections::HashMap, sync::Arc, time::Duration};

use kernel::{Envelope, Event, ExecutionId, Fault, FrameKind, FrameStatus, ParkReport, State, Status};

use tokio::time::Instant;

use super::{Engine, transition::waits_for_code};
use crate::{
    Registry,
    inbox_item::Item,
    ports::{ExecutionRow, ListFilter, StoreError},
    replay_check::frozen,
};

/// A look is repeated after so many polls.
const POLLS: u32 = 10;

/// And not before so many times of what it took: thousands may be parked.
const SHARE: u32 = 20;

/// What a worker has seen of the parked executions: each is looked at once, until it parks anew.
#[derive(Default)]
pub(super) struct ParkedOnes {
    /// By how many events it had.
    seen: HashMap<ExecutionId, u64>,
    next: Option<Instant>,
}

/// Whether an execution is to be tried again.
enum Try {
    /// Once with each program, however often it parks: what stopped it may be mended.
    OncePerProgram,
    /// This code agrees with the log, and the code that parked it did not.
    Fits,
    /// A person says when; or this code does not agree either.
    No,
}

impl ParkedOnes {
    /// Looks at the parked executions, if it is time to.
    ///
    /// What has parked because a program's code does not agree with its log waits for code that does. That is found out
    /// here by a replay which records nothing: an execution is not taken up by one program after another only to park
    /// again. What parks while this worker runs is seen too, since programs of several releases may share a store.
    pub(super) async fn look(&mut self, engine: &Arc<Engine>) {
        let begun = Instant::now();
        if self.next.is_some_and(|next| begun < next) {
            return;
        }
        if let Err(error) = self.retry(engine).await {
            tracing::warn!(%error, "parked ones not seen");
        }
        let pause = (engine.options.poll * POLLS).max(begun.elapsed() * SHARE);
        self.next = Some(Instant::now() + pause.min(Duration::from_secs(60)));
    }

    async fn retry(&mut self, engine: &Arc<Engine>) -> Result<(), StoreError> {
        let filter = ListFilter { statuses: vec![Status::Parked], ..ListFilter::default() };
        let mut parked = engine.store.list(&filter).await?;
        parked.retain(|row| engine.registry.flow(&row.flow).is_some());
        let before = std::mem::take(&mut self.seen);
        for row in parked {
            let known = before.get(&row.id) == Some(&row.next);
            if known || self.consider(engine, &row).await? {
                self.seen.insert(row.id, row.next);
            }
        }
        Ok(())
    }

    /// Tries one again, or leaves it parked. False when it is to be looked at again.
    async fn consider(&self, engine: &Arc<Engine>, row: &ExecutionRow) -> Result<bool, StoreError> {
        let key = match judge(engine, row).await? {
            Try::No => return Ok(true),
            // A worker that is full would wake it for somebody whose code does not fit.
            _ if !engine.has_room() => return Ok(false),
            Try::Fits => format!("retry:{}:{}", engine.program, row.next),
            Try::OncePerProgram => format!("retry:{}", engine.program),
        };
        match engine.store.post(Item::Retry.into_new(&row.id, Some(key), engine.clock.now())).await {
            Err(error) if error.is_outage() => return Err(error),
            Err(error) => {
                tracing::warn!(execution = %row.id, %error, "a parked execution was not tried again")
            }
            // At once and here, before a worker gets it that has the wrong code.
            Ok(_) => drop(engine.claim(1, Some(row.id.clone())).await?),
        }
        Ok(true)
    }
}

async fn judge(engine: &Engine, row: &ExecutionRow) -> Result<Try, StoreError> {
    let last = engine.store.read(&row.id, row.next.saturating_sub(1), 1).await.unwrap_or_default();
    let last = last.first().and_then(|record| Envelope::decode(&row.id, record).ok());
    let Some(Event::ExecutionParked(parked)) = last.map(|envelope| envelope.event) else {
        return Ok(Try::OncePerProgram);
    };
    let waits_for_code = waits_for_code(&parked.report);
    let ParkReport { fault, code, frame, .. } = parked.report;
    let is_own = code == Some(format!("{:016x}", engine.code(&row.flow).body));
    let is_open = |state: &State| {
        frame
            .as_ref()
            .and_then(|frame| state.frames.get(frame))
            .is_some_and(|f| f.status == FrameStatus::Open)
    };
    match fault {
        Fault::InDoubt | Fault::Poisoned => Ok(Try::No),
        _ if waits_for_code => Ok(match fits(engine, row).await? {
            None => Try::No,
            // The flow's own code may be the same: it is the step that this program has, and the other had not.
            Some(_) if fault == Fault::MissingStep => Try::Fits,
            Some(_) if !is_own => Try::Fits,
            // It waits for a message, and this code has left the one that came to other code.
            Some(state) if fault == Fault::Undecodable && is_open(&state) => Try::No,
            // A helper that no fingerprint sees may be mended. Or the code does one thing now and another then: once.
            Some(_) => Try::OncePerProgram,
        }),
        _ => Ok(Try::OncePerProgram),
    }
}

/// Replays the current run, as its owner would, and records nothing. Answers its state, if this code fits.
async fn fits(engine: &Engine, row: &ExecutionRow) -> Result<Option<State>, StoreError> {
    let log = match frozen::read(&*engine.store, &row.id, row.base).await {
        Ok(log) => log,
        Err(error) if error.is_outage() => return Err(error),
        Err(_) => return Ok(None),
    };
    let (checker, registry, id) = (engine.checker.clone(), engine.registry.clone(), row.id.clone());
    let checked = tokio::task::spawn_blocking(move || {
        let log = log.events()?;
        checker.replay(&log).map(|()| State::of(&log).ok().filter(|state| lacks_no_step(&registry, state)))
    });
    match checked.await {
        Ok(Ok(fits)) => Ok(fits),
        Ok(Err(report)) => {
            tracing::info!(execution = %id, %report, "waits for code, and this program's does not fit either");
            Ok(None)
        }
        Err(error) => {
            tracing::warn!(execution = %id, %error, "waits for code, and cannot be replayed");
            Ok(None)
        }
    }
}

/// Whether the steps that are still to be run are registered: a replay runs none.
fn lacks_no_step(registry: &Registry, state: &State) -> bool {
    state.frames.values().all(|frame| match &frame.kind {
        FrameKind::Step { step, .. }
            if matches!(frame.status, FrameStatus::Open | FrameStatus::BackingOff) =>
        {
            registry.step(step).is_some()
        }
        _ => true,
    })
}
