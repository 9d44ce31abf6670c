//! Child executions: the future of one that is called, and the handle of one that is spawned.
//! Not their life: a child is an execution like any other, with its own log, and may run in another process.

use std::{
    any::type_name,
    future::Future,
    marker::PhantomData,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use kernel::{
    Cancelled, EffectError, ExecutionId, Fault, InvalidId, InvalidPayload, OnClose, ParkReport, Payload,
    machine::{Call, Cx, Op, Settled},
};

use super::{
    background::{Background, Held},
    ctx::{Stage, decoded},
    place::{Place, placed},
};
use crate::{Flow, Limits, failure, recorded};

/// `ctx.call(flow(..))`: a future of what a child execution returns. It starts at the first poll. Dropping it cancels
/// the child, unless [`ChildCall::on_close`] says otherwise.
///
/// What ends the child without an outcome of its own, a cancel or an id that is taken, comes as the flow's
/// `#[failure(engine)]` variant.
#[must_use = "a child is not started until it is awaited"]
pub struct ChildCall<F: Flow> {
    cx: Cx,
    background: Arc<Background>,
    place: Place,
    limits: Limits,
    denied: Option<EffectError>,
    options: Options,
    /// The child's id, once it is asked for.
    id: Option<ExecutionId>,
    stage: Stage<Result<Payload, InvalidPayload>>,
    held: Option<Held>,
    flow: PhantomData<fn() -> F>,
}

#[derive(Default)]
struct Options {
    child: Option<String>,
    on_close: OnClose,
    waits: bool,
}

placed!(ChildCall<F: Flow>);

impl<F: Flow> ChildCall<F> {
    pub(super) fn new(
        cx: Cx,
        background: Arc<Background>,
        place: Place,
        (limits, denied): (Limits, Option<EffectError>),
        input: &F::Input,
    ) -> Self {
        let (options, stage) = (Options::default(), Stage::Inert(recorded::encoded(input)));
        Self {
            cx,
            background,
            place,
            limits,
            denied,
            options,
            id: None,
            stage,
            held: None,
            flow: PhantomData,
        }
    }

    /// The child's execution id, in place of the one that is derived from this execution's and the call's.
    pub fn execution(mut self, id: impl Into<String>) -> Self {
        self.options.child = Some(id.into());
        self
    }

    /// What becomes of the child when this execution ends, or drops the call: unless set, it is cancelled, and this
    /// execution does not end before it has.
    pub fn on_close(mut self, policy: OnClose) -> Self {
        self.options.on_close = policy;
        self
    }

    fn begin(&mut self, context: &mut Context<'_>) -> Poll<Settled> {
        let Self { cx, place, limits, denied, options, id, stage, .. } = self;
        let flow = F::DESCRIPTOR.name;
        stage.poll(context, |input| {
            let input = match input {
                Ok(input) => input,
                Err(reason) => {
                    let ty = type_name::<F::Input>();
                    let message =
                        format!("the input of flow `{flow}` ({ty}) cannot be written as JSON: {reason}");
                    cx.raise(ParkReport::new(Fault::Unserializable, message));
                    return None;
                }
            };
            let given = given(options.child.take());
            *id = given
                .as_ref()
                .ok()
                .cloned()
                .flatten()
                .or_else(|| place.frame().map(|frame| cx.child(&frame)));
            place.call(cx, flow, {
                let input = (input, F::DESCRIPTOR.versions.current);
                asked(flow, input, given, options.on_close, (limits, denied.take()))
            })
        })
    }

    fn outcome(&self, settled: Settled) -> Option<Result<F::Output, F::Error>> {
        let what = |of: &str| format!("the {of} of child flow `{}`", F::DESCRIPTOR.name);
        let frame = self.place.frame();
        match settled {
            Settled::Completed(output) => {
                decoded(&self.cx, frame, &what("outcome"), recorded::decoded(&output)).map(Ok)
            }
            Settled::Failed(failed) => {
                decoded(&self.cx, frame, &what("failure"), failure::rebuilt(failed)).map(Err)
            }
            Settled::Cancelled(Cancelled { .. }) => {
                Some(Err(<F::Error as crate::Failure>::from_engine(EffectError::Cancelled)))
            }
            _ => None,
        }
    }
}

impl<F: Flow> Future for ChildCall<F> {
    type Output = Result<F::Output, F::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.begin(context) {
            Poll::Ready(settled) => self.outcome(settled).map_or(Poll::Pending, Poll::Ready),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// `ctx.spawn(flow(..))`: a future that starts a child execution, and gives its handle without waiting for its end.
#[must_use = "a child is not started until it is awaited"]
pub struct Spawn<F: Flow>(pub(super) Option<ChildCall<F>>);

impl<F: Flow> Spawn<F> {
    fn map(mut self, change: impl FnOnce(ChildCall<F>) -> ChildCall<F>) -> Self {
        self.0 = self.0.take().map(change);
        self
    }

    /// As for every durable call.
    pub fn id(self, id: impl Into<std::borrow::Cow<'static, str>>) -> Self {
        self.map(|call| call.id(id))
    }

    /// As for every durable call.
    pub fn key(self, key: impl std::fmt::Display) -> Self {
        self.map(|call| call.key(key))
    }

    /// See [`ChildCall::execution`].
    pub fn execution(self, id: impl Into<String>) -> Self {
        self.map(|call| call.execution(id))
    }

    /// See [`ChildCall::on_close`].
    pub fn on_close(self, policy: OnClose) -> Self {
        self.map(|call| call.on_close(policy))
    }

    /// This execution does not end, nor continue as new, before the child has, although nobody may hold its handle any more.
    /// After a cancel that drops the flow, the child's [`OnClose`] alone says what becomes of it: it is cancelled, and its end
    /// is still waited for; or it goes on by itself.
    pub fn wait(self) -> Self {
        self.map(|mut call| {
            call.options.waits = true;
            call
        })
    }
}

impl<F: Flow> Future for Spawn<F> {
    type Output = Child<F>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Child<F>> {
        let Some(mut call) = self.0.take() else { return Poll::Pending };
        let settled = match call.begin(context) {
            Poll::Ready(settled) => Some(settled),
            Poll::Pending => None,
        };
        // Without an identity there is no child, and the execution parks.
        let Some(id) = call.id.clone() else { return Poll::Pending };
        call.held = call.options.waits.then(|| call.background.hold());
        Poll::Ready(Child { id, call: Some(call), settled })
    }
}

/// A child that was spawned: a future of what it returns. Dropping the handle leaves the child alone; it ends with
/// this execution, as its [`OnClose`] says.
pub struct Child<F: Flow> {
    id: ExecutionId,
    call: Option<ChildCall<F>>,
    settled: Option<Settled>,
}

impl<F: Flow> Child<F> {
    /// The child's execution id: to send it messages, say.
    pub fn id(&self) -> &ExecutionId {
        &self.id
    }

    /// Stops waiting for the child, and cancels it unless its [`OnClose`] says otherwise.
    pub fn cancel(mut self) {
        drop(self.call.take());
    }
}

impl<F: Flow> Future for Child<F> {
    type Output = Result<F::Output, F::Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let settled = self.settled.take();
        let Some(call) = &mut self.call else { return Poll::Pending };
        let outcome = match settled {
            Some(settled) => call.outcome(settled).map_or(Poll::Pending, Poll::Ready),
            None => Pin::new(&mut *call).poll(context),
        };
        if outcome.is_ready() {
            self.call = None;
        }
        outcome
    }
}

impl<F: Flow> Drop for Child<F> {
    fn drop(&mut self) {
        let Some(ChildCall { background, options, stage: Stage::Waiting(call), .. }) = self.call.take()
        else {
            return;
        };
        if options.waits { background.wait(call) } else { background.keep(call) }
    }
}

/// The id that the caller gave, if any; an error when it is none.
pub(super) fn given(id: Option<String>) -> Result<Option<ExecutionId>, EffectError> {
    let read = |id: String| match id.parse() {
        Ok(child) => Ok(child),
        Err(invalid) => {
            let invalid: InvalidId = invalid;
            Err(EffectError::NotStarted { child: id, reason: invalid.to_string() })
        }
    };
    id.map(read).transpose()
}

/// What is asked of the machine. A child that is over a ceiling, whose input is too large, or whose id is none, is refused.
pub(super) fn asked(
    flow: &str,
    (input, version): (Payload, u32),
    given: Result<Option<ExecutionId>, EffectError>,
    on_close: OnClose,
    (limits, denied): (&Limits, Option<EffectError>),
) -> Op {
    let (child, wrong) = match given {
        Ok(child) => (child, None),
        Err(error) => (None, Some(error)),
    };
    let refuse = denied.or_else(|| limits.refuse_input(flow, &input)).or(wrong);
    Op::Child { flow: flow.into(), input, version, child, on_close, refuse }
}

/// A call whose outcome nobody reads.
pub(super) async fn ended(call: Call) {
    call.await;
}
