//! Expansions as files to read, under `tests/expand/`: `x.rs` expands to `x.expanded.rs`, and
//! `BLESS=1 cargo test -p loom-durable-macros` writes them anew. Nothing here is compiled.

use std::fs;
use std::path::{Path, PathBuf};

use super::expand;
use crate::printed::pretty;

const HEADER: &str =
    "//! An expansion, written by the tests of the macros. Not compiled, and not to be edited.\n\n";

/// The files that are expanded.
fn sources() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expand");
    let mut sources: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of snapshots")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter(|path| !path.to_string_lossy().ends_with(".expanded.rs"))
        .collect();
    sources.sort();
    sources
}

#[test]
fn expansions_are_as_written() {
    let bless = std::env::var_os("BLESS").is_some();
    let sources = sources();
    assert!(sources.len() >= 4, "the samples are gone");
    for source in sources {
        let text = fs::read_to_string(&source).expect("a sample");
        let expansion = format!("{HEADER}{}", pretty(&expand(&text)));
        let written = source.with_extension("expanded.rs");
        if bless {
            fs::write(&written, expansion).expect("a snapshot");
            continue;
        }
        let expected = fs::read_to_string(&written).unwrap_or_default();
        assert!(
            expected == expansion,
            "{} has changed; look at the difference after BLESS=1. It is now:\n{expansion}",
            written.display()
        );
    }
}
