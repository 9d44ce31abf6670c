//! What happened in the world, one line an effect, in a file that all processes append to.
//! Not part of the database under test.

use std::{collections::BTreeMap, fs, io::Write, path::PathBuf};

/// The file. A line is one write at its end, so that a killed process leaves a whole one or none.
#[derive(Clone, Debug)]
pub struct Ledger(PathBuf);

impl Ledger {
    /// In this file, which is made by the first line.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    pub(crate) fn path(&self) -> &PathBuf {
        &self.0
    }

    /// Something happens.
    pub fn write(&self, what: &str) {
        let file = fs::OpenOptions::new().create(true).append(true).open(&self.0);
        file.unwrap().write_all(format!("{what}\n").as_bytes()).unwrap();
    }

    /// How often each thing has happened.
    pub fn counts(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for line in fs::read_to_string(&self.0).unwrap_or_default().lines() {
            *counts.entry(line.to_owned()).or_default() += 1;
        }
        counts
    }
}
