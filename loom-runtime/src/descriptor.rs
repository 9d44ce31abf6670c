//! What the macros say of each flow and step: constants, made by `cargo build`.
//! Nothing is looked up or checked here; that is [`crate::Registry`].

use std::{any::TypeId, time::Duration};

use futures_util::future::BoxFuture;
use kernel::{
    Delivery, Payload, RetryPolicy,
    machine::{AttemptEnd, FlowReturn},
};
use schemars::Schema;

use crate::{Ctx, DataType, PolicyDescriptor, ScheduleDescriptor, step::StepEnv};

/// Makes the JSON Schema of a type: a function, since schemas are not constants.
pub type SchemaFn = fn() -> Schema;

/// Runs one attempt of a step: decodes the input, runs the body, encodes the outcome.
pub type Invoke = fn(Payload, StepEnv) -> BoxFuture<'static, AttemptEnd>;

/// Gives the descriptor of a part: a function, since parts may call each other in a circle.
pub type PartFn = fn() -> &'static PartDescriptor;

/// Gives the descriptor of the step that a call site runs; `None` for what turns out to be none.
pub type StepFn = fn() -> Option<&'static StepDescriptor>;

/// The same of the flow that a call site runs as a child.
pub type FlowFn = fn() -> Option<&'static FlowDescriptor>;

/// What a call in a flow's body calls, as far as the body shows it, whatever `f` is called: in place, `ctx.run(f(x))`, or by
/// `let call = f(x);` before. What comes from elsewhere in a variable, or is chosen at run time, is in no list of them.
#[derive(Clone, Copy, Debug)]
pub struct Callee<F> {
    /// The call site's id.
    pub id: &'static str,
    /// What the function gives that is called there.
    pub it: F,
}

/// What a call in a flow's body names, by its place among them: a schema, a step, a part or a flow. Implemented in the body, where names mean
/// what they mean there, for a type that stands for that body.
pub trait NamedAt<const SITE: usize, T> {
    /// It.
    const IT: T;
}

/// Runs a flow: decodes the input, runs the body, encodes the outcome.
pub type RunFlow = fn(Ctx, Payload) -> BoxFuture<'static, FlowReturn>;

/// A place in the user's source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Location {
    /// The file, as the compiler names it.
    pub file: &'static str,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// The module's path.
    pub module: &'static str,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A registered step.
#[derive(Clone, Copy, Debug)]
pub struct StepDescriptor {
    /// Its name: what logs say, unique within a program.
    pub name: &'static str,
    /// Its doc comment.
    pub doc: &'static str,
    /// Where it is written.
    pub location: Location,
    /// How it gives its result to the world.
    pub delivery: Delivery,
    /// Whether it reads the world outside: delivered as a pure step is, and yet no function of its input.
    pub reads: bool,
    /// How often it is tried.
    pub retry: RetryPolicy,
    /// How long one attempt may take.
    pub timeout: Option<Duration>,
    /// How long one attempt may be silent, if it is to call [`crate::StepCx::heartbeat`].
    pub heartbeat: Option<Duration>,
    /// What kinds of things it touches.
    pub effects: &'static [&'static str],
    /// What it wants to be given.
    pub resources: &'static [ResourceDescriptor],
    /// Its input: an object with one property per parameter.
    pub input: DataType,
    /// Its output.
    pub output: DataType,
    /// The schema of its error.
    pub error: SchemaFn,
    /// Of its tokens.
    pub fingerprint: u64,
    /// Its body.
    pub invoke: Invoke,
}

/// A resource that a step wants.
#[derive(Clone, Copy, Debug)]
pub struct ResourceDescriptor {
    /// The type's name, for messages.
    pub name: fn() -> &'static str,
    /// The type.
    pub id: fn() -> TypeId,
}

impl ResourceDescriptor {
    /// The resource `T`.
    pub const fn of<T: 'static>() -> Self {
        Self { name: std::any::type_name::<T>, id: TypeId::of::<T> }
    }
}

