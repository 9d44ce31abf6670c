//! New executions: their first event, and who runs them first.
//! Not the host's checks of what it is asked to start: those are [`crate::App`]'s.

use std::sync::Arc;

use kernel::{
    Digest, Envelope, Event, ExecutionId, Message, Meta, Outcome, Parent, Payload, Post, Record, StartChild,
    Started, Told,
};

use super::{driver::Origin, engine::Engine};
use crate::{
    Service, Starting,
    entropy::Entropy,
    inbox_item::Item,
    ports::{Claimed, Created, ExecutionRow, GateChange, NewExecution, StoreError, TakeUp, Turn},
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

impl Place {
    /// Whether one of this turn runs here at once. In a lane it waits in line with the others, and is claimed.
    fn runs_here(self, turn: &Turn) -> bool {
        self != Self::Elsewhere && turn.lane.is_none()
    }
}

/// What became of a child that was to be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    /// It runs, or will.
    Runs,
    /// It had been started before, and has ended.
    Ended(Outcome),
    /// It never will, because of this.
    Refused(String),
}

/// An execution to create.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    pub(crate) id: ExecutionId,
    pub(crate) flow: String,
    pub(crate) input: Payload,
    /// The version of the input's shape, if it is not the one of today.
    pub(crate) version: Option<u32>,
    pub(crate) parent: Option<Parent>,
    pub(crate) place: Place,
    pub(crate) turn: Turn,
}

/// A fork to create.
#[derive(Clone, Debug)]
pub(crate) struct Branch {
    pub(crate) id: ExecutionId,
    pub(crate) flow: String,
    /// The digest of the origin's input.
    pub(crate) input: Digest,
    pub(crate) records: Vec<Record>,
    pub(crate) gates: Vec<GateChange>,
    /// The first event of the run that it begins in.
    pub(crate) base: u64,
    /// The origin's.
    pub(crate) turn: Turn,
}

impl Engine {
    /// Creates a fork, unless its id is taken: then the execution that has it is answered.
    pub(crate) async fn branch(
        self: &Arc<Self>,
        branch: Branch,
        place: Place,
    ) -> Result<Option<Box<ExecutionRow>>, StoreError> {
        let Branch { id, flow, input, records, gates, base, turn } = branch;
        match place {
            Place::Worker => self.boot(),
            Place::Alone => self.beat(),
            Place::Elsewhere => {}
        }
        // A program may fork what another one runs.
        let fits = place.runs_here(&turn) && self.registry.flow(&flow).is_some();
        let seat = self.seats(fits.into());
        let here = seat.count > 0;
        let until = self.lease_end();
        let claim = here.then(|| (self.worker.clone(), until));
        let batch = Digest::of(self.entropy.uuid().as_bytes());
        let new = NewExecution { id, flow, input, records, gates, base, batch, claim, turn };
        let row = new.row();
        match self.store.create(new).await? {
            Created::New { fence } if here => {
                let id = row.id.clone();
                let claimed = Claimed { row, fence, take_up: TakeUp::Unowned };
                let turn = claimed.row.turn.clone();
                self.drive(id, fence, until, turn, Origin::Claimed(Box::new(claimed)));
                Ok(None)
            }
            Created::New { .. } => {
                self.queued(row.id, place);
                Ok(None)
            }
            Created::Exists(row) => Ok(Some(row)),
        }
    }

