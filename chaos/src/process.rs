//! A process of its own that runs one test of this very program, and signals to it.
//! Not what it does: it finds in its environment where it is to work.

use std::{
    env,
    io::Read,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    time::Duration,
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
    /// Starts one that runs `test` on a database, with a role; [`given`] tells it.
    pub fn start(test: &str, role: &str, database: &Database, ledger: &Ledger) -> Self {
        let ledger = ledger.path().display().to_string();
        Self::spawn(test, [(DATABASE, database.to_words()), (LEDGER, ledger), (ROLE, role.to_owned())])
    }

    /// Starts one that runs `test`, and finds this in its environment.
    pub fn spawn<const N: usize>(test: &str, environment: [(&str, String); N]) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads=1"])
            .envs(environment)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }

    /// The id that the system gave it.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal, by its name.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status();
        assert!(sent.unwrap().success());
    }

    /// Whether it still runs, or is stopped.
    pub fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    /// Waits for its end; answers whether it was killed, and not done.
    ///
    /// # Panics
    /// When it has failed.
    pub async fn was_killed(mut self) -> bool {
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status,
                None => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        };
        let killed = status.signal() == Some(9);
        assert!(killed || status.success(), "{status}");
        killed
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
