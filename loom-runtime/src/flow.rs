//! Flows and their parts: async functions over a [`Ctx`], as the macros leave them.
//! Not their execution: the machine polls them, the driver feeds the machine.

use std::{any::type_name, marker::PhantomData};

use futures_util::future::BoxFuture;
use kernel::{Fault, ParkReport, Payload, machine::FlowReturn};

use crate::recorded::{Recorded, encoded};
use crate::{Ctx, Failure, FlowDescriptor, PartDescriptor, UpcastError, context::Root, failure, flow_input};

/// A flow. `#[flow]` implements it on a type that has the function's name.
pub trait Flow: Sized + 'static {
    /// Its input; `()` when it takes none.
    type Input: Recorded + Send + 'static;
    /// What it returns.
    type Output: Recorded + Send + 'static;
    /// What it fails with.
    type Error: Failure;
    /// What the registry knows of it.
    const DESCRIPTOR: &'static FlowDescriptor;
    /// Its ceiling of effect classes. One that did not compile has none to go over.
    #[doc(hidden)]
    const CEILING: Option<&'static [&'static str]> = Self::DESCRIPTOR.effects;

    /// Brings an input of an older `version` to the version after it. `#[flow(version = 2, upcast(1 => from_v1))]` writes it.
    /// It must not depend on anything but the data: each replay of an old log calls it.
    ///
    /// # Errors
    /// The data does not have the shape of `version`, or nothing reads that version any more.
    fn upcast_input(version: u32, data: serde_json::Value) -> Result<serde_json::Value, UpcastError> {
        let _ = data;
        Err(UpcastError::no_upcaster(version))
    }

    /// The body.
    fn run(ctx: Ctx, input: Self::Input) -> BoxFuture<'static, Result<Self::Output, Self::Error>>;
}

/// A part of flows. `#[flow(part)]` implements it on a type that has the function's name.
pub trait Part: 'static {
    /// What the registry knows of it.
    const DESCRIPTOR: &'static PartDescriptor;
    /// Its ceiling of effect classes. One that did not compile has none to go over.
    #[doc(hidden)]
    const CEILING: Option<&'static [&'static str]> = Self::DESCRIPTOR.effects;

    /// [`Self::DESCRIPTOR`], for descriptors of callers: parts may call each other in a circle, constants cannot.
    #[doc(hidden)]
    fn descriptor() -> &'static PartDescriptor {
        Self::DESCRIPTOR
    }
}

/// A call of a flow that has not been started: inert data. `app.start` starts it.
#[must_use = "a flow call does nothing by itself: write `app.start(flow(x)).await?`, or in a flow `ctx.call(flow(x)).await?`"]
pub struct FlowCall<F: Flow> {
    pub(crate) input: F::Input,
    flow: PhantomData<fn() -> F>,
}

impl<F: Flow> FlowCall<F> {
    /// A call with this input.
    pub fn new(input: F::Input) -> Self {
        Self { input, flow: PhantomData }
    }
}

/// A call of the part `P`, which gives a `T`, that has not been made: inert. `ctx.part` makes it.
#[must_use = "a part call does nothing by itself: write `ctx.part(\"name\", part(x)).await`"]
pub struct PartCall<T, P> {
    pub(crate) body: PartBody<T>,
    part: PhantomData<fn() -> P>,
}

/// What is left of a part call once it is made.
pub(crate) type PartBody<T> = Box<dyn FnOnce(Ctx) -> BoxFuture<'static, T> + Send>;

impl<T, P> PartCall<T, P> {
    /// A call that runs this body.
    pub fn new(body: impl FnOnce(Ctx) -> BoxFuture<'static, T> + Send + 'static) -> Self {
        Self { body: Box::new(body), part: PhantomData }
    }
}

/// Runs `F`: what `FlowDescriptor::run` points to.
pub fn run_flow<F: Flow>(ctx: Ctx, input: Payload) -> BoxFuture<'static, FlowReturn> {
    let background = ctx.background();
    let cx = ctx.cx().clone();
    let body = async move {
        let (version, first) = ctx.input_version();
        let input = match flow_input::read::<F>(&input, version) {
            Ok(input) => input,
            Err(report) => return ctx.stop(report.at(first)).await,
        };
        let wrong = |what: &str, ty: &str, reason: kernel::InvalidPayload| {
            let flow = F::DESCRIPTOR.name;
            let message = format!("the {what} of flow `{flow}` ({ty}) cannot be written as JSON: {reason}");
            ParkReport::new(Fault::Unserializable, message)
        };
        let returned = match F::run(ctx.clone(), input).await {
            Ok(output) => match encoded(&output) {
                Ok(output) => Ok(output),
                Err(reason) => return ctx.stop(wrong("output", type_name::<F::Output>(), reason)).await,
            },
            Err(error) => match failure::recorded(&error) {
                Ok(failed) => Err(failed),
                Err(reason) => return ctx.stop(wrong("error", type_name::<F::Error>(), reason)).await,
            },
        };
        ctx.limits().check_flow(F::DESCRIPTOR.name, returned)
    };
    Box::pin(Root::new(cx, body, background))
}