/// A registered flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowDescriptor {
    /// Its name: what logs say, unique within a program.
    pub name: &'static str,
    /// Its doc comment.
    pub doc: &'static str,
    /// Where it is written.
    pub location: Location,
    /// Its input, in the version of today.
    pub input: DataType,
    /// Its output.
    pub output: DataType,
    /// The schema of its error.
    pub error: SchemaFn,
    /// The versions of its input.
    pub versions: InputVersions,
    /// The gates in its body.
    pub gates: &'static [GateDescriptor],
    /// The messages that its body waits for.
    pub messages: &'static [MessageDescriptor],
    /// The effect classes that it may reach; `None` when it declares no ceiling.
    pub effects: Option<&'static [&'static str]>,
    /// The policies that it is held to.
    pub policies: &'static [&'static PolicyDescriptor],
    /// When it is to be started by itself.
    pub schedule: Option<ScheduleDescriptor>,
    /// Its shape.
    pub graph: &'static [Node],
    /// The steps that it runs.
    pub steps: &'static [Callee<StepFn>],
    /// The flows that it runs as children.
    pub children: &'static [Callee<FlowFn>],
    /// The parts that it calls.
    pub parts: &'static [Callee<PartFn>],
    /// Of its tokens.
    pub fingerprint: u64,
    /// Its body.
    pub run: RunFlow,
}

/// Which versions of its input a flow reads. Logs say which they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputVersions {
    /// The version of the shape that this program writes.
    pub current: u32,
    /// The oldest that it reads.
    pub oldest: u32,
    /// The upcasters of the versions from there on, as they are written.
    pub upcasters: &'static [&'static str],
}

impl InputVersions {
    /// Of a flow that declares none.
    pub const FIRST: Self = Self { current: 1, oldest: 1, upcasters: &[] };
}

impl FlowDescriptor {
    /// What its body calls.
    pub const fn callees(&self) -> Callees {
        Callees { steps: self.steps, children: self.children, parts: self.parts }
    }

    /// The parts that it reaches, each once, in the order in which they are found.
    pub fn all_parts(&self) -> Vec<&'static PartDescriptor> {
        let mut found = Vec::new();
        reach(self.callees(), &mut found);
        found
    }

    /// Its gates and those of its parts, each with the frame that its addresses name, `approve` or `pay/approve`, but for
    /// the counts and keys of repetitions; each frame once, in the order of the source.
    pub fn all_gates(&self) -> Vec<(String, &'static GateDescriptor)> {
        crate::app::gate_place::all(self)
    }

    /// Every gate in its body and those of its parts.
    pub(crate) fn every_gate(&self) -> impl Iterator<Item = &'static GateDescriptor> {
        self.gates.iter().chain(self.all_parts().into_iter().flat_map(|part| part.gates))
    }

    /// The messages that it and its parts wait for, each topic once, in the order in which they are found: all that may
    /// be sent to its executions. [`Registry::check`](crate::Registry::check) has seen that waits for one topic agree.
    pub fn all_messages(&self) -> Vec<&'static MessageDescriptor> {
        let mut messages: Vec<&MessageDescriptor> = Vec::new();
        for (message, _) in self.all_waits() {
            if messages.iter().all(|known| known.name != message.name) {
                messages.push(message);
            }
        }
        messages
    }

    /// Every wait for a message of it and its parts, and in which file.
    pub(crate) fn all_waits(&self) -> impl Iterator<Item = (&'static MessageDescriptor, &'static str)> {
        let within = |messages: &'static [MessageDescriptor], file| {
            messages.iter().map(move |message| (message, file))
        };
        let of_parts = self.all_parts().into_iter().flat_map(move |p| within(p.messages, p.location.file));
        within(self.messages, self.location.file).chain(of_parts)
    }
}

/// A part of flows: a helper with a prefix of its own.
#[derive(Clone, Copy, Debug)]
pub struct PartDescriptor {
    /// Its name.
    pub name: &'static str,
    /// Where it is written.
    pub location: Location,
    /// The gates in its body.
    pub gates: &'static [GateDescriptor],
    /// The messages that its body waits for.
    pub messages: &'static [MessageDescriptor],
    /// The effect classes that it may reach; `None` when it declares no ceiling.
    pub effects: Option<&'static [&'static str]>,
    /// Its shape.
    pub graph: &'static [Node],
    /// The steps that it runs.
    pub steps: &'static [Callee<StepFn>],
    /// The flows that it runs as children.
    pub children: &'static [Callee<FlowFn>],
    /// The parts that it calls.
    pub parts: &'static [Callee<PartFn>],
    /// Of its tokens.
    pub fingerprint: u64,
}

/// The steps, children and parts of one body, by which the nodes of its graph are told their names.
#[derive(Clone, Copy, Debug)]
pub struct Callees {
    steps: &'static [Callee<StepFn>],
    children: &'static [Callee<FlowFn>],
    parts: &'static [Callee<PartFn>],
}

