//! Puts a program together, and refuses what is wired wrongly.
//! Nothing runs yet: the first start, or `App::work`, begins.

use std::{fmt, sync::Arc};

use kernel::Timestamp;
use tokio::time::Instant;

use super::App;
use crate::{
    Limits, Memory, Negotiate, Registry, RegistryError, Resources, budget,
    clock::Clock,
    entropy::Entropy,
    ports::{ArchiveStore, Store, Turn},
    turns::{Starting, Turns},
    worker::{Engine, WorkerOptions},
};

/// Collects what a program consists of. Everything has a default: the linked-in items, a store in memory.
#[derive(Default)]
pub struct AppBuilder {
    store: Option<Arc<dyn Store>>,
    registry: Option<Registry>,
    resources: Resources,
    limits: Limits,
    options: WorkerOptions,
    clock: Clock,
    entropy: Entropy,
    budgets: Option<Arc<dyn Negotiate>>,
    archive: Option<Arc<dyn ArchiveStore>>,
    turns: Turns,
}

/// Everything that is wrong with a program, in a stable order.
#[derive(Clone, PartialEq, Eq)]
pub struct BuildError {
    /// What is wrong; not empty.
    pub errors: Vec<RegistryError>,
}

impl AppBuilder {
    /// Where executions are kept. In memory unless set.
    #[must_use]
    pub fn store(mut self, store: impl Store) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Where retention moves what the store no longer keeps ([`App::retention`]), and where [`App::archived`] finds it.
    #[must_use]
    pub fn archive(mut self, archive: impl ArchiveStore) -> Self {
        self.archive = Some(Arc::new(archive));
        self
    }

    /// Gives every step that wants a `Res<T>` this one.
    #[must_use]
    pub fn provide<T: Send + Sync + 'static>(mut self, resource: T) -> Self {
        self.resources = self.resources.with(resource);
        self
    }

    /// Gives steps these resources, and none that were provided before.
    #[must_use]
    pub fn resources(mut self, resources: Resources) -> Self {
        self.resources = resources;
        self
    }

    /// These items, and not the linked-in ones. What a linked room does for them, such as keeping their schedules, stays.
    #[must_use]
    pub fn registry(mut self, registry: Registry) -> Self {
        self.registry = Some(registry);
        self
    }

    /// Limits on sizes.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Who says how much of what flows ask for they get: [`Ctx::negotiate_budget`](crate::Ctx::negotiate_budget). Unless
    /// set, they get everything.
    #[must_use]
    pub fn budgets(mut self, negotiator: impl Negotiate) -> Self {
        self.budgets = Some(Arc::new(negotiator));
        self
    }

    /// Says when the turn of each new execution comes: its priority, and the lane that it waits in. For tenants, say, so that
    /// none of them can start itself past the others; whoever starts it, over HTTP or on the command line, and children too. It
    /// is asked once, and what it says is kept for life. Forks keep their origin's. Unless set, the start says it, and
    /// children are in their parent's.
    ///
    /// ```
    /// # use loom_runtime::{App, Lane, Starting, ports::Turn};
    /// # #[derive(serde::Deserialize)] struct Order { tenant: String }
    /// let app = App::builder().turns(|start: Starting<'_>| {
    ///     let tenant = start.input.decode::<Order>().map_or("nobody".to_owned(), |order| order.tenant);
    ///     Turn { lane: Some(Lane::new(tenant).at_most(20)), priority: start.turn.priority.min(5) }
    /// });
    /// ```
    #[must_use]
    pub fn turns(mut self, assign: impl Fn(Starting<'_>) -> Turn + Send + Sync + 'static) -> Self {
        self.turns = Turns::by(assign);
        self
    }

    /// How the worker behaves.
    #[must_use]
    pub fn worker(mut self, options: WorkerOptions) -> Self {
        self.options = options;
        self
    }

    /// Follows the async runtime's clock, which tests can pause and advance, and not the system's.
    #[must_use]
    pub fn runtime_clock(mut self) -> Self {
        self.clock = Clock::Runtime;
        self
    }

    /// Follows the async runtime's clock, which shows `now` at this moment. And the seeds of executions (what `ctx.uuid()` and
    /// `ctx.random()` are drawn from) come from their ids alone, unless [`AppBuilder::seed`] gives them: for tests, of which two runs are to be equal.
    #[must_use]
    pub fn runtime_clock_at(mut self, now: Timestamp) -> Self {
        self.clock = Clock::Held(now, Instant::now());
        self
    }

    /// Draws what is made up (this worker's name, fresh ids and seeds) from a seed, and not from the system: with
    /// [`AppBuilder::runtime_clock_at`], in a paused runtime of one thread, the same program on the same store writes the
    /// same logs. For simulations; programs on one store need seeds that differ, each time they are built.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.entropy = Entropy::seeded(seed);
        self
    }

    /// The program.
    ///
    /// # Errors
    /// Two items of one kind and name, a resource that nobody provides, an agent's tool or skill that is not
    /// registered, a schedule that cannot be kept: all of it, with source lines.
    pub fn build(self) -> Result<App, BuildError> {
        let registry = self.registry.unwrap_or_else(Registry::linked);
        let errors = registry.check(&self.resources);
        if !errors.is_empty() {
            return Err(BuildError { errors });
        }
        tracing::info!(
            flows = registry.flows().count(),
            steps = registry.steps().count(),
            events = registry.events().count(),
            tools = registry.tools().count(),
            skills = registry.skills().count(),
            agents = registry.agents().count(),
            projections = registry.projections().count(),
            policies = registry.policies().count(),
            "registered"
        );
        let store = self.store.unwrap_or_else(|| Arc::new(Memory::new()));
        let budgets = self.budgets.unwrap_or_else(|| Arc::new(budget::everything));
        let hooks = (budgets, self.turns);
        let engine = Engine::new(
            store,
            registry,
            self.resources,
            self.limits,
            self.options,
            (self.clock, self.entropy),
            hooks,
        );
        Ok(App { engine, archive: self.archive })
    }
}

impl std::error::Error for BuildError {}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program is wired wrongly:")?;
        self.errors.iter().try_for_each(|error| write!(f, "\n  {error}"))
    }
}

impl fmt::Debug for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
