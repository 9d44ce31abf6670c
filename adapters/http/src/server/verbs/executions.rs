//! Starting executions and looking at them.
//! Not what they are told: that is `told.rs`.

use std::{collections::BTreeMap, time::Duration};

use loom_runtime::{
    App, ExecutionId, Said, Status,
    kernel::{self, Payload},
    ports::ListFilter,
    view,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{Host, PAGE, Verb, answer, id, page, seconds, standing};
use crate::{
    Code, Problem, args,
    server::{method::Method, route},
};

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
        if let Some(lane) = self.lane {
            start = start.lane(lane);
        }
        let start = start.priority(self.priority);
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
        let asked = if limit == 0 { 0 } else { limit + 1 };
        let filter = ListFilter { statuses: self.status, flow: self.flow, after, limit: asked };
        let mut rows = host.app.list(&filter).await?;
        let more = limit > 0 && rows.len() > limit;
        if more {
            rows.truncate(limit);
        }
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
pub(crate) struct Events<'a> {
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
        let limit = Some(page(self.limit)).filter(|limit| *limit > 0).unwrap_or(PAGE.1);
        let records = host.app.store().read(&id, self.from, limit).await?;
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
pub(crate) struct Ended {
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
