//! A throw-away server for tests, made by `initdb` and gone with the process that made it.
//! Not for data that anybody needs: unless asked to be durable it does not even sync.
//!
//! ```no_run
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # use postgres::{Postgres, cluster::Cluster};
//! let Some(cluster) = Cluster::shared() else { return Ok(()) }; // it has said what to install
//! let store = Postgres::options().schema(cluster.fresh()).connect(cluster.url()).await?;
//! # Ok(()) }
//! ```

use std::{
    env, fmt, fs,
    io::Write,
    net::TcpListener,
    os::unix::{fs as unix, fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How to get what is missing.
const INSTALL: &str = "apt-get install postgresql";

/// How long a server may take to start.
const START: Duration = Duration::from_secs(60);

/// Starts the server, and stops it by its id: when told so, or when whoever tells is gone, however it went.
const KEEPER: &str = r#""$1" -D "$2/data" -p "$3" $4 >>"$2/log" 2>&1 & server=$!
read -r word
if [ "$word" = crash ]; then kill -QUIT $server; else kill -INT $server; fi
wait $server
[ -n "$word" ] || rm -rf "$2""#;

/// Whatever the server does, it does without telling others: TCP on the loopback only.
const SETTINGS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=400 -c max_wal_senders=40 \
     -c shared_buffers=64MB -c max_wal_size=256MB -c log_min_messages=warning";

/// As fast as it can be, as long as the machine stays up.
const FAST: &str = "-c fsync=off -c full_page_writes=off";

/// An authority, and a certificate of it.
const CERTIFICATES: [&str; 3] = [
    "req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=authority -keyout ca.key -out ca.pem",
    "req -newkey rsa:2048 -nodes -subj /CN=server -addext subjectAltName=IP:127.0.0.1 -keyout server.key -out server.csr",
    "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -copy_extensions copy -out server.pem",
];

/// A server with one database, on a free port of this machine.
#[derive(Debug)]
pub struct Cluster {
    programs: PathBuf,
    directory: PathBuf,
    port: u16,
    url: String,
    settings: String,
    /// Who the server runs as, when this process is root: Postgres refuses to.
    user: Option<(u32, u32)>,
    keeper: Option<Child>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// There is no `initdb` on the PATH, nor where Debian has it.
    #[error("there is no `initdb`, on the PATH or in /usr/lib/postgresql; install it: `{INSTALL}`")]
    Missing,
    /// There is no `openssl` on the PATH.
    #[error("there is no `openssl` on the PATH; install it: `apt-get install openssl`")]
    MissingOpenssl,
    /// It does not start.
    #[error("the throw-away server does not start: {0}")]
    Failed(String),
}

fn failed(what: &str, why: impl fmt::Display) -> ClusterError {
    ClusterError::Failed(format!("{what}: {why}"))
}

impl Cluster {
    /// The server of this process, started by whoever asks first. None where Postgres is not installed: the test
    /// has then nothing to run on, and this has said so.
    ///
    /// # Panics
    /// When it cannot start; and with `CI=true` when it is not installed, so that nothing is skipped unseen.
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let started = || match Self::start() {
            Ok(cluster) => Some(cluster),
            Err(ClusterError::Missing) if env::var("CI").is_ok_and(|ci| ci == "true") => {
                panic!("{}", ClusterError::Missing)
            }
            Err(ClusterError::Missing) => None,
            Err(error) => panic!("{error}"),
        };
        let shared = SHARED.get_or_init(started).as_ref();
        if shared.is_none() {
            #[allow(clippy::print_stderr, reason = "whoever runs the tests has to see it")]
            {
                eprintln!("skipped: {}", ClusterError::Missing);
            }
        }
        shared
    }

    /// A fast one: what it acknowledges survives it, but not the machine.
    ///
    /// # Errors
    /// When Postgres is not installed, or does not start.
    pub fn start() -> Result<Self, ClusterError> {
        Self::make(format!("{SETTINGS} {FAST}"), None)
    }

    /// One that syncs, for tests of what must not be lost.
    ///
    /// # Errors
    /// When Postgres is not installed, or does not start.
    pub fn start_durable() -> Result<Self, ClusterError> {
        Self::make(SETTINGS.to_owned(), None)
    }

    /// A standby of this one, which streams what it writes and takes no writes itself.
    ///
    /// # Errors
    /// When it does not start.
    pub fn standby(&self) -> Result<Self, ClusterError> {
        Self::make(self.settings.clone(), Some(self))
    }

    /// One that takes encrypted connections too, with a certificate for 127.0.0.1 from an authority of its own:
    /// [`authority`](Self::authority).
    ///
    /// # Errors
    /// When Postgres or `openssl` is not installed, or it does not start.
    pub fn start_encrypted() -> Result<Self, ClusterError> {
        let mut cluster = Self::make(format!("{SETTINGS} {FAST}"), None)?;
        for arguments in CERTIFICATES {
            let mut openssl = cluster.command(Path::new("openssl"));
            let made =
                openssl.args(arguments.split(' ')).output().map_err(|_| ClusterError::MissingOpenssl)?;
            if !made.status.success() {
                return Err(failed("openssl", String::from_utf8_lossy(&made.stderr)));
            }
        }
        let at = |name| cluster.directory.join(name).display().to_string();
        let (certificate, key) = (at("server.pem"), at("server.key"));
        cluster.settings += &format!(" -c ssl=on -c ssl_cert_file={certificate} -c ssl_key_file={key}");
        cluster.start_again()?;
        Ok(cluster)
    }

    /// Where the certificate of its authority is, if it is [encrypted](Self::start_encrypted).
    pub fn authority(&self) -> PathBuf {
        self.directory.join("ca.pem")
    }

    /// The URL of its database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Host and port, for whoever stands in between.
    pub fn address(&self) -> (&'static str, u16) {
        ("127.0.0.1", self.port)
    }

    /// The name of a schema that nobody else in this process has.
    pub fn fresh(&self) -> String {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        format!("loom_{}", COUNT.fetch_add(1, Ordering::Relaxed))
    }

    /// Stops it: clients are cut off, what was under way is rolled back.
    pub fn stop(&mut self) {
        self.end("stop");
    }

    /// Stops it as a crash would: nothing is tidied up, it recovers from its log at the next start.
    pub fn crash(&mut self) {
        self.end("crash");
    }

    /// Starts it again where it was, on the same port.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_again(&mut self) -> Result<(), ClusterError> {
        self.end("stop");
        let _ = fs::remove_file(self.directory.join("data/postmaster.pid"));
        let server = self.programs.join("postgres");
        let mut keeper = self.command(Path::new("/bin/sh"));
        keeper.args(["-c", KEEPER, "keeper"]).arg(server).arg(&self.directory);
        keeper.arg(self.port.to_string()).arg(&self.settings).stdin(Stdio::piped()).stdout(Stdio::null());
        self.keeper = Some(keeper.spawn().map_err(|error| failed("its keeper", error))?);
        let begun = Instant::now();
        while !self.is_ready() {
            if begun.elapsed() > START {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                self.end("crash");
                return Err(failed("it is not ready in time; its log", log));
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn make(settings: String, of: Option<&Self>) -> Result<Self, ClusterError> {
        let programs = programs().ok_or(ClusterError::Missing)?;
        let user = if id(&["-u"]) == Some(0) {
            let of = |what| id(&[what, "postgres"]);
            let missing = || failed("this is root, and Postgres must not be", "there is no user `postgres`");
            Some((of("-u").ok_or_else(missing)?, of("-g").ok_or_else(missing)?))
        } else {
            None
        };
        let directory = directory(user)?;
        let port = TcpListener::bind(("127.0.0.1", 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|error| failed("no free port", error))?
            .port();
        let url = format!("postgres://loom@127.0.0.1:{port}/postgres");
        let mut cluster = Self { programs, directory, port, url, settings, user, keeper: None };
        let (program, arguments) = match of {
            None => ("initdb", "-U loom -A trust -E UTF8 --locale=C --no-sync".to_owned()),
            Some(of) => ("pg_basebackup", format!("-d {} -R -c fast --no-sync", of.url)),
        };
        let mut maker = cluster.command(&cluster.programs.join(program));
        maker.arg("-D").arg(cluster.directory.join("data")).args(arguments.split(' '));
        let made = maker.output().map_err(|error| failed(program, error))?;
        if !made.status.success() {
            return Err(failed(program, String::from_utf8_lossy(&made.stderr)));
        }
        if of.is_none() {
            // A standby that is made, or starts, must find what was written meanwhile.
            let version = fs::read_to_string(cluster.directory.join("data/PG_VERSION")).unwrap_or_default();
            let is_old = version.trim().parse::<u32>().is_ok_and(|version| version < 13);
            cluster.settings += if is_old { " -c wal_keep_segments=64" } else { " -c wal_keep_size=1GB" };
        }
        cluster.start_again()?;
        Ok(cluster)
    }

    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.directory).env("LC_ALL", "C");
        if let Some((user, group)) = self.user {
            command.uid(user).gid(group);
        }
        command
    }

    /// The server says so itself, in the file that it makes while it lives.
    fn is_ready(&self) -> bool {
        let told = fs::read_to_string(self.directory.join("data/postmaster.pid")).unwrap_or_default();
        told.lines().any(|line| line.trim() == "ready")
    }

    fn end(&mut self, how: &str) {
        if let Some(mut keeper) = self.keeper.take() {
            if let Some(mut words) = keeper.stdin.take() {
                // One that is gone has taken the server with it.
                let _ = writeln!(words, "{how}");
            }
            let _ = keeper.wait();
        }
    }
}

impl Drop for Cluster {
    /// Not called for the shared one: its keeper sees this process go.
    fn drop(&mut self) {
        self.end("stop");
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// The directory of `initdb` and `postgres`.
fn programs() -> Option<PathBuf> {
    let has = |directory: &PathBuf| directory.join("initdb").exists();
    let on_path = env::var_os("PATH").and_then(|path| env::split_paths(&path).find(has));
    // `initdb` may be a link to where its companions are.
    let whole = |directory: PathBuf| {
        let real = fs::canonicalize(directory.join("initdb")).ok()?;
        let real = real.parent()?;
        real.join("postgres").exists().then(|| real.to_owned())
    };
    on_path.and_then(whole).or_else(|| {
        let mut versions: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib/postgresql")
            .ok()?
            .flatten()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
            .filter(|(_, directory)| has(directory))
            .collect();
        versions.sort_unstable();
        versions.pop().map(|(_, directory)| directory)
    })
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// A directory beside the build, or among the temporary files where the server's user cannot get at the build.
fn directory(user: Option<(u32, u32)>) -> Result<PathBuf, ClusterError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let open = |path: &Path| {
        let passable = |path: &Path| fs::metadata(path).is_ok_and(|of| of.permissions().mode() & 0o001 != 0);
        user.is_none() || path.ancestors().all(passable)
    };
    let target = env::current_exe().ok().and_then(|exe| Some(exe.ancestors().nth(3)?.to_owned()));
    let base = target.filter(|target| open(target)).unwrap_or_else(env::temp_dir).join("tmp/clusters");
    let made = || {
        fs::create_dir_all(&base)?;
        let name = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let directory = base.join(name);
        // Process ids come again.
        let _ = fs::remove_dir_all(&directory);
        fs::create_dir(&directory)?;
        if let Some((user, group)) = user {
            // The keeper removes the directory as the server's user.
            fs::set_permissions(&base, fs::Permissions::from_mode(0o1777))?;
            unix::chown(&directory, Some(user), Some(group))?;
        }
        Ok::<_, std::io::Error>(directory)
    };
    made().map_err(|error| failed(&base.display().to_string(), error))
}
