//! Simulations: an execution is replayed up to a cut and goes on from there in memory, where no effect ever runs.
//! Not forks: nothing is created, and no store is written.

mod choices;
mod past;
mod script;
mod stage;

use kernel::{Envelope, ExecutionId, FrameId, FrameKind, Outcome, Payload, State, machine::Invoke};
use serde::Serialize;

use self::{past::Past, script::Script, stage::Stage};
use super::{
    App, Handle,
    fork::{ForkError, Plan, Prefix, Wishes},
};

/// A simulation that is being put together; [`Simulate::run`] runs it.
#[must_use = "nothing is simulated until it runs"]
pub struct Simulate {
    app: App,
    of: ExecutionId,
    wishes: Wishes,
    script: Script,
    wrong: Option<ForkError>,
}

/// How a simulation went.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The folded state at its end.
    pub state: State,
    /// Its log: the origin's events up to the cut, `EXECUTION_FORKED`, and what was simulated.
    pub log: Vec<Envelope>,
    /// What the flow came to; `None` when it stopped before: at a question, or at a fault (`state.parked`).
    pub outcome: Option<Outcome>,
    /// What nobody answered, in order of the frames.
    pub asked: Vec<Asked>,
    /// Names that were given and that nothing asked for: misspelt, maybe.
    pub unused: Vec<String>,
    /// Whether it was cut off at 100,000 events, because it would not end.
    pub cut_off: bool,
}

/// A question that stopped a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The frame that asks.
    pub frame: FrameId,
    /// What it is: a step, a decision, a gate, a wait for a message, a child.
    pub kind: FrameKind,
    /// The input, of steps and children.
    pub input: Option<Payload>,
}

impl App {
    /// Simulates how an execution would go on from a cut of its log, with the code of this program and in memory: no step's
    /// body is called, no child is started, nothing is sent, and no store is written.
    ///
    /// - *Steps* are answered by [`Simulate::stub`]; or from the execution's own log, where the same frame ran the same step
    ///   with the same input; or by [`Simulate::answer`].
    /// - *Children* likewise, except for the last.
    /// - *Decisions* by [`Simulate::stub`]; or as the execution's own log has them at the same frame; or by
    ///   [`Simulate::decide`]. The flow's own closures run only with [`Simulate::run_decisions`]. Budgets likewise, and are
    ///   granted in full when nobody says otherwise; the host's negotiator is not asked.
    /// - *Gates* are answered by [`Simulate::gate`], or as they were with [`Simulate::copy_answers`]; waits for messages by
    ///   [`Simulate::message`].
    /// - *Timers* fire in virtual time, as soon as nothing else can happen.
    ///
    /// What nobody answers stops the simulation, once nothing else can happen, and is in [`Simulation::asked`]. The same
    /// simulation gives the same log.
    ///
    /// ```no_run
    /// # async fn main_(app: loom_runtime::App) -> loom_runtime::Result<()> {
    /// let incident = "incident-7".parse()?;
    /// let simulation = app.simulate(&incident).at(12).gate("plan", &"roll back").stub("deploy", &true).run().await?;
    /// println!("{:?}, asked {:?}", simulation.outcome, simulation.asked);
    /// # Ok(()) }
    /// ```
    pub fn simulate(&self, execution: &ExecutionId) -> Simulate {
        // Whatever was open is asked for again, so that it can be answered like everything else.
        let wishes = Wishes { rerun_all: true, by: "simulation".into(), ..Wishes::default() };
        let (app, of, script, wrong) = (self.clone(), execution.clone(), Script::default(), None);
        Simulate { app, of, wishes, script, wrong }
    }
}

impl<F> Handle<F> {
    /// Simulates how it would go on; see [`App::simulate`].
    pub fn simulate(&self) -> Simulate {
        self.app().simulate(self.id())
    }
}

impl Simulate {
    /// How many events of the log it begins with: as for [`Fork::at`](crate::Fork::at).
    pub fn at(mut self, events: u64) -> Self {
        self.wishes.at = Some(events);
        self
    }

    /// The outcome of a step, child or decision, by its frame, or of every one by the name of the step, flow or decision. A
    /// frame's wins over a name's, and both over the log. That of a budget is a [`Grant`](crate::Grant).
    pub fn stub<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        if let Some(value) = self.encode(name, value) {
            self.script.stubs.insert(name.into(), value);
        }
        self
    }

    /// The answer to a gate, by its frame or its name.
    pub fn gate<T: Serialize + ?Sized>(mut self, name: &str, value: &T) -> Self {
        if let Some(value) = self.encode(name, value) {
            self.script.gates.insert(name.into(), value);
        }
        self
    }

    /// A message that comes at the beginning. Those of a topic are taken in the order of these calls.
    pub fn message<T: Serialize + ?Sized>(mut self, topic: &str, body: &T) -> Self {
        if let Some(body) = self.encode(topic, body) {
            self.script.messages.push((topic.into(), body));
        }
        self
    }

    /// Answers the steps that neither a stub nor the log does; `None` leaves the question open.
    pub fn answer(mut self, answer: impl FnMut(&Invoke) -> Option<Payload> + Send + 'static) -> Self {
        self.script.answer = Some(Box::new(answer));
        self
    }

    /// Makes the decisions that neither a stub nor the log does, by their frames; `None` leaves the question open.
    pub fn decide(mut self, decide: impl FnMut(&FrameId) -> Option<Payload> + Send + 'static) -> Self {
        self.script.decide = Some(Box::new(decide));
        self
    }

    /// Lets the closures of `ctx.decide` make the decisions that nobody else does. They run for real: the simulation is as
    /// free of side effects as they are, and gives the same log again if they choose the same again.
    pub fn run_decisions(mut self) -> Self {
        self.script.run_decisions = true;
        self
    }

    /// Nobody ever answers this, by its frame, or by the name of its step, decision, gate, topic or flow: timers go on
    /// without it. With a decision that is never made the log is one that the flow itself would not write.
    pub fn unanswered(mut self, name: &str) -> Self {
        self.script.silent.insert(name.into());
        self
    }

    /// Gives it the answers that the gates got after the cut, in the run of the cut.
    pub fn copy_answers(mut self) -> Self {
        self.wishes.copy_answers = true;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// See [`ForkError`]: there is no such execution, its log cannot be cut there, this program does not have its flow, or a
    /// stub does not fit what it is for.
    pub async fn run(self) -> Result<Simulation, ForkError> {
        let Self { app, of, wishes, script, wrong } = self;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let origin = app.engine.store.get(&of).await?.ok_or_else(|| ForkError::Unknown(of.clone()))?;
        let registry = app.registry();
        let Some(flow) = registry.flow(&origin.flow) else {
            let known = registry.flows().map(|flow| flow.name).collect::<Vec<_>>().join(", ");
            return Err(ForkError::UnknownFlow { flow: origin.flow, known });
        };
        let prefix = Prefix::read(&app, &origin, &wishes).await?;
        let plan = Plan::of(&app, &prefix, &wishes, &of, prefix.instant())?;
        let past = Past::read(&app, &origin).await?;
        Stage::new(&app, flow, &of, plan, past, script)?.run().await
    }

    fn encode<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Option<Payload> {
        match Payload::encode(value) {
            Ok(value) => Some(value),
            Err(e) => {
                let frame = FrameId::parsed(name);
                self.wrong.get_or_insert(ForkError::Invalid { frame, reason: e.0 });
                None
            }
        }
    }
}
