//! The one flow that runs every program, and its steps. Written by hand: an adapter has no macros.
//! Not what must hold of it: that is [`crate::rules`].

use std::time::Duration;

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select, select_all},
};
use loom_runtime::{
    __v1::{self, EventDescriptor, Location, ResourceDescriptor, StepEnv},
    Codec, Ctx, DataType, Delivery, DomainEvent, Entry, Error, Flow, FlowCall, FlowDescriptor, InputVersions,
    MissingResource, OnClose, Registry, Res, RetryPolicy, Step, StepBody, StepCall, StepDescriptor, Uuid,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Program,
    ledger::{Effect, Ledger},
    program::{Mode, Node, mix, returned},
};

const HERE: Location = Location { file: file!(), line: line!(), column: 1, module: module_path!() };

/// The only topic.
pub(crate) const NEWS: &str = "news";

/// What a run of a program begins with.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Run {
    program: Program,
    /// Which run.
    run: u32,
    /// What the runs before it came to, and saw.
    before: u64,
    seen: u64,
    /// The first part of its frames' ids.
    root: String,
}

impl Run {
    /// The first.
    pub(crate) fn first(program: Program, root: &str) -> Self {
        Self { program, run: 0, before: 0, seen: 0, root: root.to_owned() }
    }
}

/// What a step is given.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Task {
    ms: u64,
    fails: u32,
    /// A digest of all that the flow saw before: a replay that sees something else asks for something else.
    seen: u64,
    /// The frame whose outcome led here, which has to be on disk.
    after: Option<String>,
}

/// What the flow saw.
#[derive(Clone, Debug, Default)]
struct Seen {
    digest: u64,
    after: Option<String>,
}

impl Seen {
    fn of(mut self, what: impl std::fmt::Debug) -> Self {
        self.digest = mix(self.digest, returned(&format!("{what:?}"))) >> 12;
        self
    }

    /// The outcome of a frame.
    fn outcome(self, path: &str, ctx: &Ctx, what: impl std::fmt::Debug) -> Self {
        let now = ctx.now();
        Self { after: Some(path.to_owned()), ..self.of((path, what, now)) }
    }
}

type Walked = Result<(u64, Seen), Error>;

/// Runs programs.
#[derive(Debug)]
pub(crate) struct Walk;

impl Flow for Walk {
    type Input = Run;
    type Output = u64;
    type Error = Error;
    const DESCRIPTOR: &'static FlowDescriptor = &FlowDescriptor {
        name: "walk",
        doc: "",
        location: HERE,
        input: DataType::of::<Run>(),
        output: DataType::of::<u64>(),
        error: __v1::schema_of::<Error>,
        versions: InputVersions::FIRST,
        gates: &[],
        messages: &[],
        effects: None,
        policies: &[],
        schedule: None,
        graph: &[],
        steps: &[],
        children: &[],
        parts: &[],
        fingerprint: 1,
        run: __v1::run_flow::<Self>,
    };

    fn run(ctx: Ctx, run: Run) -> BoxFuture<'static, Result<u64, Error>> {
        async move {
            let begun = Seen { digest: run.seen, after: None };
            let walk = walk(ctx.clone(), run.program.body.clone(), run.root.clone(), begun);
            let walked = if run.program.heeds {
                match select(walk, ctx.cancelled()).await {
                    Either::Left((walked, _)) => walked,
                    Either::Right((_, walk)) => {
                        drop(walk);
                        let task = Task { ms: 3, fails: 0, seen: run.seen, after: None };
                        return ctx.run(StepCall::<Plain>::new(task)).id("tidy").await;
                    }
                }
            } else {
                walk.await
            };
            let (value, seen) = walked?;
            let value = mix(run.before, value);
            if run.run + 1 >= run.program.runs {
                return Ok(value);
            }
            let (before, seen, next) = (value, seen.digest, run.run + 1);
            ctx.continue_as_new(FlowCall::<Self>::new(Run { run: next, before, seen, ..run })).await
        }
        .boxed()
    }
}

fn walk(ctx: Ctx, nodes: Vec<Node>, path: String, mut seen: Seen) -> BoxFuture<'static, Walked> {
    async move {
        let mut all = 1;
        for (nth, node) in nodes.into_iter().enumerate() {
            let (value, then) = one(&ctx, node, format!("{path}-{nth}"), seen).await?;
            (all, seen) = (mix(all, value), then);
        }
        Ok((all, seen))
    }
    .boxed()
}

