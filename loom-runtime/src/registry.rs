//! Which flows, steps and other items a program has: linked in by the macros, or listed by hand.
//! Not a loader: the set is fixed when the program is built.

use std::collections::BTreeMap;

use kernel::Fingerprints;
use linkme::distributed_slice;

use crate::{
    Agent, AgentDescriptor, Callee, DomainEvent, EventDescriptor, Flow, FlowDescriptor, Location,
    MessageDescriptor, NamedPolicy, PartDescriptor, PolicyDescriptor, Projection, ProjectionDescriptor,
    Resources, Service, Skill, SkillDescriptor, Step, StepDescriptor, Tool, ToolDescriptor, code,
    service::SERVICES_V1,
};

/// The linked-in steps. The order is the linker's; [`Registry`] sorts.
#[doc(hidden)]
#[distributed_slice]
pub static STEPS_V1: [&'static StepDescriptor];

/// The linked-in flows.
#[doc(hidden)]
#[distributed_slice]
pub static FLOWS_V1: [&'static FlowDescriptor];

/// The linked-in domain events.
#[doc(hidden)]
#[distributed_slice]
pub static EVENTS_V1: [&'static EventDescriptor];

/// The linked-in tools. Each is among the steps as well.
#[doc(hidden)]
#[distributed_slice]
pub static TOOLS_V1: [&'static ToolDescriptor];

/// The linked-in skills.
#[doc(hidden)]
#[distributed_slice]
pub static SKILLS_V1: [&'static SkillDescriptor];

/// The linked-in agents. Each is among the flows as well.
#[doc(hidden)]
#[distributed_slice]
pub static AGENTS_V1: [&'static AgentDescriptor];

/// The linked-in projections.
#[doc(hidden)]
#[distributed_slice]
pub static PROJECTIONS_V1: [&'static ProjectionDescriptor];

/// The linked-in policies.
#[doc(hidden)]
#[distributed_slice]
pub static POLICIES_V1: [&'static PolicyDescriptor];

/// The items of a program, by kind and name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    flows: Table<FlowDescriptor>,
    steps: Table<StepDescriptor>,
    events: Table<EventDescriptor>,
    tools: Table<ToolDescriptor>,
    skills: Table<SkillDescriptor>,
    agents: Table<AgentDescriptor>,
    projections: Table<ProjectionDescriptor>,
    policies: Table<PolicyDescriptor>,
    /// Flows of rooms, which no user has written.
    services: Table<FlowDescriptor>,
    /// What every worker sees to with those.
    served: Vec<Service>,
    clashes: Vec<RegistryError>,
}

/// What is wrong with a program's wiring.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryError {
    /// Two of one name.
    #[error(
        "{what} `{name}` is defined twice: at {first} and at {second}; rename one, or give it `name = \"…\"`"
    )]
    Duplicate {
        /// `flow`, `step`, …
        what: &'static str,
        /// The name.
        name: &'static str,
        /// One place.
        first: String,
        /// The other.
        second: String,
    },
    /// A step wants what nobody provides.
    #[error(
        "step `{step}` ({location}) wants the resource `{resource}`: add `.provide(..)` to the App builder"
    )]
    MissingResource {
        /// The step.
        step: &'static str,
        /// Where it is written.
        location: String,
        /// The resource's type.
        resource: &'static str,
    },
    /// A schedule cannot be kept. The macro writes none such.
    #[error("the schedule of flow `{flow}` ({location}) cannot be kept: {reason}")]
    Schedule {
        /// The flow.
        flow: &'static str,
        /// Where it is written.
        location: String,
        /// What is wrong.
        reason: String,
    },
    /// Two waits of a flow or of its parts for one topic are for different types. Where the source shows it, the macro
    /// refuses it.
    #[error(
        "flow `{flow}` waits on `{topic}` for {what} of two types: at {first} and at {second}; whoever sends one knows \
         one type a topic: take the same in both, an enum say, or another topic"
    )]
    Topic {
        /// The flow.
        flow: &'static str,
        /// The topic.
        topic: &'static str,
        /// `messages` or `replies`.
        what: &'static str,
        /// The place of one wait.
        first: String,
        /// That of the other.
        second: String,
    },
    /// Something refers to what is not registered.
    #[error(
        "{what} `{name}` ({location}) refers to the {wanted} `{missing}` ({place}), which is not registered: list it"
    )]
    Dangling {
        /// `agent`, `flow` or `part`.
        what: &'static str,
        /// Its name.
        name: &'static str,
        /// Where it is written.
        location: String,
        /// `tool`, `skill`, `policy`, `step` or `flow`.
        wanted: &'static str,
        /// The name of that.
        missing: &'static str,
        /// Where that is written.
        place: String,
    },
}

