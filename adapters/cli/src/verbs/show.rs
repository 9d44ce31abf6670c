//! `show`: everything that there is to know about one execution, but its events.
//! Not the events themselves: those are `logs` and `debug`.

use loom_runtime::{
    ports::GateState,
    view::{Execution, Look, Pending, Wait, Whole},
};

use super::Verbs;
use crate::{
    args::Show,
    error::CliError,
    exit::Exit,
    render::{
        execution::{head, parked, then},
        frame::frames,
        instant::{instant, with_distance},
        received::received,
        table::Table,
        text::indent,
        wait,
    },
};

impl Verbs<'_> {
    pub(super) async fn show(&mut self, args: Show) -> Result<Exit, CliError> {
        let id = self.execution(&args.execution)?;
        let row = self.app.row(&id).await?;
        let seen = Look::at(self.app, &id).await?;
        let Look { folded, gates, waits, pending } = &seen;
        let state = &folded.state;
        if self.json {
            let execution = Execution::of(&row, self.app.registry());
            self.print_json(&Whole::of(execution, &seen))?;
            return Ok(Exit::Done);
        }
        let (reader, has_archive) = (self.reader(), self.app.archive().is_some());
        let (program, now, paint) = (reader.program, reader.now, reader.paint);
        let mut text =
            head(&row, state, self.lacks_flow(&row), self.app.limits().history, has_archive, reader);
        let mut section = |name: &str, body: String| {
            if !body.is_empty() {
                text.push_str(&format!("\n{}\n{}", paint.bold(name), indent(&body, 2)));
            }
        };
        if let Some(trouble) = &folded.trouble {
            section("UNREADABLE", format!("{trouble}\nwhat follows is the state before it"));
        }
        if let Some(report) = &state.parked {
            let retry = format!("  then      {}\n", then(report, &row, program));
            let in_doubt = waits.iter().any(|wait| matches!(wait, Wait::Verdict { .. }));
            let helped = in_doubt || pending.iter().any(Pending::helps);
            section("PARKED", format!("{}{}", parked(report), if helped { "" } else { &retry }));
        }
        section("WAITS FOR", wait::waits(waits, id.as_str(), program, now));
        section("NOT TAKEN IN YET", wait::pending(pending, &row, program));
        let columns = self.console.width.map(|columns| columns.saturating_sub(2));
        let frames = frames(state);
        section("FRAMES", if frames.is_empty() { String::new() } else { frames.render(columns) });
        let mut table = Table::new(&["GATE", "STATE", "OPENED", "EXPIRES", "ANSWER", "BY"]);
        for gate in gates {
            let known = state.frames.get(&gate.frame);
            let early = gate.answered_by(pending).filter(|_| gate.state == GateState::Open);
            // Only what is open still runs out.
            let until = |at| if gate.state == GateState::Open { with_distance(at, now) } else { instant(at) };
            let answer = known.filter(|_| gate.state == GateState::Answered).and_then(|f| f.outcome.as_ref());
            table.row([
                gate.frame.to_string(),
                early.map_or(gate.state.name(), |_| "answered, not taken in yet").to_owned(),
                instant(gate.opened_at),
                gate.expires_at.map(until).unwrap_or_default(),
                answer.map(crate::render::frame::outcome).unwrap_or_default(),
                known.and_then(|frame| frame.by.clone()).or(early.map(Into::into)).unwrap_or_default(),
            ]);
        }
        section("GATES", if table.is_empty() { String::new() } else { table.render(columns) });
        let messages = received(&folded.received);
        section("MESSAGES", if messages.is_empty() { String::new() } else { messages.render(columns) });
        self.console.print(&text);
        Ok(Exit::Done)
    }
}
