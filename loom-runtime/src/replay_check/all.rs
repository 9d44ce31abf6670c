//! Many logs at once, from files or from a store: the check that a release passes before it is deployed.
//! Not the check of one log, which is [`super::replay_check`].

use std::{
    collections::VecDeque,
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use kernel::{Envelope, Event, ExecutionId, Fault, ParkReport};
use tokio::task::JoinSet;

use super::{Checker, FrozenLog, frozen};
use crate::{
    Registry,
    ports::{ListFilter, Store, StoreError},
};

/// How many prefixes of one run are replayed at most: the work grows with the square of a log's length.
const PREFIXES: usize = 1_000;

/// How many rows are listed at a time.
const PAGE: usize = 500;

/// Where logs are.
#[derive(Clone)]
#[non_exhaustive]
pub enum LogSource {
    /// In the files of a directory that end in `.jsonl`, each a [`FrozenLog`]. Every one counts: a flow that this
    /// program lacks is a finding.
    Directory(PathBuf),
    /// In a store: of the executions that the filter lets through (its limit is of no account). Those of flows that
    /// this program lacks are another program's, and are only counted.
    Store(Arc<dyn Store>, ListFilter),
}

/// What a check of many logs has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedLogs {
    /// How many logs were replayed.
    pub logs: u64,
    /// How many events they have.
    pub events: u64,
    /// How many were left out, because another program has their flow.
    pub foreign: u64,
    /// Those that this program does not agree with, in order of their names.
    pub diverged: Vec<DivergedLog>,
}

/// A log that this program does not agree with, or cannot read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DivergedLog {
    /// The file, or the execution's id.
    pub log: String,
    /// The execution; `None` when the file does not tell.
    pub execution: Option<ExecutionId>,
    /// What would park it.
    pub report: ParkReport,
}

/// Why logs could not be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogSourceError {
    /// The directory cannot be read.
    #[error("the logs in `{directory}` cannot be read: {reason}", directory = .directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// Why.
        reason: io::Error,
    },
    /// There is nothing to check: a check that looks at nothing would pass for ever.
    #[error("there are no logs in `{}`: expected files that end in `.jsonl`, as `export --dir` writes them", .0.display())]
    Empty(PathBuf),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Replays every log of a source against this program, as [`replay_check`](super::replay_check) does, on all cores.
/// Of runs with more than a thousand events a thousand prefixes are looked at, evenly spread. `told` hears how many logs
/// are done, as they are.
///
/// Nothing is recorded, and no step is executed: it may run on a store that workers use. What has a log while it is read
/// is checked as far as it was read. A log that cannot be read counts as diverged.
///
/// Wants a tokio runtime. Golden logs of each release, checked in beside the tests, keep a program true to them:
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use loom_runtime::{LogSource, Registry, replay_check_all};
/// # let store = std::sync::Arc::new(loom_runtime::Memory::new());
/// let source = LogSource::Store(store, Default::default()); // in CI, LogSource::Directory("tests/golden".into())
/// let checked = replay_check_all(&Registry::linked(), source, |_| {}).await.unwrap();
/// assert!(checked.diverged.is_empty(), "{:#?}", checked.diverged);
/// # });
/// ```
///
/// # Errors
/// The source fails as such. That a log diverges is no error: see [`CheckedLogs::diverged`].
pub async fn replay_check_all(
    registry: &Registry,
    source: LogSource,
    told: impl FnMut(u64),
) -> Result<CheckedLogs, LogSourceError> {
    let mut checks = Checks::new(registry, told);
    match source {
        LogSource::Directory(directory) => {
            let files = files(&directory)
                .map_err(|reason| LogSourceError::Directory { directory: directory.clone(), reason })?;
            if files.is_empty() {
                return Err(LogSourceError::Empty(directory));
            }
            for path in files {
                let name = path.strip_prefix(&directory).unwrap_or(&path).display().to_string();
                checks.add(move |checker| check(checker, name, FrozenLog::open(&path))).await;
            }
        }
        LogSource::Store(store, filter) => checks.of_store(&*store, filter).await?,
    }
    Ok(checks.done().await)
}

