//! The future of a step that is chosen at run time, by its name.
//! Not a way around the registry: the step is one of this program's, and its input fits its schema.

use std::{
    collections::HashMap,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use jsonschema::Validator;
use kernel::{
    EffectError, Failed, Fault, InvalidPayload, ParkReport, Payload,
    machine::{Cx, Op, Settled},
};

use super::{
    ctx::{Program, Stage},
    floor::Floor,
    place::{Place, placed},
};
use crate::{
    Failure, Limits, StepDescriptor,
    data_type::{validate, validator},
};

/// `ctx.execute("id", "step", input)`: a future of what the registered step `step` returns, as JSON.
///
/// For flows that follow a plan which is not known when they are compiled: a graph that was drawn by a person, the tool
/// that a model asks for. The step's delivery, retries and timeout are its own; its outcome is recorded like any other.
///
/// ```ignore
/// for node in &plan.nodes {
///     let output = ctx.execute(&node.id, &node.step, &node.input).await?;   // a Payload
///     outputs.insert(node.id.clone(), output);
/// }
/// ```
///
/// # Errors
/// [`ExecuteError`]. Nothing runs when the step is not registered ([`EffectError::UnknownStep`]), its input does not fit
/// its schema ([`EffectError::InvalidInput`]) or is too large, or one of its effect classes is over the ceiling of the
/// flow or of a part that leads here: [`EffectError::Denied`], with an `EFFECT_DENIED` event of its own.
#[must_use = "a step does nothing until it is awaited"]
pub struct Execute {
    cx: Cx,
    place: Place,
    limits: Limits,
    program: Arc<Program>,
    floor: Floor,
    step: String,
    stage: Stage<Result<Payload, InvalidPayload>>,
}

/// Why a step that was called by its name gave no output. `?` turns it into `loom::Error`, and into any enum that derives
/// [`Failure`]: see [`ExecuteError::into_failure`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecuteError {
    /// The step returned an error of its own.
    #[error("step `{step}` failed with {code}: {message}")]
    Failed {
        /// The step.
        step: String,
        /// The name of the error's variant.
        code: String,
        /// One line for people.
        message: String,
        /// The error, as JSON: [`ExecuteError::own`] reads it.
        error: Payload,
    },
    /// The engine reports: nothing ran, or no attempt came to an end of its own.
    #[error(transparent)]
    Engine(EffectError),
}

impl ExecuteError {
    /// The name under which the log files the failure.
    pub fn code(&self) -> &str {
        match self {
            Self::Failed { code, .. } => code,
            Self::Engine(engine) => engine.code(),
        }
    }

    /// The step's own error again, for who knows its type; `None` when it was the engine, or the error is no `E`.
    pub fn own<E: Failure>(&self) -> Option<E> {
        match self {
            Self::Failed { error, .. } => (E::CODEC.decode)(error).ok(),
            Self::Engine(_) => None,
        }
    }

    /// The failure `E` of whoever called the step, as `?` makes it: the engine's report; the step's own error, where it
    /// reads as an `E`; else [`EffectError::StepFailed`], which names it.
    pub fn into_failure<E: Failure>(self) -> E {
        let own = self.own();
        match self {
            Self::Engine(engine) => E::from_engine(engine),
            Self::Failed { step, code, message, .. } => {
                own.unwrap_or_else(|| E::from_engine(EffectError::StepFailed { step, code, message }))
            }
        }
    }

    fn of(step: &str, failed: Failed) -> Self {
        let Failed { code, message, error, engine } = failed;
        match engine {
            Some(engine) => Self::Engine(engine),
            None => {
                Self::Failed { step: step.into(), code, message, error: error.unwrap_or(Payload::null()) }
            }
        }
    }
}

placed!(Execute);

impl Execute {
    pub(super) fn new(
        cx: Cx,
        place: Place,
        limits: Limits,
        (program, floor): (Arc<Program>, Floor),
        step: String,
        input: Result<Payload, InvalidPayload>,
    ) -> Self {
        Self { cx, place, limits, program, floor, step, stage: Stage::Inert(input) }
    }
}

impl Future for Execute {
    type Output = Result<Payload, ExecuteError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Self { cx, place, limits, program, floor, step, stage } = &mut *self;
        let settled = stage.poll(context, |input| {
            let input = match input {
                Ok(input) => input,
                Err(reason) => {
                    let message = format!("the input of step `{step}` cannot be written as JSON: {reason}");
                    cx.raise(ParkReport::new(Fault::Unserializable, message));
                    return None;
                }
            };
            let known = program.registry.step(step);
            let (delivery, retry) = known.map(|known| (known.delivery, known.retry)).unwrap_or_default();
            let refuse = match known {
                None => Some(EffectError::UnknownStep { step: step.clone() }),
                Some(known) => floor
                    .refuse_step(known)
                    .or_else(|| limits.refuse_input(step, &input))
                    .or_else(|| program.inputs.refuse(known, &input)),
            };
            let (timeout, detached) = (None, false);
            let op = Op::Step { step: step.clone(), input, delivery, retry, timeout, refuse, detached };
            place.call(cx, step, op)
        });
        match settled {
            Poll::Ready(Settled::Completed(output)) => Poll::Ready(Ok(output)),
            Poll::Ready(Settled::Failed(failed)) => Poll::Ready(Err(ExecuteError::of(step, failed))),
            Poll::Ready(_) | Poll::Pending => Poll::Pending,
        }
    }
}

/// The schemas of the inputs that one run of a flow has checked: a plan calls the same few steps again and again, and
/// so does its replay.
#[derive(Default)]
pub(super) struct Inputs(Mutex<HashMap<&'static str, Arc<Result<Validator, String>>>>);

impl Inputs {
    fn refuse(&self, step: &'static StepDescriptor, input: &Payload) -> Option<EffectError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || Arc::new(validator(step.input.schema().as_value()));
        let schema = known.entry(step.name).or_insert_with(made).clone();
        drop(known);
        let fits = schema.as_ref().as_ref().map_err(Clone::clone);
        let fits = fits.and_then(|schema| validate(schema, input)).and_then(|()| step.input.reads(input));
        fits.err().map(|reason| EffectError::InvalidInput { step: step.name.into(), reason })
    }
}
