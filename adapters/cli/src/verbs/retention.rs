//! `retention` and `archive`: old executions go to an archive, and are read there.
//! Not what goes: the policy says so, and the runtime does it.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use loom_runtime::{
    ExecutionId, FolderArchive, RetentionError, RetentionPolicy, RetentionReport, ports::ArchiveStore, view,
};
use serde::Serialize;

use super::Verbs;
use crate::{
    args::{Archive, Retention},
    error::CliError,
    exit::Exit,
    render::{event::Lines, table::Table},
};

/// What an archive has something of.
#[derive(Serialize)]
struct Archived {
    executions: Vec<ExecutionId>,
}

const PAGE: usize = 256;

impl Verbs<'_> {
    pub(super) async fn retention(&mut self, verb: Retention) -> Result<Exit, CliError> {
        let Retention::Run { policy, dry_run, archive } = verb;
        let mut pass = self.app.retention(read(&policy)?);
        if let Some(folder) = archive {
            pass = pass.archive(FolderArchive::new(folder));
        }
        let report = if dry_run { pass.rehearse().await? } else { pass.run().await? };
        if self.json {
            self.print_json(&report)?;
        } else {
            self.tell_retention(&report);
        }
        Ok(Exit::Done)
    }

    fn tell_retention(&mut self, report: &RetentionReport) {
        let mut table = Table::new(&["DUE", "EXECUTIONS", "EVENTS", "BYTES"]);
        for (reason, tally) in &report.removed {
            let counts = [tally.executions, tally.events, tally.bytes].map(|count| count.to_string());
            let [executions, events, bytes] = counts;
            table.row([reason.to_string(), executions, events, bytes]);
        }
        if table.is_empty() {
            self.console.say("no execution is due");
        } else {
            let text = table.render(self.console.width);
            self.console.print(&text);
        }
        for held in &report.held {
            self.console.say(&format!("{} due, held by {}", held.executions, held.by));
        }
        for (count, what) in [
            (report.snapshots, "snapshots forgotten"),
            (report.early_messages, "messages forgotten, to executions that there are not"),
            (report.moved, "executions changed meanwhile: the next run finds them"),
        ] {
            if count > 0 {
                self.console.say(&format!("{count} {what}"));
            }
        }
        if report.rehearsal {
            self.console.say("a dry run: nothing was changed");
        }
    }

    pub(super) async fn archive(&mut self, verb: Archive) -> Result<Exit, CliError> {
        match verb {
            Archive::List { archive } => {
                let executions = self.archive_to_read(archive)?.executions().await?;
                if self.json {
                    self.print_json(&Archived { executions })?;
                } else {
                    executions.iter().for_each(|id| self.console.line(id.as_str()));
                }
            }
            Archive::Show { execution, archive } => {
                let id = self.execution(&execution)?;
                let Some(log) = self.archive_to_read(archive)?.read(&id).await? else {
                    return Err(CliError::refused(format!("the archive has nothing of `{id}`"))
                        .help("`archive list` names what it has; what is not archived, `logs` prints"));
                };
                let mut lines = Lines::new(self.console.width);
                for page in log.records.chunks(PAGE) {
                    if self.json {
                        for record in page {
                            self.print_json(&view::Event::of(&id, record))?;
                        }
                    } else {
                        let text = lines.page(&id, page);
                        self.console.print(&text);
                    }
                }
            }
        }
        Ok(Exit::Done)
    }

    /// The same, and the folder is there: one that is made when it is first written to is nothing to look at.
    fn archive_to_read(&self, folder: Option<PathBuf>) -> Result<Arc<dyn ArchiveStore>, CliError> {
        match folder {
            Some(folder) if !folder.is_dir() => {
                Err(CliError::refused(format!("there is no archive: `{}` is no folder", folder.display())))
            }
            folder => self.archive_in(folder),
        }
    }

    /// The archive in this folder, else the program's own.
    fn archive_in(&self, folder: Option<PathBuf>) -> Result<Arc<dyn ArchiveStore>, CliError> {
        let own = || self.app.archive();
        let archive = folder.map(|folder| Arc::new(FolderArchive::new(folder)) as _).or_else(own);
        archive.ok_or_else(|| {
            CliError::usage("this program has no archive").help("name the folder of one: --archive DIR")
        })
    }
}

fn read(path: &Path) -> Result<RetentionPolicy, CliError> {
    let wrong = |what: String| CliError::usage(format!("`{}` {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
    serde_json::from_str(&text).map_err(|error| {
        wrong(format!("is no retention policy: {error}"))
            .help(r#"one is, for example, {"completed": "30d", "failed": "90d"}"#)
    })
}

impl From<RetentionError> for CliError {
    fn from(error: RetentionError) -> Self {
        let message = error.to_string();
        match error {
            RetentionError::Store(error) => error.into(),
            RetentionError::Archive(error) => error.into(),
            RetentionError::NoArchive { .. } => Self::refused(message)
                .help("name the folder of an archive: --archive DIR; or only count: --dry-run"),
            RetentionError::UnknownFlow { .. } | RetentionError::UnknownPin { .. } => Self::usage(message),
            _ => Self::new(Exit::Store, message),
        }
    }
}
