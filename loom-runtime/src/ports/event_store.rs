//! The port to logs: create, compare-and-append, read, list.
//! Not the sequencer: sequences come from the execution's journal, the store only checks them.

use async_trait::async_trait;
use kernel::{Digest, ExecutionId, Record, Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Caveat, GateChange, InboxId, Lease, NewItem, Turn, WorkerId};

/// Names one attempted transition, so that a retry after a lost acknowledgement is recognised.
pub type BatchId = Digest;

/// Logs and the rows that index them.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// Creates an execution with its first events, its gates and the early items of its inbox, and leases it
    /// to `claim` if given: all or nothing. Its row is [`NewExecution::row`]. When the id is taken nothing is written and the existing row
    /// comes back; a retry of the same batch with the same content ([`NewExecution::content`]) answers
    /// [`Created::New`] again, with the fence of the first time.
    async fn create(&self, new: NewExecution) -> Result<Created, StoreError>;

    /// Appends one transition: events, gate index, inbox consumption, posts to others and, when closing,
    /// status, wake-up and release of the lease. All or nothing.
    ///
    /// Checked in this order: the execution exists; `batch` is the last batch applied (then this is a
    /// success without effect, or [`StoreError::BatchReused`] if its content differs, see
    /// [`Append::content`]); the lease's fence is `fence` ([`StoreError::Fenced`]); the next sequence is
    /// `expected_next` and the records follow it densely ([`StoreError::Conflict`]); when closing, no inbox
    /// item that stays unconsumed is newer than `close.seen` ([`StoreError::InboxMoved`]).
    ///
    /// An expired lease that nobody took over still appends. Without a lease (closed, handed back, never
    /// claimed, ended) there is no owner, and every fence is stale.
    async fn append(&self, append: &Append) -> Result<(), StoreError>;

    /// Events from sequence `from` on, at most `limit`, in order and without gaps. Empty when the log
    /// ends before `from`; [`StoreError::Unknown`] when there is no such execution, [`StoreError::Archived`] when
    /// the event `from` was [removed](Self::remove).
    async fn read(&self, execution: &ExecutionId, from: u64, limit: usize)
    -> Result<Vec<Record>, StoreError>;

    /// The row of one execution.
    async fn get(&self, execution: &ExecutionId) -> Result<Option<ExecutionRow>, StoreError>;

    /// Rows in order of their ids (byte order), filtered.
    async fn list(&self, filter: &ListFilter) -> Result<Vec<ExecutionRow>, StoreError>;

    /// Takes the first events out of a log, for good: who asks has put them where they are kept. Answers whether it
    /// did: nothing happens, and that is no error, unless the row is as the removal expects it
    /// ([`Removal::fits`]) and no branch points to an execution that has ended. All or nothing, and durable when it
    /// returns. [`StoreError::Unknown`] when there is no such execution.
    ///
    /// The row stays for ever, and with it what it knows: a creation finds the id taken, and the next sequence is
    /// what it was, however little of the log is left. With the events go the snapshots of at most as many, and the gates
    /// of earlier runs that have begun among them and are not open. Once only its last event is left of an ended log, its
    /// inbox goes too, the keys in it, all of its gates and snapshots, and what was unfit for it.
    async fn remove(&self, removal: &Removal) -> Result<bool, StoreError>;

    /// What somebody who works on it should know, as it is now: that it is one of several, that it takes no writes. Workers
    /// ask when they begin, and now and then; nothing rests on the answer.
    async fn caveats(&self) -> Result<Vec<Caveat>, StoreError> {
        Ok(Vec::new())
    }
}

/// A removal of the first events of a log, and how the execution has to be for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Whose log.
    pub execution: ExecutionId,
    /// The status that it must have.
    pub status: Status,
    /// The sequence that must be its next.
    pub next: u64,
    /// The sequence of the first event that it must still hold.
    pub first: u64,
    /// The sequence of the first event that stays: at most that of the last event of a log that has ended, which tells
    /// how, and the base of the current run of one that has not.
    pub until: u64,
}

impl Removal {
    /// Whether the execution is as expected, and the removal one that its log allows.
    pub fn fits(&self, row: &ExecutionRow) -> bool {
        let as_expected = (row.status, row.next, row.first) == (self.status, self.next, self.first);
        as_expected && (self.first..=row.removable()).contains(&self.until)
    }

    /// How many events it takes out.
    pub fn len(&self) -> usize {
        usize::try_from(self.until.saturating_sub(self.first)).unwrap_or(usize::MAX)
    }

    /// Whether it takes none out.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it leaves nothing but the last event of a log that has ended.
    pub fn is_last(&self) -> bool {
        self.status.is_terminal() && self.until + 1 == self.next
    }
}

