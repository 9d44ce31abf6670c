//! `show`: everything that there is to know about one execution, but its events.
//! Not the events themselves: those are `logs` and `debug`.

use loom_runtime::ports::GateState;

use super::Verbs;
use crate::{
    args::Show,
    error::CliError,
    exit::Exit,
    fold::fold,
    render::{
        execution::{head, parked},
        frame::{frames, in_order},
        instant::{instant, with_distance},
        shell::command,
        table::Table,
        text::indent,
        wait,
    },
    shape::{Execution, Gate, NamedFrame, Standing, Whole},
    waits::waits,
};

impl Verbs<'_> {
    pub(super) async fn show(&mut self, args: Show) -> Result<Exit, CliError> {
        let id = self.execution(&args.execution)?;
        let row = self.app.row(&id).await?;
        let folded = fold(self.app, &id, None).await?;
        let gates = self.app.gates(Some(&id)).await?;
        let state = &folded.state;
        let waiting = waits(self.app.registry(), state, &gates);
        if self.json {
            let (outcome, parked) = (state.outcome.as_ref(), state.parked.as_ref());
            let frames = in_order(state);
            let whole = Whole {
                standing: Standing { execution: Execution::of(&row), waits: waiting, outcome, parked },
                input: &state.input,
                frames: frames.iter().map(|(id, of)| NamedFrame { frame: id.as_str(), of }).collect(),
                gates: gates.iter().map(Gate::of).collect(),
                unreadable: folded.trouble.as_deref(),
            };
            self.print_json(&whole)?;
            return Ok(Exit::Done);
        }
        let reader = self.reader();
        let (program, now, paint) = (reader.program, reader.now, reader.paint);
        let mut text = head(&row, state, reader);
        let mut section = |name: &str, body: String| {
            if !body.is_empty() {
                text.push_str(&format!("\n{}\n{}", paint.bold(name), indent(&body, 2)));
            }
        };
        if let Some(trouble) = &folded.trouble {
            section("UNREADABLE", format!("{trouble}\nwhat follows is the state before it"));
        }
        if let Some(report) = &state.parked {
            let retry = format!("  then      {}\n", command(&[program, "retry", id.as_str()]));
            let in_doubt = waiting.iter().any(|wait| matches!(wait, crate::waits::Wait::Verdict { .. }));
            section("PARKED", format!("{}{}", parked(report), if in_doubt { "" } else { &retry }));
        }
        section("WAITS FOR", wait::waits(&waiting, id.as_str(), program, now));
        let columns = self.console.width.map(|columns| columns.saturating_sub(2));
        let frames = frames(state);
        section("FRAMES", if frames.is_empty() { String::new() } else { frames.render(columns) });
        let mut table = Table::new(&["GATE", "STATE", "OPENED", "EXPIRES", "ANSWER", "BY"]);
        for gate in &gates {
            let known = state.frames.get(&gate.frame);
            let answer = known.filter(|_| gate.state == GateState::Answered).and_then(|f| f.outcome.as_ref());
            table.row([
                gate.frame.to_string(),
                gate.state.name().to_owned(),
                instant(gate.opened_at),
                gate.expires_at.map(|at| with_distance(at, now)).unwrap_or_default(),
                answer.map(crate::render::frame::outcome).unwrap_or_default(),
                known.and_then(|frame| frame.by.clone()).unwrap_or_default(),
            ]);
        }
        section("GATES", if table.is_empty() { String::new() } else { table.render(columns) });
        self.console.print(&text);
        Ok(Exit::Done)
    }
}
