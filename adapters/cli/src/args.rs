//! The command line, as clap reads it.
//! Not what the verbs do: one file each under `verbs/`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum, builder::PossibleValuesParser};
use clap_complete::Shell;
use loom_runtime::Status;

const EXIT_CODES: &str = "\
Exit codes:
  0    done; an execution that was run has completed
  1    the flow returned an error
  2    the command line, the JSON that it gave, or the program's wiring is not what was expected
  3    the execution waits; what for is printed
  4    the execution is parked; the report is printed
  5    the execution was cancelled
  6    not found, or refused: conflict, answered before, already ended
  7    the store cannot be opened, reached or read
  8    standard output, or a file of `export`, cannot be written
  9    a log does not agree with this program
  130  stopped by a signal before it was done";

/// Runs the flows of this program, and shows what they do
#[derive(Debug, Parser)]
#[command(version = None, disable_version_flag = true, after_help = EXIT_CODES)]
#[command(subcommand_required = true, arg_required_else_help = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Print JSON for programs, and nothing else
    #[arg(long, global = true, display_order = 100)]
    pub(crate) json: bool,

    #[command(subcommand)]
    pub(crate) verb: Verb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    #[command(flatten)]
    OfStore(StoreVerb),
    #[command(flatten)]
    OfProgram(ProgramVerb),
}

/// What needs the store.
#[derive(Debug, Subcommand)]
pub(crate) enum StoreVerb {
    /// Start a flow, and run it here until it ends or waits
    ///
    /// A timer that is due within ten seconds is sat out. Nothing else that is due is taken up: `worker` does that.
    /// SIGINT (Ctrl-C) or SIGTERM lets running steps finish for ten seconds; a second signal stops at once.
    Start(Start),
    /// Answer a gate, and run the execution on until it rests
    ///
    /// An answer is given once, and checked against the gate's schema. It may come before the question.
    Resume(Resume),
    /// Send a message to an execution, and run it on until it rests
    ///
    /// It waits, behind those that came before it, until the flow takes it. It is checked against the schema of its
    /// topic, if this program has the flow. A flow that never waits for more than timers of ten seconds never rests, and
    /// goes on here until a signal: with `--detach`, a worker sees to it.
    Send(Message),
    /// Ask an execution for something, and print its reply
    ///
    /// As `send`, but the flow replies: by `ctx.receive(..).update()`, or with `null` once it has taken the message. Ends
    /// with 0 when it was accepted, wherever the execution then stands: what it goes on with at once has ten seconds, and
    /// the rest is a worker's. Ends with 6 when it was rejected, and with 3 when the execution rests and has not replied:
    /// asked again under the same `--key`, it is done once and gets the same reply.
    Update(Update),
    /// Say how a step that is in doubt ended
    Verdict(Verdict),
    /// Try a parked execution again
    Retry(Retry),
    /// Cancel an execution
    Cancel(Cancel),
    /// List executions, or the gates that wait for an answer
    List(List),
    /// Show an execution: what it waits for, its frames, its gates, its report
    Show(Show),
    /// Print the events of an execution, one a line
    Logs(Logs),
    /// Write the logs of executions to files, as `replay-check` reads them
    ///
    /// One file an execution. A file that is there is only added to: one that holds something else is left as it is,
    /// and the command refused. Inputs and outcomes are in the files as they are.
    Export(Export),
    /// Replay logs against this program, and list those that it does not agree with
    ///
    /// Checks every position of every log, on all cores; no step is run, and nothing is recorded. Ends with 9 if any
    /// log diverges, and with 6 if none could be checked since all are of flows that this program lacks: for CI, with the
    /// logs of earlier releases in a directory, and before a deploy, on the store.
    ReplayCheck(ReplayCheck),
    /// Show the state after the first N events, and what the last of them changed
    Debug(Debug),
    /// Let a copy of an execution's first N events go on by itself, and run it until it rests
    ///
    /// The origin stays as it is. Steps that were open there are in doubt in the fork, gates are asked again.
    Fork(Fork),
    /// Show where two executions part, and which frames differ
    Diff(Compare),
    /// List the branches: names that point to executions
    Branches,
    /// Point a branch to an execution: a new one, or from another execution with `--from`
    Promote(Promote),
    /// List the schedules of this program, or tell one of them something
    ///
    /// What a schedule is told waits until a worker takes it.
    Schedules(Schedules),
    /// Move old executions to an archive, as a policy says
    #[command(subcommand)]
    Retention(Retention),
    /// Look at what was moved to an archive
    #[command(subcommand)]
    Archive(Archive),
    /// Look at the databases that are one store, and move executions between them
    #[cfg(feature = "shards")]
    #[command(subcommand)]
    Shards(Shards),
    /// Run whatever is due, until SIGINT or SIGTERM; a second signal stops at once
    Worker(Worker),
    /// Run whatever is due, and answer requests over HTTP: start, send, query and the rest
    ///
    /// Whoever asks needs the token. It is in the file of `--token-file`, else in LOOM_TOKEN, else it is made for this run
    /// and printed; where others can reach the address, it has to be yours. `GET /v1/openapi.json` tells of the routes.
    /// Stops as `worker` does.
    #[cfg(feature = "http")]
    Serve(Serve),
}

