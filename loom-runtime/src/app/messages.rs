//! Messages and updates to executions from outside.
//! Not their taking: a flow does that, with `ctx.receive(..)`.

use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    time::Duration,
};

use kernel::{Envelope, Event, ExecutionId, InvalidPayload, Message, Payload, Reply, Status, Timestamp};
use serde::{Serialize, de::DeserializeOwned};

use super::{App, Handle, answer::listed};
use crate::{
    inbox_item::Item,
    ports::{Posted, StoreError},
};

/// Why a message was not taken. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The message cannot be sent: it is no JSON, or too large.
    #[error("the message cannot be sent: {reason}")]
    Invalid {
        /// What is wrong.
        reason: String,
    },
    /// The flow waits for nothing on this topic. Only of [`SendMessage::checked`].
    #[error("no such topic: flow `{flow}` of execution `{execution}` never waits for messages on `{topic}`; it waits for: {known}", known = listed(.topics.iter().map(String::as_str)))]
    UnknownTopic {
        /// To whom.
        execution: ExecutionId,
        /// Its flow.
        flow: String,
        /// The topic.
        topic: String,
        /// The topics that it and its parts wait for.
        topics: Vec<String>,
    },
    /// The message does not fit its topic. Only of [`SendMessage::checked`].
    #[error("the message does not fit topic `{topic}` of flow `{flow}`: {reason}")]
    Misfit {
        /// The flow.
        flow: String,
        /// The topic.
        topic: String,
        /// What is wrong, and where; never the value.
        reason: String,
    },
    /// Another message was sent under this key.
    #[error(
        "the key {key:?} was used before on `{execution}`, for another message or by another sender: a key names one message of one sender"
    )]
    KeyReused {
        /// To whom.
        execution: ExecutionId,
        /// The key.
        key: String,
    },
    /// The store refused (the execution is unknown, or has ended) or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an update has no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The flow refused it, or could not read it.
    #[error("the update was rejected: {reason}")]
    Rejected {
        /// Why, as the flow says it.
        reason: String,
    },
    /// The execution ended before it took the update: it was not done.
    #[error("execution `{execution}` has {status} without taking the update", status = .status.past())]
    Ended {
        /// The execution.
        execution: ExecutionId,
        /// How it ended.
        status: Status,
    },
    /// The reply does not have the expected type.
    #[error("the reply does not read as {ty}: {reason}")]
    Undecodable {
        /// The type.
        ty: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// It was not sent.
    #[error(transparent)]
    NotSent(#[from] SendError),
}

impl From<StoreError> for UpdateError {
    fn from(error: StoreError) -> Self {
        Self::NotSent(error.into())
    }
}

/// A message that is being put together; `.await` sends it.
#[must_use = "nothing is sent until it is awaited"]
pub struct SendMessage {
    app: App,
    to: ExecutionId,
    topic: String,
    body: Result<Payload, InvalidPayload>,
    by: String,
    key: Option<String>,
    early: bool,
    checked: bool,
}

impl App {
    /// Sends a message to an execution: `app.send(&id, "jobs", &job).await?`. It waits in the inbox, behind those that
    /// came before it on its topic, until the flow takes it with `ctx.receive("jobs")`; through restarts and new runs.
    ///
    /// Nothing is looked up about the topic, unless [`SendMessage::checked`]: what nobody waits for, or can read, becomes a
    /// dead letter in time.
    ///
    /// # Errors
    /// See [`SendError`]: there is no such execution (unless [`SendMessage::early`]), or it has ended.
    pub fn send<T: Serialize + ?Sized>(&self, to: &ExecutionId, topic: &str, body: &T) -> SendMessage {
        SendMessage {
            app: self.clone(),
            to: to.clone(),
            topic: topic.into(),
            body: Payload::encode(body),
            by: "unknown".into(),
            key: None,
            early: false,
            checked: false,
        }
    }

    /// Forgets what was sent [early](SendMessage::early) longer ago than `age` to executions that still do not exist, and
    /// answers how much that is. With `rehearsal`, it only counts. Nothing does so by itself: an id that was misspelt keeps
    /// its messages for ever. Choose an age within which whatever is to be started has been. A fork that waits for a child
    /// which its origin is still to start asks again when it is taken up.
    ///
    /// # Errors
    /// The store fails.
    pub async fn prune_early(&self, age: Duration, rehearsal: bool) -> Result<u64, StoreError> {
        let age = i64::try_from(age.as_micros()).unwrap_or(i64::MAX);
        let now = self.engine.clock.now().as_micros();
        self.engine.store.prune_early(Timestamp::from_micros(now.saturating_sub(age)), rehearsal).await
    }
}

impl SendMessage {
    /// Who sends it.
    pub fn by(mut self, sender: impl Into<String>) -> Self {
        self.by = sender.into();
        self
    }

    /// A key of the sender's: sent again under it, the message is taken once.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Keeps the message for an execution that does not exist yet, until it is started; or until somebody has the messages
    /// forgotten that have waited too long ([`App::prune_early`]): its sender was told that it is held, and is told no more.
    pub fn early(mut self) -> Self {
        self.early = true;
        self
    }

    /// Holds the message to what the flow of this program says of itself ([`FlowDescriptor::all_messages`]): its topic is
    /// one that the flow waits for, and it fits the schema and reads as the flow's type. For people, who mistype; a
    /// program that is newer or older than the one which runs the flow may be wrong about it. Nothing is held to a flow
    /// that this program does not have, nor to an execution that there is not or that has ended, which the store tells.
    ///
    /// ```
    /// # use loom_runtime::SendError;
    /// # async fn nudge(app: loom_runtime::App, id: loom_runtime::ExecutionId) -> Result<(), SendError> {
    /// app.send(&id, "deposit", &30).by("ada").checked().await
    /// # }
    /// ```
    ///
    /// [`FlowDescriptor::all_messages`]: crate::FlowDescriptor::all_messages
    pub fn checked(mut self) -> Self {
        self.checked = true;
        self
    }

    /// Whether the flow takes it, as far as this program knows.
    async fn check(&self, body: &Payload) -> Result<(), SendError> {
        let Some(row) = self.app.engine.store.get(&self.to).await?.filter(|row| !row.status.is_terminal())
        else {
            return Ok(());
        };
        let Some(flow) = self.app.registry().flow(&row.flow) else { return Ok(()) };
        let (messages, topic) = (flow.all_messages(), self.topic.clone());
        let Some(known) = messages.iter().find(|message| message.name == topic) else {
            let topics = messages.iter().map(|message| message.name.to_owned()).collect();
            return Err(SendError::UnknownTopic { execution: row.id, flow: row.flow, topic, topics });
        };
        known.body.check(body).map_err(|reason| SendError::Misfit { flow: row.flow, topic, reason })
    }

    async fn send(self, reply_to: Option<String>) -> Result<Posted, SendError> {
        if let (true, Ok(body)) = (self.checked, &self.body) {
            self.check(body).await?;
        }
        let Self { app, to, topic, body, by, key, early, checked: _ } = self;
        let body = body.map_err(|e| SendError::Invalid { reason: e.0 })?;
        app.engine.limits.check_given(&body).map_err(|reason| SendError::Invalid { reason })?;
        let post_key = key.as_ref().map(|key| format!("message:{key}"));
        let item = Item::Message(Message { topic, body, by, reply_to });
        let mut item = item.into_new(&to, post_key, app.engine.clock.now());
        item.early = early;
        let posted = app.engine.store.post(item).await?;
        app.engine.arrived(&to);
        match (posted, key) {
            (Posted::Duplicate { same: false }, Some(key)) => {
                Err(SendError::KeyReused { execution: to, key })
            }
            (posted, _) => Ok(posted),
        }
    }
}

impl IntoFuture for SendMessage {
    type Output = Result<(), SendError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.send(None).await.map(drop) })
    }
}

