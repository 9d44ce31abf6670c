//! The end of every verb that runs an execution: run it until it rests, then say where it stands.
//! Not the beginning: what was asked for is in the log or in the inbox by now.

use loom_runtime::{
    ExecutionId, Status,
    ports::ExecutionRow,
    view::{Execution, Look, Standing},
};

use super::{GRACE, Verbs, close};
use crate::{
    error::CliError,
    exit::Exit,
    render::{
        execution::{long_history, missing_flow, standing},
        instant::span,
    },
    rest::{Rest, rest},
};

impl Verbs<'_> {
    /// Runs the execution until it rests, and prints where it stands.
    pub(super) async fn run_on(&mut self, id: &ExecutionId) -> Result<(Exit, Status), CliError> {
        let row = self.app.row(id).await?;
        if self.lacks_flow(&row) {
            // Nothing comes of waiting for it here.
            let text = missing_flow(&row.flow, "recorded");
            self.print_standing(&row, Some(&text)).await?;
            return Ok((Exit::Done, row.status));
        }
        match rest(self.app, id, self.console, self.json).await? {
            Rest::At(row) => {
                self.print_standing(&row, None).await?;
                Ok((Exit::of(row.status), row.status))
            }
            Rest::Interrupted => self.stop(id).await,
        }
    }

    /// Lets what runs finish, unless a second signal comes, and says what has become of the execution.
    pub(super) async fn stop(&mut self, id: &ExecutionId) -> Result<(Exit, Status), CliError> {
        self.note(&format!("stopping: running steps have {}; again to stop at once", span(GRACE)));
        let clean = close(self.app, self.console, GRACE).await;
        let row = self.app.row(id).await?;
        if clean && row.status != Status::Running {
            self.print_standing(&row, None).await?;
            return Ok((Exit::of(row.status), row.status));
        }
        let text = match &row.lease {
            Some(lease) if lease.worker != self.app.worker() => {
                format!("is still run by worker {}", lease.worker)
            }
            _ if clean => "handed back: the next worker goes on with it".into(),
            _ => "stopped at once: the next worker takes it over when its lease ends".into(),
        };
        let text = format!("{id} {text}");
        self.print_standing(&row, Some(&text)).await?;
        Ok((Exit::Interrupted, row.status))
    }

    /// Prints where it stands, without running it.
    pub(super) async fn hand_over(&mut self, id: &ExecutionId, done: &str) -> Result<Exit, CliError> {
        let row = self.app.row(id).await?;
        self.print_standing(&row, Some(done)).await?;
        if self.lacks_flow(&row) {
            self.note(&missing_flow(&row.flow, "recorded"));
        }
        Ok(Exit::Done)
    }

    /// Whether only another program can go on with it.
    pub(super) fn lacks_flow(&self, row: &ExecutionRow) -> bool {
        !row.status.is_terminal() && self.app.registry().flow(&row.flow).is_none()
    }

    /// Says something to people that programs find in the results.
    pub(super) fn note(&mut self, text: &str) {
        if !self.json {
            self.console.say(text);
        }
    }

    /// Prints where it stands, or for people this text.
    async fn print_standing(&mut self, row: &ExecutionRow, instead: Option<&str>) -> Result<(), CliError> {
        if let (Some(text), false) = (instead, self.json) {
            self.console.line(text);
            return Ok(());
        }
        let seen = Look::at(self.app, &row.id).await?;
        let state = &seen.folded.state;
        if self.json {
            let execution = Execution::of(row, self.app.registry());
            return self.print_json(&Standing::of(execution, &seen));
        }
        let text = standing(row, state, &seen.waits, &seen.pending, self.reader());
        self.console.print(&text);
        if let Some(long) = long_history(row, self.app.limits().history) {
            self.console.say(&format!("warning: {} has {long}", row.id));
        }
        Ok(())
    }
}
