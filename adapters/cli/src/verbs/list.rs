//! `list`: executions, or the gates that wait for an answer.
//! Not their logs: nothing is folded here, the store's index answers.

use std::collections::{BTreeMap, BTreeSet};

use loom_runtime::{
    App, ExecutionId, Status,
    ports::{ExecutionRow, ListFilter},
    view::{Execution, Executions, Gate, Gates, unanswered, waited_code},
};

use super::{Verbs, unknown};
use crate::{
    args::List,
    error::CliError,
    exit::Exit,
    render::{
        execution::missing_flow,
        instant::{distance, instant, with_distance},
        paint::Paint,
        schema::hint,
        table::Table,
        text::{PAYLOAD, shorten},
    },
};

impl Verbs<'_> {
    pub(super) async fn list(&mut self, args: List) -> Result<Exit, CliError> {
        let statuses = args.status.iter().filter_map(|name| Status::named(name)).collect();
        let after = args.after.as_ref().map(|id| self.execution(id)).transpose()?;
        // One more than is shown tells whether there are more.
        let limit = if args.limit == 0 || args.gates { 0 } else { args.limit.saturating_add(1) };
        let filter = ListFilter { statuses, flow: args.flow.clone(), after, limit };
        if args.gates {
            return self.list_gates(&filter, args.limit).await;
        }
        let mut rows = self.app.list(&filter).await?;
        if let (true, Some(flow)) = (rows.is_empty(), &args.flow)
            && self.app.registry().flow(flow).is_none()
        {
            return Err(unknown("flow", flow, self.app.registry().flows().map(|flow| flow.name)));
        }
        let more = args.limit > 0 && rows.len() > args.limit;
        rows.truncate(if args.limit == 0 { usize::MAX } else { args.limit });
        let wants = wanted(self.app, &rows).await;
        if self.json {
            let executions = rows.iter().map(|row| {
                Execution::of(row, self.app.registry()).waiting_for_code(wants.get(&row.id).cloned())
            });
            let executions = executions.collect();
            self.print_json(&Executions { executions, more })?;
            return Ok(Exit::Done);
        }
        let (now, paint) = ((self.console.now)(), Paint(self.console.colours));
        let mut table = Table::new(&[
            "EXECUTION",
            "FLOW",
            "STATUS",
            "EVENTS",
            "STARTED",
            "CHANGED",
            "WAKES",
            "PRIORITY",
            "LANE",
        ]);
        for row in &rows {
            let wakes = row.wake_at.map(|at| distance(at, now)).unwrap_or_default();
            table.row([
                row.id.to_string(),
                if self.lacks_flow(row) { format!("{} (not here)", row.flow) } else { row.flow.clone() },
                match wants.get(&row.id) {
                    Some(code) => format!("{}: waiting for code {code}", paint.status(row.status)),
                    None => paint.status(row.status),
                },
                row.next.to_string(),
                instant(row.created_at),
                distance(row.updated_at, now),
                wakes,
                Some(row.turn.priority).filter(|n| *n != 0).map(|n| n.to_string()).unwrap_or_default(),
                row.turn.lane.as_ref().map(|lane| lane.key.clone()).unwrap_or_default(),
            ]);
        }
        if table.is_empty() {
            let any = ListFilter { limit: 1, ..ListFilter::default() };
            let empty = self.app.list(&any).await?.is_empty();
            self.console.say(if empty { "no executions: the store is empty" } else { "no executions" });
            return Ok(Exit::Done);
        }
        let text = table.render(self.console.width);
        self.console.print(&text);
        let missing: BTreeSet<_> =
            rows.iter().filter(|row| self.lacks_flow(row)).map(|row| &row.flow).collect();
        for flow in missing {
            self.console.say(&missing_flow(flow, "only listed here"));
        }
        if let (true, Some(last)) = (more, rows.last()) {
            let equals = if last.id.as_str().starts_with('-') { "=" } else { " " };
            self.console.say(&format!("there are more: --after{equals}{}, or --limit 0 for all", last.id));
        }
        Ok(Exit::Done)
    }

    async fn list_gates(&mut self, filter: &ListFilter, limit: usize) -> Result<Exit, CliError> {
        let mut gates = self.app.gates(None).await?;
        if let Some(after) = &filter.after {
            gates.retain(|gate| gate.execution > *after);
        }
        if filter.flow.is_some() || !filter.statuses.is_empty() {
            let wanted: BTreeSet<_> = self.app.list(filter).await?.into_iter().map(|row| row.id).collect();
            gates.retain(|gate| wanted.contains(&gate.execution));
        }
        let mut gates = unanswered(self.app, gates, limit).await?;
        let more = limit > 0 && gates.len() > limit;
        gates.truncate(if limit == 0 { usize::MAX } else { limit });
        if self.json {
            let gates = gates.iter().map(|gate| Gate::of(gate, &[])).collect();
            self.print_json(&Gates { gates, more })?;
            return Ok(Exit::Done);
        }
        let now = (self.console.now)();
        let mut table = Table::new(&["GATE", "OPENED", "EXPIRES", "EXPECTS"]);
        for gate in &gates {
            let schema = serde_json::from_str(&gate.schema).unwrap_or_default();
            table.row([
                format!("{}/{}", gate.execution, gate.frame),
                instant(gate.opened_at),
                gate.expires_at.map(|at| with_distance(at, now)).unwrap_or_default(),
                shorten(&hint(&schema), PAYLOAD),
            ]);
        }
        if table.is_empty() {
            self.console.say("no open gates");
            return Ok(Exit::Done);
        }
        let text = table.render(self.console.width);
        self.console.print(&text);
        let program = &self.console.program;
        let how = if more {
            "there are more: --limit 0 for all".into()
        } else {
            format!("answer one: {program} resume GATE --answer JSON")
        };
        self.console.say(&how);
        Ok(Exit::Done)
    }
}

/// The code that parked executions wait for. What cannot be read is only listed: `show` tells why.
async fn wanted(app: &App, rows: &[ExecutionRow]) -> BTreeMap<ExecutionId, String> {
    let mut wanted = BTreeMap::new();
    for row in rows {
        if let Some(code) = waited_code(app, row).await {
            wanted.insert(row.id.clone(), code);
        }
    }
    wanted
}
