//! `logs`: the events of an execution, one a line, as they are or as they come.
//! Not the state: `show` and `debug` fold.

use std::time::Duration;

use loom_runtime::view::Event;

use super::Verbs;
use crate::{args::Logs, error::CliError, exit::Exit, render::event::Lines};

const PAGE: usize = 256;
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(250);

impl Verbs<'_> {
    pub(super) async fn logs(&mut self, args: Logs) -> Result<Exit, CliError> {
        let id = self.execution(&args.execution)?;
        let store = self.app.store();
        let (mut next, mut wait) = (args.from, FIRST_WAIT);
        let mut lines = Lines::new(self.console.width);
        loop {
            // Stored records and not events: what this build cannot read is shown as it is.
            let page = store.read(&id, next, PAGE).await?;
            next += page.len() as u64;
            if self.json {
                for record in &page {
                    self.print_json(&Event::of(&id, record))?;
                }
            } else {
                let text = lines.page(&id, &page);
                self.console.print(&text);
            }
            if self.console.is_closed() {
                return Ok(Exit::Done);
            }
            if !page.is_empty() {
                wait = FIRST_WAIT;
                continue;
            }
            let row = self.app.row(&id).await?;
            if next < row.next {
                continue;
            }
            if !args.follow || row.status.is_terminal() {
                if next > row.next && !self.json {
                    self.console.say(&format!("{id} has {} events, from 0 on", row.next));
                }
                return Ok(Exit::Done);
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => wait = (wait * 2).min(LONGEST_WAIT),
                () = self.console.stop.asked() => return Ok(Exit::Done),
            }
        }
    }
}