/// A new execution and its first events.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NewExecution {
    /// The id.
    pub id: ExecutionId,
    /// The flow's name.
    pub flow: String,
    /// The digest of its input: what tells a repeated start from a conflicting one.
    pub input: Digest,
    /// The events that it begins with, dense from 0 and at least one: `EXECUTION_STARTED`, and in a fork
    /// what was copied after it. That they are so is the caller's duty, not an error of the store.
    pub records: Vec<Record>,
    /// Changes to the gate index, in order; a gate of theirs was opened at the time of the last record.
    pub gates: Vec<GateChange>,
    /// The sequence of the first event of the run that it begins in: 0, except for the copy of a later run. One of
    /// the records' own; its gates are this run's.
    pub base: u64,
    /// Recognises a retry.
    pub batch: BatchId,
    /// Who runs it at once, and until when its lease holds. Without one the next worker takes it.
    /// One with a [lane](Turn::lane) waits for its turn, and asks for none: that is the caller's duty.
    pub claim: Option<(WorkerId, Timestamp)>,
    /// When its turn comes.
    #[serde(default)]
    pub turn: Turn,
}

impl NewExecution {
    /// The row of the new execution: running, created at the time of its first event, changed at that of
    /// its last, and leased with fence 1 or not at all.
    pub fn row(&self) -> ExecutionRow {
        let dense = (0..).zip(&self.records).all(|(sequence, record): (u64, _)| sequence == record.sequence);
        debug_assert!(dense && !self.records.is_empty(), "`{}` does not begin at 0", self.id);
        let lease = |(worker, until): &(WorkerId, Timestamp)| Lease {
            worker: worker.clone(),
            fence: 1,
            until: *until,
        };
        ExecutionRow {
            id: self.id.clone(),
            flow: self.flow.clone(),
            input: self.input,
            status: Status::Running,
            next: self.records.len() as u64,
            first: 0,
            base: self.base,
            created_at: self.records.first().map_or(Timestamp::EPOCH, |record| record.at),
            updated_at: self.records.last().map_or(Timestamp::EPOCH, |record| record.at),
            wake_at: None,
            lease: self.claim.as_ref().map(lease),
            takeovers: 0,
            turn: self.turn.clone(),
        }
    }
}

/// The answer to [`EventStore::create`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Created {
    /// It is new; the fence of the lease, if one was asked for (else 0).
    New {
        /// Fencing generation of the lease.
        fence: u64,
    },
    /// The id was taken before; nothing was written.
    Exists(Box<ExecutionRow>),
}

/// One atomic transition of an execution by its owner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Append {
    /// Whose log.
    pub execution: ExecutionId,
    /// The sequence of the first record, and what the store must have as its next.
    pub expected_next: u64,
    /// The owner's fencing generation.
    pub fence: u64,
    /// Recognises a retry.
    pub batch: BatchId,
    /// The events, dense from `expected_next`; may be empty when only closing.
    pub records: Vec<Record>,
    /// The time of the transition.
    pub at: Timestamp,
    /// Whether an outcome is among the events: then the count of take-overs without progress starts anew.
    pub progress: bool,
    /// Changes to the gate index, in order.
    pub gates: Vec<GateChange>,
    /// Inbox items that the log now holds.
    pub consumed: Vec<InboxId>,
    /// Items for the inboxes of other executions, put there in this order and in this transaction, each
    /// as [`Inbox::post`](super::Inbox::post) does after the rest of the append: with the next position, and
    /// waking its execution. What `post` would not accept (the execution has ended, or does not exist and the item
    /// is not early; the key was used) is dropped without an error. An item for the execution itself finds it as
    /// this append leaves it.
    pub posts: Vec<NewItem>,
    /// The sequence of the event in this append that begins a new run (continue-as-new), if one does: from
    /// then on the row's `base`. One of this append's own sequences ([`begins_own_run`](Self::begins_own_run)):
    /// that is the caller's duty, not an error of the store.
    pub run: Option<u64>,
    /// Set when the owner lets go: suspended, parked or ended.
    pub close: Option<Close>,
}

/// How an owner lets go of an execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Close {
    /// The status that it leaves.
    pub status: Status,
    /// When it goes on by itself.
    pub wake_at: Option<Timestamp>,
    /// The newest inbox item that the owner has read; a newer one refuses the close.
    pub seen: InboxId,
    /// The program whose code does not fit what the current run's log says: its claims leave the execution to others
    /// ([`ClaimRequest::program`](super::ClaimRequest::program)), until the execution begins its next run. Several
    /// programs may be unfit at a time.
    pub unfit: Option<Digest>,
}

