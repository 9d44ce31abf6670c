//! New executions: their first event, and who runs them first.
//! Not the host's checks of what it is asked to start: those are [`crate::App`]'s.

use std::sync::Arc;

use kernel::{
    Digest, Envelope, Event, ExecutionId, Message, Meta, Outcome, Parent, Payload, StartChild, Started,
};

use super::{driver::Origin, engine::Engine};
use crate::{
    Service,
    inbox_item::{Item, Settled},
    ports::{Created, ExecutionRow, NewExecution, StoreError},
};

/// Where a new execution runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Here, by a worker that takes up whatever else is due.
    Worker,
    /// Here, by itself.
    Alone,
    /// Wherever a worker finds it.
    Elsewhere,
}

/// An execution to create.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    pub(crate) id: ExecutionId,
    pub(crate) flow: String,
    pub(crate) input: Payload,
    pub(crate) parent: Option<Parent>,
    pub(crate) place: Place,
}

impl Engine {
    /// Creates an execution, unless its id is taken: then the one that has it is answered.
    pub(crate) async fn create(
        self: &Arc<Self>,
        birth: Birth,
    ) -> Result<Option<Box<ExecutionRow>>, StoreError> {
        let Birth { id, flow, input, parent, place } = birth;
        let fresh = uuid::Uuid::now_v7();
        match place {
            Place::Worker => self.boot(),
            Place::Alone => self.beat(),
            Place::Elsewhere => {}
        }
        let digest = input.digest();
        let started = Started {
            flow: flow.clone(),
            input,
            code: self.code(&flow),
            // Two starts of one id may race: the one that is recorded gives the seed.
            seed: Digest::of_parts(&[id.as_str().as_bytes(), fresh.as_bytes()]),
            parent,
            flags: Vec::new(),
        };
        let (at, event) = (self.clock.now(), Event::ExecutionStarted(started));
        let envelope = Envelope { execution: id.clone(), sequence: 0, at, event, meta: Meta::default() };
        let records = vec![envelope.encode().map_err(|e| StoreError::Corrupt(e.to_string()))?];
        let batch = Digest::of(fresh.as_bytes());
        let here = place != Place::Elsewhere && self.has_room();
        let until = self.lease_end();
        let claim = here.then(|| (self.worker.clone(), until));
        let claimed = claim.is_some();
        let gates = Vec::new();
        let new = NewExecution { id: id.clone(), flow, input: digest, records, gates, batch, claim };
        match self.store.create(new).await? {
            Created::New { fence } if claimed => {
                self.drive(id, fence, until, Origin::Created(Box::new(envelope)));
                Ok(None)
            }
            Created::New { .. } => {
                self.poke();
                Ok(None)
            }
            Created::Exists(row) => Ok(Some(row)),
        }
    }

    /// Starts a child, however often it is asked to. Answers why it cannot be started, if it cannot.
    pub(crate) async fn start_child(
        self: &Arc<Self>,
        start: &StartChild,
    ) -> Result<Option<String>, StoreError> {
        let StartChild { child, flow, input, parent } = start.clone();
        if self.registry.flow(&flow).is_none() {
            return Ok(Some(format!("this program has no flow `{flow}`")));
        }
        let (digest, place) = (input.digest(), Place::Alone);
        let birth = Birth { id: child.clone(), flow, input, parent: Some(parent), place };
        let Some(row) = self.create(birth).await? else { return Ok(None) };
        if row.flow != start.flow || row.input != digest {
            return Ok(Some(format!("the id is taken by an execution of `{}` with another input", row.flow)));
        }
        let first = self.store.read(&child, 0, 1).await?;
        let first = first.first().and_then(|record| Envelope::decode(&child, record).ok());
        let is_ours = first.is_some_and(|first| match first.event {
            Event::ExecutionStarted(started) => started.parent.as_ref() == Some(&start.parent),
            _ => false,
        });
        if !is_ours {
            return Ok(Some("the id is taken by an execution that is not its child".to_owned()));
        }
        if row.status.is_terminal() {
            self.tell_again(start, &row).await?;
        }
        Ok(None)
    }

    /// A child of an earlier run has ended: whoever it told of that may not have been waiting yet. Told twice, a frame
    /// heeds the first.
    async fn tell_again(&self, start: &StartChild, row: &ExecutionRow) -> Result<(), StoreError> {
        let last = self.store.read(&row.id, row.next.saturating_sub(1), 1).await?;
        let last = last.first().and_then(|record| Envelope::decode(&row.id, record).ok());
        let Some(outcome) = last.and_then(|last| outcome_of(last.event)) else { return Ok(()) };
        let Parent { execution, frame } = start.parent.clone();
        let item = Item::Settled(Settled { frame, child: row.id.clone(), outcome });
        self.store.post(item.into_new(&execution, None, self.clock.now())).await?;
        self.arrived(&execution);
        Ok(())
    }

    /// Starts a service's execution, or tells it of this program.
    pub(super) async fn see_to(self: &Arc<Self>, service: &Service) -> Result<(), StoreError> {
        let wrong = |error: kernel::InvalidId| StoreError::Corrupt(error.to_string());
        let id: ExecutionId = service.execution.parse().map_err(wrong)?;
        let (flow, input) = (service.flow.name.to_owned(), service.input.clone());
        let birth = Birth { id: id.clone(), flow, input, parent: None, place: Place::Elsewhere };
        if self.create(birth).await?.is_none() {
            return Ok(());
        }
        let (topic, body) = service.told.clone();
        let message = Message { topic: topic.into(), body, by: self.worker.clone(), reply_to: None };
        match self.store.post(Item::Message(message).into_new(&id, None, self.clock.now())).await {
            // Somebody has ended it: that holds.
            Ok(_) | Err(StoreError::Terminal { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn outcome_of(last: Event) -> Option<Outcome> {
    Some(match last {
        Event::ExecutionCompleted(e) => Outcome::Completed(e.output),
        Event::ExecutionFailed(e) => Outcome::Failed(e.failure),
        Event::ExecutionCancelled(e) => Outcome::Cancelled { reason: e.reason, by: e.by },
        _ => return None,
    })
}
