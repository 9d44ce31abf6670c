//! What executions are told: answers, messages, updates, cancels, verdicts; and the gates that ask for it.
//! Not how they take it.

use std::collections::BTreeMap;

use loom_runtime::{
    FrameId,
    kernel::{Payload, machine},
    view,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, value::RawValue};

use super::{Host, LONGEST_WAIT, Verb, answer, id, page, seconds, standing};
use crate::{Code, Problem, args, server::method::Method};

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
        let more = limit > 0 && gates.len() > limit;
        if more {
            gates.truncate(limit);
        }
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
        let mut message = host.app.send(&id(&self.execution)?, &self.topic, &self.body).by(self.by).checked();
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
pub(crate) struct Replied {
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
        Code::UnknownTopic,
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
        let message = host.app.send(&id(&self.execution)?, &self.topic, &self.body).by(self.by).checked();
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
        match self.attempt {
            Some(attempt) => host.app.judge_attempt(&id, &frame, attempt, verdict, &self.by).await?,
            None => host.app.judge(&id, &frame, verdict, &self.by).await?,
        }
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
