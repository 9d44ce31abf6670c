//! JSON from the command line, from files and from standard input.
//! Not its schema: the runtime checks that.

use std::{io::Read as _, path::Path};

use loom_runtime::kernel::Payload;
use serde::de::IgnoredAny;

use crate::{console::Console, error::CliError};

/// JSON that was given as an argument of this name.
pub(crate) fn argument(name: &str, text: &str) -> Result<Payload, CliError> {
    parsed(text, &format!("`--{name}`"), || format!("text needs quotes of its own: --{name} '\"yes\"'"))
}

/// JSON that was given as a word of its own, or on standard input when that is `-`.
pub(crate) fn word(console: &mut Console, name: &str, text: &str) -> Result<Payload, CliError> {
    if text == "-" {
        return standard_input(console);
    }
    parsed(text, &format!("the {name}"), || "text needs quotes of its own: '\"yes\"'".into())
}

/// JSON in a file, or on standard input when it is `-`.
pub(crate) fn file(console: &mut Console, path: &Path) -> Result<Payload, CliError> {
    if path == Path::new("-") {
        return standard_input(console);
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    parsed(&text, &format!("`{}`", path.display()), in_quotes)
}

/// JSON on standard input.
pub(crate) fn standard_input(console: &mut Console) -> Result<Payload, CliError> {
    let mut text = String::new();
    console
        .input
        .read_to_string(&mut text)
        .map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
    parsed(&text, "standard input", in_quotes)
}

fn in_quotes() -> String {
    "text needs quotes of its own: \"yes\"".into()
}

fn parsed(text: &str, whence: &str, quotes: impl FnOnce() -> String) -> Result<Payload, CliError> {
    if text.trim().is_empty() {
        let error = CliError::usage(format!("{whence} is empty, and not JSON"));
        return Err(error.help("`null` is JSON's nothing, and `\"\"` its empty text"));
    }
    Payload::parse(text).map_err(|wrong| match serde_json::from_str::<IgnoredAny>(text) {
        Err(error) if error.is_eof() => {
            let message = format!("the JSON of {whence} is incomplete: {wrong}");
            CliError::usage(message).help("its end is missing: a value, a quote or a bracket")
        }
        // Only what begins like a word was meant to be text.
        _ if text.trim_start().starts_with(['{', '[', '"']) => {
            CliError::usage(format!("{whence} is not JSON: {wrong}"))
        }
        _ => CliError::usage(format!("{whence} is not JSON: {wrong}")).help(quotes()),
    })
}
