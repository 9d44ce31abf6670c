//! The verbs: each takes its arguments, asks the app, and answers JSON. REST and JSON-RPC both call these.
//! Not how they are reached, and not the stream of events, which has no end to answer with.

use std::{collections::BTreeMap, future::Future, time::Duration};

use loom_runtime::{
    App, ChildPolicy, ExecutionId, FrameId, Said, Status, diff,
    kernel::{self, EVENT_SCHEMA, Payload, machine},
    ports::ListFilter,
    view,
};
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};
use tokio_util::sync::CancellationToken;

use super::{method::Method, route};
use crate::{ABI, Code, Problem, args};

/// How long a request waits at most for an outcome or a reply.
const LONGEST_WAIT: u64 = 60;

/// How many rows or events a page has, unless the request says so, and at most.
const PAGE: (usize, usize) = (100, 1_000);

/// What the verbs work on.
#[derive(Clone)]
pub(super) struct Host {
    pub(super) app: App,
    /// Whether executions run here, too.
    pub(super) works: bool,
    /// Cancelled when the server is to stop.
    pub(super) stop: CancellationToken,
}

impl Host {
    /// Waits for something, but not for long, nor beyond the server's end; `None` when it did not come.
    async fn patiently<T>(&self, wait: Duration, what: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            what = what => Some(what),
            () = tokio::time::sleep(wait) => None,
            () = self.stop.cancelled() => None,
        }
    }
}

/// A verb of the wire; implemented on its arguments.
pub(super) trait Verb: DeserializeOwned + JsonSchema + Send + 'static {
    /// Its name, behind `loom.` in JSON-RPC.
    const NAME: &'static str;
    /// Its route.
    const ROUTE: (Method, &'static str);
    /// Whether it changes anything.
    const WRITES: bool;
    /// How it refuses, beside what every route does.
    const CODES: &'static [Code];
    /// What it answers.
    type Answer: JsonSchema;

    fn call(self, host: &Host) -> impl Future<Output = Result<Box<RawValue>, Problem>> + Send;
}

fn answer(value: &(impl Serialize + ?Sized)) -> Result<Box<RawValue>, Problem> {
    to_raw_value(value)
        .map_err(|e| Problem::new(Code::Unreadable, format!("a stored value is not JSON: {e}")))
}

fn id(text: &str) -> Result<ExecutionId, Problem> {
    Ok(text.parse::<ExecutionId>()?)
}

fn page(limit: Option<usize>) -> usize {
    limit.unwrap_or(PAGE.0).clamp(1, PAGE.1)
}

fn seconds(wait: u64) -> Duration {
    Duration::from_secs(wait.min(LONGEST_WAIT))
}

/// Where the execution stands now, by its row.
async fn standing(host: &Host, id: &ExecutionId) -> Result<Box<RawValue>, Problem> {
    answer(&view::Execution::of(&host.app.row(id).await?, host.app.registry()))
}

impl Verb for args::Start {
    const NAME: &'static str = "start";
    const ROUTE: (Method, &'static str) = (Method::Post, route::EXECUTIONS);
    const WRITES: bool = true;
    const CODES: &'static [Code] =
        &[Code::UnknownFlow, Code::InvalidPayload, Code::InvalidId, Code::DuplicateStart];
    type Answer = view::Execution;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let mut start = host.app.start_dynamic(self.flow, Payload::from_value(&self.input));
        if let Some(id) = self.id {
            start = start.id(id);
        }
        let id = if host.works { start.await } else { start.detached().await }?;
        standing(host, &id).await
    }
}

impl Verb for args::List {
    const NAME: &'static str = "list";
    const ROUTE: (Method, &'static str) = (Method::Get, route::EXECUTIONS);
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::InvalidId];
    type Answer = view::Executions;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let limit = page(self.limit);
        let after = self.after.as_deref().map(id).transpose()?;
        // One more than is told tells whether there are more.
        let filter = ListFilter { statuses: self.status, flow: self.flow, after, limit: limit + 1 };
        let mut rows = host.app.list(&filter).await?;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let mut executions = Vec::new();
        for row in &rows {
            let code = view::waited_code(&host.app, row).await;
            executions.push(view::Execution::of(row, host.app.registry()).waiting_for_code(code));
        }
        answer(&view::Executions { executions, more })
    }
}

impl Verb for args::Show {
    const NAME: &'static str = "show";
    const ROUTE: (Method, &'static str) = (Method::Get, route::EXECUTION);
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::InvalidId];
    type Answer = view::Whole<'static>;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let id = id(&self.execution)?;
        let row = host.app.row(&id).await?;
        let look = view::Look::at(&host.app, &id).await?;
        answer(&view::Whole::of(view::Execution::of(&row, host.app.registry()), &look))
    }
}

/// A page of events.
#[derive(Serialize, JsonSchema)]
pub(super) struct Events<'a> {
    /// In order, without gaps.
    events: Vec<view::Event<'a>>,
    /// The sequence to go on from.
    next: u64,
}

