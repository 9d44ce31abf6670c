//! The one task that writes: it puts whatever waits into one transaction, and answers after the commit.
//! Not the rules of any port: each kind of question has its own file.

use std::time::{Duration, Instant};

use loom_runtime::{
    kernel::ExecutionId,
    ports::{
        BranchRow, ClaimRequest, Claimed, Created, NewExecution, NewItem, Posted, Removal, SetBranch,
        StoreError,
    },
};
use sqlx::{
    ConnectOptions, Connection,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use tokio::sync::{mpsc, oneshot};

use crate::{
    append::{self, Transition},
    branch,
    claim::{self, Release, Renewal},
    create, error,
    open::LOCK_POLL,
    post::{self, PruneEarly},
    removal, row,
    script::Transaction,
    shard, snapshot,
};

/// Questions that may wait before callers have to.
pub(crate) const QUEUE: usize = 1_024;
/// Questions in one transaction.
const GROUP: usize = 512;
/// Events in one transaction, from which on it takes no further question.
const GROUP_EVENTS: usize = 4_096;

/// A question, and where its answer goes.
pub(crate) struct Asked<Q, A> {
    pub(crate) question: Q,
    pub(crate) reply: oneshot::Sender<Result<A, StoreError>>,
}

/// What the writer is asked.
pub(crate) enum Request {
    Create(Asked<NewExecution, Created>),
    Append(Asked<Transition, ()>),
    Post(Asked<NewItem, Posted>),
    Claim(Asked<ClaimRequest, Vec<Claimed>>),
    Renew(Asked<Renewal, Vec<(ExecutionId, u64)>>),
    Release(Asked<Release, ()>),
    SetBranch(Asked<SetBranch, BranchRow>),
    Snapshot(Asked<snapshot::Change, ()>),
    PruneEarly(Asked<PruneEarly, u64>),
    Remove(Asked<Removal, bool>),
    Shard(Asked<shard::Change, bool>),
    /// Take no more, write what waits, close the file, then answer.
    Close(oneshot::Sender<()>),
}

/// Questions of one transaction, by kind. They were asked at the same time, so the order of kinds is free;
/// within a kind it is that of asking.
#[derive(Default)]
struct Group {
    creates: Vec<Asked<NewExecution, Created>>,
    posts: Vec<Asked<NewItem, Posted>>,
    appends: Vec<Asked<Transition, ()>>,
    renewals: Vec<Asked<Renewal, Vec<(ExecutionId, u64)>>>,
    releases: Vec<Asked<Release, ()>>,
    claims: Vec<Asked<ClaimRequest, Vec<Claimed>>>,
    branches: Vec<Asked<SetBranch, BranchRow>>,
    snapshots: Vec<Asked<snapshot::Change, ()>>,
    prunings: Vec<Asked<PruneEarly, u64>>,
    removals: Vec<Asked<Removal, bool>>,
    shards: Vec<Asked<shard::Change, bool>>,
    closing: Vec<oneshot::Sender<()>>,
    events: usize,
}

type Answers<A> = Vec<Result<A, StoreError>>;

/// The answers to a group, by kind and in order.
struct Verdicts {
    creates: Answers<Created>,
    posts: Answers<Posted>,
    appends: Answers<()>,
    renewals: Answers<Vec<(ExecutionId, u64)>>,
    releases: Answers<()>,
    claims: Answers<Vec<Claimed>>,
    branches: Answers<BranchRow>,
    snapshots: Answers<()>,
    prunings: Answers<u64>,
    removals: Answers<bool>,
    shards: Answers<bool>,
}

/// The writing end of a file.
pub(crate) struct Writer {
    options: SqliteConnectOptions,
    /// How long another process may hold the lock.
    patience: Duration,
    /// None after a failure: the next group connects anew, which ends whatever was left open.
    connection: Option<SqliteConnection>,
}

impl Writer {
    pub(crate) fn new(
        options: SqliteConnectOptions,
        patience: Duration,
        connection: SqliteConnection,
    ) -> Self {
        Self { options, patience, connection: Some(connection) }
    }

    /// Writes until every handle is gone or one asks to close, and then what still waits.
    pub(crate) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let mut closing = Vec::new();
        while let Some(first) = requests.recv().await {
            // Whoever was answered by the last commit gets to ask again before the next one starts.
            tokio::task::yield_now().await;
            let mut group = Group::default();
            group.take(first);
            while group.has_room()
                && let Ok(next) = requests.try_recv()
            {
                group.take(next);
            }
            if !group.closing.is_empty() {
                requests.close();
                closing.append(&mut group.closing);
            }
            self.write(group).await;
        }
        if let Some(connection) = self.connection
            && let Err(error) = connection.close().await
        {
            tracing::warn!(%error, "the file was not closed cleanly; nothing is lost");
        }
        for reply in closing {
            // Whoever asked may have gone.
            let _ = reply.send(());
        }
    }

    async fn write(&mut self, group: Group) {
        if group.len() == 0 {
            return;
        }
        match self.attempt(&group).await {
            Ok(verdicts) => group.answer(verdicts),
            // One damaged execution must not fail the others: find it by writing each alone.
            Err(error) if group.len() > 1 && (error::is_of_data(&error) || error::is_elsewhere(&error)) => {
                for single in group.split() {
                    match self.attempt(&single).await {
                        Ok(verdicts) => single.answer(verdicts),
                        Err(error) => single.refuse(&error),
                    }
                }
            }
            Err(error) => group.refuse(&error),
        }
    }

    /// Writes a group, as often as it takes while another process holds the lock.
    async fn attempt(&mut self, group: &Group) -> sqlx::Result<Verdicts> {
        let started = Instant::now();
        loop {
            let patient = |error: &sqlx::Error| error::is_busy(error) && started.elapsed() < self.patience;
            let mut connection = match self.connection.take() {
                Some(connection) => connection,
                None => match self.options.connect().await {
                    Ok(connection) => connection,
                    Err(error) if patient(&error) => {
                        tokio::time::sleep(LOCK_POLL).await; // opening does not wait by itself
                        continue;
                    }
                    Err(error) => return Err(error),
                },
            };
            match group.write(&mut connection).await {
                Err(error) if error::is_elsewhere(&error) => {
                    sqlx::raw_sql("ROLLBACK").execute(&mut connection).await?;
                    self.connection = Some(connection);
                    return Err(error);
                }
                Ok(verdicts) => {
                    self.connection = Some(connection);
                    let (questions, events) = (group.len(), group.events);
                    let ms = started.elapsed().as_secs_f64() * 1_000.0;
                    tracing::trace!(questions, events, ms, "committed");
                    return Ok(verdicts);
                }
                // SQLite itself has waited for some milliseconds.
                Err(error) if patient(&error) => {
                    // It is taking the lock that reports busy; then there is no transaction to end.
                    let _ = sqlx::raw_sql("ROLLBACK").execute(&mut connection).await;
                    self.connection = Some(connection);
                }
                Err(error) => {
                    // Dropping the connection rolls back.
                    if let Err(error) = connection.close().await {
                        tracing::warn!(%error, "a failed connection was not closed cleanly");
                    }
                    return Err(error);
                }
            }
        }
    }
}