/// One thing to register by hand.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A flow.
    Flow(&'static FlowDescriptor),
    /// A step.
    Step(&'static StepDescriptor),
    /// A domain event.
    Event(&'static EventDescriptor),
    /// A tool, and the step that it is.
    Tool(&'static ToolDescriptor),
    /// A skill.
    Skill(&'static SkillDescriptor),
    /// An agent, and the flow that it is.
    Agent(&'static AgentDescriptor),
    /// A projection.
    Projection(&'static ProjectionDescriptor),
    /// A policy.
    Policy(&'static PolicyDescriptor),
}

impl Entry {
    /// The flow `F`.
    pub const fn flow<F: Flow>() -> Self {
        Self::Flow(F::DESCRIPTOR)
    }

    /// The step `S`.
    pub const fn step<S: Step>() -> Self {
        Self::Step(S::DESCRIPTOR)
    }

    /// The domain event `E`.
    pub const fn event<E: DomainEvent>() -> Self {
        Self::Event(E::DESCRIPTOR)
    }

    /// The tool `T`, and the step that it is.
    pub const fn tool<T: Tool>() -> Self {
        Self::Tool(T::TOOL)
    }

    /// The skill `S`.
    pub const fn skill<S: Skill>() -> Self {
        Self::Skill(S::DESCRIPTOR)
    }

    /// The agent `A`, and the flow that it is.
    pub const fn agent<A: Agent>() -> Self {
        Self::Agent(A::AGENT)
    }

    /// The projection `P`.
    pub const fn projection<P: Projection>() -> Self {
        Self::Projection(P::DESCRIPTOR)
    }

    /// The policy `P`: the name of a `#[policy]` item.
    pub const fn policy<P: NamedPolicy>() -> Self {
        Self::Policy(P::DESCRIPTOR)
    }
}

impl Registry {
    /// The fingerprints of a flow, as this program has it: what the log of each of its runs begins with, and what an
    /// execution that waits for code waits for.
    pub fn code(&self, flow: &FlowDescriptor) -> Fingerprints {
        code::of(flow, self)
    }

    /// Everything that the macros linked into this program.
    pub fn linked() -> Self {
        let flows = FLOWS_V1.iter().copied().map(Entry::Flow);
        let steps = STEPS_V1.iter().copied().map(Entry::Step);
        let events = EVENTS_V1.iter().copied().map(Entry::Event);
        let tools = TOOLS_V1.iter().copied().map(Entry::Tool);
        let skills = SKILLS_V1.iter().copied().map(Entry::Skill);
        let agents = AGENTS_V1.iter().copied().map(Entry::Agent);
        let projections = PROJECTIONS_V1.iter().copied().map(Entry::Projection);
        let policies = POLICIES_V1.iter().copied().map(Entry::Policy);
        let work = flows.chain(steps).chain(events).chain(tools);
        Self::of(work.chain(skills).chain(agents).chain(projections).chain(policies))
    }

    /// These and no others; the same checks hold. A flow whose body runs a step, or as a child a flow, that is not among them
    /// is refused, and so is a part of it. What is called through a variable, or chosen at run time, is missed only when
    /// it is run.
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut registry = Self::default();
        for entry in entries {
            registry.add(entry);
        }
        registry.serve();
        registry.clashes.sort_by_key(ToString::to_string); // the linker's order says nothing
        registry.clashes.dedup();
        registry
    }

    /// The same items, but each step is what `change` makes of it: for tests, in which something stands in for bodies.
    #[must_use]
    pub fn with_steps(mut self, change: impl Fn(&'static StepDescriptor) -> &'static StepDescriptor) -> Self {
        self.steps.0.values_mut().for_each(|step| *step = change(step));
        self
    }

    fn add(&mut self, entry: Entry) {
        let clash = match entry {
            Entry::Flow(flow) => self.flows.add(flow),
            Entry::Step(step) => self.steps.add(step),
            Entry::Event(event) => self.events.add(event),
            Entry::Tool(tool) => self.steps.add(tool.step).or(self.tools.add(tool)),
            Entry::Skill(skill) => self.skills.add(skill),
            Entry::Agent(agent) => self.flows.add(agent.flow).or(self.agents.add(agent)),
            Entry::Projection(projection) => self.projections.add(projection),
            Entry::Policy(policy) => self.policies.add(policy),
        };
        self.clashes.extend(clash);
    }

    /// Adds the services of the rooms, and their flows. Leaked: a program is put together once.
    fn serve(&mut self) {
        for service in SERVICES_V1.iter().flat_map(|of| of(self)).collect::<Vec<_>>() {
            match service {
                Ok(service) => {
                    self.services.add(Box::leak(Box::new(service.flow)));
                    self.served.push(service);
                }
                Err(error) => self.clashes.push(error),
            }
        }
    }

    /// The executions that every worker of this program sees to.
    pub(crate) fn served(&self) -> &[Service] {
        &self.served
    }

    /// Every flow that this program can run, those of rooms included.
    pub(crate) fn runnable(&self) -> impl Iterator<Item = &'static FlowDescriptor> {
        self.flows.all().chain(self.services.all())
    }

    /// The flow with this name.
    pub fn flow(&self, name: &str) -> Option<&'static FlowDescriptor> {
        self.flows.get(name).or_else(|| self.services.get(name))
    }

    /// The version of a flow's input as this program writes it; of one that is not registered, the first.
    pub(crate) fn input_version(&self, flow: &str) -> u32 {
        self.flow(flow).map_or(1, |flow| flow.versions.current)
    }

    /// The step with this name.
    pub fn step(&self, name: &str) -> Option<&'static StepDescriptor> {
        self.steps.get(name)
    }

    /// The domain event with this name.
    pub fn event(&self, name: &str) -> Option<&'static EventDescriptor> {
        self.events.get(name)
    }

    /// The event that a [`Node::Emit`](crate::Node::Emit) names by its type or by a constructor, `shop::OrderPlaced`,
    /// `Moved::North`, `OrderPlaced::of`; `None` when there is none, or more than one type of that name.
    pub fn emitted(&self, written: &str) -> Option<&'static EventDescriptor> {
        written.rsplit("::").take(2).find_map(|segment| {
            let mut of_type = self.events().filter(|event| event.ty == segment);
            of_type.next().filter(|_| of_type.next().is_none())
        })
    }

    /// The tool with this name.
    pub fn tool(&self, name: &str) -> Option<&'static ToolDescriptor> {
        self.tools.get(name)
    }

    /// The skill with this name.
    pub fn skill(&self, name: &str) -> Option<&'static SkillDescriptor> {
        self.skills.get(name)
    }

    /// The agent with this name.
    pub fn agent(&self, name: &str) -> Option<&'static AgentDescriptor> {
        self.agents.get(name)
    }

    /// The projection with this name.
    pub fn projection(&self, name: &str) -> Option<&'static ProjectionDescriptor> {
        self.projections.get(name)
    }

    /// The policy with this name.
    pub fn policy(&self, name: &str) -> Option<&'static PolicyDescriptor> {
        self.policies.get(name)
    }

    /// The flows, in order of their names.
    pub fn flows(&self) -> impl Iterator<Item = &'static FlowDescriptor> {
        self.flows.all()
    }

    /// The steps, in order of their names.
    pub fn steps(&self) -> impl Iterator<Item = &'static StepDescriptor> {
        self.steps.all()
    }

    /// The domain events, in order of their names.
    pub fn events(&self) -> impl Iterator<Item = &'static EventDescriptor> {
        self.events.all()
    }

    /// The tools, in order of their names.
    pub fn tools(&self) -> impl Iterator<Item = &'static ToolDescriptor> {
        self.tools.all()
    }

    /// The skills, in order of their names.
    pub fn skills(&self) -> impl Iterator<Item = &'static SkillDescriptor> {
        self.skills.all()
    }

    /// The agents, in order of their names.
    pub fn agents(&self) -> impl Iterator<Item = &'static AgentDescriptor> {
        self.agents.all()
    }

    /// The projections, in order of their names.
    pub fn projections(&self) -> impl Iterator<Item = &'static ProjectionDescriptor> {
        self.projections.all()
    }

    /// The policies, in order of their names.
    pub fn policies(&self) -> impl Iterator<Item = &'static PolicyDescriptor> {
        self.policies.all()
    }

    /// The parts of the flows, each once.
    fn parts(&self) -> Vec<&'static PartDescriptor> {
        let mut parts: Vec<&PartDescriptor> = Vec::new();
        for part in self.flows().flat_map(FlowDescriptor::all_parts) {
            if !parts.iter().any(|known| known.is(part)) {
                parts.push(part);
            }
        }
        parts
    }

    /// Everything that is wrong, in a stable order; empty when all is well.
    pub fn check(&self, resources: &Resources) -> Vec<RegistryError> {
        let mut wrong = self.clashes.clone();
        for step in self.steps() {
            wrong.extend(step.resources.iter().filter(|resource| !resources.has((resource.id)())).map(
                |resource| {
                    let (step, location) = (step.name, step.location.to_string());
                    RegistryError::MissingResource { step, location, resource: (resource.name)() }
                },
            ));
        }
        for flow in self.flows() {
            wrong.extend(self.policies.missing(flow.policies, flow));
            wrong.extend(self.steps.missing(&called(flow.steps), flow));
            wrong.extend(self.flows.missing(&called(flow.children), flow));
            wrong.extend(topics(flow));
        }
        for part in self.parts() {
            wrong.extend(self.steps.missing(&called(part.steps), part));
            wrong.extend(self.flows.missing(&called(part.children), part));
        }
        for agent in self.agents() {
            wrong.extend(self.tools.missing(agent.tools, agent));
            wrong.extend(self.skills.missing(agent.skills, agent));
        }
        wrong
    }
}

