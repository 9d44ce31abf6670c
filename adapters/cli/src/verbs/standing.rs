//! The end of every verb that runs an execution: run it until it rests, then say where it stands.
//! Not the beginning: what was asked for is in the log or in the inbox by now.

use loom_runtime::{ExecutionId, Status, ports::ExecutionRow};

use super::Verbs;
use crate::{
    error::CliError,
    exit::Exit,
    fold::fold,
    render::execution::standing,
    rest::{Rest, rest},
    shape::{Execution, Standing},
    waits::waits,
};

impl Verbs<'_> {
    /// Runs the execution until it rests, and prints where it stands.
    pub(super) async fn run_on(&mut self, id: &ExecutionId) -> Result<(Exit, Status), CliError> {
        match rest(self.app, id, self.console).await? {
            Rest::At(row) => {
                self.print_standing(&row).await?;
                Ok((Exit::of(row.status), row.status))
            }
            Rest::Interrupted => {
                self.console.say(&format!("stopping: the next worker goes on with {id}"));
                if self.json {
                    let row = self.app.row(id).await?;
                    self.print_standing(&row).await?;
                }
                Ok((Exit::Interrupted, Status::Running))
            }
        }
    }

    /// Prints where it stands, without running it.
    pub(super) async fn hand_over(&mut self, id: &ExecutionId, done: &str) -> Result<Exit, CliError> {
        let row = self.app.row(id).await?;
        if self.json {
            self.print_standing(&row).await?;
        } else {
            self.console.line(done);
        }
        Ok(Exit::Done)
    }

    async fn print_standing(&mut self, row: &ExecutionRow) -> Result<(), CliError> {
        let folded = fold(self.app, &row.id, None).await?;
        let waits = waits(self.app.registry(), &folded.state, &self.app.gates(Some(&row.id)).await?);
        let state = &folded.state;
        if self.json {
            let (outcome, parked) = (state.outcome.as_ref(), state.parked.as_ref());
            self.print_json(&Standing { execution: Execution::of(row), waits, outcome, parked })?;
        } else {
            let text = standing(row, state, &waits, self.reader());
            self.console.print(&text);
        }
        Ok(())
    }
}
