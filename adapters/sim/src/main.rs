//! The simulator's command line: `run` many worlds, `replay` one, find the planted `bugs`.
//! Not what happens in them: that is the library.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it talks to people")]

use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    time::Instant,
};

use sim::{A_WORLD, Campaign, History, Plan, Rule, Tally, report, run, smallest};

const USAGE: &str = "\
usage: loom-durable-sim run [--executions 200000] [--seed 0] [--jobs 2]
       loom-durable-sim replay --seed N [--executions 40]
       loom-durable-sim bugs [--executions 20000] [--seed 0] [--jobs 2]   (with --features planted-bugs)";

struct Given {
    executions: Option<u64>,
    seed: Option<u64>,
    jobs: usize,
}

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let verb = args.next().unwrap_or_default();
    let given = match given(args) {
        Ok(given) => given,
        Err(what) => {
            eprintln!("{what}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match (verb.as_str(), given.seed) {
        ("run", _) => many(&given),
        ("replay", Some(seed)) => replay(seed, given.executions.unwrap_or(A_WORLD)),
        ("bugs", _) => bugs(&given),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn given(mut args: impl Iterator<Item = String>) -> Result<Given, String> {
    let mut given = Given { executions: None, seed: None, jobs: 2 };
    while let Some(key) = args.next() {
        let value = args.next().ok_or_else(|| format!("{key}: expected a number, found nothing"))?;
        let number =
            || value.parse::<u64>().map_err(|_| format!("{key}: expected a number, found {value:?}"));
        match key.as_str() {
            "--executions" => given.executions = Some(number()?),
            "--seed" => given.seed = Some(number()?),
            "--jobs" => given.jobs = usize::try_from(number()?).map_err(|e| e.to_string())?,
            _ => return Err(format!("{key} is no option")),
        }
    }
    Ok(given)
}

fn many(given: &Given) -> ExitCode {
    let (executions, seed) = (given.executions.unwrap_or(200_000), given.seed.unwrap_or(0));
    let (begun, told) = (Instant::now(), AtomicU64::new(10));
    println!("{executions} executions in worlds of {A_WORLD}, seeds from {seed} on, {} threads", given.jobs);
    let progress = |tally: &Tally| {
        let seconds = begun.elapsed().as_secs();
        if seconds >= told.load(Ordering::Relaxed) {
            told.store(seconds + 10, Ordering::Relaxed);
            println!("{seconds:>4} s: {} executions in {} worlds", tally.executions, tally.worlds);
        }
    };
    let tally = Campaign { seed, executions, jobs: given.jobs }.run(|| {}, progress);
    println!("\nwhat happened:");
    for (what, often) in &tally.counts {
        println!("{often:>10} {what}");
    }
    println!("\nwhat was checked of each log: {:?}", Rule::ALL);
    println!("{} executions in {:.1} s", tally.executions, begun.elapsed().as_secs_f64());
    match tally.failed {
        Some((plan, history)) => fails(&plan, history),
        None => {
            println!("every rule holds");
            ExitCode::SUCCESS
        }
    }
}

fn replay(seed: u64, executions: u64) -> ExitCode {
    let plan = Plan::random(seed, executions);
    let history = run(&plan);
    for (what, often) in &history.counts {
        println!("{often:>10} {what}");
    }
    if history.logs != run(&plan).logs {
        println!("the second run of this seed is another history: something is not decided by the seed");
        return ExitCode::FAILURE;
    }
    if history.broken.is_empty() {
        println!("every rule holds, and a second run is the same");
        return ExitCode::SUCCESS;
    }
    fails(&plan, history)
}

fn fails(plan: &Plan, history: History) -> ExitCode {
    for broken in &history.broken {
        println!("broken: {broken}");
    }
    let (seed, executions) = (plan.seed, plan.executions.len());
    println!("again: loom-durable-sim replay --seed {seed} --executions {executions}\n\nmade smaller:");
    if let Some(rule) = history.broken.first().map(|broken| broken.rule) {
        let (plan, history) = smallest(plan, history, rule);
        println!("{}", report(&plan, &history));
    }
    ExitCode::FAILURE
}

#[cfg(feature = "planted-bugs")]
fn bugs(given: &Given) -> ExitCode {
    let (executions, seed) = (given.executions.unwrap_or(20_000), given.seed.unwrap_or(0));
    let (mut missed, begun) = (0, Instant::now());
    for bug in sim::Bug::ALL {
        match sim::find(bug, &Campaign { seed, executions, jobs: given.jobs }) {
            Some(found) => println!("== {found}"),
            None => {
                missed += 1;
                println!("== {bug:?} was not found in {executions} executions\n");
            }
        }
    }
    println!("{} of {} bugs found in {:.1} s", 10 - missed, 10, begun.elapsed().as_secs_f64());
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(not(feature = "planted-bugs"))]
fn bugs(_: &Given) -> ExitCode {
    eprintln!("bugs can only be planted in a build of their own: cargo run --features planted-bugs …");
    ExitCode::from(2)
}
