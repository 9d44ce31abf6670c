//! The flows that are measured, the stores that they run on, and the bare loop beside them.
//! Not tuned to look well: default steps, default options.

use std::{path::Path, sync::OnceLock, time::Duration};

use futures_util::future::join_all;
use loom::{
    App, Memory,
    postgres::{
        Postgres,
        cluster::{Cluster, ClusterError},
    },
    prelude::*,
};
use sqlx::{
    Connection, PgConnection, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

use crate::figure::timed;

/// Does nothing, durably.
#[step]
async fn work(number: u64) -> Result<u64, loom::Error> {
    Ok(number + 1)
}

/// `count` steps, one after the other.
#[flow]
pub(crate) async fn sequence(ctx: Ctx, count: u64) -> Result<u64, loom::Error> {
    let mut sum = 0;
    for number in 0..count {
        sum += ctx.run(work(number)).await?;
    }
    Ok(sum)
}

/// `count` steps side by side.
#[flow]
pub(crate) async fn wide(ctx: Ctx, count: u64) -> Result<u64, loom::Error> {
    let all = join_all((0..count).map(|number| ctx.run(work(number)).key(number))).await;
    let mut sum = 0;
    for one in all {
        sum += one?;
    }
    Ok(sum)
}

/// Waits for somebody.
#[flow]
pub(crate) async fn waiting(ctx: Ctx, number: u64) -> Result<u64, loom::Error> {
    let more = ctx.suspend::<u64>("more").await?;
    Ok(number + more)
}

/// Where executions are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    Memory,
    Sqlite,
    Postgres,
}

/// A server of this program's own, on the same disk, that syncs; none where Postgres is not installed.
pub(crate) fn server() -> Option<&'static Cluster> {
    static SERVER: OnceLock<Option<Cluster>> = OnceLock::new();
    let start = || match Cluster::start_durable() {
        Ok(cluster) => Some(cluster),
        Err(ClusterError::Missing) => None,
        Err(error) => panic!("{error}"),
    };
    SERVER.get_or_init(start).as_ref()
}

impl Kept {
    /// Every store that there is here.
    pub(crate) fn all() -> Vec<Self> {
        let all = [Self::Memory, Self::Sqlite, Self::Postgres];
        all.into_iter().filter(|kept| *kept != Self::Postgres || server().is_some()).collect()
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }

    pub(crate) async fn app(self, dir: &Path) -> loom::Result<App> {
        Ok(match self {
            Self::Memory => App::builder().store(Memory::new()).build()?,
            Self::Sqlite => App::builder().store(Sqlite::open(dir.join("bench.db")).await?).build()?,
            Self::Postgres => {
                let server = server().ok_or_else(|| loom::Error::msg("Postgres is not installed"))?;
                let options = Postgres::options().schema(server.fresh());
                App::builder().store(options.connect(server.url()).await?).build()?
            }
        })
    }

    /// The peer: `commits` transactions that insert `rows` rows of about an event's size, one after the other, with
    /// the same library and settings, and on the same disk. None for memory, which commits nothing.
    pub(crate) async fn bare_commits(self, dir: &Path, commits: u64, rows: u64) -> loom::Result<Duration> {
        match self {
            Self::Memory => Ok(Duration::ZERO),
            Self::Sqlite => bare_commits(dir, commits, rows).await,
            Self::Postgres => bare_inserts(commits, rows).await,
        }
    }
}

/// A folder on the disk that the repository is on: a temporary one may be in memory.
pub(crate) fn folder() -> loom::Result<tempfile::TempDir> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    Ok(tempfile::Builder::new().prefix("bench").tempdir_in(target)?)
}

/// Starts `flows` executions of `steps` steps, `at_once` of them at a time, and waits for all.
pub(crate) async fn run_sequences(app: &App, flows: u64, steps: u64, at_once: u64) -> loom::Result<()> {
    let each = flows / at_once;
    let lanes = (0..at_once).map(|_| {
        let app = app.clone();
        tokio::spawn(async move {
            for _ in 0..each {
                app.start(sequence(steps)).await?.result().await?;
            }
            Ok::<_, loom::Error>(())
        })
    });
    for lane in join_all(lanes).await {
        lane??;
    }
    Ok(())
}

async fn bare_commits(dir: &Path, commits: u64, rows: u64) -> loom::Result<Duration> {
    let options = SqliteConnectOptions::new()
        .filename(dir.join("bare.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    sqlx::query("create table if not exists bare (id integer primary key, payload text not null)")
        .execute(&mut connection)
        .await?;
    let payload = "x".repeat(200);
    let values = vec!["(?)"; usize::try_from(rows)?].join(", ");
    let insert = format!("insert into bare (payload) values {values}");
    timed(async {
        for _ in 0..commits {
            let mut query = sqlx::query(sqlx::AssertSqlSafe(insert.clone()));
            for _ in 0..rows {
                query = query.bind(&payload);
            }
            query.execute(&mut connection).await?;
        }
        Ok(())
    })
    .await
}

/// A connection to the server, if there is one.
pub(crate) async fn connect() -> loom::Result<PgConnection> {
    let server = server().ok_or_else(|| loom::Error::msg("Postgres is not installed"))?;
    Ok(PgConnection::connect(server.url()).await?)
}

async fn bare_inserts(commits: u64, rows: u64) -> loom::Result<Duration> {
    let mut connection = connect().await?;
    sqlx::raw_sql("create table if not exists bare (id bigserial primary key, payload bytea not null)")
        .execute(&mut connection)
        .await?;
    let payloads = vec![vec![b'x'; 200]; usize::try_from(rows)?];
    timed(async {
        for _ in 0..commits {
            let insert = sqlx::query("insert into bare (payload) select * from unnest($1::bytea[])");
            insert.bind(&payloads).execute(&mut connection).await?;
        }
        Ok(())
    })
    .await
}
