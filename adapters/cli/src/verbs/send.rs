//! `send`, `update`: tell an execution something on a topic; `update` prints what the flow replies.
//! Not answers to gates: that is `resume`.

use loom_runtime::{ExecutionId, SendError, SendMessage, Status, UpdateError, kernel::Payload, view::Look};
use serde::Serialize;

use super::Verbs;
use crate::{
    args::{Message, Told, Update},
    error::CliError,
    exit::Exit,
    input,
    render::{
        execution::missing_flow,
        schema::hint,
        shell::{answer, command, tell},
    },
    rest::{PATIENCE, Rest, rest},
};

/// What is about to be sent, to whom and by whom.
struct Sending {
    id: ExecutionId,
    message: SendMessage,
    by: String,
    body: Payload,
}

/// What `update --json` prints.
#[derive(Debug, Serialize)]
struct Reply<'a> {
    execution: &'a ExecutionId,
    topic: &'a str,
    reply: Payload,
}

impl Verbs<'_> {
    pub(super) async fn send(&mut self, args: Message) -> Result<Exit, CliError> {
        let Message { told, detach } = args;
        let Sending { id, message, by, .. } = self.message(&told)?;
        if let Err(error) = message.await {
            return Err(self.with_topics(error, &id, "send"));
        }
        if detach.set {
            return self.hand_over(&id, &format!("{} sent to {id} by {by}", told.topic)).await;
        }
        Ok(self.run_on(&id).await?.0)
    }

    pub(super) async fn update(&mut self, args: Update) -> Result<Exit, CliError> {
        let told = args.told;
        let Sending { id, message, by, body } = self.message(&told)?;
        let (app, quiet) = (self.app, self.json);
        let sent = match app.send_update(message).await {
            Ok(sent) => sent,
            Err(error) => return Err(self.with_topics(error, &id, "update")),
        };
        let row = app.row(&id).await?;
        if self.lacks_flow(&row) {
            // Nothing comes of waiting for it here.
            self.hand_over(&id, &missing_flow(&row.flow, "recorded")).await?;
            return Ok(Exit::Waits);
        }
        let reply = tokio::select! {
            biased;
            reply = sent.reply() => Some(reply),
            rested = rest(app, &id, self.console, quiet) => match rested? {
                Rest::At(_) => sent.look().await.transpose(),
                Rest::Interrupted => return Ok(self.stop(&id).await?.0),
            },
        };
        let Some(reply) = reply else { return self.without_reply(&id, &told, &by, &body).await };
        let accepted = self.print_reply(&id, &told.topic, reply);
        // What it goes on with at once here is not cut short. But a timer is not sat out, and nothing that this comes to
        // changes what was replied: not a store that fails, and not a signal.
        let lease = app.row(&id).await.ok().and_then(|row| row.lease);
        if lease.is_some_and(|lease| lease.worker == app.worker()) {
            tokio::select! {
                _ = tokio::time::timeout(PATIENCE, app.until(&id, &[Status::Suspended, Status::Parked])) => {}
                () = self.console.stop.asked() => {}
            }
        }
        accepted.map(|()| Exit::Done)
    }

    /// What the command line says, about to be sent.
    fn message(&mut self, told: &Told) -> Result<Sending, CliError> {
        let (id, body) =
            (self.execution(&told.execution)?, input::word(self.console, "message", &told.body)?);
        let by = self.by(told.by.clone());
        let message = self.app.send(&id, &told.topic, &body).by(by.as_str()).checked();
        let message = match &told.key {
            Some(key) => message.key(key.as_str()),
            None => message,
        };
        Ok(Sending { id, message, by, body })
    }

    fn print_reply(
        &mut self,
        id: &ExecutionId,
        topic: &str,
        reply: Result<Payload, UpdateError>,
    ) -> Result<(), CliError> {
        let reply = reply?;
        if self.json {
            return self.print_json(&Reply { execution: id, topic, reply });
        }
        self.console.line(reply.as_str());
        Ok(())
    }

    /// The execution rests, and has not replied: the update is still in its inbox, or the flow waits for something else
    /// before it replies.
    async fn without_reply(
        &mut self,
        id: &ExecutionId,
        told: &Told,
        by: &str,
        body: &Payload,
    ) -> Result<Exit, CliError> {
        let (exit, _) = self.run_on(id).await?;
        let received = Look::at(self.app, id).await?.folded.received;
        let is_taken = received.iter().any(|one| {
            let is_open = one.expects_reply && one.reply.is_none() && one.dead_letter.is_none();
            is_open && one.topic == told.topic && one.by == by && one.body == *body
        });
        let again = match &told.key {
            Some(key) => {
                let words = [id.as_str(), &told.topic, &told.body];
                command(&[&self.console.program, "update"], &words, &["--key", key])
            }
            None => "the next time with `--key`, the reply can be asked for again".to_owned(),
        };
        let stands = match is_taken {
            true => "was taken, and the flow has not replied yet",
            false => "was sent, and is not taken yet: it waits in the inbox",
        };
        self.note(&format!("the update {stands}\n  {again}"));
        Ok(exit)
    }

    /// Adds what the flow takes to an error that says it does not take this.
    fn with_topics(&self, error: SendError, id: &ExecutionId, verb: &str) -> CliError {
        let program = self.console.program.as_str();
        let (flow, topic) = match &error {
            SendError::UnknownTopic { flow, topic, .. } | SendError::Misfit { flow, topic, .. } => {
                (self.app.registry().flow(flow), topic.clone())
            }
            _ => return error.into(),
        };
        let all = matches!(error, SendError::UnknownTopic { .. });
        let told = CliError::from(error);
        let Some(flow) = flow else { return told };
        if let Some((_, gate)) = flow.all_gates().into_iter().find(|(frame, _)| *frame == topic) {
            let command = answer(program, &format!("{id}/{topic}"), &gate.answer.schema().to_value());
            return told.help(format!("`{topic}` is a gate, which is answered:\n  {command}"));
        }
        let wanted = flow.all_messages().into_iter().filter(|message| all || message.name == topic);
        wanted.fold(told, |told, message| {
            let schema = message.body.schema().to_value();
            let command = tell(program, verb, id.as_str(), message.name, &schema);
            told.help(format!("`{}` takes {}:\n  {command}", message.name, hint(&schema)))
        })
    }
}
