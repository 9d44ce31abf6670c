//! The command line that a Loom application carries: start, resume, list, show, logs, worker and more.
//! Not a program of its own, and no server: it is the user's `main`, over the user's flows and store.
//!
//! ```no_run
//! # async fn main_(store: loom_runtime::Memory) -> loom_runtime::Result<()> {
//! let app = loom_runtime::App::builder().store(store).build()?;
//! cli::run(app).await
//! # }
//! ```
//!
//! # Exit codes
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done; an execution that was run has completed |
//! | 1 | the flow returned an error |
//! | 2 | the command line, or the JSON that it gave, is not what was expected |
//! | 3 | the execution waits; `start` and `resume` print what for |
//! | 4 | the execution is parked; the report is printed |
//! | 5 | the execution was cancelled |
//! | 6 | not found, or refused: a conflict, answered before, already ended |
//! | 7 | the store cannot be reached or read |
//! | 130 | a signal came before it was done |
//!
//! Codes 1, 3, 4 and 5 come from verbs that run an execution (`start`, `resume`, `verdict`, `retry`, `cancel`);
//! with `--detach` these only record what was asked, and end with 0. `cancel` ends with 0 when the execution was
//! cancelled. `show`, `list`, `logs` end with 0 whatever the status of what they print.
//!
//! # Output for programs
//!
//! With the global `--json`, results are JSON on standard output, errors are one line of JSON on standard error,
//! and nothing is shortened. Fields are added, never renamed or removed.
//!
//! | verb | shape |
//! |---|---|
//! | `start` `resume` `verdict` `retry` `cancel` | `{execution, flow, status, events, created_at, updated_at, wake_at?, worker?, leased_until?, takeovers, waits: [wait], outcome?, parked?}` |
//! | `show` | the same, with `input`, `frames: [{frame, kind, status, attempt, …}]`, `gates: [gate]`, `unreadable?` |
//! | `list` | `{executions: [{execution, flow, status, …}], more}` |
//! | `list --gates` | `{gates: [{address, execution, frame, gate, state, opened_at, expires_at?, schema}], more}` |
//! | `logs` | a line per event: `{execution, sequence, kind, at, schema, payload, meta}` |
//! | `debug` | `{execution, at, events, state, event?, changes: [text]}` |
//! | `flows` | `{flows: [{name, doc, location, steps, gates, effects?}], steps: [{name, doc, location, delivery, retry, …}]}` |
//! | `graph` | `{flow, nodes: [{id, kind, label, line, column, marks?, group?}], edges: [{from, to, label?}], groups: [{id, label, part, group?}], tree: [node], parts: {name: [node]}}`; the same graph drawn and as a tree, see below |
//! | `schema` | `{flow, input, output, error, gates: {name: schema}}`, or the one schema that was asked for |
//! | `worker` | a line per change: `{event: "working" \| "stopping" \| "stopped" \| "warning", …}` |
//! | errors | `{error: {code, name, message, help: [text]}}` |
//!
//! A `node` of a graph's tree has a `kind`, a `line`, a `column` and maybe `marks`: `unbounded` for a loop of which the
//! source does not say that it ends, `unreachable` for what stands behind a return, a panic or a loop without end. Calls
//! have their `id`; `step` and `part` what is called, whose tree is in `parts`; `loop` a `label` and a `body`; `branch` and
//! `parallel` have `arms: [{label, body}]`.
//!
//! A `wait` has a `type`: `gate` (`frame`, `address`, `expires_at?`, `schema`), `timer` (`frame`, `due`), `retry`
//! (`frame`, `attempt`, `due`), `verdict` (`frame`, `attempt`, `reason`, `schema?`) or `step` (`frame`, `attempt`). An
//! `outcome` is `{completed: value}`, `{failed: {code, message, error?, engine?}}` or
//! `{cancelled: {reason, by}}`. Instants are RFC 3339; inside of payloads, frames and states they are as the log
//! has them, microseconds since 1970.

mod args;
mod console;
mod error;
mod exit;
mod fold;
mod input;
mod render;
mod rest;
mod shape;
mod suggest;
mod verbs;
mod waits;

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};
use loom_runtime::{App, ports::ListFilter};

use crate::{args::Cli, error::CliError, suggest::did_you_mean};
pub use crate::{
    console::{Console, Stop},
    exit::Exit,
};

/// Does what the process's arguments say. Returns when that went well; else the process ends with the exit code,
/// after a clean shutdown. Wants a tokio runtime with timers and I/O (which signals need), as `#[tokio::main]` makes.
///
/// # Errors
/// None so far: whatever goes wrong is told on standard error, and is an [exit code](crate#exit-codes).
pub async fn run(app: App) -> loom_runtime::Result<()> {
    match run_with(app, std::env::args_os(), &mut Console::process()).await {
        Exit::Done => Ok(()),
        exit => std::process::exit(exit.code().into()),
    }
}

/// Does what these arguments say, the program's name first, and shuts the app down.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let app = loom_runtime::App::builder().build().unwrap();
/// let mut console = cli::Console::new(std::io::sink(), std::io::sink(), std::io::empty());
/// let exit = cli::run_with(app, ["shop", "show", "order-7"], &mut console).await;
/// assert_eq!(exit, cli::Exit::Refused); // there is no such execution
/// # });
/// ```
pub async fn run_with<A>(app: App, args: impl IntoIterator<Item = A>, console: &mut Console) -> Exit
where
    A: Into<OsString> + Clone,
{
    let parsed = Cli::command().try_get_matches_from(args).and_then(|found| Cli::from_arg_matches(&found));
    let cli = match parsed {
        Ok(cli) => cli,
        Err(error) => return usage(&error, console),
    };
    let json = cli.json;
    let exit = match verbs::run(&app, console, cli).await {
        Ok(exit) => exit,
        Err(error) => {
            let error = with_similar(&app, error).await;
            tell(&error, json, console);
            error.exit
        }
    };
    if verbs::close(&app, console, verbs::GRACE).await { exit } else { Exit::Interrupted }
}

/// Help goes where results go, a mistake where errors go.
fn usage(error: &clap::Error, console: &mut Console) -> Exit {
    let text = error.render();
    let text = if console.colours { text.ansi().to_string() } else { text.to_string() };
    if error.use_stderr() {
        console.say(text.trim_end());
        Exit::Usage
    } else {
        console.print(&text);
        Exit::Done
    }
}

fn tell(error: &CliError, json: bool, console: &mut Console) {
    if json {
        let CliError { exit, message, help, .. } = error;
        let (code, name) = (exit.code(), exit.name());
        let told =
            serde_json::json!({"error": {"code": code, "name": name, "message": message, "help": help}});
        return console.say(&told.to_string());
    }
    let paint = render::paint::Paint(console.colours);
    console.say(&format!("{} {}", paint.red("error:"), error.message));
    for line in &error.help {
        console.say(&format!("  {} {}", paint.dim("help:"), line.replace('\n', "\n  ")));
    }
}

/// An execution that there is not: its id may be mistyped.
async fn with_similar(app: &App, error: CliError) -> CliError {
    const LOOKED_AT: usize = 5_000;
    let Some(id) = &error.unknown else { return error };
    let filter = ListFilter { limit: LOOKED_AT, ..ListFilter::default() };
    let rows = app.list(&filter).await.unwrap_or_default();
    let meant = did_you_mean(id.as_str(), rows.iter().map(|row| row.id.as_str()));
    error.help(meant.unwrap_or_else(|| "`list` prints the executions that there are".into()))
}