impl Verb for args::Log {
    const NAME: &'static str = "log";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/executions/{execution}/log");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::InvalidId];
    type Answer = Events<'static>;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let id = id(&self.execution)?;
        // Stored records and not events: what this build cannot read is told as it is.
        let records = host.app.store().read(&id, self.from, page(self.limit)).await?;
        let next = self.from + records.len() as u64;
        answer(&Events { events: records.iter().map(|record| view::Event::of(&id, record)).collect(), next })
    }
}

impl Verb for args::State {
    const NAME: &'static str = "state";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/executions/{execution}/state");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::InvalidId];
    type Answer = BTreeMap<String, Value>;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        answer(&host.app.state(&id(&self.execution)?, self.events).await?)
    }
}

impl Verb for args::Query {
    const NAME: &'static str = "query";
    const ROUTE: (Method, &'static str) =
        (Method::Get, "/v1/executions/{execution}/projections/{projection}");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::UnknownProjection, Code::InvalidId];
    type Answer = Value;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        answer(&host.app.project_dynamic(&id(&self.execution)?, &self.projection).await?)
    }
}

/// How an execution ended, if it has.
#[derive(Serialize, JsonSchema)]
pub(super) struct Ended {
    #[schemars(with = "String")]
    execution: ExecutionId,
    /// Where it stands.
    status: &'static str,
    /// `{completed: …}`, `{failed: …}` or `{cancelled: …}`; missing while it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    outcome: Option<kernel::Outcome>,
}

/// Waits until it has ended, or is parked and nobody has said yet how it is to go on.
async fn rested(app: &App, id: &ExecutionId) -> Result<(), Problem> {
    while app.until(id, &[Status::Parked]).await? == Status::Parked && is_called(app, id).await? {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// Whether a parked execution was told something that its next owner goes on with.
async fn is_called(app: &App, id: &ExecutionId) -> Result<bool, Problem> {
    let calls = |said: &Said| matches!(said, Said::Verdict { .. } | Said::Retry | Said::Cancel { .. });
    Ok(app.pending(id).await?.iter().any(|pending| calls(&pending.said)))
}

impl Verb for args::Outcome {
    const NAME: &'static str = "result";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/executions/{execution}/result");
    const WRITES: bool = false;
    const CODES: &'static [Code] =
        &[Code::UnknownExecution, Code::InvalidId, Code::Parked, Code::WaitingForCode];
    type Answer = Ended;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let execution = id(&self.execution)?;
        let wait = seconds(self.wait.unwrap_or_default());
        if let Some(rested) = host.patiently(wait, rested(&host.app, &execution)).await {
            rested?;
        }
        let row = host.app.row(&execution).await?;
        if let Some(report) = host.app.parked(&row).await?
            && !is_called(&host.app, &execution).await?
        {
            return Err(report.into());
        }
        let mut outcome = None;
        if row.status.is_terminal() {
            let last = host.app.log(&execution, row.next.saturating_sub(1), 1).await?;
            outcome = last.first().and_then(|last| last.event.ends());
        }
        answer(&Ended { execution, status: row.status.name(), outcome })
    }
}

impl Verb for args::Gates {
    const NAME: &'static str = "gates";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/gates");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[Code::InvalidId];
    type Answer = view::Gates;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let (limit, execution) = (page(self.limit), self.execution.as_deref().map(id).transpose()?);
        let gates = host.app.gates(execution.as_ref()).await?;
        let mut gates = view::unanswered(&host.app, gates, limit).await?;
        let more = gates.len() > limit;
        gates.truncate(limit);
        answer(&view::Gates { gates: gates.iter().map(|gate| view::Gate::of(gate, &[])).collect(), more })
    }
}

impl Verb for args::Resume {
    const NAME: &'static str = "resume";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/gates/{gate}");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[
        Code::UnknownExecution,
        Code::UnknownGate,
        Code::InvalidId,
        Code::InvalidPayload,
        Code::GateRepetition,
        Code::AlreadyAnswered,
        Code::GateClosed,
        Code::AlreadyEnded,
    ];
    type Answer = view::Execution;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let address = format!("{}/{}", self.execution, self.gate).parse()?;
        host.app.resume(&address, Payload::from_value(&self.answer), &self.by).await?;
        standing(host, &address.execution).await
    }
}

impl Verb for args::Message {
    const NAME: &'static str = "send";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/messages");
    const WRITES: bool = true;
    const CODES: &'static [Code] =
        &[Code::UnknownExecution, Code::InvalidId, Code::InvalidPayload, Code::KeyReused, Code::AlreadyEnded];
    type Answer = BTreeMap<String, Value>;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let mut message = host.app.send(&id(&self.execution)?, &self.topic, &self.body).by(self.by);
        if let Some(key) = self.key {
            message = message.key(key);
        }
        if self.early {
            message = message.early();
        }
        message.await?;
        answer(&BTreeMap::<String, Value>::new())
    }
}

/// What the flow replied.
#[derive(Serialize, JsonSchema)]
pub(super) struct Replied {
    #[schemars(with = "Value")]
    reply: Payload,
}

