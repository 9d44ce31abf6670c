//! Where all processes of a fleet keep their executions, in words that go from one process to another.
//! Not the stores.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use loom::{
    App, AppBuilder,
    ports::Shard,
    postgres::Postgres,
    shards::Shards,
    sqlite::{OpenError, Sqlite},
};

/// A database that processes share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// A file.
    Sqlite(PathBuf),
    /// A schema of a server.
    Postgres {
        /// Where the server is, or what stands in between.
        url: String,
        /// The schema.
        schema: String,
    },
    /// Several, with their names.
    Shards(Vec<(String, Database)>),
}

impl Database {
    /// An app on it that has everything but its program.
    pub async fn builder(&self) -> AppBuilder {
        match self {
            Self::Sqlite(path) => App::builder().store(file(path).await),
            Self::Postgres { url, schema } => {
                let options = Postgres::options().schema(schema.clone());
                App::builder().store(options.connect(url).await.unwrap())
            }
            Self::Shards(members) => App::builder().store(Self::together(members).await),
        }
    }

    /// Several as one store.
    ///
    /// # Panics
    /// When they are none, or are nested.
    pub async fn shards(&self) -> Shards {
        let Self::Shards(members) = self else { panic!("{self:?} is one database") };
        Self::together(members).await
    }

    async fn together(members: &[(String, Self)]) -> Shards {
        let mut opened = Vec::new();
        for (name, member) in members {
            let store: Arc<dyn Shard> = match member {
                Self::Sqlite(path) => Arc::new(file(path).await),
                Self::Postgres { url, schema } => {
                    Arc::new(Postgres::options().schema(schema.clone()).connect(url).await.unwrap())
                }
                Self::Shards(_) => panic!("fleets of fleets are none"),
            };
            opened.push((name.clone(), store));
        }
        Shards::options().open_any(opened).await.unwrap()
    }

    pub(crate) fn to_words(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite {}", path.display()),
            Self::Postgres { url, schema } => format!("postgres {url} {schema}"),
            Self::Shards(members) => {
                let members = members.iter().map(|(name, member)| format!("{name}={}", member.to_words()));
                format!("shards {}", members.collect::<Vec<_>>().join("\n"))
            }
        }
    }

    pub(crate) fn of_words(words: &str) -> Self {
        if let Some(members) = words.strip_prefix("shards ") {
            let member = |line: &str| {
                let (name, words) = line.split_once('=').unwrap();
                (name.to_owned(), Self::of_words(words))
            };
            return Self::Shards(members.lines().map(member).collect());
        }
        match words.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["postgres", url, schema] => Self::Postgres { url: url.into(), schema: schema.into() },
            _ => Self::Sqlite(words.strip_prefix("sqlite ").unwrap().into()),
        }
    }
}

/// A file, which a process that is stopped just now may hold locked for longer than anybody else would wait.
async fn file(path: &Path) -> Sqlite {
    loop {
        match Sqlite::open(path).await {
            Err(OpenError::Locked { .. }) => {}
            opened => return opened.unwrap(),
        }
    }
}
