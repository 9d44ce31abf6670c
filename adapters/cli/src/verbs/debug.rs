//! `debug`: the state after the first N events, and what the last of them changed.
//! Not a run: no code of the user's is called, a log is enough.

use loom_runtime::{
    ExecutionId,
    kernel::State,
    view::{Event, Folded},
};
use serde::Serialize;

use super::Verbs;
use crate::{
    args::Debug,
    error::CliError,
    exit::Exit,
    render::{
        changes::changes,
        event::essence,
        frame::{frames, outcome},
        instant::precise,
        text::{PAYLOAD, indent, shorten},
    },
};

/// What `debug` prints.
#[derive(Debug, Serialize)]
struct Moment<'a> {
    execution: &'a ExecutionId,
    /// How many events are folded in.
    at: u64,
    /// How many there are.
    events: u64,
    state: &'a State,
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Event<'a>>,
    changes: Vec<String>,
}

impl Verbs<'_> {
    pub(super) async fn debug(&mut self, args: Debug) -> Result<Exit, CliError> {
        let id = self.execution(&args.execution)?;
        let events = self.app.row(&id).await?.next;
        let at = args.at.unwrap_or(events);
        if at > events {
            return Err(CliError::usage(format!("{id} has {events} events, `--at {at}` is beyond them"))
                .help(format!("`--at {events}` is the newest state, `--at 0` the one before all events")));
        }
        let folded = Folded::of(self.app, &id, Some(at)).await?;
        if let Some(trouble) = &folded.trouble {
            self.console.say(&format!("the log is readable up to event {}: {trouble}", folded.state.next));
        }
        let (state, at) = (&folded.state, folded.state.next);
        let before = folded.before.unwrap_or_default();
        let changes = if folded.last.is_some() { changes(&before, state) } else { Vec::new() };
        if self.json {
            let record = folded.last.as_ref().map(|last| last.encode()).transpose()?;
            let event = record.as_ref().map(|record| Event::of(&id, record));
            self.print_json(&Moment { execution: &id, at, events, state, event, changes })?;
            return Ok(Exit::Done);
        }
        let paint = self.reader().paint;
        let mut text = format!("{}  after {at} of {events} events\n", paint.bold(id.as_str()));
        let mut section = |name: &str, body: String| {
            if !body.is_empty() {
                text.push_str(&format!("\n{}\n{}", paint.bold(name), indent(&body, 2)));
            }
        };
        if let Some(last) = &folded.last {
            let frame = last.event.frame().map(|frame| format!("  {frame}")).unwrap_or_default();
            let kind = last.event.kind().name();
            let head = format!("{}  {kind}{frame}  {}", precise(last.at), essence(&last.event));
            section(&format!("EVENT {}", last.sequence), head.trim_end().to_owned());
            section("CHANGED", changes.join("\n"));
        }
        if at > 0 {
            let mut lines = vec![format!("flow     {}", state.flow), format!("status   {}", state.status)];
            lines.push(format!("input    {}", shorten(state.input.as_str(), 2 * PAYLOAD)));
            lines.extend(state.outcome.as_ref().map(|ended| format!("outcome  {}", outcome(ended))));
            lines.extend(state.parked.as_ref().map(|report| format!("parked   {}", report.message)));
            section("STATE", lines.join("\n"));
        }
        let frames = frames(state);
        let columns = self.console.width.map(|columns| columns.saturating_sub(2));
        section("FRAMES", if frames.is_empty() { String::new() } else { frames.render(columns) });
        self.console.print(&text);
        Ok(Exit::Done)
    }
}