impl Callees {
    /// The name of the step that the call with this id runs; `written`, the function's, where the call does not tell.
    pub fn step(&self, id: &str, written: &'static str) -> &'static str {
        let found = self.steps.iter().find(|callee| callee.id == id);
        found.and_then(|callee| (callee.it)()).map_or(written, |step| step.name)
    }

    /// The same of a child.
    pub fn child(&self, id: &str, written: &'static str) -> &'static str {
        let found = self.children.iter().find(|callee| callee.id == id);
        found.and_then(|callee| (callee.it)()).map_or(written, |flow| flow.name)
    }

    /// The parts, each once.
    pub fn parts(&self) -> Vec<&'static PartDescriptor> {
        let mut found: Vec<&PartDescriptor> = Vec::new();
        for part in self.parts.iter().map(|callee| (callee.it)()) {
            if !found.iter().any(|known| known.is(part)) {
                found.push(part);
            }
        }
        found
    }

    /// The part that the call with this id calls, if the call tells.
    pub fn part(&self, id: &str) -> Option<&'static PartDescriptor> {
        self.parts.iter().find(|callee| callee.id == id).map(|callee| (callee.it)())
    }
}

fn reach(callees: Callees, found: &mut Vec<&'static PartDescriptor>) {
    for part in callees.parts() {
        if !found.iter().any(|known| known.is(part)) {
            found.push(part);
            reach(part.callees(), found);
        }
    }
}

impl PartDescriptor {
    /// What its body calls.
    pub const fn callees(&self) -> Callees {
        Callees { steps: self.steps, children: self.children, parts: self.parts }
    }

    /// Whether two descriptors are of one part. Their addresses do not tell: crates may have copies.
    pub fn is(&self, other: &Self) -> bool {
        (self.name, self.location) == (other.name, other.location)
    }
}

/// A gate in the body of a flow or part.
#[derive(Clone, Copy, Debug)]
pub struct GateDescriptor {
    /// Its name.
    pub name: &'static str,
    /// The call site's id: the name, unless `.id(..)` says another.
    pub id: &'static str,
    /// An answer.
    pub answer: DataType,
    /// The line, in the file of its flow or part.
    pub line: u32,
}

/// A wait for a message in the body of a flow or part: `ctx.receive::<T>("topic")`.
#[derive(Clone, Copy, Debug)]
pub struct MessageDescriptor {
    /// The topic.
    pub name: &'static str,
    /// A message.
    pub body: DataType,
    /// The schema of the reply, where `.update::<R>()` is chained to the wait and the sender may ask for one.
    pub reply: Option<SchemaFn>,
    /// The line, in the file of its flow or part.
    pub line: u32,
}

