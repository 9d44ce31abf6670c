//! The port to stores that are one of several: which slots of the executions are here, and how they come and go.
//! Not the choice where an execution is: whoever holds the stores together makes that.
//!
//! Executions are spread over [`SLOTS`] *slots* by a digest of their ids. Each slot has a [`Place`] in every store of the
//! *fleet*, and is [`Here`](Standing::Here) in one of them at most. A store lets nothing begin, append or post to an
//! execution whose slot is not here ([`StoreError::Elsewhere`]): it looks within the very transaction, so that whoever
//! comes with an old map writes nothing. A store that was never joined to others has every slot.

use async_trait::async_trait;
use kernel::{Digest, ExecutionId, Record, Timestamp};
use serde::{Deserialize, Serialize};

use super::{BatchId, ClaimRequest, ExecutionRow, GateRow, InboxId, InboxItem, Store, StoreError};

/// How many slots there are. It can never change: the slot of an id is in no row.
pub const SLOTS: u16 = 1_024;

/// How many stores a fleet has at most. Each gives out positions of its own, so that inboxes can move: those that leave its
/// number when they are divided by this.
pub const MEMBERS: u16 = 64;

/// The next position that a store gives out: its own in a fleet, else just the next.
///
/// ```
/// # use loom_runtime::ports::next_position;
/// assert_eq!(next_position(7, None), 8);
/// assert_eq!(next_position(7, Some(3)), 67);
/// assert_eq!(next_position(67, Some(3)), 131);
/// ```
pub fn next_position(newest: InboxId, ordinal: Option<u16>) -> InboxId {
    let Some(ordinal) = ordinal else { return newest + 1 };
    let (step, ordinal) = (u64::from(MEMBERS), u64::from(ordinal));
    let next = newest / step * step + ordinal;
    if next > newest { next } else { next + step }
}

/// What ids begin with that a fleet keeps for its own early items: nothing prunes these.
pub const RESERVED: &str = "loom:";

/// A part of all executions, which is moved as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Slot(u16);

impl Slot {
    /// The slot of an id: the first two bytes of its SHA-256, most significant first, modulo [`SLOTS`].
    ///
    /// ```
    /// # use loom_runtime::ports::Slot;
    /// assert_eq!(Slot::of("order-7").number(), 908);
    /// ```
    pub fn of(id: &str) -> Self {
        let [high, low, ..] = Digest::of(id.as_bytes()).bytes();
        Self(u16::from_be_bytes([high, low]) % SLOTS)
    }

    /// The slot with this number, if there is one.
    pub const fn numbered(number: u16) -> Option<Self> {
        if number < SLOTS { Some(Self(number)) } else { None }
    }

    /// Its number, from 0.
    pub const fn number(self) -> u16 {
        self.0
    }

    /// All of them, in order.
    pub fn all() -> impl DoubleEndedIterator<Item = Self> + ExactSizeIterator {
        (0..SLOTS).map(Self)
    }
}

/// How a slot stands in one store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It is elsewhere. What is left of it here is of no meaning.
    #[default]
    Away,
    /// It is filled from another store, and nobody else may see what is in it.
    Coming,
    /// Its executions live here.
    Here,
    /// It is frozen: read, and copied to another store.
    Leaving,
}

impl Standing {
    /// The standing in one word, as stores write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Away => "away",
            Self::Coming => "coming",
            Self::Here => "here",
            Self::Leaving => "leaving",
        }
    }

    /// Whether its executions are read here.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Here | Self::Leaving)
    }

    /// The standing with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Away, Self::Coming, Self::Here, Self::Leaving].into_iter().find(|one| one.name() == name)
    }
}

/// The place of a slot in one store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// How it stands.
    pub standing: Standing,
    /// Grows whenever the slot gets another home; of two stores that both claim it, the higher one is right.
    pub epoch: u64,
    /// The store that it comes from, or leaves for; else empty.
    pub peer: String,
    /// Who moves it; else empty. Only this mover fills it.
    pub mover: String,
}

/// A store's part in a fleet of stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The store's own name.
    pub name: String,
    /// What all stores of the fleet have in common, and no other has.
    pub fleet: String,
    /// Its number, below [`MEMBERS`], which no other of the fleet has: its positions are told by it.
    pub ordinal: u16,
}

/// A change of places: where a slot has to be, and where it is then.
pub type PlaceChange = (Slot, Place, Place);

/// An execution that a claim might take.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Due {
    /// Its row.
    pub row: ExecutionRow,
    /// Whether it has never been claimed.
    pub begins: bool,
}

impl Due {
    /// By when it goes before others of its priority, for a claim at `now`.
    pub fn since(&self, now: Timestamp) -> Timestamp {
        let woken = self.row.wake_at.filter(|at| *at <= now);
        woken.filter(|_| self.row.status == kernel::Status::Suspended).unwrap_or(self.row.created_at)
    }
}

/// What runs in a lane, or without one, and what has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneUse {
    /// Leases that hold.
    pub held: u64,
    /// Executions that were claimed for the first time within the span that was asked about.
    pub begun: u64,
}

