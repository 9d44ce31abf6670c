//! Runs commands as a shell would, over one store in memory.
//! Not the process: arguments, streams, signals and the clock are given.

pub(crate) mod account;
pub(crate) mod broken;
pub(crate) mod desk;
pub(crate) mod shop;

use std::{
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex},
};

use cli::{Console, Exit, Stop};
use loom::{App, Memory, Timestamp};
use serde_json::Value;
use tokio::sync::mpsc;

/// 2026-08-01 12:00:00Z: when the commands of these tests run, for "in 2 days".
pub(crate) const NOON: Timestamp = Timestamp::from_micros(1_785_585_600_000_000);

/// A stream that can be read afterwards; closed, it refuses like a pipe whose reader has gone.
#[derive(Clone, Default)]
pub(crate) struct Pipe(Arc<Mutex<Vec<u8>>>, Option<(usize, io::ErrorKind)>);

/// A shop on a store in memory. Each command is a process of its own.
#[derive(Clone, Default)]
pub(crate) struct Shell {
    pub(crate) store: Memory,
}

/// What a command did.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) exit: Exit,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Pipe {
    /// A pipe whose reader goes after so many bytes.
    pub(crate) fn closing_after(bytes: usize) -> Self {
        Self(Arc::default(), Some((bytes, io::ErrorKind::BrokenPipe)))
    }

    /// A file on a disk that is full after so many bytes.
    pub(crate) fn full_after(bytes: usize) -> Self {
        Self(Arc::default(), Some((bytes, io::ErrorKind::StorageFull)))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut text = self.0.lock().unwrap();
        let taken = match self.1 {
            Some((most, error)) if text.len() >= most => return Err(error.into()),
            Some((most, _)) => bytes.len().min(most - text.len()),
            None => bytes.len(),
        };
        text.extend(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shell {
    pub(crate) fn app(&self) -> App {
        App::builder().store(self.store.clone()).build().unwrap()
    }

    /// Runs `shop` with these words; `'…'` keeps spaces together.
    pub(crate) async fn run(&self, line: &str) -> Said {
        self.run_with_input(line, "").await
    }

    pub(crate) async fn run_with_input(&self, line: &str, input: &str) -> Said {
        let (out, err) = (Pipe::default(), Pipe::default());
        let mut console = self.console(&out, &err, input);
        let exit = cli::run_with(self.app(), words(line), &mut console).await;
        Said { exit, out: out.text(), err: err.text() }
    }

    pub(crate) fn console(&self, out: &Pipe, err: &Pipe, input: &str) -> Console {
        let input = io::Cursor::new(input.as_bytes().to_vec());
        let mut console = Console::new(out.clone(), err.clone(), input);
        (console.by, console.program) = ("ada".into(), "shop".into());
        console.now = || NOON;
        console.stop = Stop::Channel(mpsc::unbounded_channel().1);
        console
    }
}

impl Said {
    /// The JSON document that it printed.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Asserts how it ended, and shows everything when it did not.
    #[track_caller]
    pub(crate) fn ends(self, exit: Exit) -> Self {
        assert_eq!(self.exit, exit, "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, part: &str) -> Self {
        assert!(self.out.contains(part), "{part:?} is not in the output:\n{}", self.out);
        self
    }

    #[track_caller]
    pub(crate) fn warns(self, part: &str) -> Self {
        assert!(self.err.contains(part), "{part:?} is not in the errors:\n{}", self.err);
        self
    }
}

pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = vec!["shop".to_owned()];
    let (mut word, mut quoted, mut begun) = (String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if begun || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            c => word.push(c),
        }
    }
    if begun || !word.is_empty() {
        words.push(word);
    }
    words
}

/// Compares with `tests/snapshots/<name>.txt`; `BLESS=1` writes it.
#[track_caller]
pub(crate) fn snapshot(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/snapshots/{name}.txt"));
    if std::env::var_os("BLESS").is_some() {
        return std::fs::write(path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == text, "{name} is not as {}: BLESS=1 accepts\n{text}", path.display());
}
