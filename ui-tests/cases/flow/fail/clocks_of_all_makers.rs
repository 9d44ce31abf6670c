//! Whoever makes the clock, it shows another time on replay.

use loom::prelude::*;

mod chrono {
    pub struct Utc;
    impl Utc {
        pub fn now() -> u64 {
            1
        }
    }
    pub struct Local;
    impl Local {
        pub fn now() -> u64 {
            1
        }
    }
}

#[flow]
async fn checkout(ctx: Ctx) -> loom::Result<u64> {
    let _ = ctx.now();
    let at = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |at| at.as_secs());
    Ok(at + chrono::Utc::now() + chrono::Local::now())
}

fn main() {}
