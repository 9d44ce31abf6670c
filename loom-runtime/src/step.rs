//! Steps: the units of work that are run once and recorded.
//! Not how often or when they run: the machine decides that, the driver does it.

use std::{
    any::{Any, TypeId, type_name},
    collections::HashMap,
    marker::PhantomData,
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use kernel::{EffectError, ExecutionId, FrameId, ParkReport, Payload, machine::AttemptEnd};
use serde::Serialize;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::recorded::{Codec, Recorded, encoded};
use crate::{Fact, Failure, FoldError, Limits, StepDescriptor, StepOutcome, failure, worker::Feed};

/// A step's body, for one attempt.
pub type StepBody<T, E> = BoxFuture<'static, Result<T, E>>;

/// A step. `#[step]` implements it on a type that has the function's name.
pub trait Step: Sized + 'static {
    /// The parameters, as one value.
    type Input: Send + 'static;
    /// How that is recorded: `Codec::json()`. No bound of the type, so that what a parameter lacks is said at the parameter.
    #[doc(hidden)]
    const INPUT: Codec<Self::Input>;
    /// What it returns.
    type Output: Recorded + Send + 'static;
    /// What it fails with.
    type Error: Failure;
    /// What the registry knows of it.
    const DESCRIPTOR: &'static StepDescriptor;
    /// Its effect classes. A step that did not compile has none, so that its callers say nothing more.
    #[doc(hidden)]
    const EFFECTS: &'static [&'static str] = Self::DESCRIPTOR.effects;

    /// The body, for one attempt.
    ///
    /// # Errors
    /// A resource that it wants was not provided.
    fn body(
        input: Self::Input,
        env: &StepEnv,
    ) -> Result<StepBody<Self::Output, Self::Error>, MissingResource>;

    /// [`Fact::outcome`], for folds.
    ///
    /// # Errors
    /// The fact is the outcome of this step, and cannot be read.
    #[doc(hidden)]
    fn __of_fact(fact: &Fact<'_>) -> Result<Option<StepOutcome<Self>>, FoldError> {
        fact.outcome::<Self>()
    }
}

/// A `Result`, under whatever alias: lets the macros name its two types.
#[diagnostic::on_unimplemented(
    message = "a step or flow returns a `Result`, and `{Self}` is none",
    note = "write `-> Result<T, E>` with `E: Failure`; `loom::Result<T>` is the ready-made one"
)]
pub trait StepResult {
    /// Of `Ok`.
    type Ok;
    /// Of `Err`.
    type Err;
}

impl<T, E> StepResult for Result<T, E> {
    type Ok = T;
    type Err = E;
}

/// A call of a step that has not been run: inert data, and no future. `ctx.run(step(..)).await` runs it durably,
/// `step(..).call(&resources).await` without durability, for unit tests.
#[must_use = "a step call does nothing by itself: in a flow, write `ctx.run(step(x)).await?`"]
pub struct StepCall<S: Step> {
    pub(crate) input: S::Input,
    step: PhantomData<fn() -> S>,
}

impl<S: Step> StepCall<S> {
    /// A call with this input.
    pub fn new(input: S::Input) -> Self {
        Self { input, step: PhantomData }
    }

    /// Runs the body once, here and undurably: for unit tests of steps.
    ///
    /// # Errors
    /// What the step fails with.
    ///
    /// # Panics
    /// When `resources` lacks what the step wants; the message names the type.
    pub async fn call(self, resources: &Resources) -> Result<S::Output, S::Error> {
        let env = StepEnv::undurable(resources.clone(), S::DESCRIPTOR.name);
        match S::body(self.input, &env) {
            Ok(body) => body.await,
            Err(missing) => panic!("{missing}"),
        }
    }
}

/// A resource, shared by all steps that want it. Provided once with `App::builder().provide(..)`.
pub struct Res<T: ?Sized>(Arc<T>);

impl<T> Deref for Res<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Clone for Res<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The resources of a program, by type.
#[derive(Clone, Default)]
pub struct Resources(Arc<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>);

impl Resources {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// These, and `resource`; a second one of a type replaces the first.
    #[must_use]
    pub fn with<T: Send + Sync + 'static>(mut self, resource: T) -> Self {
        Arc::make_mut(&mut self.0).insert(TypeId::of::<T>(), Arc::new(resource));
        self
    }

    pub(crate) fn has(&self, id: TypeId) -> bool {
        self.0.contains_key(&id)
    }

    fn get<T: Send + Sync + 'static>(&self) -> Option<Res<T>> {
        self.0.get(&TypeId::of::<T>()).cloned()?.downcast().ok().map(Res)
    }
}

