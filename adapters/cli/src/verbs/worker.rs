//! `worker`: runs whatever is due, until somebody asks it to stop.
//! Not a daemon: it stays in the foreground, and a supervisor restarts it.

use std::time::Duration;

use loom_runtime::{App, ports::ListFilter};
use serde_json::json;

use super::Verbs;
use crate::{
    args::Worker,
    console::Console,
    error::CliError,
    exit::Exit,
    render::{instant::span, text::count},
};

impl Verbs<'_> {
    pub(super) async fn worker(&mut self, args: Worker) -> Result<Exit, CliError> {
        // A worker asks a store that fails again and again: one that fails at once is more likely a mistake.
        self.app.list(&ListFilter { limit: 1, ..ListFilter::default() }).await?;
        let registry = self.app.registry();
        let (flows, steps) = (registry.flows().count() as u64, registry.steps().count() as u64);
        self.tell(
            &json!({"event": "working", "flows": flows, "steps": steps}),
            &format!("working: {}, {}; Ctrl-C stops", count(flows, "flow"), count(steps, "step")),
        );
        if flows == 0 {
            self.tell(
                &json!({"event": "warning", "message": "no flows are linked in"}),
                "warning: no flows are linked in; `loom::link!` links crates that no code names",
            );
        }
        self.app.work();
        self.console.stop.asked().await;
        let grace = span(args.grace);
        self.tell(
            &json!({"event": "stopping", "grace_ms": args.grace.as_millis() as u64}),
            &format!("stopping: running steps have {grace}; again to stop at once"),
        );
        let clean = close(self.app, self.console, args.grace).await;
        let left =
            if clean { "stopped" } else { "stopped at once: what ran is taken over when its lease ends" };
        self.tell(&json!({"event": "stopped", "clean": clean}), left);
        Ok(if clean { Exit::Done } else { Exit::Interrupted })
    }

    /// What a worker says is its result for programs, and an aside for people.
    fn tell(&mut self, json: &serde_json::Value, text: &str) {
        if self.json {
            self.console.line(&json.to_string());
        } else {
            self.console.say(text);
        }
    }
}

/// Shuts down, cleanly unless a signal comes meanwhile; answers which.
pub(crate) async fn close(app: &App, console: &mut Console, grace: Duration) -> bool {
    tokio::select! {
        // In this order: where nothing runs, no signal is listened to.
        biased;
        () = app.shutdown(grace) => true,
        () = console.stop.asked() => false,
    }
}
