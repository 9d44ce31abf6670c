//! What went wrong, as both sides of the wire say it: a stable code, and an RFC 9457 problem around it.
//! Not the failures of flows: those are outcomes, and are told as such.

use std::fmt;

use loom_runtime::{kernel::ParkReport, ports::StoreError};
use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $status:literal, $rpc:literal;)+) => {
        /// What went wrong. Codes are added, never renamed, renumbered or removed; a client that meets one that it does
        /// not know reads [`Code::Unknown`], and goes by the HTTP status.
        ///
        /// In a JSON-RPC error, `code` is [`Code::rpc`], and `data` the whole problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
            /// A code of a newer server.
            #[serde(other)]
            Unknown,
        }

        impl Code {
            /// Every code that a server sends.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The code as it is written.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ Self::Unknown => "unknown" }
            }

            /// Its HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)+ Self::Unknown => 500 }
            }

            /// Its number in JSON-RPC.
            pub const fn rpc(self) -> i64 {
                match self { $(Self::$variant => $rpc,)+ Self::Unknown => -32603 }
            }

            /// What it means, in a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$variant => concat!($($doc),+).trim_start(),)+ Self::Unknown => "" }
            }
        }
    };
}

codes! {
    /// The request is not what the protocol asks for: broken JSON, no JSON-RPC call, a header that cannot be read.
    InvalidRequest = "invalid-request", 400, -32600;
    /// An argument is missing, unknown, or of another type.
    InvalidArguments = "invalid-arguments", 400, -32602;
    /// There is no such route, or no such method of JSON-RPC.
    UnknownRoute = "unknown-route", 404, -32601;
    /// The route takes other HTTP methods.
    MethodNotAllowed = "method-not-allowed", 405, 1405;
    /// The request lacks a token, or its token is not known.
    Unauthorized = "unauthorized", 401, 1401;
    /// The token does not allow this, or the request comes by a name that is not this server's.
    Forbidden = "forbidden", 403, 1403;
    /// The body does not say that it is JSON.
    UnsupportedMediaType = "unsupported-media-type", 415, 1415;
    /// The body is larger than the server takes.
    PayloadTooLarge = "payload-too-large", 413, 1413;
    /// The body did not come in time.
    RequestTimeout = "request-timeout", 408, 1408;
    /// There is no such execution.
    UnknownExecution = "unknown-execution", 404, 1001;
    /// This program has no such flow.
    UnknownFlow = "unknown-flow", 404, 1002;
    /// The execution has no such gate.
    UnknownGate = "unknown-gate", 404, 1003;
    /// The execution has no such frame there.
    UnknownFrame = "unknown-frame", 404, 1004;
    /// There is no such branch.
    UnknownBranch = "unknown-branch", 404, 1005;
    /// This program has no such projection.
    UnknownProjection = "unknown-projection", 404, 1006;
    /// The flow takes nothing on this topic.
    UnknownTopic = "unknown-topic", 404, 1007;
    /// The id cannot name an execution.
    InvalidId = "invalid-id", 400, 1010;
    /// The input, answer, message or result does not fit its schema, or is too large for an execution.
    InvalidPayload = "invalid-payload", 422, 1011;
    /// The gate is in a loop: its address lacks the repetition.
    GateRepetition = "gate-repetition", 422, 1012;
    /// The execution cannot be forked there, or with these stubs.
    InvalidFork = "invalid-fork", 422, 1013;
    /// The name cannot name a branch.
    InvalidBranch = "invalid-branch", 422, 1014;
    /// The id is taken by an execution of another flow, with another input, or from another fork.
    DuplicateStart = "duplicate-start", 409, 1020;
    /// The execution has ended, and takes nothing any more.
    AlreadyEnded = "already-ended", 409, 1021;
    /// Somebody has answered the gate before.
    AlreadyAnswered = "already-answered", 409, 1022;
    /// The gate is closed: it has expired, or the flow no longer asks.
    GateClosed = "gate-closed", 409, 1023;
    /// Another message was sent under this key.
    KeyReused = "key-reused", 409, 1024;
    /// Only a parked execution can be tried again.
    NotParked = "not-parked", 409, 1025;
    /// The frame is not in doubt.
    NotInDoubt = "not-in-doubt", 409, 1026;
    /// A verdict on this attempt was given before.
    AlreadyJudged = "already-judged", 409, 1027;
    /// A fault in code parked the execution; `report` says which.
    Parked = "parked", 409, 1028;
    /// The execution is parked until a program whose code agrees with its log takes it up; `report` says which.
    WaitingForCode = "waiting-for-code", 409, 1029;
    /// The flow refused the update.
    UpdateRejected = "update-rejected", 409, 1030;
    /// The execution ended before it took the update: it was not done.
    UpdateNotTaken = "update-not-taken", 409, 1031;
    /// There is no reply yet. The same update under the `key` that comes with this waits on, and is done once.
    NoReplyYet = "no-reply-yet", 504, 1032;
    /// The branch points elsewhere.
    BranchMoved = "branch-moved", 409, 1033;
    /// Somebody else changed the execution first; the same request may be sent again.
    Contended = "contended", 409, 1034;
    /// The events that were asked for were moved to the archive.
    Archived = "archived", 410, 1035;
    /// The event that was asked for cannot be read by this program.
    Unreadable = "unreadable", 500, 1040;
    /// The stored data contradicts itself.
    StoreDamaged = "store-damaged", 500, 1041;
    /// The store cannot be reached. Whether a write happened is not known; the same request may be sent again.
    StoreUnavailable = "store-unavailable", 503, 1042;
    /// A store refused a remote worker's call; `store` says how.
    StoreRefused = "store-refused", 409, 1043;
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An RFC 9457 problem, `application/problem+json`: `{type, title, status, code, detail, instance?, …}`. Its `type` is
/// `urn:loom:problem:<code>`, its `instance` the request's id. Holds no payload and no secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(into = "Wire", from = "Wire")]
pub struct Problem {
    /// What went wrong.
    pub code: Code,
    /// What it was this time, and what to do.
    pub detail: String,
    /// The request's id, as logs have it.
    pub request: Option<String>,
    /// Of a parked execution.
    pub report: Option<Box<ParkReport>>,
    /// The key under which an update is asked for again.
    pub key: Option<String>,
    /// How a store refused a remote worker.
    pub store: Option<Box<StoreError>>,
}

impl Problem {
    /// A problem with a detail.
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), request: None, report: None, key: None, store: None }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.code)
    }
}