/// A node of a static graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    /// A step is run.
    Step {
        /// The call site's id.
        id: &'static str,
        /// The name of the function that is called, `*` where the source does not tell. [`Callees::step`] has the
        /// step's.
        step: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// Somebody is asked.
    Gate {
        /// The call site's id.
        id: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A timer is awaited.
    Timer {
        /// The call site's id.
        id: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A choice is made.
    Decision {
        /// The call site's id.
        id: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A domain event is emitted.
    Emit {
        /// The call site's id.
        id: &'static str,
        /// The event's type or constructor as written, `OrderPlaced`; `None` when the source does not show it.
        /// [`Registry::emitted`](crate::Registry::emitted) finds the event.
        event: Option<&'static str>,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A message is awaited.
    Message {
        /// The call site's id.
        id: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A message is sent to another execution.
    Dispatch {
        /// The call site's id.
        id: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A child execution is started.
    Child {
        /// The call site's id.
        id: &'static str,
        /// The name of the function that is called, `*` where the source does not tell. [`Callees::child`] has the
        /// flow's.
        flow: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A part is called.
    Part {
        /// The call site's id.
        id: &'static str,
        /// The name of the function that is called, `*` where the source does not tell. [`Callees::part`] has the part.
        part: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// The body is repeated.
    Loop {
        /// What is looped over, as written.
        label: &'static str,
        /// The label that jumps name, `'outer`.
        name: Option<&'static str>,
        /// Whether it ends by itself, as far as the source tells.
        bound: LoopBound,
        /// Whether it ends at its head as well: a `loop` and a `while true` are left by jumps alone.
        head_ends: bool,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// The body.
        body: &'static [Self],
    },
    /// One of the arms is taken.
    Branch {
        /// What decides, as written.
        label: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// The arms.
        arms: &'static [Arm],
    },
    /// The arms run side by side.
    Parallel {
        /// What an error in one of them means to the others, where `ctx.parallel` or `ctx.scope` say it.
        policy: Option<ParallelPolicy>,
        /// How many run at once at most, as written.
        limit: Option<&'static str>,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// The arms.
        arms: &'static [Arm],
    },
    /// A block with a label, which a [`Node::Break`] in it names.
    Block {
        /// The label, `'found`.
        name: &'static str,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// What stands in it.
        body: &'static [Self],
    },
    /// A loop or a block is left.
    Break {
        /// The label of which, `'outer`; without one, the innermost loop.
        name: Option<&'static str>,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// The next turn of a loop begins.
    Continue {
        /// The label of which, `'outer`; without one, the innermost.
        name: Option<&'static str>,
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// A `?` within a loop: an error ends flow or part here. Outside of loops, where nearly every call has one, it is
    /// not noted.
    Propagate {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// The flow returns.
    Return {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
    },
    /// Nobody comes here: a return, a panic or a loop without end stands before it.
    Unreachable {
        /// The line.
        line: u32,
        /// The column.
        column: u32,
        /// What stands there.
        body: &'static [Self],
    },
}

impl Node {
    /// Line and column.
    pub const fn place(&self) -> (u32, u32) {
        match *self {
            Self::Step { line, column, .. }
            | Self::Gate { line, column, .. }
            | Self::Timer { line, column, .. }
            | Self::Decision { line, column, .. }
            | Self::Emit { line, column, .. }
            | Self::Message { line, column, .. }
            | Self::Dispatch { line, column, .. }
            | Self::Child { line, column, .. }
            | Self::Part { line, column, .. }
            | Self::Loop { line, column, .. }
            | Self::Branch { line, column, .. }
            | Self::Parallel { line, column, .. }
            | Self::Block { line, column, .. }
            | Self::Break { line, column, .. }
            | Self::Continue { line, column, .. }
            | Self::Propagate { line, column }
            | Self::Return { line, column }
            | Self::Unreachable { line, column, .. } => (line, column),
        }
    }
}

/// Whether a loop ends by itself. The macro reads it off the syntax, so that it is a mark and no proof.
///
/// | loop | bound |
/// |---|---|
/// | `for` over a range with an end, a collection, an iterator | [`Bounded`](Self::Bounded), by what it goes over |
/// | `for` over `0..`, `.cycle()`, `repeat`, `repeat_with`, `successors`, `from_fn`, without `.take(..)` or `.zip(..)` | as `while` |
/// | `while` whose condition, or one side of its `&&`, compares a name that the body moves by `+=` or `-=` | `Bounded` |
/// | `loop` with a top-level `if` whose condition, or one side of its `\|\|`, does so, and which ends in `break` or `return` | `Bounded` |
/// | any other that something may end: a condition, a `break`, a `return`, a `?` | [`Unknown`](Self::Unknown) |
/// | a `loop`, `while true` or endless `for` in which nothing of the kind stands | [`Endless`](Self::Endless) |
/// | what a closure does for each element | `Bounded` |
///
/// What a call returns is not looked at: a `for` over an endless iterator of another name counts as bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopBound {
    /// It ends.
    Bounded,
    /// Something ends it, and the source does not show that this comes about.
    Unknown,
    /// Nothing ends it but a cancellation or a panic.
    Endless,
}

/// What an error in one branch of a `ctx.parallel(..)` or `ctx.scope()` means to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParallelPolicy {
    /// `.all()`: nothing, each has its own result.
    All,
    /// `.fail_fast()`: the first ends them.
    FailFast,
    /// `.drain()`: all come to their end, and then fail together.
    Drain,
    /// `.detach()`: nobody waits for them, and the flow goes on.
    Detach,
}

impl ParallelPolicy {
    /// The method that says it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::FailFast => "fail_fast",
            Self::Drain => "drain",
            Self::Detach => "detach",
        }
    }
}

/// An arm of a branch, or one of several that run side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// The arm's pattern or condition, as written.
    pub label: &'static str,
    /// Its body.
    pub body: &'static [Node],
}

/// A durable call site, as the macro saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its id.
    pub id: &'static str,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// The file.
    pub file: &'static str,
}
