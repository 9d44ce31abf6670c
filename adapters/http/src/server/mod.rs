//! The service: routes, who may call them, and the process around them.
//! Not the verbs' meaning, which is the app's.

mod arguments;
mod body;
mod config;
mod events;
mod guard;
mod method;
mod openapi;
mod refusals;
mod rest;
mod route;
mod rpc;
mod store;
mod verbs;

use std::{collections::BTreeSet, future::Future, net::SocketAddr, sync::Arc, time::Instant};

use axum::{
    Router,
    body::Body,
    extract::{FromRequestParts, RawPathParams, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
    routing::{MethodRouter, get, post, put},
};
use loom_runtime::{App, kernel::InvalidId, ports::ListFilter};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use self::config::{Config, ServeError};
use self::{
    guard::{Guard, Role},
    method::Method,
    route::VERBS,
    verbs::Host,
};
use crate::{Code, Problem};

/// Serves an app until the process ends: [`Server::bind`] and [`Server::run`] in one. The token, if one was made for this
/// run, is in the event `listening`; a program that has another place for it binds first, and asks [`Server::token`].
///
/// # Errors
/// See [`ServeError`].
pub async fn serve(app: App, config: Config) -> Result<(), ServeError> {
    let server = Server::bind(app, config).await?;
    tracing::info!(address = %server.address(), token = server.token(), "listening");
    server.run().await
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<String>,
    inner: Arc<Inner>,
}

struct Inner {
    host: Host,
    guard: Guard,
    config: Config,
    openapi: String,
    openrpc: String,
}

impl Server {
    /// Listens; nothing is answered before [`Server::run`].
    ///
    /// # Errors
    /// See [`ServeError`]: no token, and others could reach it; the address is taken.
    pub async fn bind(app: App, config: Config) -> Result<Self, ServeError> {
        let (guard, token) = config.guard()?;
        let failed = |e: std::io::Error| ServeError::Bind { address: config.bind, reason: e.to_string() };
        let listener = TcpListener::bind(config.bind).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (openapi, openrpc) =
            (openapi::openapi(app.registry()).to_string(), openapi::openrpc().to_string());
        let host = Host { app, works: config.works, stop: CancellationToken::new() };
        let inner = Arc::new(Inner { host, guard, config, openapi, openrpc });
        Ok(Self { listener, address, token, inner })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token that was made for this run, if none was set.
    pub fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    /// Answers requests for as long as it is polled, and takes up what is due, unless the configuration says otherwise.
    ///
    /// # Errors
    /// It broke off.
    pub async fn run(self) -> Result<(), ServeError> {
        self.run_until(std::future::pending()).await
    }

    /// Answers requests until `stop`; then streams of events end, waits are cut short, and what else is under way has the
    /// configured grace. The app goes on: it is shut down by whoever made it.
    ///
    /// # Errors
    /// It broke off.
    pub async fn run_until(self, stop: impl Future<Output = ()> + Send) -> Result<(), ServeError> {
        let Self { listener, inner, .. } = self;
        if inner.config.works {
            inner.host.app.work();
        }
        let (stopping, grace) = (inner.host.stop.clone(), inner.config.grace);
        let served =
            axum::serve(listener, router(inner)).with_graceful_shutdown(stopping.clone().cancelled_owned());
        let stopped = async {
            stop.await;
            stopping.cancel();
            tokio::time::sleep(grace).await;
        };
        let done = tokio::select! {
            served = served.into_future() => served.map_err(|e| ServeError::Broken(e.to_string())),
            () = stopped => Ok(()),
        };
        tracing::info!("stopped");
        done
    }
}

/// The routes that are no verbs.
#[derive(Clone, Copy)]
enum Special {
    Events,
    Rpc,
    OpenApi,
    OpenRpc,
    Store,
    Health,
}

/// One of them.
struct Other {
    method: Method,
    path: &'static str,
    what: Special,
}

static OTHERS: [Other; 6] = [
    Other { method: Method::Get, path: route::EVENTS, what: Special::Events },
    Other { method: Method::Post, path: route::RPC, what: Special::Rpc },
    Other { method: Method::Get, path: route::OPENAPI, what: Special::OpenApi },
    Other { method: Method::Get, path: route::OPENRPC, what: Special::OpenRpc },
    Other { method: Method::Post, path: route::STORE, what: Special::Store },
    Other { method: Method::Get, path: route::HEALTH, what: Special::Health },
];

fn router(inner: Arc<Inner>) -> Router {
    let mut router = Router::new();
    for route in &VERBS {
        let inner = inner.clone();
        let answer = move |request: Request| {
            answered(inner.clone(), request, async |inner, asked, parts, body| {
                allowed(asked.role()?, route.writes)?;
                let from = (parts.uri.clone(), parts.headers.clone(), body);
                let args = path(parts).await?;
                let json = rest::call(&inner.host, route, args, from, inner.config.body_limit).await?;
                Ok(of_json(json.get().to_owned()))
            })
        };
        router = router.route(route.path, by(route.method, answer));
    }
    for other in &OTHERS {
        let inner = inner.clone();
        let answer = move |request: Request| {
            answered(inner.clone(), request, async |inner, asked, parts, body| {
                special(other.what, inner, asked, parts, body).await
            })
        };
        router = router.route(other.path, by(other.method, answer));
    }
    let refuse = |inner: Arc<Inner>, code: Code| {
        move |request: Request| {
            answered(inner.clone(), request, async move |_, asked, parts, _| {
                asked.role()?;
                let (method, path) = (&parts.method, parts.uri.path());
                let detail = match methods(path).as_slice() {
                    [] => format!("{method} {path} is no route here: {} lists them", route::OPENAPI),
                    taken => format!("{path} does not take {method}, but {}", taken.join(" and ")),
                };
                Err(Problem::new(code, detail))
            })
        }
    };
    router
        .fallback(refuse(inner.clone(), Code::UnknownRoute))
        .method_not_allowed_fallback(refuse(inner, Code::MethodNotAllowed))
}

/// The methods that a path takes; none when it is no route.
fn methods(path: &str) -> Vec<String> {
    let fits = |route: &str| {
        route.split('/').count() == path.split('/').count()
            && route.split('/').zip(path.split('/')).all(|(of, is)| of.starts_with('{') || of == is)
    };
    let others = OTHERS.iter().map(|other| (other.path, other.method));
    let routes = VERBS.iter().map(|route| (route.path, route.method)).chain(others);
    let methods: BTreeSet<_> = routes.filter(|(route, _)| fits(route)).map(|(_, method)| method).collect();
    methods.into_iter().map(|method| method.name().to_ascii_uppercase()).collect()
}

fn by<T: 'static>(method: Method, answer: impl axum::handler::Handler<T, ()>) -> MethodRouter {
    match method {
        Method::Get => get(answer),
        Method::Post => post(answer),
        Method::Put => put(answer),
    }
}

/// A request, as far as its headers tell.
struct AskedBy {
    /// Its id.
    request: String,
    role: Result<Role, Problem>,
}

impl AskedBy {
    fn role(&self) -> Result<Role, Problem> {
        self.role.clone()
    }
}

/// Whether a role may look, or change something.
fn allowed(role: Role, writes: bool) -> Result<(), Problem> {
    let detail = match (role, writes) {
        (Role::Operator, _) | (Role::Reader, false) => return Ok(()),
        (Role::Reader, true) => "this token may only look",
        (Role::Worker, _) => "this token opens the store to a worker, and nothing else",
    };
    Err(Problem::new(Code::Forbidden, detail))
}

/// Answers a request, whatever comes of it, and says so in the log.
async fn answered(
    inner: Arc<Inner>,
    request: Request,
    answer: impl AsyncFnOnce(&Inner, &AskedBy, &mut Parts, Body) -> Result<Response, Problem>,
) -> Response {
    let began = Instant::now();
    let (mut parts, body) = request.into_parts();
    let asked = AskedBy { request: request_id(&parts.headers), role: inner.guard.role(&parts.headers) };
    let (method, path) = (parts.method.clone(), parts.uri.path().to_owned());
    let mut response = match answer(&inner, &asked, &mut parts, body).await {
        Ok(response) => response,
        Err(problem) => {
            let (request, code) = (asked.request.as_str(), problem.code.name());
            if problem.code.status() >= 500 {
                tracing::warn!(request, code, detail = problem.detail, "refused");
            }
            refused(Problem { request: Some(asked.request.clone()), ..problem })
        }
    };
    if let Ok(id) = HeaderValue::from_str(&asked.request) {
        response.headers_mut().insert("x-request-id", id);
    }
    let (status, ms) = (response.status().as_u16(), began.elapsed().as_millis() as u64);
    tracing::debug!(request = asked.request, %method, path, status, ms, "answered");
    response
}

/// The caller's own id of the request, if it is fit for a log; else a fresh one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    let fits = |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    given.filter(fits).map_or_else(|| uuid::Uuid::new_v4().to_string(), Into::into)
}

