//! What a command says when it could not do what it was asked: what it was, what was expected, what to do next.
//! Not the failures of flows: those are outcomes, and are printed as such.

use coordination::ScheduleError;
use loom_runtime::{
    AnswerError, BranchError, BuildError, ControlError, ExecutionId, ForkError, SendError, StartError,
    UpdateError,
    kernel::{InvalidId, InvalidPayload},
    ports::{ArchiveError, StoreError},
};

use crate::{
    exit::Exit,
    render::shell::{command, show},
    suggest::did_you_mean,
};

/// An error of a command, with advice.
#[derive(Debug)]
pub(crate) struct CliError {
    pub(crate) exit: Exit,
    pub(crate) message: String,
    /// Lines of advice, each a sentence or a command.
    pub(crate) help: Vec<String>,
    /// The execution that there is not, for whoever can look for similar ones.
    pub(crate) unknown: Option<ExecutionId>,
}

impl CliError {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), help: Vec::new(), unknown: None }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    /// The store, or what else the program is made of, could not be opened.
    pub(crate) fn opening(error: &loom_runtime::Error) -> Self {
        Self::new(Exit::Store, error.to_string())
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(Exit::Refused, message)
    }

    pub(crate) fn help(mut self, line: impl Into<String>) -> Self {
        self.help.push(line.into());
        self
    }
}

impl From<BuildError> for CliError {
    fn from(error: BuildError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::Unknown(id) => Self { unknown: Some(id), ..Self::refused(message) },
            StoreError::Terminal { execution, .. } => {
                Self::refused(message).help(format!("`{}` tells how it ended", show(&execution)))
            }
            StoreError::Corrupt(_) => Self::new(Exit::Store, message)
                .help("`logs EXECUTION --json` prints the stored events as they are"),
            StoreError::Unavailable(_) => Self::new(Exit::Store, message)
                .help("see that the store runs, and that this program may reach it; then repeat the command"),
            StoreError::Denied(_) => Self::refused(message).help(
                "give the program the server's worker token: `Client::new(url)?.token(TOKEN)`, with what the server has as \
                 `Config::worker_token`",
            ),
            StoreError::Archived { execution, first } => {
                Self::refused(archived(&execution, first)).help(kept(&execution))
            }
            StoreError::Elsewhere(_) => Self::refused(message)
                .help("let the program open all of its databases as one store: `Shards::open([(\"one\", …), (\"two\", …)])`"),
            _ => Self::refused(message).help("somebody else was faster: repeat the command"),
        }
    }
}

/// What is gone, for people: they have a command for it, and no method.
fn archived(execution: &ExecutionId, first: u64) -> String {
    format!("the events of `{execution}` before {first} were moved to the archive")
}

fn kept(execution: &ExecutionId) -> String {
    let show = command(&["archive", "show"], &[execution.as_str()], &[]);
    format!(
        "`{show}` prints what was archived of it; with `--archive DIR`, if the program has no archive of its own"
    )
}

impl From<ArchiveError> for CliError {
    fn from(error: ArchiveError) -> Self {
        let exit = if matches!(error, ArchiveError::Conflict { .. }) { Exit::Refused } else { Exit::Store };
        Self::new(exit, error.to_string())
    }
}

impl From<StartError> for CliError {
    fn from(error: StartError) -> Self {
        let message = error.to_string();
        match error {
            StartError::Store(error) => error.into(),
            StartError::Conflict { id, .. } => Self::refused(message).help(format!(
                "`{}` tells what it is; a start with its own flow and input is no error",
                show(&id)
            )),
            StartError::UnknownFlow { .. } => Self::refused(message).help("`flows` lists them"),
            StartError::InvalidId(_) => Self::usage(message),
            StartError::Input { flow, .. } => {
                Self::usage(message).help(format!("`schema {flow}` prints what it takes"))
            }
        }
    }
}

impl From<AnswerError> for CliError {
    fn from(error: AnswerError) -> Self {
        let message = error.to_string();
        match error {
            AnswerError::Store(error) => error.into(),
            AnswerError::Address(_) | AnswerError::Invalid { .. } => Self::usage(message),
            AnswerError::AlreadyAnswered(gate) | AnswerError::Closed { address: gate, .. } => {
                Self::refused(message).help(format!("`{}` tells how it ended", show(&gate.execution)))
            }
            AnswerError::UnknownGate { .. } | AnswerError::Repetition { .. } => Self::refused(message),
        }
    }
}