/// A resource that a step wants and nobody provided.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("step `{step}` wants the resource `{resource}`: add `.provide(..)` to the App builder")]
pub struct MissingResource {
    /// The step.
    pub step: &'static str,
    /// The resource's type.
    pub resource: &'static str,
}

/// A step's view of its own attempt. Has no durable methods: a step is one unit.
#[derive(Clone)]
pub struct StepCx {
    execution: ExecutionId,
    frame: FrameId,
    attempt: u32,
    idempotency_key: Arc<str>,
    cancel: CancellationToken,
    pulse: Arc<Pulse>,
    /// None outside of an execution.
    feed: Option<Arc<Feed>>,
}

/// What an attempt shows of itself while it runs.
#[derive(Default)]
struct Pulse {
    beats: watch::Sender<u64>,
    /// Set once the body has asked whether it is cancelled: then it is given time to tidy up.
    heeds: AtomicBool,
    /// Set once the body has seen that it is cancelled.
    told: AtomicBool,
}

impl StepCx {
    /// The execution.
    pub fn execution(&self) -> &ExecutionId {
        &self.execution
    }

    /// The frame's id, `ship#3`.
    pub fn frame(&self) -> &FrameId {
        &self.frame
    }

    /// Which attempt this is, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// A key that is the same for every attempt of this frame and different for every other frame and
    /// execution: 32 hexadecimal digits, to be given to the other side.
    pub fn idempotency_key(&self) -> &str {
        &self.idempotency_key
    }

    /// Whether nobody waits for the outcome any more. A body that has asked this, or awaits [`StepCx::cancelled`], has
    /// five seconds to tidy up when that happens; any other is dropped at once, where it awaits something.
    ///
    /// `Ok` is what happened, also from a body that has been told: where the flow goes on later (its worker stops, or it is
    /// parked), that is the outcome of the step. A body that stops half-way returns an error instead: that one does not
    /// count then, and the next owner makes the attempt again.
    pub fn is_cancelled(&self) -> bool {
        self.pulse.heeds.store(true, Ordering::Relaxed);
        let cancelled = self.cancel.is_cancelled();
        self.pulse.told.fetch_or(cancelled, Ordering::Relaxed);
        cancelled
    }

    /// Completes when nobody waits for the outcome any more; see [`StepCx::is_cancelled`].
    pub async fn cancelled(&self) {
        self.pulse.heeds.store(true, Ordering::Relaxed);
        self.cancel.cancelled().await;
        self.pulse.told.store(true, Ordering::Relaxed);
    }

    /// Says something to whoever reads along, now: the next tokens of a model, how far an import is. Readers get it as a
    /// [`Chunk`](crate::Chunk) with this frame and attempt, from [`App::stream`](crate::App::stream).
    ///
    /// It is live and nothing more: heard in the process that runs the step, kept nowhere, gone when nobody reads. It
    /// never waits for slow readers. When the attempt fails and another is made, that one begins anew, and readers are
    /// told to forget this one. What counts is what the step returns. A chunk that cannot be written as JSON, or is over
    /// [`Limits::payload`](crate::Limits::payload), is lost with an error in the program's own log.
    ///
    /// It is a [`StepCx::heartbeat`] too.
    pub fn stream<T: Serialize + ?Sized>(&self, chunk: &T) {
        self.heartbeat();
        if let Some(feed) = &self.feed {
            feed.say(chunk);
        }
    }

    /// Whether the body knows that the attempt is cancelled.
    pub(crate) fn was_told(&self) -> bool {
        self.pulse.told.load(Ordering::Relaxed)
    }

    /// Says that the attempt is alive. A step with `heartbeat = "5s"` that is silent for longer is given up.
    pub fn heartbeat(&self) {
        self.pulse.beats.send_modify(|beats| *beats += 1);
    }
}

/// What an attempt is run with.
#[derive(Clone)]
pub struct StepEnv {
    step: &'static str,
    cx: StepCx,
    resources: Resources,
    limits: Limits,
}

impl StepEnv {
    pub(crate) fn new(
        invoke: &kernel::machine::Invoke,
        step: &'static str,
        execution: ExecutionId,
        resources: Resources,
        limits: Limits,
        cancel: CancellationToken,
        feed: Arc<Feed>,
    ) -> Self {
        let cx = StepCx {
            execution,
            frame: invoke.frame.clone(),
            attempt: invoke.attempt,
            idempotency_key: invoke.idempotency_key.to_string().into(),
            cancel,
            pulse: Arc::default(),
            feed: Some(feed),
        };
        Self { step, cx, resources, limits }
    }

