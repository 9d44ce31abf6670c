//! JSON from the command line, from files and from standard input.
//! Not its schema: the runtime checks that.

use std::{io::Read as _, path::Path};

use loom_runtime::kernel::Payload;

use crate::{console::Console, error::CliError};

/// JSON that was given as an argument of this name.
pub(crate) fn argument(name: &str, text: &str) -> Result<Payload, CliError> {
    Payload::parse(text).map_err(|wrong| {
        CliError::usage(format!("`--{name}` is not JSON: {wrong}"))
            .help(format!("text needs quotes of its own: --{name} '\"yes\"'"))
    })
}

/// JSON in a file, or on standard input when it is `-`.
pub(crate) fn file(console: &mut Console, path: &Path) -> Result<Payload, CliError> {
    if path == Path::new("-") {
        return standard_input(console);
    }
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("`{}` cannot be read: {error}", path.display())))?;
    Payload::parse(&text)
        .map_err(|wrong| CliError::usage(format!("`{}` does not hold JSON: {wrong}", path.display())))
}

/// JSON on standard input.
pub(crate) fn standard_input(console: &mut Console) -> Result<Payload, CliError> {
    let mut text = String::new();
    console
        .input
        .read_to_string(&mut text)
        .map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
    Payload::parse(&text).map_err(|wrong| CliError::usage(format!("standard input is not JSON: {wrong}")))
}
