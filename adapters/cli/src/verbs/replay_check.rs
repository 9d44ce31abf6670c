//! `replay-check`: does this program agree with the logs of a directory, or of the store?
//! Not the check itself, which is the runtime's: here it is shown how it went.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use loom_runtime::{
    CheckedLogs, ExecutionId, LogSource, LogSourceError, Registry, Status, kernel::ParkReport,
    ports::ListFilter, replay_check_all,
};
use serde::Serialize;

use super::{Verbs, print_json, unknown};
use crate::{
    args::ReplayCheck,
    console::Console,
    error::CliError,
    exit::Exit,
    render::text::{count, indent},
};

/// What `--json` prints.
#[derive(Serialize)]
struct Shape<'a> {
    logs: u64,
    events: u64,
    foreign: u64,
    diverged: Vec<Diverged<'a>>,
}

#[derive(Serialize)]
struct Diverged<'a> {
    log: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<&'a ExecutionId>,
    report: &'a ParkReport,
}

impl Verbs<'_> {
    pub(super) async fn replay_check(&mut self, args: ReplayCheck) -> Result<Exit, CliError> {
        let registry = self.app.registry();
        if let Some(flow) = &args.flow
            && registry.flow(flow).is_none()
        {
            return Err(unknown("flow", flow, registry.flows().map(|flow| flow.name)));
        }
        let open = Status::ALL.into_iter().filter(|status| args.open && !status.is_terminal());
        let filter = ListFilter { statuses: open.collect(), flow: args.flow, ..ListFilter::default() };
        let source = LogSource::Store(self.app.store(), filter);
        replay_check(registry, source, self.console, self.json).await
    }
}

/// Checks the logs of a source, and tells what was found.
pub(crate) async fn replay_check(
    registry: &Registry,
    source: LogSource,
    console: &mut Console,
    json: bool,
) -> Result<Exit, CliError> {
    let bar = match console.progress && !json {
        true => ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()),
        false => ProgressBar::hidden(),
    };
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} logs replayed") {
        bar.set_style(style);
    }
    let checked = replay_check_all(registry, source, |logs| bar.set_position(logs)).await;
    bar.finish_and_clear();
    let checked = checked?;
    if checked.logs == 0 && checked.foreign > 0 {
        let all = count(checked.foreign, "log");
        return Err(CliError::refused(format!(
            "nothing was checked: {all} found, of flows that this program does not have"
        ))
        .help("check them with the program that has their flows; `flows` lists those of this one"));
    }
    let exit = if checked.diverged.is_empty() { Exit::Done } else { Exit::Diverged };
    if json {
        print_json(console, &shape(&checked))?;
        return Ok(exit);
    }
    for found in &checked.diverged {
        let of =
            found.execution.as_ref().map(|id| format!("  {id}")).filter(|_| found.log.ends_with(".jsonl"));
        console.line(&format!("{}{}", found.log, of.unwrap_or_default()));
        console.print(&indent(&format!("{}\n", found.report), 2));
    }
    let CheckedLogs { logs, events, foreign, diverged } = &checked;
    let agree = logs - diverged.len() as u64;
    console.say(&format!("{agree} of {logs} logs agree with this program ({events} events)"));
    if *foreign > 0 {
        console.say(&format!("{foreign} are of flows that another program has: not replayed"));
    }
    Ok(exit)
}

fn shape(checked: &CheckedLogs) -> Shape<'_> {
    let diverged = checked.diverged.iter().map(|found| Diverged {
        log: &found.log,
        execution: found.execution.as_ref(),
        report: &found.report,
    });
    let CheckedLogs { logs, events, foreign, .. } = *checked;
    Shape { logs, events, foreign, diverged: diverged.collect() }
}

impl From<LogSourceError> for CliError {
    fn from(error: LogSourceError) -> Self {
        let message = error.to_string();
        match error {
            LogSourceError::Store(error) => error.into(),
            _ => Self::refused(message),
        }
    }
}
