//! Why a call over the wire gave nothing.
//! Not what the server's codes mean: each says it of itself.

use loom_runtime::kernel::Failed;

use crate::{Code, Problem};

/// Why a call gave nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server refused; [`Problem::code`] says why.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// The flow returned an error.
    #[error("the flow failed: {}", .0.message)]
    Failed(Box<Failed>),
    /// Somebody cancelled it.
    #[error("cancelled by {by}: {reason}")]
    Cancelled {
        /// Why.
        reason: String,
        /// By whom.
        by: String,
    },
    /// The server was not reached, or the connection broke: whether it did what it was asked is not known.
    #[error("the server cannot be reached: {reason}")]
    Transport {
        /// What happened.
        reason: String,
        /// Whether it is sure that the server was not asked.
        unsent: bool,
    },
    /// Somebody on the way refused.
    #[error("HTTP status {0}, and no problem of Loom's: is a proxy in between?")]
    Status(u16),
    /// The answer is none that this client reads.
    #[error("the server's answer cannot be read: {0}")]
    Answer(String),
    /// What was to be sent has no JSON.
    #[error("the argument has no JSON: {0}")]
    Argument(String),
    /// No address.
    #[error("{0:?} is no address of a server: expected `http://host:port`")]
    Url(String),
    /// No TLS in this build.
    #[error("{0:?} wants TLS, and this build has none: turn on the feature `tls` of `loom-durable`")]
    NoTls(String),
}

impl ClientError {
    /// The server's code, if it refused.
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Problem(problem) => Some(problem.code),
            _ => None,
        }
    }

    pub(super) fn transport(error: reqwest::Error) -> Self {
        let unsent = error.is_connect();
        // The address may hold what is nobody's business, and the cause is further in.
        let error = error.without_url();
        let mut reason = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            reason = format!("{reason}: {inner}");
            cause = inner.source();
        }
        Self::Transport { reason, unsent }
    }

    pub(super) fn answer(error: &serde_json::Error) -> Self {
        Self::Answer(format!("wrong at line {}, column {}", error.line(), error.column()))
    }
}

impl From<Problem> for ClientError {
    fn from(problem: Problem) -> Self {
        Self::Problem(Box::new(problem))
    }
}
