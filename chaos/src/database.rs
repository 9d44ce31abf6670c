//! Where all processes of a fleet keep their executions, in words that go from one process to another.
//! Not the stores.

use std::path::PathBuf;

use loom::{App, AppBuilder, postgres::Postgres, sqlite::Sqlite};

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
}

impl Database {
    /// An app on it that has everything but its program.
    pub async fn builder(&self) -> AppBuilder {
        match self {
            Self::Sqlite(path) => App::builder().store(Sqlite::open(path).await.unwrap()),
            Self::Postgres { url, schema } => {
                let options = Postgres::options().schema(schema.clone());
                App::builder().store(options.connect(url).await.unwrap())
            }
        }
    }

    pub(crate) fn to_words(&self) -> String {
        match self {
            Self::Sqlite(path) => format!("sqlite {}", path.display()),
            Self::Postgres { url, schema } => format!("postgres {url} {schema}"),
        }
    }

    pub(crate) fn of_words(words: &str) -> Self {
        match words.splitn(3, ' ').collect::<Vec<_>>()[..] {
            ["postgres", url, schema] => Self::Postgres { url: url.into(), schema: schema.into() },
            _ => Self::Sqlite(words.strip_prefix("sqlite ").unwrap().into()),
        }
    }
}
