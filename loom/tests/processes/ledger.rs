//! The world that all processes share: a file with one line per effect, and files that steps wait for.
//! Not part of any execution.

use std::{fs, io::Write, path::PathBuf, time::Duration};

#[derive(Clone)]
pub(crate) struct Ledger(PathBuf);

impl Ledger {
    /// In this directory.
    pub(crate) fn new(dir: impl Into<PathBuf>) -> Self {
        Self(dir.into())
    }

    /// The SQLite file beside it.
    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("loom.db")
    }

    /// Tells all processes to use this Postgres database, and this schema of it.
    pub(crate) fn keep_on_postgres(&self, url: &str, schema: &str) {
        fs::write(self.0.join("postgres"), format!("{url} {schema}")).unwrap();
    }

    /// URL and schema, when it is Postgres.
    pub(crate) fn postgres(&self) -> Option<(String, String)> {
        let told = fs::read_to_string(self.0.join("postgres")).ok()?;
        let (url, schema) = told.split_once(' ')?;
        Some((url.to_owned(), schema.to_owned()))
    }

    /// Something happens in this process.
    pub(crate) fn write(&self, what: &str) {
        let line = format!("{what} by {}\n", std::process::id());
        let file = fs::OpenOptions::new().create(true).append(true).open(self.0.join("ledger"));
        file.unwrap().write_all(line.as_bytes()).unwrap();
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.0.join("ledger")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How many lines begin like this.
    pub(crate) fn count(&self, what: &str) -> usize {
        self.lines().iter().filter(|line| line.starts_with(what)).count()
    }

    /// Waits until so many lines begin like this.
    pub(crate) async fn seen(&self, what: &str, often: usize) {
        while self.count(what) < often {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn open(&self, door: &str) {
        fs::write(self.0.join(door), "").unwrap();
    }

    pub(crate) fn is_open(&self, door: &str) -> bool {
        self.0.join(door).exists()
    }

    pub(crate) async fn pass(&self, door: &str) {
        while !self.is_open(door) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
