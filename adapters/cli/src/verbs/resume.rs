//! `resume`: answers a gate, and runs its execution on until it rests.
//! Not for timers and retries: those need a worker, and nobody's word.

use loom_runtime::{AnswerError, ExecutionId, GateAddress, MessageDescriptor, view::pending};

use super::Verbs;
use crate::{
    args::Resume,
    error::CliError,
    exit::Exit,
    input,
    render::{
        schema::hint,
        shell::{answer, tell},
    },
};

impl Verbs<'_> {
    pub(super) async fn resume(&mut self, args: Resume) -> Result<Exit, CliError> {
        // `order-7/manager` or `order-7 manager`, and then maybe the answer.
        let mut rest = args.rest.iter();
        let address = match args.gate.contains('/') {
            true => args.gate.clone(),
            false => rest.next().map_or(args.gate.clone(), |gate| format!("{}/{gate}", args.gate)),
        };
        let gate: GateAddress = match address.parse() {
            Ok(gate) => gate,
            Err(error) => return Err(self.with_gates(CliError::from(error), &address).await),
        };
        let answer = match (rest.next(), &args.answer, &args.answer_file) {
            (Some(json), None, None) => input::word(self.console, "answer", json)?,
            (None, Some(json), _) => input::argument("answer", json)?,
            (None, None, Some(path)) => input::file(self.console, path)?,
            (None, None, None) => {
                let error = CliError::usage("an answer is needed, as the last word or with `--answer-file`");
                return Err(self.with_gates(error, &address).await);
            }
            (Some(_), ..) => {
                return Err(CliError::usage("an answer is given once: as a word or as an option"));
            }
        };
        if rest.next().is_some() {
            return Err(CliError::usage("expected a gate and an answer, and found one word more"));
        }
        let by = self.by(args.by);
        if let Err(error) = self.app.resume(&gate, answer, &by).await {
            let lists = matches!(
                error,
                AnswerError::UnknownGate { .. }
                    | AnswerError::Repetition { .. }
                    | AnswerError::Invalid { .. }
            );
            let error = CliError::from(error);
            return Err(if lists { self.with_gates(error, &address).await } else { error });
        }
        if args.detach.set {
            return self.hand_over(&gate.execution, &format!("{gate} answered by {by}")).await;
        }
        Ok(self.run_on(&gate.execution).await?.0)
    }

    /// How to send what was meant as an answer: the address may name a topic.
    async fn if_topic(&mut self, id: Option<&ExecutionId>, address: &str) -> Option<String> {
        let (id, (_, frame)) = (id?, address.split_once('/')?);
        let flow = self.app.registry().flow(&self.app.row(id).await.ok()?.flow)?;
        let named = |message: &&MessageDescriptor| frame.split('#').next() == Some(message.name);
        let message = flow.all_messages().into_iter().find(named)?;
        let schema = message.body.schema().to_value();
        let command = tell(&self.console.program, "send", id.as_str(), message.name, &schema);
        Some(format!("`{}` is a topic, it takes {}:\n  {command}", message.name, hint(&schema)))
    }

    /// Adds the open gates of the execution that the address seems to mean.
    async fn with_gates(&mut self, mut error: CliError, address: &str) -> CliError {
        let id: Option<ExecutionId> = address.split('/').next().and_then(|id| id.parse().ok());
        let gates = match &id {
            Some(id) => self.app.gates(Some(id)).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let said = match &id {
            Some(id) => pending(self.app, id).await.unwrap_or_default(),
            None => Vec::new(),
        };
        let open: Vec<_> = gates.iter().filter(|gate| gate.is_asked(&said)).collect();
        for gate in &open {
            let schema = serde_json::from_str(&gate.schema).unwrap_or_default();
            let address = format!("{}/{}", gate.execution, gate.frame);
            error = error.help(format!(
                "open is `{address}`, it expects {}:\n  {}",
                hint(&schema),
                answer(&self.console.program, &address, &schema)
            ));
        }
        if let Some(help) = self.if_topic(id.as_ref(), address).await {
            return error.help(help);
        }
        if open.is_empty() { error.help("`list --gates` prints the gates that are open") } else { error }
    }
}