/// What a store knows of an execution without reading its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionRow {
    /// The id.
    pub id: ExecutionId,
    /// The flow's name.
    pub flow: String,
    /// The digest of the input.
    pub input: Digest,
    /// Where it stands. A claimed execution is running.
    pub status: Status,
    /// The sequence that the next event gets: the length of the log, what was removed of it included.
    pub next: u64,
    /// The sequence of the first event that the log still holds: those before it were [removed](EventStore::remove).
    #[serde(default)]
    pub first: u64,
    /// The sequence of the first event of its current run: [`NewExecution::base`] at creation, then [`Append::run`] of the newest
    /// append that began one.
    pub base: u64,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it last changed: the newest append, or the claim after it.
    pub updated_at: Timestamp,
    /// When it goes on by itself; only while suspended.
    pub wake_at: Option<Timestamp>,
    /// Who runs it.
    pub lease: Option<Lease>,
    /// Take-overs from owners that vanished, since the last outcome.
    pub takeovers: u32,
    /// [`NewExecution::turn`].
    #[serde(default)]
    pub turn: Turn,
}

impl ExecutionRow {
    /// The sequence before which the log could do without its events: that of the last one once it has ended, else of
    /// the first of the current run.
    pub fn removable(&self) -> u64 {
        if self.status.is_terminal() { self.next.saturating_sub(1) } else { self.base }
    }

    /// The sequence from which on the log can be folded and replayed: 0, or the current run's first when events of
    /// earlier ones were removed. `None` when events of the current run were.
    pub fn replayable(&self) -> Option<u64> {
        match self.first {
            0 => Some(0),
            first => (first <= self.base).then_some(self.base),
        }
    }
}

/// Which executions to list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ListFilter {
    /// Only these statuses; empty for all.
    pub statuses: Vec<Status>,
    /// Only this flow.
    pub flow: Option<String>,
    /// Only ids after this one, for paging.
    pub after: Option<ExecutionId>,
    /// At most so many; 0 for no limit.
    pub limit: usize,
}

/// Why a store refused or failed. Nothing was written, except where the text says that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no such execution.
    #[error("there is no execution `{0}`")]
    Unknown(ExecutionId),
    /// The execution has ended, and takes nothing any more.
    #[error("execution `{execution}` has already {status}", status = .status.past())]
    Terminal {
        /// The execution.
        execution: ExecutionId,
        /// How it ended.
        status: Status,
    },
    /// The log no longer holds these events.
    #[error(
        "the events of `{execution}` before {first} were moved to the archive: read them there, with `App::archived`"
    )]
    Archived {
        /// The execution.
        execution: ExecutionId,
        /// The sequence of the first event that the log still holds.
        first: u64,
    },
    /// Somebody else appended first.
    #[error("the log of `{execution}` is at {found}, the append expected {expected}")]
    Conflict {
        /// The execution.
        execution: ExecutionId,
        /// The sequence that the append expected to be next.
        expected: u64,
        /// The one that is.
        found: u64,
    },
    /// The lease has gone to another owner.
    #[error("fence {presented} of `{execution}` is stale, the current one is {current}")]
    Fenced {
        /// The execution.
        execution: ExecutionId,
        /// The fence of the append.
        presented: u64,
        /// The newest fence that the store gave; its lease may be over.
        current: u64,
    },
    /// The inbox has items that the owner has not read: read them, then close.
    #[error("the inbox of `{0}` has moved")]
    InboxMoved(ExecutionId),
    /// A batch id came again with other content.
    #[error("a batch of `{0}` came again with other content")]
    BatchReused(ExecutionId),
    /// Somebody else has set the branch, or it is missing.
    #[error("branch `{name}` {}, the change expected otherwise: read it, then decide anew", pointing(.found.as_ref()))]
    BranchMoved {
        /// The branch.
        name: String,
        /// What it points to; `None` when there is no such branch.
        found: Option<ExecutionId>,
    },
    /// The execution's [slot](super::Slot) is in another database of the fleet, or on its way there.
    #[error(
        "`{0}` is not in this database, which is one of several: open them together (`Shards::open`), which finds it"
    )]
    Elsewhere(ExecutionId),
    /// The stored data contradicts itself.
    #[error("the store is damaged: {0}")]
    Corrupt(String),
    /// The backend does not let this program in: a token or a role is missing, or another one's. Nothing was written.
    #[error("the store does not let this program in: {0}")]
    Denied(String),
    /// The backend cannot be reached or failed; whether the write happened is unknown. The same batch may be
    /// sent again.
    #[error("the store is unavailable: {0}")]
    Unavailable(String),
}

impl StoreError {
    /// Whether it is about the way to the store, and not about what was asked: the same may be asked again later.
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Denied(_) | Self::Unavailable(_))
    }
}

fn pointing(found: Option<&ExecutionId>) -> String {
    found.map_or_else(|| "does not exist".into(), |execution| format!("points to `{execution}`"))
}
