//! Holds `README.md` to what the compiler says: the ten most frequent mistakes, each with the first message of its
//! case. `BLESS=1 cargo test -p loom-durable-ui-tests --test readme` writes it anew. Compiles nothing.

use std::fs;
use std::path::{Path, PathBuf};

const OPENING: &str = "\
# What the compiler says

The ten mistakes that people make most when they write their first flows, and the message that each gets. The whole list
is the folder [cases](cases): one file a mistake, named after the rule in words, with what the compiler says beside it.
Every message that opens with a code in brackets is Loom's own, and ends with what to write instead; the codes are
listed in the docs of the attributes.

A macro sees its function and nothing around it. That a step or flow stands in an `impl` shows by `self` or `Self` alone;
without either, the compiler complains of what the step would have become: see
[the case](cases/step/fail/is_seen_in_no_impl.rs).

This page is written by a test: see [tests/readme.rs](tests/readme.rs).
";

/// A mistake: its title, why it is one, and the case that shows it.
const MISTAKES: [(&str, &str, &str); 10] = [
    (
        "One step at two places",
        "What a call did is found again by the id of its place. Two calls of one step would share it.",
        "flow/fail/one_step_has_one_id",
    ),
    (
        "A step that is awaited",
        "A step call is data. `ctx.run` makes it happen, once, and records how it ended.",
        "step/fail/is_not_a_future",
    ),
    (
        "A step that nobody runs",
        "The same mistake, in silence. Of a call that a statement drops, `charge(order);`, the compiler warns.",
        "flow/fail/step_calls_are_not_dropped",
    ),
    (
        "A closure without a key",
        "Loops count their rounds. Nothing counts how often a closure runs, so each call says what it is about.",
        "flow/fail/closures_need_keys",
    ),
    (
        "A clock",
        "A flow runs again over its log, and must ask for the same things then.",
        "flow/fail/asks_ctx_for_the_time",
    ),
    (
        "A helper that takes the context",
        "Loom does not see into functions; a part is a helper that it sees.",
        "flow/fail/helpers_in_loops_are_parts",
    ),
    (
        "A `select!` that picks at random",
        "Of two branches that are ready, another one may win on replay.",
        "flow/fail/select_is_biased",
    ),
    (
        "A gate without a type",
        "Whoever answers is shown a schema, before the flow ever gets there.",
        "flow/fail/answers_are_written_types",
    ),
    (
        "A borrowed parameter",
        "A step may run in another process than the flow that calls it.",
        "step/fail/owns_its_input",
    ),
    (
        "A value that is not `Send`, held over a wait",
        "While a flow waits, it may move to another thread.",
        "flow/fail/body_is_send",
    ),
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The case without what every case has.
fn code(case: &str) -> String {
    let text = text(&folder().join("cases").join(case).with_extension("rs"));
    let lines = text.lines().filter(|line| {
        let always = ["//! ", "#![", "use loom::prelude", "fn main() {}"];
        !always.iter().any(|start| line.starts_with(start))
    });
    let code = lines.collect::<Vec<_>>().join("\n");
    code.trim().to_owned()
}

/// The first message, as it stands.
fn message(case: &str) -> String {
    let text = text(&folder().join("cases").join(case).with_extension("stderr"));
    text.split("\n\n").next().unwrap_or_default().trim_end().to_owned()
}

fn readme() -> String {
    let mut page = OPENING.to_owned();
    for (number, (title, why, case)) in MISTAKES.iter().enumerate() {
        let (number, code, message) = (number + 1, code(case), message(case));
        page.push_str(&format!(
            "\n## {number}. {title}\n\n{why}\n\n```rust\n{code}\n```\n\n```text\n{message}\n```\n\n[the whole case](cases/{case}.rs)\n"
        ));
    }
    page
}

#[test]
fn the_readme_says_what_the_compiler_says() {
    let (path, readme) = (folder().join("README.md"), readme());
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &readme).expect("README.md can be written");
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == readme,
        "README.md is out of date: BLESS=1 cargo test -p loom-durable-ui-tests --test readme writes it"
    );
}

#[test]
fn there_are_many_cases() {
    let mut count = 0;
    let mut open = vec![folder().join("cases")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            count += 1;
        }
    }
    assert!(count >= 120, "{count} cases");
}
