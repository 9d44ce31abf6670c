//! The store as its users hold it: every port, by way of the writing tasks or of the pool.
//! Not the statements: each kind has its file.

use async_trait::async_trait;
use loom_runtime::{
    kernel::{ExecutionId, Record, Snapshot, Timestamp},
    ports::{
        Append, BranchRegistry, BranchRow, Caveat, ClaimRequest, Claimed, Created, EventStore, ExecutionRow,
        GateIndex, GateRow, Inbox, InboxId, InboxItem, LeaseStore, ListFilter, NewExecution, NewItem, Posted,
        Removal, SetBranch, Shard, Slot, SnapshotStore, StoreError, WorkerId,
    },
};
use sqlx::PgPool;
use tokio::time::Instant;

use crate::{
    ConnectError, PostgresOptions,
    append::{Appends, Transition},
    branch, claim,
    create::{Creation, Creations},
    error,
    hint::Hints,
    link::{Link, answered},
    post::{self, Incoming, Post},
    queue::Queue,
    read, removal,
    row::{self, integer},
    snapshot,
};

/// A store in one Postgres database. Clones share it; any number of processes, on any number of machines, may
/// use the same database.
///
/// When the last clone is dropped, what was asked before is still written, as long as the runtime lives;
/// [`close`](Self::close) waits for that.
#[derive(Clone, Debug)]
pub struct Postgres {
    appends: Queue<Appends>,
    creations: Queue<Creations>,
    incoming: Queue<Incoming>,
    pub(crate) pool: PgPool,
    hints: Hints,
    pub(crate) link: Link,
}

impl Postgres {
    /// Connects with the default options, and makes the tables if they are missing.
    ///
    /// # Errors
    /// [`ConnectError`] says what is wrong and what to do.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        Self::options().connect(url).await
    }

    /// The store of a server that may be away now, a standby: [`PostgresOptions::connect_lazy`] with the default options.
    ///
    /// # Errors
    /// The URL is none.
    pub fn connect_lazy(url: &str) -> Result<Self, ConnectError> {
        Self::options().connect_lazy(url)
    }

    /// Options, to connect otherwise.
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    pub(crate) fn new(link: &Link, schema: &str, readers: u32) -> Self {
        let pool = link.pool(readers + 1);
        Self {
            appends: Queue::new(link),
            creations: Queue::new(link),
            incoming: Queue::new(link),
            hints: Hints::new(schema, &pool),
            pool,
            link: link.clone(),
        }
    }

    /// Writes what was asked, by every clone, and closes every connection. Later calls fail as unavailable.
    pub async fn close(self) {
        self.appends.close().await;
        self.creations.close().await;
        self.incoming.close().await;
        tokio::join!(self.pool.close(), self.hints.close());
    }
}

fn slot(execution: &ExecutionId) -> i32 {
    Slot::of(execution.as_str()).number().into()
}

/// Runs what may be repeated on a connection of the pool, for as long as the link is patient. A macro, since the
/// future of an async closure is not known to be `Send`.
macro_rules! on_pool {
    ($store:ident, $connection:ident => $work:expr) => {{
        let started = Instant::now();
        loop {
            let attempt = async {
                let mut pooled = $store.pool.acquire().await?;
                let $connection = &mut *pooled;
                let done = answered($work).await;
                if done.as_ref().is_err_and(error::is_passing) {
                    pooled.close_on_drop();
                }
                done
            };
            match attempt.await {
                Ok(done) => break Ok(done),
                Err(error) if $store.link.tries_again(&error, started).await => {}
                Err(error) => break Err(error::unavailable(&error)),
            }
        }
    }};
}
pub(crate) use on_pool;

#[async_trait]
impl EventStore for Postgres {
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError> {
        let unowned = new.claim.is_none();
        let created = self.creations.ask(Creation::new(new)).await?;
        if unowned && matches!(created, Created::New { .. }) {
            self.hints.tell();
        }
        Ok(created)
    }

    async fn append(&self, append: &Append) -> Result<(), StoreError> {
        self.appends.ask(Transition::new(append)).await?;
        if !append.posts.is_empty() {
            self.hints.tell();
        }
        Ok(())
    }

    async fn read(
        &self,
        execution: &ExecutionId,
        from: u64,
        limit: usize,
    ) -> Result<Vec<Record>, StoreError> {
        let rows = on_pool!(self, connection => {
                        let records = sqlx::query(read::RECORDS).bind(execution.as_str()).bind(integer(from));
                        records.bind(integer(limit.max(1) as u64)).bind(slot(execution)).fetch_all(connection)
        })?;
        if rows.is_empty() {
            self.shows(execution).await?;
        }
        read::records(&rows, execution, from, limit)
    }

    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError> {
        let row = on_pool!(self, connection => {
                        let row = sqlx::query(read::EXECUTION).bind(execution.as_str()).bind(slot(execution));
                        row.fetch_optional(connection)
        })?;
        if row.is_none() {
            self.shows(execution).await?;
        }
        row.as_ref().map(row::read).transpose()
    }

    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError> {
        let limit = (filter.limit > 0).then(|| integer(filter.limit as u64));
        let after = filter.after.as_ref().map(ExecutionId::as_str);
        let rows = on_pool!(self, connection => {
                        let list = sqlx::query(read::list(filter)).bind(&filter.flow).bind(after).bind(limit);
                        list.fetch_all(connection)
        })?;
        Ok(row::readable(rows.iter().map(row::read)))
    }

    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError> {
        on_pool!(self, connection => removal::remove(connection, removal))?
    }

    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        let why: Option<String> = on_pool!(self, connection => {
                        sqlx::query_scalar(read::READ_ONLY).fetch_one(connection)
        })?;
        let read_only = why.map(|why| Caveat::ReadOnly { why });
        Ok(read_only.into_iter().chain(Caveat::of_part(self).await?).collect())
    }
}

