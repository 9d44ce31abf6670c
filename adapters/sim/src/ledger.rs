//! What the effects of steps leave in the world, and what is asked of each when it begins.
//! Not reachable from a dead process: what it was about to do never happens.

use futures_util::FutureExt;
use loom_runtime::{
    Delivery, ExecutionId, FrameId, Memory, StepCx,
    kernel::{Envelope, Event, Kind},
    ports::EventStore,
};

use crate::{Process, rules::Rule, witness::Witness};

/// One attempt of a step.
#[derive(Debug)]
pub(crate) struct Effect {
    execution: ExecutionId,
    frame: FrameId,
    attempt: u32,
    /// The same for each attempt of a frame in a run, and of no other.
    key: String,
    delivery: Delivery,
    /// Whether its start has to be on disk.
    on_record: bool,
    after: Option<String>,
}

impl Effect {
    pub(crate) fn of(cx: &StepCx, delivery: Delivery, counts: bool, after: Option<String>) -> Self {
        Self {
            execution: cx.execution().clone(),
            frame: cx.frame().clone(),
            attempt: cx.attempt(),
            key: cx.idempotency_key().to_owned(),
            delivery,
            on_record: counts || delivery == Delivery::AtMostOnce,
            after,
        }
    }

    fn told(&self) -> String {
        format!("attempt {} of `{}`", self.attempt, self.frame)
    }
}

/// One process's hand in the world.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    pub(crate) process: Process,
    pub(crate) store: Memory,
    pub(crate) witness: Witness,
}

impl Ledger {
    /// A body begins. What it rests on has to be on disk; one that must not happen twice has to be its owner's.
    pub(crate) async fn begin(&self, effect: &Effect) {
        let at_once = self.process.goes_on().now_or_never().is_some();
        if !at_once {
            self.process.goes_on().await;
        }
        self.witness.note("attempts");
        let log = self.log(&effect.execution);
        let settles = |envelope: &&Envelope| {
            let opens = matches!(
                envelope.event.kind(),
                Kind::StepStarted
                    | Kind::TimerSet
                    | Kind::GateOpened
                    | Kind::MessageAwaited
                    | Kind::ChildStarted
            );
            !opens && envelope.event.frame().map(FrameId::as_str) == effect.after.as_deref()
        };
        if effect.delivery != Delivery::Pure
            && let Some(after) = &effect.after
            && log.iter().rev().find(settles).is_none()
        {
            let what = format!("{} began before the outcome of `{after}` was on disk", effect.told());
            self.witness.broken(Rule::CausalDurability, &effect.execution, what);
        }
        let is_start = |envelope: &Envelope| {
            let Event::StepStarted(start) = &envelope.event else { return false };
            (&start.frame, start.attempt) == (&effect.frame, effect.attempt)
        };
        if effect.on_record && !log.iter().any(is_start) {
            let what = format!("{} began before its start was on disk", effect.told());
            self.witness.broken(Rule::CausalDurability, &effect.execution, what);
        }
        if effect.delivery == Delivery::AtMostOnce && at_once {
            self.owned(effect);
        }
    }

    /// Whether the effect's process is the owner, now.
    fn owned(&self, effect: &Effect) {
        let row = self.store.get(&effect.execution).now_or_never().and_then(Result::ok).flatten();
        let lease = row.and_then(|row| row.lease);
        let now = self.witness.now();
        let holds = lease.as_ref().is_some_and(|lease| {
            let owner = self.witness.owner(&effect.execution, lease.fence);
            lease.until >= now && owner.as_deref() == Some(self.process.name())
        });
        if !holds {
            let what =
                format!("{} began in process {}, which is not the owner", effect.told(), self.process.name());
            self.witness.broken(Rule::OneOwner, &effect.execution, what);
        }
    }

    /// The effect itself.
    pub(crate) async fn write(&self, effect: &Effect) {
        self.process.goes_on().await;
        let count = self.witness.effect(&effect.key, effect.attempt);
        if effect.delivery == Delivery::AtMostOnce && count > 1 {
            let what = format!("{} has happened {count} times", effect.told());
            self.witness.broken(Rule::AtMostOnce, &effect.execution, what);
        }
    }

    fn log(&self, execution: &ExecutionId) -> Vec<Envelope> {
        let records = self.store.read(execution, 0, usize::MAX).now_or_never();
        let records = records.and_then(Result::ok).unwrap_or_default();
        records.iter().filter_map(|record| Envelope::decode(execution, record).ok()).collect()
    }
}
