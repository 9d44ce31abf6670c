//! Starting executions: once per id, however often it is asked for.
//! Not running them: the driver takes over as soon as the first event is durable.

use std::{
    future::{Future, IntoFuture},
    marker::PhantomData,
    pin::Pin,
};

use kernel::{ExecutionId, InvalidId, InvalidPayload, Payload};

use super::{App, Handle};
use crate::{
    Flow, FlowCall, Starting,
    ports::{Lane, StoreError, Turn},
    recorded::encoded,
    worker::{Birth, Place},
};

/// Why an execution was not started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// The id is taken by an execution of another flow or with another input.
    #[error("execution `{id}` exists already, as {flow} with {what}: choose another id, or use its handle")]
    Conflict {
        /// The id.
        id: ExecutionId,
        /// The flow of the existing one.
        flow: String,
        /// What differs.
        what: &'static str,
    },
    /// This program has no such flow.
    #[error("this program has no flow `{flow}`; it has: {known}")]
    UnknownFlow {
        /// The name asked for.
        flow: String,
        /// The names that there are.
        known: String,
    },
    /// The id cannot name an execution.
    #[error(transparent)]
    InvalidId(#[from] InvalidId),
    /// The input is not what the flow takes.
    #[error("the input does not fit flow `{flow}`: {reason}")]
    Input {
        /// The flow.
        flow: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// The store refused or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A start that is being put together; `.await` makes it.
#[must_use = "nothing is started until it is awaited"]
pub struct Start<F: Flow> {
    app: App,
    input: Result<Payload, InvalidPayload>,
    id: Option<String>,
    turn: Turn,
    flow: PhantomData<fn() -> F>,
}

/// A start by the flow's name, with JSON as input; `.await` makes it.
#[must_use = "nothing is started until it is awaited"]
pub struct StartDynamic {
    app: App,
    flow: String,
    input: Payload,
    id: Option<String>,
    turn: Turn,
    place: Place,
}

impl App {
    /// Starts a flow: `app.start(checkout(order)).id("order-7").await?`.
    ///
    /// With an id that exists already, the same flow and input give the existing execution's handle, and nothing
    /// happens; others are a [`StartError::Conflict`]. Without one, the id is a fresh UUID (version 7).
    pub fn start<F: Flow>(&self, call: FlowCall<F>) -> Start<F> {
        let (app, input) = (self.clone(), encoded(&call.input));
        Start { app, input, id: None, turn: Turn::default(), flow: PhantomData }
    }

    /// Starts a flow by its name. The input is held to the flow's schema, and to its type.
    pub fn start_dynamic(&self, flow: impl Into<String>, input: Payload) -> StartDynamic {
        let (app, flow, place) = (self.clone(), flow.into(), Place::Worker);
        StartDynamic { app, flow, input, id: None, turn: Turn::default(), place }
    }
}

impl<F: Flow> Start<F> {
    /// The execution's id: chosen by the caller, it makes the start repeatable.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Goes before others that are due and have less; 0 unless set. So do its children and forks.
    pub fn priority(mut self, priority: i16) -> Self {
        self.turn.priority = priority;
        self
    }

    /// Waits in line with others of a lane, which bounds how many of them run at once, and begin within a time. Its
    /// children and forks wait in the same lane. See [`Lane`].
    ///
    /// ```
    /// # use loom_runtime::{App, Flow, FlowCall, Lane, StartError};
    /// # async fn start<F: Flow>(app: App, import: FlowCall<F>) -> Result<(), StartError> {
    /// app.start(import).lane(Lane::new("tenant-a").at_most(2)).priority(5).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn lane(mut self, lane: impl Into<Lane>) -> Self {
        self.turn.lane = Some(lane.into());
        self
    }
}

impl StartDynamic {
    /// The execution's id: chosen by the caller, it makes the start repeatable.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// As [`Start::priority`].
    pub fn priority(mut self, priority: i16) -> Self {
        self.turn.priority = priority;
        self
    }

    /// As [`Start::lane`].
    pub fn lane(mut self, lane: impl Into<Lane>) -> Self {
        self.turn.lane = Some(lane.into());
        self
    }

    /// Runs it here, but takes up nothing else that is due.
    pub fn alone(mut self) -> Self {
        self.place = Place::Alone;
        self
    }

    /// Only records the start: the next worker that looks runs it.
    pub fn detached(mut self) -> Self {
        self.place = Place::Elsewhere;
        self
    }
}

impl<F: Flow> IntoFuture for Start<F> {
    type Output = Result<Handle<F>, StartError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let flow = F::DESCRIPTOR.name;
            let input = self.input.map_err(|e| StartError::Input { flow: flow.into(), reason: e.0 })?;
            let id = start(&self.app, flow, input, self.id, (Place::Worker, self.turn)).await?;
            Ok(Handle::new(self.app, id))
        })
    }
}

impl IntoFuture for StartDynamic {
    type Output = Result<ExecutionId, StartError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let registry = self.app.registry();
            let Some(flow) = registry.flow(&self.flow) else {
                let known = registry.flows().map(|flow| flow.name).collect::<Vec<_>>().join(", ");
                return Err(StartError::UnknownFlow { flow: self.flow, known });
            };
            flow.input
                .check(&self.input)
                .map_err(|reason| StartError::Input { flow: flow.name.into(), reason })?;
            start(&self.app, flow.name, self.input, self.id, (self.place, self.turn)).await
        })
    }
}

async fn start(
    app: &App,
    flow: &str,
    input: Payload,
    id: Option<String>,
    (place, turn): (Place, Turn),
) -> Result<ExecutionId, StartError> {
    let engine = &app.engine;
    if engine.registry.flow(flow).is_none() {
        let known = engine.registry.flows().map(|flow| flow.name).collect::<Vec<_>>().join(", ");
        return Err(StartError::UnknownFlow { flow: flow.into(), known });
    }
    engine.limits.check_given(&input).map_err(|reason| StartError::Input { flow: flow.into(), reason })?;
    let id: ExecutionId = id.unwrap_or_else(|| engine.entropy.uuid().to_string()).parse()?;
    let digest = input.digest();
    let (version, parent) = (None, None);
    let turn = engine.turns.of(Starting { execution: &id, flow, input: &input, parent: None, turn: &turn });
    let birth = Birth { id: id.clone(), flow: flow.into(), input, version, parent, place, turn };
    match engine.create(birth).await? {
        Some(row) if row.flow != flow => {
            return Err(StartError::Conflict { id, flow: row.flow, what: "another flow" });
        }
        Some(row) if row.input != digest => {
            return Err(StartError::Conflict { id, flow: row.flow, what: "another input" });
        }
        Some(_) | None => {}
    }
    Ok(id)
}
