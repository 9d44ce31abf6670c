//! `cargo run -p incident-war-room`: one command, offline, done in a second.
//! No logic: see `incident.rs` and `room.rs`.

use incident_war_room::{app, room, site::Site};
use loom::Memory;

#[tokio::main]
async fn main() -> loom::Result<()> {
    let site = Site::default();
    let app = app(site.clone(), Memory::new())?;
    room::run(&app, &site).await.map(drop)
}
