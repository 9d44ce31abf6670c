//! A shop over HTTP: flows with every shape that the wire has to carry, and a server for them.
//! Not an example to follow: the README has one.

use std::{future::Future, time::Duration};

use loom::{App, Entry, ExecutionId, Memory, Registry, WorkerOptions, ports::Store, prelude::*};
use loom_http::{Client, Config, Server};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) const TOKEN: &str = "the operator's token";
pub(crate) const READ: &str = "the reader's token";
pub(crate) const WORK: &str = "the workers' token";

/// What can go wrong in the shop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema, Failure)]
pub(crate) enum ShopError {
    /// The manager said no.
    Declined,
    /// What the engine reports.
    #[failure(engine)]
    Engine(EffectError),
}

/// What somebody wants.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Order {
    /// The article.
    pub(crate) sku: String,
    /// How many.
    pub(crate) qty: u32,
}

/// The manager's word.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Approval {
    /// Yes or no.
    pub(crate) approved: bool,
}

/// Reserve stock.
#[step]
pub(crate) async fn reserve(sku: String, qty: u32) -> Result<String, ShopError> {
    Ok(format!("{qty} of {sku}"))
}

/// Take the money, never twice.
#[step(at_most_once)]
pub(crate) async fn charge(amount: u32) -> Result<String, ShopError> {
    assert!(amount != 13, "the card reader broke");
    Ok(format!("receipt for {amount}"))
}

/// Sell something, with a manager's word.
#[flow]
pub(crate) async fn checkout(ctx: Ctx, order: Order) -> Result<String, ShopError> {
    let hold = ctx.run(reserve(order.sku.clone(), order.qty)).await?;
    let answer = ctx.suspend::<Approval>("manager").await?;
    if !answer.approved {
        return Err(ShopError::Declined);
    }
    Ok(hold)
}

/// Charge an amount. `13` breaks the card reader.
#[flow]
pub(crate) async fn till(ctx: Ctx, amount: u32) -> Result<String, ShopError> {
    ctx.run(charge(amount)).await
}

/// A number was added.
#[event(name = "added")]
#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Added {
    by: i64,
}

/// What was added so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Sums {
    added: Vec<i64>,
}

/// The sums of an adder.
#[projection]
impl Sums {
    #[on(Added)]
    fn added(&mut self, event: &Added) {
        self.added.push(event.by);
    }
}

/// Adds up what it is asked to, and ends at a hundred.
#[flow]
pub(crate) async fn adder(ctx: Ctx) -> Result<i64, ShopError> {
    let mut sum = 0;
    while sum < 100 {
        let update = ctx.receive::<i64>("numbers").update::<i64>().await;
        if update.value < 0 {
            update.reject("numbers are positive");
            continue;
        }
        sum += update.value;
        ctx.emit(&Added { by: update.value });
        update.accept(&sum);
    }
    Ok(sum)
}

/// Says many words, and fails once in the middle.
#[step(retry(attempts = 2, initial = "1ms"))]
pub(crate) async fn talk(step: StepCx, words: u32) -> Result<u32, ShopError> {
    for word in 0..words {
        if step.attempt() == 1 && word == words / 2 {
            return Err(ShopError::Declined);
        }
        step.stream(&word);
    }
    Ok(words)
}

/// Talks once it may.
#[flow]
pub(crate) async fn speech(ctx: Ctx, words: u32) -> Result<u32, ShopError> {
    ctx.suspend::<bool>("floor").await?;
    ctx.run(talk(words)).await
}

/// Takes a letter once it may.
#[flow]
pub(crate) async fn mailbox(ctx: Ctx) -> Result<String, ShopError> {
    ctx.suspend::<bool>("open").await?;
    Ok(ctx.receive::<String>("letters").await)
}

/// The shop's flows.
pub(crate) fn registry() -> Registry {
    Registry::of([
        Entry::flow::<checkout>(),
        Entry::flow::<till>(),
        Entry::flow::<adder>(),
        Entry::flow::<speech>(),
        Entry::flow::<mailbox>(),
        Entry::step::<reserve>(),
        Entry::step::<charge>(),
        Entry::step::<talk>(),
        Entry::event::<Added>(),
        Entry::projection::<Sums>(),
    ])
}

/// A worker that is quick to look.
pub(crate) fn quick() -> WorkerOptions {
    let (lease, poll) = (Duration::from_millis(1_000), Duration::from_millis(20));
    WorkerOptions { lease, poll, linger: Duration::from_millis(5), ..WorkerOptions::default() }
}

pub(crate) fn app(store: impl Store) -> App {
    App::builder().store(store).registry(registry()).worker(quick()).build().expect("a shop")
}

/// Any port, and the three tokens.
pub(crate) fn config() -> Config {
    let any = ([127, 0, 0, 1], 0).into();
    Config::new().bind(any).token(TOKEN).read_token(READ).worker_token(WORK)
}

/// A running server.
pub(crate) struct Shop {
    pub(crate) url: String,
    pub(crate) app: App,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<Result<(), loom_http::ServeError>>,
}

impl Shop {
    pub(crate) async fn open() -> Self {
        Self::on(app(Memory::new()), config()).await
    }

    pub(crate) async fn on(app: App, config: Config) -> Self {
        let server = Server::bind(app.clone(), config).await.expect("a port");
        let url = format!("http://{}", server.address());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let stopped = async {
            // A shop that is dropped goes on: its test has ended.
            if stopped.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let served = tokio::spawn(server.run_until(stopped));
        Self { url, app, stop: Some(stop), served }
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(&self.url).expect("an address").token(TOKEN)
    }

    /// A request with the operator's token.
    pub(crate) fn request(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        self.bare(method, path).bearer_auth(TOKEN)
    }

    /// A request without any.
    pub(crate) fn bare(&self, method: &str, path: &str) -> reqwest::RequestBuilder {
        let method = method.to_uppercase().parse().expect("a method");
        plain().request(method, format!("{}{path}", self.url))
    }

    /// Sends JSON.
    pub(crate) async fn json(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = self.request(method, path).header("content-type", "application/json");
        answer(request.body(body.to_string())).await
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        answer(self.request("get", path)).await
    }

    /// Asks it to stop, and waits for that.
    pub(crate) async fn close(mut self) {
        self.stop.take().expect("it is closed once").send(()).expect("it runs");
        self.served.await.expect("no panic").expect("a clean end");
    }
}

/// Makes requests as anybody would. In a build with TLS `reqwest` panics without a provider: Loom's client brings it.
fn plain() -> reqwest::Client {
    drop(Client::new("http://127.0.0.1").expect("an address"));
    reqwest::Client::new()
}

/// What comes back, with its status.
pub(crate) async fn answer(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = request.send().await.expect("an answer");
    let status = response.status().as_u16();
    let text = response.text().await.expect("a body");
    (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// Waits, but not for ever.
pub(crate) async fn patiently<T>(case: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), case).await.expect("this hangs")
}

pub(crate) fn id(text: &str) -> ExecutionId {
    text.parse().expect("an id")
}
