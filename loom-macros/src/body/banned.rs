//! The paths that a flow may not use, and what to use instead. Matched as written, since a macro
//! cannot see what a name means: what hides behind a helper is caught at run time, if at all.

use syn::Path;

use crate::codes::{self, Code};

/// A group of paths with one remedy.
pub(crate) struct Ban {
    pub(crate) code: Code,
    /// Why, as the end of "`path` …".
    pub(crate) why: &'static str,
    pub(crate) help: &'static str,
    paths: &'static [Shape],
}

/// Printing: banned in what is run again for each reader. A flow may print, though it does so once a replay.
pub(super) const PRINTS: Ban = Ban {
    code: codes::OUTSIDE_WORLD,
    why: "prints whenever the code is run again",
    help: "print in a step",
    paths: &[],
};

/// Whether a macro prints.
pub(super) fn prints(path: &Path) -> bool {
    let printing = ["print", "println", "eprint", "eprintln", "dbg"];
    path.segments.last().is_some_and(|last| printing.iter().any(|name| last.ident == name))
}

/// How a path is recognised.
enum Shape {
    /// Its last segments.
    Ends(&'static [&'static str]),
    /// Its first segments, with more behind them.
    Under(&'static [&'static str]),
}
use Shape::{Ends, Under};

impl Shape {
    fn fits(&self, path: &Path) -> bool {
        let have = path.segments.len();
        let (wanted, skip) = match *self {
            Ends(wanted) if have >= wanted.len() => (wanted, have - wanted.len()),
            Under(wanted) if have > wanted.len() => (wanted, 0),
            _ => return false,
        };
        path.segments.iter().skip(skip).zip(wanted).all(|(segment, name)| segment.ident == name)
    }
}

/// The ban that a path falls under.
pub(crate) fn ban(path: &Path) -> Option<&'static Ban> {
    BANS.iter().find(|ban| ban.paths.iter().any(|shape| shape.fits(path)))
}

/// Whether a path names, by its root, somebody else's crate, whatever its end looks like.
pub(crate) fn is_foreign(path: &Path) -> bool {
    const ROOTS: &[&str] = &[
        "std",
        "tokio",
        "async_std",
        "smol",
        "rand",
        "fastrand",
        "getrandom",
        "rayon",
        "reqwest",
        "futures_timer",
    ];
    let root = path.segments.first().filter(|_| path.segments.len() > 1);
    root.is_some_and(|root| ROOTS.iter().any(|known| root.ident == known))
}

// The first that fits counts: `thread::sleep` sleeps before `thread::` spawns.
static BANS: &[Ban] = &[
    Ban {
        code: codes::CLOCK,
        why: "reads a clock, which shows another time on replay",
        help: "use `ctx.now()`, which is recorded",
        paths: &[
            Ends(&["SystemTime", "now"]),
            Ends(&["Instant", "now"]),
            Ends(&["Utc", "now"]),
            Ends(&["Local", "now"]),
            Ends(&["Timestamp", "now"]),
            Ends(&["Zoned", "now"]),
            Ends(&["OffsetDateTime", "now_utc"]),
            Ends(&["OffsetDateTime", "now_local"]),
        ],
    },
    Ban {
        code: codes::RANDOMNESS,
        why: "is random, and gives another value on replay",
        help: "use `ctx.random()` or `ctx.uuid()`, which are recorded",
        paths: &[
            Under(&["rand"]),
            Under(&["fastrand"]),
            Under(&["getrandom"]),
            Ends(&["thread_rng"]),
            Ends(&["Uuid", "new_v4"]),
            Ends(&["Uuid", "now_v7"]),
            Ends(&["Ulid", "new"]),
        ],
    },
    Ban {
        code: codes::SLEEPING,
        why: "waits on a timer that dies with the process",
        help: "use `ctx.sleep(..)`, or `.timeout(..)` on the call",
        paths: &[
            Ends(&["thread", "sleep"]),
            Ends(&["time", "sleep"]),
            Ends(&["time", "sleep_until"]),
            Ends(&["time", "timeout"]),
            Ends(&["time", "timeout_at"]),
            Ends(&["time", "interval"]),
            Ends(&["time", "interval_at"]),
            Ends(&["task", "sleep"]),
            Under(&["futures_timer"]),
        ],
    },
    Ban {
        code: codes::SPAWNING,
        why: "starts work that no log records",
        help: "join the calls themselves, `join!(ctx.run(a()), ctx.run(b()))`, or do it in a step",
        paths: &[
            Ends(&["tokio", "spawn"]),
            Ends(&["task", "spawn"]),
            Ends(&["spawn_blocking"]),
            Ends(&["spawn_local"]),
            Ends(&["JoinSet", "new"]),
            Ends(&["JoinSet", "default"]),
            Ends(&["Handle", "current"]),
            Ends(&["Handle", "try_current"]),
            Ends(&["async_std", "spawn"]),
            Ends(&["smol", "spawn"]),
            Under(&["std", "thread"]),
            Under(&["thread"]),
            Under(&["rayon"]),
        ],
    },
    Ban {
        code: codes::OUTSIDE_WORLD,
        why: "touches the outside world, which is another one on replay",
        help: "move it into a step and `ctx.run` that",
        paths: &[
            Under(&["std", "fs"]),
            Under(&["tokio", "fs"]),
            Ends(&["fs", "read"]),
            Ends(&["fs", "read_to_string"]),
            Ends(&["fs", "read_dir"]),
            Ends(&["fs", "write"]),
            Ends(&["File", "open"]),
            Ends(&["File", "create"]),
            Under(&["tokio", "net"]),
            Ends(&["TcpStream", "connect"]),
            Ends(&["TcpListener", "bind"]),
            Ends(&["UdpSocket", "bind"]),
            Under(&["reqwest"]),
            Under(&["std", "env"]),
            Ends(&["env", "var"]),
            Ends(&["env", "var_os"]),
            Ends(&["env", "vars"]),
            Ends(&["env", "args"]),
            Ends(&["env", "current_dir"]),
            Under(&["std", "process"]),
            Under(&["tokio", "process"]),
            Ends(&["process", "exit"]),
            Ends(&["Command", "new"]),
            Ends(&["io", "stdin"]),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::ban;

    fn number(path: &str) -> Option<String> {
        ban(&syn::parse_str(path).expect("a path")).map(|ban| ban.code.to_string())
    }

    #[test]
    fn paths_are_matched_by_their_ends_and_roots() {
        for (path, code) in [
            ("SystemTime::now", "L0211"),
            ("std::time::Instant::now", "L0211"),
            ("rand::random", "L0212"),
            ("Uuid::new_v4", "L0212"),
            ("std::thread::spawn", "L0213"),
            ("tokio::spawn", "L0213"),
            ("tokio::task::JoinSet::<u8>::new", "L0213"),
            ("tokio::runtime::Handle::current", "L0213"),
            ("std::thread::sleep", "L0214"),
            ("tokio::time::sleep", "L0214"),
            ("std::fs::read", "L0215"),
            ("env::var", "L0215"),
        ] {
            assert_eq!(number(path).as_deref(), Some(code), "{path}");
        }
        for fine in [
            "std::time::Duration::from_secs",
            "tokio::time::Duration::from_secs",
            "rand",
            "random",
            "Order::new",
            "std::net::Ipv4Addr::new",
        ] {
            assert_eq!(number(fine), None, "{fine}");
        }
    }
}
