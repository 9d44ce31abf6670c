//! New executions: their first event, and who runs them first.
//! Not the host's checks of what it is asked to start: those are [`crate::App`]'s.

use std::sync::Arc;

use kernel::{Digest, Envelope, Event, ExecutionId, Meta, Parent, Payload, StartChild, Started};

use super::{driver::Origin, engine::Engine};
use crate::ports::{Created, ExecutionRow, NewExecution, StoreError};

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
            input_version: self.registry.flow(&flow).map_or(1, |flow| flow.versions.current),
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
        Ok((!is_ours).then(|| "the id is taken by an execution that is not its child".to_owned()))
    }
}
