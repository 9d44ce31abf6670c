//! An archive in a folder: a file for each segment, which people can read without Loom.
//! Not a store: nothing is looked up in it but by execution, and nothing in it is ever changed.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use kernel::{Digest, ExecutionId};

use super::join;
use crate::{
    FrozenLog,
    ports::{ArchiveError, ArchiveStore},
};

/// An archive in a folder of its own.
///
/// Each execution has a folder in it, named as [`FrozenLog::file_name`] names its file, and in that a file for each
/// segment, `FIRST-LAST.DIGEST.jsonl`, of the form that [`FrozenLog`] describes. `DIGEST` is that of the file: the first
/// 32 digits of `sha256sum`. A file has its name once its content is on disk, and is never written again.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// use loom_runtime::{FolderArchive, FrozenLog, ports::ArchiveStore};
/// # let path = std::env::temp_dir().join(format!("loom-archive-{}", std::process::id()));
/// let archive = FolderArchive::new(&path);
/// let line = r#"{"sequence":0,"kind":"EXECUTION_RESUMED","at":0,"schema":1,"payload":"{}","meta":"{}"}"#;
/// let segment = FrozenLog::parse("order-7", line).unwrap();
/// assert_eq!(archive.put(&segment).await?, segment.digest());
/// assert_eq!(archive.put(&segment).await?, segment.digest(), "and again");
/// assert_eq!(archive.read(&segment.execution).await?, Some(segment));
/// # std::fs::remove_dir_all(&path).unwrap();
/// # Ok::<(), loom_runtime::ports::ArchiveError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct FolderArchive {
    path: PathBuf,
}

/// A file of a segment, as its name tells.
struct Kept {
    path: PathBuf,
    from: u64,
    until: u64,
    digest: String,
}

impl FolderArchive {
    /// The archive in this folder. It is made when something is put there.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn folder(&self, execution: &ExecutionId) -> PathBuf {
        let log = FrozenLog { execution: execution.clone(), records: Vec::new() };
        self.path.join(log.file_name().trim_end_matches(".jsonl"))
    }

    fn put_now(&self, segment: &FrozenLog) -> Result<Digest, ArchiveError> {
        let (from, until) = segment.range();
        let folder = self.folder(&segment.execution);
        let (text, digest) = (segment.text(), segment.digest());
        let kept = segments(&folder)?.into_iter().find(|kept| (kept.from, kept.until) == (from, until));
        let path = match kept {
            Some(kept) if kept.digest == digest.to_string() => kept.path,
            Some(_) => {
                let execution = segment.execution.clone();
                return Err(ArchiveError::Conflict { execution, from, until });
            }
            None => {
                let path = folder.join(format!("{from:012}-{until:012}.{digest}.jsonl"));
                write(&folder, &path, &text).map_err(|error| unavailable(&path, &error))?;
                path
            }
        };
        // Of a file that is there too: who wrote it may have crashed before this.
        sync(&folder).map_err(|error| unavailable(&folder, &error))?;
        let read = fs::read(&path).map_err(|error| unavailable(&path, &error))?;
        match Digest::of(&read) {
            found if found == digest => Ok(found),
            _ => Err(damaged(&path, "it does not hold what its name says")),
        }
    }

    fn read_now(&self, execution: &ExecutionId) -> Result<Option<FrozenLog>, ArchiveError> {
        let mut log: Option<FrozenLog> = None;
        for kept in segments(&self.folder(execution))? {
            let segment = kept.read()?;
            if segment.execution != *execution {
                return Err(damaged(&kept.path, &format!("it is of `{}`", segment.execution)));
            }
            match &mut log {
                Some(log) => join(log, segment),
                None => log = Some(segment),
            }
        }
        Ok(log)
    }

    fn executions_now(&self) -> Result<Vec<ExecutionId>, ArchiveError> {
        let mut executions = Vec::new();
        for folder in entries(&self.path)? {
            if folder.is_dir()
                && let Some(kept) = segments(&folder)?.first()
            {
                executions.push(kept.read()?.execution);
            }
        }
        executions.sort();
        Ok(executions)
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, ArchiveError> + Send + 'static,
    ) -> Result<T, ArchiveError> {
        let archive = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&archive)).await;
        done.unwrap_or_else(|error| Err(ArchiveError::Unavailable(error.to_string())))
    }
}

#[async_trait]
impl ArchiveStore for FolderArchive {
    async fn put(&self, segment: &FrozenLog) -> Result<Digest, ArchiveError> {
        let segment = segment.clone();
        self.blocking(move |archive| archive.put_now(&segment)).await
    }

    async fn read(&self, execution: &ExecutionId) -> Result<Option<FrozenLog>, ArchiveError> {
        let execution = execution.clone();
        self.blocking(move |archive| archive.read_now(&execution)).await
    }

    async fn executions(&self) -> Result<Vec<ExecutionId>, ArchiveError> {
        self.blocking(Self::executions_now).await
    }
}

impl Kept {
    /// Of a file that is no segment, `None`: one that was being written, say.
    fn named(path: PathBuf) -> Option<Self> {
        let mut parts = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.split(['-', '.']);
        let (from, until) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let digest = parts.next()?.to_owned();
        parts.next().is_none().then_some(Self { path, from, until, digest })
    }

    fn read(&self) -> Result<FrozenLog, ArchiveError> {
        let text = fs::read_to_string(&self.path).map_err(|error| unavailable(&self.path, &error))?;
        let segment = FrozenLog::parse("", &text).map_err(|error| damaged(&self.path, &error.to_string()))?;
        if Digest::of(text.as_bytes()).to_string() != self.digest
            || segment.range() != (self.from, self.until)
        {
            return Err(damaged(&self.path, "it does not hold what its name says"));
        }
        Ok(segment)
    }
}

/// The segments in a folder, in order; none when there is no such folder.
fn segments(folder: &Path) -> Result<Vec<Kept>, ArchiveError> {
    let mut kept: Vec<_> = entries(folder)?.into_iter().filter_map(Kept::named).collect();
    kept.sort_by_key(|kept| (kept.from, kept.until));
    Ok(kept)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect()),
    };
    listed.map_err(|error| unavailable(folder, &error))
}

/// The name comes when the content is on disk.
fn write(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let unfinished = folder.join(format!("{}.unfinished", uuid::Uuid::now_v7()));
    let mut file = File::create_new(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&unfinished, path)
}

/// Puts the names on disk: the file's, the folder's, the archive's.
fn sync(folder: &Path) -> io::Result<()> {
    for folder in folder.ancestors().take(3) {
        // A directory cannot be opened as a file everywhere; where it cannot, its entries need no sync of theirs.
        if let Ok(folder) = File::open(folder) {
            folder.sync_all()?;
        }
    }
    Ok(())
}

fn unavailable(path: &Path, error: &io::Error) -> ArchiveError {
    ArchiveError::Unavailable(format!("{}: {error}", path.display()))
}

fn damaged(path: &Path, fault: &str) -> ArchiveError {
    ArchiveError::Corrupt(format!("{}: {fault}", path.display()))
}
