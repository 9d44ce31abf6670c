//! A process of its own that runs one test of this very program, and signals to it.
//! Not what it does: it finds in its environment where it is to work.

use std::{
    env,
    io::Read,
    process::{Child, Command, Stdio},
};

use crate::{Database, Ledger};

const DATABASE: &str = "LOOM_CHAOS_DATABASE";
const LEDGER: &str = "LOOM_CHAOS_LEDGER";
const ROLE: &str = "LOOM_CHAOS_ROLE";

/// What a process is told by who starts it.
pub struct Given {
    /// Where executions are kept.
    pub database: Database,
    /// Where effects are told.
    pub ledger: Ledger,
    /// What it is to do, if there is a choice.
    pub role: String,
}

/// What this process was told; none, when it is not such a process.
pub fn given() -> Option<Given> {
    let database = Database::of_words(&env::var(DATABASE).ok()?);
    let (ledger, role) = (Ledger::new(env::var(LEDGER).ok()?), env::var(ROLE).ok()?);
    // Whoever started it holds the other end, and is gone when this one ends.
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0]);
        std::process::exit(1);
    });
    Some(Given { database, ledger, role })
}

/// A process; it is gone when this is dropped.
pub struct Process(Child);

impl Process {
    /// Starts one that runs `test`, with a role for it.
    pub fn start(test: &str, role: &str, database: &Database, ledger: &Ledger) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .env(DATABASE, database.to_words())
            .env(LEDGER, ledger.path())
            .env(ROLE, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    /// Stops it where it is.
    pub fn stop(&self) {
        self.signal("STOP");
    }

    /// Lets it go on.
    pub fn go_on(&self) {
        self.signal("CONT");
    }

    /// Kills it: nothing is tidied up.
    pub fn kill(self) {
        drop(self);
    }

    /// Whether it still runs, or is stopped. One that ended by itself has failed.
    pub fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.0.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