/// What these call, each once.
fn called<D: Item>(callees: &[Callee<impl Fn() -> Option<&'static D>>]) -> Vec<&'static D> {
    let mut called: Vec<&D> = Vec::new();
    for it in callees.iter().filter_map(|callee| (callee.it)()) {
        if called.iter().all(|known| known.name() != it.name()) {
            called.push(it);
        }
    }
    called
}

/// The waits that say something else of their topic than the first one does.
fn topics(flow: &FlowDescriptor) -> Vec<RegistryError> {
    let mut first: BTreeMap<&str, (&MessageDescriptor, &str)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (wait, file) in flow.all_waits() {
        let (known, place) = *first.entry(wait.name).or_insert((wait, file));
        let what = if std::ptr::eq(known, wait) {
            continue;
        } else if known.body.schema() != wait.body.schema() {
            "messages"
        } else if known.reply.map(|schema| schema()) != wait.reply.map(|schema| schema()) {
            "replies"
        } else {
            continue;
        };
        wrong.push(RegistryError::Topic {
            flow: flow.name,
            topic: wait.name,
            what,
            first: format!("{place}:{}", known.line),
            second: format!("{file}:{}", wait.line),
        });
    }
    wrong
}

/// What the tables need to know of a descriptor.
trait Item: 'static {
    /// The word for messages.
    const KIND: &'static str;

    fn name(&self) -> &'static str;
    fn location(&self) -> Location;
}

macro_rules! items {
    ($($descriptor:ty, $kind:literal, |$item:ident| ($name:expr, $location:expr);)*) => {
        $(impl Item for $descriptor {
            const KIND: &'static str = $kind;

            fn name(&self) -> &'static str {
                let $item = self;
                $name
            }

            fn location(&self) -> Location {
                let $item = self;
                $location
            }
        })*
    };
}

