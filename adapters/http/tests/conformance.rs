//! The store kit, through a server on loopback and the memory store behind it.
//! Not what a lost connection does: `http/remote.rs` breaks some.

use loom_http::{Client, Config, RemoteStore, Server};
use loom_runtime::{App, Memory, Registry};

const TOKEN: &str = "a token for workers";

async fn open() -> RemoteStore {
    let app = App::builder().store(Memory::new()).registry(Registry::of([])).build().expect("an app");
    let config = Config::new().bind(([127, 0, 0, 1], 0).into()).worker_token(TOKEN).without_work();
    let server = Server::bind(app, config).await.expect("a port");
    let url = format!("http://{}", server.address());
    tokio::spawn(server.run());
    Client::new(&url).expect("an address").token(TOKEN).store()
}

loom_runtime::store_conformance!(open);
