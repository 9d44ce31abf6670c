//! `cargo run --release -p loom-benches -- all [--json]`: one subcommand a question.
//! Nothing is asserted here: figures are read by people, as ratios to a peer in the same run.

#![allow(clippy::print_stdout, reason = "a benchmark prints")]

mod figure;
mod questions;
mod workload;

use clap::{Parser, Subcommand};
use figure::Report;

#[derive(Parser)]
#[command(about = "How fast is Loom, beside a bare loop that commits as often?")]
struct Args {
    #[command(subcommand)]
    question: Question,
    /// One JSON object a figure, for programs.
    #[arg(long, global = true)]
    json: bool,
    /// Timed runs of each figure, after one to warm up; the median is printed.
    #[arg(long, global = true, default_value_t = 5)]
    runs: usize,
}

#[derive(Clone, Subcommand)]
enum Question {
    /// What does a step cost, in flows of 1, 10, 100 and 1,000?
    Steps,
    /// How many one-step flows a second, with 1 to 256 at once?
    Flows,
    /// How long does a replay of 1,000 and of 10,000 steps take?
    Replay,
    /// How many events a second does the fold take?
    Fold,
    /// From what length of a log on do snapshots pay for a read of its state?
    Snapshots,
    /// What does a 1,000-wide join cost?
    Join,
    /// What does it cost to keep a payload as JSONB and not as bytes, on Postgres?
    Payloads,
    /// What does it cost to keep events in eight partitions and not in one table, on Postgres?
    Partitions,
    /// How much memory do 10,000 suspended executions hold?
    Suspended,
    /// How much memory does a restart take, with logs of 20 MB? Not among `all`: it writes 4 GB for each store.
    Rehydration,
    /// The process that `rehydration` measures.
    #[command(hide = true)]
    Restarted { place: String, from: u64, to: u64 },
    /// What do the macros cost a build? Not among `all`: it takes minutes.
    Compile,
    /// All of them but `compile` and `rehydration`, which take minutes.
    All,
}

#[tokio::main]
async fn main() -> loom::Result<()> {
    let args = Args::parse();
    let mut report = Report::new(args.json, args.runs.max(1));
    let asked = |question: &[Question]| {
        question.iter().any(|q| std::mem::discriminant(q) == std::mem::discriminant(&args.question))
            || matches!(args.question, Question::All)
    };
    match &args.question {
        Question::Compile => return questions::compile::answer(&mut report),
        Question::Rehydration => return questions::rehydration::answer(&mut report).await,
        Question::Restarted { place, from, to } => {
            return questions::rehydration::restarted(place, *from, *to).await;
        }
        _ => {}
    }
    if asked(&[Question::Steps]) {
        questions::steps::answer(&mut report).await?;
    }
    if asked(&[Question::Flows]) {
        questions::flows::answer(&mut report).await?;
    }
    if asked(&[Question::Replay]) {
        questions::replay::answer(&mut report).await?;
    }
    if asked(&[Question::Fold]) {
        questions::fold::answer(&mut report).await?;
    }
    if asked(&[Question::Snapshots]) {
        questions::snapshots::answer(&mut report).await?;
    }
    if asked(&[Question::Join]) {
        questions::join::answer(&mut report).await?;
    }
    if asked(&[Question::Payloads]) {
        questions::payloads::answer(&mut report).await?;
    }
    if asked(&[Question::Partitions]) {
        questions::partitions::answer(&mut report).await?;
    }
    if asked(&[Question::Suspended]) {
        questions::suspended::answer(&mut report).await?;
    }
    Ok(())
}
