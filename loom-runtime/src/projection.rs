//! Projections: typed states that are pure folds over a log.
//! Not where they are kept: a fold starts from nothing and reads envelopes.

use std::{any::type_name, collections::BTreeMap};

use futures_util::future::BoxFuture;
use kernel::{Envelope, Event, ExecutionId, Failed, FrameId, InvalidPayload, Payload, Status};
use serde::{Deserialize, Serialize};

use crate::recorded::{Recorded, decoded};
use crate::{
    App, DomainEvent, EventDescriptor, EventError, Location, ProjectError, SchemaFn, Step, StepDescriptor,
    domain_event::read_event, failure,
};

/// A projection. `#[projection]` implements it on the type of its state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a projection",
    note = "put `#[projection]` on an `impl` block with its folds"
)]
pub trait Projection: Default + Recorded + Send + 'static {
    /// What the registry knows of it.
    const DESCRIPTOR: &'static ProjectionDescriptor;

    /// Folds one fact in. Whatever the projection has no fold for changes nothing.
    ///
    /// # Errors
    /// The fact is for this projection, and cannot be read.
    fn fold(&mut self, fact: &Fact<'_>) -> Result<(), FoldError>;
}

/// A registered projection.
#[derive(Clone, Copy, Debug)]
pub struct ProjectionDescriptor {
    /// Its name, unique within a program.
    pub name: &'static str,
    /// Its doc comment.
    pub doc: &'static str,
    /// The version of its state: a stored state of another version is folded anew.
    pub version: u32,
    /// Where it is written.
    pub location: Location,
    /// Of its state.
    pub state: SchemaFn,
    /// The events that it folds.
    pub events: &'static [&'static EventDescriptor],
    /// The steps whose outcomes it folds.
    pub steps: &'static [&'static StepDescriptor],
    /// Whether it folds changes of status.
    pub lifecycle: bool,
    /// Of its tokens.
    pub fingerprint: u64,
    /// Folds it, for whoever knows it by name only.
    pub project: ProjectFn,
}

/// The state of a projection as JSON.
pub type ProjectFn = for<'a> fn(&'a App, &'a ExecutionId) -> BoxFuture<'a, Result<Payload, ProjectError>>;

/// How a step ended: what `ctx.run(..)` of it gives.
pub type StepOutcome<S> = Result<<S as Step>::Output, <S as Step>::Error>;

/// One event of a log, as projections see it.
#[derive(Clone, Copy, Debug)]
pub struct Fact<'e> {
    envelope: &'e Envelope,
    /// The step whose outcome this is.
    step: Option<&'e str>,
}

/// A fact that a projection cannot read. Never replaced by a default.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// Of a domain event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// Of a step's outcome.
    #[error("event {position}, the outcome of step `{step}`, does not read as {ty}: {reason}")]
    Outcome {
        /// The step.
        step: &'static str,
        /// The type that was to be read.
        ty: &'static str,
        /// Its sequence in the log.
        position: u64,
        /// What is wrong; names fields, never values.
        reason: String,
    },
}

impl<'e> Fact<'e> {
    /// The domain event `E`, if it is one.
    ///
    /// # Errors
    /// It is one, and cannot be read.
    pub fn event<E: DomainEvent>(&self) -> Result<Option<E>, FoldError> {
        Ok(read_event(self.envelope)?)
    }

    /// The outcome of the step `S`, if it is one. An attempt that is to be retried is none.
    ///
    /// # Errors
    /// It is one, and cannot be read.
    pub fn outcome<S: Step>(&self) -> Result<Option<StepOutcome<S>>, FoldError> {
        if self.step != Some(S::DESCRIPTOR.name) {
            return Ok(None);
        }
        let unreadable = |ty: &'static str| {
            move |reason: InvalidPayload| FoldError::Outcome {
                step: S::DESCRIPTOR.name,
                ty,
                position: self.envelope.sequence,
                reason: reason.0,
            }
        };
        match self.settled() {
            Some(Ok(output)) => {
                let output = decoded(output).map_err(unreadable(type_name::<S::Output>()))?;
                Ok(Some(Ok(output)))
            }
            Some(Err(failed)) => {
                let error = failure::rebuilt(failed.clone()).map_err(unreadable(type_name::<S::Error>()))?;
                Ok(Some(Err(error)))
            }
            None => Ok(None),
        }
    }

    /// The status that the execution is in from here on, if this changes it.
    pub fn status(&self) -> Option<Status> {
        Some(match &self.envelope.event {
            Event::ExecutionStarted(_) | Event::ExecutionResumed(_) => Status::Running,
            Event::ExecutionSuspended(_) => Status::Suspended,
            Event::ExecutionParked(_) => Status::Parked,
            Event::ExecutionCompleted(_) => Status::Completed,
            Event::ExecutionFailed(_) => Status::Failed,
            Event::ExecutionCancelled(_) => Status::Cancelled,
            _ => return None,
        })
    }

    fn settled(&self) -> Option<Result<&'e Payload, &'e Failed>> {
        match &self.envelope.event {
            Event::StepCompleted(e) => Some(Ok(&e.output)),
            Event::StepFailed(e) if e.retry_at.is_none() => Some(Err(&e.failure)),
            _ => None,
        }
    }
}