fn of_json(text: impl Into<Body>) -> Response {
    let kind = HeaderValue::from_static("application/json");
    (([(header::CONTENT_TYPE, kind)]), text.into()).into_response()
}

fn refused(problem: Problem) -> Response {
    let status = StatusCode::from_u16(problem.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = HeaderValue::from_static("application/problem+json");
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
    if problem.code == Code::Unauthorized {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// The parameters of the path, decoded.
async fn path(parts: &mut Parts) -> Result<Vec<(String, String)>, Problem> {
    let params = RawPathParams::from_request_parts(parts, &()).await;
    let params =
        params.map_err(|e| Problem::new(Code::InvalidRequest, format!("the path cannot be read: {e}")))?;
    Ok(params.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
}

async fn special(
    what: Special,
    inner: &Inner,
    asked: &AskedBy,
    parts: &mut Parts,
    body: Body,
) -> Result<Response, Problem> {
    match what {
        // Whoever asks this has no token: a load balancer.
        Special::Health => health(inner).await,
        Special::Store => {
            if asked.role()? != Role::Worker {
                let detail = if inner.guard.has(Role::Worker) {
                    "the store is for workers: their token is `Config::worker_token`"
                } else {
                    "the store is closed to remote workers: `Config::worker_token` opens it"
                };
                return Err(Problem::new(Code::Forbidden, detail));
            }
            let call = path(parts).await?.pop().map(|(_, call)| call).unwrap_or_default();
            let body = body::json(&parts.headers, body, inner.config.store_body_limit).await?;
            Ok(of_json(store::call(&*inner.host.app.store(), &call, &body).await?))
        }
        Special::Events => {
            allowed(asked.role()?, false)?;
            let wanted = events::Asked::of(parts.uri.query().unwrap_or_default(), &parts.headers)?;
            let id = path(parts).await?.pop().map(|(_, id)| id).unwrap_or_default();
            let id = id.parse().map_err(|e: InvalidId| Problem::from(e))?;
            let (host, stop) = (inner.host.clone(), inner.host.stop.clone());
            events::stream(host, id, wanted, inner.config.keep_alive, stop).await
        }
        Special::Rpc => {
            let role = asked.role()?;
            let body = body::json(&parts.headers, body, inner.config.body_limit).await?;
            Ok(match rpc::answer(&inner.host, role, &body, &asked.request).await {
                Some(reply) => of_json(reply),
                None => StatusCode::NO_CONTENT.into_response(),
            })
        }
        Special::OpenApi => {
            allowed(asked.role()?, false)?;
            Ok(of_json(inner.openapi.clone()))
        }
        Special::OpenRpc => {
            allowed(asked.role()?, false)?;
            Ok(of_json(inner.openrpc.clone()))
        }
    }
}

/// Whether durable flows can be started: the store answers in time. B42.
async fn health(inner: &Inner) -> Result<Response, Problem> {
    let filter = ListFilter { limit: 1, ..ListFilter::default() };
    let (patience, down) = (inner.config.health, |what: String| Problem::new(Code::StoreUnavailable, what));
    match tokio::time::timeout(patience, inner.host.app.list(&filter)).await {
        Ok(Ok(_)) => Ok(of_json(json!({"status": "ok"}).to_string())),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the store is down");
            // Whoever asks has no token, and is told nothing of the store.
            Err(down("the store does not answer as it should: the server's log says how".into()))
        }
        Err(_) => Err(down(format!("the store has not answered within {} ms", patience.as_millis()))),
    }
}

impl Other {
    /// As OpenAPI describes it.
    fn described(&self) -> Value {
        let json = |schema: Value| json!({"description": "Done.", "content": {"application/json": {"schema": schema}}});
        let body =
            |schema: Value| json!({"required": true, "content": {"application/json": {"schema": schema}}});
        let object = || json!({"type": "object"});
        let (id, summary, ok) = match self.what {
            Special::Events => {
                let content = json!({"text/event-stream": {"schema": {"type": "string"}}});
                let ok = json!({"description": "Messages with an `id` are durable events, by sequence; `live` ones are what steps say; `end` is the last. 204 for a reader that has seen the end.", "content": content});
                ("events", "Streams the events of an execution as they come", ok)
            }
            Special::Rpc => ("rpc", "Calls verbs by JSON-RPC 2.0, one or a batch", json(json!({}))),
            Special::OpenApi => ("openapi", "This description", json(object())),
            Special::OpenRpc => ("openrpc", "The description of the JSON-RPC methods", json(object())),
            Special::Store => {
                ("store", "A call of a remote worker to the store; with a worker's token", json(json!({})))
            }
            Special::Health => ("healthz", "Whether the store answers; without a token", json(object())),
        };
        let mut refusals =
            openapi::refusals([Code::Unauthorized, Code::Forbidden, Code::StoreUnavailable].iter());
        refusals.insert("200".into(), ok);
        if let Special::Events | Special::Rpc = self.what {
            refusals.insert("204".into(), json!({"description": "Nothing to say."}));
        }
        let mut described = json!({"operationId": id, "summary": summary, "responses": refusals});
        let path =
            |name: &str| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
        match self.what {
            Special::Events => {
                let query = |name: &str, ty: &str| json!({"name": name, "in": "query", "required": false, "schema": {"type": ty}});
                let last = json!({"name": "Last-Event-ID", "in": "header", "required": false, "schema": {"type": "integer"}});
                described["parameters"] =
                    json!([path("execution"), query("after", "integer"), query("live", "boolean"), last]);
            }
            Special::Rpc => described["requestBody"] = body(json!({"type": ["object", "array"]})),
            Special::Store => {
                described["parameters"] = json!([path("call")]);
                described["requestBody"] = body(json!({}));
            }
            Special::Health => described["security"] = json!([]),
            Special::OpenApi | Special::OpenRpc => {}
        }
        described
    }
}