impl Group {
    fn take(&mut self, request: Request) {
        match request {
            Request::Create(asked) => {
                self.events += asked.question.records.len();
                self.creates.push(asked);
            }
            Request::Append(asked) => {
                self.events += asked.question.len();
                self.appends.push(asked);
            }
            Request::Post(asked) => self.posts.push(asked),
            Request::Claim(asked) => self.claims.push(asked),
            Request::Renew(asked) => self.renewals.push(asked),
            Request::Release(asked) => self.releases.push(asked),
            Request::SetBranch(asked) => self.branches.push(asked),
            Request::Snapshot(asked) => self.snapshots.push(asked),
            Request::PruneEarly(asked) => self.prunings.push(asked),
            Request::Remove(asked) => {
                self.events += asked.question.len();
                self.removals.push(asked);
            }
            Request::Shard(asked) => self.shards.push(asked),
            Request::Close(reply) => self.closing.push(reply),
        }
    }

    fn has_room(&self) -> bool {
        self.len() < GROUP && self.events < GROUP_EVENTS
    }

    fn len(&self) -> usize {
        self.creates.len()
            + self.posts.len()
            + self.appends.len()
            + self.renewals.len()
            + self.releases.len()
            + self.claims.len()
            + self.branches.len()
            + self.snapshots.len()
            + self.prunings.len()
            + self.removals.len()
            + self.shards.len()
    }

