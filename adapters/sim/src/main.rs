//! The simulator's command line.
#![allow(clippy::print_stdout)]
use sim::*;
fn main() {
    let mut args = std::env::args().skip(1);
    let n: u64 = args.next().unwrap().parse().unwrap();
    let seed: u64 = args.next().unwrap().parse().unwrap();
    let begun = std::time::Instant::now();
    let tally = Campaign { seed, executions: n, jobs: 2 }.run(|| {}, |_| {});
    println!("{:?} {:#?}", begun.elapsed(), tally.counts);
    if let Some((plan, history)) = tally.failed {
        println!("seed {}", plan.seed);
        for broken in history.broken.iter().take(8) { println!("{broken}"); }
        if let Some(b) = history.broken.first() {
            for r in history.logs.get(&b.execution).into_iter().flatten() { println!("{} {} {} {}", r.sequence, r.at, r.kind, r.payload.chars().take(300).collect::<String>()); }
        }
    }
}
