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
use tokio::sync::{Mutex, watch};

/// Told at most so often: the commits of those who notify wait for each other, over all databases of a server. So
/// none of the transactions that write does.
const PAUSE: Duration = Duration::from_millis(20);

/// Before a listener that was cut off tries again: until then there is the poll.
const AGAIN: Duration = Duration::from_secs(1);

/// The channel of a schema.
#[derive(Clone, Debug)]
pub(crate) struct Hints {
    channel: String,
    /// Who tells: a process needs no hint from itself.
    teller: String,
    to_tell: watch::Sender<()>,
    listener: Arc<Mutex<Option<PgListener>>>,
}

impl Hints {
    /// Starts the task that tells. It ends with the pool, and when nobody is left to ask it.
    pub(crate) fn new(schema: &str, pool: &PgPool) -> Self {
        let teller = RandomState::new().build_hasher().finish().to_string();
        let to_tell = watch::Sender::new(());
        // A schema's name needs no quotes, and this process has made the other. What is forgotten in a crash of the
        // server has no listener either.
        let sql = format!(
            "BEGIN; SET LOCAL synchronous_commit = off; SELECT pg_notify('{schema}', '{teller}'); COMMIT"
        );
        tokio::spawn(tell_for_good(to_tell.subscribe(), sql, pool.clone()));
        Self { channel: schema.into(), teller, to_tell, listener: Arc::default() }
    }

    /// Others may have something to do.
    pub(crate) fn tell(&self) {
        self.to_tell.send_replace(());
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

async fn tell_for_good(mut to_tell: watch::Receiver<()>, sql: String, pool: PgPool) {
    while to_tell.changed().await.is_ok() {
        match sqlx::raw_sql(AssertSqlSafe(sql.clone())).execute(&pool).await {
            Err(sqlx::Error::PoolClosed) => return,
            Err(error) => tracing::debug!(%error, "not told"),
            Ok(_) => {}
        }
        tokio::time::sleep(PAUSE).await;
    }
}