    async fn write(&self, connection: &mut SqliteConnection) -> sqlx::Result<Verdicts> {
        let mut transaction = Transaction::begin(connection);
        let verdicts = Verdicts {
            creates: create::apply(&mut transaction, &self.creates).await?,
            posts: post::apply(&mut transaction, &self.posts).await?,
            appends: append::apply(&mut transaction, &self.appends).await?,
            renewals: claim::renew(&mut transaction, &self.renewals).await?,
            releases: claim::release(&mut transaction, &self.releases),
            claims: claim::claim(&mut transaction, &self.claims).await?,
            branches: branch::apply(&mut transaction, &self.branches).await?,
            snapshots: snapshot::apply(&mut transaction, &self.snapshots).await?,
            prunings: post::prune_early(&mut transaction, &self.prunings).await?,
            removals: removal::apply(&mut transaction, &self.removals).await?,
            shards: shard::apply(&mut transaction, &self.shards).await?,
        };
        // What is somewhere else is refused here, whatever was found of it.
        let creates = self.creates.iter().map(|asked| &asked.question.id);
        let posts = self.posts.iter().map(|asked| &asked.question.execution);
        let appends = self.appends.iter().map(|asked| &asked.question.execution);
        if creates.chain(posts).chain(appends).any(|id| !transaction.part().has(id)) {
            return Err(error::elsewhere());
        }
        transaction.commit().await?;
        Ok(verdicts)
    }

    fn answer(self, verdicts: Verdicts) {
        // A caller that has gone needs no answer: the batch id will tell it, should it ask again.
        fn send<Q, A>(asked: Vec<Asked<Q, A>>, answers: Answers<A>) {
            asked.into_iter().zip(answers).for_each(|(asked, answer)| drop(asked.reply.send(answer)));
        }
        send(self.creates, verdicts.creates);
        send(self.posts, verdicts.posts);
        send(self.appends, verdicts.appends);
        send(self.renewals, verdicts.renewals);
        send(self.releases, verdicts.releases);
        send(self.claims, verdicts.claims);
        send(self.branches, verdicts.branches);
        send(self.snapshots, verdicts.snapshots);
        send(self.prunings, verdicts.prunings);
        send(self.removals, verdicts.removals);
        send(self.shards, verdicts.shards);
    }

    fn refuse(self, error: &sqlx::Error) {
        fn send<Q, A>(asked: Vec<Asked<Q, A>>, refusal: impl Fn(&Q) -> StoreError) {
            for Asked { question, reply } in asked {
                drop(reply.send(Err(refusal(&question))));
            }
        }
        let of = |execution: &ExecutionId| match error::is_of_data(error) {
            _ if error::is_elsewhere(error) => StoreError::Elsewhere(execution.clone()),
            true => row::corrupt(execution.as_str(), &error.to_string()),
            false => error::unavailable(error),
        };
        send(self.creates, |new| of(&new.id));
        send(self.posts, |item| of(&item.execution));
        send(self.appends, |transition| of(&transition.execution));
        send(self.renewals, |_| error::unavailable(error));
        send(self.releases, |release| of(&release.execution));
        send(self.claims, |_| error::unavailable(error));
        send(self.branches, |set| of(&set.execution));
        send(self.snapshots, |change| of(change.execution()));
        send(self.prunings, |_| error::unavailable(error));
        send(self.removals, |removal| of(&removal.execution));
        send(self.shards, |_| error::unavailable(error));
    }

    fn split(self) -> impl Iterator<Item = Self> {
        let creates = self.creates.into_iter().map(Request::Create);
        let posts = self.posts.into_iter().map(Request::Post);
        let appends = self.appends.into_iter().map(Request::Append);
        let renewals = self.renewals.into_iter().map(Request::Renew);
        let releases = self.releases.into_iter().map(Request::Release);
        let claims = self.claims.into_iter().map(Request::Claim);
        let branches = self.branches.into_iter().map(Request::SetBranch);
        let snapshots = self.snapshots.into_iter().map(Request::Snapshot);
        let prunings = self.prunings.into_iter().map(Request::PruneEarly);
        let removals = self.removals.into_iter().map(Request::Remove);
        let shards = self.shards.into_iter().map(Request::Shard);
        let all = creates.chain(posts).chain(appends).chain(renewals).chain(releases).chain(claims);
        all.chain(branches).chain(snapshots).chain(prunings).chain(removals).chain(shards).map(|request| {
            let mut single = Self::default();
            single.take(request);
            single
        })
    }
}
