//! One command, from its arguments to its exit code: what is opened for it, and how its errors are told.
//! Not what it does: that is `verbs/`.

use std::ffi::OsString;

use clap::{CommandFactory as _, FromArgMatches as _};
use loom_runtime::{
    App, LogSource, Registry,
    ports::{Caveat, ListFilter},
};

use crate::{
    args::{Cli, ReplayCheck, StoreVerb, Verb},
    console::Console,
    error::CliError,
    exit::Exit,
    render::paint::Paint,
    suggest::did_you_mean,
    verbs::{GRACE, Program, Verbs, close, replay_check},
};

/// Does what the arguments say. The app is only opened for verbs that need its store.
pub(crate) async fn command<A>(
    registry: &Registry,
    open: impl AsyncFnOnce() -> Result<App, CliError>,
    args: impl IntoIterator<Item = A>,
    console: &mut Console,
) -> Exit
where
    A: Into<OsString>,
{
    let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
    let parsed = Cli::command().try_get_matches_from(&args).and_then(|found| Cli::from_arg_matches(&found));
    let (json, exit) = match parsed {
        Err(error) => {
            // What was not understood may still ask for JSON.
            let json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
            (json, usage(&error, json, console))
        }
        Ok(Cli { json, verb: Verb::OfProgram(verb) }) => {
            let done = Program { registry, console, json }.run(verb);
            (json, done.unwrap_or_else(|error| tell(&error, json, console)))
        }
        Ok(Cli { json, verb: Verb::OfStore(StoreVerb::ReplayCheck(ReplayCheck { dir: Some(dir), .. })) }) => {
            let done = replay_check(registry, LogSource::Directory(dir), console, json).await;
            (json, done.unwrap_or_else(|error| tell(&error, json, console)))
        }
        Ok(Cli { json, verb: Verb::OfStore(verb) }) => (json, of_store(open, verb, json, console).await),
    };
    let Some(failure) = console.failure() else { return exit };
    let error = CliError::new(Exit::Output, format!("standard output cannot be written: {failure}"));
    tell(&error, json, console)
}

async fn of_store(
    open: impl AsyncFnOnce() -> Result<App, CliError>,
    verb: StoreVerb,
    json: bool,
    console: &mut Console,
) -> Exit {
    let app = match open().await {
        Ok(app) => app,
        Err(error) => return tell(&error, json, console),
    };
    if !matches!(verb, StoreVerb::Worker(_)) {
        warn_of_part(&app, json, console).await;
    }
    let exit = match (Verbs { app: &app, console, json }).run(verb).await {
        // It is closed already, or is not to be waited for.
        Ok(Exit::Interrupted) => return Exit::Interrupted,
        Ok(exit) => exit,
        Err(error) => {
            let error = with_similar(&app, error).await;
            tell(&error, json, console)
        }
    };
    if close(&app, console, GRACE).await { exit } else { Exit::Interrupted }
}

/// Whoever looks into one of several databases sees a part, and is told so. A store that fails is told of by the verb.
async fn warn_of_part(app: &App, json: bool, console: &mut Console) {
    let caveats = app.store().caveats().await.unwrap_or_default();
    for part in caveats.iter().filter(|caveat| matches!(caveat, Caveat::Part { .. })) {
        let text = match json {
            true => serde_json::json!({"warning": part.to_string()}).to_string(),
            false => format!("{} {part}", Paint(console.colours).yellow("warning:")),
        };
        console.say(&text);
    }
}

/// Help goes where results go, a mistake where errors go.
fn usage(error: &clap::Error, json: bool, console: &mut Console) -> Exit {
    if json && error.use_stderr() {
        return tell(&in_parts(error), json, console);
    }
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

/// What clap says in paragraphs: the mistake, then tips and the usage.
fn in_parts(error: &clap::Error) -> CliError {
    let text = error.render().to_string();
    let mut paragraphs = text.trim().split("\n\n").map(str::trim);
    let mistake = paragraphs.next().unwrap_or_default();
    let mistake = mistake.strip_prefix("error: ").unwrap_or(mistake);
    let lines: Vec<_> = mistake.lines().map(str::trim).collect();
    paragraphs.fold(CliError::usage(lines.join(" ")), CliError::help)
}

/// Tells what went wrong; answers the exit code of that.
fn tell(error: &CliError, json: bool, console: &mut Console) -> Exit {
    let CliError { exit, message, help, .. } = error;
    if json {
        let (code, name) = (exit.code(), exit.name());
        let told =
            serde_json::json!({"error": {"code": code, "name": name, "message": message, "help": help}});
        console.say(&told.to_string());
        return *exit;
    }
    let paint = Paint(console.colours);
    console.say(&format!("{} {message}", paint.red("error:")));
    for line in help {
        console.say(&format!("  {} {}", paint.dim("help:"), line.replace('\n', "\n  ")));
    }
    *exit
}

/// An execution that there is not: its id may be mistyped, or the store's address.
async fn with_similar(app: &App, mut error: CliError) -> CliError {
    const LOOKED_AT: usize = 5_000;
    let Some(id) = &error.unknown else { return error };
    let filter = ListFilter { limit: LOOKED_AT, ..ListFilter::default() };
    let Ok(rows) = app.list(&filter).await else { return error };
    if rows.is_empty() {
        error.message.push_str(": the store is empty");
        return error.help("is it the store that was meant? A mistyped name may have made a new one");
    }
    let meant = did_you_mean(id.as_str(), rows.iter().map(|row| row.id.as_str()));
    error.help(meant.unwrap_or_else(|| "`list` prints the executions that there are".into()))
}