async fn one(ctx: &Ctx, node: Node, path: String, seen: Seen) -> Walked {
    let after = Duration::from_millis;
    let inner =
        |nth: usize, body, seen: &Seen| walk(ctx.clone(), body, format!("{path}-{nth}"), seen.clone());
    Ok(match node {
        Node::Step { mode, ms, fails } => {
            let task = Task { ms, fails, seen: seen.digest, after: seen.after.clone() };
            let ended = match mode {
                Mode::Pure => ctx.run(StepCall::<Pure>::new(task)).id(path.clone()).await,
                Mode::Plain => ctx.run(StepCall::<Plain>::new(task)).id(path.clone()).await,
                Mode::Retried => ctx.run(StepCall::<Retried>::new(task)).id(path.clone()).await,
                Mode::Once => {
                    let call = ctx.run(StepCall::<Once>::new(task)).id(path.clone());
                    // Whether it was in time, a person says.
                    if ms > 20 { call.timeout(TIMELY).await } else { call.await }
                }
            }?;
            (ended, seen.outcome(&path, ctx, ended))
        }
        Node::Sleep { ms: wait } => {
            ctx.sleep(after(wait)).id(path.clone()).await;
            (8, seen.outcome(&path, ctx, ()))
        }
        Node::Gate { within } => {
            let gate = ctx.suspend::<u64>("gate").id(path.clone());
            let gate = match within {
                Some(limit) => gate.timeout(after(limit)),
                None => gate,
            };
            let answer = gate.await;
            (8, seen.outcome(&path, ctx, answer))
        }
        Node::Receive => {
            let news = ctx.receive::<String>(NEWS).id(path.clone()).await;
            (8, seen.outcome(&path, ctx, news))
        }
        Node::Tell { to } => {
            let id = to.parse().map_err(Error::from)?;
            ctx.send(&id, NEWS, &format!("{} {path} {}", ctx.execution(), seen.digest));
            (8, seen)
        }
        Node::Decide => {
            let choice = ctx.decide("choice", || 5_u64).id(path.clone()).await;
            (8, seen.of(choice))
        }
        Node::Emit => {
            ctx.emit(&Noted { what: path });
            (8, seen)
        }
        Node::Read => {
            let drawn: (Uuid, f64) = (ctx.uuid(), ctx.random());
            (8, seen.of((drawn, ctx.now())))
        }
        Node::Child { body, abandon, spawn } => {
            let program = Program { runs: 1, heeds: false, body };
            let call = FlowCall::<Walk>::new(Run { seen: seen.digest, ..Run::first(program, "c") });
            let on_close = if abandon { OnClose::Abandon } else { OnClose::Cancel };
            if spawn {
                let child = ctx.spawn(call).id(path.clone()).on_close(on_close);
                drop(if abandon { child.await } else { child.wait().await });
                (2, seen)
            } else {
                let ended = ctx.call(call).id(path.clone()).on_close(on_close).await;
                (*ended.as_ref().unwrap_or(&3), seen.outcome(&path, ctx, ended.ok()))
            }
        }
        Node::All { drain, limit, branches } => {
            let branches = branches.into_iter().enumerate().map(|(nth, body)| inner(nth, body, &seen));
            let all = ctx.parallel(branches).limit(limit);
            let (ended, failed) =
                if drain { (all.drain().await.ok(), 5) } else { (all.fail_fast().await.ok(), 6) };
            match ended {
                Some(each) => {
                    let value = each.iter().map(|(value, _)| *value).fold(4, mix);
                    // One branch's outcome is the last, and nobody here knows which.
                    let digest = each.iter().fold(seen.digest, |all, (_, seen)| mix(all, seen.digest)) >> 12;
                    (value, Seen { digest, ..seen })
                }
                None => (failed, seen.of(failed)),
            }
        }
        Node::Race { branches } => {
            let branches = branches.into_iter().enumerate().map(|(nth, body)| inner(nth, body, &seen));
            let (first, nth, rest) = select_all(branches).await;
            drop(rest);
            (8, seen.of((nth, first.map(|(_, seen)| seen.digest).ok())))
        }
        Node::Within { ms: limit, body } => {
            let ended = ctx.timeout(after(limit), inner(0, body, &seen)).id(path.clone()).await;
            let ended = ended.ok().map(|ended| ended.map(|(_, seen)| seen.digest).ok());
            (8, seen.of(ended))
        }
        Node::Repeat { times, body } => {
            let (mut all, mut then) = (7, seen);
            for turn in 0..times as usize {
                let (value, seen) = inner(turn, body.clone(), &then).await?;
                (all, then) = (mix(all, value), seen);
            }
            (all, then)
        }
        Node::Detach { body } => {
            let mut scope = ctx.scope();
            scope.add(inner(0, body, &seen));
            scope.detach();
            (8, seen)
        }
    })
}

