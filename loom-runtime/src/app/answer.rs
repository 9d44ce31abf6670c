//! What comes to an execution from people: answers, cancellation, verdicts, another try.
//! Everything is checked here, as far as it can be, and goes into the inbox; the owner moves it to the log.

use std::{fmt, str::FromStr};

use kernel::{ExecutionId, FrameId, FrameStatus, InvalidId, Payload, Status, machine::Verdict};

use super::{
    App,
    gate_place::{self, Place},
};
use crate::{
    inbox_item::{Answer, Cancel, Item, VerdictItem},
    ports::{GateRow, GateState, Posted, StoreError},
};

/// The address of a gate: `execution/frame`, as lists print it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateAddress {
    /// The execution.
    pub execution: ExecutionId,
    /// The gate's frame: its name, and `#3` for the fourth turn of a loop.
    pub frame: FrameId,
}

/// Why an answer was not taken. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    /// The address is not one.
    #[error("{0:?} is not a gate's address: expected `execution/gate`, as `list --gates` prints it")]
    Address(String),
    /// The execution never asks this.
    #[error("execution `{execution}` has no gate `{frame}`; open gates: {open}")]
    UnknownGate {
        /// The execution.
        execution: ExecutionId,
        /// The gate asked for.
        frame: FrameId,
        /// The gates that are open.
        open: String,
    },
    /// The gate is in a loop, and the address names another number of repetitions.
    #[error("gate `{frame}` of `{execution}` is asked in {loops} loop(s): name the repetition, as in `{execution}/{example}`; open gates: {open}", example = repeated(.frame, *.loops))]
    Repetition {
        /// The execution.
        execution: ExecutionId,
        /// The gate asked for.
        frame: FrameId,
        /// In how many loops it is.
        loops: usize,
        /// The gates that are open.
        open: String,
    },
    /// Somebody was first.
    #[error("gate `{0}` was answered before: an answer is given once")]
    AlreadyAnswered(GateAddress),
    /// The gate is closed: nobody answered in time, or the flow no longer asks.
    #[error("gate `{address}` is closed: {state}", state = .state.name())]
    Closed {
        /// The gate.
        address: GateAddress,
        /// How it ended.
        state: GateState,
    },
    /// The answer does not fit the gate's schema, or is not what the flow reads.
    #[error("the answer does not fit: {reason}")]
    Invalid {
        /// What is wrong, and where.
        reason: String,
    },
    /// The store refused (the execution is unknown, or has ended) or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why an execution could not be cancelled, judged or tried again. Nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlError {
    /// Only a parked execution can be tried again.
    #[error("execution `{execution}` is {status}, not parked: there is nothing to try again")]
    NotParked {
        /// The execution.
        execution: ExecutionId,
        /// Where it stands.
        status: Status,
    },
    /// The frame is not in doubt.
    #[error("`{frame}` of `{execution}` is not in doubt; in doubt are: {in_doubt}")]
    NotInDoubt {
        /// The execution.
        execution: ExecutionId,
        /// The frame.
        frame: FrameId,
        /// The frames that are.
        in_doubt: String,
    },
    /// The verdict is on another attempt than the one that is in doubt.
    #[error("attempt {asked} of `{frame}` of `{execution}` is not in doubt: attempt {in_doubt} is")]
    AnotherAttempt {
        /// The execution.
        execution: ExecutionId,
        /// The frame.
        frame: FrameId,
        /// The attempt that was judged.
        asked: u32,
        /// The one that is in doubt.
        in_doubt: u32,
    },
    /// A verdict on this attempt was given before.
    #[error("a verdict on `{frame}` of `{execution}` was given before")]
    AlreadyJudged {
        /// The execution.
        execution: ExecutionId,
        /// The frame.
        frame: FrameId,
    },
    /// The result of a verdict does not fit the step's schema.
    #[error("the result does not fit: {reason}")]
    Invalid {
        /// What is wrong, and where.
        reason: String,
    },
    /// The store refused (the execution is unknown, or has ended) or failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl App {
    /// Answers a gate, once. An answer may come before the gate is open: it waits. The same answer by the same
    /// person again is no error.
    ///
    /// # Errors
    /// See [`AnswerError`]; a healthy owner is never disturbed by any of them.
    pub async fn resume(&self, gate: &GateAddress, answer: Payload, by: &str) -> Result<(), AnswerError> {
        let GateAddress { execution, frame } = gate;
        let row = self.row(execution).await?;
        let mut gates = self.engine.store.gates(Some(execution)).await?;
        // An earlier run may have asked the same.
        gates.retain(|gate| gate.run == row.base);
        let flow = self.registry().flow(&row.flow);
        let fit = match gates.iter().find(|gate| gate.frame == *frame) {
            Some(known) if known.state == GateState::Open => serde_json::from_str(&known.schema)
                .map_err(|e| e.to_string())
                .and_then(|schema| gate_place::check(flow, (&known.gate, &schema), &answer)),
            // Whether it was this same answer, the inbox knows.
            Some(known) if known.state == GateState::Answered => Ok(()),
            Some(known) => return Err(AnswerError::Closed { address: gate.clone(), state: known.state }),
            None if row.status.is_terminal() => {
                return Err(StoreError::Terminal { execution: execution.clone(), status: row.status }.into());
            }
            None => {
                let place = flow.map(|flow| gate_place::find(flow, frame));
                let (execution, frame) = (execution.clone(), frame.clone());
                match place {
                    Some(Place::Gate(declared)) => declared.answer.check(&answer),
                    Some(Place::Repeated(loops)) => {
                        let open = open_of(&gates);
                        return Err(AnswerError::Repetition { execution, frame, loops, open });
                    }
                    Some(Place::Unknown) | None => {
                        let open = open_of(&gates);
                        return Err(AnswerError::UnknownGate { execution, frame, open });
                    }
                }
            }
        };
        fit.map_err(|reason| AnswerError::Invalid { reason })?;
        self.engine.limits.check_given(&answer).map_err(|reason| AnswerError::Invalid { reason })?;
        let run = row.base;
        let item = Item::Answer(Answer { run, frame: frame.clone(), answer, by: by.into() });
        // An answer is given once in a run.
        let key = if run == 0 { format!("gate:{frame}") } else { format!("gate:{run}:{frame}") };
        match self.post(execution, item, Some(key)).await {
            Ok(Posted::Accepted(_) | Posted::Duplicate { same: true }) => Ok(()),
            Ok(Posted::Duplicate { same: false }) => Err(AnswerError::AlreadyAnswered(gate.clone())),
            Err(error) => Err(error.into()),
        }
    }

    /// Cancels an execution: what runs is told to stop, and its children are cancelled. A flow that waits for
    /// [`Ctx::cancelled`](crate::Ctx::cancelled) is told, and may tidy up; any other is dropped. A second cancel is no
    /// error, and changes nothing.
    ///
    /// It ends once its children have, which may tidy up too; until then it is suspended, and holds nothing.
    ///
    /// A cancel that is accepted before the end is written wins over it, also over one that follows from an answer that
    /// was accepted before: the execution ends as cancelled. What the flow had come to is in the log, as
    /// `EXECUTION_ENDING`.
    ///
    /// An execution that is parked since the code does not come to where its log ends (it does another thing now, or
    /// panics there) stays parked, and the cancel in its inbox, until code does: the flow may have something to tidy up.
    /// [`App::kill`] ends it at once.
    ///
    /// # Errors
    /// The execution is unknown or has ended otherwise, or the store fails.
    pub async fn cancel(&self, execution: &ExecutionId, reason: &str, by: &str) -> Result<(), ControlError> {
        self.stop(execution, reason, by, false).await
    }

    /// Cancels an execution and drops its flow, even if it would tidy up, or is about to, or is parked for want of code
    /// that fits: nothing of it is run. Its children are cancelled, and not waited for.
    ///
    /// # Errors
    /// As for [`App::cancel`].
    pub async fn kill(&self, execution: &ExecutionId, reason: &str, by: &str) -> Result<(), ControlError> {
        self.stop(execution, reason, by, true).await
    }

    async fn stop(
        &self,
        execution: &ExecutionId,
        reason: &str,
        by: &str,
        force: bool,
    ) -> Result<(), ControlError> {
        let item = Item::Cancel(Cancel { reason: reason.into(), by: by.into(), force, parent: None });
        let key = if force { "kill" } else { "cancel" };
        match self.post(execution, item, Some(key.into())).await {
            Ok(_) | Err(StoreError::Terminal { status: Status::Cancelled, .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Says how an in-doubt step ended, whichever attempt of it is in doubt: done with this result, not done so run it
    /// again, or given up. Who has looked at one attempt says so: see [`App::judge_attempt`].
    ///
    /// # Errors
    /// See [`ControlError`].
    pub async fn judge(
        &self,
        execution: &ExecutionId,
        frame: &FrameId,
        verdict: Verdict,
        by: &str,
    ) -> Result<(), ControlError> {
        self.judged(execution, (frame, None), verdict, by).await
    }

    /// Says how this attempt of a step ended. What is known of one attempt is not taken for another that somebody's
    /// verdict has led to since.
    ///
    /// # Errors
    /// See [`ControlError`]; [`ControlError::AnotherAttempt`] when it is another one that is in doubt.
    pub async fn judge_attempt(
        &self,
        execution: &ExecutionId,
        frame: &FrameId,
        attempt: u32,
        verdict: Verdict,
        by: &str,
    ) -> Result<(), ControlError> {
        self.judged(execution, (frame, Some(attempt)), verdict, by).await
    }

    async fn judged(
        &self,
        execution: &ExecutionId,
        (frame, asked): (&FrameId, Option<u32>),
        verdict: Verdict,
        by: &str,
    ) -> Result<(), ControlError> {
        let state = self.state(execution, None).await?;
        let doubtful = |status| status == FrameStatus::InDoubt;
        let Some(known) = state.frames.get(frame).filter(|known| doubtful(known.status)) else {
            let in_doubt = state.frames.iter().filter(|(_, known)| doubtful(known.status));
            let in_doubt = listed(in_doubt.map(|(id, _)| id.as_str()));
            return Err(ControlError::NotInDoubt {
                execution: execution.clone(),
                frame: frame.clone(),
                in_doubt,
            });
        };
        let (asked, in_doubt) = (asked.unwrap_or(known.attempt), known.attempt);
        if asked != in_doubt {
            let (execution, frame) = (execution.clone(), frame.clone());
            return Err(ControlError::AnotherAttempt { execution, frame, asked, in_doubt });
        }
        let (done, again) = match verdict {
            Verdict::Done(result) => (Some(result), false),
            Verdict::Again => (None, true),
            Verdict::GiveUp => (None, false),
        };
        if let kernel::FrameKind::Step { step, .. } = &known.kind
            && let (Some(result), Some(step)) = (&done, self.registry().step(step))
        {
            step.output.check(result).map_err(|reason| ControlError::Invalid { reason })?;
        }
        let (run, attempt, by) = (Some(state.base), known.attempt, by.into());
        let key = match state.base {
            0 => format!("verdict:{frame}:{attempt}"),
            run => format!("verdict:{frame}@{run}:{attempt}"),
        };
        let null = done.as_ref().is_some_and(|result| result.as_str() == "null");
        let item = Item::Verdict(VerdictItem { run, frame: frame.clone(), attempt, by, done, again, null });
        match self.post(execution, item, Some(key)).await? {
            Posted::Duplicate { same: false } => {
                Err(ControlError::AlreadyJudged { execution: execution.clone(), frame: frame.clone() })
            }
            Posted::Accepted(_) | Posted::Duplicate { same: true } => Ok(()),
        }
    }

    /// Tries a parked execution again.
    ///
    /// # Errors
    /// It is not parked, is unknown, or the store fails.
    pub async fn retry(&self, execution: &ExecutionId) -> Result<(), ControlError> {
        let status = self.row(execution).await?.status;
        if status != Status::Parked {
            return Err(ControlError::NotParked { execution: execution.clone(), status });
        }
        self.post(execution, Item::Retry, None).await?;
        Ok(())
    }

    pub(super) async fn post(
        &self,
        execution: &ExecutionId,
        item: Item,
        key: Option<String>,
    ) -> Result<Posted, StoreError> {
        let now = self.engine.clock.now();
        let posted = self.engine.store.post(item.into_new(execution, key, now)).await?;
        self.engine.arrived(execution);
        Ok(posted)
    }
}

/// The frame with a repetition for every loop.
fn repeated(frame: &FrameId, loops: usize) -> String {
    let base = frame.as_str().rsplit_once('#').map_or(frame.as_str(), |(base, _)| base);
    if loops == 0 { base.into() } else { format!("{base}#{}", vec!["0"; loops].join(".")) }
}

/// The open ones among these gates, for a message.
fn open_of(gates: &[GateRow]) -> String {
    listed(gates.iter().filter(|gate| gate.state == GateState::Open).map(|gate| gate.frame.as_str()))
}

pub(super) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<_> = names.collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

impl FromStr for GateAddress {
    type Err = AnswerError;

    fn from_str(text: &str) -> Result<Self, AnswerError> {
        let wrong = || AnswerError::Address(text.into());
        let (execution, frame) = text.split_once('/').ok_or_else(wrong)?;
        let execution = execution.parse().map_err(|_: InvalidId| wrong())?;
        if frame.is_empty() { Err(wrong()) } else { Ok(Self { execution, frame: FrameId::parsed(frame) }) }
    }
}

impl fmt::Display for GateAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.execution, self.frame)
    }
}
