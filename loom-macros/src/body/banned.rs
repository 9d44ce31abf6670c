//! The paths that a flow may not use, and what to use instead. A macro cannot see what a name means: what is written in
//! full, or imported by the body, is told by its text, and of a short name the compiler is asked, as
//! `loom-runtime/src/reached.rs` says. What hides behind a helper is caught at run time, if at all.

use quote::ToTokens as _;
use syn::Path;

use crate::codes::{self, Code};

/// A group of paths with one remedy.
pub(crate) struct Ban {
    pub(crate) code: Code,
    /// Why, as the end of "`path` …".
    pub(crate) why: &'static str,
    pub(crate) help: &'static str,
    /// The function of the runtime that asks the compiler.
    pub(crate) asks: &'static str,
    paths: &'static [Shape],
}

/// Printing: banned in what is run again for each reader. A flow may print, though it does so once a replay.
pub(super) const PRINTS: Ban = Ban {
    code: codes::OUTSIDE_WORLD,
    why: "prints whenever the code is run again",
    help: "print in a step",
    asks: "outside",
    paths: &[],
};

/// Whether a macro prints.
pub(super) fn prints(path: &Path) -> bool {
    let printing = ["print", "println", "eprint", "eprintln", "dbg"];
    path.segments.last().is_some_and(|last| printing.iter().any(|name| last.ident == name))
}

