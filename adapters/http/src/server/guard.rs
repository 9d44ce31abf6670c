//! Who may do what: tokens and their roles, and by which names a server without tokens is called.
//! Not people: a token is a key that somebody holds, and who acts is what the request says.

use std::net::{IpAddr, SocketAddr};

use axum::http::{HeaderMap, header};
use loom_runtime::kernel::Digest;

use crate::{Code, Problem};

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Look.
    Reader,
    /// Everything on the host side.
    Operator,
    /// What a worker's store is for, and nothing else.
    Worker,
}

/// The tokens of a server, as digests: whoever reads memory finds none.
#[derive(Clone, Default)]
pub(super) struct Guard {
    keys: Vec<(Digest, Role)>,
    /// Requests without a token are the operator's.
    open: bool,
}

impl Guard {
    pub(super) fn open() -> Self {
        Self { keys: Vec::new(), open: true }
    }

    pub(super) fn admit(&mut self, token: &str, role: Role) {
        self.keys.push((Digest::of(token.as_bytes()), role));
    }

    pub(super) fn has(&self, role: Role) -> bool {
        self.keys.iter().any(|(_, of)| *of == role)
    }

    /// Who asks.
    pub(super) fn role(&self, headers: &HeaderMap) -> Result<Role, Problem> {
        let Some(given) = headers.get(header::AUTHORIZATION) else {
            return if self.open {
                by_own_name(headers)
            } else {
                Err(unauthorized("the request has no token"))
            };
        };
        let token = given.to_str().ok().and_then(|text| text.split_once(' '));
        let token =
            token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, token)| token.trim());
        let Some(token) = token else { return Err(unauthorized("the header is no bearer token")) };
        let given = Digest::of(token.as_bytes());
        // All of them are looked at, so that time tells nothing.
        let mut role = None;
        for (key, of) in &self.keys {
            if same(key, &given) {
                role = Some(*of);
            }
        }
        match role {
            Some(role) => Ok(role),
            None if self.open => by_own_name(headers),
            None => Err(unauthorized("the token is not known here")),
        }
    }
}

fn unauthorized(what: &str) -> Problem {
    Problem::new(Code::Unauthorized, format!("{what}: expected `Authorization: Bearer TOKEN`"))
}

/// Compares in the same time whatever the digests are.
fn same(a: &Digest, b: &Digest) -> bool {
    let differences = a.bytes().iter().zip(b.bytes()).fold(0, |found, (a, b)| found | (a ^ b));
    std::hint::black_box(differences) == 0
}

/// A page in a browser on this machine can call what listens here by a name that it has made point here.
fn by_own_name(headers: &HeaderMap) -> Result<Role, Problem> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_own = |ip: IpAddr| ip.is_loopback();
    let name =
        host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let own = name.eq_ignore_ascii_case("localhost")
        || host
            .parse()
            .map(|at: SocketAddr| at.ip())
            .or_else(|_| name.trim_matches(['[', ']']).parse())
            .is_ok_and(is_own);
    if own {
        return Ok(Role::Operator);
    }
    let detail =
        format!("without a token this server answers to `localhost` and loopback addresses, not to {host:?}");
    Err(Problem::new(Code::Forbidden, detail))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with(name: header::HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_token_has_its_role() {
        let mut guard = Guard::default();
        guard.admit("secret", Role::Operator);
        guard.admit("look", Role::Reader);
        let role = |value| guard.role(&with(header::AUTHORIZATION, value)).map_err(|problem| problem.code);
        assert_eq!(role("Bearer secret"), Ok(Role::Operator));
        assert_eq!(role("bearer look"), Ok(Role::Reader));
        for wrong in ["Bearer secre", "Bearer secrets", "Bearer ", "Basic secret", "secret", ""] {
            assert_eq!(role(wrong), Err(Code::Unauthorized), "{wrong:?}");
        }
        assert_eq!(guard.role(&HeaderMap::new()).map_err(|problem| problem.code), Err(Code::Unauthorized));
    }

    #[test]
    fn an_open_server_is_called_by_its_own_name() {
        let code = |host| Guard::open().role(&with(header::HOST, host)).map_err(|problem| problem.code);
        for own in ["localhost", "LOCALHOST:80", "127.0.0.1:7766", "127.0.0.1", "[::1]:7766", "[::1]"] {
            assert_eq!(code(own), Ok(Role::Operator), "{own}");
        }
        for foreign in ["evil.example", "evil.example:7766", "localhost.evil.example", "", "192.168.0.1:80"] {
            assert_eq!(code(foreign), Err(Code::Forbidden), "{foreign}");
        }
    }
}
