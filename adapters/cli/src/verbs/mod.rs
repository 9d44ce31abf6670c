//! The verbs, one family a file: each reads its arguments, asks the app, and prints.
//! Not how things look: that is `render/` for people and `shape` for programs.

mod completions;
mod control;
mod debug;
mod flows;
mod graph;

mod list;
mod logs;
mod resume;
mod schema;
mod show;
mod standing;
mod start;
mod worker;

pub(crate) use worker::close;

use std::time::Duration;

use loom_runtime::{App, ExecutionId, FlowDescriptor};
use serde::Serialize;

use crate::{
    args::{Cli, Verb},
    console::Console,
    error::CliError,
    exit::Exit,
    render::{execution::Reader, paint::Paint},
    suggest::did_you_mean,
};

/// How long running steps may take to finish when a command that ran them is done.
pub(crate) const GRACE: Duration = Duration::from_secs(10);

/// What every verb gets.
pub(crate) struct Verbs<'a> {
    pub(crate) app: &'a App,
    pub(crate) console: &'a mut Console,
    pub(crate) json: bool,
}

/// Does what the command line says.
pub(crate) async fn run(app: &App, console: &mut Console, cli: Cli) -> Result<Exit, CliError> {
    let mut verbs = Verbs { app, console, json: cli.json };
    match cli.verb {
        Verb::Start(args) => verbs.start(args).await,
        Verb::Resume(args) => verbs.resume(args).await,
        Verb::Verdict(args) => verbs.verdict(args).await,
        Verb::Retry(args) => verbs.retry(args).await,
        Verb::Cancel(args) => verbs.cancel(args).await,
        Verb::List(args) => verbs.list(args).await,
        Verb::Show(args) => verbs.show(args).await,
        Verb::Logs(args) => verbs.logs(args).await,
        Verb::Schema(args) => verbs.schema(args),
        Verb::Worker(args) => verbs.worker(args).await,
        Verb::Completions(args) => verbs.completions(args),
        Verb::Debug(args) => verbs.debug(args).await,
        Verb::Flows => verbs.flows(),
        Verb::Graph(args) => verbs.graph(args),
    }
}

impl Verbs<'_> {
    fn reader(&self) -> Reader<'_> {
        Reader {
            program: &self.console.program,
            now: (self.console.now)(),
            paint: Paint(self.console.colours),
        }
    }

    /// Prints one JSON document on one line.
    fn print_json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string(value)
            .map_err(|error| CliError::new(Exit::Store, format!("a stored value is not JSON: {error}")))?;
        self.console.line(&text);
        Ok(())
    }

    /// The id of an execution. A gate's address is taken apart, since people copy them.
    fn execution(&self, text: &str) -> Result<ExecutionId, CliError> {
        Ok(text.split('/').next().unwrap_or(text).parse()?)
    }

    /// The flow of this name.
    fn flow(&self, name: &str) -> Result<&'static FlowDescriptor, CliError> {
        let registry = self.app.registry();
        registry.flow(name).ok_or_else(|| unknown("flow", name, registry.flows().map(|flow| flow.name)))
    }

    fn by(&self, by: crate::args::By) -> String {
        by.name.unwrap_or_else(|| self.console.by.clone())
    }
}

/// There is no such flow, step or gate; these there are.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> CliError {
    let known: Vec<_> = known.collect();
    let error = CliError::refused(format!("there is no {what} `{name}`"));
    match did_you_mean(name, known.iter().copied()) {
        Some(meant) => error.help(meant),
        None if known.is_empty() => error.help(format!("there are no {what}s")),
        None => error.help(format!("there are: {}", known.join(", "))),
    }
}