    fn undurable(resources: Resources, step: &'static str) -> Self {
        let cx = StepCx {
            execution: "undurable".parse().expect("a valid id"),
            frame: FrameId::parsed(step),
            attempt: 1,
            idempotency_key: "undurable".into(),
            cancel: CancellationToken::new(),
            pulse: Arc::default(),
            feed: None,
        };
        Self { step, cx, resources, limits: Limits::default() }
    }

    /// A resource of the program.
    ///
    /// # Errors
    /// Nobody provided it.
    pub fn resource<T: Send + Sync + 'static>(&self) -> Result<Res<T>, MissingResource> {
        let missing = MissingResource { step: self.step, resource: type_name::<T>() };
        self.resources.get().ok_or(missing)
    }

    /// The step's name.
    pub fn step(&self) -> &'static str {
        self.step
    }

    /// The step's view of the attempt.
    pub fn cx(&self) -> StepCx {
        self.cx.clone()
    }

    /// Completes when the attempt is cancelled: at once, or after `grace` when the body has asked for its cancellation.
    pub(crate) async fn given_up(&self, grace: Duration) {
        self.cx.cancel.cancelled().await;
        if self.cx.pulse.heeds.load(Ordering::Relaxed) {
            tokio::time::sleep(grace).await;
        }
    }

    /// Completes when the attempt has been silent for `window`.
    pub(crate) async fn silence(&self, window: Duration) {
        let mut beats = self.cx.pulse.beats.subscribe();
        while let Ok(Ok(())) = tokio::time::timeout(window, beats.changed()).await {}
    }
}

/// A step whose input can be taken apart into what its function was called with, as a tuple: for what stands in for its
/// body. `#[step]` implements it. (Of an associated type, the compiler would ask that it be as public as the step.)
pub trait StepArguments<Arguments>: Step {
    /// Takes an input apart.
    fn arguments(input: Self::Input) -> Arguments;
}

/// Runs one attempt of `S`: what `StepDescriptor::invoke` points to.
pub fn invoke<S: Step>(input: Payload, env: StepEnv) -> BoxFuture<'static, AttemptEnd> {
    invoke_with::<S, _>(input, env, S::body)
}

/// Runs one attempt of `S` with another body: its input and outcome are read and written as those of its own.
pub fn invoke_with<S: Step, B>(input: Payload, env: StepEnv, body: B) -> BoxFuture<'static, AttemptEnd>
where
    B: FnOnce(S::Input, &StepEnv) -> Result<StepBody<S::Output, S::Error>, MissingResource> + Send + 'static,
{
    Box::pin(async move {
        let input = match (S::INPUT.decode)(&input) {
            Ok(input) => input,
            Err(reason) => {
                let message = format!(
                    "the input of step `{}` does not read as {}: {reason}",
                    env.step,
                    type_name::<S::Input>()
                );
                return AttemptEnd::Fault(
                    ParkReport::new(kernel::Fault::Undecodable, message).frame(&env.cx.frame),
                );
            }
        };
        let body = match body(input, &env) {
            Ok(body) => body,
            Err(missing) => {
                let report = ParkReport::new(kernel::Fault::MissingResource, missing.to_string());
                return AttemptEnd::Fault(report.frame(&env.cx.frame));
            }
        };
        match body.await {
            Ok(output) => match encoded(&output) {
                Ok(output) => {
                    env.within("outcome", output.len(), env.limits.payload, AttemptEnd::Returned(output))
                }
                Err(reason) => env.unserializable("outcome", type_name::<S::Output>(), &reason),
            },
            Err(error) => match failure::recorded(&error) {
                Ok(failure) => {
                    let (size, class) = (failure.error.as_ref().map_or(0, Payload::len), error.retry());
                    env.within("failure", size, env.limits.failure, AttemptEnd::Failed { failure, class })
                }
                Err(reason) => env.unserializable("failure", type_name::<S::Error>(), &reason),
            },
        }
    })
}

impl StepEnv {
    fn within(&self, what: &str, size: usize, limit: usize, end: AttemptEnd) -> AttemptEnd {
        if size <= limit {
            return end;
        }
        let (step, what) = (self.step.into(), what.into());
        AttemptEnd::Refused(EffectError::PayloadTooLarge {
            step,
            what,
            size: size as u64,
            limit: limit as u64,
        })
    }

    fn unserializable(&self, what: &str, ty: &str, reason: &kernel::InvalidPayload) -> AttemptEnd {
        let message =
            format!("the {what} of step `{}` ({ty}) cannot be written as JSON: {reason}", self.step);
        AttemptEnd::Fault(ParkReport::new(kernel::Fault::Unserializable, message).frame(&self.cx.frame))
    }
}
