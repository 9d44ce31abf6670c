//! Clocks, randomness, threads and I/O give another state each time.

use loom::prelude::*;

#[derive(Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Totals(u64);

#[event(name = "placed")]
#[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Placed;

#[projection]
impl Totals {
    #[on(Placed)]
    fn placed(&mut self, _: &Placed) {
        let now = std::time::SystemTime::now();
        println!("{now:?} {:?}", std::env::var("RATE"));
        self.0 += std::fs::read("rate.txt").map_or(0, |bytes| bytes.len() as u64);
        std::thread::spawn(|| {});
        use std::fs::read;
        println!("{:?}", read("rate.txt"));
    }
}

fn main() {}
