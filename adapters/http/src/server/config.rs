//! How a server is set up: where it listens, which tokens it takes, how much it reads.
//! Not the app's own options.

use std::{net::SocketAddr, time::Duration};

use super::guard::{Guard, Role};

/// The port unless set.
const PORT: u16 = 7766;

/// How a server is set up. Everything has a default: loopback only, and a token made for this run.
#[derive(Clone)]
pub struct Config {
    pub(super) bind: SocketAddr,
    token: Token,
    reader: Option<String>,
    worker: Option<String>,
    pub(super) body_limit: usize,
    pub(super) store_body_limit: usize,
    pub(super) keep_alive: Duration,
    pub(super) health: Duration,
    pub(super) grace: Duration,
    pub(super) works: bool,
}

#[derive(Clone)]
enum Token {
    Generated,
    Given(String),
    None,
}

/// Why a server does not listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Others could reach it, and no token was chosen.
    #[error(
        "{address} can be reached from outside, and no token was set: set one with `Config::token`, kept where your \
         other secrets are, or bind to 127.0.0.1"
    )]
    Exposed {
        /// Where it was to listen.
        address: SocketAddr,
    },
    /// A token is too short to be one.
    #[error(
        "the {role} token has {length} characters, expected 16 at least: `openssl rand -hex 32` makes one"
    )]
    WeakToken {
        /// Whose.
        role: &'static str,
        /// How many it has.
        length: usize,
    },
    /// One token has two roles.
    #[error("the {role} token is another role's, too: each role has its own")]
    SharedToken {
        /// Whose.
        role: &'static str,
    },
    /// It cannot listen there.
    #[error(
        "{address} cannot be listened on: {reason}; choose another with `Config::bind`, or port 0 for any"
    )]
    Bind {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        reason: String,
    },
    /// It broke off.
    #[error("the server broke off: {0}")]
    Broken(String),
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bind: SocketAddr::from(([127, 0, 0, 1], PORT)),
            token: Token::Generated,
            reader: None,
            worker: None,
            body_limit: 8 << 20,
            store_body_limit: 64 << 20,
            keep_alive: Duration::from_secs(15),
            health: Duration::from_secs(2),
            grace: Duration::from_secs(10),
            works: true,
        }
    }
}

impl Config {
    /// As [`Config::default`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Where to listen: `127.0.0.1:7766` unless set. Anywhere but on loopback, a token has to be set.
    #[must_use]
    pub fn bind(mut self, address: SocketAddr) -> Self {
        self.bind = address;
        self
    }

    /// The token that allows everything on the host side. One is made, and told, unless it is set.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Token::Given(token.into());
        self
    }

    /// No token: everybody on this machine may do everything. Loopback only.
    #[must_use]
    pub fn without_token(mut self) -> Self {
        self.token = Token::None;
        self
    }

    /// A token that allows to look, and nothing else.
    #[must_use]
    pub fn read_token(mut self, token: impl Into<String>) -> Self {
        self.reader = Some(token.into());
        self
    }

    /// A token that opens the store to remote workers, and nothing else. Without one there are no remote workers.
    #[must_use]
    pub fn worker_token(mut self, token: impl Into<String>) -> Self {
        self.worker = Some(token.into());
        self
    }

    /// How many bytes a request's body has at most: 8 MiB unless set.
    #[must_use]
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// The same for calls of remote workers, which write whole batches: 64 MiB unless set.
    #[must_use]
    pub fn store_body_limit(mut self, bytes: usize) -> Self {
        self.store_body_limit = bytes;
        self
    }

    /// How often a quiet stream of events says that it lives: every 15 s unless set.
    #[must_use]
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.keep_alive = every;
        self
    }

    /// How long `/healthz` waits for the store: 2 s unless set.
    #[must_use]
    pub fn health_timeout(mut self, patience: Duration) -> Self {
        self.health = patience;
        self
    }

    /// How long requests may take to finish at a shutdown: 10 s unless set.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Runs nothing here: starts are recorded, and workers elsewhere take them up.
    #[must_use]
    pub fn without_work(mut self) -> Self {
        self.works = false;
        self
    }

    /// The guard, and the token that was made.
    pub(super) fn guard(&self) -> Result<(Guard, Option<String>), ServeError> {
        if !self.bind.ip().is_loopback() && !matches!(self.token, Token::Given(_)) {
            return Err(ServeError::Exposed { address: self.bind });
        }
        let (mut guard, made) = match &self.token {
            Token::None => (Guard::open(), None),
            Token::Given(_) => (Guard::default(), None),
            Token::Generated => (Guard::default(), Some(random())),
        };
        let operator = match &self.token {
            Token::Given(token) => Some(token.as_str()),
            _ => made.as_deref(),
        };
        let tokens = [
            ("operator's", operator, Role::Operator),
            ("reader's", self.reader.as_deref(), Role::Reader),
            ("workers'", self.worker.as_deref(), Role::Worker),
        ];
        for (at, (name, token, role)) in tokens.iter().enumerate() {
            let Some(token) = token else { continue };
            if token.len() < 16 {
                return Err(ServeError::WeakToken { role: name, length: token.chars().count() });
            }
            if tokens[..at].iter().any(|(_, other, _)| other == &Some(*token)) {
                return Err(ServeError::SharedToken { role: name });
            }
            guard.admit(token, *role);
        }
        Ok((guard, made))
    }
}

/// A token that nobody guesses: 244 random bits.
fn random() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

impl std::fmt::Debug for Config {
    /// Without the tokens.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config").field("bind", &self.bind).field("works", &self.works).finish_non_exhaustive()
    }
}