/// How long an at-most-once step may take: some take longer.
const TIMELY: Duration = Duration::from_millis(600);

/// A fact.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Noted {
    what: String,
}

impl DomainEvent for Noted {
    const DESCRIPTOR: &'static EventDescriptor = &EventDescriptor {
        name: "noted",
        ty: "Noted",
        version: 1,
        oldest: 1,
        upcasters: &[],
        doc: "",
        location: HERE,
        schema: __v1::schema_of::<Self>,
    };
}

macro_rules! steps {
    ($($name:ident $word:literal $delivery:expr, $retry:expr;)+) => { $(
        #[derive(Debug)]
        struct $name;

        impl Step for $name {
            type Input = Task;
            type Output = u64;
            type Error = Error;
            const INPUT: Codec<Task> = Codec::json();
            const DESCRIPTOR: &'static StepDescriptor = &StepDescriptor {
                name: $word,
                doc: "",
                location: HERE,
                delivery: $delivery,
                reads: false,
                retry: $retry,
                timeout: None,
                heartbeat: None,
                effects: &[],
                resources: &[ResourceDescriptor::of::<Ledger>()],
                input: DataType::of::<Task>(),
                output: DataType::of::<u64>(),
                error: __v1::schema_of::<Error>,
                fingerprint: 1,
                invoke: __v1::invoke::<Self>,
            };

            fn body(task: Task, env: &StepEnv) -> Result<StepBody<u64, Error>, MissingResource> {
                let (ledger, cx): (Res<Ledger>, _) = (env.resource()?, env.cx());
                let counts = Self::DESCRIPTOR.retry.attempts > 1;
                let effect = Effect::of(&cx, Self::DESCRIPTOR.delivery, counts, task.after);
                Ok(async move {
                    ledger.begin(&effect).await;
                    let work = tokio::time::sleep(Duration::from_millis(task.ms));
                    // Some tidy up when nobody waits any more.
                    if returned(cx.frame().as_str()).is_multiple_of(3) {
                        if let Either::Right(_) = select(Box::pin(work), Box::pin(cx.cancelled())).await {
                            tokio::time::sleep(Duration::from_millis(40)).await;
                        }
                    } else {
                        work.await;
                    }
                    ledger.write(&effect).await;
                    // Crashes count as attempts of what is retried; what is not fails each time.
                    if task.fails > 0 && (!counts || cx.attempt() <= task.fails) {
                        return Err(Error::msg("not this time"));
                    }
                    Ok(returned(cx.frame().as_str()))
                }.boxed())
            }
        }
    )+ };
}

/// More attempts than any world has crashes: those count too.
const OFTEN: RetryPolicy = RetryPolicy {
    attempts: 1_000,
    initial: Duration::from_millis(20),
    max: Duration::from_millis(400),
    factor: 2,
};

steps! {
    Pure "pure" Delivery::Pure, RetryPolicy::NONE;
    Plain "plain" Delivery::AtLeastOnce, RetryPolicy::NONE;
    Retried "retried" Delivery::AtLeastOnce, OFTEN;
    Once "once" Delivery::AtMostOnce, RetryPolicy::NONE;
}

/// The program of every process.
pub(crate) fn registry() -> Registry {
    Registry::of([
        Entry::flow::<Walk>(),
        Entry::step::<Pure>(),
        Entry::step::<Plain>(),
        Entry::step::<Retried>(),
        Entry::step::<Once>(),
    ])
}
