//! The command line that a Loom application carries: start, resume, list, show, logs, worker and more.
//! Not a program of its own, and no server: it is the user's `main`, over the user's flows and store.
//!
//! ```no_run
//! # use loom_runtime::{App, Memory};
//! # async fn open_store() -> loom_runtime::Result<Memory> { Ok(Memory::new()) }
//! # async fn main_() -> loom_runtime::Result<()> {
//! cli::main(async || Ok(App::builder().store(open_store().await?))).await
//! # }
//! ```
//!
//! # What depends on features
//!
//! With `http`, `serve` is a worker that answers requests over HTTP too, with a token and on loopback unless told otherwise:
//!
//! ```sh
//! app serve                                                    # 127.0.0.1:7766, and a token that it prints
//! openssl rand -hex 32 > token
//! app serve --http 0.0.0.0:7766 --token-file token             # or LOOM_TOKEN; TLS is a proxy's, in front of it
//! curl -H "Authorization: Bearer $(cat token)" -H 'Content-Type: application/json' \
//!      -d '{"flow": "checkout", "input": {"sku": "tea"}, "id": "order-7"}' http://127.0.0.1:7766/v1/executions
//! curl -H "Authorization: Bearer $(cat token)" 'http://127.0.0.1:7766/v1/executions/order-7/result?wait=30'
//! ```
//!
//! A token for readers, or one that opens the store to remote workers, is set in code: `loom_http::Config`.
//!
//! With `shards`, and a store that `Shards::open` made, `shards` tells which database has how much, and moves it:
//!
//! ```sh
//! app shards census
//! app shards spread --dry-run     # counts slots and executions, and moves nothing
//! app shards drain eu-1
//! ```
//!
//! # Exit codes
//!
//! | code | meaning |
//! |---|---|
//! | 0 | done; an execution that was run has completed |
//! | 1 | the flow returned an error |
//! | 2 | the command line, the JSON that it gave, or the program's wiring is not what was expected |
//! | 3 | the execution waits; `start` and `resume` print what for |
//! | 4 | the execution is parked; the report is printed |
//! | 5 | the execution was cancelled |
//! | 6 | not found, or refused: a conflict, answered before, already ended, no log to check, a token that the store's server does not take |
//! | 7 | the store cannot be opened, reached or read |
//! | 8 | standard output, or a file of `export`, cannot be written; a reader that has gone (`\| head`) is no error |
//! | 9 | `replay-check`: a log does not agree with this program; each is listed with its report |
//! | 130 | a signal came before it was done |
//!
//! Codes 1, 3, 4 and 5 come from verbs that run an execution (`start`, `fork`, `resume`, `send`, `verdict`, `retry`,
//! `cancel`); with `--detach` these only record what was asked, and end with 0. `update` ends with 0 once it has its
//! reply, wherever the execution then stands (what it goes on with at once has ten seconds, the rest is a worker's), with 6
//! when it was rejected, and as `send` when the execution rests without having taken it. `cancel` ends with 0 when the execution was cancelled. `show`, `list`, `logs` end with 0 whatever the status of what they print.
//!
//! # Output for programs
//!
//! With the global `--json`, results are JSON on standard output, errors are one line of JSON on standard error,
//! and nothing is shortened. Fields are added, never renamed or removed.
//!
//! | verb | shape |
//! |---|---|
//! | `start` `resume` `send` `verdict` `retry` `cancel` | `{execution, flow, status, events, archived?, created_at, updated_at, wake_at?, worker?, leased_until?, takeovers, priority?, lane?: {key, at_most?, rate?, weight?}, unknown_flow?, waits: [wait], pending: [said], ends?, outcome?, parked?}` |
//! | `update` | `{execution, topic, reply}`; as `send` when the execution rests without having taken it |
//! | `show` | the same, with `input`, `frames: [{frame, kind, status, attempt, …}]`, `gates: [gate]`, `received: [message]`, `unreadable?`; `null` and nothing for one that was archived |
//! | `list` | `{executions: [{execution, flow, status, …}], more}` |
//! | `list --gates` | `{gates: [{address, execution, frame, gate, state, opened_at, expires_at?, schema}], more}` |
//! | `schedules` | `{schedules: [{flow, cron, time_zone, overlap, catch_up, execution, status?, paused_by?, running: [execution], waiting: [execution], left_out: [instant], next: [instant]}]}` |
//! | `schedules trigger` `schedules backfill` | `{runs: [execution]}`; `pause` and `resume` `{flow}` |
//! | `logs` | a line per event: `{execution, sequence, kind, at, schema, payload, meta}` |
//! | `export` | a line per file: `{execution, file, events, new}`, `new` being how many of the events the file did not have |
//! | `replay-check` | `{logs, events, foreign, diverged: [{log, execution?, report}]}` |
//! | `debug` | `{execution, at, events, state, event?, changes: [text]}` |
//! | `fork` | as `start` |
//! | `diff` | `{shared, parts?: {sequence, a?, b?}, runs: [{run, same: [frame], only_a: [frame], only_b: [frame], changed: [{frame, what: [text], values: [text, text]}]}], ends: [{status, outcome?}, …]}` |
//! | `branches` | `{branches: [{branch, execution, version, set_at, by}]}` |
//! | `promote` | `{branch, execution, version, set_at, by}` |
//! | `retention run` | `{rehearsal, removed: {reason: {executions, events, bytes}}, held: [{by: {kind: name}, executions}], moved, snapshots, early_messages}`; a reason is `completed`, `failed`, `cancelled` or `earlier_runs`, a kind `execution`, `tree`, `parent`, `branch` or `unreadable` |
//! | `archive show` | as `logs` |
//! | `archive list` | `{executions: [execution]}` |
//! | `flows` | `{flows: [{name, doc, location, code, steps, gates, messages: [{name, schema, reply?}], effects?}], steps: [{name, doc, location, delivery, retry, …}]}` |
//! | `graph` | `{flow, nodes: [{id, kind, label, line, column, policy?, limit?, marks?, group?}], edges: [{from, to, label?}], groups: [{id, label, part, group?}], tree: [node], parts: {name: [node]}}`; the same graph drawn and as a tree, see below |
//! | `schema` | `{flow, input, output, error, gates: {name: schema}, messages: {topic: {message, reply?}}}`, `{step, tool?, input, output, error}`, `{event, version, data}`, or the one gate or topic that was asked for |
//! | `worker` | a line per change: `{event: "working" \| "parked" \| "stopping" \| "stopped" \| "warning", …}` |
//! | `serve` | as `worker`, and `{event: "listening", address, token?}`: the token if it was made for this run |
//! | `shards census` | `{databases: [{name, slots}]}` |
//! | `shards move-slots` `spread` `drain` `finish` | `{rehearsal: false, slots}`; with `--dry-run` `{rehearsal: true, moves: [{from, to, slots, executions}]}` |
//! | warnings | `{warning: text}` on standard error: this database is one of several, and was opened alone |
//! | errors | `{error: {code, name, message, help: [text]}}` |
//!
//! A `node` of a graph's tree has a `kind`, a `line`, a `column` and maybe `marks`: `unbounded` for a loop of which the
//! source does not say that it ends, `unreachable` for what stands behind a return, a panic or a loop without end. Calls
//! have their `id`; `step` and `part` what is called, whose tree is in `parts`; `loop` a `label` and a `body`; `branch` and
//! `parallel` have `arms: [{label, body}]`. What `ctx.parallel` and `ctx.scope` run side by side has a `policy`, `all`,
//! `fail_fast`, `drain` or `detach`, and a `limit` as written, where the source says so.
//!
//! A `wait` has a `type`: `gate` (`frame`, `address`, `expires_at?`, `schema`), `timer` (`frame`, `due`), `retry`
//! (`frame`, `attempt`, `due`), `verdict` (`frame`, `attempt`, `reason`, `schema?`), `message` (`frame`, `topic`, `schema?`,
//! `reply?`: two schemas), `child` (`frame`, `child`, `status?`) or `step` (`frame`, `attempt`). An
//! `outcome` is `{completed: value}`, `{failed: {code, message, error?, engine?}}` or
//! `{cancelled: {reason, by}}`. What was `said` and is not taken in yet has a `type` and an `at`: `answer` (`frame`,
//! `by`), `cancel` (`reason`, `by`), `verdict` (`frame`, `by`), `message` (`topic`, `by`) or `retry`; a gate that was
//! answered so is no `wait`, and has `answered_by`. A received `message` is `{topic, by, sequence, at, body, frame?,
//! expects_reply, reply?, dead_letter?}`: `sequence` is the event's, a `reply` is `{accepted: value}` or
//! `{rejected: reason}`, `dead_letter` says why nobody takes it, or replies any more. `unknown_flow` is true when only another program can go on with it; `list` has `waits_for_code`, a fingerprint, where code
//! is waited for that agrees with the log. Instants are RFC 3339; inside of payloads, frames and states they are as the log
//! has them, microseconds since 1970.

