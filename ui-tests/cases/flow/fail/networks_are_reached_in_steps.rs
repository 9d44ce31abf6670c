//! Sockets and HTTP clients.

use loom::prelude::*;

mod reqwest {
    pub async fn get(url: &str) -> usize {
        url.len()
    }
}
use std::net::TcpStream;

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<usize> {
    let _ = ctx.now();
    TcpStream::connect("shop:80").ok();
    Ok(1)
}

#[flow]
async fn fetch(ctx: Ctx) -> loom::Result<usize> {
    let _ = ctx.now();
    Ok(reqwest::get("http://shop").await)
}

fn main() {}
