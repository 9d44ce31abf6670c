//! `fork`, `diff`, `branches`, `promote`: another way for an execution to go on, what comes of it, and which one counts.
//! Not simulations: what would answer them is code, and so is theirs.

use loom_runtime::{
    App, ChildPolicy, Diff, ExecutionId, diff,
    kernel::Envelope,
    view::{Branch, Branches},
};

use super::Verbs;
use crate::{
    args::{Children, Compare, Fork, Promote},
    error::CliError,
    exit::Exit,
    input,
    render::instant::instant,
};

/// How many events are read at a time.
const PAGE: usize = 1_000;

impl Verbs<'_> {
    pub(super) async fn fork(&mut self, args: Fork) -> Result<Exit, CliError> {
        let (origin, by) = (self.execution(&args.execution)?, self.by(args.by));
        let mut fork = self.app.fork(&origin).by(by).detached();
        if let Some(events) = args.at {
            fork = fork.at(events);
        }
        if let Some(id) = args.id {
            fork = fork.id(id);
        }
        for stub in &args.stub {
            let Some((frame, json)) = stub.split_once('=') else {
                return Err(CliError::usage(format!("`--stub {stub}` lacks its value"))
                    .help("expected FRAME=JSON, as in `--stub charge='\"paid\"'`"));
            };
            fork = fork.stub(frame, &input::argument("stub", json)?);
        }
        for frame in &args.rerun {
            fork = fork.rerun(frame);
        }
        if args.rerun_all {
            fork = fork.rerun_all();
        }
        if args.copy_answers {
            fork = fork.copy_answers();
        }
        fork = fork.children(match args.children {
            Children::Rerun => ChildPolicy::Rerun,
            Children::Share => ChildPolicy::Share,
            Children::Cancel => ChildPolicy::Cancel,
        });
        let id = fork.await?;
        if args.detach.set {
            return self.hand_over(&id, id.as_str()).await;
        }
        Ok(self.run_on(&id).await?.0)
    }

    pub(super) async fn diff(&mut self, args: Compare) -> Result<Exit, CliError> {
        let (a, b) = (self.execution(&args.a)?, self.execution(&args.b)?);
        let found: Diff = diff(&events(self.app, &a).await?, &events(self.app, &b).await?)
            .map_err(|error| CliError::new(Exit::Store, error.to_string()))?;
        if self.json {
            self.print_json(&found)?;
        } else {
            self.console.line(&format!("{a} | {b}\n{found}"));
        }
        Ok(Exit::Done)
    }

    pub(super) async fn branches(&mut self) -> Result<Exit, CliError> {
        let branches = self.app.branches().await?;
        if self.json {
            self.print_json(&Branches { branches: branches.iter().map(Branch::of).collect() })?;
            return Ok(Exit::Done);
        }
        for row in &branches {
            let (version, at) = (row.version, instant(row.set_at));
            self.console
                .line(&format!("{} → {}  v{version}, by {} at {at}", row.name, row.execution, row.by));
        }
        if branches.is_empty() {
            self.note("there are no branches: `promote NAME EXECUTION` sets one");
        }
        Ok(Exit::Done)
    }

    pub(super) async fn promote(&mut self, args: Promote) -> Result<Exit, CliError> {
        let (to, by) = (self.execution(&args.execution)?, self.by(args.by));
        let row = match &args.from {
            Some(from) => self.app.promote(&args.branch, &self.execution(from)?, &to, &by).await?,
            None => self.app.set_branch(&args.branch, &to, &by).await?,
        };
        if self.json {
            self.print_json(&Branch::of(&row))?;
        } else {
            self.console.line(&format!("{} → {}  v{}", row.name, row.execution, row.version));
        }
        Ok(Exit::Done)
    }
}

/// The whole log.
async fn events(app: &App, id: &ExecutionId) -> Result<Vec<Envelope>, CliError> {
    let mut events = Vec::new();
    loop {
        let page = app.log(id, events.len() as u64, PAGE).await?;
        if page.is_empty() {
            return Ok(events);
        }
        events.extend(page);
    }
}