/// How a path is recognised.
enum Shape {
    /// Its last segments, which are what they read.
    Ends(&'static [&'static str]),
    /// Its first segments, with more behind them.
    Under(&'static [&'static str]),
    /// Its last segments, if it is one of these functions. `$` is the runtime's path.
    Is(&'static [&'static str], &'static [&'static str]),
    /// The same by its last segment alone: that of a type or module which may go by any name.
    Of(&'static str, &'static [&'static str]),
}
use Shape::{Ends, Is, Of, Under};

impl Shape {
    fn fits(&self, path: &Path) -> bool {
        let have = path.segments.len();
        let (wanted, skip) = match *self {
            Of(name, _) => return have > 1 && path.segments.last().is_some_and(|last| last.ident == name),
            Ends(wanted) | Is(wanted, _) if have >= wanted.len() => (wanted, have - wanted.len()),
            Under(wanted) if have > wanted.len() => (wanted, 0),
            _ => return false,
        };
        path.segments.iter().skip(skip).zip(wanted).all(|(segment, name)| segment.ident == name)
    }

    /// How many segments it tells of.
    fn len(&self) -> usize {
        match self {
            Ends(names) | Under(names) | Is(names, _) => names.len(),
            Of(..) => 1,
        }
    }
}

/// What is to be said of a path.
pub(crate) enum Verdict {
    /// It is banned. Whether something of the user's own may have that name.
    Refused { ban: &'static Ban, may_be_own: bool },
    /// It is banned if it is one of these functions. Whether it is likely to be.
    Asked { ban: &'static Ban, functions: &'static [&'static str], likely: bool },
}

/// Judges a path as it is written, or as the body's own imports complete it. `own` when it says that it begins in the user's
/// crate, or the body declares its first name.
pub(crate) fn judge(path: &Path, imported: bool, own: bool) -> Option<Verdict> {
    let known = !own && is_foreign(path);
    let (ban, shape) = BANS
        .iter()
        .find_map(|ban| ban.paths.iter().find(|shape| shape.fits(path)).map(|shape| (ban, shape)))?;
    match *shape {
        // A variant or a constant, `std::process::ExitCode::SUCCESS`, does nothing.
        Under(["std", ..]) if !names_function(path) => None,
        Of(_, functions) => Some(Verdict::Asked { ban, functions, likely: false }),
        _ if known => Some(Verdict::Refused { ban, may_be_own: !imported && may_be_own(path) }),
        Is(_, functions) => Some(Verdict::Asked { ban, functions, likely: true }),
        _ if own || path.segments.len() > shape.len() => None,
        _ => Some(Verdict::Refused { ban, may_be_own: true }),
    }
}

/// Whether a path ends as those of functions do.
fn names_function(path: &Path) -> bool {
    path.segments.last().is_some_and(|last| !last.ident.to_string().starts_with(char::is_uppercase))
}

/// Whether somebody may call something of his own so.
fn may_be_own(path: &Path) -> bool {
    let root = path.segments.first().filter(|_| path.leading_colon.is_none());
    root.is_some_and(|root| root.ident != "std" && root.ident != "tokio")
}

/// How something of the user's own that is called like this is told apart, as the end of a help; nothing of what cannot be.
pub(crate) fn way_out(path: &Path, may_be_own: bool) -> String {
    if !may_be_own {
        return String::new();
    }
    let written: String = path.to_token_stream().to_string().split_whitespace().collect();
    format!("; if this is your own, name it from your crate: `self::{written}`")
}

/// Whether a path says that it begins in the user's own crate.
pub(super) fn is_own(path: &Path) -> bool {
    let root = path.segments.first().filter(|_| path.leading_colon.is_none());
    root.is_some_and(|root| ["crate", "self", "super", "Self"].iter().any(|own| root.ident == own))
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
        "chrono",
        "jiff",
        "uuid",
        "ulid",
    ];
    let root = path.segments.first().filter(|_| path.segments.len() > 1);
    root.is_some_and(|root| ROOTS.iter().any(|known| root.ident == known))
}

// The first that fits counts: `thread::sleep` sleeps, and `thread::available_parallelism` asks the machine, before `thread::`
// spawns. Under another name, `use std::fs as disk`,
// only what few call so of their own is looked up: each question costs the compiler something.
static BANS: &[Ban] = &[
    Ban {
        code: codes::CLOCK,
        why: "reads a clock, which shows another time on replay",
        help: "use `ctx.now()`, which is recorded",
        asks: "clock",
        paths: &[
            Is(&["SystemTime", "now"], &["::std::time::SystemTime::now"]),
            Is(&["Instant", "now"], &["::std::time::Instant::now", "$::tokio::time::Instant::now"]),
            Ends(&["Utc", "now"]),
            Ends(&["Local", "now"]),
            Ends(&["Timestamp", "now"]),
            Ends(&["Zoned", "now"]),
            Ends(&["time", "OffsetDateTime", "now_utc"]),
            Ends(&["time", "OffsetDateTime", "now_local"]),
            Ends(&["OffsetDateTime", "now_utc"]),
            Ends(&["OffsetDateTime", "now_local"]),
            Of(
                "now",
                &[
                    "::std::time::SystemTime::now",
                    "::std::time::Instant::now",
                    "$::tokio::time::Instant::now",
                ],
            ),
        ],
    },
    Ban {
        code: codes::RANDOMNESS,
        why: "is random, and gives another value on replay",
        help: "use `ctx.random()` or `ctx.uuid()`, which are recorded",
        asks: "randomness",
        paths: &[
            Under(&["rand"]),
            Under(&["fastrand"]),
            Under(&["getrandom"]),
            Ends(&["thread_rng"]),
            Is(&["Uuid", "new_v4"], &["$::uuid::Uuid::new_v4"]),
            Is(&["Uuid", "now_v7"], &["$::uuid::Uuid::now_v7"]),
            Ends(&["Ulid", "new"]),
            Of("new_v4", &["$::uuid::Uuid::new_v4"]),
            Of("now_v7", &["$::uuid::Uuid::now_v7"]),
        ],
    },
    Ban {
        code: codes::SLEEPING,
        why: "waits on a timer that dies with the process",
        help: "use `ctx.sleep(..)`, or `.timeout(..)` on the call",
        asks: "sleeping",
        paths: &[
            Is(&["thread", "sleep"], &["::std::thread::sleep"]),
            Is(&["time", "sleep"], &["$::tokio::time::sleep"]),
            Is(&["time", "sleep_until"], &["$::tokio::time::sleep_until"]),
            Is(&["time", "timeout"], &["$::tokio::time::timeout::<::core::future::Ready<()>>"]),
            Is(&["time", "timeout_at"], &["$::tokio::time::timeout_at::<::core::future::Ready<()>>"]),
            Is(&["time", "interval"], &["$::tokio::time::interval"]),
            Is(&["time", "interval_at"], &["$::tokio::time::interval_at"]),
            Ends(&["task", "sleep"]),
            Under(&["futures_timer"]),
            Of("sleep", &["::std::thread::sleep", "$::tokio::time::sleep"]),
        ],
    },
    Ban {
        code: codes::OUTSIDE_WORLD,
        why: "touches the outside world, which is another one on replay",
        help: "move it into a step and `ctx.run` that",
        asks: "outside",
        paths: &[
            Is(&["thread", "available_parallelism"], &["::std::thread::available_parallelism"]),
            Under(&["std", "fs"]),
            Under(&["tokio", "fs"]),
            Is(&["fs", "read"], &["::std::fs::read::<&str>"]),
            Is(&["fs", "read_to_string"], &["::std::fs::read_to_string::<&str>"]),
            Is(&["fs", "read_dir"], &["::std::fs::read_dir::<&str>"]),
            Is(&["fs", "write"], &["::std::fs::write::<&str, &str>"]),
            Is(&["File", "open"], &["::std::fs::File::open::<&str>"]),
            Is(&["File", "create"], &["::std::fs::File::create::<&str>"]),
            Under(&["tokio", "net"]),
            Is(&["TcpStream", "connect"], &["::std::net::TcpStream::connect::<&str>"]),
            Is(&["TcpListener", "bind"], &["::std::net::TcpListener::bind::<&str>"]),
            Is(&["UdpSocket", "bind"], &["::std::net::UdpSocket::bind::<&str>"]),
            Under(&["reqwest"]),
            Under(&["std", "env"]),
            Is(&["env", "var"], &["::std::env::var::<&str>"]),
            Is(&["env", "var_os"], &["::std::env::var_os::<&str>"]),
            Is(&["env", "vars"], &["::std::env::vars"]),
            Is(&["env", "args"], &["::std::env::args"]),
            Is(&["env", "current_dir"], &["::std::env::current_dir"]),
            Under(&["std", "process"]),
            Under(&["tokio", "process"]),
            Is(&["process", "exit"], &["::std::process::exit"]),
            Is(&["Command", "new"], &["::std::process::Command::new::<&str>"]),
            Is(&["io", "stdin"], &["::std::io::stdin"]),
        ],
    },
    Ban {
        code: codes::SPAWNING,
        why: "starts work that no log records",
        help: "join the calls themselves, `join!(ctx.run(a()), ctx.run(b()))`, or do it in a step",
        asks: "spawning",
        paths: &[
            Ends(&["tokio", "spawn"]),
            Is(&["task", "spawn"], &["$::tokio::task::spawn::<::core::future::Ready<()>>"]),
            Is(&["spawn_blocking"], &["$::tokio::task::spawn_blocking::<fn(), ()>"]),
            Is(&["spawn_local"], &["$::tokio::task::spawn_local::<::core::future::Ready<()>>"]),
            Is(&["JoinSet", "new"], &["$::tokio::task::JoinSet::<()>::new"]),
            Is(&["JoinSet", "default"], &["$::tokio::task::JoinSet::<()>::default"]),
            Is(&["Handle", "current"], &["$::tokio::runtime::Handle::current"]),
            Is(&["Handle", "try_current"], &["$::tokio::runtime::Handle::try_current"]),
            Ends(&["async_std", "spawn"]),
            Ends(&["smol", "spawn"]),
            Under(&["std", "thread"]),
            Is(&["thread", "spawn"], &["::std::thread::spawn::<fn(), ()>"]),
            Is(
                &["thread", "scope"],
                &["::std::thread::scope::<for<'s> fn(&'s ::std::thread::Scope<'s, 'static>), ()>"],
            ),
            Is(&["thread", "Builder", "new"], &["::std::thread::Builder::new"]),
            Is(&["thread", "current"], &["::std::thread::current"]),
            Is(&["thread", "park"], &["::std::thread::park"]),
            Is(&["thread", "yield_now"], &["::std::thread::yield_now"]),
            Under(&["rayon"]),
            Of(
                "spawn",
                &["::std::thread::spawn::<fn(), ()>", "$::tokio::task::spawn::<::core::future::Ready<()>>"],
            ),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::{Verdict, is_own, judge};

    /// The number, with `!` for what cannot be anything else and `?` for what the compiler is asked.
    fn number(path: &str) -> String {
        let path = syn::parse_str(path).expect("a path");
        match judge(&path, false, is_own(&path)) {
            Some(Verdict::Refused { ban, may_be_own: false }) => format!("{}!", ban.code),
            Some(Verdict::Refused { ban, may_be_own: true }) => format!("{}", ban.code),
            Some(Verdict::Asked { ban, likely: true, .. }) => format!("{}?", ban.code),
            Some(Verdict::Asked { ban, likely: false, .. }) => format!("{}??", ban.code),
            None => String::new(),
        }
    }

    #[test]
    fn paths_are_matched_by_their_ends_and_roots() {
        for (path, code) in [
            ("SystemTime::now", "L0211?"),
            ("std::time::Instant::now", "L0211!"),
            ("::std::time::Instant::now", "L0211!"),
            ("::shop::Instant::now", "L0211?"),
            ("time::OffsetDateTime::now_utc", "L0211"),
            ("Utc::now", "L0211"),
            ("chrono::Utc::now", "L0211"),
            ("rand::random", "L0212"),
            ("Uuid::new_v4", "L0212?"),
            ("uuid::Uuid::new_v4", "L0212"),
            ("std::thread::spawn", "L0213!"),
            ("tokio::spawn", "L0213!"),
            ("tokio::task::JoinSet::<u8>::new", "L0213!"),
            ("tokio::runtime::Handle::current", "L0213!"),
            ("std::thread::sleep", "L0214!"),
            ("tokio::time::sleep", "L0214!"),
            ("std::fs::read", "L0215!"),
            ("std::thread::available_parallelism", "L0215!"),
            ("thread::available_parallelism", "L0215?"),
            ("env::var", "L0215?"),
            ("self::Instant::now", "L0211?"),
            ("Clock::now", "L0211??"),
            ("crate::shop::clock::now", "L0211??"),
            ("Ids::new_v4", "L0212??"),
            ("pauses::sleep", "L0214??"),
            ("work::spawn", "L0213??"),
            ("shop::fs::read", "L0215?"),
        ] {
            assert_eq!(number(path), code, "{path}");
        }
        for fine in [
            "std::time::Duration::from_secs",
            "tokio::time::Duration::from_secs",
            "rand",
            "random",
            "now",
            "Order::new",
            "std::net::Ipv4Addr::new",
            "self::rand::random",
            "crate::Utc::now",
            "shop::Utc::now",
            "thread::count",
            "std::env::VarError::NotPresent",
            "std::process::ExitCode::SUCCESS",
        ] {
            assert_eq!(number(fine), "", "{fine}");
        }
    }
}
