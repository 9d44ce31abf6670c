//! What must hold of every world, each rule a function over one log, once all has come to rest.
//! Not what is seen while it runs, at each append and effect: the same rules, kept by [`crate::witness`] and
//! [`crate::ledger`].

use std::{collections::BTreeMap, fmt};

use loom_runtime::{
    App, ExecutionId, FrameId, Status,
    kernel::{Envelope, Event, Outcome, Record, Snapshot, State},
    ports::ExecutionRow,
};

use crate::{flow::NEWS, program::Value};

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Events are numbered without gaps, and the row says how many there are.
    DenseSequences,
    /// A fence is given once, and only who has the newest appends, and does what must not happen twice.
    OneOwner,
    /// An inbox item is consumed once, a frame settles once, a message is taken once.
    ExactlyOnce,
    /// An attempt of an at-most-once step has at most one effect.
    AtMostOnce,
    /// What an effect rests on is on disk before it.
    CausalDurability,
    /// No timer fires early.
    TimersInTime,
    /// The program agrees with every log that it has written.
    LiveIsReplay,
    /// And with what was there of it before.
    PrefixesReplay,
    /// A snapshot is what its events fold to.
    SnapshotsFold,
    /// Everything ends, once nothing goes wrong any more.
    NobodyStranded,
    /// A message that was accepted is taken, or its log says why not.
    NoMessageLost,
    /// What a flow comes to hangs on its program alone.
    SameResult,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::DenseSequences,
        Self::OneOwner,
        Self::ExactlyOnce,
        Self::AtMostOnce,
        Self::CausalDurability,
        Self::TimersInTime,
        Self::LiveIsReplay,
        Self::PrefixesReplay,
        Self::SnapshotsFold,
        Self::NobodyStranded,
        Self::NoMessageLost,
        Self::SameResult,
    ];
}

/// A rule that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub rule: Rule,
    /// Where.
    pub execution: ExecutionId,
    /// How.
    pub what: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of `{}`: {}", self.rule, self.execution, self.what)
    }
}

/// One execution at the end.
pub(crate) struct Ended<'w> {
    pub(crate) app: &'w App,
    pub(crate) row: &'w ExecutionRow,
    pub(crate) records: &'w [Record],
    pub(crate) log: &'w [Envelope],
    /// The newest of the state.
    pub(crate) snapshot: Option<Snapshot>,
    /// What it has to come to, where that is known.
    pub(crate) value: Option<Value>,
    /// What clients were told is in.
    pub(crate) accepted: &'w [&'w str],
    /// How many prefixes are replayed.
    pub(crate) prefixes: usize,
}

