//! Other ways for an execution to go on: forks, simulations, comparisons, and the names that choose between them.
//! Not merges: there are none.

use std::collections::BTreeMap;

use loom_runtime::{
    App, ChildPolicy, ExecutionId, diff,
    kernel::{self, Payload},
    view,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{Host, PAGE, Verb, answer, id, standing};
use crate::{Code, Problem, args, server::method::Method};

impl Verb for args::Fork {
    const NAME: &'static str = "fork";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/forks");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[
        Code::UnknownExecution,
        Code::UnknownFrame,
        Code::UnknownFlow,
        Code::InvalidId,
        Code::InvalidFork,
        Code::DuplicateStart,
    ];
    type Answer = view::Execution;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let mut fork = host.app.fork(&id(&self.execution)?).by(self.by.as_deref().unwrap_or("http"));
        if let Some(events) = self.at {
            fork = fork.at(events);
        }
        if let Some(id) = self.id {
            fork = fork.id(id);
        }
        for (frame, value) in &self.stubs {
            fork = fork.stub(frame, value);
        }
        for frame in &self.rerun {
            fork = fork.rerun(frame);
        }
        if self.rerun_all {
            fork = fork.rerun_all();
        }
        if self.copy_answers {
            fork = fork.copy_answers();
        }
        fork = fork.children(match self.children {
            args::Children::Rerun => ChildPolicy::Rerun,
            args::Children::Share => ChildPolicy::Share,
            args::Children::Cancel => ChildPolicy::Cancel,
        });
        if !host.works {
            fork = fork.detached();
        }
        let id = fork.await?;
        standing(host, &id).await
    }
}

/// What came of a simulation.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Simulated {
    /// Where it stands.
    status: &'static str,
    /// How it ended, if it did.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    outcome: Option<kernel::Outcome>,
    /// What was asked for and nobody answered.
    asked: Vec<Asked>,
    /// What was given and not asked for.
    unused: Vec<String>,
    /// Whether it was stopped because it went on for too long.
    cut_off: bool,
    /// Its state.
    #[schemars(with = "BTreeMap<String, Value>")]
    state: kernel::State,
}

/// What a simulation asked for.
#[derive(Serialize, JsonSchema)]
struct Asked {
    frame: String,
    #[schemars(with = "Value")]
    kind: kernel::FrameKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    input: Option<Payload>,
}

impl Verb for args::Simulate {
    const NAME: &'static str = "simulate";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/simulations");
    // Nothing is written; but it takes time, and says what an execution knows.
    const WRITES: bool = true;
    const CODES: &'static [Code] =
        &[Code::UnknownExecution, Code::UnknownFrame, Code::UnknownFlow, Code::InvalidId, Code::InvalidFork];
    type Answer = Simulated;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let mut simulate = host.app.simulate(&id(&self.execution)?);
        if let Some(events) = self.at {
            simulate = simulate.at(events);
        }
        for (name, value) in &self.stubs {
            simulate = simulate.stub(name, value);
        }
        for (name, value) in &self.gates {
            simulate = simulate.gate(name, value);
        }
        for told in &self.messages {
            simulate = simulate.message(&told.topic, &told.body);
        }
        for name in &self.unanswered {
            simulate = simulate.unanswered(name);
        }
        if self.copy_answers {
            simulate = simulate.copy_answers();
        }
        let done = simulate.run().await?;
        let asked = done.asked.into_iter();
        let asked = asked.map(|one| Asked { frame: one.frame.to_string(), kind: one.kind, input: one.input });
        answer(&Simulated {
            status: done.state.status.name(),
            outcome: done.outcome,
            asked: asked.collect(),
            unused: done.unused,
            cut_off: done.cut_off,
            state: done.state,
        })
    }
}

impl Verb for args::Diff {
    const NAME: &'static str = "diff";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/diff");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::InvalidId];
    type Answer = BTreeMap<String, Value>;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let (a, b) = (whole(&host.app, &id(&self.a)?).await?, whole(&host.app, &id(&self.b)?).await?);
        answer(&diff(&a, &b).map_err(|e| Problem::new(Code::Unreadable, e.to_string()))?)
    }
}

/// The whole log.
async fn whole(app: &App, id: &ExecutionId) -> Result<Vec<kernel::Envelope>, Problem> {
    let mut events = Vec::new();
    loop {
        let page = app.log(id, events.len() as u64, PAGE.1).await?;
        if page.is_empty() {
            return Ok(events);
        }
        events.extend(page);
    }
}

impl Verb for args::Branches {
    const NAME: &'static str = "branches";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/branches");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[];
    type Answer = view::Branches;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let branches = host.app.branches().await?;
        answer(&view::Branches { branches: branches.iter().map(view::Branch::of).collect() })
    }
}

impl Verb for args::Promote {
    const NAME: &'static str = "promote";
    const ROUTE: (Method, &'static str) = (Method::Put, "/v1/branches/{branch}");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[
        Code::UnknownExecution,
        Code::UnknownBranch,
        Code::InvalidId,
        Code::InvalidBranch,
        Code::BranchMoved,
    ];
    type Answer = view::Branch;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let to = id(&self.execution)?;
        let row = match &self.from {
            Some(from) => host.app.promote(&self.branch, &id(from)?, &to, &self.by).await?,
            None => host.app.set_branch(&self.branch, &to, &self.by).await?,
        };
        answer(&view::Branch::of(&row))
    }
}
