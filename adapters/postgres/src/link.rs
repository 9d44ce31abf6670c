//! How a connection of this store is made, and how long it is waited for.
//! Not a pool: the writers have a connection each, the readers have sqlx's pool.

use std::{future::Future, time::Duration};

use sqlx::{
    AssertSqlSafe, ConnectOptions, PgConnection, PgPool,
    postgres::{PgConnectOptions, PgPoolOptions},
};

use tokio::time::Instant;

use crate::error;

/// Longer than any answer takes: what is reached by it is a connection that was lost without a word.
const SILENCE: Duration = Duration::from_secs(30);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// A way to the server.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    options: PgConnectOptions,
    settings: String,
    patience: Duration,
}

impl Link {
    /// `schema` was checked: it needs no quotes.
    pub(crate) fn new(options: PgConnectOptions, schema: &str, patience: Duration) -> Self {
        // - A server that acknowledges before it has written is told to wait; one that waits for more (its
        //   standbys, say) is left as it is.
        // - Locks whose owner has vanished, and locks of others, must not stop the fleet.
        // - Every statement is short: to compile one takes longer than to run it (a claim from a backlog: 110 ms to 14).
        let settings = format!(
            "SET search_path = {schema}, pg_catalog; \
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'; \
             SET jit = off; SET lock_timeout = '2s'; SET idle_in_transaction_session_timeout = '10s'; \
             SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; \
             SET client_min_messages = warning"
        );
        Self { options, settings, patience }
    }

    /// A connection, ready for use.
    pub(crate) async fn connect(&self) -> sqlx::Result<PgConnection> {
        answered(async {
            let mut connection = self.options.connect().await?;
            sqlx::raw_sql(AssertSqlSafe(self.settings.clone())).execute(&mut connection).await?;
            Ok(connection)
        })
        .await
    }

    /// A pool of at most so many.
    pub(crate) fn pool(&self, connections: u32) -> PgPool {
        let settings = self.settings.clone();
        PgPoolOptions::new()
            .max_connections(connections)
            .acquire_timeout(self.patience)
            // A round trip for every question; one that was cut is found by the question, and asked again.
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let settings = settings.clone();
                Box::pin(
                    async move { sqlx::raw_sql(AssertSqlSafe(settings)).execute(connection).await.map(drop) },
                )
            })
            .connect_lazy_with(self.options.clone())
    }

    /// Whether to try again after this error, `started` being when the first try began; then some time has passed.
    pub(crate) async fn tries_again(&self, error: &sqlx::Error, started: Instant) -> bool {
        let again = error::is_passing(error) && started.elapsed() < self.patience;
        if again {
            tracing::debug!(%error, "asked again");
            tokio::time::sleep(PAUSE).await;
        }
        again
    }
}

/// Bounds the wait for one answer.
pub(crate) async fn answered<T>(answer: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    tokio::time::timeout(SILENCE, answer).await.unwrap_or_else(|_| Err(error::silent(SILENCE)))
}
