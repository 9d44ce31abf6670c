//! Checks that every rule of the macros has a case that shows its message. Compiles nothing.

use std::fs;
use std::path::{Path, PathBuf};

const CODES: &str = include_str!("../../loom-macros/src/codes.rs");

/// Every file under a folder whose name ends so.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of cases") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
}

/// The text of all files under `cases/` whose names end so.
fn text_of(extension: &str) -> String {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("cases"), extension, &mut found);
    found.iter().map(|path| fs::read_to_string(path).expect("a case")).collect()
}

#[test]
fn every_code_has_a_case() {
    let expected = text_of("stderr");
    let codes: Vec<&str> = CODES
        .split('"')
        .filter(|text| {
            text.len() == 5 && text.starts_with('L') && text[1..].bytes().all(|b| b.is_ascii_digit())
        })
        .collect();
    assert!(codes.len() >= 63, "the table of codes has another form now");
    let missing: Vec<_> = codes.iter().filter(|code| !expected.contains(&format!("[{code}]"))).collect();
    assert!(missing.is_empty(), "no case shows {missing:?}");
}

#[test]
fn every_message_says_how_to_fix_it() {
    let expected = text_of("stderr");
    let (messages, helps) = (expected.matches("error: [L").count(), expected.matches("help: ").count());
    assert!(messages > 0 && helps >= messages, "{messages} messages, {helps} helps");
}
