//! Where a command reads and writes, and what it knows of its surroundings: the only way to the outside.
//! Not the words: the renderers make those.

use std::{
    io::{self, IsTerminal, Read, Write},
    time::{SystemTime, UNIX_EPOCH},
};

use loom_runtime::Timestamp;
use tokio::sync::mpsc;

/// The surroundings of a command. [`Console::process`] is the real one; tests fill in their own.
pub struct Console {
    /// Results go here.
    pub out: Box<dyn Write + Send>,
    /// Errors and progress go here.
    pub err: Box<dyn Write + Send>,
    /// What `-` reads.
    pub input: Box<dyn Read + Send>,
    /// Whether `out` shows colours.
    pub colours: bool,
    /// How many columns `out` has; `None` when it is no terminal.
    pub width: Option<usize>,
    /// Whether somebody watches `err`, and progress is worth showing.
    pub progress: bool,
    /// Who answers, unless `--by` says otherwise.
    pub by: String,
    /// The program, as commands that are printed begin.
    pub program: String,
    /// The token that `serve` takes when no file has one; of a process, `LOOM_TOKEN`.
    pub token: Option<String>,
    /// What time it is, for "in 2 days".
    pub now: fn() -> Timestamp,
    /// What asks the command to stop.
    pub stop: Stop,
    closed: bool,
    failed: Option<io::Error>,
}

/// What asks a command to stop: signals, or a channel in tests.
#[derive(Debug)]
pub enum Stop {
    /// SIGINT and SIGTERM, listened to from the first wait on; by a worker, before it works.
    Signals,
    /// Each message is one signal.
    Channel(mpsc::UnboundedReceiver<()>),
    /// Listening.
    #[doc(hidden)]
    Listening(Signals),
}

impl Console {
    /// A console over these three streams, that is no terminal.
    pub fn new(
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
        input: impl Read + Send + 'static,
    ) -> Self {
        Self {
            out: Box::new(out),
            err: Box::new(err),
            input: Box::new(input),
            colours: false,
            width: None,
            progress: false,
            by: "cli".into(),
            program: "app".into(),
            token: None,
            now,
            stop: Stop::Signals,
            closed: false,
            failed: None,
        }
    }

    /// The process's own: its standard streams, its terminal if it has one, its user.
    pub fn process() -> Self {
        let (out, err) = (io::stdout(), io::stderr());
        let terminal = out.is_terminal();
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let columns = || term::Term::stdout().size_checked().map(|(_, columns)| usize::from(columns));
        let width = || set("COLUMNS").and_then(|columns| columns.parse().ok()).or_else(columns);
        Self {
            colours: terminal && set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
            width: terminal.then(width).flatten(),
            progress: err.is_terminal(),
            by: set("USER").unwrap_or_else(|| "cli".into()),
            program: std::env::args().next().unwrap_or_else(|| "app".into()),
            token: set("LOOM_TOKEN"),
            ..Self::new(out, err, io::stdin())
        }
    }

    /// Prints a result. A reader that has gone (`| head`) is no error: the rest is not printed. Another error is kept
    /// for the end.
    pub(crate) fn print(&mut self, text: &str) {
        if self.closed {
            return;
        }
        if let Err(error) = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            self.closed = true;
            self.failed = Some(error).filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        }
    }

    /// Why not everything was printed, unless nobody wanted to read it.
    pub(crate) fn failure(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }

    /// Prints a line of a result.
    pub(crate) fn line(&mut self, line: &str) {
        self.print(&format!("{line}\n"));
    }

    /// Says something that is no result.
    pub(crate) fn say(&mut self, line: &str) {
        // Nobody can be told that nobody listens.
        let _ = writeln!(self.err, "{line}").and_then(|()| self.err.flush());
    }

    /// Whether results can no longer be printed.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}

impl Stop {
    /// Notices from now on who asks to stop, also between two waits.
    pub(crate) fn listen(&mut self) {
        if matches!(self, Self::Signals)
            && let Ok(signals) = Signals::listen()
        {
            *self = Self::Listening(signals);
        }
    }

    /// Waits until somebody asks to stop.
    pub(crate) async fn asked(&mut self) {
        self.listen();
        match self {
            Self::Listening(signals) => signals.next().await,
            Self::Channel(channel) => match channel.recv().await {
                Some(()) => {}
                None => std::future::pending().await,
            },
            Self::Signals => std::future::pending().await,
        }
    }
}

/// The signals that ask a process to stop.
#[cfg(unix)]
#[derive(Debug)]
pub struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn listen() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// The signal that asks a process to stop.
#[cfg(not(unix))]
#[derive(Debug)]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    }
}

fn now() -> Timestamp {
    Timestamp::EPOCH.plus(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}
