//! Group commit: what is asked while a transaction runs goes into the next one, and is answered after its commit.
//! Not the rules of any port: each kind of question has its own file.

use std::time::Duration;

use loom_runtime::{kernel::ExecutionId, ports::StoreError};
use sqlx::{Connection, PgConnection};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

use crate::{
    error,
    link::{Link, answered},
    row, shard,
};

/// Questions that may wait before callers have to.
const WAITING: usize = 1_024;
/// Questions in one transaction.
const GROUP: usize = 512;
/// Rows in one transaction, from which on it takes no further question.
const GROUP_ROWS: usize = 4_096;
/// A connection that nobody needs for so long is given back to the server.
const IDLE: Duration = Duration::from_secs(60);

/// A kind of question that is answered in groups.
pub(crate) trait Kind: Send + 'static {
    /// What is asked.
    type Question: Send + Sync;
    /// What comes back.
    type Answer: Send;

    /// How many rows it brings, about.
    fn rows(question: &Self::Question) -> usize;

    /// Whom it is about, for errors.
    fn subject(question: &Self::Question) -> &ExecutionId;

    /// Answers every question, in order, inside a transaction. Asked again, after a commit of which nobody knows
    /// whether it happened, it answers as if it had not been asked before.
    fn apply(
        transaction: &mut PgConnection,
        questions: &[Self::Question],
    ) -> impl Future<Output = sqlx::Result<Answers<Self::Answer>>> + Send;
}

pub(crate) type Answers<A> = Vec<Result<A, StoreError>>;

type Reply<A> = oneshot::Sender<Result<A, StoreError>>;

/// Where questions of one kind go. Clones share it; when the last one is gone, what was asked is still written.
#[derive(Debug)]
pub(crate) struct Queue<K: Kind>(mpsc::Sender<Asked<K>>);

impl<K: Kind> Clone for Queue<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

enum Asked<K: Kind> {
    Question(K::Question, Reply<K::Answer>),
    /// Take no more, write what waits, then answer.
    Close(oneshot::Sender<()>),
}

impl<K: Kind> Queue<K> {
    /// Starts the task that answers.
    pub(crate) fn new(link: &Link) -> Self {
        let (asking, asked) = mpsc::channel(WAITING);
        let lane = Lane::<K> { link: link.clone(), connection: None, asked };
        tokio::spawn(lane.run());
        Self(asking)
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&self, question: K::Question) -> Result<K::Answer, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.0.send(Asked::Question(question, reply)).await.map_err(|_| error::closed())?;
        answer.await.map_err(|_| error::closed())?
    }

    /// Waits until everything that was asked is written, and ends the task.
    pub(crate) async fn close(&self) {
        let (reply, closed) = oneshot::channel();
        if self.0.send(Asked::Close(reply)).await.is_ok() {
            // An error means that it is closed already.
            drop(closed.await);
        }
    }
}

/// Questions of one transaction, and where their answers go.
struct Group<K: Kind> {
    questions: Vec<K::Question>,
    replies: Vec<Reply<K::Answer>>,
    rows: usize,
}

/// One task with one connection.
struct Lane<K: Kind> {
    link: Link,
    /// None before the first question, after a failure, and when nobody has asked for long.
    connection: Option<PgConnection>,
    asked: mpsc::Receiver<Asked<K>>,
}

impl<K: Kind> Lane<K> {
    async fn run(mut self) {
        let mut closing = Vec::new();
        loop {
            let first = match tokio::time::timeout(IDLE, self.asked.recv()).await {
                Ok(Some(first)) => first,
                Ok(None) => break,
                Err(_) => {
                    self.hang_up().await;
                    continue;
                }
            };
            // Whoever was answered by the last commit gets to ask again before the next one starts.
            tokio::task::yield_now().await;
            let mut group = Group { questions: Vec::new(), replies: Vec::new(), rows: 0 };
            group.take(first, &mut closing);
            while group.has_room()
                && let Ok(next) = self.asked.try_recv()
            {
                group.take(next, &mut closing);
            }
            if !closing.is_empty() {
                self.asked.close();
            }
            self.answer(group).await;
        }
        self.hang_up().await;
        for reply in closing {
            // Whoever asked may have gone.
            let _ = reply.send(());
        }
    }