/// What only needs the program: no store is opened.
#[derive(Debug, Subcommand)]
pub(crate) enum ProgramVerb {
    /// List the flows and steps of this program
    Flows,
    /// Draw a flow as a Mermaid flowchart
    Graph(Graph),
    /// Print the JSON Schemas of a flow, its gates and topics, of a step, a tool or an event
    Schema(Schema),
    /// Print a completion script for a shell
    Completions(Completions),
}

#[derive(Debug, Args)]
pub(crate) struct Start {
    /// The flow; `flows` lists them
    pub(crate) flow: String,
    /// The execution's id; it makes the start repeatable. A fresh UUID unless given
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The input; `null` unless given
    #[arg(long, value_name = "JSON", conflicts_with_all = ["input_file", "json_input"], allow_negative_numbers = true)]
    pub(crate) input: Option<String>,
    /// Read the input from a file, or from standard input when it is `-`
    #[arg(long, value_name = "FILE", conflicts_with = "json_input")]
    pub(crate) input_file: Option<PathBuf>,
    /// The input, as with `--input`, or `-` to read it from standard input
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    pub(crate) json_input: Option<String>,
    /// Whether it goes before others that are due: those with more do. 0 unless given
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) priority: Option<i16>,
    /// The lane that it waits in, with others that name the same
    #[arg(long, value_name = "KEY")]
    pub(crate) lane: Option<String>,
    /// How many of its lane may run at once, in all workers; as many as there are unless given
    #[arg(long, value_name = "N", requires = "lane", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) at_most: Option<u32>,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Detach {
    /// Only record it: the next worker goes on
    #[arg(long = "detach")]
    pub(crate) set: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct By {
    /// Who says so; $USER unless given
    #[arg(long = "by", value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("given").args(["answer", "answer_file"]))]
pub(crate) struct Resume {
    /// The gate's address, EXECUTION/GATE, or the two apart; `list --gates` lists them
    #[arg(value_name = "EXECUTION/GATE")]
    pub(crate) gate: String,
    /// The answer in place, as with `--answer`, or `-` to read it from standard input
    #[arg(value_name = "JSON", num_args = 0..=2, allow_negative_numbers = true)]
    pub(crate) rest: Vec<String>,
    /// The answer
    #[arg(long, value_name = "JSON", allow_negative_numbers = true)]
    pub(crate) answer: Option<String>,
    /// Read the answer from a file, or from standard input when it is `-`
    #[arg(long, value_name = "FILE")]
    pub(crate) answer_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

/// What is said to whom; of `send` and `update`.
#[derive(Debug, Args)]
pub(crate) struct Told {
    /// The execution
    pub(crate) execution: String,
    /// The topic; `show` tells what an execution waits for, `schema FLOW` all that a flow takes
    pub(crate) topic: String,
    /// The message, or `-` to read it from standard input
    #[arg(value_name = "JSON", default_value = "null", allow_negative_numbers = true)]
    pub(crate) body: String,
    /// A key of your own: sent again under it, the message is taken once
    #[arg(long)]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) by: By,
}

#[derive(Debug, Args)]
pub(crate) struct Message {
    #[command(flatten)]
    pub(crate) told: Told,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

#[derive(Debug, Args)]
pub(crate) struct Update {
    #[command(flatten)]
    pub(crate) told: Told,
}

#[derive(Debug, Args)]
pub(crate) struct Verdict {
    /// The execution
    pub(crate) execution: String,
    /// The step's frame, as `show` prints it
    pub(crate) frame: String,
    /// How it ended
    #[arg(value_enum)]
    pub(crate) verdict: VerdictKind,
    /// What the step would have returned; with `done`
    #[arg(long, value_name = "JSON", required_if_eq("verdict", "done"), allow_negative_numbers = true)]
    pub(crate) result: Option<String>,
    /// The attempt that is judged, as `show` prints it; whichever is in doubt unless given
    #[arg(long, value_name = "N")]
    pub(crate) attempt: Option<u32>,
    #[command(flatten)]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerdictKind {
    /// It happened, with this result
    Done,
    /// It did not happen: run it again
    Again,
    /// Nobody will ever know: the step fails
    GiveUp,
}

#[derive(Debug, Args)]
pub(crate) struct Retry {
    /// The execution
    pub(crate) execution: String,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// The execution
    pub(crate) execution: String,
    /// Why
    #[arg(long, default_value = "cancelled from the command line")]
    pub(crate) reason: String,
    /// Drop its flow at once: it tidies nothing up
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

#[derive(Debug, Args)]
pub(crate) struct Schedules {
    #[command(subcommand)]
    pub(crate) told: Option<ScheduleTold>,
}

/// What a schedule is told.
#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleTold {
    /// Start nothing from now on
    Pause {
        /// The flow
        flow: String,
        #[command(flatten)]
        by: By,
    },
    /// Go on with the next instant
    Resume {
        /// The flow
        flow: String,
        #[command(flatten)]
        by: By,
    },
    /// Start a run now, or once the policy on overlaps lets it
    Trigger {
        /// The flow
        flow: String,
    },
    /// Start a run for each instant of a range that has none; what is to come runs by itself, and is refused
    Backfill {
        /// The flow
        flow: String,
        /// The first instant, as in 2026-11-30T00:00:00Z
        from: String,
        /// The instant after the last
        to: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only executions with this status; may be repeated
    #[arg(long, value_parser = PossibleValuesParser::new(Status::ALL.map(Status::name)))]
    pub(crate) status: Vec<String>,
    /// Only executions of this flow
    #[arg(long)]
    pub(crate) flow: Option<String>,
    /// The gates that wait for an answer, in place of the executions
    #[arg(long)]
    pub(crate) gates: bool,
    /// At most so many; 0 for all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Only ids after this one, for the next page
    #[arg(long, value_name = "EXECUTION")]
    pub(crate) after: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The execution
    pub(crate) execution: String,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The execution
    pub(crate) execution: String,
    /// Go on with new events until the execution has ended
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// The first sequence to print
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) from: u64,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The executions; all unless given
    pub(crate) executions: Vec<String>,
    /// The directory; it is made if there is none
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Only executions of this flow
    #[arg(long, conflicts_with = "executions")]
    pub(crate) flow: Option<String>,
    /// Only executions with this status; may be repeated
    #[arg(long, conflicts_with = "executions", value_parser = PossibleValuesParser::new(Status::ALL.map(Status::name)))]
    pub(crate) status: Vec<String>,
    /// Only the current run of each
    #[arg(long)]
    pub(crate) current_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayCheck {
    /// The files of this directory, in place of the store
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Only executions of this flow
    #[arg(long, conflicts_with = "dir")]
    pub(crate) flow: Option<String>,
    /// Only executions that have not ended
    #[arg(long, conflicts_with = "dir")]
    pub(crate) open: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Debug {
    /// The execution
    pub(crate) execution: String,
    /// How many events are folded in; all of them unless given
    #[arg(long, value_name = "N")]
    pub(crate) at: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Fork {
    /// The execution
    pub(crate) execution: String,
    /// How many events are copied; all of them unless given, for an ended execution all but the last
    #[arg(long, value_name = "N")]
    pub(crate) at: Option<u64>,
    /// The fork's id; it makes the fork repeatable. A fresh UUID unless given
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The outcome of a step that was open, or the answer to a gate; may be repeated
    #[arg(long, value_name = "FRAME=JSON")]
    pub(crate) stub: Vec<String>,
    /// Run this step again that was open; may be repeated
    #[arg(long, value_name = "FRAME")]
    pub(crate) rerun: Vec<String>,
    /// Run every step again that was open
    #[arg(long)]
    pub(crate) rerun_all: bool,
    /// Give the fork the answers that came after the cut
    #[arg(long)]
    pub(crate) copy_answers: bool,
    /// What becomes of children that were open
    #[arg(long, value_enum, default_value = "rerun")]
    pub(crate) children: Children,
    #[command(flatten)]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) detach: Detach,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Children {
    /// The fork starts its own
    Rerun,
    /// The fork waits for the origin's
    Share,
    /// The fork is told that they were cancelled
    Cancel,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// An execution
    pub(crate) a: String,
    /// Another one
    pub(crate) b: String,
}

#[derive(Debug, Args)]
pub(crate) struct Promote {
    /// The branch
    pub(crate) branch: String,
    /// What it is to point to
    pub(crate) execution: String,
    /// What it has to point to before: if it does not, nothing happens. Without it the branch has to be new
    #[arg(long, value_name = "EXECUTION")]
    pub(crate) from: Option<String>,
    #[command(flatten)]
    pub(crate) by: By,
}

#[derive(Debug, Args)]
pub(crate) struct Graph {
    /// The flow; `flows` lists them
    pub(crate) flow: String,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("part").args(["gate", "topic", "step", "event"]))]
pub(crate) struct Schema {
    /// The flow, agent, step, tool or event; `flows` lists them
    #[arg(required_unless_present_any = ["step", "event"])]
    pub(crate) name: Option<String>,
    /// Only what this gate of the flow takes as an answer
    #[arg(long, requires = "name")]
    pub(crate) gate: Option<String>,
    /// Only what this topic of the flow takes, and what it replies
    #[arg(long, requires = "name")]
    pub(crate) topic: Option<String>,
    /// Of this step or tool, should something else have its name
    #[arg(long)]
    pub(crate) step: Option<String>,
    /// Of this event, should something else have its name
    #[arg(long)]
    pub(crate) event: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Retention {
    /// Do it once
    ///
    /// Of what has ended the events go, and its id, how it ended and what came out stay. Held back is what the policy
    /// pins, what a branch points to, and children of a run that goes on. May be stopped and repeated at any time.
    Run {
        /// The policy: a JSON file, as in {"completed": "30d", "failed": "90d", "flows": {"invoice": {"completed": "forever"}}}
        #[arg(long, value_name = "FILE")]
        policy: PathBuf,
        /// Only count what would go
        #[arg(long)]
        dry_run: bool,
        /// The folder of the archive; the program's own archive unless given
        #[arg(long, value_name = "DIR")]
        archive: Option<PathBuf>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Archive {
    /// Print the events of an execution that were archived, as `logs` prints those that were not
    Show {
        /// The execution
        execution: String,
        /// The folder of the archive; the program's own archive unless given
        #[arg(long, value_name = "DIR")]
        archive: Option<PathBuf>,
    },
    /// List the executions of which events were archived
    List {
        /// The folder of the archive; the program's own archive unless given
        #[arg(long, value_name = "DIR")]
        archive: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Worker {
    /// How long running steps may take to finish after the first signal: `30s`, `2m`
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub(crate) grace: std::time::Duration,
}

/// Several databases, and what is in which.
#[cfg(feature = "shards")]
#[derive(Debug, Subcommand)]
pub(crate) enum Shards {
    /// List the databases, and how many of the 1,024 slots each has
    Census,
    /// Move slots to a database, wherever they are
    ///
    /// Workers go on meanwhile. May be stopped and repeated at any time: what was begun is finished first.
    MoveSlots {
        /// Numbers of slots, from 0 to 1023: `7`, or `0-511`
        #[arg(required = true, value_name = "SLOTS", value_parser = slots)]
        slots: Vec<SlotRange>,
        /// The database, by its name
        #[arg(long, value_name = "DATABASE")]
        to: String,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Move as few slots as it takes for every database to have as many as the others
    Spread {
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Move everything out of a database, evenly to the others; then it may be left out
    Drain {
        /// The database, by its name
        database: String,
        #[command(flatten)]
        dry_run: DryRun,
    },
    /// Finish what a mover has left that was killed; not beside one that lives
    Finish {
        #[command(flatten)]
        dry_run: DryRun,
    },
}

/// Slots, by their numbers.
#[cfg(feature = "shards")]
pub(crate) type SlotRange = std::ops::RangeInclusive<u16>;

#[cfg(feature = "shards")]
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DryRun {
    /// Only count what would move
    #[arg(long = "dry-run")]
    pub(crate) set: bool,
}

#[cfg(feature = "http")]
#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where to listen; port 0 for any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7766", value_parser = address)]
    pub(crate) http: std::net::SocketAddr,
    /// A file with the token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) worker: Worker,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

fn duration(text: &str) -> Result<std::time::Duration, String> {
    let parsed: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a duration such as `30s` or `2m`".to_owned())?;
    parsed.try_into().map_err(|_| "expected a duration that is not negative".to_owned())
}

#[cfg(feature = "http")]
fn address(text: &str) -> Result<std::net::SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, as in 127.0.0.1:7766".to_owned())
}

#[cfg(feature = "shards")]
fn slots(text: &str) -> Result<SlotRange, String> {
    use loom_runtime::ports::SLOTS;
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let wrong = || format!("expected a number below {SLOTS}, or two as in 0-511");
    let number = |text: &str| text.parse().ok().filter(|n| *n < SLOTS).ok_or_else(wrong);
    let (from, to) = (number(from)?, number(to)?);
    if from > to { Err(format!("{from} is more than {to}")) } else { Ok(from..=to) }
}