/// The logs of a directory, in order of their names.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// What one log came to.
enum Verdict {
    Agrees { events: u64 },
    Diverged { events: u64, log: Box<DivergedLog> },
}

/// Checks that run, at most one a core.
struct Checks<F> {
    checker: Checker,
    running: JoinSet<Verdict>,
    cores: usize,
    found: CheckedLogs,
    told: F,
}

impl<F: FnMut(u64)> Checks<F> {
    fn new(registry: &Registry, told: F) -> Self {
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let (running, found) = (JoinSet::new(), CheckedLogs::default());
        Self { checker: Checker::new(registry), running, cores, found, told }
    }

    async fn of_store(&mut self, store: &dyn Store, filter: ListFilter) -> Result<(), StoreError> {
        let mut after = filter.after.clone();
        loop {
            let page = ListFilter { after: after.take(), limit: PAGE, ..filter.clone() };
            let mut rows = VecDeque::from(store.list(&page).await?);
            after = rows.back().map(|row| row.id.clone());
            if after.is_none() {
                return Ok(());
            }
            while let Some(row) = rows.pop_front() {
                if self.checker.registry.flow(&row.flow).is_none() {
                    self.found.foreign += 1;
                    continue;
                }
                let Some(from) = row.replayable() else { continue };
                let log = match frozen::read(store, &row.id, from).await {
                    Ok(log) => Ok(log),
                    Err(StoreError::Corrupt(what)) => Err(ParkReport::new(Fault::UnreadableLog, what)),
                    // It was there when it was listed.
                    Err(StoreError::Unknown(_) | StoreError::Archived { .. }) => continue,
                    Err(error) => return Err(error),
                };
                self.add(move |checker| check(checker, row.id.to_string(), log)).await;
            }
        }
    }

    /// Begins a check, once a core is free.
    async fn add(&mut self, check: impl FnOnce(&Checker) -> Verdict + Send + 'static) {
        while self.running.len() >= self.cores && self.next().await {}
        let checker = self.checker.clone();
        self.running.spawn_blocking(move || check(&checker));
    }

    /// Takes the end of a check; false when none is left.
    async fn next(&mut self) -> bool {
        let Some(ended) = self.running.join_next().await else { return false };
        self.found.logs += 1;
        match ended {
            Ok(Verdict::Agrees { events }) => self.found.events += events,
            Ok(Verdict::Diverged { events, log }) => {
                self.found.events += events;
                self.found.diverged.push(*log);
            }
            // A panic of user code is caught by the machine; this one is Loom's own.
            Err(error) => {
                let report =
                    ParkReport::new(Fault::FlowPanicked, format!("the check itself failed: {error}"));
                self.found.diverged.push(DivergedLog { log: "?".into(), execution: None, report });
            }
        }
        (self.told)(self.found.logs);
        true
    }

    async fn done(mut self) -> CheckedLogs {
        while self.next().await {}
        self.found.diverged.sort_by(|one, other| one.log.cmp(&other.log));
        self.found
    }
}

fn check(checker: &Checker, log: String, frozen: Result<FrozenLog, ParkReport>) -> Verdict {
    let diverged = |execution, events, report| Verdict::Diverged {
        events,
        log: Box::new(DivergedLog { log: log.clone(), execution, report }),
    };
    let frozen = match frozen {
        Ok(frozen) => frozen,
        Err(report) => return diverged(None, 0, report),
    };
    let events = frozen.records.len() as u64;
    let checked =
        frozen.events().and_then(|log| checker.check(&log, PREFIXES).map_err(|report| near(report, &log)));
    match checked {
        Ok(()) => Verdict::Agrees { events },
        Err(report) => diverged(Some(frozen.execution), events, report),
    }
}

/// Says which run it was, for nobody counts events over runs.
fn near(mut report: ParkReport, log: &[Envelope]) -> ParkReport {
    let begun = |envelope: &Envelope| match &envelope.event {
        Event::ContinuedAsNew(run) if report.sequence.is_some_and(|at| envelope.sequence < at) => {
            Some(run.run)
        }
        _ => None,
    };
    if let Some(run) = log.iter().rev().find_map(begun) {
        report.message = format!("{} (in run {run})", report.message);
    }
    report
}
