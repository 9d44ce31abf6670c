//! The verbs, one family a file: each reads its arguments, asks the app, and prints.
//! Not how things look: that is `render/` for people and `shape` for programs.

mod completions;
mod control;
mod debug;
mod export;
mod flows;
mod fork;
mod graph;
mod list;
mod logs;
mod replay_check;
mod resume;
mod retention;
mod schedules;
mod schema;
mod send;
#[cfg(feature = "http")]
mod serve;
#[cfg(feature = "shards")]
mod shards;
mod show;
mod standing;
mod start;
mod worker;

pub(crate) use replay_check::replay_check;
pub(crate) use worker::close;

use std::time::Duration;

use loom_runtime::{App, ExecutionId, FlowDescriptor, Registry};
use serde::Serialize;

use crate::{
    args::{ProgramVerb, StoreVerb},
    console::Console,
    error::CliError,
    exit::Exit,
    render::{execution::Reader, paint::Paint},
    suggest::did_you_mean,
};

/// How long running steps may take to finish when a command that ran them is done.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// What a verb of the store gets.
pub(crate) struct Verbs<'a> {
    pub(crate) app: &'a App,
    pub(crate) console: &'a mut Console,
    pub(crate) json: bool,
}

/// What a verb gets that needs no store.
pub(crate) struct Program<'a> {
    pub(crate) registry: &'a Registry,
    pub(crate) console: &'a mut Console,
    pub(crate) json: bool,
}

impl Verbs<'_> {
    /// Does what the command line says.
    pub(crate) async fn run(mut self, verb: StoreVerb) -> Result<Exit, CliError> {
        match verb {
            StoreVerb::Start(args) => self.start(args).await,
            StoreVerb::Resume(args) => self.resume(args).await,
            StoreVerb::Send(args) => self.send(args).await,
            StoreVerb::Update(args) => self.update(args).await,
            StoreVerb::Verdict(args) => self.verdict(args).await,
            StoreVerb::Retry(args) => self.retry(args).await,
            StoreVerb::Cancel(args) => self.cancel(args).await,
            StoreVerb::List(args) => self.list(args).await,
            StoreVerb::Show(args) => self.show(args).await,
            StoreVerb::Logs(args) => self.logs(args).await,
            StoreVerb::Export(args) => self.export(args).await,
            StoreVerb::ReplayCheck(args) => self.replay_check(args).await,
            StoreVerb::Debug(args) => self.debug(args).await,
            StoreVerb::Fork(args) => self.fork(args).await,
            StoreVerb::Diff(args) => self.diff(args).await,
            StoreVerb::Branches => self.branches().await,
            StoreVerb::Promote(args) => self.promote(args).await,
            StoreVerb::Schedules(args) => self.schedules(args).await,
            StoreVerb::Retention(verb) => self.retention(verb).await,
            StoreVerb::Archive(verb) => self.archive(verb).await,
            #[cfg(feature = "shards")]
            StoreVerb::Shards(verb) => self.shards(verb).await,
            StoreVerb::Worker(args) => self.worker(args).await,
            #[cfg(feature = "http")]
            StoreVerb::Serve(args) => self.serve(args).await,
        }
    }

    fn reader(&self) -> Reader<'_> {
        reader(self.console)
    }

    /// Prints one JSON document on one line.
    fn print_json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        print_json(self.console, value)
    }

    /// The id of an execution. A gate's address is taken apart, since people copy them.
    fn execution(&self, text: &str) -> Result<ExecutionId, CliError> {
        Ok(text.split('/').next().unwrap_or(text).parse()?)
    }

    fn by(&self, by: crate::args::By) -> String {
        by.name.unwrap_or_else(|| self.console.by.clone())
    }
}

impl Program<'_> {
    /// Does what the command line says.
    pub(crate) fn run(mut self, verb: ProgramVerb) -> Result<Exit, CliError> {
        match verb {
            ProgramVerb::Flows => self.flows(),
            ProgramVerb::Graph(args) => self.graph(args),
            ProgramVerb::Schema(args) => self.schema(args),
            ProgramVerb::Completions(args) => self.completions(args),
        }
    }

    fn print_json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        print_json(self.console, value)
    }
}

fn reader(console: &Console) -> Reader<'_> {
    Reader { program: &console.program, now: (console.now)(), paint: Paint(console.colours) }
}

fn print_json(console: &mut Console, value: &impl Serialize) -> Result<(), CliError> {
    let text = serde_json::to_string(value)
        .map_err(|error| CliError::new(Exit::Store, format!("a stored value is not JSON: {error}")))?;
    console.line(&text);
    Ok(())
}

/// The flow of this name.
fn flow(registry: &Registry, name: &str) -> Result<&'static FlowDescriptor, CliError> {
    registry.flow(name).ok_or_else(|| unknown("flow", name, registry.flows().map(|flow| flow.name)))
}

/// There is no such flow, step, gate or topic; these there are.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> CliError {
    let known: Vec<_> = known.collect();
    let error = CliError::refused(format!("there is no {what} `{name}`"));
    match did_you_mean(name, known.iter().copied()) {
        Some(meant) => error.help(meant),
        None if known.is_empty() => error.help(format!("there are no {what}s")),
        None => error.help(format!("there are: {}", known.join(", "))),
    }
}
