//! Who says when the turn of a new execution comes, in one place for a program, whoever starts it.
//! Not the turn: that is [`Turn`]; and not the choice among those that are due, which is a store's.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use kernel::{ExecutionId, Payload};

use crate::ports::Turn;

/// An execution that is about to be started, as [`AppBuilder::turns`](crate::AppBuilder::turns) is asked about it.
#[derive(Clone, Copy, Debug)]
pub struct Starting<'s> {
    /// Its id.
    pub execution: &'s ExecutionId,
    /// Its flow's name.
    pub flow: &'s str,
    /// What the flow takes.
    pub input: &'s Payload,
    /// Whose child it is, if anybody's.
    pub parent: Option<&'s ExecutionId>,
    /// What was asked for; for a child, its parent's.
    pub turn: &'s Turn,
}

/// What a program says of turns.
#[derive(Clone, Default)]
pub(crate) struct Turns(Option<Assign>);

type Assign = Arc<dyn Fn(Starting<'_>) -> Turn + Send + Sync>;

impl Turns {
    pub(crate) fn by(assign: impl Fn(Starting<'_>) -> Turn + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(assign)))
    }

    /// What is asked for, unless somebody says otherwise. Who panics says nothing.
    pub(crate) fn of(&self, starting: Starting<'_>) -> Turn {
        let Some(assign) = &self.0 else { return starting.turn.clone() };
        catch_unwind(AssertUnwindSafe(|| assign(starting))).unwrap_or_else(|_| {
            tracing::error!(execution = %starting.execution, flow = starting.flow, "no turn was given: a panic");
            starting.turn.clone()
        })
    }
}