/// What a fold is given. It is asked for as the fold takes it: then both types are known, and compared.
#[doc(hidden)]
#[derive(Debug)]
pub struct Held<G>(pub G);

impl<'f, G> Held<&'f G> {
    pub fn borrowed<A: FoldsBorrowed<'f, G>>(self) -> A {
        A::of(self.0)
    }
}

impl<G> Held<G> {
    pub fn owned<A: FoldsOwned<G>>(self) -> A {
        A::of(self.0)
    }
}

/// What there is instead of an event, where a fold is on something else. Whatever that fold takes is no matter then.
#[doc(hidden)]
#[derive(Debug)]
pub enum NoEvent {}

/// What folds are given.
#[doc(hidden)]
pub trait Foldable {}

impl<E: DomainEvent> Foldable for E {}

impl<T, E> Foldable for Result<T, E> {}

impl Foldable for Status {}

#[diagnostic::do_not_recommend]
impl<'f, T> FoldsBorrowed<'f, NoEvent> for &'f T {
    fn of(fact: &'f NoEvent) -> Self {
        match *fact {}
    }
}

#[diagnostic::do_not_recommend]
impl<T> FoldsOwned<NoEvent> for T {
    fn of(fact: NoEvent) -> Self {
        match fact {}
    }
}

/// What a fold takes by reference is the fact that it is on.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "[L0803] this fold is given `{Given}`, and takes `{Self}`",
    label = "takes `{Self}`, and is given `{Given}`",
    note = "help: take what the fold is on: `&{Given}`"
)]
pub trait FoldsBorrowed<'f, Given> {
    fn of(fact: &'f Given) -> Self;
}

impl<'f, T: Foldable> FoldsBorrowed<'f, T> for &'f T {
    fn of(fact: &'f T) -> Self {
        fact
    }
}

/// What a fold takes by value is.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "[L0803] this fold is given `{Given}`, and takes `{Self}`",
    label = "takes `{Self}`, and is given `{Given}`",
    note = "help: take what the fold is on: `&{Given}`, or `{Given}`"
)]
pub trait FoldsOwned<Given> {
    fn of(fact: Given) -> Self;
}

impl<T: Foldable> FoldsOwned<T> for T {
    fn of(fact: T) -> Self {
        fact
    }
}

/// A projection under way: its state, and what it needs to know to read on. An outcome names only its frame, so the
/// steps that run are kept until they end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(bound = "P: Recorded")]
pub struct Fold<P> {
    #[serde(serialize_with = "Recorded::__serialize", deserialize_with = "Recorded::__deserialize")]
    state: P,
    running: BTreeMap<FrameId, String>,
}

impl<P: Projection> Fold<P> {
    /// From nothing.
    pub fn new() -> Self {
        Self { state: P::default(), running: BTreeMap::new() }
    }

    /// The state of a whole log, or of the beginning of one.
    ///
    /// # Errors
    /// See [`Projection::fold`].
    pub fn of<'a>(log: impl IntoIterator<Item = &'a Envelope>) -> Result<P, FoldError> {
        let mut fold = Self::new();
        log.into_iter().try_for_each(|envelope| fold.apply(envelope))?;
        Ok(fold.state)
    }

    /// Folds the next event in.
    ///
    /// # Errors
    /// See [`Projection::fold`]. The state is as before then.
    pub fn apply(&mut self, envelope: &Envelope) -> Result<(), FoldError> {
        let step = envelope.event.frame().and_then(|frame| self.running.get(frame)).map(String::as_str);
        self.state.fold(&Fact { envelope, step })?;
        match &envelope.event {
            Event::StepStarted(e) => {
                self.running.insert(e.frame.clone(), e.step.clone());
            }
            Event::StepCompleted(e) => {
                self.running.remove(&e.frame);
            }
            Event::StepFailed(e) if e.retry_at.is_none() => {
                self.running.remove(&e.frame);
            }
            Event::StepAbandoned(e) => {
                self.running.remove(&e.frame);
            }
            _ => {}
        }
        Ok(())
    }

    /// The state so far.
    pub fn state(&self) -> &P {
        &self.state
    }

    /// The state.
    pub fn into_state(self) -> P {
        self.state
    }
}
