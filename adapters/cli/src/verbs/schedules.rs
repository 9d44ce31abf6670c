//! `schedules`: what starts by itself and when, and what people tell it.
//! Not the keeping of schedules: a `worker` does that.

use coordination::{Schedule, Schedules as _};
use loom_runtime::{ExecutionId, Timestamp};
use serde_json::{Value, json};

use super::Verbs;
use crate::{
    args::{ScheduleTold, Schedules},
    error::CliError,
    exit::Exit,
    render::{instant::with_distance, table::Table},
};

impl Verbs<'_> {
    pub(super) async fn schedules(&mut self, args: Schedules) -> Result<Exit, CliError> {
        match args.told {
            None => self.list_schedules().await,
            Some(ScheduleTold::Pause { flow, by }) => {
                let by = self.by(by);
                self.app.schedule(&flow)?.pause(&by).await?;
                self.schedule_told(&flow, "is to pause")
            }
            Some(ScheduleTold::Resume { flow, by }) => {
                let by = self.by(by);
                self.app.schedule(&flow)?.resume(&by).await?;
                self.schedule_told(&flow, "is to go on")
            }
            Some(ScheduleTold::Trigger { flow }) => {
                let run = self.app.schedule(&flow)?.trigger().await?;
                self.runs_asked_for(&[run])
            }
            Some(ScheduleTold::Backfill { flow, from, to }) => {
                let range = instant_of(&from)?..instant_of(&to)?;
                let runs = self.app.schedule(&flow)?.backfill(range).await?;
                self.runs_asked_for(&runs)
            }
        }
    }

    async fn list_schedules(&mut self) -> Result<Exit, CliError> {
        let schedules = self.app.schedules().await?;
        if self.json {
            let schedules: Vec<_> = schedules.iter().map(as_json).collect();
            self.print_json(&json!({"schedules": schedules}))?;
            return Ok(Exit::Done);
        }
        let now = (self.console.now)();
        let mut table = Table::new(&["FLOW", "SCHEDULE", "NEXT", "RUNNING", "LEFT OUT"]);
        for schedule in &schedules {
            let at = schedule.descriptor;
            let next = match (&schedule.paused, schedule.next.first()) {
                (Some(by), _) => format!("paused by {by}"),
                (None, Some(at)) => with_distance(*at, now),
                (None, None) => schedule.status.map(|status| status.to_string()).unwrap_or_default(),
            };
            let mut running = schedule.running.len().to_string();
            if !schedule.waiting.is_empty() {
                running += &format!(", {} to follow", schedule.waiting.len());
            }
            let left_out = schedule.left_out.last().map(|at| with_distance(*at, now)).unwrap_or_default();
            let when = format!("{} ({})", at.cron, at.time_zone);
            table.row([schedule.flow.to_owned(), when, next, running, left_out]);
        }
        if table.is_empty() {
            self.console.say("no flow of this program has a schedule");
            return Ok(Exit::Done);
        }
        let text = table.render(self.console.width);
        self.console.print(&text);
        Ok(Exit::Done)
    }

    fn schedule_told(&mut self, flow: &str, what: &str) -> Result<Exit, CliError> {
        if self.json {
            self.print_json(&json!({"flow": flow}))?;
        } else {
            self.console.line(&format!("the schedule of {flow} {what}: a worker sees to it"));
        }
        Ok(Exit::Done)
    }

    fn runs_asked_for(&mut self, runs: &[ExecutionId]) -> Result<Exit, CliError> {
        if self.json {
            self.print_json(&json!({"runs": runs}))?;
        } else {
            runs.iter().for_each(|run| self.console.line(run.as_str()));
            self.console.say(&format!("{} to run: a worker sees to it", runs.len()));
        }
        Ok(Exit::Done)
    }
}

fn as_json(schedule: &Schedule) -> Value {
    let at = schedule.descriptor;
    let mut json = json!({
        "flow": schedule.flow,
        "cron": at.cron,
        "time_zone": at.time_zone,
        "overlap": at.overlap,
        "catch_up": at.catch_up,
        "execution": schedule.execution,
        "running": schedule.running,
        "waiting": schedule.waiting,
        "left_out": schedule.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "next": schedule.next.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if let Some(status) = schedule.status {
        json["status"] = status.to_string().into();
    }
    if let Some(by) = &schedule.paused {
        json["paused_by"] = by.as_str().into();
    }
    json
}

fn instant_of(text: &str) -> Result<Timestamp, CliError> {
    let instant = text.parse::<jiff::Timestamp>().map_err(|error| {
        CliError::usage(format!("{text:?} is no instant: {error}")).help("write it as 2026-11-30T00:00:00Z")
    })?;
    Ok(Timestamp::from_micros(instant.as_microsecond()))
}