items! {
    FlowDescriptor, "flow", |flow| (flow.name, flow.location);
    PartDescriptor, "part", |part| (part.name, part.location);
    StepDescriptor, "step", |step| (step.name, step.location);
    EventDescriptor, "event", |event| (event.name, event.location);
    ToolDescriptor, "tool", |tool| (tool.step.name, tool.step.location);
    SkillDescriptor, "skill", |skill| (skill.name, skill.location);
    AgentDescriptor, "agent", |agent| (agent.flow.name, agent.flow.location);
    ProjectionDescriptor, "projection", |projection| (projection.name, projection.location);
    PolicyDescriptor, "policy", |policy| (policy.name, policy.location);
}

/// The items of one kind, by name.
#[derive(Debug)]
struct Table<D: 'static>(BTreeMap<&'static str, &'static D>);

impl<D> Default for Table<D> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<D> Clone for Table<D> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<D: Item> Table<D> {
    fn get(&self, name: &str) -> Option<&'static D> {
        self.0.get(name).copied()
    }

    fn all(&self) -> impl Iterator<Item = &'static D> {
        self.0.values().copied()
    }

    /// Adds an item; another of its name is an error. A constant may have several addresses, so that the place tells
    /// what is the same.
    fn add(&mut self, item: &'static D) -> Option<RegistryError> {
        let (first, second) = (self.0.insert(item.name(), item)?.location(), item.location());
        (first != second).then(|| {
            let mut places = [first.to_string(), second.to_string()];
            places.sort();
            let [first, second] = places;
            RegistryError::Duplicate { what: D::KIND, name: item.name(), first, second }
        })
    }

    /// Those of `wanted` that are not here.
    fn missing<W: Item>(&self, wanted: &[&'static D], by: &W) -> Vec<RegistryError> {
        let here = |item: &&&D| self.get(item.name()).is_some();
        let missing = wanted.iter().filter(|item| !here(item));
        missing
            .map(|item| RegistryError::Dangling {
                what: W::KIND,
                name: by.name(),
                location: by.location().to_string(),
                wanted: D::KIND,
                missing: item.name(),
                place: item.location().to_string(),
            })
            .collect()
    }
}
