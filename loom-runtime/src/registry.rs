//! Which flows and steps a program has: linked in by the macros, or listed by hand.
//! Not a loader: the set is fixed when the program is built.

use std::collections::BTreeMap;

use linkme::distributed_slice;

use crate::{Flow, FlowDescriptor, Location, Resources, Step, StepDescriptor};

/// The linked-in steps. The order is the linker's; [`Registry`] sorts.
#[doc(hidden)]
#[distributed_slice]
pub static STEPS_V1: [&'static StepDescriptor];

/// The linked-in flows.
#[doc(hidden)]
#[distributed_slice]
pub static FLOWS_V1: [&'static FlowDescriptor];

/// The flows and steps of a program, by name.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    flows: BTreeMap<&'static str, &'static FlowDescriptor>,
    steps: BTreeMap<&'static str, &'static StepDescriptor>,
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
        /// `flow` or `step`.
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
}

/// One thing to register by hand.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// A flow.
    Flow(&'static FlowDescriptor),
    /// A step.
    Step(&'static StepDescriptor),
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
}

impl Registry {
    /// Everything that the macros linked into this program.
    pub fn linked() -> Self {
        let flows = FLOWS_V1.iter().copied().map(Entry::Flow);
        let steps = STEPS_V1.iter().copied().map(Entry::Step);
        Self::of(flows.chain(steps))
    }

    /// These and no others; the same checks hold.
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let mut registry = Self::default();
        for entry in entries {
            match entry {
                Entry::Flow(flow) => registry.add_flow(flow),
                Entry::Step(step) => registry.add_step(step),
            }
        }
        registry.clashes.sort_by_key(ToString::to_string); // the linker's order says nothing
        registry
    }

    /// The flow with this name.
    pub fn flow(&self, name: &str) -> Option<&'static FlowDescriptor> {
        self.flows.get(name).copied()
    }

    /// The step with this name.
    pub fn step(&self, name: &str) -> Option<&'static StepDescriptor> {
        self.steps.get(name).copied()
    }

    /// The flows, in order of their names.
    pub fn flows(&self) -> impl Iterator<Item = &'static FlowDescriptor> {
        self.flows.values().copied()
    }

    /// The steps, in order of their names.
    pub fn steps(&self) -> impl Iterator<Item = &'static StepDescriptor> {
        self.steps.values().copied()
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
        wrong
    }

    fn add_flow(&mut self, flow: &'static FlowDescriptor) {
        if let Some(first) = self.flows.insert(flow.name, flow)
            && !std::ptr::eq(first, flow)
        {
            self.clash("flow", flow.name, first.location, flow.location);
        }
    }

    fn add_step(&mut self, step: &'static StepDescriptor) {
        if let Some(first) = self.steps.insert(step.name, step)
            && !std::ptr::eq(first, step)
        {
            self.clash("step", step.name, first.location, step.location);
        }
    }

    fn clash(&mut self, what: &'static str, name: &'static str, one: Location, other: Location) {
        let mut places = [one.to_string(), other.to_string()];
        places.sort();
        let [first, second] = places;
        self.clashes.push(RegistryError::Duplicate { what, name, first, second });
    }
}