/// An update that was sent: its reply can be waited for, or looked for.
pub struct SentUpdate {
    app: App,
    to: ExecutionId,
    reply_to: String,
    /// Where in the log a reply can be.
    from: u64,
    /// Whether it was sent before, and may have been answered by an event that the log no longer holds.
    is_old: bool,
}

impl App {
    /// Asks an execution for something, and waits for its reply, for as long as it takes: the flow takes the update with
    /// `ctx.receive("topic").update()`, and accepts or rejects it. With a [`SendMessage::key`], asked again after a lost
    /// answer, it is done once and gets the same reply; one that was archived meanwhile is found in the program's archive.
    ///
    /// # Errors
    /// See [`UpdateError`]: an update is never lost silently, at the execution's end either. [`StoreError::Archived`] when
    /// it may have been answered before, and the program has no archive to look in.
    pub async fn update<R: DeserializeOwned>(&self, update: SendMessage) -> Result<R, UpdateError> {
        self.send_update(update).await?.reply().await
    }

    /// Sends an update as [`App::update`] does, and leaves the waiting for its reply to the caller.
    ///
    /// # Errors
    /// It was not sent: see [`SendError`].
    pub async fn send_update(&self, update: SendMessage) -> Result<SentUpdate, SendError> {
        let to = update.to.clone();
        let reply_to = update.key.clone().unwrap_or_else(|| self.engine.entropy.uuid().to_string());
        let has_key = update.key.is_some();
        let row = self.engine.store.get(&to).await?;
        if row.is_none() && !has_key {
            return Err(StoreError::Unknown(to).into());
        }
        let sent_before = match update.send(Some(reply_to.clone())).await {
            Ok(posted) => matches!(posted, Posted::Duplicate { .. }),
            // One that was sent before may have its reply.
            Err(SendError::Store(StoreError::Terminal { .. })) => true,
            Err(error) => return Err(error),
        };
        // The reply may be there already, if it was asked for before: the log is read from its start.
        let from = row.map_or(0, |row| if has_key { row.first } else { row.next });
        let is_old = has_key && sent_before && from > 0;
        Ok(SentUpdate { app: self.clone(), to, reply_to, from, is_old })
    }
}

