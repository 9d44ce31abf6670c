//! What processes tell each other: that something may be due. Only a hint, over LISTEN and NOTIFY.
//! Not the truth: the rows are, and they are polled.

use std::{
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::Duration,
};

use sqlx::{
    AssertSqlSafe, PgPool,
    postgres::{PgListener, PgNotification},
};
use tokio::sync::{Mutex, Notify};

/// Told at most so often: the commits of those who notify wait for each other, over all databases of a server. So
/// none of the transactions that write does.
const PAUSE: Duration = Duration::from_millis(5);

/// Before a listener that was cut off tries again: until then there is the poll.
const AGAIN: Duration = Duration::from_secs(1);

/// The channel of a schema.
#[derive(Clone, Debug)]
pub(crate) struct Hints {
    channel: String,
    /// Who tells: a process needs no hint from itself.
    teller: String,
    to_tell: Arc<Notify>,
    listener: Arc<Mutex<Option<PgListener>>>,
}

impl Hints {
    /// Starts the task that tells. It ends with the pool.
    pub(crate) fn new(schema: &str, pool: &PgPool) -> Self {
        let teller = RandomState::new().build_hasher().finish().to_string();
        let hints =
            Self { channel: schema.into(), teller, to_tell: Arc::default(), listener: Arc::default() };
        tokio::spawn(hints.clone().tell_for_good(pool.clone()));
        hints
    }

    /// Others may have something to do.
    pub(crate) fn tell(&self) {
        self.to_tell.notify_one();
    }

    async fn tell_for_good(self, pool: PgPool) {
        // A schema's name needs no quotes, and this process has made the other. What is forgotten in a crash of the
        // server has no listener either.
        let sql = format!(
            "BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_notify('{}', '{}'); COMMIT",
            self.channel, self.teller
        );
        loop {
            self.to_tell.notified().await;
            match sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&pool).await {
                Err(sqlx::Error::PoolClosed) => return,
                Err(error) => tracing::debug!(%error, "not told"),
                Ok(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Waits until another process tells something; for ever, once the pool is closed.
    pub(crate) async fn heard(&self, pool: &PgPool) {
        loop {
            match self.next(pool).await {
                Ok(told) if told.payload() != self.teller => return,
                Ok(_) => {}
                Err(sqlx::Error::PoolClosed) => std::future::pending().await,
                Err(error) => {
                    tracing::debug!(%error, "nothing is heard");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    async fn next(&self, pool: &PgPool) -> sqlx::Result<PgNotification> {
        let mut slot = self.listener.lock().await;
        let listener = match &mut *slot {
            Some(listener) => listener,
            none => {
                let mut listener = PgListener::connect_with(pool).await?;
                listener.listen(&self.channel).await?;
                none.insert(listener)
            }
        };
        let told = listener.recv().await;
        if told.is_err() {
            *slot = None;
        }
        told
    }

    /// Gives the listener's connection back; whoever listens has been told by the pool that it closes.
    pub(crate) async fn close(&self) {
        *self.listener.lock().await = None;
    }
}