#[async_trait]
impl LeaseStore for Postgres {
    async fn claim(&self, request: &ClaimRequest) -> Result<Vec<Claimed>, StoreError> {
        if request.limit == 0 {
            return Ok(Vec::new());
        }
        let claim = async {
            let mut connection = self.pool.acquire().await?;
            let claimed = claim::claim(&mut connection, request).await;
            if claimed.as_ref().is_err_and(error::is_passing) {
                connection.close_on_drop();
            }
            claimed
        };
        match answered(claim).await {
            // Something was frozen in the middle of it: the next claim finds the rest.
            Err(error) if error::is_elsewhere(&error) => Ok(Vec::new()),
            claimed => claimed.map_err(|error| error::unavailable(&error)),
        }
    }

    async fn renew(
        &self,
        worker: &WorkerId,
        until: Timestamp,
    ) -> Result<Vec<(ExecutionId, u64)>, StoreError> {
        on_pool!(self, connection => claim::renew(connection, worker, until))
    }

    async fn release(&self, execution: &ExecutionId, fence: u64) -> Result<(), StoreError> {
        on_pool!(self, connection => claim::release(connection, execution, fence))?;
        self.hints.tell();
        Ok(())
    }

    async fn inbox_waiting(&self, worker: &WorkerId) -> Result<Vec<ExecutionId>, StoreError> {
        let rows = on_pool!(self, connection => {
                        sqlx::query(read::INBOX_WAITING).bind(worker).fetch_all(connection)
        })?;
        Ok(row::readable(rows.iter().map(|row| row::id(row, 0))))
    }

    async fn news(&self) {
        self.hints.heard(&self.pool).await;
    }
}

#[async_trait]
impl Inbox for Postgres {
    async fn post(&self, item: NewItem) -> Result<Posted, StoreError> {
        let posted = self.incoming.ask(Post::new(item)).await?;
        if matches!(posted, Posted::Accepted(_)) {
            self.hints.tell();
        }
        Ok(posted)
    }

    async fn pending(&self, execution: &ExecutionId, after: InboxId) -> Result<Vec<InboxItem>, StoreError> {
        let rows = on_pool!(self, connection => {
                        let pending = sqlx::query(read::PENDING).bind(execution.as_str()).bind(integer(after));
                        pending.fetch_all(connection)
        })?;
        rows.iter().map(|row| read::item(row, execution)).collect()
    }

    async fn prune_early(&self, before: Timestamp, rehearsal: bool) -> Result<u64, StoreError> {
        on_pool!(self, connection => post::prune_early(connection, before, rehearsal))
    }
}

#[async_trait]
impl GateIndex for Postgres {
    async fn gates(&self, execution: Option<&ExecutionId>) -> Result<Vec<GateRow>, StoreError> {
        let rows = on_pool!(self, connection => match execution {
            Some(execution) => {
                sqlx::query(read::GATES).bind(execution.as_str()).fetch_all(connection)
            }
            None => sqlx::query(read::OPEN_GATES).fetch_all(connection),
        })?;
        let gates = rows.iter().map(read::gate);
        if execution.is_some() { gates.collect() } else { Ok(row::readable(gates)) }
    }
}

#[async_trait]
impl SnapshotStore for Postgres {
    async fn put_snapshot(&self, snapshot: &Snapshot) -> Result<(), StoreError> {
        on_pool!(self, connection => snapshot::put(connection, snapshot))?
    }

    async fn newest_snapshot(
        &self,
        execution: &ExecutionId,
        of: &str,
        at_most: u64,
    ) -> Result<Option<Snapshot>, StoreError> {
        let row = on_pool!(self, connection => {
                        let newest = sqlx::query(snapshot::NEWEST).bind(execution.as_str()).bind(of).bind(integer(at_most));
                        newest.fetch_optional(connection)
        })?;
        row.map(|row| snapshot::read(&row, execution, of)).transpose()
    }

    async fn mark_snapshot_bad(
        &self,
        execution: &ExecutionId,
        of: &str,
        sequence: u64,
    ) -> Result<(), StoreError> {
        on_pool!(self, connection => snapshot::mark_bad(connection, execution, of, sequence))
    }

    async fn prune_snapshots(
        &self,
        execution: &ExecutionId,
        of: &str,
        keep: usize,
    ) -> Result<(), StoreError> {
        on_pool!(self, connection => snapshot::prune(connection, execution, of, keep))
    }
}

#[async_trait]
impl BranchRegistry for Postgres {
    async fn branch(&self, name: &str) -> Result<Option<BranchRow>, StoreError> {
        let row = on_pool!(self, connection => {
                        sqlx::query(branch::ONE).bind(name.as_bytes()).fetch_optional(connection)
        })?;
        row.as_ref().map(branch::read).transpose()
    }

    async fn branches(&self) -> Result<Vec<BranchRow>, StoreError> {
        let rows = on_pool!(self, connection => sqlx::query(branch::ALL).fetch_all(connection))?;
        Ok(row::readable(rows.iter().map(branch::read)))
    }

    async fn set_branch(&self, set: &SetBranch) -> Result<BranchRow, StoreError> {
        on_pool!(self, connection => branch::set(connection, set))?
    }
}