mod args;
mod command;
mod console;
mod error;
mod exit;
mod input;
mod render;
mod rest;
mod suggest;
mod verbs;

use std::ffi::OsString;

use loom_runtime::{App, AppBuilder, Registry};

use crate::error::CliError;
pub use crate::{
    console::{Console, Stop},
    exit::Exit,
};

/// Does what the process's arguments say, as the whole of a `main`. `open` makes the program's parts and opens its
/// store; it is only called for verbs that need the store, so that `--help` or `flows` makes no file. Wants a tokio
/// runtime with timers and I/O (which signals need), as `#[tokio::main]` makes.
///
/// Verbs without a store see the linked-in flows ([`Registry::linked`]), whatever registry the builder has.
///
/// Returns when all went well; else the process ends with the exit code, after a clean shutdown: 7 when `open` fails,
/// 2 when the program is wired wrongly.
///
/// # Errors
/// None so far: whatever goes wrong is told on standard error, and is an [exit code](crate#exit-codes).
pub async fn main(open: impl AsyncFnOnce() -> loom_runtime::Result<AppBuilder>) -> loom_runtime::Result<()> {
    end(main_with(open, std::env::args_os(), &mut Console::process()).await)
}

/// As [`main`], for these arguments, the program's name first.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let mut console = cli::Console::new(std::io::sink(), std::io::sink(), std::io::empty());
/// let open = async || Err(loom_runtime::Error::msg("the disk is full"));
/// assert_eq!(cli::main_with(open, ["shop", "list"], &mut console).await, cli::Exit::Store);
/// let open = async || unreachable!("help needs no store");
/// assert_eq!(cli::main_with(open, ["shop", "--help"], &mut console).await, cli::Exit::Done);
/// # });
/// ```
pub async fn main_with<A>(
    open: impl AsyncFnOnce() -> loom_runtime::Result<AppBuilder>,
    args: impl IntoIterator<Item = A>,
    console: &mut Console,
) -> Exit
where
    A: Into<OsString>,
{
    let open = async || {
        let builder = open().await.map_err(|error| CliError::opening(&error))?;
        builder.build().map_err(CliError::from)
    };
    command::command(&Registry::linked(), open, args, console).await
}

/// As [`main`], with an app that is there already: its store is open, whatever the verb.
///
/// # Errors
/// As for [`main`].
pub async fn run(app: App) -> loom_runtime::Result<()> {
    end(run_with(app, std::env::args_os(), &mut Console::process()).await)
}

/// As [`run`], for these arguments, the program's name first. Shuts the app down after a verb that uses its store.
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
    A: Into<OsString>,
{
    let opened = app.clone();
    command::command(app.registry(), async move || Ok(opened), args, console).await
}

fn end(exit: Exit) -> loom_runtime::Result<()> {
    match exit {
        Exit::Done => Ok(()),
        exit => std::process::exit(exit.code().into()),
    }
}