/// Everything that a store knows of one id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parcel {
    /// The id.
    pub id: ExecutionId,
    /// The execution; `None` when only early items wait for it.
    pub execution: Option<PackedExecution>,
    /// Its inbox, consumed items included, or the early items; in order.
    pub items: Vec<PackedItem>,
    /// The newest position that the store of origin has given out, or a higher one.
    pub newest: InboxId,
}

/// An execution, in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedExecution {
    /// Its row.
    pub row: ExecutionRow,
    /// The newest fence given out.
    pub fence: u64,
    /// The newest item that the last owner had read when it closed.
    pub seen: InboxId,
    /// The batch that created it, and its content.
    pub first: (BatchId, Digest),
    /// The batch applied last, and its content.
    pub last: (BatchId, Digest),
    /// What its log still holds.
    pub records: Vec<Record>,
    /// Its gates, in order of opening.
    pub gates: Vec<GateRow>,
    /// Its snapshots.
    pub snapshots: Vec<PackedSnapshot>,
    /// The programs that are unfit for its current run.
    pub unfit: Vec<Digest>,
}

/// A snapshot; without a body when it is marked bad.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedSnapshot {
    /// What it is of.
    pub of: String,
    /// How many events it holds.
    pub sequence: u64,
    /// The state; `None` when it is marked bad.
    pub body: Option<String>,
}

/// An item, with what has to stay when it was consumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedItem {
    /// The item; a store may keep no payload of a consumed one.
    pub item: InboxItem,
    /// [`item_content`] of it, as it was posted.
    pub content: Digest,
    /// Whether its owner's log holds it.
    pub consumed: bool,
}

/// What two items have in common that are the same: the digest of kind and payload.
pub fn item_content(kind: &str, payload: &str) -> Digest {
    Digest::of_parts(&[kind.as_bytes(), payload.as_bytes()])
}

/// A store that can be one of several.
///
/// Its other ports are as ever, but for executions whose slot is not here: those cannot be created, appended or posted to,
/// and no claim takes them; neither their rows nor their logs are read. Whoever reads otherwise looks afterwards whether the slot
/// is still here. With some of the slots and not all, it has a [caveat](super::Caveat::Part).
#[async_trait]
pub trait Shard: Store {
    /// The fleet that it belongs to, if any.
    async fn membership(&self) -> Result<Option<Membership>, StoreError>;

    /// Makes it a member with every slot (`founds`), or with none, unless it is a member already; answers what it is. From
    /// then on it gives out positions of its [ordinal](Membership::ordinal), higher than `above`.
    async fn join(&self, member: &Membership, founds: bool, above: InboxId)
    -> Result<Membership, StoreError>;

    /// The newest position that it has given out, or a higher one.
    async fn newest(&self) -> Result<InboxId, StoreError>;

    /// The places of all slots, by their numbers; empty when it is no member.
    async fn places(&self) -> Result<Vec<Place>, StoreError>;

    /// The place of one slot; `None` when it is no member.
    async fn place(&self, slot: Slot) -> Result<Option<Place>, StoreError>;

    /// Refuses an id whose slot is not read here, for those who have not found it.
    async fn shows(&self, id: &ExecutionId) -> Result<(), StoreError> {
        match self.place(Slot::of(id.as_str())).await? {
            Some(place) if !place.standing.is_read() => Err(StoreError::Elsewhere(id.clone())),
            _ => Ok(()),
        }
    }

    /// Changes places, if every one is as expected: all or nothing, and answers whether they are so now; that they were so
    /// before is the retry of a lost answer. Whoever was writing has finished when it returns; whoever writes from then on finds the new places.
    async fn set_places(&self, changes: &[PlaceChange]) -> Result<bool, StoreError>;

    /// What such a claim would find, as far as one store can tell and in its order. Takes nothing.
    async fn due(&self, request: &ClaimRequest) -> Result<Vec<Due>, StoreError>;

    /// What runs in each of these lanes (`None`: without a lane) at `now`, and what has begun in the time before that, in
    /// microseconds.
    async fn lanes(
        &self,
        asked: &[(Option<String>, i64)],
        now: Timestamp,
    ) -> Result<Vec<LaneUse>, StoreError>;

    /// What it knows of the ids in these slots, in order of the ids and after `after`: at most so many. None is half of one
    /// moment and half of another.
    async fn pack(
        &self,
        slots: &[Slot],
        after: Option<&ExecutionId>,
        limit: usize,
    ) -> Result<Vec<Parcel>, StoreError>;

    /// Takes parcels in, each instead of what is there of its id, if their slots are coming and `mover` moves them: all or
    /// nothing, and answers whether it did. Positions that it gives out from then on are higher than theirs.
    async fn unpack(&self, parcels: &[Parcel], mover: &str) -> Result<bool, StoreError>;

    /// Forgets all that it has of slots which are away, or come with this `mover`; answers whether all of them are so. Not
    /// one transaction: what it has done stays done.
    async fn clear(&self, slots: &[Slot], mover: &str) -> Result<bool, StoreError>;

    /// The early items of ids that begin with this, in order of their positions.
    async fn early(&self, prefix: &str) -> Result<Vec<(ExecutionId, InboxItem)>, StoreError>;

    /// Forgets these early items of an id.
    async fn forget_early(&self, of: &ExecutionId, items: &[InboxId]) -> Result<(), StoreError>;
}
