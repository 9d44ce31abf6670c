//! The bodies of steps: which of them are stood in for, and what has become of each.
//! Not what is recorded of them: that is in the logs.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use futures_util::future::BoxFuture;
use loom_runtime::{
    __v1::{StepArguments, StepEnv, invoke_with},
    Delivery, ExecutionId, FrameId, Payload, StepDescriptor,
    kernel::machine::AttemptEnd,
};

use crate::{
    mock::{Outcome, Stub},
    world::World,
};

/// Makes an attempt in place of the step's own body.
pub(crate) type StandIn = Arc<dyn Fn(Payload, StepEnv) -> BoxFuture<'static, AttemptEnd> + Send + Sync>;

/// What of an execution a body was run for.
pub(crate) type Place = (ExecutionId, FrameId);

#[derive(Default)]
pub(crate) struct Bodies(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    stand_ins: BTreeMap<&'static str, StandIn>,
    begun: BTreeMap<&'static str, usize>,
    made: BTreeMap<Place, Made>,
}

/// What has become of the attempts in one place.
#[derive(Default)]
struct Made {
    /// How often the body has come to its end.
    ended: usize,
    /// How the last one ended; `None` when it was cut off.
    last: Option<AttemptEnd>,
    at_most_once: bool,
    /// The next attempt ends as the last one did, without the body: it was said that it had not happened.
    again: bool,
}

impl Bodies {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stand_in(&self, step: &'static str, stand_in: StandIn) {
        self.lock().stand_ins.insert(step, stand_in);
    }

    /// How often bodies of a step have begun.
    pub(crate) fn begun(&self, step: &str) -> usize {
        self.lock().begun.get(step).copied().unwrap_or(0)
    }

    /// How the last attempt there ended; `None` when there was none, or it was cut off.
    pub(crate) fn last(&self, place: &Place) -> Option<AttemptEnd> {
        self.lock().made.get(place)?.last.clone()
    }

    /// The next attempt there ends as the last one did.
    pub(crate) fn again(&self, place: &Place) {
        if let Some(made) = self.lock().made.get_mut(place) {
            made.again = true;
        }
    }

    /// How often each body ran to its end that must not run twice.
    pub(crate) fn once(&self) -> BTreeMap<Place, usize> {
        let inner = self.lock();
        let once = inner.made.iter().filter(|(_, made)| made.at_most_once);
        once.map(|(place, made)| (place.clone(), made.ended)).collect()
    }

    fn begin(&self, step: &'static StepDescriptor, place: &Place) -> Begin {
        let mut inner = self.lock();
        let made = inner.made.entry(place.clone()).or_default();
        made.at_most_once = step.delivery == Delivery::AtMostOnce;
        if std::mem::take(&mut made.again)
            && let Some(last) = &made.last
        {
            return Begin::As(last.clone());
        }
        made.last = None;
        *inner.begun.entry(step.name).or_default() += 1;
        Begin::With(inner.stand_ins.get(step.name).cloned())
    }

    fn end(&self, place: &Place, end: &AttemptEnd) {
        if let Some(made) = self.lock().made.get_mut(place) {
            made.ended += 1;
            made.last = Some(end.clone());
        }
    }
}

enum Begin {
    As(AttemptEnd),
    With(Option<StandIn>),
}

/// A closure as a body of `S`.
pub(crate) fn stand_in<S, A, B>(body: B) -> StandIn
where
    S: StepArguments<A>,
    B: Stub<A, Outcome<S>>,
{
    let body = Arc::new(Mutex::new(body));
    Arc::new(move |input, env| {
        let body = body.clone();
        invoke_with::<S, _>(input, env, move |input, _| {
            Ok(Box::pin(async move {
                let mut body = body.lock().unwrap_or_else(PoisonError::into_inner);
                body.attempt(S::arguments(input))
            }))
        })
    })
}

/// The step with a body that is watched. It asks for no resources before it is run: those of a body that is stood in for
/// need not be there. Leaked once for each step of the program, since descriptors live for ever.
pub(crate) fn intercepted(step: &'static StepDescriptor) -> &'static StepDescriptor {
    let mut known = steps().lock().unwrap_or_else(PoisonError::into_inner);
    let watched = || Box::leak(Box::new(StepDescriptor { invoke: watch, resources: &[], ..*step })) as &_;
    known.entry(step.name).or_insert_with(|| (step, watched())).1
}

/// Every step by its name: as it is, and watched.
type Steps = HashMap<&'static str, (&'static StepDescriptor, &'static StepDescriptor)>;

fn steps() -> &'static Mutex<Steps> {
    static STEPS: OnceLock<Mutex<Steps>> = OnceLock::new();
    STEPS.get_or_init(Mutex::default)
}

/// Runs one attempt, and notes what became of it.
fn watch(input: Payload, env: StepEnv) -> BoxFuture<'static, AttemptEnd> {
    let step = steps().lock().unwrap_or_else(PoisonError::into_inner)[env.step()].0;
    let Ok(world) = env.resource::<World>() else { return (step.invoke)(input, env) };
    Box::pin(async move {
        let cx = env.cx();
        let place = (cx.execution().clone(), cx.frame().clone());
        let end = match world.bodies().begin(step, &place) {
            Begin::As(end) => return end,
            Begin::With(Some(stand_in)) => stand_in(input, env).await,
            Begin::With(None) => (step.invoke)(input, env).await,
        };
        world.bodies().end(&place, &end);
        end
    })
}