/// What is wrong, if something is.
type Holds = fn(&Ended<'_>) -> Result<(), String>;

/// Everything that is wrong with it.
pub(crate) fn judge(ended: &Ended<'_>) -> Vec<Broken> {
    let rules: [(Rule, Holds); 9] = [
        (Rule::DenseSequences, dense_sequences),
        (Rule::ExactlyOnce, exactly_once),
        (Rule::TimersInTime, timers_in_time),
        (Rule::LiveIsReplay, live_is_replay),
        (Rule::PrefixesReplay, prefixes_replay),
        (Rule::SnapshotsFold, snapshots_fold),
        (Rule::NobodyStranded, nobody_stranded),
        (Rule::NoMessageLost, no_message_lost),
        (Rule::SameResult, same_result),
    ];
    let execution = || ended.row.id.clone();
    let held = rules.into_iter().map(|(rule, holds)| (rule, holds(ended)));
    held.filter_map(|(rule, held)| Some(Broken { rule, execution: execution(), what: held.err()? })).collect()
}

fn dense_sequences(ended: &Ended<'_>) -> Result<(), String> {
    if let Some((place, found)) = (0..).zip(ended.records).find(|(place, record)| record.sequence != *place) {
        return Err(format!("event {} is where {place} belongs", found.sequence));
    }
    let (events, row) = (ended.records.len() as u64, ended.row.next);
    if events == row { Ok(()) } else { Err(format!("the log has {events} events, its row says {row}")) }
}

fn exactly_once(ended: &Ended<'_>) -> Result<(), String> {
    let (mut run, mut settled, mut taken, mut begun) =
        (0, BTreeMap::new(), BTreeMap::<&str, u64>::new(), BTreeMap::new());
    for envelope in ended.log {
        let settles = match &envelope.event {
            Event::ContinuedAsNew(e) => {
                run = e.run;
                continue;
            }
            Event::StepStarted(e) => {
                let earlier = begun.insert((run, e.frame.clone(), e.attempt), envelope.sequence);
                if let Some(earlier) = earlier {
                    return Err(format!(
                        "attempt {} of `{}` starts in {earlier} and in {}",
                        e.attempt, e.frame, envelope.sequence
                    ));
                }
                continue;
            }
            Event::MessageReceived(e) if e.message.topic == NEWS => {
                *taken.entry(e.message.body.as_str()).or_default() += 1;
                &e.frame
            }
            Event::MessageDeadLettered(e) if e.message.topic == NEWS => {
                *taken.entry(e.message.body.as_str()).or_default() += 1;
                continue;
            }
            Event::StepFailed(e) if e.retry_at.is_some() => continue,
            Event::StepCompleted(_)
            | Event::StepFailed(_)
            | Event::TimerFired(_)
            | Event::GateExpired(_)
            | Event::GateAnswered(_)
            | Event::ChildSettled(_)
            | Event::DecisionRecorded(_) => envelope.event.frame().unwrap_or(&NO_FRAME),
            _ => continue,
        };
        if let Some(earlier) = settled.insert((run, settles.clone()), envelope.sequence) {
            return Err(format!("`{settles}` settles in {earlier} and in {}", envelope.sequence));
        }
    }
    match taken.into_iter().find(|(_, often)| *often > 1) {
        Some((says, often)) => Err(format!("the message {says} was taken {often} times")),
        None => Ok(()),
    }
}

static NO_FRAME: std::sync::LazyLock<FrameId> = std::sync::LazyLock::new(|| FrameId::parsed("none"));

fn timers_in_time(ended: &Ended<'_>) -> Result<(), String> {
    let mut due = BTreeMap::new();
    for envelope in ended.log {
        match &envelope.event {
            Event::TimerSet(e) => drop(due.insert(&e.frame, e.fire_at)),
            Event::GateOpened(e) => {
                if let Some(at) = e.expires_at {
                    due.insert(&e.frame, at);
                }
            }
            Event::TimerFired(e) | Event::GateExpired(e) => {
                if let Some(due) = due.get(&e.frame).filter(|due| envelope.at < **due) {
                    return Err(format!("`{}` is due at {due}, and fired at {}", e.frame, envelope.at));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn live_is_replay(ended: &Ended<'_>) -> Result<(), String> {
    ended.app.replay_check(ended.log, 1).map_err(|report| report.to_string())
}

fn prefixes_replay(ended: &Ended<'_>) -> Result<(), String> {
    ended.app.replay_check(ended.log, ended.prefixes).map_err(|report| report.to_string())
}

fn snapshots_fold(ended: &Ended<'_>) -> Result<(), String> {
    let Some(snapshot) = &ended.snapshot else { return Ok(()) };
    let upto = usize::try_from(snapshot.sequence).unwrap_or(usize::MAX);
    let last = ended.records.get(upto.wrapping_sub(1));
    let last = last.ok_or_else(|| format!("a snapshot is of {upto} events, and there are fewer"))?;
    let kept = snapshot.restore(last).map_err(|bad| bad.to_string())?;
    let folded = State::of(&ended.log[..upto]).map_err(|error| error.to_string())?;
    if kept == folded {
        Ok(())
    } else {
        Err(format!("the snapshot of {upto} events is not what they fold to"))
    }
}

fn nobody_stranded(ended: &Ended<'_>) -> Result<(), String> {
    if ended.row.status.is_terminal() {
        return match &ended.row.lease {
            None => Ok(()),
            Some(lease) => Err(format!("it has ended, and is leased with fence {}", lease.fence)),
        };
    }
    let last = ended.log.last().map(|last| match &last.event {
        Event::ExecutionParked(e) => e.report.to_string(),
        event => event.kind().name().to_owned(),
    });
    let (status, wake) = (ended.row.status, ended.row.wake_at);
    Err(format!("it is {status}, to wake at {wake:?}, and nothing goes on: {}", last.unwrap_or_default()))
}

fn no_message_lost(ended: &Ended<'_>) -> Result<(), String> {
    let is_told = |says: &str| {
        ended.log.iter().any(|envelope| match &envelope.event {
            Event::MessageReceived(e) => e.message.body.as_str() == says,
            Event::MessageDeadLettered(e) => e.message.body.as_str() == says,
            _ => false,
        })
    };
    match ended.accepted.iter().find(|says| !is_told(says)) {
        Some(says) => Err(format!("the message {says} was accepted, and the log does not have it")),
        None => Ok(()),
    }
}

fn same_result(ended: &Ended<'_>) -> Result<(), String> {
    let Some(value) = ended.value else { return Ok(()) };
    let outcome = ended.log.last().and_then(|last| last.event.ends());
    match (outcome, value) {
        (Some(Outcome::Completed(output)), Ok(value)) if output.decode() == Ok(value) => Ok(()),
        (Some(Outcome::Failed(_)), Err(())) | (Some(Outcome::Cancelled { .. }), _) => Ok(()),
        (None, _) => Ok(()), // stranded, which is told
        (Some(other), value) => Err(format!("it came to {other:?}, and not to {value:?}")),
    }
}

/// Whether a person is asked how an attempt ended.
pub(crate) fn in_doubt(state: &State) -> Option<(FrameId, u32)> {
    let doubt = |(frame, known): (&FrameId, &loom_runtime::kernel::Frame)| {
        let is_it = known.status == loom_runtime::kernel::FrameStatus::InDoubt;
        is_it.then(|| (frame.clone(), known.attempt))
    };
    (state.status == Status::Parked).then(|| state.frames.iter().find_map(doubt)).flatten()
}