impl Verb for args::Update {
    const NAME: &'static str = "update";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/updates");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[
        Code::UnknownExecution,
        Code::InvalidId,
        Code::InvalidPayload,
        Code::KeyReused,
        Code::AlreadyEnded,
        Code::UpdateRejected,
        Code::UpdateNotTaken,
        Code::NoReplyYet,
    ];
    type Answer = Replied;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let wait = seconds(self.wait.unwrap_or(LONGEST_WAIT));
        let key = self.key.unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
        let message = host.app.send(&id(&self.execution)?, &self.topic, &self.body).by(self.by);
        let update = host.app.update::<Payload>(message.key(&key));
        match host.patiently(wait, update).await {
            Some(reply) => answer(&Replied { reply: reply? }),
            None => {
                let detail = format!(
                    "`{}` has not replied within {} s: send the same update under its `key` to wait on",
                    self.execution,
                    wait.as_secs()
                );
                Err(Problem { key: Some(key), ..Problem::new(Code::NoReplyYet, detail) })
            }
        }
    }
}

impl Verb for args::Cancel {
    const NAME: &'static str = "cancel";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/cancel");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::InvalidId, Code::AlreadyEnded];
    type Answer = view::Execution;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let id = id(&self.execution)?;
        if self.force {
            host.app.kill(&id, &self.reason, &self.by).await?;
        } else {
            host.app.cancel(&id, &self.reason, &self.by).await?;
        }
        standing(host, &id).await
    }
}

impl Verb for args::Judge {
    const NAME: &'static str = "judge";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/verdicts/{frame}");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[
        Code::UnknownExecution,
        Code::InvalidId,
        Code::InvalidPayload,
        Code::NotInDoubt,
        Code::AlreadyJudged,
        Code::AlreadyEnded,
    ];
    type Answer = view::Execution;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let (id, frame) = (id(&self.execution)?, FrameId::parsed(&self.frame));
        let verdict = match &self.verdict {
            args::Verdict::Done(result) => machine::Verdict::Done(Payload::from_value(result)),
            args::Verdict::Again => machine::Verdict::Again,
            args::Verdict::GiveUp => machine::Verdict::GiveUp,
        };
        host.app.judge(&id, &frame, verdict, &self.by).await?;
        standing(host, &id).await
    }
}

impl Verb for args::Retry {
    const NAME: &'static str = "retry";
    const ROUTE: (Method, &'static str) = (Method::Post, "/v1/executions/{execution}/retry");
    const WRITES: bool = true;
    const CODES: &'static [Code] = &[Code::UnknownExecution, Code::InvalidId, Code::NotParked];
    type Answer = view::Execution;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let id = id(&self.execution)?;
        host.app.retry(&id).await?;
        standing(host, &id).await
    }
}

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
pub(super) struct Simulated {
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

/// The flows of a program.
#[derive(Serialize, JsonSchema)]
pub(super) struct FlowList {
    /// In order of their names.
    flows: Vec<FlowInfo>,
}

/// A flow: its name, its doc, and the JSON Schemas of what it takes, returns, fails with and asks.
#[derive(Serialize, JsonSchema)]
struct FlowInfo {
    name: &'static str,
    doc: &'static str,
    input: Value,
    output: Value,
    error: Value,
    gates: BTreeMap<&'static str, Value>,
}

impl Verb for args::Flows {
    const NAME: &'static str = "flows";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/flows");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[];
    type Answer = FlowList;

    async fn call(self, host: &Host) -> Result<Box<RawValue>, Problem> {
        let flows = host.app.registry().flows().map(|flow| FlowInfo {
            name: flow.name,
            doc: flow.doc,
            input: (flow.input)().into(),
            output: (flow.output)().into(),
            error: (flow.error)().into(),
            gates: flow.gates.iter().map(|gate| (gate.name, (gate.schema)().into())).collect(),
        });
        answer(&FlowList { flows: flows.collect() })
    }
}

/// What this wire is.
#[derive(Serialize, JsonSchema)]
pub(super) struct AbiInfo {
    /// The version of the wire, `major.minor`: a minor one only adds.
    abi: &'static str,
    /// The newest schema of events that this program reads and writes.
    event_schema: u16,
    /// The methods of JSON-RPC.
    methods: Vec<String>,
    /// The codes of problems, with their HTTP status and their number in JSON-RPC.
    codes: Vec<CodeInfo>,
}

#[derive(Serialize, JsonSchema)]
struct CodeInfo {
    code: &'static str,
    status: u16,
    rpc: i64,
    meaning: &'static str,
}

impl Verb for args::Abi {
    const NAME: &'static str = "abi";
    const ROUTE: (Method, &'static str) = (Method::Get, "/v1/abi");
    const WRITES: bool = false;
    const CODES: &'static [Code] = &[];
    type Answer = AbiInfo;

    async fn call(self, _: &Host) -> Result<Box<RawValue>, Problem> {
        let codes = Code::ALL.iter().map(|code| CodeInfo {
            code: code.name(),
            status: code.status(),
            rpc: code.rpc(),
            meaning: code.meaning(),
        });
        let methods = route::VERBS.iter().map(|route| format!("loom.{}", route.name)).collect();
        answer(&AbiInfo { abi: ABI, event_schema: EVENT_SCHEMA, methods, codes: codes.collect() })
    }
}
