//! Budgets as a flow sees them: it asks for an amount of something, and is granted so much of it.
//! Not accounting: what is reserved, used and settled is a room's, which brings a [`Negotiate`] of its own.

use std::fmt;

use kernel::{ExecutionId, FrameId};
use serde::{Deserialize, Serialize};

/// What a flow asks for: so much of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Of what: `tokens`, `usd-cents`, `gpu-seconds`. The host and its flows agree on the names.
    pub resource: String,
    /// How much, in the resource's own unit.
    pub amount: u64,
}

impl Ask {
    /// So much of `resource`.
    pub fn new(resource: impl Into<String>, amount: u64) -> Self {
        Self { resource: resource.into(), amount }
    }
}

/// What a flow was granted, for ever: it is in the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Of what.
    pub resource: String,
    /// How much was asked for.
    pub asked: u64,
    /// How much was granted: never more than that, maybe nothing.
    pub granted: u64,
}

impl Grant {
    /// Whether everything was granted that was asked for.
    pub const fn is_whole(&self) -> bool {
        self.granted == self.asked
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The execution.
    pub execution: ExecutionId,
    /// The frame of the call. With the execution, the key under which the same question may come again.
    pub frame: FrameId,
}

/// Says how much of what a flow asks for it gets. `App::builder().budgets(..)` brings it in; without one, everything is
/// granted.
///
/// It is asked once per call, and again only when the process ended before its answer was recorded: then the first answer
/// has had no effect, and the [`Asker`] is the same. It is called while the flow is polled, so that it answers from
/// memory and does not block; what has to ask elsewhere is a step. A panic parks the execution.
///
/// A function will do:
///
/// ```
/// use loom_runtime::{App, Ask, Asker};
/// let app = App::builder().budgets(|ask: &Ask, _: &Asker| ask.amount.min(1_000)).build()?;
/// # Ok::<(), loom_runtime::BuildError>(())
/// ```
pub trait Negotiate: Send + Sync + 'static {
    /// How much is granted; more than `ask.amount` counts as that.
    fn negotiate(&self, ask: &Ask, by: &Asker) -> u64;
}

impl<F: Fn(&Ask, &Asker) -> u64 + Send + Sync + 'static> Negotiate for F {
    fn negotiate(&self, ask: &Ask, by: &Asker) -> u64 {
        self(ask, by)
    }
}

/// Grants whatever is asked for.
pub(crate) fn everything(ask: &Ask, _by: &Asker) -> u64 {
    ask.amount
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} {}", self.granted, self.asked, self.resource)
    }
}