    /// Creates an execution, unless its id is taken: then the one that has it is answered.
    pub(crate) async fn create(
        self: &Arc<Self>,
        birth: Birth,
    ) -> Result<Option<Box<ExecutionRow>>, StoreError> {
        let Birth { id, flow, input, version, parent, place, turn } = birth;
        let fresh = self.entropy.uuid();
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
            input_version: version.unwrap_or_else(|| self.registry.input_version(&flow)),
            // Two starts of one id may race: the one that is recorded gives the seed.
            seed: match &self.entropy {
                Entropy::System if self.clock.is_held() => Digest::of(id.as_str().as_bytes()),
                _ => Digest::of_parts(&[id.as_str().as_bytes(), fresh.as_bytes()]),
            },
            parent,
            flags: Vec::new(),
        };
        let (at, event) = (self.clock.now(), Event::ExecutionStarted(started));
        let envelope = Envelope { execution: id.clone(), sequence: 0, at, event, meta: Meta::default() };
        let records = vec![envelope.encode().map_err(|e| StoreError::Corrupt(e.to_string()))?];
        let batch = Digest::of(fresh.as_bytes());
        let seat = self.seats(place.runs_here(&turn).into());
        let here = seat.count > 0;
        let until = self.lease_end();
        let claim = here.then(|| (self.worker.clone(), until));
        let claimed = claim.is_some();
        let gates = Vec::new();
        let (input, base) = (digest, 0);
        let new = NewExecution {
            id: id.clone(),
            flow,
            input,
            records,
            gates,
            base,
            batch,
            claim,
            turn: turn.clone(),
        };
        match self.store.create(new).await? {
            Created::New { fence } if claimed => {
                self.drive(id, fence, until, turn, Origin::Created(Box::new(envelope)));
                Ok(None)
            }
            Created::New { .. } => {
                self.queued(id, place);
                Ok(None)
            }
            Created::Exists(row) => Ok(Some(row)),
        }
    }

    /// Lets a frame wait for an execution that is not its own child, however often it is asked to. When that has ended,
    /// the frame is told at once; when it ends at this moment, by itself or by what is posted here, and once.
    pub(crate) async fn watch_child(&self, child: &ExecutionId, by: &Parent) -> Result<(), StoreError> {
        let now = self.clock.now();
        let key = format!("watch:{}:{}", by.execution, by.frame);
        let mut watch = Item::Watch(by.clone()).into_new(child, Some(key), now);
        // Who recorded that it starts the child may not have done so yet.
        watch.early = true;
        match self.store.post(watch).await {
            Ok(_) => {
                self.arrived(child);
                return Ok(());
            }
            Err(StoreError::Terminal { .. }) => {}
            Err(error) => return Err(error),
        }
        let row = self.store.get(child).await?.ok_or_else(|| StoreError::Unknown(child.clone()))?;
        let last = self.event(child, row.next.saturating_sub(1)).await?;
        let Some(outcome) = last.and_then(|last| last.event.ends()) else {
            return Err(StoreError::Corrupt(format!("`{child}` has ended, and its log does not say how")));
        };
        let told = Told::Settled { frame: by.frame.clone(), child: child.clone(), outcome };
        let key = format!("settled:{child}:{}", by.frame);
        let post = Post { to: by.execution.clone(), key, told, early: false };
        match self.store.post(Item::posted(post, now)).await {
            Ok(_) => self.arrived(&by.execution),
            Err(StoreError::Terminal { .. }) => {} // nobody waits any more
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Somebody is to take up what was created: a worker, or this engine, which looks for nothing else.
    fn queued(self: &Arc<Self>, execution: ExecutionId, place: Place) {
        self.poke();
        if place == Place::Alone {
            self.fetch(execution);
        }
    }

    /// Starts a child, with its parent's turn unless the program says otherwise, however often it is asked to. One that has ended already tells how: an earlier run of its
    /// parent may have heard of that, and nobody would tell this one.
    pub(crate) async fn start_child(
        self: &Arc<Self>,
        start: &StartChild,
        turn: &Turn,
    ) -> Result<Begun, StoreError> {
        let StartChild { child, flow, input, input_version, parent } = start.clone();
        // One that exists may run in a program that has its flow.
        if self.registry.flow(&flow).is_none() && self.store.get(&child).await?.is_none() {
            return Ok(Begun::Refused(format!("this program has no flow `{flow}`")));
        }
        let (digest, place) = (input.digest(), Place::Alone);
        let (version, parent) = (Some(input_version), Some(parent));
        let of = parent.as_ref().map(|parent| &parent.execution);
        let turn =
            self.turns.of(Starting { execution: &child, flow: &flow, input: &input, parent: of, turn });
        let birth = Birth { id: child.clone(), flow, input, version, parent, place, turn };
        let Some(row) = self.create(birth).await? else { return Ok(Begun::Runs) };
        if row.flow != start.flow || row.input != digest {
            let reason = format!("the id is taken by an execution of `{}` with another input", row.flow);
            return Ok(Begun::Refused(reason));
        }
        // A run says again who waits, for when the earlier ones have been archived.
        let Some(first) = row.replayable() else {
            return Ok(Begun::Refused("the id is taken by an execution that was archived".to_owned()));
        };
        let first = self.event(&child, first).await?;
        let is_ours = first.is_some_and(|first| match first.event {
            Event::ExecutionStarted(started) => started.parent.as_ref() == Some(&start.parent),
            Event::ContinuedAsNew(run) => run.parent.as_ref() == Some(&start.parent),
            _ => false,
        });
        if !is_ours {
            return Ok(Begun::Refused("the id is taken by an execution that is not its child".to_owned()));
        }
        if !row.status.is_terminal() {
            return Ok(Begun::Runs);
        }
        let last = self.event(&child, row.next.saturating_sub(1)).await?;
        Ok(last.and_then(|last| last.event.ends()).map_or(Begun::Runs, Begun::Ended))
    }

    async fn event(&self, execution: &ExecutionId, sequence: u64) -> Result<Option<Envelope>, StoreError> {
        let records = self.store.read(execution, sequence, 1).await?;
        Ok(records.first().and_then(|record| Envelope::decode(execution, record).ok()))
    }

    /// Starts a service's execution, or tells it of this program.
    pub(super) async fn see_to(self: &Arc<Self>, service: &Service) -> Result<(), StoreError> {
        let wrong = |error: kernel::InvalidId| StoreError::Corrupt(error.to_string());
        let id: ExecutionId = service.execution.parse().map_err(wrong)?;
        let (flow, input) = (service.flow.name.to_owned(), service.input.clone());
        let (version, parent, place, turn) = (None, None, Place::Elsewhere, Turn::default());
        let birth = Birth { id: id.clone(), flow, input, version, parent, place, turn };
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