impl std::error::Error for Problem {}

/// A problem on the wire.
#[derive(Serialize, Deserialize)]
struct Wire {
    #[serde(rename = "type")]
    ty: String,
    title: String,
    status: u16,
    code: Code,
    detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    instance: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    report: Option<Box<ParkReport>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    store: Option<Box<StoreError>>,
}

impl From<Problem> for Wire {
    fn from(problem: Problem) -> Self {
        let Problem { code, detail, request, report, key, store } = problem;
        Self {
            ty: format!("urn:loom:problem:{code}"),
            title: code.meaning().into(),
            status: code.status(),
            code,
            detail,
            instance: request,
            report,
            key,
            store,
        }
    }
}

impl From<Wire> for Problem {
    fn from(wire: Wire) -> Self {
        let Wire { code, detail, instance, report, key, store, .. } = wire;
        Self { code, detail, request: instance, report, key, store }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_told_apart() {
        let (mut names, mut numbers) = (BTreeSet::new(), BTreeSet::new());
        for code in Code::ALL {
            assert!(names.insert(code.name()) && numbers.insert(code.rpc()), "{code} is taken");
            assert!(code.meaning().ends_with('.'), "{code}: {}", code.meaning());
            let written = serde_json::to_value(code).unwrap();
            assert_eq!(written, code.name());
        }
    }

    #[test]
    fn a_problem_survives_the_wire() {
        let mut problem = Problem::new(Code::StoreRefused, "no");
        problem.store = Some(Box::new(StoreError::InboxMoved("a".parse().unwrap())));
        let text = serde_json::to_string(&problem).unwrap();
        let back: Problem = serde_json::from_str(&text).unwrap();
        assert_eq!((back.code, back.store), (problem.code, problem.store), "{text}");
        let newer = text.replace("store-refused", "of-tomorrow");
        assert_eq!(serde_json::from_str::<Problem>(&newer).unwrap().code, Code::Unknown);
    }
}
