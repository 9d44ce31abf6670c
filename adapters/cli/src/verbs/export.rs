//! `export`: logs as files, frozen for the checks of later versions.
//! Not a backup of the store: only logs are written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use loom_runtime::{ExecutionId, FrozenLog, Status, ports::ListFilter};
use serde::Serialize;

use super::Verbs;
use crate::{args::Export, error::CliError, exit::Exit};

/// How many rows are listed at a time.
const PAGE: usize = 500;

/// A line of `--json`.
#[derive(Serialize)]
struct Written {
    execution: ExecutionId,
    file: String,
    events: usize,
    new: usize,
}

impl Verbs<'_> {
    pub(super) async fn export(&mut self, args: Export) -> Result<Exit, CliError> {
        fs::create_dir_all(&args.dir).map_err(|error| unwritable(&args.dir, &error))?;
        let statuses = args.status.iter().filter_map(|name| Status::named(name)).collect();
        let mut filter =
            ListFilter { statuses, flow: args.flow.clone(), limit: PAGE, ..ListFilter::default() };
        let mut given = Vec::new();
        for text in &args.executions {
            given.push(self.app.row(&self.execution(text)?).await?);
        }
        let (mut files, mut refused) = (0_u64, Vec::new());
        loop {
            let rows = match args.executions.is_empty() {
                true => self.app.list(&filter).await?,
                false => std::mem::take(&mut given),
            };
            filter.after = rows.last().map(|row| row.id.clone());
            if rows.is_empty() {
                break;
            }
            for row in rows {
                let from = match row.replayable() {
                    Some(_) if args.current_run => row.base,
                    Some(from) => from,
                    None if args.executions.is_empty() => continue, // archived, of which there may be many
                    None => 0,
                };
                let log = FrozenLog::of(self.app, &row.id, from).await?;
                match freeze(&args.dir, &log)? {
                    Some(written) if self.json => self.print_json(&written)?,
                    Some(_) => {}
                    None => refused.push(log.file_name()),
                }
                files += 1;
            }
        }
        if let Some(first) = refused.first() {
            let others = match refused.len() {
                1 => String::new(),
                all => format!(", and {} more", all - 1),
            };
            let message =
                format!("{first} holds something else than the log that it is for{others}: not written");
            return Err(CliError::refused(message)
                .help("a frozen log is not changed: move it away, or write to another directory"));
        }
        if !self.json {
            self.console.say(&format!("{files} logs in {}", args.dir.display()));
        }
        Ok(Exit::Done)
    }
}

/// Writes a log to its file; `None` when the file holds something else than a beginning of it.
fn freeze(directory: &Path, log: &FrozenLog) -> Result<Option<Written>, CliError> {
    let path = directory.join(log.file_name());
    let (text, events) = (log.text(), log.records.len());
    let before = match fs::read_to_string(&path) {
        Ok(before) => before,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(unwritable(&path, &error)),
    };
    if !text.starts_with(&before) {
        return Ok(None);
    }
    if before != text {
        // All of it or nothing: half a log would be taken for a log.
        let new = PathBuf::from(format!("{}.new", path.display()));
        fs::write(&new, &text)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|error| unwritable(&path, &error))?;
    }
    let file = path.display().to_string();
    Ok(Some(Written { execution: log.execution.clone(), file, events, new: events - before.lines().count() }))
}

fn unwritable(path: &Path, error: &io::Error) -> CliError {
    CliError::new(Exit::Output, format!("`{}` cannot be written: {error}", path.display()))
}