    async fn hang_up(&mut self) {
        if let Some(connection) = self.connection.take()
            && let Err(error) = connection.close().await
        {
            tracing::debug!(%error, "a connection was not closed cleanly; nothing is lost");
        }
    }

    async fn answer(&mut self, group: Group<K>) {
        if group.questions.is_empty() {
            return;
        }
        match self.attempt(&group.questions).await {
            Ok(answers) => group.reply(answers),
            // One that cannot be answered must not fail the others: find it by asking each alone.
            Err(error) if group.questions.len() > 1 && error::is_of_one(&error) => {
                for single in group.split() {
                    match self.attempt(&single.questions).await {
                        Ok(answers) => single.reply(answers),
                        Err(error) => single.refuse(&error),
                    }
                }
            }
            Err(error) => group.refuse(&error),
        }
    }

    /// Asks until there is an answer, or for as long as the link is patient.
    async fn attempt(&mut self, questions: &[K::Question]) -> sqlx::Result<Answers<K::Answer>> {
        let started = Instant::now();
        loop {
            match answered(self.transact(questions)).await {
                Ok(answers) => {
                    let ms = started.elapsed().as_secs_f64() * 1_000.0;
                    tracing::trace!(questions = questions.len(), ms, "committed");
                    return Ok(answers);
                }
                Err(error) => {
                    // Dropping the connection rolls back, unless the commit is under way already. Whoever asks
                    // again waits for that: its rows are locked.
                    self.connection = None;
                    if !self.link.tries_again(&error, started).await {
                        return Err(error);
                    }
                }
            }
        }
    }

    async fn transact(&mut self, questions: &[K::Question]) -> sqlx::Result<Answers<K::Answer>> {
        let connection = match &mut self.connection {
            Some(connection) => connection,
            none => none.insert(self.link.connect().await?),
        };
        let mut transaction = connection.begin().await?;
        let mut answers = K::apply(&mut transaction, questions).await?;
        // What is refused may be somewhere else: nothing is written then, and the server has not looked.
        if answers.iter().any(Result::is_err) {
            let ids: Vec<&str> = questions.iter().map(|question| K::subject(question).as_str()).collect();
            let elsewhere = shard::elsewhere(&mut transaction, &ids).await?;
            for (answer, question) in answers.iter_mut().zip(questions).filter(|(answer, _)| answer.is_err())
            {
                if elsewhere.contains(K::subject(question).as_str()) {
                    *answer = Err(StoreError::Elsewhere(K::subject(question).clone()));
                }
            }
        }
        transaction.commit().await?;
        Ok(answers)
    }
}

impl<K: Kind> Group<K> {
    fn take(&mut self, asked: Asked<K>, closing: &mut Vec<oneshot::Sender<()>>) {
        match asked {
            Asked::Question(question, reply) => {
                self.rows += K::rows(&question);
                self.questions.push(question);
                self.replies.push(reply);
            }
            Asked::Close(reply) => closing.push(reply),
        }
    }

    fn has_room(&self) -> bool {
        self.questions.len() < GROUP && self.rows < GROUP_ROWS
    }

    fn reply(self, answers: Answers<K::Answer>) {
        // A caller that has gone needs no answer: the batch id will tell it, should it ask again.
        self.replies.into_iter().zip(answers).for_each(|(reply, answer)| drop(reply.send(answer)));
    }

    fn refuse(self, error: &sqlx::Error) {
        for (question, reply) in self.questions.iter().zip(self.replies) {
            let refusal = match error::is_of_data(error) {
                _ if error::is_elsewhere(error) => StoreError::Elsewhere(K::subject(question).clone()),
                true => row::corrupt(K::subject(question).as_str(), &error::text(error)),
                false => error::unavailable(error),
            };
            drop(reply.send(Err(refusal)));
        }
    }

    fn split(self) -> impl Iterator<Item = Self> {
        self.questions.into_iter().zip(self.replies).map(|(question, reply)| Self {
            questions: vec![question],
            replies: vec![reply],
            rows: 0,
        })
    }
}
