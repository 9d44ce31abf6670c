//! A test of flows, as its body sees it: what stands in for the world, and what is done to executions from outside.
//! Not what it is put through: that are the attribute's arguments.

use std::{path::Path, time::Duration};

use loom_runtime::{
    __v1::Step,
    App, ExecutionError, ExecutionId, Flow, FlowCall, Handle, Payload, Status, Timestamp,
    ports::{ExecutionRow, GateRow},
};
use serde::Serialize;

use crate::{
    Tally,
    bodies::stand_in,
    compare::outcomes,
    mock::{Outcome, StepFunction, Stub},
    timeline::timeline,
    world::World,
};

/// A test of flows. `#[loom::test]` gives one to its function, in a world of its own: an empty store, a clock at the beginning
/// of 2026 that moves by itself whenever everybody waits, and a process that runs the flows of the crate.
///
/// What is set up here holds for the whole run of the body; a body that is run several times sets it up several times. It
/// takes the part of the world outside: what it holds, counters say, no crash sets back.
pub struct Test {
    pub(crate) world: World,
    /// That of the package, from which files are named.
    pub(crate) folder: &'static Path,
}

impl Test {
    pub(crate) fn new(world: World, folder: &'static str) -> Self {
        Self { world, folder: Path::new(folder) }
    }

    /// Gives every step that wants a `Res<T>` this one. Those of steps that are [mocked](Self::mock) need not be there.
    ///
    /// # Panics
    /// When a flow has been started already.
    pub fn provide<T: Send + Sync + 'static>(&mut self, resource: T) {
        self.world.provide(resource);
    }

    /// Lets a closure stand in for the body of a step. It takes what the step's function takes, and gives what that returns;
    /// it may keep a count, and fail the first few times.
    ///
    /// ```text
    /// test.mock(charge, |order: Order| Ok(Receipt { total: order.total }));
    ///
    /// let mut failures = 2;
    /// test.mock(reserve, move |sku: String, qty: u32| {
    ///     if failures > 0 {
    ///         failures -= 1;
    ///         return Err(ShopError::Unreachable);
    ///     }
    ///     Ok(Hold { sku, qty })
    /// });
    /// ```
    ///
    /// Retries, timeouts and the delivery mode of the step stay as they are.
    ///
    /// # Panics
    /// When the step is not registered in this program.
    pub fn mock<A, F, B>(&mut self, step: F, body: B)
    where
        F: StepFunction<A>,
        B: Stub<A, Outcome<F::Step>>,
    {
        let _ = step;
        let step = <F::Step as Step>::DESCRIPTOR;
        assert!(
            self.app().registry().step(step.name).is_some_and(|known| known.location == step.location),
            "step `{}` ({}) is not registered in this program, and cannot be mocked: `loom::link!` its crate",
            step.name,
            step.location,
        );
        self.world.bodies().stand_in(step.name, stand_in::<F::Step, A, _>(body));
    }

    /// How often the body of a step, or its mock, was run. A crash may make that more than the step's outcomes.
    pub fn calls<A, F: StepFunction<A>>(&self, step: F) -> usize {
        let _ = step;
        self.world.bodies().begun(<F::Step as Step>::DESCRIPTOR.name)
    }

    /// Answers a gate with this, whenever it is asked: by its name, or by its frame (`manager#3`).
    ///
    /// # Panics
    /// When the answer cannot be written as JSON.
    pub fn answer(&mut self, gate: &str, answer: impl Serialize) {
        let answer = payload(&answer);
        self.world.script().set(gate, Box::new(move |_| answer.clone()));
    }

    /// Answers a gate with what a closure says to it: to the execution that asks, the gate and its frame.
    pub fn answer_with<T: Serialize>(
        &mut self,
        gate: &str,
        mut answer: impl FnMut(&GateRow) -> T + Send + 'static,
    ) {
        self.world.script().set(gate, Box::new(move |asked| payload(&answer(asked))));
    }

    /// A counter of what happens to the world: see [`Tally`].
    pub fn tally(&self, name: &str) -> Tally {
        self.world.tallies().named(name)
    }

    /// Starts a flow, and waits until it has ended; timers of days take no time. The execution's id is `checkout-1`,
    /// `checkout-2`, …
    ///
    /// # Errors
    /// As for [`Handle::result`]: what the flow returned, that it was cancelled, or that a fault in code parked it.
    ///
    /// # Panics
    /// When the flow cannot be started, and when it waits for what never comes.
    pub async fn run<F: Flow>(&self, call: FlowCall<F>) -> Result<F::Output, ExecutionError<F::Error>> {
        let handle = self.start(call).await;
        self.end(handle.id()).await;
        handle.result().await
    }

    /// Starts a flow, and does not wait for it.
    ///
    /// # Panics
    /// When it cannot be started.
    pub async fn start<F: Flow>(&self, call: FlowCall<F>) -> Handle<F> {
        self.world.boot();
        let flow = F::DESCRIPTOR.name;
        let taken = self.world.rows().into_iter().filter(|row| row.flow == flow).count();
        match self.app().start(call).id(format!("{flow}-{}", taken + 1)).await {
            Ok(handle) => {
                self.world.started(handle.id());
                handle
            }
            Err(error) => panic!("`{flow}` was not started: {error}"),
        }
    }

    /// Waits until an execution has ended, or is parked.
    ///
    /// # Panics
    /// When it waits for what never comes, or does not exist.
    pub async fn end(&self, execution: &ExecutionId) {
        let rested = |row: &ExecutionRow| row.status.is_terminal() || row.status == Status::Parked;
        if let Err(error) =
            self.world.until(|rows| rows.iter().any(|row| row.id == *execution && rested(row))).await
        {
            panic!("{error}");
        }
    }

    /// Sends an execution a message, and is done when it is in the inbox.
    ///
    /// # Panics
    /// When it is not taken.
    pub async fn send<T: Serialize + ?Sized>(&self, execution: &ExecutionId, topic: &str, body: &T) {
        if let Err(error) = self.app().send(execution, topic, body).by(crate::script::BY).await {
            panic!("`{execution}` was not sent a message on `{topic}`: {error}");
        }
    }

    /// Lets so much time pass, and everything happen that is due meanwhile.
    pub async fn advance(&self, by: Duration) {
        tokio::time::sleep(by).await;
    }

    /// The time, by the clock of this test.
    pub fn now(&self) -> Timestamp {
        self.world.now()
    }

    /// The program as seen from outside, for everything else: logs, states, cancels, verdicts, forks. It runs no flow
    /// itself, and survives every crash.
    pub fn app(&self) -> App {
        self.world.client()
    }

    /// The logs of everything that has run, to be read by people: see [`timeline()`].
    pub fn timeline(&self) -> String {
        timeline(&self.world.logs(), self.world.begin(), &self.world.marks())
    }

    #[doc(hidden)]
    #[track_caller]
    pub fn assert_steps(&self, expected: &[&str]) {
        let logs = self.world.logs();
        let found: Vec<_> = outcomes(&logs).into_iter().map(|(_, outcome)| outcome.step).collect();
        assert!(
            found == expected,
            "the steps settled in another order, or others did\n    expected: {}\n       found: {}",
            expected.join(", "),
            found.join(", "),
        );
    }
}

fn payload<T: Serialize>(value: &T) -> Payload {
    Payload::encode(value).unwrap_or_else(|error| panic!("an answer cannot be written as JSON: {}", error.0))
}
