//! The shape file: what a crate registers, as `loom.shape.json` beside its `Cargo.toml`, so that a review sees
//! when a flow, a part, a step, an event, an agent, … takes another form. Not read by any program: it is held against one in a test.
//!
//! ```ignore
//! #[test]
//! fn shape() {
//!     loom::shape::check!(); // in `tests/`, with the library's name: `check!(checkout)`
//! }
//! ```
//!
//! | item | what the file holds of it |
//! |---|---|
//! | flow, part | gates, messages with their replies, parts, effect ceiling, input, output, error, policies, schedule; what it calls, in which loops and branches |
//! | agent | the same, and instructions, model, tools, skills, `max_turns`, budget |
//! | step | delivery, retries, limits, effect classes, input, output, error |
//! | tool | the same, and its description; the input is called `arguments` |
//! | event | version, how many older ones are upcast, the schema of its data |
//! | projection | version, the schema of its state, what its folds are on |
//! | skill, policy | description and file; what is allowed and denied |
//!
//! A call, `step charge as deposit`, is told by the name of the step or flow that it runs, then its id, whatever the
//! function is called. What is handed over in a variable is told by the `let` that puts it there; one from elsewhere is
//! `step * as deposit`, and what it holds may change without a change of the file. Parts are told in the same way.
//!
//! It holds neither lines nor source text: moving code changes nothing. `cargo loom shape`, or `LOOM_SHAPE=write cargo test`, writes it.

mod changes;
mod diff;
mod document;
mod schemas;

use std::{
    fs,
    io::{self, Write as _},
    path::Path,
};

pub use crate::__shape_check as check;
use crate::Registry;

/// The file's name.
pub const FILE: &str = "loom.shape.json";

/// Holds what a crate registers against the [`FILE`] beside its `Cargo.toml`, in a test.
///
/// Without an argument the crate is the one at hand; `check!(name)` is for integration tests, which are crates of their
/// own: it names the library, and so links it.
///
/// It is an expression: it goes into a function with `#[test]`.
///
/// # Panics
/// When they differ, with the difference and the command that writes the file anew.
#[doc(hidden)]
#[macro_export]
macro_rules! __shape_check {
    // In braces, as the other one: outside of a function the compiler then says that this is no item.
    () => {{
        $crate::shape::hold(
            ::core::env!("CARGO_CRATE_NAME"),
            ::core::env!("CARGO_PKG_NAME"),
            ::core::env!("CARGO_MANIFEST_DIR"),
        )
    }};
    ($library:ident) => {{
        use $library as _;
        $crate::shape::hold(
            ::core::stringify!($library),
            ::core::env!("CARGO_PKG_NAME"),
            ::core::env!("CARGO_MANIFEST_DIR"),
        )
    }};
}

/// The text of the shape file of a crate: its items among those of the registry.
pub fn of(registry: &Registry, library: &str) -> String {
    document::text(&document::of(registry, library))
}

/// What [`check!`](crate::shape::check) expands to.
///
/// # Panics
/// The file says something else, or is missing, or nothing is registered.
#[doc(hidden)]
#[track_caller]
pub fn hold(library: &str, package: &str, folder: &str) {
    let asked = std::env::var("LOOM_SHAPE").unwrap_or_default();
    let write = match asked.as_str() {
        "write" => true,
        "" | "check" => false,
        other => panic!("LOOM_SHAPE is `{other}`: it takes `write` and `check`"),
    };
    let held = compare(&Registry::linked(), library, package, Path::new(folder), write);
    // How `cargo loom shape` learns that somebody was here.
    if let Some(log) = std::env::var_os("LOOM_SHAPE_LOG") {
        let said = held.as_ref().map_or("differs", |held| held.name());
        note(Path::new(&log), &format!("{package}\t{said}\n")).expect("LOOM_SHAPE_LOG can be appended to");
    }
    if let Err(message) = held {
        panic!("{message}");
    }
}

/// How a shape file stands to the program.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// It says what the program says.
    Same,
    /// It does now.
    Written,
}

impl Held {
    const fn name(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Written => "written",
        }
    }
}

/// Holds a registry against the file in a folder, or writes it there.
///
/// # Errors
/// They differ, or the file cannot be read or written.
#[doc(hidden)]
pub fn compare(
    registry: &Registry,
    library: &str,
    package: &str,
    folder: &Path,
    write: bool,
) -> Result<Held, String> {
    let document = document::of(registry, library);
    if document::is_empty(&document) {
        return Err(format!(
            "crate `{library}` registers nothing in this test\n\
             help: an integration test names the library, `loom::shape::check!(my_library)`; a unit test needs no name"
        ));
    }
    let (text, path) = (document::text(&document), folder.join(FILE));
    let rewrite = format!(
        "write it and commit it:\n    cargo loom shape -p {package}\nor  LOOM_SHAPE=write cargo test -p {package}"
    );
    let written = match fs::read_to_string(&path) {
        // An editor or a checkout may have changed line ends.
        Ok(written) => Some(written.replace("\r\n", "\n")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(format!("{} cannot be read: {error}", path.display())),
    };
    match written {
        Some(written) if written == text => Ok(Held::Same),
        _ if write => fs::write(&path, text)
            .map(|()| Held::Written)
            .map_err(|error| format!("{} cannot be written: {error}", path.display())),
        None => Err(format!("there is no {}; {rewrite}", path.display())),
        Some(written) => Err(format!(
            "the shape of crate `{library}` is not the one in {}:\n\n{}\n{}\nif this is meant, {rewrite}",
            path.display(),
            changes::between(&serde_json::from_str(&written).unwrap_or_default(), &document),
            diff::between(&written, &text),
        )),
    }
}

fn note(log: &Path, line: &str) -> io::Result<()> {
    fs::OpenOptions::new().create(true).append(true).open(log)?.write_all(line.as_bytes())
}