impl From<ControlError> for CliError {
    fn from(error: ControlError) -> Self {
        let message = error.to_string();
        match error {
            ControlError::Store(error) => error.into(),
            ControlError::Invalid { .. } => Self::usage(message),
            ControlError::NotParked { execution, .. }
            | ControlError::NotInDoubt { execution, .. }
            | ControlError::AnotherAttempt { execution, .. }
            | ControlError::AlreadyJudged { execution, .. } => {
                Self::refused(message).help(format!("`{}` tells where it stands", show(&execution)))
            }
        }
    }
}

impl From<ForkError> for CliError {
    fn from(error: ForkError) -> Self {
        let message = error.to_string();
        match error {
            ForkError::Store(error) => error.into(),
            ForkError::Archived { execution, first } => {
                let why = archived(&execution, first);
                Self::refused(format!("`{execution}` cannot be forked any more: {why}"))
                    .help(kept(&execution))
                    .help("one that is to be forked later is kept by the policy's `pins`")
            }
            ForkError::Unknown(id) => Self { unknown: Some(id), ..Self::refused(message) },
            ForkError::Cut { execution, .. } => {
                Self::usage(message).help(format!("`logs {execution}` prints its events"))
            }
            ForkError::UnknownFrame { execution, events, .. } => {
                Self::usage(message).help(format!("`debug {execution} --at {events}` prints its frames"))
            }
            ForkError::Invalid { .. } | ForkError::InvalidId(_) => Self::usage(message),
            ForkError::Conflict { id, .. } => {
                Self::refused(message).help(format!("`{}` tells what it is", show(&id)))
            }
            _ => Self::refused(message),
        }
    }
}

impl From<BranchError> for CliError {
    fn from(error: BranchError) -> Self {
        let message = error.to_string();
        match error {
            BranchError::Store(error) => error.into(),
            BranchError::Name(_) => Self::usage(message),
            BranchError::Unknown { execution, .. } => {
                Self { unknown: Some(execution), ..Self::refused(message) }
            }
            BranchError::Missing { branch, to } => {
                Self::refused(message).help(format!("`promote {branch} {to}` sets it"))
            }
            BranchError::Moved { branch, found, .. } => Self::refused(message)
                .help(format!("`promote {branch} EXECUTION --from {found}` moves it from there")),
            _ => Self::refused(message),
        }
    }
}

impl From<SendError> for CliError {
    fn from(error: SendError) -> Self {
        let message = error.to_string();
        match error {
            SendError::Store(error) => error.into(),
            SendError::Invalid { .. } | SendError::Misfit { .. } => Self::usage(message),
            SendError::UnknownTopic { topic, topics, .. } => {
                let meant = did_you_mean(&topic, topics.iter().map(String::as_str));
                meant.into_iter().fold(Self::refused(message), Self::help)
            }
            SendError::KeyReused { execution, .. } => Self::refused(message)
                .help(format!("`{}` tells what it has taken; another key sends this too", show(&execution))),
        }
    }
}

impl From<UpdateError> for CliError {
    fn from(error: UpdateError) -> Self {
        let message = error.to_string();
        match error {
            UpdateError::NotSent(error) => error.into(),
            UpdateError::Ended { execution, .. } => {
                Self::refused(message).help(format!("`{}` tells how it ended", show(&execution)))
            }
            UpdateError::Rejected { .. } => Self::refused(message),
            UpdateError::Undecodable { .. } => Self::new(Exit::Store, message),
        }
    }
}

impl From<ScheduleError> for CliError {
    fn from(error: ScheduleError) -> Self {
        let message = error.to_string();
        match error {
            ScheduleError::NotSent(error) => error.into(),
            ScheduleError::Unknown { .. } => Self::refused(message).help("`schedules` lists them"),
            ScheduleError::TooMany { .. }
            | ScheduleError::Ahead { .. }
            | ScheduleError::Empty { .. }
            | ScheduleError::InvalidId(_) => Self::usage(message),
        }
    }
}

impl From<InvalidId> for CliError {
    fn from(error: InvalidId) -> Self {
        Self::usage(error.to_string()).help("`list` prints the ids of the executions that there are")
    }
}

impl From<InvalidPayload> for CliError {
    fn from(error: InvalidPayload) -> Self {
        Self::new(Exit::Store, format!("a stored value cannot be read: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A supervisor starts a worker again whose store is away; no restart gives it another token.
    #[test]
    fn a_store_that_lets_nobody_in_is_no_store_that_is_away() {
        let denied = CliError::from(StoreError::Denied("the token is not known here".into()));
        assert_eq!(denied.exit, Exit::Refused);
        assert!(denied.message.contains("the token is not known here"), "{}", denied.message);
        assert!(denied.help[0].contains("Config::worker_token"), "{:?}", denied.help);
        assert_eq!(CliError::from(StoreError::Unavailable("away".into())).exit, Exit::Store);
    }
}