impl SentUpdate {
    /// Waits for the reply, for as long as it takes.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub async fn reply<R: DeserializeOwned>(&self) -> Result<R, UpdateError> {
        if let Some(reply) = self.archived().await? {
            return reply;
        }
        let mut events = self.app.events(&self.to, self.from);
        while let Some(envelope) = events.next().await {
            match envelope {
                Err(StoreError::Unavailable(_)) => {}
                Err(error) => return Err(error.into()),
                Ok(envelope) => {
                    if let Some(reply) = self.reply_in(envelope.event) {
                        return reply;
                    }
                }
            }
        }
        Err(self.never_taken(self.app.row(&self.to).await?.status))
    }

    /// The reply, if the log has it by now.
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub async fn look<R: DeserializeOwned>(&self) -> Result<Option<R>, UpdateError> {
        const PAGE: usize = 500;
        if let Some(reply) = self.archived().await? {
            return reply.map(Some);
        }
        // Before the log is read: it may end meanwhile.
        let status = self.app.row(&self.to).await?.status;
        let mut from = self.from;
        loop {
            let page = self.app.log(&self.to, from, PAGE).await?;
            let Some(last) = page.last() else { break };
            from = last.sequence + 1;
            if let Some(reply) = page.into_iter().find_map(|envelope| self.reply_in(envelope.event)) {
                return reply.map(Some);
            }
        }
        if status.is_terminal() {
            return Err(self.never_taken(status));
        }
        Ok(None)
    }

    /// The reply, if it is among the events that were moved to the program's archive.
    async fn archived<R: DeserializeOwned>(&self) -> Result<Option<Result<R, UpdateError>>, UpdateError> {
        if !self.is_old {
            return Ok(None);
        }
        let kept =
            self.app.archived(&self.to).await.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let records = kept.map(|log| log.records).unwrap_or_default();
        let events = records.iter().filter_map(|record| Envelope::decode(&self.to, record).ok());
        Ok(events.into_iter().find_map(|envelope| self.reply_in(envelope.event)))
    }

    /// There is no reply in the log, which has ended. What it says nothing of any more may have had one.
    fn never_taken(&self, status: Status) -> UpdateError {
        let execution = self.to.clone();
        match self.is_old && self.app.archive().is_none() {
            true => StoreError::Archived { execution, first: self.from }.into(),
            false => UpdateError::Ended { execution, status },
        }
    }

    /// What an event says of this update.
    fn reply_in<R: DeserializeOwned>(&self, event: Event) -> Option<Result<R, UpdateError>> {
        match event {
            Event::UpdateAnswered(e) if e.reply_to == self.reply_to => Some(match e.reply {
                Reply::Rejected(reason) => Err(UpdateError::Rejected { reason }),
                Reply::Accepted(reply) => reply.decode().map_err(|reason| UpdateError::Undecodable {
                    ty: std::any::type_name::<R>(),
                    reason: reason.0,
                }),
            }),
            Event::MessageDeadLettered(e) if e.message.reply_to.as_ref() == Some(&self.reply_to) => {
                Some(Err(UpdateError::Rejected { reason: e.reason }))
            }
            _ => None,
        }
    }
}

impl<F> Handle<F> {
    /// Sends it a message; see [`App::send`].
    pub fn send<T: Serialize + ?Sized>(&self, topic: &str, body: &T) -> SendMessage {
        self.app().send(self.id(), topic, body)
    }

    /// Asks it for something, and waits for the reply; see [`App::update`].
    ///
    /// # Errors
    /// See [`UpdateError`].
    pub async fn update<T: Serialize + ?Sized, R: DeserializeOwned>(
        &self,
        topic: &str,
        body: &T,
    ) -> Result<R, UpdateError> {
        self.app().update(self.send(topic, body)).await
    }
}
