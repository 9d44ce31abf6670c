//! Golden logs: what a flow has written once, in a file that every later build is held to.
//! Not a comparison of logs: code may change as far as the log allows, which the replay check decides.

use std::{
    fs,
    path::{Path, PathBuf},
};

use loom_runtime::{FrozenLog, Registry, replay_check};

use crate::{Test, disturbance::Disturbance, world::at_once};

/// Says that what is missing is to be written.
pub(crate) fn blessed() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// Holds this program to a log in a file, or to all of a folder (`*.jsonl`): those that [`Test::capture`] writes, and those of
/// `app export`. Whether the code agrees, [`replay_check`](loom_runtime::replay_check) decides, for every prefix of the log.
/// A path is relative to the folder of the package, where `cargo test` runs.
///
/// # Panics
/// When the code does not agree with a log, or there is none: with the place, and what to do.
#[track_caller]
pub fn replay(path: impl AsRef<Path>) {
    let path = path.as_ref();
    let files = files(path);
    assert!(
        !files.is_empty(),
        "there is no golden log at `{}`: `test.capture(..)` writes one",
        path.display()
    );
    for file in files {
        if let Err(reason) = check(&file, &file) {
            panic!("{reason}");
        }
    }
}

/// The file, or those of the folder, in order.
fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "jsonl")).collect();
    files.sort();
    files
}

/// Holds this program to a file, which is called `shown`.
fn check(file: &Path, shown: &Path) -> Result<(), String> {
    let place = shown.display();
    let text = fs::read_to_string(file).map_err(|error| format!("{place} cannot be read: {error}"))?;
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let log = FrozenLog::parse(&name, &text).map_err(|error| format!("{place}: {error}"))?;
    let agrees = log.events().and_then(|log| replay_check(&Registry::linked(), &log));
    agrees.map_err(|report| format!("this program does not agree with the golden log {place}\n{report}"))
}

impl Test {
    /// Holds this program to the golden log in a file, `tests/golden/checkout.jsonl` say, relative to the folder of the package.
    /// When there is none, `BLESS=1` in the environment writes it: the log of the execution that was started last. One that
    /// there is is never written anew: it is how the program wrote when it was taken, and stays true of what is out there. Delete
    /// it when nothing of that age is.
    ///
    /// It holds inputs and outcomes as they are.
    ///
    /// # Panics
    /// When the code does not agree with the log, and when there is none and nobody says that it is to be written.
    #[track_caller]
    pub fn capture(&self, path: impl AsRef<Path>) {
        // What a disturbance adds is not what the program writes.
        if self.world.disturbance() != Disturbance::None {
            return;
        }
        let (file, place) = (self.folder.join(path.as_ref()), path.as_ref().display());
        if file.exists() {
            match check(&file, path.as_ref()) {
                Ok(()) => return,
                Err(reason) => panic!("{reason}"),
            }
        }
        let last = self.world.last().expect("`test.capture(..)` comes after a flow was started");
        assert!(
            blessed(),
            "there is no golden log at {place}: `BLESS=1 cargo test` writes it, of `{last}`; keep it in the repository",
        );
        let written = at_once(FrozenLog::of(&self.app(), &last, 0))
            .map_err(|error| error.to_string())
            .and_then(|log| write(&file, &log.text()));
        if let Err(reason) = written {
            panic!("the golden log {place} was not written: {reason}");
        }
    }
}

/// Writes a file, and the folders that it is in.
pub(crate) fn write(file: &Path, text: &str) -> Result<(), String> {
    let folder = file.parent().map_or(Ok(()), fs::create_dir_all);
    folder.and_then(|()| fs::write(file, text)).map_err(|error| error.to_string())
}
