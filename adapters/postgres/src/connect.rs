//! Connecting: the URL, the settings of every connection, migrations.
//! Not what is asked of the server afterwards.

use std::{str::FromStr, time::Duration};

use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::time::Instant;

use crate::{
    ConnectError, Postgres, error,
    link::Link,
    schema::{self, Found},
};

/// How to connect. The defaults suit most programs.
#[derive(Clone, Debug)]
pub struct PostgresOptions {
    schema: String,
    patience: Duration,
    readers: u32,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        Self { schema: "loom".into(), patience: Duration::from_secs(10), readers: 3 }
    }
}

impl PostgresOptions {
    /// The schema that holds the tables; `loom` unless told. Two stores in one database need two.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// How long a server may be away before a call fails as unavailable; 10 s unless told. Workers go on after
    /// that too, they ask again.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How many connections read, claim and renew, at least 1; 3 unless told. Three more write, each while there
    /// is something to write, and one of a worker listens for what others tell.
    #[must_use]
    pub fn readers(mut self, readers: u32) -> Self {
        self.readers = readers.max(1);
        self
    }

    /// Connects to the database that a URL names (`postgres://user:password@host:5432/database?sslmode=require`),
    /// and makes or migrates the tables. To be called within a tokio runtime, which then runs the writing tasks.
    ///
    /// # Errors
    /// [`ConnectError`] says what is wrong and what to do. A server that is away is waited for as long as
    /// [`patience`](Self::patience) says: nothing durable runs without it.
    pub async fn connect(self, url: &str) -> Result<Postgres, ConnectError> {
        let (link, server) = self.link(url)?;
        let started = Instant::now();
        loop {
            let error = match prepare(&link, &self.schema).await {
                Ok(Found::Ready) => return Ok(Postgres::new(&link, &self.schema, self.readers)),
                Ok(Found::Newer(found)) => {
                    return Err(ConnectError::NewerSchema { server, schema: self.schema, found });
                }
                Err(error) => error,
            };
            if !link.tries_again(&error, started).await {
                return Err(error::connect_error(server, &self.schema, started.elapsed(), &error));
            }
        }
    }

    /// As [`connect`](Self::connect), when somebody first asks: nothing is sent now, so that the server may be away, and no
    /// table is made. For the standby of a [`Replica`](crate::Replica), whose tables are its primary's.
    ///
    /// # Errors
    /// The URL or the name of the schema is none.
    pub fn connect_lazy(self, url: &str) -> Result<Postgres, ConnectError> {
        let (link, _) = self.link(url)?;
        Ok(Postgres::new(&link, &self.schema, self.readers))
    }

    /// The way to the server that a URL names, and the server for people.
    fn link(&self, url: &str) -> Result<(Link, String), ConnectError> {
        // sqlx takes any scheme, and what it says of a URL may hold the password.
        if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
            return Err(ConnectError::BadUrl { reason: "it does not begin with `postgres://`".into() });
        }
        let options = PgConnectOptions::from_str(url)
            .map_err(|_| ConnectError::BadUrl { reason: "its parts cannot be told apart".into() })?;
        let first = self.schema.chars().next();
        let is_name = first.is_some_and(|first| !first.is_ascii_digit())
            && self.schema.len() <= 63
            && self.schema.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'));
        if !is_name {
            return Err(ConnectError::BadSchema { schema: self.schema.clone() });
        }
        let options = options.disable_statement_logging().statement_cache_capacity(256);
        let options = match options.get_application_name() {
            Some(_) => options,
            None => options.application_name("loom"),
        };
        let server = server(&options);
        Ok((Link::new(options, &self.schema, self.patience), server))
    }
}

async fn prepare(link: &Link, schema: &str) -> sqlx::Result<Found> {
    let mut connection = link.connect().await?;
    let found = schema::migrate(&mut connection, schema).await?;
    if let (Found::Ready, Err(error)) = (&found, schema::speed_up(&mut connection, schema).await) {
        let error = error::text(&error);
        tracing::warn!(error, "claims from a backlog are slow: their index cannot be made");
    }
    warn_of_risks(&mut connection).await?;
    connection.close().await?;
    Ok(found)
}

/// Says so when the server may forget what it has acknowledged: that is its owner's choice, not ours.
async fn warn_of_risks(connection: &mut PgConnection) -> sqlx::Result<()> {
    let fsync: String = sqlx::query_scalar("SHOW fsync").fetch_one(connection).await?;
    if fsync == "off" {
        tracing::warn!(
            "the server runs with fsync = off: a crash of its machine can lose or damage everything"
        );
    }
    Ok(())
}

/// Host, port and database.
fn server(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or(options.get_username());
    match options.get_socket() {
        Some(socket) => format!("the server at {} (database `{database}`)", socket.display()),
        None => {
            format!("the server at {}:{} (database `{database}`)", options.get_host(), options.get_port())
        }
    }
}
