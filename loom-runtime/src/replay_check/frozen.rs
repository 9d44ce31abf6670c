//! Frozen logs: the file in which a log is kept for checks of later versions.
//! Not a backup: an index, an inbox or a lease is not in it.

use std::{fmt::Write as _, fs, path::Path};

use kernel::{Digest, Envelope, ExecutionId, Fault, ParkReport, Record, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{App, ports::StoreError};

/// How many events are read at a time.
const PAGE: usize = 1_000;

/// The longest file name that every file system takes, with room for an extension.
const LONGEST_NAME: usize = 200;

/// A log as it is kept in a file: stored events of one execution, as their bytes are in the store.
///
/// The file is JSON Lines, named after the execution and ending in `.jsonl`; a line is an event:
///
/// ```json
/// {"execution":"order-7","sequence":0,"kind":"EXECUTION_STARTED","at":1785585600000000,"schema":1,"payload":"{…}","meta":"{}"}
/// ```
///
/// `at` is microseconds since 1970; `payload` and `meta` are texts that hold JSON, so that no tool changes a digit of
/// them. `execution` may be missing: then the file's name tells it. The first line is the start of the execution, or of
/// one of its runs. Fields are added, never renamed or removed.
///
/// It holds inputs and outcomes as they are: what must not be read is not to be frozen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrozenLog {
    /// Whose log.
    pub execution: ExecutionId,
    /// Its events.
    pub records: Vec<Record>,
}

/// A file that is no frozen log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no event of a frozen log: {reason}")]
pub struct FrozenLogError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong; names fields, never values.
    pub reason: String,
}

#[derive(Serialize, Deserialize)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    execution: Option<ExecutionId>,
    sequence: u64,
    kind: String,
    at: i64,
    schema: u16,
    payload: String,
    meta: String,
}

impl FrozenLog {
    /// The log that an execution has now; with `from`, of [`ExecutionRow::base`](crate::ports::ExecutionRow::base), of
    /// its current run only.
    ///
    /// # Errors
    /// There is no such execution, the store fails, or the event `from` was archived.
    pub async fn of(app: &App, id: &ExecutionId, from: u64) -> Result<Self, StoreError> {
        read(&*app.store(), id, from).await
    }

    /// Reads the text of a file; `name` is the file's, without its ending.
    ///
    /// ```
    /// use loom_runtime::FrozenLog;
    /// let line = r#"{"sequence":0,"kind":"EXECUTION_RESUMED","at":0,"schema":1,"payload":"{}","meta":"{}"}"#;
    /// let log = FrozenLog::parse("order-7", line).unwrap();
    /// assert_eq!((log.execution.as_str(), log.records.len()), ("order-7", 1));
    /// assert_eq!(FrozenLog::parse("order-7", &log.text()), Ok(log));
    /// assert_eq!(FrozenLog::parse("order-7", "{}").unwrap_err().line, 1);
    /// ```
    ///
    /// # Errors
    /// A line is no event, or one of another execution.
    pub fn parse(name: &str, text: &str) -> Result<Self, FrozenLogError> {
        let mut execution: Option<ExecutionId> = None;
        let mut records = Vec::new();
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let wrong = |reason: String| FrozenLogError { line, reason };
            let read: Line = serde_json::from_str(text).map_err(|error| {
                let cut_short = error.is_eof();
                let reason = kernel::InvalidPayload::from(error).0;
                if cut_short {
                    return wrong(format!("expected one as a whole, and it ends in its midst: {reason}"));
                }
                wrong(format!("{reason} (`export` writes such files; `logs --json` writes another form)"))
            })?;
            match (&execution, read.execution) {
                (Some(known), Some(other)) if *known != other => {
                    return Err(wrong(format!("it is of `{other}`, those before it of `{known}`")));
                }
                (None, Some(named)) => execution = Some(named),
                _ => {}
            }
            let Line { sequence, kind, at, schema, payload, meta, .. } = read;
            let at = Timestamp::from_micros(at);
            records.push(Record { sequence, kind, at, schema, payload, meta });
        }
        let named = || name.parse().ok();
        let unnamed = || FrozenLogError {
            line: 1,
            reason: format!("it names no `execution`, and neither does the file's name {name:?}"),
        };
        Ok(Self { execution: execution.or_else(named).ok_or_else(unnamed)?, records })
    }

    /// The text of its file.
    pub fn text(&self) -> String {
        let lines = self.records.iter().map(|record| {
            let Record { sequence, kind, at, schema, payload, meta } = record.clone();
            let (execution, at) = (Some(self.execution.clone()), at.as_micros());
            let line = Line { execution, sequence, kind, at, schema, payload, meta };
            serde_json::to_string(&line).unwrap_or_default() + "\n" // text and numbers are always JSON
        });
        lines.collect()
    }

    /// The name of its file: the execution's id, in which what some file system does not take is escaped. An id that
    /// would be too long is a digest.
    pub fn file_name(&self) -> String {
        let mut name = String::new();
        for (at, c) in self.execution.as_str().char_indices() {
            let plain = c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '@') || (c == '.' && at > 0);
            if plain {
                name.push(c);
            } else {
                let _ = write!(name, "%{:02X}", u32::from(c));
            }
        }
        if name.len() > LONGEST_NAME {
            name = Digest::of(self.execution.as_str().as_bytes()).to_string();
        }
        name + ".jsonl"
    }

    /// The digest of that text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text().as_bytes())
    }

    /// The sequences of its first event and of its last.
    pub(crate) fn range(&self) -> (u64, u64) {
        let sequence = |record: Option<&Record>| record.map_or(0, |record| record.sequence);
        (sequence(self.records.first()), sequence(self.records.last()))
    }

    /// Its events.
    ///
    /// # Errors
    /// This build cannot read one of them: the report says which.
    pub fn events(&self) -> Result<Vec<Envelope>, ParkReport> {
        let read = |record: &Record| {
            Envelope::decode(&self.execution, record).map_err(|unreadable| {
                ParkReport::new(Fault::UnreadableLog, unreadable.to_string()).at(record.sequence)
            })
        };
        self.records.iter().map(read).collect()
    }

    /// The log in a file.
    pub(super) fn open(path: &Path) -> Result<Self, ParkReport> {
        let unreadable = |reason: String| damaged(ParkReport::new(Fault::UnreadableLog, reason));
        let text = fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let log = Self::parse(&name, &text).map_err(|error| unreadable(error.to_string()))?;
        if log.records.is_empty() {
            return Err(unreadable("expected the start of an execution in line 1, found nothing".into()));
        }
        Ok(log)
    }
}

/// What is to be done about a log that no build reads.
pub(super) fn damaged(report: ParkReport) -> ParkReport {
    let help = "the log is damaged or cut short: take it from where it is whole, or `export` it again";
    ParkReport { help: help.into(), ..report }
}

/// The log of an execution from a sequence on, as it is stored.
pub(crate) async fn read(
    store: &dyn crate::ports::Store,
    id: &ExecutionId,
    from: u64,
) -> Result<FrozenLog, StoreError> {
    let mut records: Vec<Record> = Vec::new();
    loop {
        let next = from + records.len() as u64;
        let page = store.read(id, next, PAGE).await?;
        if page.is_empty() {
            return Ok(FrozenLog { execution: id.clone(), records });
        }
        records.extend(page);
    }
}
